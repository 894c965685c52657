/* The fused passes of conjugate gradients and of Chebyshev's iteration, compared with separate
 * formulas. */
#include "operators/operator.h"

#include <float.h>

#include "tests/deformed_box.h"
#include "tests/operator_bench.h"
#include "tests/reference_operator.h"

static const double LAMBDA = 1.75;

static double total(MPI_Comm comm, double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, comm);
  return value;
}

/* Bounds of rounding errors in A x where |x| <= 1, by DOF and summed over all of them. */
static double error_bounds(const deformed_box *box, sp_operator_kind kind, double *bounds) {
  const size_t count = (size_t)box->mesh->hexes->count * element_nodes(box);
  const sp_operator_setup setup = {.kind = kind, .lambda = LAMBDA};
  double *scale = test_array(2 * count, sizeof *scale), *unused = scale + count, sum = 0;
  double *zero = test_array((size_t)box->numbering->local, sizeof *zero);
  reference_elements(box, &setup, zero, unused, scale);
  for (size_t i = 0; i < count; i++)
    scale[i] *= reference_tolerance(box->numbering->order, DBL_EPSILON);
  for (size_t i = 0; i < count; i++) sum += scale[i];
  reference_sum(box, scale, NULL, bounds);
  return total(box->mesh->comm, sum);
}

/* State of an iteration in host memory. */
typedef struct state {
  double *x, *r, *p, *ap, *z;
  double p_ap, rr, rz;
  double next_p_ap; /* of a second pass 1 */
} state;

static state make_state(const deformed_box *box, const bool *mask) {
  const size_t n = (size_t)box->numbering->local;
  state s = {.x = test_array(5 * n, sizeof(double))};
  s.r = s.x + n;
  s.p = s.r + n;
  s.ap = s.p + n;
  s.z = s.ap + n;
  random_vector(box, 4, s.x);
  random_vector(box, 5, s.r);
  random_vector(box, 6, s.p);
  random_vector(box, 7, s.z);
  for (size_t i = 0; i < n; i++)
    if (mask[i]) s.x[i] = s.r[i] = s.p[i] = s.z[i] = 0;
  return s;
}

static const double BETA = 0.375, ALPHA = 0.0625;

/* A vector full of garbage, for the new direction. */
static sp_vector rubbish_vector(const bench *b, size_t n) {
  double *rubbish = test_array(n, sizeof *rubbish);
  for (size_t i = 0; i < n; i++) rubbish[i] = NAN;
  const sp_vector vector = bench_upload(b, n, rubbish);
  return vector;
}

/* The preconditioner B in an iteration: none, a diagonal, or a separate vector z = B r. */
typedef enum preconditioning { NONE, DIAGONAL, APART } preconditioning;

static void run_fused(const bench *b, sp_operator *op, preconditioning with,
                      const double *inverse_diagonal, state *s) {
  const size_t n = (size_t)op->dofs;
  sp_vector x = bench_upload(b, n, s->x), r = bench_upload(b, n, s->r);
  sp_vector p = bench_upload(b, n, s->p), ap = bench_upload(b, n, s->ap);
  sp_vector d = bench_upload(b, n, inverse_diagonal), z = bench_upload(b, n, s->z);
  sp_vector next_p = rubbish_vector(b, n);
  sp_cg_vectors vectors = {.x = &x,
                           .r = &r,
                           .z = with == APART ? &z : &r,
                           .p = &p,
                           .next_p = b->backend->two_directions ? &next_p : &p,
                           .ap = &ap,
                           .inverse_diagonal = with == DIAGONAL ? &d : NULL};
  sp_pass_times times;
  const double start = MPI_Wtime();
  CHECK_OK(sp_operator_direction(op, BETA, &vectors, SP_OK, &s->p_ap, &times));
  const double elapsed = MPI_Wtime() - start;
  CHECK(times.matvec >= 0 && times.matvec <= elapsed, "%g s of %g s", times.matvec, elapsed);
  CHECK_OK(sp_operator_update(op, ALPHA, &vectors, &s->rr, &s->rz));
  bench_download(&x, s->x);
  bench_download(&r, s->r);
  bench_download(vectors.p, s->p);
  if (with == APART) bench_download(&z, s->z);
  CHECK_OK(sp_operator_direction(op, BETA, &vectors, SP_OK, &s->next_p_ap, &times));
  sp_vector *const all[] = {&x, &r, &p, &ap, &d, &z, &next_p};
  for (size_t v = 0; v < COUNT_OF(all); v++) sp_vector_destroy(all[v]);
}

