/* Operators with kappa (a number or a tensor) and lambda at the quadrature points or by element,
 * and with a diagonal, in both precisions. Compared with the plain reference, constrained and not,
 * in a step of conjugate gradients, and for their diagonal. */
#include <float.h>

#include "operators/counts.h"
#include "tests/deformed_box.h"
#include "tests/operator_bench.h"
#include "tests/reference_operator.h"

/* Coefficients of a rank's elements, at every point or by element; the coefficients of an element
 * do not depend on the ranks. */
typedef struct fields {
  double *kappa, *lambda;
} fields;

/* At points; or by element, of size one, or kappa = 1 | 1e6 and lambda = 0 | 3. */
typedef enum content { POINTS, ELEMENTS, JUMPS } content;

/* A rank's part of the diagonal: on some DOFs, shared ones among them, in any order. */
typedef struct parts {
  sp_lid count, *dofs;
  double *values;
} parts;

static parts make_parts(const deformed_box *box) {
  const int rank = sp_comm_rank(box->mesh->comm);
  const sp_lid n = box->numbering->local;
  parts d = {.dofs = test_array((size_t)n, sizeof(sp_lid)),
             .values = test_array((size_t)n, sizeof(double))};
  for (sp_lid i = n - 1; i >= 0; i--) {
    if (random_value(13 + rank, box->whole_dof[i]) < 0) continue;
    d.dofs[d.count] = i;
    d.values[d.count++] = 2 + random_value(23 + rank, box->whole_dof[i]);
  }
  return d;
}

static int points_of(sp_operator_kind kind, int order) {
  const int n = sp_operator_rule(kind, order)->n;
  return n * n * n;
}

/* kappa in [0.5, 2.5], lambda in [0, 3]: an error in one, or exchanging them, shows. Jumps: all
 * four pairs of numbers. */
static fields make_fields(const deformed_box *box, sp_operator_kind kind, content c) {
  const int points = c == POINTS ? points_of(kind, box->numbering->order) : 1;
  const size_t count = (size_t)box->mesh->hexes->count * (size_t)points;
  fields f = {test_array(count, sizeof(double)), test_array(count, sizeof(double))};
  for (sp_lid e = 0; e < box->mesh->hexes->count; e++)
    for (int p = 0; p < points; p++) {
      const sp_lid element = box->whole_element[e];
      const sp_gid number = (sp_gid)element * points + p;
      f.kappa[e * points + p] = 1.5 + random_value(11, number);
      f.lambda[e * points + p] = 1.5 + 1.5 * random_value(12, number);
      if (c != JUMPS) continue;
      f.kappa[e] = element % 2 ? 1e6 : 1;
      f.lambda[e] = (element + element / 2) % 2 ? 0 : 3;
    }
  return f;
}

/* K = kappa (1 + v v^T / 2 + diag(0, 0, 2)) with v in [-1, 1]^3: no two components are equal, and
 * the smallest eigenvalue is at least kappa. [elements][6][points]. */
static double *make_tensors(const deformed_box *box, const double *kappa, size_t points) {
  const size_t count = (size_t)box->mesh->hexes->count;
  double *tensors = test_array(6 * count * points, sizeof *tensors);
  for (size_t e = 0; e < count; e++)
    for (size_t p = 0; p < points; p++) {
      const double scale = kappa[e * points + p];
      const sp_gid number = (sp_gid)box->whole_element[e] * (sp_gid)points + (sp_gid)p;
      double v[3], *k = &tensors[6 * e * points + p];
      for (int d = 0; d < 3; d++) v[d] = random_value(31 + d, number);
      for (size_t d = 0; d < 3; d++) k[d * points] = scale * (1 + v[d] * v[d] / 2 + (d == 2) * 2);
      k[3 * points] = scale * v[0] * v[1] / 2;
      k[4 * points] = scale * v[0] * v[2] / 2;
      k[5 * points] = scale * v[1] * v[2] / 2;
    }
  return tensors;
}

/* Sums over ranks of the elements' results and of the setup's diagonal times x: y = A x, and
 * scale[], which bounds its rounding errors. */
static void assemble(const deformed_box *box, const sp_operator_setup *setup,
                     double *const elements[2], const double *x, double *y, double *scale) {
  const size_t n = (size_t)box->numbering->local;
  double *y_part = test_array(2 * n, sizeof *y_part), *scale_part = y_part + n;
  for (sp_lid i = 0; i < setup->diagonal_count; i++) {
    const sp_lid dof = setup->diagonal_dofs[i];
    y_part[dof] += setup->diagonal_values[i] * x[dof];
    scale_part[dof] += setup->diagonal_values[i];
  }
  reference_sum(box, elements[0], y_part, y);
  reference_sum(box, elements[1], scale_part, scale);
  for (size_t i = 0; i < n; i++)
    scale[i] *= reference_tolerance(box->numbering->order, bench_epsilon(setup->precision));
}

