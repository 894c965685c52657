/* Operators with kappa and lambda at the quadrature points and with a diagonal: in both
 * precisions against the plain reference, constrained and not, through a step of conjugate
 * gradients, and with their diagonal.
 */
#include <float.h>
#include <stdlib.h>

#include "operators/counts.h"
#include "tests/deformed_box.h"
#include "tests/operator_bench.h"
#include "tests/reference_operator.h"

/* Coefficients at every point of a rank's elements; an element's do not depend on the ranks. */
typedef struct fields {
  double *kappa, *lambda;
} fields;

/* A rank's part of the diagonal: on some DOFs, shared ones among them, in any order. */
typedef struct parts {
  sp_lid count, *dofs;
  double *values;
} parts;

static parts make_parts(const deformed_box *box) {
  int rank;
  MPI_Comm_rank(box->mesh->comm, &rank);
  const sp_lid n = box->numbering->local;
  parts d = {.dofs = test_allocate((size_t)n, sizeof(sp_lid)),
             .values = test_allocate((size_t)n, sizeof(double))};
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

/* kappa in [0.5, 2.5], lambda in [0, 3]: an error in one, or exchanging them, shows. */
static fields make_fields(const deformed_box *box, sp_operator_kind kind) {
  const int points = points_of(kind, box->numbering->order);
  const size_t count = (size_t)box->mesh->hexes->count * (size_t)points;
  fields f = {test_allocate(count, sizeof(double)), test_allocate(count, sizeof(double))};
  for (sp_lid e = 0; e < box->mesh->hexes->count; e++)
    for (int p = 0; p < points; p++) {
      const sp_gid number = (sp_gid)box->whole_element[e] * points + p;
      f.kappa[e * points + p] = 1.5 + random_value(11, number);
      f.lambda[e * points + p] = 1.5 + 1.5 * random_value(12, number);
    }
  return f;
}

/* y = A x by the reference, summed over ranks; scale[] bounds its rounding errors. */
static void apply_reference(const deformed_box *box, const sp_operator_setup *setup,
                            const double *x, double *y, double *scale) {
  const size_t np = element_nodes(box), n = (size_t)box->numbering->local;
  const size_t whole = (size_t)box->whole_numbering->local;
  const int order = box->numbering->order, points = points_of(setup->kind, order);
  double *sums = test_allocate(2 * whole, sizeof *sums), *sum_scale = sums + whole;
  double *work = test_allocate(3 * np, sizeof *work), *ye = work + np, *se = ye + np;
  for (sp_lid e = 0; e < box->mesh->hexes->count; e++) {
    const sp_lid *nodes = &box->numbering->nodes[(size_t)e * np];
    const ptrdiff_t first = (ptrdiff_t)e * points;
    for (size_t p = 0; p < np; p++) work[p] = x[nodes[p]];
    reference_apply_coefficients(setup->kind, order, setup->kappa ? &setup->kappa[first] : NULL,
                                 setup->lambda_values ? &setup->lambda_values[first] : NULL,
                                 box->mesh->hexes, e, work, ye, se);
    for (size_t p = 0; p < np; p++) {
      sums[box->whole_dof[nodes[p]]] += ye[p];
      sum_scale[box->whole_dof[nodes[p]]] += se[p];
    }
  }
  for (sp_lid i = 0; i < setup->diagonal_count; i++) {
    const sp_lid dof = setup->diagonal_dofs[i];
    sums[box->whole_dof[dof]] += setup->diagonal_values[i] * x[dof];
    sum_scale[box->whole_dof[dof]] += setup->diagonal_values[i];
  }
  sum_whole(box->mesh->comm, box, sums);
  sum_whole(box->mesh->comm, box, sum_scale);
  const double tolerance = reference_tolerance(order, bench_epsilon(setup->precision));
  for (size_t i = 0; i < n; i++) {
    y[i] = sums[box->whole_dof[i]];
    scale[i] = tolerance * sum_scale[box->whole_dof[i]];
  }
  free(sums);
  free(work);
}

static void check_equal(const deformed_box *box, const bool *zero, const double *y,
                        const double *want, const double *scale, const char *what) {
  double worst = 0;
  for (sp_lid i = 0; i < box->numbering->local; i++)
    worst = fmax(worst, fabs(y[i] - (zero && zero[i] ? 0 : want[i])) / scale[i]);
  CHECK(worst <= 1, "%s: off by %.3g of what rounding allows", what, worst);
  CHECK(count_different_bits(box->mesh->comm, box, y) == 0, "%s: holders differ", what);
}

/* The two passes of an iteration. */
static void check_passes(const bench *b, const deformed_box *box, sp_operator *op, const bool *mask,
                         const double *want, const double *scale, const double *x) {
  const size_t n = (size_t)op->dofs;
  double *sum = test_allocate(4 * n, sizeof *sum), *masked = sum + n;
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
  free(sum);
}

static void check_operator(const bench *b, const deformed_box *box, sp_operator_setup setup,
                           const bool *mask) {
  const size_t n = (size_t)box->numbering->local;
  double *x = test_allocate(5 * n, sizeof *x), *y = x + n, *want = y + n, *scale = want + n,
         *masked = scale + n;
  random_vector(box, 1, x);
  for (size_t i = 0; i < n; i++) masked[i] = mask[i] ? 0 : x[i];
  setup.constrained = mask;
  sp_operator *op = bench_operator(&setup);
  apply_reference(box, &setup, x, want, scale);
  bench_apply(b, op, false, x, y);
  check_equal(box, NULL, y, want, scale, "unconstrained");
  apply_reference(box, &setup, masked, want, scale);
  bench_apply(b, op, true, x, y);
  check_equal(box, mask, y, want, scale, "constrained");
  if (setup.precision == SP_DOUBLE) check_passes(b, box, op, mask, want, scale, x);
  sp_operator_destroy(&op);
  free(x);
}

/* Unit vectors one after another give the diagonal. */
static void check_diagonal(const deformed_box *box, const sp_operator_setup *setup) {
  const size_t n = (size_t)box->numbering->local;
  double *inverse = test_allocate(4 * n, sizeof *inverse), *x = inverse + n, *y = x + n,
         *scale = y + n;
  CHECK(sp_operator_inverse_diagonal(setup, inverse) == SP_OK, "%s", sp_error_message());
  for (sp_lid unit = 0; unit < box->whole_numbering->local; unit++) {
    for (size_t i = 0; i < n; i++) x[i] = box->whole_dof[i] == unit;
    apply_reference(box, setup, x, y, scale);
    for (size_t i = 0; i < n; i++)
      if (x[i] > 0) CHECK_CLOSE(1 / inverse[i], y[i], scale[i]);
  }
  free(inverse);
}

static void check_box(const bench *b, const int elements[3], int map_order, int order,
                      bool diagonal) {
  deformed_box box;
  deformed_box_create(b->comm, elements, map_order, order, &box);
  bool *mask = test_allocate((size_t)box.numbering->local, sizeof *mask);
  bool *whole_mask = test_allocate((size_t)box.whole_numbering->local, sizeof *whole_mask);
  mark_constrained(&box, mask, whole_mask);
  const parts d = make_parts(&box);
  sp_space *space = bench_space(b, box.mesh, order);
  for (sp_operator_kind kind = SP_BP35; kind <= SP_BP30; kind++) {
    const fields f = make_fields(&box, kind);
    for (int which = 1; which < (b->backend == &sp_backend_host ? 8 : 4); which++) {
      sp_operator_setup setup = {.space = space,
                                 .kind = kind,
                                 .geometry = SP_GEOMETRY_STORED,
                                 .lambda = 1,
                                 .kappa = which & 1 ? f.kappa : NULL,
                                 .lambda_values = which & 2 ? f.lambda : NULL,
                                 .diagonal_count = which & 4 ? d.count : 0,
                                 .diagonal_dofs = d.dofs,
                                 .diagonal_values = d.values};
      if (diagonal) {
        check_diagonal(&box, &setup);
        continue;
      }
      for (setup.precision = SP_DOUBLE; setup.precision < SP_PRECISIONS; setup.precision++)
        if (bench_has(b, setup.precision)) check_operator(b, &box, setup, mask);
    }
    free(f.kappa);
    free(f.lambda);
  }
  free(d.dofs);
  free(d.values);
  free(mask);
  free(whole_mask);
  sp_space_destroy(&space);
  deformed_box_destroy(&box);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  bench b;
  bench_open(argc, argv, &b);
  const int cube[3] = {3, 3, 3}, bar[3] = {11, 1, 1}, small[3] = {2, 2, 1};
  for (int order = 1; order <= 4; order++) check_box(&b, cube, 1, order, false);
  check_box(&b, bar, 1, 7, false);
  check_box(&b, small, 3, 4, false);
  check_box(&b, small, 1, 1, true);
  check_box(&b, small, 1, 3, true);
  check_box(&b, small, 2, 2, true);
  bench_close(&b);
  const int result = check_end(MPI_COMM_WORLD);
  MPI_Finalize();
  return result;
}
