#include "solver/bench/production.h"

#include <float.h>
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

/* Vector `set` of vectors of this size. */
static sp_vector vector_of(const sp_vector *sets, size_t size, int set) {
  return sp_vector_part(sets, (size_t)set * size, size);
}

/* Random data in all sets; with `global` they depend on the global DOF number. */
static sp_status fill_sets(const sp_bench_production *p, size_t size, bool global,
                           sp_vector *sets) {
  SP_OWNED double *values = NULL;
  SP_TRY(sp_allocate(size, sizeof *values, "random data", &values));
  for (size_t i = 0; i < size; i++)
    values[i] = global ? random_at(p, (sp_lid)i) : random_of(p, (sp_gid)i);
  return sp_bench_repeat(size, values, sets);
}

static sp_status create_vectors(sp_bench_production *p) {
  const sp_platform *platform = p->clock->platform;
  const size_t sets = (size_t)p->sets;
  p->e_size = platform->backend->e_vector_size(p->operators[0]->local);
  p->l_size = (size_t)p->operators[0]->dofs;
  SP_TRY(sp_vector_create(platform, p->precision, sets * p->e_size, &p->e_x));
  SP_TRY(sp_vector_create(platform, p->precision, sets * p->e_size, &p->e_y));
  SP_TRY(sp_vector_create(platform, p->precision, sets * p->l_size, &p->l_x));
  SP_TRY(sp_vector_create(platform, p->precision, sets * p->l_size, &p->l_y));
  SP_TRY(fill_sets(p, p->e_size, false, &p->e_x));
  return fill_sets(p, p->l_size, true, &p->l_x);
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
  return sp_agree(clock->comm, create_vectors(production));
}

