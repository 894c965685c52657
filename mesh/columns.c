#include "mesh/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double wanted_ratio = 2, kept_share = 0.5, contact_ratio = 1e7;

/* An element that needs a column. */
typedef struct candidate {
  double ratio;
  sp_lid element;
} candidate;

typedef struct search {
  const sp_topology *topology;
  double (*couplings)[3];
  sp_lid (*across)[SP_FACES]; /* sp_columns_neighbours */
  candidate *candidates;
  sp_lid candidate_count;
  signed char *axis;    /* [elements], -1 for no column */
  bool *wants, *placed; /* [elements] */
  sp_lid *queue;        /* [elements] */
} search;

static int compare_candidates(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->ratio != y->ratio) return x->ratio > y->ratio ? -1 : 1;
  return (x->element > y->element) - (x->element < y->element);
}

static double largest_coupling(const double a[3]) {
  return fmax(a[0], fmax(a[1], a[2]));
}

static double ratio_of(const double a[3]) {
  return sqrt(largest_coupling(a) / fmin(a[0], fmin(a[1], a[2])));
}

/* ---- Couplings ---- */

double sp_columns_couple(const sp_hexes *hexes, sp_lid element, double couplings[3]) {
  double j[3][3];
  const double jacobian = sp_hexes_mean_map(hexes, element, j);
  for (int d = 0; d < 3; d++) {
    const int s = (d + 1) % 3, t = (d + 2) % 3;
    couplings[d] = 0;
    for (int a = 0; a < 3; a++) {
      const int b = (a + 1) % 3, c = (a + 2) % 3;
      const double area = j[b][s] * j[c][t] - j[c][s] * j[b][t]; /* |J| d r_d / d x_a */
      couplings[d] += area * area / jacobian;
    }
  }
  return jacobian / (couplings[0] * couplings[1] * couplings[2]);
}

/* ---- Neighbours ---- */

sp_status sp_columns_neighbours(const sp_topology *t, sp_lid (*across)[SP_FACES]) {
  SP_OWNED sp_lid *holder = NULL;
  SP_TRY(sp_allocate((size_t)t->entities, sizeof *holder, "columns", &holder));
  for (sp_lid i = 0; i < t->entities; i++) holder[i] = -1;
  for (sp_lid e = 0; e < t->elements; e++)
    for (int f = 0; f < SP_FACES; f++) {
      sp_lid *first = &holder[t->slots[e][SP_FACE_SLOT + f]];
      across[e][f] = *first < 0 ? -1 : *first;
      if (*first >= 0) across[*first / SP_FACES][*first % SP_FACES] = SP_FACES * e + f;
      *first = *first == -1 ? SP_FACES * e + f : -2;
    }
  return SP_OK;
}

/* The corner of face f of element e at a vertex; -1 if several corners have it, as in a periodic
 * mesh of one element. */
static int find_corner(const search *s, sp_lid e, int f, sp_lid vertex) {
  int found = -1, count = 0;
  for (int c = 0; c < SP_CORNERS; c++)
    if ((c >> f / 2 & 1) == f % 2 && s->topology->slots[e][c] == vertex) {
      found = c;
      count++;
    }
  return count == 1 ? found : -1;
}

/* True if both faces of element e in direction d are the same, corner by corner. */
static bool meets_itself(const search *s, sp_lid e, int d) {
  const sp_lid *vertices = s->topology->slots[e];
  for (int c = 0; c < SP_CORNERS; c++)
    if (vertices[c] != vertices[c ^ 1 << d]) return false;
  return true;
}