/* A failure of one rank reaches all ranks, with its message. */
static void check_failure(const bench *b, sp_operator *op, const state *s) {
  const size_t n = (size_t)op->dofs;
  sp_vector r = bench_upload(b, n, s->r), p = bench_upload(b, n, s->p);
  sp_vector ap = bench_upload(b, n, s->ap), next_p = rubbish_vector(b, n);
  sp_cg_vectors vectors = {.x = &r,
                           .r = &r,
                           .z = &r,
                           .p = &p,
                           .next_p = b->backend->two_directions ? &next_p : &p,
                           .ap = &ap};
  double p_ap;
  sp_fail(SP_ERR_INPUT, "something old");
  sp_status status = SP_OK;
  if (world_rank == world_size - 1) status = sp_fail(SP_ERR_SYSTEM, "no space on the last rank");
  sp_pass_times times;
  status = sp_operator_direction(op, BETA, &vectors, status, &p_ap, &times);
  CHECK(status == SP_ERR_SYSTEM, "status %d", (int)status);
  CHECK_TEXT(sp_error_message(), "no space on the last rank");
  sp_vector *const all[] = {&r, &p, &ap, &next_p};
  for (size_t v = 0; v < COUNT_OF(all); v++) sp_vector_destroy(all[v]);
}

/* z = B r, if B r is not a separate vector. */
static void precondition(size_t n, preconditioning with, const double *inverse_diagonal, state *s) {
  for (size_t i = 0; i < n && with != APART; i++)
    s->z[i] = (with == DIAGONAL ? inverse_diagonal[i] : 1) * s->r[i];
}

/* The formulas, one after another. */
static void run_plain(const bench *b, const deformed_box *box, sp_operator *op,
                      preconditioning with, const double *inverse_diagonal, state *s) {
  const size_t n = (size_t)op->dofs;
  precondition(n, with, inverse_diagonal, s);
  for (size_t i = 0; i < n; i++) s->p[i] = s->z[i] + BETA * s->p[i];
  bench_apply(b, op, true, s->p, s->ap);
  s->p_ap = dot(box, s->p, s->ap);
  for (size_t i = 0; i < n; i++) {
    s->x[i] += ALPHA * s->p[i];
    s->r[i] -= ALPHA * s->ap[i];
  }
  precondition(n, with, inverse_diagonal, s);
  s->rr = dot(box, s->r, s->r);
  s->rz = dot(box, s->r, with == APART ? s->r : s->z); /* the part of z that pass 2 computes */
  double *next_p = test_array(n, sizeof *next_p), *product = test_array(n, sizeof *product);
  for (size_t i = 0; i < n; i++) next_p[i] = s->z[i] + BETA * s->p[i];
  bench_apply(b, op, true, next_p, product);
  s->next_p_ap = dot(box, next_p, product);
}