static void apply_reference(const deformed_box *box, const sp_operator_setup *setup,
                            const double *x, double *y, double *scale) {
  const size_t count = (size_t)box->mesh->hexes->count * element_nodes(box);
  double *const elements[2] = {test_array(count, sizeof(double)),
                               test_array(count, sizeof(double))};
  reference_elements(box, setup, x, elements[0], elements[1]);
  assemble(box, setup, elements, x, y, scale);
}

static void check_equal(const deformed_box *box, const bool *zero, const double *y,
                        const double *want, const double *scale, const char *what) {
  const size_t n = (size_t)box->numbering->local;
  double *masked = test_array(n, sizeof *masked);
  for (size_t i = 0; i < n; i++) masked[i] = zero && zero[i] ? 0 : want[i];
  const double error = reference_error(n, y, masked, scale);
  CHECK(error <= 1, "%s: off by %.3g of what rounding allows", what, error);
  CHECK(count_different_bits(box->mesh->comm, box, y) == 0, "%s: holders differ", what);
}

/* The two passes of an iteration. */
static void check_passes(const bench *b, const deformed_box *box, sp_operator *op, const bool *mask,
                         const double *want, const double *scale, const double *x) {
  const size_t n = (size_t)op->dofs;
  double *sum = test_array(4 * n, sizeof *sum), *masked = sum + n;
  double *expected = masked + n, *bounds = expected + n;
  for (size_t i = 0; i < n; i++) {
    masked[i] = mask[i] ? 0 : x[i];
    expected[i] = masked[i] + want[i];
    bounds[i] = scale[i] + 2 * DBL_EPSILON * (fabs(masked[i]) + fabs(want[i])); /* of the sum */
  }
  const double p_ap = bench_passes(b, op, masked, sum);
  check_equal(box, mask, sum, expected, bounds, "passes");
  double bound = 0;
  for (sp_lid i = 0; i < box->numbering->owned; i++) bound += scale[i];
  MPI_Allreduce(MPI_IN_PLACE, &bound, 1, MPI_DOUBLE, MPI_SUM, b->comm);
  CHECK_CLOSE(p_ap, dot(box, masked, want), bound);
}

/* In both precisions, against one evaluation of the reference. */
static void check_operator(const bench *b, const deformed_box *box, sp_operator_setup setup,
                           const bool *mask) {
  ARRAYS_OF_SCOPE;
  const size_t n = (size_t)box->numbering->local;
  double *x = test_array(7 * n, sizeof *x), *y = x + n, *masked = y + n;
  double *want[2] = {masked + n, masked + 2 * n}, *scale[2] = {masked + 3 * n, masked + 4 * n};
  random_vector(box, 1, x);
  for (size_t i = 0; i < n; i++) masked[i] = mask[i] ? 0 : x[i];
  setup.constrained = mask;
  setup.precision = SP_DOUBLE;
  apply_reference(box, &setup, x, want[0], scale[0]);
  apply_reference(box, &setup, masked, want[1], scale[1]);
  for (; setup.precision < SP_PRECISIONS; setup.precision++) {
    if (!bench_has(b, setup.precision)) continue;
    if (setup.precision == SP_SINGLE)
      for (size_t i = 0; i < n; i++)
        for (int c = 0; c < 2; c++) scale[c][i] *= FLT_EPSILON / DBL_EPSILON;
    AUTO(sp_operator) op = bench_operator(&setup);
    bench_apply(b, op, false, x, y);
    check_equal(box, NULL, y, want[0], scale[0], "unconstrained");
    bench_apply(b, op, true, x, y);
    check_equal(box, mask, y, want[1], scale[1], "constrained");
    if (setup.precision == SP_DOUBLE) check_passes(b, box, op, mask, want[1], scale[1], x);
  }
}

/* Unit vectors of an element one after another give its diagonal. The sum over elements is the
 * diagonal of A, which is zero where DOFs are constrained. */
static void check_diagonal(const deformed_box *box, sp_operator_setup setup, bool constrained) {
  ARRAYS_OF_SCOPE;
  const size_t n = (size_t)box->numbering->local, np = element_nodes(box);
  const size_t count = (size_t)box->mesh->hexes->count * np;
  double *const elements[2] = {test_array(count, sizeof(double)),
                               test_array(count, sizeof(double))};
  double *unit = test_array(3 * np, sizeof *unit), *column = unit + np, *size = column + np;
  double *inverse = test_array(4 * n, sizeof *inverse), *ones = inverse + n, *want = ones + n;
  double *scale = want + n;
  if (constrained) setup.constrained = box->mask;
  CHECK_OK(sp_operator_inverse_diagonal(&setup, inverse));
  CHECK(count_different_bits(box->mesh->comm, box, inverse) == 0, "holders differ");
  for (size_t i = 0; i < count; i++) {
    unit[i % np] = 1;
    reference_apply(&setup, box->numbering->order, NULL, NULL, box->mesh->hexes, (sp_lid)(i / np),
                    unit, column, size);
    unit[i % np] = 0;
    elements[0][i] = column[i % np];
    elements[1][i] = size[i % np];
  }
  for (size_t i = 0; i < n; i++) ones[i] = 1;
  assemble(box, &setup, elements, ones, want, scale);
  for (size_t i = 0; i < n; i++)
    if (constrained && box->mask[i])
      CHECK(inverse[i] == 0, "constrained: %g", inverse[i]);
    else
      CHECK_CLOSE(1 / inverse[i], want[i], scale[i]);
}

