#include "solver/bench/bench.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "mesh/box.h"
#include "mesh/geometry.h"
#include "mesh/mesh.h"
#include "operators/counts.h"
#include "solver/linear/cg.h"

void sp_bench_describe(const sp_bench_row *row, size_t size, char *text) {
  char kernel[32];
  if (row->paper)
    snprintf(kernel, sizeof kernel, "%dD kernel %d", row->paper->threads, row->paper->number);
  snprintf(text, size, "%-5s %s %-9s %-12s N = %d, %lld elements", sp_operator_names[row->problem],
           sp_bench_precision_names[row->precision], sp_geometry_names[row->geometry],
           row->paper ? kernel : sp_bench_what_names[row->what], row->order,
           (long long)row->elements);
}

/* ---- Data ---- */

/* The mesh is a box, as close to a cube as divisors of the number of elements allow. */
static sp_status create_space(sp_bench *b) {
  MPI_Comm comm = b->platform->comm;
  sp_box box = {.upper = {1, 1, 1}, .map = SP_MAP_SINE};
  sp_hexes *hexes;
  sp_gid rest = b->made.elements;
  for (int d = 0; d < 3; d++) {
    sp_gid side = (sp_gid)(pow((double)rest, 1.0 / (3 - d)) + 1e-6);
    while (rest % side != 0) side--;
    box.elements[d] = (int)side;
    rest /= side;
  }
  SP_TRY(sp_box_hexes(comm, &box, &hexes));
  SP_TRY(sp_mesh_create(comm, &hexes, &b->mesh));
  return sp_space_create(b->platform, b->mesh, b->made.order, &b->space);
}

static void constrain_boundary(sp_bench *b) {
  int indices[SP_MAX_NQ * SP_MAX_NQ];
  const sp_numbering *numbering = b->space->numbering;
  const int nq = numbering->order + 1;
  for (sp_lid e = 0; e < b->mesh->hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      if (!sp_surface_is_exterior(b->mesh->hexes->surfaces[e][f])) continue;
      sp_face_nodes(numbering->order, f, indices);
      for (int n = 0; n < nq * nq; n++)
        b->constrained[sp_numbering_nodes(numbering, e)[indices[n]]] = true;
    }
}

static double random_number(sp_gid number) {
  return (double)(sp_hash((uint64_t)number) >> 11) * 0x1p-52 - 1;
}

/* In single precision x is rounded: the reference starts from the same numbers. */
static sp_status create_x(sp_bench *b) {
  const size_t dofs = sp_space_dofs(b->space);
  SP_TRY(SP_ALLOCATE("random data", SP_ARRAY(b->x, dofs), SP_ARRAY(b->expected, dofs),
                     SP_ARRAY(b->constrained, dofs)));
  if (sp_operator_rows[b->made.problem].has_boundary) constrain_boundary(b);
  for (size_t i = 0; i < dofs; i++) {
    const double value = random_number(sp_numbering_global(b->space->numbering, (sp_lid)i));
    const double rounded = b->made.precision == SP_SINGLE ? (double)(float)value : value;
    b->x[i] = b->constrained[i] ? 0 : rounded;
  }
  return SP_OK;
}

/* expected = A x, by the host backend. Its vectors are in host memory. */
static sp_status apply_on_host(sp_bench *b, const sp_platform *host) {
  const size_t dofs = sp_space_dofs(b->space);
  SP_AUTO(sp_space) space = NULL;
  SP_AUTO(sp_operator) op = NULL;
  SP_TRY(sp_space_create(host, b->mesh, b->made.order, &space));
  const sp_operator_setup setup = {.space = space,
                                   .kind = b->made.problem,
                                   .geometry = SP_GEOMETRY_STORED,
                                   .precision = SP_DOUBLE,
                                   .lambda = SP_BENCH_LAMBDA};
  SP_TRY(sp_operator_create(&setup, &op));
  const sp_vector x = {host, SP_DOUBLE, dofs, b->x};
  sp_vector y = {host, SP_DOUBLE, dofs, b->expected};
  SP_TRY(sp_agree(host->comm, sp_operator_apply(op, false, &x, &y)));
  return sp_agree(host->comm, host->backend->finish(host->device));
}

static sp_status create_data(sp_bench *b) {
  MPI_Comm comm = b->platform->comm;
  sp_platform host;
  SP_TRY(create_space(b));
  SP_TRY(sp_agree(comm, create_x(b)));
  sp_status status = sp_platform_open(comm, SP_DEVICE_HOST, SP_TRANSPORT_AUTO, &host);
  if (!status) status = apply_on_host(b, &host);
  sp_platform_close(&host);
  return status;
}