void sp_bench_production_destroy(sp_bench_production *production) {
  if (!production->clock) return;
  sp_vector_destroy(&production->e_x);
  sp_vector_destroy(&production->e_y);
  sp_vector_destroy(&production->l_x);
  sp_vector_destroy(&production->l_y);
  for (int s = 0; s < production->sets && production->operators; s++)
    sp_operator_destroy(&production->operators[s]);
  free(production->operators);
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

/* Compare the first, middle and last element; e_y has the layout [element][Np]. */
static sp_status compare_unassembled(const sp_bench_production *p, double *y, double *error) {
  const size_t np = sp_element_nodes(p->c->order);
  const sp_lid count = p->c->mesh->hexes->count;
  const sp_lid elements[] = {0, count / 2, count - 1};
  SP_OWNED double *x = NULL;
  sp_vector result = vector_of(&p->e_y, p->e_size, 0);
  SP_TRY(poison(y, &result));
  SP_TRY(call_unassembled(p, 0));
  SP_TRY(sp_vector_read(&result, y));
  SP_TRY(sp_allocate(2 * np, sizeof *x, "a reference", &x));
  double *expected = x + np;
  *error = 0;
  for (int n = 0; n < 3; n++) {
    const size_t first = (size_t)elements[n] * np;
    for (size_t i = 0; i < np; i++) x[i] = random_of(p, (sp_gid)(first + i));
    SP_TRY(sp_bench_reference(p->kind, p->c->order, SP_BENCH_LAMBDA, p->c->mesh->hexes, elements[n],
                              x, expected));
    *error = fmax(*error, sp_bench_difference(np, &y[first], expected));
  }
  return SP_OK;
}

/* The host has another E-vector layout (elements in SIMD lanes). There the check from L-vector to
 * L-vector, which runs the same kernel, has to suffice. */
static sp_status check_unassembled(const sp_bench_production *p, double *error) {
  *error = NAN;
  if (p->clock->platform->backend == &sp_backend_host) return SP_OK;
  SP_OWNED double *y = NULL;
  SP_TRY(sp_allocate(p->e_size, sizeof *y, "a result", &y));
  SP_TRY(compare_unassembled(p, y, error));
  return judge(p, SP_BENCH_UNASSEMBLED, *error, tolerance_of(p));
}

enum { UNMARKED = -1 };

/* Number the DOFs of three elements that no other rank shares: listed[position[dof]] = dof;
 * position is negative for all others. Returns their number. */
static sp_lid mark_dofs(const sp_bench_case *c, sp_lid *position, sp_lid *listed) {
  const sp_numbering *numbering = c->space->numbering;
  const sp_lid elements = c->mesh->hexes->count;
  const sp_lid chosen[] = {0, elements / 2, elements - 1};
  const size_t np = sp_element_nodes(c->order);
  sp_lid count = 0;
  enum { SHARED = -2 };
  for (sp_lid d = 0; d < numbering->local; d++) position[d] = UNMARKED;
  for (sp_lid s = 0; s < numbering->shared_start[numbering->neighbours]; s++)
    position[numbering->shared[s]] = SHARED;
  for (int n = 0; n < 3; n++)
    for (size_t i = 0; i < np; i++) {
      const sp_lid dof = numbering->nodes[(size_t)chosen[n] * np + i];
      if (position[dof] != UNMARKED) continue;
      position[dof] = count;
      listed[count++] = dof;
    }
  return count;
}

/* expected[position[dof]] = sum of the contributions of all elements that contain the DOF. */
static sp_status assemble_expected(const sp_bench_production *p, const sp_lid *position,
                                   double *expected) {
  const sp_bench_case *c = p->c;
  const size_t np = sp_element_nodes(c->order);
  SP_OWNED double *x = NULL;
  SP_TRY(sp_allocate(2 * np, sizeof *x, "a reference", &x));
  double *y = x + np;
  for (sp_lid e = 0; e < c->mesh->hexes->count; e++) {
    const sp_lid *nodes = &c->space->numbering->nodes[(size_t)e * np];
    bool touches = false;
    for (size_t i = 0; i < np && !touches; i++) touches = position[nodes[i]] >= 0;
    if (!touches) continue;
    for (size_t i = 0; i < np; i++) x[i] = is_constrained(p, nodes[i]) ? 0 : random_at(p, nodes[i]);
    SP_TRY(sp_bench_reference(p->kind, c->order, SP_BENCH_LAMBDA, c->mesh->hexes, e, x, y));
    for (size_t i = 0; i < np; i++)
      if (position[nodes[i]] >= 0 && !is_constrained(p, nodes[i]))
        expected[position[nodes[i]]] += y[i];
  }
  return SP_OK;
}

static sp_status compare_operator(const sp_bench_production *p, const double *y, double *error) {
  SP_OWNED sp_lid *position = NULL;
  SP_OWNED double *expected = NULL;
  SP_TRY(sp_allocate(p->l_size + 3 * sp_element_nodes(p->c->order), sizeof *position, "a reference",
                     &position));
  sp_lid *listed = position + p->l_size;
  const sp_lid count = mark_dofs(p->c, position, listed);
  SP_TRY(sp_allocate(2 * (size_t)count, sizeof *expected, "a reference", &expected));
  SP_TRY(assemble_expected(p, position, expected));
  double *result = expected + count;
  for (sp_lid i = 0; i < count; i++) result[i] = y[listed[i]];
  *error = sp_bench_difference((size_t)count, result, expected);
  return SP_OK;
}

static sp_status check_operator(const sp_bench_production *p, double *error) {
  const sp_bench_clock *clock = p->clock;
  SP_OWNED double *y = NULL;
  sp_status status = sp_allocate(p->l_size, sizeof *y, "a result", &y);
  sp_vector result = vector_of(&p->l_y, p->l_size, 0);
  if (!status) status = poison(y, &result);
  SP_TRY(sp_agree(clock->comm, status));
  SP_TRY(sp_agree(clock->comm, call_operator(p, 0)));
  status = sp_vector_read(&result, y);
  if (!status) status = compare_operator(p, y, error);
  if (!status) status = judge(p, SP_BENCH_OPERATOR, *error, tolerance_of(p));
  SP_TRY(sp_agree(clock->comm, status));
  MPI_Allreduce(MPI_IN_PLACE, error, 1, MPI_DOUBLE, MPI_MAX, clock->comm);
  return SP_OK;
}

/* ---- Conjugate gradients ---- */

/* Iterations of a solve that the device runs by itself: enough to make the start negligible. The
 * tolerance is unreachable, but its square does not underflow. */
enum { ITERATIONS = 192, WARM_UP = 8 };
static const double TOLERANCE = 1e-140;

typedef struct solve {
  const sp_bench_production *production;
  double *load;      /* [l_size], the right-hand side, zero on constrained DOFs */
  double *work;      /* [l_size] */
  sp_vector b, x, r; /* x and r are those of production */
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
  for (size_t i = 0; i < p->l_size; i++) s->work[i] = 0;
  sp_status status = sp_vector_write(s->work, &s->x);
  if (!status) status = sp_vector_write(s->load, &s->b);
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

static double norm(const solve *s, const double *values) {
  const sp_operator *op = s->production->operators[0];
  double sum = 0;
  for (sp_lid i = 0; i < op->owned; i++) sum += values[i] * values[i];
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, op->comm);
  return sqrt(sum);
}

/* work = A x; r is overwritten. */
static sp_status apply(solve *s) {
  sp_operator *op = s->production->operators[0];
  SP_TRY(sp_agree(op->comm, sp_operator_apply(op, true, &s->x, &s->r)));
  return sp_agree(op->comm, sp_vector_read(&s->r, s->work));
}

/* *error = | ||b - A x|| - r | / ||b||, where r is the recursively updated residual of CG. It grows
 * by a rounding of ||A|| ||x|| per iteration (A. Greenbaum, SIAM J. Matrix Anal. Appl. 18 (1997)
 * 535); ||A b|| / ||b|| for random b is somewhat below ||A||. A wrong iteration makes a much larger
 * difference. */
static sp_status check_solve(solve *s, const sp_cg_result *result, double *error) {
  const sp_bench_production *p = s->production;
  MPI_Comm comm = p->clock->comm;
  SP_TRY(sp_agree(comm, sp_vector_read(&s->x, s->work)));
  const double b = norm(s, s->load), x = norm(s, s->work);
  *error = 0;
  if (b == 0 && x == 0) return SP_OK; /* no free DOF */
  SP_TRY(apply(s));
  for (size_t i = 0; i < p->l_size; i++) s->work[i] = s->load[i] - s->work[i];
  const double r = norm(s, s->work);
  SP_TRY(sp_agree(comm, sp_vector_write(s->load, &s->x)));
  SP_TRY(apply(s));
  const double tolerance =
      10 * DBL_EPSILON * (double)result->iterations * norm(s, s->work) / b * x / b;
  *error = fabs(r - result->residual) / b;
  if (!isfinite(*error)) *error = INFINITY;
  return judge(p, SP_BENCH_CG, *error, tolerance);
}

/* A sample is a whole solve if iterations run without the host, else one iteration of a solve. So
 * few DOFs that CG ends exactly after a few iterations take several solves. */
static sp_status time_solves(solve *s, double *samples, int *count, sp_bench_row *row) {
  const sp_bench_clock *clock = s->production->clock;
  const bool whole = s->production->operators[0]->iterates;
  sp_cg_result result;
  SP_TRY(run_solve(s, &result)); /* for warming up, and for the check */
  SP_TRY(check_solve(s, &result, &row->error));
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
  SP_OWNED double *samples = NULL, *load = NULL;
  int count = 0;
  sp_status status = SP_ALLOCATE("a right-hand side", SP_ARRAY(load, 2 * p->l_size),
                                 SP_ARRAY(samples, 2 * ((size_t)room + 1)));
  if (!status) status = sp_vector_create(p->clock->platform, SP_DOUBLE, p->l_size, &s.b);
  status = sp_agree(p->clock->comm, status);
  if (!status) {
    s.load = load;
    s.work = load + p->l_size;
    s.times = samples + room + 1;
    for (size_t i = 0; i < p->l_size; i++)
      load[i] = is_constrained(p, (sp_lid)i) ? 0 : random_at(p, (sp_lid)i);
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
  SP_TRY(sp_agree(p->clock->comm, check_unassembled(p, &row->error)));
  return sp_bench_time(p->clock, call_unassembled, p, 0, row);
}
