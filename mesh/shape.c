#include "mesh/shape.h"

#include <math.h>
#include <stdlib.h>

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
  sp_rule rule;              /* for sums of factors */
  double ends[2][SP_MAX_NQ]; /* derivatives of the Lagrange basis at -1 and 1 */
  sp_mesh_shape shape; /* `stretched` is a count; of a rank until sp_mesh_shape_find joins them */
} search;

/* The shape of a chunk of elements, and the factors of one. */
typedef struct workspace {
  sp_mesh_shape shape;
  double factors[SP_FACTORS * 27];
} workspace;

static double dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double c[3]) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

/* |J| divided by the lengths of the columns of J. */
static double scaled_jacobian(const double *r, const double *s, const double *t) {
  double area[3];
  cross(r, s, area);
  return dot(t, area) / (sqrt(dot(r, r)) * sqrt(dot(s, s)) * sqrt(dot(t, t)));
}

static double at_corner(const search *s, const double *lattice, int corner) {
  const int order = s->hexes->map_order, n = order + 1, stride[3] = {1, n, n * n};
  double column[3][3] = {{0}};
  int origin = 0;
  for (int d = 0; d < 3; d++) origin += (corner >> d & 1) * order * stride[d];
  for (int d = 0; d < 3; d++) {
    const int side = corner >> d & 1, first = origin - side * order * stride[d];
    for (int i = 0; i < n; i++)
      for (int m = 0; m < 3; m++)
        column[d][m] += s->ends[side][i] * lattice[3 * (first + i * stride[d]) + m];
  }
  return scaled_jacobian(column[0], column[1], column[2]);
}

/* Measures of an element: sums over it, divided by 8, of the factors G_dd and of wJ; the couplings,
 * and the ratio that sp_columns_couple returns; the smallest scaled Jacobian. */
typedef struct measures {
  double g[3], wj, couplings[3], upright, quality;
} measures;

/* Measure the element if it is a parallelepiped that is surely proper. */
static bool measure_affine(const sp_hexes *hexes, sp_lid e, measures *m) {
  const double surely_proper = 1e-12; /* ten times the limit of sp_geometry_factors */
  double map[24], area[3];
  const double *const column[3] = {&map[3], &map[6], &map[9]};
  if (hexes->map_order > 1 || !sp_geometry_trilinear(hexes, e, map)) return false;
  cross(column[0], column[1], area);
  m->wj = dot(column[2], area);
  m->quality = scaled_jacobian(column[0], column[1], column[2]);
  if (!(m->quality > surely_proper)) return false;
  for (int d = 0; d < 3; d++) {
    cross(column[(d + 1) % 3], column[(d + 2) % 3], area);
    m->couplings[d] = m->g[d] = dot(area, area) / m->wj;
  }
  m->upright = m->wj / (m->g[0] * m->g[1] * m->g[2]);
  return true;
}

static sp_status measure(const search *s, sp_lid e, double *factors, measures *m) {
  static const sp_rule probe = {.n = 3, .nodes = {-1, 0, 1}, .weights = {1, 1, 1}};
  static const int diagonal[3] = {SP_G_RR, SP_G_SS, SP_G_TT};
  const sp_hexes *hexes = s->hexes;
  const size_t points = sp_rule_points(&s->rule);
  if (hexes->map_order > 1 || !sp_geometry_is_surely_proper(hexes, e))
    SP_TRY(sp_geometry_factors(hexes, e, &probe, factors));
  SP_TRY(sp_geometry_factors(hexes, e, &s->rule, factors));
  *m = (measures){.quality = 1};
  for (size_t p = 0; p < points; p++) {
    for (int d = 0; d < 3; d++) m->g[d] += factors[(size_t)diagonal[d] * points + p] / 8;
    m->wj += factors[SP_G_WJ * points + p] / 8;
  }
  for (int c = 0; c < SP_CORNERS; c++)
    m->quality = fmin(m->quality, at_corner(s, sp_hexes_lattice(hexes, e), c));
  m->upright = sp_columns_couple(hexes, e, m->couplings);
  return SP_OK;
}

static sp_status measure_some(void *search_, void *workspace_, size_t begin, size_t end) {
  const search *s = search_;
  workspace *w = workspace_;
  sp_mesh_shape *shape = &w->shape;
  *shape = s->shape;
  shape->stretched = 0;
  for (size_t e = begin; e < end; e++) {
    const bool contact = sp_hexes_is_contact(s->hexes, (sp_lid)e);
    measures m;
    double l[3];
    SP_TRY(check_corners(s->hexes, (sp_lid)e));
    if (!measure_affine(s->hexes, (sp_lid)e, &m)) {
      shape->affine = false;
      SP_TRY(measure(s, (sp_lid)e, w->factors, &m));
    }
    (void)sp_mesh_fit_box(m.g, m.wj, l);
    const double *a = m.couplings, most = fmax(a[0], fmax(a[1], a[2]));
    for (int d = 0; d < 3; d++) shape->strength[d] = fmin(shape->strength[d], a[d] / most);
    shape->upright = fmin(shape->upright, m.upright);
    const double longest = fmax(l[0], fmax(l[1], l[2])), shortest = fmin(l[0], fmin(l[1], l[2]));
    shape->quality = fmin(shape->quality, m.quality);
    shape->shortest = fmin(shape->shortest, shortest);
    shape->longest = fmax(shape->longest, longest);
    shape->stretch = fmax(shape->stretch, contact ? 1 / SP_CONTACT_THIN : longest / shortest);
    shape->stretched += longest > SP_STRETCHED * shortest;
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
  sp_rule_gl(2, &s->rule);
  for (int i = 0; i < n; i++) lattice[i] = -1 + 2.0 * i / (n - 1);
  sp_derivative_matrix(n, lattice, 2, (const double[]){-1, 1}, matrix);
  for (int i = 0; i < n; i++)
    for (int side = 0; side < 2; side++) s->ends[side][i] = matrix[side * n + i];
  return sp_loop_run(&(sp_loop){.what = "shape of elements",
                                .count = count,
                                .chunk = sp_loop_chunk(count, SP_CORNERS * SP_FACTORS),
                                .workspace_bytes = sizeof(workspace),
                                .context = s,
                                .compute = measure_some,
                                .commit = join});
}

sp_status sp_mesh_shape_find(MPI_Comm comm, const sp_hexes *hexes, sp_mesh_shape *shape) {
  search s = {.hexes = hexes,
              .shape = {.affine = true,
                        .quality = 1,
                        .shortest = INFINITY,
                        .stretch = 1,
                        .strength = {1, 1, 1},
                        .upright = 1}};
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