/* Make mesh, space, x and expected for a key; drop data of other keys. With a key of zeros, drop
 * all. Collective. */
static sp_status set_key(sp_bench *b, const sp_bench_row *key) {
  const sp_bench_row made = b->made;
  const bool fits = made.elements == key->elements && made.order == key->order &&
                    made.problem == key->problem && made.precision == key->precision;
  sp_vector_destroy(&b->from);
  sp_vector_destroy(&b->to);
  sp_vector_destroy(&b->factors);
  sp_vector_destroy(&b->workspace);
  b->made = *key;
  if (fits && made.geometry == key->geometry) return SP_OK;
  for (int n = 0; n < b->operator_count; n++) sp_operator_destroy(&b->operators[n]);
  free(b->operators);
  b->operators = NULL;
  b->operator_count = 0;
  if (fits) return SP_OK;
  SP_FREE(b->x, b->expected, b->constrained);
  b->x = b->expected = NULL;
  b->constrained = NULL;
  sp_space_destroy(&b->space);
  sp_mesh_destroy(&b->mesh);
  return key->elements > 0 ? create_data(b) : SP_OK;
}

static sp_vector set_of(const sp_bench *b, const sp_vector *sets, int turn) {
  return sp_vector_part(sets, (size_t)(turn % b->sets) * b->size, b->size);
}

/* Make to, and from with x[nodes[i]] in each set: x[i] without nodes, random numbers without x, as
 * zeros may be copied faster. Collective. */
static sp_status set_vectors(sp_bench *b, size_t size, const double *x, const sp_lid *nodes) {
  const size_t count = (size_t)b->sets * size;
  SP_OWNED double *values = NULL;
  sp_status status = sp_allocate(size, sizeof *values, "random data", &values);
  b->size = size;
  for (size_t i = 0; i < size && !status; i++)
    values[i] = x ? x[nodes ? (size_t)nodes[i] : i] : random_number((sp_gid)i);
  if (!status) status = sp_vector_create(b->platform, b->made.precision, count, &b->from);
  if (!status) status = sp_vector_create(b->platform, b->made.precision, count, &b->to);
  for (int n = 0; n < b->sets && !status; n++) {
    sp_vector set = set_of(b, &b->from, n);
    status = sp_vector_write(values, &set);
  }
  return sp_agree(b->platform->comm, status);
}

sp_status sp_bench_open(const sp_platform *platform, int samples, bool warm_cache, sp_bench *b) {
  const bool on_gpu = platform->backend == sp_backend_cuda;
  *b = (sp_bench){.platform = platform, .samples = samples, .warm_cache = warm_cache || !on_gpu};
  sp_status status = SP_OK;
  if (on_gpu) status = sp_gpu_tools_cuda->describe(platform->device, &b->gpu);
  if (on_gpu && !status) status = sp_gpu_tools_cuda->stamps_create(&b->stamps);
  return sp_agree(platform->comm, status);
}

void sp_bench_close(sp_bench *b) {
  (void)set_key(b, &(sp_bench_row){0});
  if (b->stamps) sp_gpu_tools_cuda->stamps_destroy(&b->stamps);
}

/* ---- Calls ---- */

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

/* The largest difference that rounding explains. Two results have eight passes each of sums of M =
 * N + 2 terms, and 30 roundings of the factors, each of one machine epsilon of the precision that
 * the kernel works in. Recomputed geometry forms Jacobians, of the size of an element, from
 * coordinates of the size of the box, so their relative rounding grows with the number of elements
 * along a side. */
static double tolerance_of(const sp_bench_row *row) {
  const double epsilon = row->precision == SP_SINGLE ? FLT_EPSILON : DBL_EPSILON;
  const double along = row->geometry == SP_GEOMETRY_TRILINEAR ? cbrt((double)row->elements) : 0;
  return (16 * (row->order + 2) + 30 + 16 * along) * epsilon;
}

/* Compare the result in set 0, summed over elements and ranks if it is an E-vector, with the
 * expected one, 0 where the operator is constrained. */