/* Continue a frame of element e in its neighbour over face f; false if impossible. */
static bool continue_frame(const search *s, sp_lid e, int f, const sp_frame *frame, sp_frame *out) {
  const sp_lid other = s->across[e][f];
  if (other < 0) return false;
  const sp_lid n = other / SP_FACES;
  const int g = (int)(other % SP_FACES), across = f / 2;
  if (n == e) {
    *out = *frame;
    return meets_itself(s, e, across);
  }
  int origin = (f & 1) << across; /* the corner of f at the frame's lower ends */
  for (int d = 0; d < 3; d++)
    if (frame->axis[d] != across) origin |= frame->flip[d] << frame->axis[d];
  const int start = find_corner(s, n, g, s->topology->slots[e][origin]);
  if (start < 0) return false;
  for (int d = 0; d < 3; d++) {
    if (frame->axis[d] == across) {
      out->axis[d] = (unsigned char)(g / 2);
      out->flip[d] = (unsigned char)((f & 1) == frame->flip[d] ? 1 - (g & 1) : g & 1);
      continue;
    }
    const int end = find_corner(s, n, g, s->topology->slots[e][origin ^ 1 << frame->axis[d]]);
    const int step = start ^ end;
    if (end < 0 || (step != 1 && step != 2 && step != 4)) return false;
    out->axis[d] = (unsigned char)(step == 4 ? 2 : step - 1);
    out->flip[d] = (unsigned char)((start & step) != 0);
  }
  return true;
}

/* ---- Directions ---- */

static sp_frame frame_along(int axis) {
  return (sp_frame){
      {(unsigned char)axis, (unsigned char)((axis + 1) % 3), (unsigned char)((axis + 2) % 3)},
      {0, 0, 0}};
}

static void spread_direction(search *s, sp_lid seed) {
  sp_lid first = 0, last = 0;
  s->queue[last++] = seed;
  while (first < last) {
    const sp_lid e = s->queue[first++];
    const sp_frame frame = frame_along(s->axis[e]);
    for (int f = 0; f < SP_FACES; f++) {
      sp_frame next;
      const sp_lid n = s->across[e][f] / SP_FACES;
      const bool takes = f / 2 == s->axis[e] && ratio_of(s->couplings[e]) >= contact_ratio;
      if (s->across[e][f] < 0 || s->axis[n] >= 0 || !(s->wants[n] || takes)) continue;
      if (!continue_frame(s, e, f, &frame, &next)) continue;
      const double *a = s->couplings[n];
      if (!takes && a[next.axis[0]] < kept_share * largest_coupling(a)) continue;
      s->axis[n] = (signed char)next.axis[0];
      s->queue[last++] = n;
    }
  }
}

static void choose_directions(search *s) {
  for (sp_lid e = 0; e < s->topology->elements; e++) {
    const double *a = s->couplings[e];
    const double ratio = ratio_of(a);
    s->axis[e] = -1;
    s->wants[e] = ratio >= wanted_ratio;
    if (s->wants[e]) s->candidates[s->candidate_count++] = (candidate){ratio, e};
  }
  if (s->candidate_count > 0)
    qsort(s->candidates, (size_t)s->candidate_count, sizeof *s->candidates, compare_candidates);
  for (sp_lid i = 0; i < s->candidate_count; i++) {
    const sp_lid e = s->candidates[i].element;
    if (s->axis[e] >= 0) continue;
    const double *a = s->couplings[e];
    s->axis[e] = (signed char)(a[0] >= a[1] && a[0] >= a[2] ? 0 : a[1] >= a[2] ? 1 : 2);
    spread_direction(s, e);
  }
}

/* ---- Columns ---- */

/* The next element of a column and its frame; false at the column's end. */
static bool step_up(const search *s, sp_lid e, const sp_frame *frame, sp_lid *next, sp_frame *out) {
  const int axis = frame->axis[0], face = 2 * axis + 1 - frame->flip[0];
  *next = s->across[e][face] < 0 ? -1 : s->across[e][face] / SP_FACES;
  return *next >= 0 && s->axis[*next] >= 0 && continue_frame(s, e, face, frame, out) &&
         out->axis[0] == s->axis[*next];
}

/* Walk down from e, with a frame of e, to the lowest element; closed: back to e. */
static bool find_bottom(const search *s, sp_lid *e, sp_frame *frame) {
  const sp_lid from = *e;
  sp_frame down = *frame, next;
  sp_lid n;
  down.flip[0] ^= 1;
  const sp_frame first = down;
  while (step_up(s, *e, &down, &n, &next) && !s->placed[n]) {
    if (n == from) {
      if (memcmp(&first, &next, sizeof next) != 0) break;
      *e = from;
      return true;
    }
    *e = n;
    down = next;
  }
  down.flip[0] ^= 1;
  *frame = down;
  return false;
}

