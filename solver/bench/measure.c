#include "solver/bench/measure.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "operators/counts.h"
#include "solver/linear/cg.h"

sp_status sp_bench_open(const sp_platform *platform, int samples, bool warm_cache, sp_bench *b) {
  const bool on_gpu = platform->backend == sp_backend_cuda;
  *b = (sp_bench){.platform = platform, .samples = samples, .warm_cache = warm_cache || !on_gpu};
  sp_status status = SP_OK;
  if (on_gpu) status = sp_gpu_describe(platform->device, &b->gpu);
  if (on_gpu && !status) status = sp_stamps_create(2, &b->stamps);
  return sp_agree(platform->comm, status);
}

void sp_bench_close(sp_bench *b) {
  (void)sp_bench_set_key(b, &(sp_bench_row){0});
  sp_stamps_destroy(&b->stamps);
}

void sp_bench_describe(const sp_bench_row *row, size_t size, char *text) {
  char kernel[32];
  if (row->paper)
    snprintf(kernel, sizeof kernel, "%dD kernel %d", row->paper->threads, row->paper->number);
  snprintf(text, size, "%-5s %s %-9s %-12s N = %d, %lld elements", sp_operator_names[row->problem],
           sp_bench_precision_names[row->precision], sp_geometry_names[row->geometry],
           row->paper ? kernel : sp_bench_what_names[row->what], row->order,
           (long long)row->elements);
}

/* ---- Calls ---- */

static sp_vector set_of(const sp_bench *b, const sp_vector *sets, int turn) {
  return sp_vector_part(sets, (size_t)(turn % b->sets) * b->size, b->size);
}

static sp_status call_copy(const sp_bench *b, int turn) {
  const sp_vector x = set_of(b, &b->from, turn);
  sp_vector y = set_of(b, &b->to, turn);
  return sp_vector_copy(&x, &y);
}

static sp_status call_unassembled(const sp_bench *b, int turn) {
  const sp_vector x = set_of(b, &b->from, turn), y = set_of(b, &b->to, turn);
  return b->platform->backend->apply_unassembled(b->operators[turn % b->sets]->local, x.data,
                                                 y.data);
}

static sp_status call_operator(const sp_bench *b, int turn) {
  const sp_vector x = set_of(b, &b->from, turn);
  sp_vector y = set_of(b, &b->to, turn);
  return sp_operator_apply(b->operators[turn % b->sets], true, &x, &y);
}

/* ---- Checks ---- */

/* The largest difference that rounding explains: in two results eight passes each of sums of M = N
 * + 2 terms, and 30 roundings of the factors, each of one machine epsilon of the precision that the
 * kernel works in. Recomputed geometry forms Jacobians, of the size of an element, from coordinates
 * of the size of the box, so their relative rounding grows with the number of elements along a
 * side. */
static double tolerance_of(const sp_bench_row *row) {
  const double epsilon = row->precision == SP_SINGLE ? FLT_EPSILON : DBL_EPSILON;
  const double along = row->geometry == SP_GEOMETRY_TRILINEAR ? cbrt((double)row->elements) : 0;
  return (16 * (row->order + 2) + 30 + 16 * along) * epsilon;
}

/* Read set 0 of the results. *y = its sum over elements and ranks, or as an L-vector with the
 * expected values where it is constrained to 0; the caller frees it. */
static sp_status read_result(const sp_bench *b, sp_bench_what what, double **y) {
  const sp_numbering *numbering = b->space->numbering;
  SP_OWNED double *values = NULL;
  const sp_vector first = set_of(b, &b->to, 0);
  sp_status status =
      SP_ALLOCATE("a result", SP_ARRAY(values, b->size), SP_ARRAY(*y, numbering->local));
  if (!status) status = sp_vector_read(&first, values);
  SP_TRY(sp_agree(b->platform->comm, status));
  for (size_t i = 0; i < b->size; i++)
    if (what == SP_BENCH_OPERATOR)
      (*y)[i] = values[i] + (b->constrained[i] ? b->expected[i] : 0);
    else
      (*y)[numbering->nodes[i]] += values[i];
  if (what != SP_BENCH_OPERATOR) sp_exchange_now(b->space->exchange, SP_SUM, *y);
  return SP_OK;
}

