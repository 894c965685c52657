#include "mesh/shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/clones.h"
#include "io/threads.h"
#include "mesh/columns.h"
#include "mesh/geometry.h"
#include "mesh/reference.h"

/* S and S' of mesh/coarsen.h. */
static const double STRONG = 0.2, NOT_SKEW = 0.5;

void sp_mesh_strong_directions(const sp_mesh_shape *shape, bool strong[3]) {
  for (int d = 0; d < 3; d++)
    strong[d] = shape->strength[d] >= STRONG && shape->upright >= NOT_SKEW;
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

/* Minima of a shape; maxima are stored negated. */
enum { AFFINE, QUALITY, SHORTEST, UPRIGHT, STRENGTH, LONGEST = STRENGTH + 3, STRETCH, ASPECT };
enum { EXTREMES = ASPECT + 1 };

/* The shape of some elements, or of all. */
typedef struct extremes {
  double least[EXTREMES], stretched, flat;
  sp_lid worst; /* element with the least quality */
} extremes;

static const extremes NOTHING = {.least = {1, 1, INFINITY, 1, 1, 1, 1, 0, -1, -1}};

/* Data shared by all elements, and their shape. */
typedef struct search {
  const sp_hexes *hexes;
  double ends[2][SP_MAX_NQ]; /* derivatives of the Lagrange basis at -1 and 1 */
  extremes all;
} search;

/* The shape of a chunk of elements, and the factors of one. */
typedef struct workspace {
  extremes chunk;
  double factors[SP_FACTORS * 27];
} workspace;

/* J at a corner, column by column. */
SP_INLINE void map_corner(const search *s, const double *lattice, int corner, double j[3][3]) {
  const int order = s->hexes->map_order, n = order + 1, stride[3] = {1, n, n * n};
  const int origin = (int)sp_corner_node(order, corner);
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

/* |J| divided by the lengths of the columns of J; 0 if not finite. */
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

/* Check an element and find its quality; `factors` is workspace. Clears *affine if the element is
 * no parallelepiped. */
static sp_status examine_element(const search *s, sp_lid e, double *factors, bool *affine,
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

static void take_extremes(const double values[EXTREMES], double least[EXTREMES]) {
  for (int i = 0; i < EXTREMES; i++) least[i] = fmin(least[i], values[i]);
}

static sp_status examine_some(void *search_, void *workspace_, size_t begin, size_t end) {
  const search *s = search_;
  workspace *w = workspace_;
  extremes *x = &w->chunk;
  bool affine = true;
  *x = NOTHING;
  for (size_t e = begin; e < end; e++) {
    const bool contact = sp_hexes_is_contact(s->hexes, (sp_lid)e);
    double quality, a[3], l[3];
    SP_TRY(examine_element(s, (sp_lid)e, w->factors, &affine, &quality));
    const double upright = sp_columns_couple(s->hexes, (sp_lid)e, a);
    const double most = fmax(a[0], fmax(a[1], a[2]));
    (void)sp_mesh_fit_box(a, upright * a[0] * a[1] * a[2], l);
    const double longest = fmax(l[0], fmax(l[1], l[2])), shortest = fmin(l[0], fmin(l[1], l[2]));
    const double aspect = contact ? 1 : longest / shortest;
    const double stretch = contact ? 1 / SP_CONTACT_THIN : aspect;
    if (quality < x->least[QUALITY]) x->worst = (sp_lid)e;
    x->flat += quality < SP_FLAT;
    take_extremes((const double[]){affine, quality, shortest, upright, a[0] / most, a[1] / most,
                                   a[2] / most, -longest, -stretch, -aspect},
                  x->least);
    x->stretched += longest > SP_STRETCHED * shortest;
  }
  return SP_OK;
}

static void join_extremes(void *search_, void *workspace_, size_t begin, size_t end) {
  extremes *all = &((search *)search_)->all;
  const extremes *x = &((const workspace *)workspace_)->chunk;
  (void)begin, (void)end;
  if (x->least[QUALITY] < all->least[QUALITY]) all->worst = x->worst;
  all->flat += x->flat;
  all->stretched += x->stretched;
  take_extremes(x->least, all->least);
}

static sp_status examine_elements(search *s) {
  const int n = s->hexes->map_order + 1;
  const size_t count = (size_t)s->hexes->count;
  double lattice[SP_MAX_NQ] = {0}, matrix[2 * SP_MAX_NQ];
  for (int i = 0; i < n; i++) lattice[i] = -1 + 2.0 * i / (n - 1);
  sp_derivative_matrix(n, lattice, 2, (const double[]){-1, 1}, matrix);
  for (int i = 0; i < n; i++)
    for (int side = 0; side < 2; side++) s->ends[side][i] = matrix[side * n + i];
  return sp_loop_sum("shape of elements", count, SP_CORNERS * SP_FACTORS, s, sizeof(workspace),
                     examine_some, join_extremes);
}

/* Append the number of left-handed elements to the message of a failure. */
static sp_status add_left_handed(MPI_Comm comm, const sp_hexes *hexes, sp_status status) {
  sp_gid counts[2] = {0, hexes->count};
  double map[3][3];
  if (status != SP_ERR_INPUT) return status;
  for (sp_lid e = 0; e < hexes->count; e++) counts[0] += sp_hexes_mean_map(hexes, e, map) < 0;
  MPI_Allreduce(MPI_IN_PLACE, counts, 2, SP_MPI_GID, MPI_SUM, comm);
  if (counts[0] == 0) return status;
  return sp_fail(status, "%s; %lld of %lld elements are left-handed", sp_error_message(),
                 (long long)counts[0], (long long)counts[1]);
}

sp_status sp_mesh_shape_find(MPI_Comm comm, const sp_hexes *hexes, sp_mesh_shape *shape) {
  search s = {.hexes = hexes, .all = NOTHING};
  double *const least = s.all.least;
  SP_TRY(add_left_handed(comm, hexes, sp_agree(comm, examine_elements(&s))));
  double sums[3] = {s.all.stretched, s.all.flat, (double)hexes->count}, flattest[3] = {0};
  struct {
    double quality;
    int rank;
  } worst = {least[QUALITY], sp_comm_rank(comm)};
  if (hexes->count > 0) sp_hexes_coordinates(hexes, s.all.worst, 1, &(const double){0}, flattest);
  MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm);
  MPI_Bcast(flattest, 3, MPI_DOUBLE, worst.rank, comm);
  MPI_Allreduce(MPI_IN_PLACE, least, EXTREMES, MPI_DOUBLE, MPI_MIN, comm);
  MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, comm);
  *shape = (sp_mesh_shape){.affine = least[AFFINE] > 0,
                           .quality = least[QUALITY],
                           .shortest = least[SHORTEST],
                           .longest = -least[LONGEST],
                           .stretch = -least[STRETCH],
                           .aspect = -least[ASPECT],
                           .stretched = sums[0] / sums[2],
                           .flat = sums[1] / sums[2],
                           .upright = least[UPRIGHT]};
  memcpy(shape->flattest, flattest, sizeof flattest);
  memcpy(shape->strength, &least[STRENGTH], sizeof shape->strength);
  return SP_OK;
}