static void add_column(search *s, sp_lid e, sp_columns *c) {
  sp_lid *last = &c->start[c->count + 1];
  sp_frame frame = frame_along(s->axis[e]), next;
  sp_lid n = e;
  const bool closed = find_bottom(s, &e, &frame);
  *last = c->start[c->count];
  for (bool on = true; on; e = n, frame = next) {
    c->elements[*last] = e;
    c->frames[(*last)++] = frame;
    s->placed[e] = true;
    on = step_up(s, e, &frame, &n, &next) && !s->placed[n];
  }
  if (*last - c->start[c->count] == 1 && !closed) return;
  c->closed[c->count++] = closed;
}

/* ---- Set-up ---- */

static sp_status allocate_columns(search *s, sp_columns *c) {
  const size_t elements = (size_t)s->topology->elements;
  return SP_ALLOCATE("columns", SP_ARRAY(s->across, elements), SP_ARRAY(s->candidates, elements),
                     SP_ARRAY(s->axis, elements), SP_ARRAY(s->wants, elements),
                     SP_ARRAY(s->placed, elements), SP_ARRAY(s->queue, elements),
                     SP_ARRAY(c->start, elements + 2), SP_ARRAY(c->elements, elements),
                     SP_ARRAY(c->frames, elements), SP_ARRAY(c->closed, elements));
}

sp_status sp_columns_create(const sp_topology *topology, double (*couplings)[3], sp_columns **out) {
  search s = {.topology = topology, .couplings = couplings};
  sp_status status = sp_allocate(1, sizeof **out, "columns", out);
  if (!status) status = allocate_columns(&s, *out);
  if (!status) status = sp_columns_neighbours(topology, s.across);
  if (!status) {
    choose_directions(&s);
    for (sp_lid e = 0; e < topology->elements; e++)
      if (s.axis[e] >= 0 && !s.placed[e]) add_column(&s, e, *out);
  }
  SP_FREE(s.across, s.candidates, s.axis, s.wants, s.placed, s.queue);
  if (status) sp_columns_destroy(out);
  return status;
}

size_t sp_frame_node(const sp_frame *frame, int n, int i, int j, int k) {
  const int index[3] = {i, j, k};
  int own[3];
  for (int d = 0; d < 3; d++) own[frame->axis[d]] = frame->flip[d] ? n - 1 - index[d] : index[d];
  return ((size_t)own[2] * (size_t)n + (size_t)own[1]) * (size_t)n + (size_t)own[0];
}

/* ---- Cuts ---- */

/* strong[f] = true if the direction across face f is the element's only possible column. */
static void find_strong(const sp_hexes *hexes, sp_lid e, int strong[SP_FACES]) {
  double a[3];
  sp_columns_couple(hexes, e, a);
  for (int f = 0; f < SP_FACES; f++) {
    strong[f] = ratio_of(a) >= wanted_ratio;
    for (int d = 0; d < 3; d++)
      strong[f] = strong[f] && (d == f / 2 || a[d] < kept_share * a[f / 2]);
  }
}

sp_status sp_columns_count_cuts(MPI_Comm comm, sp_lid halo, const sp_hexes *hexes,
                                const sp_topology *topology, sp_gid *cuts) {
  SP_OWNED int(*here)[SP_FACES] = NULL, (*there)[SP_FACES] = NULL;
  *cuts = 0;
  SP_TRY(sp_agree(comm, SP_ALLOCATE("columns", SP_ARRAY(here, halo), SP_ARRAY(there, halo))));
  for (sp_lid e = 0; e < halo; e++) {
    find_strong(hexes, e, here[e]);
    memcpy(there[e], here[e], sizeof there[e]);
  }
  SP_TRY(sp_surfaces_swap(comm, topology, halo, there));
  for (sp_lid e = 0; e < halo; e++)
    for (int f = 0; f < SP_FACES; f++) *cuts += here[e][f] && there[e][f] > 0;
  MPI_Allreduce(MPI_IN_PLACE, cuts, 1, SP_MPI_GID, MPI_SUM, comm);
  *cuts /= 2; /* counted on both ranks */
  return SP_OK;
}

void sp_columns_destroy(sp_columns **columns) {
  if (!*columns) return;
  SP_FREE((*columns)->start, (*columns)->elements, (*columns)->frames, (*columns)->closed,
          *columns);
  *columns = NULL;
}
