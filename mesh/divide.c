#include "mesh/divide.h"

#include <stdlib.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/reference.h"

/* ---- Shapes ---- */

/* A cell is a product of simplices: the first direction of the simplex of each direction. */
static const int FIRST[SP_CELL_SHAPES][3] = {
    [SP_TETRAHEDRON] = {0, 0, 0}, [SP_PRISM] = {0, 0, 2}, [SP_HEXAHEDRON] = {0, 1, 2}};

sp_cell_shape sp_cell_shape_of(const sp_gid vertices[SP_CORNERS]) {
  if (vertices[7] >= 0) return SP_HEXAHEDRON;
  return vertices[6] >= 0 ? SP_PRISM : SP_TETRAHEDRON;
}

/* True if the lattice node (i, j, k) of order g lies in the cell. */
static bool has_node(sp_cell_shape shape, int g, int i, int j, int k) {
  const int *first = FIRST[shape];
  int sum[3] = {0};
  sum[first[0]] += i;
  sum[first[1]] += j;
  sum[first[2]] += k;
  return sum[0] <= g && sum[1] <= g && sum[2] <= g;
}

int sp_cell_nodes(sp_cell_shape shape, int g) {
  int count = 0;
  for (int k = 0; k <= g; k++)
    for (int j = 0; j <= g; j++)
      for (int i = 0; i <= g; i++) count += has_node(shape, g, i, j, k);
  return count;
}

static bool has_corner(sp_cell_shape shape, int c) {
  return has_node(shape, 1, c & 1, c >> 1 & 1, c >> 2);
}

/* True if the face exists and has this corner. */
static bool on_face(sp_cell_shape shape, int face, int c) {
  const int d = face / 2;
  if (face % 2 == 0) return !(c >> d & 1);
  bool any = false;
  for (int e = 0; e < 3; e++) any = any || (FIRST[shape][e] == d && (c >> e & 1));
  return any;
}

int sp_cell_face(sp_cell_shape shape, int face, int corners[4]) {
  int count = 0;
  for (int c = 0; c < SP_CORNERS; c++)
    if (has_corner(shape, c) && on_face(shape, face, c)) corners[count++] = c;
  return count;
}

/* ---- The division of a shape ---- */

/* An entity of a cell: the set of its corners, as bits. */
typedef unsigned corner_set;

enum { MOST_ENTITIES = 27 };

typedef struct division {
  sp_cell_shape shape;
  int children, entity_count;
  corner_set entities[MOST_ENTITIES]; /* each is a new vertex, its centre */
  int home[SP_CORNERS];               /* [children], the corner at corner 0 of the child */
  int faces[SP_CORNERS][3];           /* [children], of the cell, at r, s, t = -1 of the child */
  int places[SP_CORNERS][SP_CORNERS]; /* [children], entity at each corner */
  double *basis; /* [children][(g+1)^3][(g+1)^3], of the cell's nodes at the nodes of a child */
} division;

static int place_of(division *d, corner_set set) {
  int i = 0;
  while (i < d->entity_count && d->entities[i] != set) i++;
  if (i == d->entity_count) d->entities[d->entity_count++] = set;
  return i;
}

/* The corners on all faces[b] whose bit b in `left` is not set. */
static corner_set common_corners(sp_cell_shape shape, const int faces[3], int left) {
  corner_set set = 0;
  for (int c = 0; c < SP_CORNERS; c++) {
    bool in = has_corner(shape, c);
    for (int b = 0; b < 3; b++) in = in && (left >> b & 1 || on_face(shape, faces[b], c));
    if (in) set |= 1u << c;
  }
  return set;
}

/* Mean of the corners' barycentric coordinates: r, s, t, then per simplex 1 minus the sum of its
 * directions. */
static void centre_of(sp_cell_shape shape, corner_set set, double centre[6]) {
  int count = 0;
  for (int n = 0; n < 6; n++) centre[n] = 0;
  for (int c = 0; c < SP_CORNERS; c++) {
    if (!(set >> c & 1)) continue;
    count++;
    for (int d = 0; d < 3; d++) {
      centre[d] += c >> d & 1;
      centre[3 + d] += !on_face(shape, 2 * d + 1, c);
    }
  }
  for (int n = 0; n < 6; n++) centre[n] /= count;
}

