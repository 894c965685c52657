#include "solver/bench/production.h"

#include <math.h>
#include <stdlib.h>

#include "mesh/reference.h"
#include "operators/counts.h"
#include "solver/bench/check.h"
#include "solver/linear/cg.h"

/* Boundary DOFs are constrained, as in a solve; the mass matrix has no boundary conditions. */
static bool is_constrained(const sp_bench_production *p, sp_lid dof) {
  return sp_operator_rows[p->kind].has_boundary && p->c->boundary[dof];
}

/* ---- Set-up ---- */

static sp_status create_operator(const sp_bench_production *p, sp_operator **out) {
  const sp_bench_case *c = p->c;
  const sp_operator_setup setup = {
      .space = c->space,
      .kind = p->kind,
      .geometry = p->geometry,
      .precision = p->precision,
      .lambda = SP_BENCH_LAMBDA,
      .constrained = sp_operator_rows[p->kind].has_boundary ? c->boundary : NULL,
      .one_sweep =
          sp_cg_prefers_one_sweep(p->clock->platform->backend, p->kind, p->geometry, c->order)};
  return sp_operator_create(&setup, out);
}

/* Random data, rounded to the vectors' precision: the reference starts from the same numbers. */
static double random_of(const sp_bench_production *p, sp_gid number) {
  const double value = sp_bench_random(number);
  return p->precision == SP_SINGLE ? (double)(float)value : value;
}

static double random_at(const sp_bench_production *p, sp_lid dof) {
  return random_of(p, sp_numbering_global(p->c->space->numbering, dof));
}

static bool has_plain_elements(const sp_bench_production *p) {
  return !p->clock->platform->backend->on_host;
}

/* Vector `set` of vectors of this size. */
static sp_vector vector_of(const sp_vector *sets, size_t size, int set) {
  return sp_vector_part(sets, (size_t)set * size, size);
}

/* On a device e_x = Z x. The host has another layout of E-vectors (elements in SIMD lanes). */
static sp_status fill_elements(sp_bench_production *p) {
  SP_OWNED double *values = NULL;
  SP_TRY(sp_allocate(p->e_size, sizeof *values, "random data", &values));
  if (has_plain_elements(p))
    sp_bench_gather(p->c->space, p->x, values);
  else
    for (size_t i = 0; i < p->e_size; i++) values[i] = random_of(p, (sp_gid)i);
  return sp_bench_repeat(p->e_size, values, &p->e_x);
}

static sp_status create_vectors(sp_bench_production *p) {
  const sp_platform *platform = p->clock->platform;
  const size_t sets = (size_t)p->sets;
  p->e_size = platform->backend->e_vector_size(p->operators[0]->local);
  p->l_size = (size_t)p->operators[0]->dofs;
  SP_TRY(SP_ALLOCATE("random data", SP_ARRAY(p->x, p->l_size), SP_ARRAY(p->expected, p->l_size)));
  for (size_t i = 0; i < p->l_size; i++)
    p->x[i] = is_constrained(p, (sp_lid)i) ? 0 : random_at(p, (sp_lid)i);
  SP_TRY(sp_vector_create(platform, p->precision, sets * p->e_size, &p->e_x));
  SP_TRY(sp_vector_create(platform, p->precision, sets * p->e_size, &p->e_y));
  SP_TRY(sp_vector_create(platform, p->precision, sets * p->l_size, &p->l_x));
  SP_TRY(sp_vector_create(platform, p->precision, sets * p->l_size, &p->l_y));
  SP_TRY(fill_elements(p));
  return sp_bench_repeat(p->l_size, p->x, &p->l_x);
}

sp_status sp_bench_production_create(const sp_bench_clock *clock, sp_bench_case *c,
                                     sp_operator_kind kind, sp_geometry_kind geometry,
                                     sp_precision precision, sp_bench_production *production) {
  *production = (sp_bench_production){
      .clock = clock, .c = c, .kind = kind, .geometry = geometry, .precision = precision};
  SP_TRY(sp_bench_case_space(c));
  production->sets = sp_bench_input_sets(
      clock, c->mesh->hexes->count *
                 sp_operator_bytes(kind, sp_factor_kind_of(geometry), precision, c->order));
  SP_TRY(sp_agree(clock->comm, sp_allocate((size_t)production->sets, sizeof *production->operators,
                                           "operators", &production->operators)));
  for (int s = 0; s < production->sets; s++)
    SP_TRY(create_operator(production, &production->operators[s]));
  SP_TRY(sp_agree(clock->comm, create_vectors(production)));
  return sp_bench_expected(c, kind, production->x, production->expected);
}