static void check_steps(const bench *b, const deformed_box *box, sp_operator *op, const bool *mask,
                        preconditioning with, const double *inverse_diagonal) {
  ARRAYS_OF_SCOPE;
  const size_t n = (size_t)op->dofs;
  double *bounds = test_array(n, sizeof *bounds);
  const double bound = error_bounds(box, op->kind, bounds);
  state fused = make_state(box, mask), again = make_state(box, mask), plain = make_state(box, mask);
  check_failure(b, op, &fused);
  run_fused(b, op, with, inverse_diagonal, &fused);
  run_fused(b, op, with, inverse_diagonal, &again);
  run_plain(b, box, op, with, inverse_diagonal, &plain);

  CHECK(memcmp(fused.x, again.x, 4 * n * sizeof(double)) == 0 && fused.p_ap == again.p_ap &&
            fused.rr == again.rr && fused.rz == again.rz && fused.next_p_ap == again.next_p_ap,
        "two runs have different bits");
  CHECK(count_different_bits(b->comm, box, fused.x) == 0, "x differs among holders");
  CHECK(count_different_bits(b->comm, box, fused.r) == 0, "r differs among holders");
  CHECK(count_different_bits(b->comm, box, fused.p) == 0, "p differs among holders");

  /* |D^-1 r| + |beta p| < 2 in p and in x: a few roundings of it. Ap has the roundings of A,
   * twice. */
  const double few = 8 * DBL_EPSILON, twice = 2 * 2;
  double p_error = 0, x_error = 0, r_error = 0;
  sp_lid moved = 0;
  for (size_t i = 0; i < n; i++) {
    p_error = fmax(p_error, fabs(fused.p[i] - plain.p[i]));
    x_error = fmax(x_error, fabs(fused.x[i] - plain.x[i]));
    r_error = fmax(r_error, fabs(fused.r[i] - plain.r[i]) /
                                (few * (1 + fabs(plain.r[i])) + twice * bounds[i]));
    moved += mask[i] && (fused.x[i] != 0 || fused.r[i] != 0 || fused.p[i] != 0);
  }
  CHECK(p_error <= few && x_error <= few, "p off by %.3g, x by %.3g", p_error, x_error);
  CHECK(r_error <= 1, "r off by %.3g of the bound", r_error);
  CHECK(moved == 0, "%d constrained entries are not zero", moved);
  CHECK_CLOSE(fused.p_ap, plain.p_ap, 2 * twice * bound);
  /* The second pass 1 starts with the old contents of ap: if it did not clear them, the error would
   * be of order one. The rounding errors of the first round go through A once more: a factor of a
   * hundred is ample. */
  CHECK_CLOSE(fused.next_p_ap, plain.next_p_ap, 100 * twice * bound);
  /* Sums of squares: every term is positive, and each has its own and the sum's roundings. */
  const double sums = 2 * bound + (double)op->global_dofs * DBL_EPSILON;
  CHECK_CLOSE(fused.rr, plain.rr, sums * (1 + plain.rr));
  CHECK_CLOSE(fused.rz, plain.rz, sums * (1 + plain.rz));
  if (with != DIAGONAL) CHECK(fused.rz == fused.rr, "without a diagonal r.D^-1 r is r.r");
  if (with == APART) CHECK(memcmp(fused.z, plain.z, n * sizeof(double)) == 0, "z has changed");
}

/* The vectors of a step; ZERO is scratch. */
enum { X, T, D, SOLUTION, R, ZERO, STEP_VECTORS };

static void check_step(const bench *b, const deformed_box *box, const sp_operator *op,
                       const sp_vector on[STEP_VECTORS], double *const values[STEP_VECTORS],
                       const double *ax, const sp_smoothing *step, const char *what) {
  const size_t n = (size_t)op->dofs;
  const double a = step->d ? step->a : 1, b_r = step->d ? step->b : 0, c = step->d ? step->c : 0;
  const double epsilon = bench_epsilon(op->precision);
  double *got[STEP_VECTORS];
  size_t wrong = 0;
  for (int v = D; v <= R; v++) {
    got[v] = test_array(n, sizeof(double));
    bench_download(&on[v], got[v]);
    CHECK(count_different_bits(b->comm, box, got[v]) == 0, "vector %d differs among holders", v);
  }
  /* Sums in another order, and a few roundings: A x has some eight terms per DOF at most. */
  for (size_t i = 0; i < n; i++) {
    const double r = values[T][i] - ax[i], d = a * values[D][i] + b_r * r;
    const double x = values[SOLUTION][i] + c * d, bound = 16 * epsilon * (4 + 8 * fabs(ax[i]));
    wrong += !(fabs(got[R][i] - r) <= bound && fabs(got[D][i] - d) <= 2 * bound &&
               fabs(got[SOLUTION][i] - x) <= 4 * bound);
  }
  CHECK(wrong == 0, "order %d, precision %d: %zu of %zu entries of %s are wrong", op->order,
        (int)op->precision, wrong, n, what);
  for (int v = D; v <= R; v++) memcpy(values[v], got[v], n * sizeof(double));
}

/* A step of Chebyshev's iteration with A x, and only the residual, compared with A x and the
 * formulas. Here x is a separate vector, the step's d or its x. All with the same scratch: it has
 * to be clean after each. */
