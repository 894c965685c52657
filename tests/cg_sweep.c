/* CG in one sweep over the mesh, on CPUs: the vectors and sums of a sweep agree with the
 * formulas. */
#include "tests/cg_system.h"

#include <float.h>

static bench backend;

/* *sum = the sum of a b c over owned DOFs of all ranks, and a bound for the rounding of any such
 * sum: epsilon times terms times the sum of their sizes. */
static void sum_products(const system_t *s, const double *a, const double *b, const double *c,
                         double *sum, double *rounding) {
  double sums[2] = {0};
  for (sp_lid i = 0; i < s->op->owned; i++) {
    const double term = a[i] * b[i] * (c ? c[i] : 1);
    sums[0] += term;
    sums[1] += fabs(term);
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  *sum = sums[0];
  *rounding = DBL_EPSILON * (double)s->op->global_dofs * sums[1];
}

/* A sweep from random vectors, by an operator that may have a diagonal, as from Robin conditions.
 * Check x, r and p against the formulas, ap against `apply`, and the sums against the new
 * vectors. */
static void check_sweep(system_t *s, sp_operator *op, const double *inverse) {
  static const double ALPHA = 0.3, BETA = 0.7;
  const bench *b = s->bench;
  const size_t n = (size_t)op->dofs;
  double *all = test_array(7 * n, sizeof *all), *x = all, *r = x + n, *p = r + n, *ap = p + n;
  double *want_x = ap + n, *want_r = want_x + n, *want_p = want_r + n;
  for (size_t i = 0; i < 4 * n; i++) {
    const sp_gid dof = sp_numbering_global(s->space->numbering, (sp_lid)(i % n));
    all[i] = s->constrained[i % n] ? 0 : random_value(20 + (int)(i / n), dof);
  }
  for (size_t i = 0; i < n; i++) {
    want_x[i] = x[i] + ALPHA * p[i];
    want_r[i] = r[i] - ALPHA * ap[i];
    want_p[i] = (inverse ? inverse[i] : 1) * want_r[i] + BETA * p[i];
  }
  sp_vector on[4], on_inverse = {0};
  double sums[SP_CG_SUMS];
  for (int v = 0; v < 4; v++) on[v] = bench_upload(b, n, &all[(size_t)v * n]);
  if (inverse) on_inverse = bench_upload(b, n, inverse);
  const sp_cg_vectors vectors = {.x = &on[0],
                                 .r = &on[1],
                                 .z = &on[1],
                                 .p = &on[2],
                                 .next_p = &on[2],
                                 .ap = &on[3],
                                 .inverse_diagonal = inverse ? &on_inverse : NULL};
  sp_pass_times times;
  CHECK_OK(sp_operator_sweep(op, ALPHA, BETA, &vectors, SP_OK, sums, &times));
  for (int v = 0; v < 4; v++) bench_download(&on[v], &all[(size_t)v * n]);
  for (size_t i = 0; i < n; i++) { /* a few roundings of numbers up to 2, D^-1 of any size */
    const double scale = 1 + (inverse ? inverse[i] : 0);
    CHECK_CLOSE(x[i], want_x[i], 4 * DBL_EPSILON);
    CHECK_CLOSE(r[i], want_r[i], 4 * DBL_EPSILON);
    CHECK_CLOSE(p[i], want_p[i], 8 * DBL_EPSILON * scale);
  }
  memcpy(want_p, p, n * sizeof *p);
  bench_apply(b, op, true, want_p, want_x);
  CHECK(memcmp(want_x, ap, n * sizeof *ap) == 0, "A p differs from that of an application");
  const struct {
    const double *a, *b, *c;
  } terms[SP_CG_SUMS] = {[SP_CG_P_AP] = {p, ap, NULL},       [SP_CG_RR] = {r, r, NULL},
                         [SP_CG_R_AP] = {r, ap, NULL},       [SP_CG_AP_AP] = {ap, ap, NULL},
                         [SP_CG_RZ] = {r, r, inverse},       [SP_CG_Z_AP] = {r, ap, inverse},
                         [SP_CG_AP_D_AP] = {ap, ap, inverse}};
  for (int t = 0; t < SP_CG_SUMS; t++) {
    double sum, rounding;
    sum_products(s, terms[t].a, terms[t].b, terms[t].c, &sum, &rounding);
    /* p.Ap is summed over elements, whose A_e p_e are larger than A p by cancellation. */
    const double allowed = t == SP_CG_P_AP ? 100 * rounding : rounding;
    CHECK(fabs(sums[t] - sum) <= allowed, "sum %d is %.17g, not %.17g (%.3g)", t, sums[t], sum,
          allowed);
  }
  for (int v = 0; v < 4; v++) sp_vector_destroy(&on[v]);
  sp_vector_destroy(&on_inverse);
}

static void check_sweeps(int order) {
  ARRAYS_OF_SCOPE;
  const sp_box box = {.elements = {4, 3, 3}, .upper = {1, 1, 1}, .map = SP_MAP_SINE};
  system_t s;
  system_create(&backend, &box, order, 1, &s);
  sp_operator_setup setup = s.setup;
  sp_lid *dofs = test_array((size_t)s.op->dofs, sizeof *dofs);
  double *values = test_array((size_t)s.op->dofs, sizeof *values);
  for (sp_lid i = s.space->numbering->class_start[SP_FACE_DOFS]; i < s.op->dofs; i += 3) {
    dofs[setup.diagonal_count] = i;
    values[setup.diagonal_count++] = 1 + random_value(30, i);
  }
  setup.diagonal_dofs = dofs;
  setup.diagonal_values = values;
  AUTO(sp_operator) op = bench_operator(&setup);
  check_sweep(&s, op, NULL);
  check_sweep(&s, op, s.inverse_diagonal);
  check_sweep(&s, s.op, s.inverse_diagonal);
  system_destroy(&s);
}

int main(int argc, char **argv) {
  bench_begin(&argc, &argv, &backend);
  one_sweep = true;
  for (int order = 1; order <= 8; order++) check_sweeps(order);
  return bench_end(&backend);
}