void sp_bench_production_destroy(sp_bench_production *production) {
  if (!production->clock) return;
  sp_vector_destroy(&production->e_x);
  sp_vector_destroy(&production->e_y);
  sp_vector_destroy(&production->l_x);
  sp_vector_destroy(&production->l_y);
  for (int s = 0; s < production->sets && production->operators; s++)
    sp_operator_destroy(&production->operators[s]);
  SP_FREE(production->operators, production->x, production->expected);
  *production = (sp_bench_production){0};
}

/* ---- Calls ---- */

static sp_status call_unassembled(const void *context, int turn) {
  const sp_bench_production *p = context;
  const int set = turn % p->sets;
  const sp_vector x = vector_of(&p->e_x, p->e_size, set), y = vector_of(&p->e_y, p->e_size, set);
  return p->clock->platform->backend->apply_unassembled(p->operators[set]->local, x.data, y.data);
}

static sp_status call_operator(const void *context, int turn) {
  const sp_bench_production *p = context;
  const int set = turn % p->sets;
  const sp_vector x = vector_of(&p->l_x, p->l_size, set);
  sp_vector y = vector_of(&p->l_y, p->l_size, set);
  return sp_operator_apply(p->operators[set], true, &x, &y);
}

/* ---- Checks ---- */

static sp_status judge(const sp_bench_production *p, sp_bench_what what, double error,
                       double tolerance) {
  if (error <= tolerance) return SP_OK;
  return sp_fail(SP_ERR_SYSTEM,
                 "wrong result: %s of %s, %s geometry, %s precision, at N = %d differs from the "
                 "reference by %.3g, at most %.3g is rounding",
                 sp_bench_what_names[what], sp_operator_names[p->kind],
                 sp_geometry_names[p->geometry], sp_bench_precision_names[p->precision],
                 p->c->order, error, tolerance);
}

/* Relative tolerance of a result. Recomputed geometry forms Jacobians, of the size of an element,
 * from coordinates of the size of the box, so their relative rounding grows with the number of
 * elements along a side. */
static double tolerance_of(const sp_bench_production *p) {
  const double along = p->geometry == SP_GEOMETRY_TRILINEAR ? cbrt((double)p->c->elements) : 0;
  return sp_bench_tolerance(p->c->order, p->precision) +
         16 * along * sp_bench_epsilon(p->precision);
}

static sp_status poison(double *values, sp_vector *vector) {
  for (size_t i = 0; i < vector->count; i++) values[i] = NAN;
  return sp_vector_write(values, vector);
}

/* On the host the check from L-vector to L-vector, which runs the same kernel, has to suffice. */
static sp_status check_unassembled(const sp_bench_production *p, double *error) {
  MPI_Comm comm = p->clock->comm;
  *error = NAN;
  if (!has_plain_elements(p)) return SP_OK;
  SP_OWNED double *y = NULL;
  sp_vector result = vector_of(&p->e_y, p->e_size, 0);
  sp_status status = sp_allocate(p->e_size, sizeof *y, "a result", &y);
  if (!status) status = poison(y, &result);
  if (!status) status = call_unassembled(p, 0);
  if (!status) status = sp_vector_read(&result, y);
  SP_TRY(sp_agree(comm, status));
  SP_TRY(sp_bench_compare_sum(p->c->space, y, p->expected, error));
  return judge(p, SP_BENCH_UNASSEMBLED, *error, tolerance_of(p));
}

static sp_status check_operator(const sp_bench_production *p, double *error) {
  MPI_Comm comm = p->clock->comm;
  SP_OWNED double *y = NULL;
  sp_status status = sp_allocate(p->l_size, sizeof *y, "a result", &y);
  sp_vector result = vector_of(&p->l_y, p->l_size, 0);
  if (!status) status = poison(y, &result);
  SP_TRY(sp_agree(comm, status));
  SP_TRY(sp_agree(comm, call_operator(p, 0)));
  SP_TRY(sp_agree(comm, sp_vector_read(&result, y)));
  for (size_t i = 0; i < p->l_size; i++)
    if (is_constrained(p, (sp_lid)i)) y[i] += p->expected[i]; /* y is 0 there */
  *error = sp_bench_difference(comm, p->l_size, y, p->expected);
  return judge(p, SP_BENCH_OPERATOR, *error, tolerance_of(p));
}

/* ---- Conjugate gradients ---- */

/* Iterations of a solve that the device runs by itself: enough to make the start negligible. The
 * tolerance is unreachable, but its square does not underflow. */
enum { ITERATIONS = 192, WARM_UP = 8 };
static const double TOLERANCE = 1e-140;

typedef struct solve {
  const sp_bench_production *production;
  const double *zero; /* [l_size] */
  sp_vector b, x, r;  /* x and r are those of production */
  int max_iterations;
  double *times; /* [max_iterations + 1], MPI_Wtime when the host saw the end of an iteration */
  int times_count;
} solve;

static sp_status note_time(const sp_cg_iteration *iteration, void *context) {
  solve *s = context;
  (void)iteration;
  s->times[s->times_count++] = MPI_Wtime();
  return SP_OK;
}

