/* Additive Schwarz on elements and columns: on a mesh that is one of them it is the inverse of the
 * operator. */
#include "operators/schwarz/schwarz.h"

#include <float.h>

#include "mesh/reference.h"
#include "tests/boxes.h"
#include "tests/deformed_box.h"
#include "tests/operator_bench.h"

static bench tested; /* stays open */

static sp_vector send(sp_precision precision, size_t count, const double *values) {
  return bench_upload_as(&tested, precision, count, values);
}

/* A column of elements along direction `along`, or one element, as a mesh of its own. */
typedef struct stack {
  int along, length;
  double thickness, jump; /* of an element; kappa runs over 1 .. jump at random */
  bool closed;
} stack;

/* On such a mesh Schwarz is the inverse of the operator: Robin on the upper end, Dirichlet on a
 * lateral side. */
static void check_exact(const stack *s, int order, sp_precision precision) {
  static const double ALPHA = 0.7, LAMBDA = 1.3;
  sp_box box = {.upper = {1, 0.5, 2}, .epsilon = 1};
  const int nq = order + 1, area = nq * nq, low = (s->along + 1) % 3, high = (s->along + 2) % 3;
  sp_space *space;
  sp_operator *op, *smoothed; /* in double, and as Schwarz */
  sp_schwarz *schwarz;
  int nodes[SP_MAX_NQ * SP_MAX_NQ];
  bench alone;
  bench_open_alone(&tested, &alone);
  for (int d = 0; d < 3; d++) box.elements[d] = d == s->along ? s->length : 1;
  if (s->thickness > 0) box.upper[s->along] = s->length * s->thickness;
  sp_mesh *mesh = box_mesh(MPI_COMM_SELF, &box, 0);
  if (s->closed)
    require(
        sp_mesh_identify(mesh, 1, &(sp_periodic_pair){.groups = {2 * s->along, 2 * s->along + 1}}));
  require(sp_space_create(&alone.platform, mesh, order, &space));
  const size_t n = sp_space_dofs(space), elements = (size_t)s->length;
  bool *constrained = test_array(n, sizeof *constrained);
  sp_lid *robin = test_array((size_t)area, sizeof *robin);
  double *values = test_array((size_t)area, sizeof *values);
  double *kappa = test_array(elements, sizeof *kappa);
  double *x = test_array(3 * n, sizeof *x), *y = x + n, *inverse = y + n;
  sp_separable *boxes = test_array(elements, sizeof *boxes);
  const double *weights = sp_reference_get(order)->gll.weights;
  int robins = 0;
  for (size_t e = 0; e < elements; e++) {
    const sp_lid *own = &space->numbering->nodes[e * (size_t)(area * nq)];
    kappa[e] = pow(s->jump, 0.5 + 0.5 * random_value(5, mesh->hexes->tags[e]));
    sp_face_nodes(order, 2 * low, nodes);
    for (int i = 0; i < area; i++) constrained[own[nodes[i]]] = true;
    if (mesh->hexes->surfaces[e][2 * s->along + 1] != 2 * s->along + 1 || s->closed) continue;
    sp_face_nodes(order, 2 * s->along + 1, nodes);
    for (int i = 0; i < area; i++) {
      robin[robins] = own[nodes[i]];
      values[robins++] =
          ALPHA * weights[i % nq] * weights[i / nq] * box.upper[low] * box.upper[high] / 4;
    }
  }
  sp_operator_setup setup = {.space = space,
                             .kind = SP_BP35,
                             .geometry = SP_GEOMETRY_STORED,
                             .lambda = LAMBDA,
                             .kappa = s->jump > 1 ? kappa : NULL,
                             .by_element = s->jump > 1,
                             .constrained = constrained,
                             .for_level = true,
                             .diagonal_count = robins,
                             .diagonal_dofs = robin,
                             .diagonal_values = values};
  require(sp_operator_create(&setup, &op));
  setup.precision = precision;
  require(sp_operator_create(&setup, &smoothed));
  require(sp_operator_inverse_diagonal(&setup, inverse));
  require(sp_separable_fill(&setup, boxes));
  for (size_t e = 0; e < elements; e++) {
    CHECK_CLOSE(boxes[e].kappa, kappa[e], 1e-13 * kappa[e]);
    CHECK_CLOSE(boxes[e].lambda, LAMBDA, 1e-13);
    for (int d = 0; d < 3; d++)
      CHECK_CLOSE(boxes[e].length[d], box.upper[d] / box.elements[d], 1e-13);
  }
  require(sp_schwarz_create(smoothed, &setup, boxes, inverse, &schwarz));

  for (size_t i = 0; i < n; i++) x[i] = constrained[i] ? 0 : random_value(3, (sp_gid)i);
  bench_apply(&tested, op, true, x, y);
  sp_vector r = send(precision, n, y), z = send(precision, n, x);
  require(sp_schwarz_apply(schwarz, &r, &z));
  bench_download(&z, y);
  double error = 0;
  for (size_t i = 0; i < n; i++) error = fmax(error, fabs(y[i] - x[i]));
  /* Eigenvalues lie between lambda and some N^4 sum of kappa l^-2; this ratio magnifies the
   * rounding of r, and the eigenvectors' 1e-13. */
  double sum = 0;
  for (int d = 0; d < 3; d++) sum += pow(box.elements[d] / box.upper[d], 2);
  const double condition = pow(order, 4) * sum * s->jump / LAMBDA;
  const double epsilon = precision == SP_SINGLE ? FLT_EPSILON : 1e-13;
  CHECK(error <= condition * epsilon, "%d elements, order %d: S A x is off by %g, not %g",
        s->length, order, error, condition * epsilon);

  /* Make the result by steps with one vector of scratch: r = 0 - A x, then S (-r). */
  double *const zero = test_array(n, sizeof *zero);
  sp_vector from = send(precision, n, x), scratch = send(precision, n, zero);
  sp_vector t = send(precision, n, zero), d = send(precision, n, x);
  require(sp_operator_apply_step(smoothed, &from, &scratch,
                                 &(sp_smoothing){.t = &t, .q = &scratch, .r = &r}));
  require(sp_schwarz_step(
      schwarz, &r, &scratch,
      &(sp_smoothing){.b = -1, .c = 1, .first = true, .t = &scratch, .d = &d, .x = &z}));
  bench_download(&z, y);
  error = 0;
  for (size_t i = 0; i < n; i++) error = fmax(error, fabs(y[i] - x[i]));
  CHECK(error <= condition * epsilon, "%d elements, order %d: by steps S A x is off by %g",
        s->length, order, error);

  /* The solution by columns loses no digits to jumps and thin elements: S r in single precision is
   * that in double precision to the rounding of six products with matrices of n rows. */
  for (size_t i = 0; i < n; i++) x[i] = constrained[i] ? 0 : (float)random_value(7, (sp_gid)i);
  setup.precision = SP_DOUBLE;
  sp_schwarz *exact;
  require(sp_schwarz_create(op, &setup, boxes, inverse, &exact));
  sp_vector r_exact = send(SP_DOUBLE, n, x), z_exact = send(SP_DOUBLE, n, x);
  require(sp_schwarz_apply(exact, &r_exact, &z_exact));
  require(sp_vector_write(x, &r));
  require(sp_schwarz_apply(schwarz, &r, &z));
  bench_download(&z, y);
  bench_download(&z_exact, x);
  error = 0;
  double largest = 0;
  for (size_t i = 0; i < n; i++) {
    error = fmax(error, fabs(y[i] - x[i]));
    largest = fmax(largest, fabs(x[i]));
  }
  CHECK(error <= 6.0 * nq * FLT_EPSILON * largest, "%d elements, order %d: S r is off by %g of %g",
        s->length, order, error, largest);
  sp_schwarz_destroy(&exact);
  sp_vector *const vectors[] = {&from, &scratch, &t, &d, &r, &z, &r_exact, &z_exact};
  for (size_t v = 0; v < COUNT_OF(vectors); v++) sp_vector_destroy(vectors[v]);
  sp_schwarz_destroy(&schwarz);
  sp_operator_destroy(&op);
  sp_operator_destroy(&smoothed);
  sp_space_destroy(&space);
  sp_mesh_destroy(&mesh);
  bench_close_alone(&alone);
}

static void check_stacks(int order, sp_precision precision) {
  static const stack cases[] = {
      {0, 1, 0, 1, false},      {0, 5, 0.02, 1, false},   {1, 4, 0.01, 10, false},
      {2, 7, 0.05, 100, false}, {0, 1, 0.02, 1, true},    {1, 2, 0.02, 10, true},
      {2, 5, 0.02, 100, true},  {0, 9, 1e-4, 1e8, false}, {1, 9, 1e-4, 1e8, true}};
  for (size_t c = 0; c < COUNT_OF(cases); c++) check_exact(&cases[c], order, precision);
}

int main(int argc, char **argv) {
  bench_begin(&argc, &argv, &tested);
  for (int order = 2; order <= SP_MAX_ORDER; order++)
    for (sp_precision p = SP_DOUBLE; p < SP_PRECISIONS; p++) check_stacks(order, p);
  return bench_end(&tested);
}