static sp_status check_result(const sp_bench *b, sp_bench_row *row) {
  double most[2] = {0, 0}; /* difference, infinite if it is not finite; expected value */
  char text[128];
  SP_OWNED double *y = NULL;
  SP_TRY(read_result(b, row->what, &y));
  for (sp_lid i = 0; i < b->space->numbering->local; i++) {
    const double difference = fabs(y[i] - b->expected[i]);
    most[0] = fmax(most[0], isfinite(difference) ? difference : INFINITY);
    most[1] = fmax(most[1], fabs(b->expected[i]));
  }
  MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, b->platform->comm);
  row->error = most[0] > 0 ? most[0] / most[1] : 0;
  if (row->error <= tolerance_of(row)) return SP_OK;
  sp_bench_describe(row, sizeof text, text);
  return sp_fail(SP_ERR_SYSTEM,
                 "wrong result: %s: differs from the reference by %.3g, at most %.3g is rounding",
                 text, row->error, tolerance_of(row));
}

static sp_status check_and_time(sp_bench *b, sp_bench_call *call, sp_bench_row *row) {
  MPI_Comm comm = b->platform->comm;
  SP_TRY(sp_agree(comm, sp_vector_fill(NAN, &b->to)));
  SP_TRY(sp_agree(comm, call(b, 0)));
  SP_TRY(check_result(b, row));
  return sp_bench_time(b, call, row);
}

/* ---- Conjugate gradients ---- */

/* Iterations of a solve that the device runs by itself: enough to make the start negligible. The
 * tolerance is unreachable, but its square does not underflow. */
enum { ITERATIONS = 192, WARM_UP = 8 };
static const double TOLERANCE = 1e-140;

typedef struct iterations {
  double samples[SP_BENCH_MOST_REPEATS];
  int count, most;
  double last;
} iterations;

static sp_status note_iteration(const sp_cg_iteration *iteration, void *context) {
  iterations *all = context;
  if (iteration->iteration > 0 && all->count < all->most)
    all->samples[all->count++] = iteration->seconds - all->last;
  all->last = iteration->seconds;
  return SP_OK;
}

/* Solve A x = b once from zero. */
static sp_status solve_once(sp_bench *b, const sp_cg_options *limits, sp_cg_result *result) {
  const sp_vector rhs = set_of(b, &b->from, 0);
  sp_vector x = set_of(b, &b->to, 0), r = set_of(b, &b->to, 1);
  SP_TRY(sp_agree(b->platform->comm, sp_vector_fill(0, &x)));
  const sp_status status = sp_cg_solve(b->operators[0], NULL, limits, true, &rhs, &x, &r, result);
  if (status && status != SP_ERR_NOT_CONVERGED) return status;
  if (result->iterations > 0) return SP_OK;
  return sp_fail(SP_ERR_SYSTEM, "%s at N = %d: too few iterations to time; use more elements",
                 sp_operator_names[b->made.problem], b->made.order);
}

/* A sample is a whole solve if iterations run without the host, else one iteration of a solve. So
 * few DOFs that CG ends exactly after a few iterations take several solves. tests/cg.c checks
 * solves. */
static sp_status time_cg(sp_bench *b, sp_bench_row *row) {
  const bool whole = b->operators[0]->iterates;
  iterations all = {.most = whole ? 0 : b->samples};
  const sp_cg_options limits = {.criterion = SP_CG_RESIDUAL,
                                .tolerance = TOLERANCE,
                                .max_iterations = whole ? ITERATIONS : b->samples,
                                .on_iteration = note_iteration,
                                .context = &all};
  sp_cg_result result;
  b->sets = 2; /* of b->to: x and r */
  SP_TRY(sp_bench_set_vectors(b, (size_t)b->operators[0]->dofs, b->x, NULL));
  SP_TRY(solve_once(b, &limits, &result)); /* to warm up */
  all.count = 0;
  while (all.count < b->samples) {
    SP_TRY(solve_once(b, &limits, &result));
    if (whole) all.samples[all.count++] = result.seconds / (double)result.iterations;
  }
  row->sets = 1;
  row->calls = whole ? (int)result.iterations : 1;
  row->error = row->flops = row->bytes = NAN;
  sp_bench_summarize(b->platform->comm, b->samples, all.samples, row);
  return SP_OK;
}

