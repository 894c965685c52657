#include "mesh/shape.h"

#include <math.h>
#include <stdlib.h>

#include "io/clones.h"
#include "io/threads.h"
#include "mesh/columns.h"
#include "mesh/geometry.h"
#include "mesh/reference.h"

/* Smallest ratio of couplings of two strong directions, and of the determinants of an element that
 * is not skew. */
static const double STRONG = 0.2, UPRIGHT = 0.5;

void sp_mesh_strong_directions(const sp_mesh_shape *shape, bool strong[3]) {
  for (int d = 0; d < 3; d++) strong[d] = shape->strength[d] >= STRONG && shape->upright >= UPRIGHT;
}

double sp_mesh_fit_box(const double g[3], double wj, double length[3]) {
  const double kappa = cbrt(g[0] * g[1] * g[2] / wj);
  for (int d = 0; d < 3; d++) length[d] = 2 * sqrt(g[(d + 1) % 3] * g[(d + 2) % 3]) / kappa;
  return kappa;
}

static sp_status check_corners(const sp_hexes *hexes, sp_lid e) {
  for (int a = 0; a < SP_CORNERS; a++)
    for (int b = 0; b < a; b++) {
      double centre[3];
      const double middle = 0;
      if (hexes->vertices[e][a] != hexes->vertices[e][b] || sp_hexes_is_contact(hexes, e)) continue;
      sp_hexes_coordinates(hexes, e, 1, &middle, centre);
      return sp_fail(
          SP_ERR_INPUT,
          "element %lld near (%.12g, %.12g, %.12g) is degenerate: two of its corners are the "
          "same vertex; mesh this region with proper hexahedra",
          (long long)hexes->tags[e], centre[0], centre[1], centre[2]);
    }
  return SP_OK;
}

/* Data shared by all elements. */
typedef struct search {
  const sp_hexes *hexes;
  double ends[2][SP_MAX_NQ]; /* derivatives of the Lagrange basis at -1 and 1 */
  sp_mesh_shape shape; /* `stretched` is a count; of a rank until sp_mesh_shape_find joins them */
} search;

/* The shape of a chunk of elements, and the factors of one. */
typedef struct workspace {
  sp_mesh_shape shape;
  double factors[SP_FACTORS * 27];
} workspace;

/* J at a corner, column by column. */
SP_INLINE void map_corner(const search *s, const double *lattice, int corner, double j[3][3]) {
  const int order = s->hexes->map_order, n = order + 1, stride[3] = {1, n, n * n};
  int origin = 0;
  for (int d = 0; d < 3; d++) origin += (corner >> d & 1) * order * stride[d];
  for (int d = 0; d < 3; d++) {
    const int side = corner >> d & 1, first = origin - side * order * stride[d];
    const double *low = &lattice[3 * first], *high = &low[3 * stride[d]];
    for (int m = 0; m < 3; m++) j[d][m] = (high[m] - low[m]) / 2;
    if (order == 1) continue;
    for (int m = 0; m < 3; m++) j[d][m] = 0;
    for (int i = 0; i < n; i++)
      for (int m = 0; m < 3; m++) j[d][m] += s->ends[side][i] * low[3 * i * stride[d] + m];
  }
}

/* |J| divided by the lengths of the columns of J; 0 if that has no value. */
SP_INLINE double scale_jacobian(double j[3][3]) {
  double squares = 1;
  for (int d = 0; d < 3; d++) squares *= j[d][0] * j[d][0] + j[d][1] * j[d][1] + j[d][2] * j[d][2];
  const double scaled = (j[0][0] * (j[1][1] * j[2][2] - j[1][2] * j[2][1]) +
                         j[0][1] * (j[1][2] * j[2][0] - j[1][0] * j[2][2]) +
                         j[0][2] * (j[1][0] * j[2][1] - j[1][1] * j[2][0])) /
                        sqrt(squares);
  return scaled == scaled ? scaled : 0;
}

/* The smallest scaled Jacobian at some corners of an element. */
SP_CLONES static double find_quality(const search *s, sp_lid e, int corners) {
  double quality = 1, j[3][3];
  for (int c = 0; c < corners; c++) {
    map_corner(s, sp_hexes_lattice(s->hexes, e), c, j);
    quality = fmin(quality, scale_jacobian(j));
  }
  return quality;
}

/* Check an element and find its quality; `factors` is workspace. *affine becomes false if the
 * element is no parallelepiped, and stays false. */