/* True if the edges to corners 1, 2 and 4 of a child are right-handed. */
static bool is_right_handed(const division *d, const int places[SP_CORNERS]) {
  double centre[4][6], a[3][3];
  const int ends[4] = {0, 1, 2, 4};
  for (int n = 0; n < 4; n++) centre_of(d->shape, d->entities[places[ends[n]]], centre[n]);
  for (int n = 0; n < 3; n++)
    for (int m = 0; m < 3; m++) a[n][m] = centre[n + 1][m] - centre[0][m];
  return a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) +
             a[0][1] * (a[1][2] * a[2][0] - a[1][0] * a[2][2]) +
             a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]) >
         0;
}

static void place_child(division *d, int corner) {
  const int child = d->children++;
  int *faces = d->faces[child], *places = d->places[child], count = 0;
  d->home[child] = corner;
  for (int f = 0; f < SP_FACES; f++)
    if (on_face(d->shape, f, corner)) faces[count++] = f;
  for (int pass = 0; pass < 2; pass++) {
    for (int c = 0; c < SP_CORNERS; c++)
      places[c] = place_of(d, common_corners(d->shape, faces, c));
    if (is_right_handed(d, places)) return;
    const int swap = faces[0];
    faces[0] = faces[1];
    faces[1] = swap;
  }
}

/* The factor of Silvester's basis on the equispaced nodes of a simplex: 1 at x = n / g, 0 at m / g
 * for m < n. */
static double silvester_factor(int g, int n, double x) {
  double product = 1;
  for (int m = 0; m < n; m++) product *= (g * x - m) / (m + 1);
  return product;
}

/* row[(g+1)^3]: the basis of the cell at the point with these barycentric coordinates. */
static void evaluate_basis(sp_cell_shape shape, int g, const double point[6], double *row) {
  for (int k = 0; k <= g; k++)
    for (int j = 0; j <= g; j++)
      for (int i = 0; i <= g; i++, row++) {
        const int node[3] = {i, j, k};
        int sum[3] = {0};
        *row = 0;
        if (!has_node(shape, g, i, j, k)) continue;
        for (int d = 0; d < 3; d++) sum[FIRST[shape][d]] += node[d];
        *row = 1;
        for (int d = 0; d < 3; d++) {
          *row *= silvester_factor(g, node[d], point[d]);
          if (FIRST[shape][d] == d) *row *= silvester_factor(g, g - sum[d], point[3 + d]);
        }
      }
}

/* The trilinear map of a child, in barycentric coordinates of the cell. */
static void child_point(const division *d, int child, const double at[3], double point[6]) {
  for (int n = 0; n < 6; n++) point[n] = 0;
  for (int c = 0; c < SP_CORNERS; c++) {
    double centre[6], weight = 1;
    centre_of(d->shape, d->entities[d->places[child][c]], centre);
    for (int e = 0; e < 3; e++) weight *= c >> e & 1 ? at[e] : 1 - at[e];
    for (int n = 0; n < 6; n++) point[n] += weight * centre[n];
  }
}

static sp_status division_create(sp_cell_shape shape, int g, division *d) {
  const size_t nodes = sp_element_nodes(g);
  *d = (division){.shape = shape};
  for (int c = 0; c < SP_CORNERS; c++)
    if (has_corner(shape, c)) place_child(d, c);
  SP_TRY(sp_allocate((size_t)d->children * nodes, nodes * sizeof *d->basis, "basis of cells",
                     &d->basis));
  double *row = d->basis;
  for (int child = 0; child < d->children; child++)
    for (int k = 0; k <= g; k++)
      for (int j = 0; j <= g; j++)
        for (int i = 0; i <= g; i++, row += nodes) {
          const double at[3] = {(double)i / g, (double)j / g, (double)k / g};
          double point[6];
          child_point(d, child, at, point);
          evaluate_basis(shape, g, point, row);
        }
  return SP_OK;
}

/* ---- The elements ---- */

typedef struct work {
  const sp_hexes *cells;
  sp_hexes *fine;
  division divisions[SP_CELL_SHAPES];
  size_t *first_child, *first_name; /* [cells + 1] */
  sp_row_name *names;               /* of all entities of all cells */
  int64_t *numbers;
} work;

static const division *division_of(const work *w, size_t e) {
  return &w->divisions[sp_cell_shape_of(w->cells->vertices[e])];
}

/* Name an entity by its vertices, the interior of a cell by its tag. */
static sp_row_name name_of(const sp_hexes *cells, size_t e, corner_set set, bool inside) {
  sp_gid vertices[4], key[4] = {-1, -1, -1, cells->tags[e]};
  int count = 0;
  for (int c = 0; c < SP_CORNERS && !inside; c++)
    if (set >> c & 1) vertices[count++] = cells->vertices[e][c];
  if (!inside) sp_entity_key(count, vertices, key);
  return sp_entity_name(key);
}