/* ---- Measurements ---- */

/* Create an operator per input set: it contains its geometry. */
static sp_status create_operators(sp_bench *b) {
  const sp_bench_row *key = &b->made;
  const sp_operator_setup setup = {
      .space = b->space,
      .kind = key->problem,
      .geometry = key->geometry,
      .precision = key->precision,
      .lambda = SP_BENCH_LAMBDA,
      .constrained = sp_operator_rows[key->problem].has_boundary ? b->constrained : NULL,
      .one_sweep =
          sp_cg_prefers_one_sweep(b->platform->backend, key->problem, key->geometry, key->order)};
  SP_TRY(sp_agree(b->platform->comm,
                  sp_allocate((size_t)b->sets, sizeof *b->operators, "operators", &b->operators)));
  for (; b->operator_count < b->sets; b->operator_count++)
    SP_TRY(sp_operator_create(&setup, &b->operators[b->operator_count]));
  return SP_OK;
}

/* The host has another layout of E-vectors (elements in SIMD lanes), so there the check from
 * L-vector to L-vector, which runs the same kernel, has to suffice. */
static sp_status time_unassembled(sp_bench *b, sp_bench_row *row) {
  const sp_backend *backend = b->platform->backend;
  const size_t size = backend->e_vector_size(b->operators[0]->local);
  if (backend->on_host) {
    row->error = NAN;
    SP_TRY(sp_bench_set_vectors(b, size, NULL, NULL));
    return sp_bench_time(b, call_unassembled, row);
  }
  SP_TRY(sp_bench_set_vectors(b, size, b->x, b->space->numbering->nodes));
  return check_and_time(b, call_unassembled, row);
}

static sp_status time_operator(sp_bench *b, sp_bench_row *row) {
  const sp_operator *op = b->operators[0];
  row->dofs = op->global_dofs;
  row->flops = op->flops;
  row->bytes = op->bytes;
  if (row->what == SP_BENCH_CG) return time_cg(b, row);
  SP_TRY(sp_bench_set_vectors(b, (size_t)op->dofs, b->x, NULL));
  return check_and_time(b, call_operator, row);
}

sp_status sp_bench_measure(sp_bench *b, sp_bench_row *row) {
  SP_TRY(sp_bench_set_key(b, row));
  const double elements = b->mesh->hexes->count;
  const double bytes =
      sp_operator_bytes(row->problem, sp_factor_kind_of(row->geometry), row->precision, row->order);
  const size_t np = sp_element_nodes(row->order);
  row->dofs = row->elements * (sp_gid)np;
  row->flops = (double)row->elements * sp_operator_flops(row->problem, row->order);
  row->bytes = (double)row->elements * bytes;
  b->sets = row->sets = sp_bench_input_sets(b, elements * bytes);
  if (row->what == SP_BENCH_COPY) { /* random numbers, since zeros may be copied faster */
    const double numbers = elements * bytes / (double)sp_precision_bytes(row->precision);
    SP_TRY(sp_bench_set_vectors(b, (size_t)(numbers / 2), NULL, NULL));
    row->calls = 10; /* as in the paper */
    return sp_bench_time(b, call_copy, row);
  }
  if (row->paper) {
    SP_TRY(sp_bench_set_vectors(b, (size_t)elements * np, b->x, b->space->numbering->nodes));
    SP_TRY(sp_bench_paper_create(b, row));
    return check_and_time(b, sp_bench_paper_call, row);
  }
  if (!b->operators) SP_TRY(create_operators(b));
  if (row->what == SP_BENCH_UNASSEMBLED) return time_unassembled(b, row);
  return time_operator(b, row);
}