static void check_application_steps(const bench *b, const deformed_box *box,
                                    const sp_operator_setup *setup) {
  ARRAYS_OF_SCOPE;
  static const char *const steps[] = {
      [X] = "a step", [D] = "a step with A d", [SOLUTION] = "a step with A x"};
  AUTO(sp_operator) op = bench_operator(setup);
  const size_t n = (size_t)op->dofs;
  double *values[STEP_VECTORS], *ax = test_array(n, sizeof *ax);
  sp_vector on[STEP_VECTORS];
  for (int v = 0; v < STEP_VECTORS; v++) values[v] = test_array(n, sizeof(double));
  for (int v = 0; v < ZERO; v++) random_vector(box, 20 + v, values[v]);
  for (int v = 0; v < ZERO; v++)
    for (size_t i = 0; i < n; i++) values[v][i] = (float)values[v][i]; /* exact in both */
  for (int v = 0; v < STEP_VECTORS; v++) on[v] = bench_upload_as(b, op->precision, n, values[v]);
  const sp_smoothing step = {.a = 0.625,
                             .b = -1.25,
                             .c = 0.75,
                             .t = &on[T],
                             .q = &on[ZERO],
                             .r = &on[R],
                             .d = &on[D],
                             .x = &on[SOLUTION]};
  const sp_smoothing residual = {.t = &on[T], .q = &on[ZERO], .r = &on[R]};
  for (int from = X; from <= SOLUTION; from++) {
    if (!steps[from]) continue;
    bench_apply(b, op, true, values[from], ax);
    CHECK_OK(sp_operator_apply_step(op, &on[from], &on[ZERO], &step));
    check_step(b, box, op, on, values, ax, &step, steps[from]);
    bench_apply(b, op, true, values[X], ax);
    CHECK_OK(sp_operator_apply_step(op, &on[X], &on[ZERO], &residual));
    check_step(b, box, op, on, values, ax, &residual, "a residual");
  }
  for (int v = 0; v < STEP_VECTORS; v++) sp_vector_destroy(&on[v]);
}

/* In both precisions, without and with a diagonal of the setup on every third DOF of faces. */
static void check_applications(const bench *b, const deformed_box *box, sp_operator_setup setup) {
  const size_t n = (size_t)box->numbering->local;
  sp_lid *dofs = test_array(n, sizeof *dofs), count = 0;
  double *values = test_array(n, sizeof *values);
  for (size_t i = (size_t)box->numbering->class_start[SP_FACE_DOFS]; i < n; i += 3) {
    values[count] = 0.5 + 0.25 * random_value(9, box->whole_dof[i]);
    dofs[count++] = (sp_lid)i;
  }
  setup.diagonal_dofs = dofs;
  setup.diagonal_values = values;
  for (sp_precision precision = SP_DOUBLE; precision < SP_PRECISIONS; precision++)
    for (int with_diagonal = 0; with_diagonal < 2; with_diagonal++) {
      if (!bench_has(b, precision)) continue;
      setup.precision = precision;
      setup.diagonal_count = with_diagonal ? count : 0;
      check_application_steps(b, box, &setup);
    }
}

static void check_box(const bench *b, const int elements[3], int order) {
  ARRAYS_OF_SCOPE;
  AUTO_VALUE(deformed_box) box = {0};
  deformed_box_create(b->comm, elements, 1, order, &box);
  const size_t n = (size_t)box.numbering->local;
  double *inverse_diagonal = test_array(n, sizeof *inverse_diagonal);
  for (size_t i = 0; i < n; i++)
    inverse_diagonal[i] = box.mask[i] ? 0 : 1 + 0.5 * random_value(8, box.whole_dof[i]);
  AUTO(sp_space) space = bench_space(b, box.mesh, order);
  for (sp_operator_kind kind = 0; kind < SP_OPERATORS; kind++)
    for (sp_geometry_kind geometry = SP_GEOMETRY_STORED; geometry <= SP_GEOMETRY_TRILINEAR;
         geometry++) {
      sp_operator_setup setup = {
          .space = space, .kind = kind, .geometry = geometry, .lambda = LAMBDA};
      setup.constrained = box.mask;
      sp_operator *op = bench_operator(&setup);
      for (preconditioning with = NONE; with <= APART; with++)
        check_steps(b, &box, op, box.mask, with, inverse_diagonal);
      sp_operator_destroy(&op);
      check_applications(b, &box, setup);
    }
}

int main(int argc, char **argv) {
  bench b;
  bench_begin(&argc, &argv, &b);

  /* Element counts that fill the kernels' blocks of 8 in part, and ranks with and without inner
   * elements. */
  const int cube[3] = {3, 3, 3}, bar[3] = {11, 1, 1};
  for (int order = 1; order <= 3; order++) check_box(&b, cube, order);
  check_box(&b, bar, 4);
  check_box(&b, bar, 7);

  return bench_end(&b);
}