static sp_status check_result(const sp_bench *b, sp_bench_row *row) {
  const bool is_whole = row->what == SP_BENCH_OPERATOR;
  const sp_numbering *numbering = b->space->numbering;
  const sp_vector first = set_of(b, &b->to, 0);
  double most[2] = {0, 0}; /* difference, infinite if it is not finite; expected value */
  char text[128];
  SP_OWNED double *values = NULL, *y = NULL;
  sp_status status =
      SP_ALLOCATE("a result", SP_ARRAY(values, b->size), SP_ARRAY(y, numbering->local));
  if (!status) status = sp_vector_read(&first, values);
  SP_TRY(sp_agree(b->platform->comm, status));
  for (size_t i = 0; i < b->size; i++) y[is_whole ? i : (size_t)numbering->nodes[i]] += values[i];
  if (!is_whole) sp_exchange_now(b->space->exchange, SP_SUM, y);
  for (sp_lid i = 0; i < numbering->local; i++) {
    const double expected = is_whole && b->constrained[i] ? 0 : b->expected[i];
    const double difference = fabs(y[i] - expected);
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
enum { ITERATIONS = 192 };
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

/* Time solves of A x = b from zero, after one to warm up. A sample is a whole solve if iterations
 * run without the host, else one iteration; so few DOFs that CG ends exactly after a few iterations
 * take several solves. tests/cg.c checks solves. */
static sp_status time_cg(sp_bench *b, sp_bench_row *row) {
  sp_operator *op = b->operators[0];
  iterations all = {.most = op->iterates ? 0 : b->samples};
  const sp_cg_options limits = {.from_zero = true,
                                .criterion = SP_CG_RESIDUAL,
                                .tolerance = TOLERANCE,
                                .max_iterations = op->iterates ? ITERATIONS : b->samples,
                                .on_iteration = note_iteration,
                                .context = &all};
  sp_cg_result result;
  b->sets = 2; /* of b->to: x and r */
  SP_TRY(set_vectors(b, (size_t)op->dofs, b->x, NULL));
  const sp_vector rhs = set_of(b, &b->from, 0);
  sp_vector x = set_of(b, &b->to, 0), r = set_of(b, &b->to, 1);
  for (int solves = 0; solves < 2 || all.count < b->samples; solves++) {
    if (solves == 1) all.count = 0;
    SP_TRY(sp_agree(op->comm, sp_vector_fill(0, &x)));
    const sp_status status = sp_cg_solve(op, NULL, &limits, &rhs, &x, &r, &result);
    if (status && status != SP_ERR_NOT_CONVERGED) return status;
    if (result.iterations == 0)
      return sp_fail(SP_ERR_SYSTEM, "%s at N = %d: too few iterations to time; use more elements",
                     sp_operator_names[row->problem], row->order);
    if (op->iterates) all.samples[all.count++] = result.seconds / (double)result.iterations;
  }
  row->sets = 1;
  row->calls = op->iterates ? (int)result.iterations : 1;
  row->error = row->flops = row->bytes = NAN;
  sp_bench_summarize(op->comm, b->samples, all.samples, row);
  return SP_OK;
}

/* ---- Kernels of the paper (operators/paper/paper.h) ---- */

/* Some operators need only the last of the seven factors. */
static sp_status create_factors(sp_bench *b) {
  const sp_rule *rule = sp_operator_rule(b->made.problem, b->made.order);
  const size_t points = sp_rule_points(rule), elements = (size_t)b->mesh->hexes->count;
  const size_t count = (size_t)sp_operator_rows[b->made.problem].factors * points;
  SP_OWNED double *all = NULL, *values = NULL;
  SP_TRY(SP_ALLOCATE("geometric factors", SP_ARRAY(all, SP_FACTORS * points),
                     SP_ARRAY(values, elements * count)));
  for (size_t e = 0; e < elements; e++) {
    SP_TRY(sp_geometry_factors(b->mesh->hexes, (sp_lid)e, rule, all));
    memcpy(&values[e * count], &all[SP_FACTORS * points - count], count * sizeof *values);
  }
  SP_TRY(sp_vector_create(b->platform, SP_DOUBLE, (size_t)b->sets * elements * count, &b->factors));
  for (int n = 0; n < b->sets; n++) {
    sp_vector set = sp_vector_part(&b->factors, (size_t)n * elements * count, elements * count);
    SP_TRY(sp_vector_write(values, &set));
  }
  return SP_OK;
}

/* Make factors and work space of the kernel row->paper, and set row->resources. Collective. */
static sp_status create_paper(sp_bench *b, sp_bench_row *row) {
  const size_t bytes = row->paper->workspace(row->order, b->mesh->hexes->count);
  sp_status status = sp_paper_prepare(b->platform->device, row->order);
  if (!status) status = create_factors(b);
  if (!status && bytes > 0)
    status = sp_vector_create(b->platform, SP_DOUBLE, (bytes + sizeof(double) - 1) / sizeof(double),
                              &b->workspace);
  if (!status) status = row->paper->order[row->order].resources(&row->resources);
  return sp_agree(b->platform->comm, status);
}

static sp_status call_paper(const sp_bench *b, int turn) {
  const size_t set = (size_t)(turn % b->sets), factors = b->factors.count / (size_t)b->sets;
  const sp_paper_arguments arguments = {.elements = b->mesh->hexes->count,
                                        .factors = (double *)b->factors.data + set * factors,
                                        .q = (double *)b->from.data + set * b->size,
                                        .aq = (double *)b->to.data + set * b->size,
                                        .workspace = b->workspace.data,
                                        .lambda = SP_BENCH_LAMBDA};
  return b->made.paper->order[b->made.order].launch(b->platform->device, &arguments);
}

/* ---- Measurements ---- */

/* Create an operator per input set: it contains its geometry. */
static sp_status create_operators(sp_bench *b) {
  const sp_bench_row *key = &b->made;
  const sp_backend *backend = b->platform->backend;
  const sp_operator_setup setup = {
      .space = b->space,
      .kind = key->problem,
      .geometry = key->geometry,
      .precision = key->precision,
      .lambda = SP_BENCH_LAMBDA,
      .constrained = sp_operator_rows[key->problem].has_boundary ? b->constrained : NULL,
      .one_sweep = backend->sweep && key->order >= backend->sweep_order};
  SP_TRY(sp_agree(b->platform->comm,
                  sp_allocate((size_t)b->sets, sizeof *b->operators, "operators", &b->operators)));
  for (; b->operator_count < b->sets; b->operator_count++)
    SP_TRY(sp_operator_create(&setup, &b->operators[b->operator_count]));
  return SP_OK;
}

/* Measure the program's own operator. The host has another layout of E-vectors (elements in SIMD
 * lanes), so there the check from L-vector to L-vector, which runs the same kernel, has to suffice.
 */
static sp_status time_operator(sp_bench *b, sp_bench_row *row) {
  const sp_backend *backend = b->platform->backend;
  if (!b->operators) SP_TRY(create_operators(b));
  const sp_operator *op = b->operators[0];
  if (row->what == SP_BENCH_UNASSEMBLED) {
    const double *x = backend->on_host ? NULL : b->x;
    row->error = NAN;
    SP_TRY(set_vectors(b, backend->e_vector_size(op->local), x, b->space->numbering->nodes));
    return x ? check_and_time(b, call_unassembled, row) : sp_bench_time(b, call_unassembled, row);
  }
  row->dofs = op->global_dofs;
  row->flops = op->flops;
  row->bytes = op->bytes;
  if (row->what == SP_BENCH_CG) return time_cg(b, row);
  SP_TRY(set_vectors(b, (size_t)op->dofs, b->x, NULL));
  return check_and_time(b, call_operator, row);
}

sp_status sp_bench_measure(sp_bench *b, sp_bench_row *row) {
  SP_TRY(set_key(b, row));
  const double elements = b->mesh->hexes->count, all = (double)row->elements;
  const size_t np = sp_element_nodes(row->order);
  const double bytes = sp_operator_bytes(
      row->problem,
      row->geometry == SP_GEOMETRY_TRILINEAR ? SP_FACTORS_TRILINEAR : SP_FACTORS_STORED,
      row->precision, row->order);
  row->dofs = row->elements * (sp_gid)np;
  row->flops = all * sp_operator_flops(row->problem, row->order);
  row->bytes = all * bytes;
  b->sets = row->sets = sp_bench_input_sets(b, elements * bytes);
  if (row->what == SP_BENCH_COPY) {
    const double numbers = elements * bytes / (double)sp_precision_bytes(row->precision);
    SP_TRY(set_vectors(b, (size_t)(numbers / 2), NULL, NULL));
    row->calls = 10; /* as in the paper */
    return sp_bench_time(b, call_copy, row);
  }
  if (!row->paper) return time_operator(b, row);
  SP_TRY(set_vectors(b, (size_t)elements * np, b->x, b->space->numbering->nodes));
  SP_TRY(create_paper(b, row));
  return check_and_time(b, call_paper, row);
}
