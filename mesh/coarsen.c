#include "mesh/coarsen.h"

#include <string.h>

#include "io/threads.h"
#include "mesh/geometry.h"

/* Grouping of the elements of this rank into parents. */
typedef struct plan {
  const sp_mesh *fine;
  bool is_box;
  bool along[3]; /* directions with two children */
  /* In a box: its elements with all refinements, the first and last index of this rank, and a
   * shift: parent = (index + shift) / 2. */
  int elements[3], first[3], last[3], shift[3];
  sp_hexes *coarse;
  bool improper; /* a parent may be inverted; only in a deformed box */
} plan;

/* ---- Directions ---- */

/* Index in the refined box, or the octant of the last refinement. */
static void index_of(const plan *p, sp_lid e, int index[3]) {
  const sp_hexes *h = p->fine->hexes;
  sp_gid tag = h->tags[e] - 1;
  for (int d = 0; d < 3; d++) {
    index[d] = p->is_box ? (int)(tag % h->box[d]) : 0;
    if (p->is_box) tag /= h->box[d];
    for (int r = p->is_box ? h->refinements - 1 : 0; r >= 0; r--)
      index[d] = 2 * index[d] + (h->octants[e] >> (3 * r + d) & 1);
  }
}

/* Parents must not be cut: an odd cut shifts them; a direction with odd and even cuts is not
 * coarsened. Collective. */
static void find_cuts(plan *p) {
  const sp_hexes *h = p->fine->hexes;
  bool cuts[3][2] = {{false}}; /* at even and odd indices */
  for (int d = 0; d < 3; d++) {
    p->elements[d] = h->box[d] << h->refinements;
    p->first[d] = h->box_first[d] << h->refinements;
    p->last[d] = (h->box_end[d] << h->refinements) - 1;
    if (p->first[d] > 0) cuts[d][p->first[d] & 1] = true;
    if (p->last[d] + 1 < p->elements[d]) cuts[d][(p->last[d] + 1) & 1] = true;
  }
  MPI_Allreduce(MPI_IN_PLACE, cuts, 6, MPI_C_BOOL, MPI_LOR, p->fine->comm);
  for (int d = 0; d < 3; d++) {
    p->shift[d] = cuts[d][1];
    p->along[d] = !(cuts[d][0] && cuts[d][1]) && p->elements[d] > 1 + p->shift[d];
  }
}

/* Choose the directions to coarsen; false if there is none. */
static bool choose_directions(plan *p) {
  bool strong[3];
  sp_mesh_strong_directions(&p->fine->shape, strong);
  for (int d = 0; d < 3; d++) p->along[d] = p->along[d] && strong[d];
  return p->is_box ? p->along[0] || p->along[1] || p->along[2]
                   : p->along[0] && p->along[1] && p->along[2];
}

/* ---- Parents ---- */

static int parent_index(const plan *p, int d, int index) {
  return p->along[d] ? (index + p->shift[d]) / 2 : index;
}

static int parent_extent(const plan *p, int d) {
  return parent_index(p, d, p->last[d]) - parent_index(p, d, p->first[d]) + 1;
}

/* The parent of an element of a box, and its octant. */
static sp_lid place_in_box(const plan *p, sp_lid e, int *octant) {
  int index[3];
  sp_lid parent = 0;
  *octant = 0;
  index_of(p, e, index);
  for (int d = 2; d >= 0; d--) {
    const int side = (index[d] + p->shift[d]) & 1;
    /* An element without a sibling is on side 0. */
    if (p->along[d] && side == 1 && index[d] > 0) *octant |= 1 << d;
    parent = parent * parent_extent(p, d) + parent_index(p, d, index[d]) -
             parent_index(p, d, p->first[d]);
  }
  return parent;
}

/* All children of an element meet in its centre, a vertex of no other element: number parents in
 * the order in which elements first touch it. */
static sp_status place_refined(const plan *p, sp_lid (*children)[SP_CORNERS]) {
  const sp_mesh *fine = p->fine;
  SP_OWNED sp_lid *of_vertex = NULL;
  sp_lid count = 0;
  const size_t vertices = (size_t)fine->topology->start[1];
  SP_TRY(sp_allocate(vertices, sizeof *of_vertex, "coarser mesh", &of_vertex));
  for (sp_lid e = 0; e < fine->hexes->count; e++) {
    const int octant = fine->hexes->octants[e] & 7;
    sp_lid *parent = &of_vertex[fine->topology->slots[e][7 - octant]];
    if (*parent == 0) *parent = ++count;
    children[*parent - 1][octant] = e;
  }
  return SP_OK;
}

static void place_some(void *plan_, size_t begin, size_t end) {
  const plan *p = plan_;
  for (size_t e = begin; e < end; e++) {
    int octant;
    const sp_lid parent = place_in_box(p, (sp_lid)e, &octant);
    p->coarse->children[parent][octant] = (sp_lid)e;
  }
}

static sp_status place_children(plan *p) {
  sp_hexes *coarse = p->coarse;
  const size_t count = (size_t)coarse->count;
  SP_TRY(sp_allocate(count, sizeof *coarse->children, "coarser mesh", &coarse->children));
  sp_loop_set(count * sizeof *coarse->children, -1, coarse->children);
  if (!p->is_box) return place_refined(p, coarse->children);
  return sp_loop_over("coarser mesh", (size_t)p->fine->hexes->count, 3, p, place_some);
}