/* Solve A x = b once from zero. */
static sp_status run_solve(solve *s, sp_cg_result *result) {
  const sp_bench_production *p = s->production;
  const sp_bench_clock *clock = p->clock;
  sp_status status = sp_vector_write(s->zero, &s->x);
  if (!status) status = sp_vector_write(p->x, &s->b);
  SP_TRY(sp_agree(clock->comm, status));
  const sp_cg_options limits = {.criterion = SP_CG_RESIDUAL,
                                .tolerance = TOLERANCE,
                                .max_iterations = s->max_iterations,
                                .on_iteration = note_time,
                                .context = s};
  s->times_count = 0;
  status = sp_cg_solve(p->operators[0], NULL, &limits, true, &s->b, &s->x, &s->r, result);
  return status == SP_ERR_NOT_CONVERGED ? SP_OK : status;
}

/* A sample is a whole solve if iterations run without the host, else one iteration of a solve. So
 * few DOFs that CG ends exactly after a few iterations take several solves. */
static sp_status time_solves(solve *s, double *samples, int *count, sp_bench_row *row) {
  const sp_bench_clock *clock = s->production->clock;
  const bool whole = s->production->operators[0]->iterates;
  sp_cg_result result;
  SP_TRY(run_solve(s, &result)); /* to warm up; tests/cg.c checks solves */
  row->error = NAN;
  *count = 0;
  row->calls = whole ? (int)result.iterations : 1;
  if (result.iterations == 0)
    return sp_fail(SP_ERR_SYSTEM, "%s at N = %d: too few iterations to time; use more elements",
                   sp_operator_names[s->production->kind], s->production->c->order);
  while (*count < clock->samples) {
    SP_TRY(run_solve(s, &result));
    const int skipped = s->times_count > WARM_UP + 1 ? WARM_UP : 0;
    if (whole) samples[(*count)++] = result.seconds / (double)result.iterations;
    for (int n = skipped + 1; n < s->times_count && *count < clock->samples && !whole; n++)
      samples[(*count)++] = s->times[n] - s->times[n - 1];
  }
  return SP_OK;
}

static sp_status time_cg(const sp_bench_production *p, sp_bench_row *row) {
  const int room =
      ITERATIONS > SP_BENCH_MAX_REPEATS + WARM_UP ? ITERATIONS : SP_BENCH_MAX_REPEATS + WARM_UP;
  solve s = {.production = p,
             .x = vector_of(&p->l_x, p->l_size, 0),
             .r = vector_of(&p->l_y, p->l_size, 0)};
  s.max_iterations = p->clock->stamps ? ITERATIONS : p->clock->samples + WARM_UP;
  SP_OWNED double *samples = NULL, *zero = NULL;
  int count = 0;
  sp_status status =
      SP_ALLOCATE("samples", SP_ARRAY(zero, p->l_size), SP_ARRAY(samples, 2 * ((size_t)room + 1)));
  if (!status) status = sp_vector_create(p->clock->platform, SP_DOUBLE, p->l_size, &s.b);
  status = sp_agree(p->clock->comm, status);
  if (!status) {
    s.zero = zero;
    s.times = samples + room + 1;
    status = time_solves(&s, samples, &count, row);
  }
  if (!status) sp_bench_summarize(p->clock->comm, count, samples, row);
  sp_vector_destroy(&s.b);
  return status;
}

/* ---- Rows ---- */

static void count_work(const sp_bench_production *p, sp_bench_what what, sp_bench_row *row) {
  const double elements = (double)p->c->elements;
  row->sets = what == SP_BENCH_CG ? 1 : p->sets;
  if (what == SP_BENCH_UNASSEMBLED) {
    row->dofs = p->c->elements * (sp_gid)sp_element_nodes(p->c->order);
    row->flops = elements * sp_operator_flops(p->kind, p->c->order);
    row->bytes = elements * sp_operator_bytes(p->kind, sp_factor_kind_of(p->geometry), p->precision,
                                              p->c->order);
  } else {
    row->dofs = p->c->space->numbering->global;
    row->flops = what == SP_BENCH_CG ? NAN : p->operators[0]->flops;
    row->bytes = what == SP_BENCH_CG ? NAN : p->operators[0]->bytes;
  }
}

sp_status sp_bench_production_time(const sp_bench_production *p, sp_bench_what what,
                                   sp_bench_row *row) {
  count_work(p, what, row);
  if (what == SP_BENCH_CG) return time_cg(p, row);
  if (what == SP_BENCH_OPERATOR) {
    SP_TRY(check_operator(p, &row->error));
    return sp_bench_time(p->clock, call_operator, p, 0, row);
  }
  SP_TRY(check_unassembled(p, &row->error));
  return sp_bench_time(p->clock, call_unassembled, p, 0, row);
}