static void name_some(void *work_, size_t begin, size_t end) {
  work *w = work_;
  for (size_t e = begin; e < end; e++) {
    const division *d = division_of(w, e);
    const corner_set all = common_corners(d->shape, d->faces[0], 7);
    for (int i = 0; i < d->entity_count; i++)
      w->names[w->first_name[e] + (size_t)i] =
          name_of(w->cells, e, d->entities[i], d->entities[i] == all);
  }
}

static void divide_some(void *work_, size_t begin, size_t end) {
  const work *w = work_;
  const sp_hexes *cells = w->cells;
  sp_hexes *fine = w->fine;
  const size_t nodes = sp_hexes_lattice_size(cells);
  for (size_t e = begin; e < end; e++) {
    const division *d = division_of(w, e);
    const double *from = sp_hexes_lattice(cells, (sp_lid)e), *row = d->basis;
    for (int child = 0; child < d->children; child++) {
      const size_t to = w->first_child[e] + (size_t)child;
      double *point = &fine->lattice[3 * to * nodes];
      for (size_t n = 0; n < nodes; n++, row += nodes, point += 3)
        for (size_t m = 0; m < nodes; m++)
          for (size_t x = 0; x < 3; x++) point[x] += row[m] * from[3 * m + x];
      for (int c = 0; c < SP_CORNERS; c++)
        fine->vertices[to][c] = w->numbers[w->first_name[e] + (size_t)d->places[child][c]];
      for (int f = 0; f < SP_FACES; f++)
        fine->surfaces[to][f] =
            f % 2 == 0 ? cells->surfaces[e][d->faces[child][f / 2]] : SP_SURFACE_INTERIOR;
      fine->tags[to] = cells->tags[e];
      fine->octants[to] = d->home[child];
      fine->volumes[to] = cells->volumes[e];
    }
  }
}

static sp_status prepare_work(work *w) {
  const sp_hexes *cells = w->cells;
  const size_t count = (size_t)cells->count;
  for (sp_cell_shape s = 0; s < SP_CELL_SHAPES; s++)
    SP_TRY(division_create(s, cells->map_order, &w->divisions[s]));
  SP_TRY(SP_ALLOCATE("divided elements", SP_ARRAY(w->first_child, count + 1),
                     SP_ARRAY(w->first_name, count + 1)));
  for (size_t e = 0; e < count; e++) {
    const division *d = division_of(w, e);
    w->first_child[e + 1] = w->first_child[e] + (size_t)d->children;
    w->first_name[e + 1] = w->first_name[e] + (size_t)d->entity_count;
  }
  SP_TRY(sp_hexes_create((sp_gid)w->first_child[count], cells->map_order, &w->fine));
  SP_TRY(sp_hexes_copy_groups(cells, w->fine));
  SP_TRY(SP_ALLOCATE("vertices", SP_ARRAY(w->names, w->first_name[count]),
                     SP_ARRAY(w->numbers, w->first_name[count])));
  return sp_loop_over("vertices", count, MOST_ENTITIES, w, name_some);
}

sp_status sp_divide(MPI_Comm comm, sp_hexes **hexes) {
  work w = {.cells = *hexes};
  const size_t count = (size_t)w.cells->count, nodes = sp_hexes_lattice_size(w.cells);
  const sp_hexes_file file = w.cells->file;
  sp_gid shapes[SP_CELL_SHAPES] = {0};
  for (size_t e = 0; e < count; e++) shapes[sp_cell_shape_of(w.cells->vertices[e])]++;
  MPI_Allreduce(MPI_IN_PLACE, shapes, SP_CELL_SHAPES, SP_MPI_GID, MPI_SUM, comm);
  if (shapes[SP_TETRAHEDRON] + shapes[SP_PRISM] == 0) return SP_OK;
  sp_status status = sp_agree(comm, prepare_work(&w));
  if (!status)
    status = sp_rendezvous_number(comm, (int64_t)w.first_name[count], w.names, w.numbers);
  if (!status)
    status = sp_agree(
        comm, sp_loop_over("divided elements", count, SP_CORNERS * nodes * nodes, &w, divide_some));
  sp_hexes_destroy(hexes);
  for (int s = 0; s < SP_CELL_SHAPES; s++) free(w.divisions[s].basis);
  SP_FREE(w.first_child, w.first_name, w.names, w.numbers);
  if (status) {
    sp_hexes_destroy(&w.fine);
    return status;
  }
  w.fine->file = file;
  memcpy(w.fine->file.divided, shapes, sizeof shapes);
  *hexes = w.fine;
  return SP_OK;
}