/* Directions in which a parent has two children, as bits. */
static int split_of(const sp_lid children[SP_CORNERS]) {
  return (children[1] >= 0) | (children[2] >= 0) << 1 | (children[4] >= 0) << 2;
}

void sp_coarse_nodes(const sp_hexes *coarse, sp_lid parent, sp_lid nodes[27]) {
  const sp_lid *children = coarse->children[parent];
  const int split = split_of(children);
  for (int n = 0; n < 27; n++) {
    const int at[3] = {n % 3, n / 3 % 3, n / 9};
    int octant = 0, corner = 0;
    bool between = false;
    for (int d = 0; d < 3; d++) {
      const bool two = split >> d & 1;
      between = between || (at[d] == 1 && !two);
      octant |= (two && at[d] == 2) << d;
      corner |= (at[d] == 2 || (two && at[d] == 1)) << d;
    }
    nodes[n] = between ? -1 : 8 * children[octant] + corner;
  }
}

/* Copy the lattice of a parent from its children. */
static void fill_lattice(const sp_hexes *fine, const sp_lid children[SP_CORNERS], double *point) {
  const int g = fine->map_order, n = g + 1, split = split_of(children);
  for (int q = 0; q < n * n * n; q++, point += 3) {
    int at[3] = {q % n, q / n % n, q / (n * n)}, octant = 0;
    for (int d = 0; d < 3; d++)
      if (split >> d & 1) {
        octant |= (2 * at[d] > g) << d;
        at[d] = 2 * at[d] > g ? 2 * at[d] - g : 2 * at[d];
      }
    memcpy(point,
           sp_hexes_lattice(fine, children[octant]) +
               (ptrdiff_t)3 * ((at[2] * n + at[1]) * n + at[0]),
           3 * sizeof *point);
  }
}

static void fill_parent(const plan *p, sp_hexes *coarse, sp_lid parent) {
  const sp_hexes *fine = p->fine->hexes;
  const sp_lid *children = coarse->children[parent], first = children[0];
  const int split = split_of(children);
  fill_lattice(fine, children,
               &coarse->lattice[(size_t)parent * sp_hexes_lattice_size(coarse) * 3]);
  for (int c = 0; c < SP_CORNERS; c++)
    coarse->vertices[parent][c] = fine->vertices[children[c & split]][c];
  for (int f = 0; f < SP_FACES; f++)
    coarse->surfaces[parent][f] = fine->surfaces[children[f & 1 ? split & 1 << f / 2 : 0]][f];
  coarse->volumes[parent] = fine->volumes[first];
  coarse->tags[parent] = fine->tags[first];
  coarse->octants[parent] = fine->octants[first] >> 3;
  if (!p->is_box) return;
  int index[3];
  sp_gid tag = 0;
  index_of(p, first, index);
  for (int d = 2; d >= 0; d--) tag = tag * coarse->box[d] + parent_index(p, d, index[d]);
  coarse->tags[parent] = 1 + tag;
  coarse->octants[parent] = 0;
}

static void fill_some(void *context, size_t begin, size_t end) {
  plan *p = context;
  for (size_t n = begin; n < end; n++) {
    fill_parent(p, p->coarse, (sp_lid)n);
    if (p->is_box && !sp_geometry_is_surely_proper(p->coarse, (sp_lid)n))
      __atomic_store_n(&p->improper, true, __ATOMIC_RELAXED);
  }
}

static sp_status make_parents(plan *p) {
  const sp_hexes *fine = p->fine->hexes;
  sp_gid count = fine->count / 8;
  if (p->is_box) count = 1;
  for (int d = 0; d < 3 && p->is_box; d++) count *= parent_extent(p, d);
  SP_TRY(sp_hexes_create(count, fine->map_order, &p->coarse));
  sp_hexes *coarse = p->coarse;
  SP_TRY(sp_hexes_copy_groups(fine, coarse));
  coarse->refinements = p->is_box ? 0 : fine->refinements - 1;
  for (int d = 0; d < 3 && p->is_box; d++) {
    coarse->box[d] = parent_index(p, d, p->elements[d] - 1) + 1;
    coarse->box_first[d] = parent_index(p, d, p->first[d]);
    coarse->box_end[d] = parent_index(p, d, p->last[d]) + 1;
  }
  SP_TRY(place_children(p));
  return sp_loop_over("coarser mesh", (size_t)count, 24, p, fill_some);
}

sp_status sp_mesh_coarser(const sp_mesh *fine, sp_mesh **out) {
  const sp_hexes *h = fine->hexes;
  plan p = {.fine = fine, .is_box = h->box[0] > 0, .along = {true, true, true}};
  *out = NULL;
  if ((!p.is_box && h->refinements == 0) || h->file.contacts > 0) return SP_OK;
  if (p.is_box) find_cuts(&p);
  if (!choose_directions(&p)) return SP_OK;
  sp_status status = sp_agree(fine->comm, make_parents(&p));
  MPI_Allreduce(MPI_IN_PLACE, &p.improper, 1, MPI_C_BOOL, MPI_LOR, fine->comm);
  if (status || p.improper) {
    sp_hexes_destroy(&p.coarse);
    return status;
  }
  return sp_mesh_create(fine->comm, &p.coarse, out);
}