static void check_either(const bench *b, const deformed_box *box, const sp_operator_setup *setup,
                         bool diagonal) {
  if (!diagonal) {
    check_operator(b, box, *setup, box->mask);
    return;
  }
  check_diagonal(box, *setup, false);
  if (!setup->kappa && !setup->lambda_values) check_diagonal(box, *setup, true);
}

/* All sets of coefficients, with and without a diagonal. With `diagonal`, the diagonal of A itself,
 * also without coefficients. */
static void check_box(const bench *b, const int elements[3], int map_order, int order,
                      bool diagonal) {
  ARRAYS_OF_SCOPE;
  AUTO_VALUE(deformed_box) box = {0};
  deformed_box_create(b->comm, elements, map_order, order, &box);
  const parts d = make_parts(&box);
  AUTO(sp_space) space = bench_space(b, box.mesh, order);
  for (sp_operator_kind kind = diagonal ? SP_MASS : SP_BP35; kind <= SP_BP30; kind++)
    for (content c = POINTS; c <= ELEMENTS; c++) {
      const fields f = make_fields(&box, kind, c);
      const int sets = kind == SP_MASS ? 1 : b->backend == &sp_backend_host ? 8 : 4;
      for (int which = diagonal ? 0 : 1; which < sets; which++) {
        sp_operator_setup setup = {.space = space,
                                   .kind = kind,
                                   .geometry = SP_GEOMETRY_STORED,
                                   .lambda = which & 2 || kind == SP_MASS ? 1 : 1.75,
                                   .kappa = which & 1 ? f.kappa : NULL,
                                   .lambda_values = which & 2 ? f.lambda : NULL,
                                   .by_element = which & 3 && c != POINTS,
                                   .diagonal_count = which & 4 ? d.count : 0,
                                   .diagonal_dofs = d.dofs,
                                   .diagonal_values = d.values};
        if (which == 4) continue; /* no coefficients */
        if (setup.by_element && map_order <= 1) setup.geometry = SP_GEOMETRY_TRILINEAR;
        check_either(b, &box, &setup, diagonal);
        if (!(which & 1)) continue;
        double *tensors =
            make_tensors(&box, f.kappa, c == POINTS ? (size_t)points_of(kind, order) : 1);
        setup.kappa = tensors;
        setup.is_tensor = true;
        check_either(b, &box, &setup, diagonal);
      }
    }
}

/* kappa and lambda that jump between elements, with recomputed factors. */
static void check_jumps(const bench *b, const int elements[3], int order) {
  ARRAYS_OF_SCOPE;
  AUTO_VALUE(deformed_box) box = {0};
  deformed_box_create(b->comm, elements, 1, order, &box);
  AUTO(sp_space) space = bench_space(b, box.mesh, order);
  for (sp_operator_kind kind = SP_BP35; kind <= SP_BP30; kind++) {
    const fields f = make_fields(&box, kind, JUMPS);
    const sp_operator_setup setup = {.space = space,
                                     .kind = kind,
                                     .geometry = SP_GEOMETRY_TRILINEAR,
                                     .lambda = 1,
                                     .kappa = f.kappa,
                                     .lambda_values = f.lambda,
                                     .by_element = true};
    check_operator(b, &box, setup, box.mask);
  }
}

int main(int argc, char **argv) {
  bench b;
  bench_begin(&argc, &argv, &b);
  const int cube[3] = {3, 3, 3}, bar[3] = {11, 1, 1}, small[3] = {2, 2, 1}, four[3] = {4, 1, 1};
  for (int order = 1; order <= 4; order++) check_box(&b, cube, 1, order, false);
  const bool all = device_sweeps(argc, argv);
  check_box(&b, all ? bar : four, 1, 7, false);
  check_box(&b, small, 3, 4, false);
  for (int order = 1; order <= (all ? HIGHEST_ORDER : 8); order += all ? 1 : order)
    check_jumps(&b, order <= 7 ? bar : four, order);
  check_box(&b, small, 0, 3, true);
  check_box(&b, small, 1, 1, true);
  check_box(&b, small, 1, 3, true);
  check_box(&b, small, 2, 2, true);
  return bench_end(&b);
}
