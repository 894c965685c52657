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
  if (on_gpu && !status) status = sp_stamps_create(2 * samples, &b->stamps);
  return sp_agree(platform->comm, status);
}

void sp_bench_close(sp_bench *b) {
  (void)sp_bench_set_key(b, &(sp_bench_row){0});
  sp_stamps_destroy(&b->stamps);
}

void sp_bench_describe(const sp_bench_row *row, size_t size, char *text) {
  char kernel[32] = "";
  if (row->paper)
    snprintf(kernel, sizeof kernel, " %dD kernel %d", row->paper->threads, row->paper->number);
  snprintf(text, size, "%s%s, %s, %s geometry, %s precision, N = %d, %lld elements",
           sp_operator_names[row->problem], kernel, sp_bench_what_names[row->what],
           sp_geometry_names[row->geometry], sp_bench_precision_names[row->precision], row->order,
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

/* *y = the result in set 0 as an L-vector without constraints; the caller frees it. */
static sp_status read_result(const sp_bench *b, const sp_bench_row *row, double **y) {
  const sp_numbering *numbering = b->space->numbering;
  SP_OWNED double *values = NULL;
  const sp_vector first = set_of(b, &b->to, 0);
  sp_status status =
      SP_ALLOCATE("a result", SP_ARRAY(values, b->size), SP_ARRAY(*y, numbering->local));
  if (!status) status = sp_vector_read(&first, values);
  SP_TRY(sp_agree(b->platform->comm, status));
  if (row->what == SP_BENCH_OPERATOR) { /* y is 0 where constrained */
    for (size_t i = 0; i < b->size; i++) (*y)[i] = values[i] + b->constrained[i] * b->expected[i];
    return SP_OK;
  }
  for (size_t i = 0; i < b->size; i++) (*y)[numbering->nodes[i]] += values[i];
  sp_exchange_now(b->space->exchange, SP_SUM, *y);
  return SP_OK;
}

/* Compare the result with the reference; infinite if a value is not finite. */
static sp_status check_result(const sp_bench *b, sp_bench_row *row) {
  double most[2] = {0, 0}; /* difference, expected value */
  char text[128];
  SP_OWNED double *y = NULL;
  SP_TRY(read_result(b, row, &y));
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

/* ---- Measurements ---- */

static sp_status create_operators(sp_bench *b) {
  const sp_bench_row *key = &b->made;
  const double bytes =
      sp_operator_bytes(key->problem, sp_factor_kind_of(key->geometry), key->precision, key->order);
  const int count = sp_bench_input_sets(b, b->mesh->hexes->count * bytes);
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
                  sp_allocate((size_t)count, sizeof *b->operators, "operators", &b->operators)));
  for (; b->operator_count < count; b->operator_count++)
    SP_TRY(sp_operator_create(&setup, &b->operators[b->operator_count]));
  return SP_OK;
}

/* Copy half of the bytes that the kernels read and write, so that a copy reads and writes as many:
 * random numbers, since zeros may be copied faster. */
static sp_status time_copy(sp_bench *b, sp_bench_row *row) {
  enum { CALLS = 10 }; /* as in the paper */
  const double number = (double)sp_precision_bytes(row->precision);
  const double bytes = row->bytes / (double)row->elements * b->mesh->hexes->count;
  b->sets = row->sets = sp_bench_input_sets(b, bytes);
  SP_TRY(sp_bench_set_random(b, (size_t)(bytes / 2 / number)));
  row->calls = CALLS;
  return sp_bench_time(b, call_copy, row);
}

/* The host has another layout of E-vectors (elements in SIMD lanes), so there the check from
 * L-vector to L-vector, which runs the same kernel, has to suffice. */
static sp_status time_unassembled(sp_bench *b, sp_bench_row *row) {
  if (!b->platform->backend->on_host) {
    SP_TRY(sp_agree(b->platform->comm, sp_bench_set_elements(b)));
    return check_and_time(b, call_unassembled, row);
  }
  row->error = NAN;
  SP_TRY(sp_bench_set_random(b, b->platform->backend->e_vector_size(b->operators[0]->local)));
  return sp_bench_time(b, call_unassembled, row);
}

static sp_status set_l_vectors(sp_bench *b) {
  const size_t dofs = sp_space_dofs(b->space);
  return sp_agree(b->platform->comm, sp_bench_set_vectors(b, dofs, dofs, b->x));
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

/* Solve A x = b once from zero; x and r are the sets of b->to. */
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
  b->sets = 2;
  SP_TRY(set_l_vectors(b));
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

/* ---- Rows ---- */

static void count_elements(sp_bench_row *row) {
  const double elements = (double)row->elements;
  row->dofs = row->elements * (sp_gid)sp_element_nodes(row->order);
  row->flops = elements * sp_operator_flops(row->problem, row->order);
  row->bytes = elements * sp_operator_bytes(row->problem, sp_factor_kind_of(row->geometry),
                                            row->precision, row->order);
}

sp_status sp_bench_measure(sp_bench *b, sp_bench_row *row) {
  SP_TRY(sp_bench_set_key(b, row));
  count_elements(row);
  if (row->what == SP_BENCH_COPY) return time_copy(b, row);
  if (row->paper) {
    SP_TRY(sp_bench_paper_create(b, row));
    return check_and_time(b, sp_bench_paper_call, row);
  }
  if (!b->operators) SP_TRY(create_operators(b));
  b->sets = row->sets = b->operator_count;
  if (row->what == SP_BENCH_UNASSEMBLED) return time_unassembled(b, row);
  row->dofs = b->operators[0]->global_dofs;
  row->flops = b->operators[0]->flops;
  row->bytes = b->operators[0]->bytes;
  if (row->what == SP_BENCH_CG) return time_cg(b, row);
  SP_TRY(set_l_vectors(b));
  return check_and_time(b, call_operator, row);
}