static sp_status examine(const search *s, sp_lid e, double *factors, bool *affine,
                         double *quality) {
  static const sp_rule probe = {.n = 3, .nodes = {-1, 0, 1}, .weights = {1, 1, 1}};
  const double surely_proper = 1e-12; /* ten times the limit of sp_geometry_factors */
  const bool linear = s->hexes->map_order == 1;
  double map[24];
  SP_TRY(check_corners(s->hexes, e));
  *affine = *affine && linear && sp_geometry_trilinear(s->hexes, e, map);
  *quality = find_quality(s, e, *affine ? 1 : SP_CORNERS);
  if (*affine && *quality > surely_proper) return SP_OK;
  if (linear && sp_geometry_is_surely_proper(s->hexes, e)) return SP_OK;
  return sp_geometry_factors(s->hexes, e, &probe, factors);
}

/* The shape of no elements. */
static const sp_mesh_shape nothing = {.affine = true,
                                      .quality = 1,
                                      .shortest = INFINITY,
                                      .stretch = 1,
                                      .strength = {1, 1, 1},
                                      .upright = 1};

static sp_status examine_some(void *search_, void *workspace_, size_t begin, size_t end) {
  const search *s = search_;
  workspace *w = workspace_;
  sp_mesh_shape *shape = &w->shape;
  *shape = nothing;
  for (size_t e = begin; e < end; e++) {
    const bool contact = sp_hexes_is_contact(s->hexes, (sp_lid)e);
    double quality, a[3], l[3];
    SP_TRY(examine(s, (sp_lid)e, w->factors, &shape->affine, &quality));
    const double upright = sp_columns_couple(s->hexes, (sp_lid)e, a);
    const double most = fmax(a[0], fmax(a[1], a[2]));
    (void)sp_mesh_fit_box(a, upright * a[0] * a[1] * a[2], l);
    const double longest = fmax(l[0], fmax(l[1], l[2])), shortest = fmin(l[0], fmin(l[1], l[2]));
    shape->quality = fmin(shape->quality, quality);
    shape->shortest = fmin(shape->shortest, shortest);
    shape->longest = fmax(shape->longest, longest);
    shape->stretch = fmax(shape->stretch, contact ? 1 / SP_CONTACT_THIN : longest / shortest);
    shape->stretched += longest > SP_STRETCHED * shortest;
    for (int d = 0; d < 3; d++) shape->strength[d] = fmin(shape->strength[d], a[d] / most);
    shape->upright = fmin(shape->upright, upright);
  }
  return SP_OK;
}

static void join(void *search_, void *workspace_, size_t begin, size_t end) {
  sp_mesh_shape *to = &((search *)search_)->shape;
  const sp_mesh_shape *from = &((const workspace *)workspace_)->shape;
  (void)begin, (void)end;
  to->affine = to->affine && from->affine;
  to->quality = fmin(to->quality, from->quality);
  to->shortest = fmin(to->shortest, from->shortest);
  to->longest = fmax(to->longest, from->longest);
  to->stretch = fmax(to->stretch, from->stretch);
  to->stretched += from->stretched;
  for (int d = 0; d < 3; d++) to->strength[d] = fmin(to->strength[d], from->strength[d]);
  to->upright = fmin(to->upright, from->upright);
}

static sp_status visit(search *s) {
  const int n = s->hexes->map_order + 1;
  const size_t count = (size_t)s->hexes->count;
  double lattice[SP_MAX_NQ] = {0}, matrix[2 * SP_MAX_NQ];
  for (int i = 0; i < n; i++) lattice[i] = -1 + 2.0 * i / (n - 1);
  sp_derivative_matrix(n, lattice, 2, (const double[]){-1, 1}, matrix);
  for (int i = 0; i < n; i++)
    for (int side = 0; side < 2; side++) s->ends[side][i] = matrix[side * n + i];
  return sp_loop_sum("shape of elements", count, SP_CORNERS * SP_FACTORS, s, sizeof(workspace),
                     examine_some, join);
}

sp_status sp_mesh_shape_find(MPI_Comm comm, const sp_hexes *hexes, sp_mesh_shape *shape) {
  search s = {.hexes = hexes, .shape = nothing};
  SP_TRY(sp_agree(comm, visit(&s)));
  sp_mesh_shape *m = &s.shape;
  double least[7] = {m->affine,      m->quality,     m->shortest, m->strength[0],
                     m->strength[1], m->strength[2], m->upright};
  double most[2] = {m->longest, m->stretch}, sums[2] = {m->stretched, (double)hexes->count};
  MPI_Allreduce(MPI_IN_PLACE, least, 7, MPI_DOUBLE, MPI_MIN, comm);
  MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, comm);
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, comm);
  *shape = (sp_mesh_shape){.affine = least[0] > 0,
                           .quality = least[1],
                           .shortest = least[2],
                           .longest = most[0],
                           .stretch = most[1],
                           .stretched = sums[0] / sums[1],
                           .strength = {least[3], least[4], least[5]},
                           .upright = least[6]};
  return SP_OK;
}
