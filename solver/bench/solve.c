#include "solver/bench/solve.h"

#include <math.h>
#include <stdlib.h>

#include "mesh/reference.h"
#include "solver/bench/check.h"
#include "solver/linear/multigrid.h"

static const double TOLERANCE = 1e-8, MOST_SECONDS = 10, PI = 3.14159265358979323846;
enum { MOST_ITERATIONS = 500 };

typedef struct solve {
  const sp_bench_clock *clock;
  sp_bench_case *c;
  sp_operator_kind kind;
  sp_geometry_kind geometry;
  sp_multigrid_options options;
  sp_system *systems[SP_MULTIGRID_MOST]; /* finest first */
  sp_operator *op;                       /* of the first */
  sp_coarse *coarse;
  sp_preconditioner *preconditioner;
  double *load, *work; /* [local DOFs] */
  sp_vector b, x, r;
} solve;

/* ---- Set-up ---- */

/* The system of the study on a space, with u = 0 on the boundary. */
static sp_status make_system(sp_space *space, bool owns, sp_operator_kind kind,
                             sp_geometry_kind geometry, sp_system **out) {
  bool *boundary;
  const sp_status status = sp_agree(space->platform->comm, sp_bench_boundary(space, &boundary));
  const sp_operator_setup setup = {.space = space,
                                   .kind = kind,
                                   .geometry = geometry,
                                   .constrained = boundary,
                                   .for_level = true};
  const sp_status made = sp_system_create(&setup, owns ? space : NULL, NULL, out);
  return status ? status : made;
}

static sp_status make_fine_system(solve *s) {
  SP_TRY(make_system(s->c->space, false, s->kind, s->geometry, &s->systems[0]));
  SP_TRY(sp_system_build(s->systems[0]));
  s->op = s->systems[0]->op;
  return SP_OK;
}

static sp_status make_level(solve *s, int i) {
  const int order = s->options.orders[i];
  sp_space *space;
  SP_TRY(sp_space_create(s->c->space->platform, s->c->mesh, order, &space));
  return make_system(space, true, SP_BP35,
                     s->clock->platform->backend->faster_geometry(SP_BP35, order, false),
                     &s->systems[i]);
}

static sp_status make_levels(solve *s) {
  const int orders = s->options.levels, smoothed = sp_multigrid_smoothed(&s->options);
  for (int i = 1; i < smoothed; i++) SP_TRY(make_level(s, i));
  s->options.levels = smoothed;
  SP_TRY(sp_multigrid_add_meshes(SP_GEOMETRY_AUTO, &s->options, s->systems));
  return s->options.levels < orders ? make_level(s, s->options.levels++) : SP_OK;
}

static sp_status make_multigrid(solve *s) {
  s->options = (sp_multigrid_options){0};
  sp_multigrid_choose_orders(s->c->order, &s->options);
  SP_TRY(sp_multigrid_prepare(s->c->space, &s->options));
  SP_TRY(sp_multigrid_find_bars(&s->options, s->systems));
  if (!s->systems[1]) SP_TRY(make_levels(s));
  SP_TRY(sp_multigrid_start_coarse(s->systems[s->options.levels - 1], &s->options, &s->coarse));
  return sp_multigrid_create(&s->options, s->systems, &s->coarse, &s->preconditioner);
}

static sp_status time_set_up(solve *s, double *seconds) {
  MPI_Barrier(s->clock->comm);
  const double start = MPI_Wtime();
  SP_TRY(make_multigrid(s));
  SP_TRY(sp_agree(s->clock->comm, s->clock->platform->backend->finish(s->clock->platform->device)));
  *seconds = MPI_Wtime() - start;
  MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, s->clock->comm);
  return SP_OK;
}

static sp_status allocate(solve *s) {
  const sp_space *space = s->c->space;
  SP_TRY(SP_ALLOCATE("a right-hand side", SP_ARRAY(s->load, sp_space_dofs(space)),
                     SP_ARRAY(s->work, sp_space_dofs(space))));
  SP_TRY(sp_space_vector(space, SP_DOUBLE, &s->b));
  SP_TRY(sp_space_vector(space, SP_DOUBLE, &s->x));
  return sp_space_vector(space, SP_DOUBLE, &s->r);
}

/* The right-hand side of nekRS's example kershaw: 3 pi^2 sin(pi x) sin(pi y) sin(pi z) at the
 * nodes, summed over elements, without the mass matrix. */
static sp_status fill_as_nek(solve *s) {
  const sp_numbering *numbering = s->c->space->numbering;
  const sp_hexes *hexes = s->c->mesh->hexes;
  const sp_rule *gll = &sp_reference_get(numbering->order)->gll;
  const size_t nodes = sp_element_nodes(numbering->order);
  double *xyz;
  SP_TRY(sp_agree(s->clock->comm, sp_allocate(nodes, 3 * sizeof *xyz, "coordinates", &xyz)));
  for (sp_lid e = 0; e < hexes->count; e++) {
    sp_hexes_coordinates(hexes, e, gll->n, gll->nodes, xyz);
    for (size_t n = 0; n < nodes; n++)
      s->load[numbering->nodes[(size_t)e * nodes + n]] +=
          3 * PI * PI * sin(PI * xyz[n]) * sin(PI * xyz[nodes + n]) * sin(PI * xyz[2 * nodes + n]);
  }
  free(xyz);
  sp_exchange_now(s->c->space->exchange, SP_SUM, s->load);
  return SP_OK;
}

static sp_status fill_load(solve *s, sp_bench_load load) {
  const sp_numbering *numbering = s->c->space->numbering;
  if (load == SP_BENCH_NEK) SP_TRY(fill_as_nek(s));
  for (sp_lid i = 0; i < numbering->local; i++) {
    if (load == SP_BENCH_RANDOM) s->load[i] = sp_bench_random(sp_numbering_global(numbering, i));
    if (s->c->boundary[i]) s->load[i] = 0;
  }
  return SP_OK;
}

/* ---- Solves ---- */

static sp_status run_once(solve *s, sp_cg_result *result) {
  const sp_cg_options options = {
      .criterion = SP_CG_RESIDUAL, .tolerance = TOLERANCE, .max_iterations = MOST_ITERATIONS};
  for (sp_lid i = 0; i < s->op->dofs; i++) s->work[i] = 0;
  sp_status status = sp_vector_write(s->work, &s->x);
  if (!status) status = sp_vector_write(s->load, &s->b);
  SP_TRY(sp_agree(s->clock->comm, status));
  return sp_cg_solve(s->op, s->preconditioner, &options, true, &s->b, &s->x, &s->r, result);
}

static sp_status check(solve *s, const sp_cg_result *result, sp_bench_row *row) {
  const sp_bench_system system = {
      .op = s->op, .b = s->load, .work = s->work, .x = &s->x, .y = &s->r};
  double tolerance;
  SP_TRY(sp_bench_check_residual(&system, result, &row->error, &tolerance));
  if (row->error <= tolerance) return SP_OK;
  return sp_fail(SP_ERR_SYSTEM,
                 "wrong result: the residual of a solve with %s, %s geometry, at N = %d differs "
                 "from b - A x by %.3g, at most %.3g is rounding",
                 row->problem, row->geometry, s->c->order, row->error, tolerance);
}

/* All zero if CG has not needed the preconditioner. */
static sp_status time_levels(solve *s, sp_bench_row *row) {
  sp_level_time times[SP_LEVELS_MOST];
  int count;
  SP_TRY(s->preconditioner->time_levels(s->preconditioner, times, &count));
  for (int i = 0; i < count; i++)
    *(i == 0           ? &row->finest_seconds
      : i + 1 == count ? &row->coarsest_seconds
                       : &row->middle_seconds) += times[i].seconds;
  return SP_OK;
}

static sp_status time_solves(solve *s, double *samples, sp_bench_row *row) {
  const sp_bench_clock *clock = s->clock;
  sp_cg_result result;
  int count = 0;
  double total = 0;
  SP_TRY(run_once(s, &result));
  SP_TRY(check(s, &result, row));
  row->iterations = result.iterations;
  row->calls = 1;
  while (count < clock->samples && (count == 0 || total < MOST_SECONDS)) {
    SP_TRY(run_once(s, &result));
    total += samples[count++] = result.seconds;
    MPI_Bcast(&total, 1, MPI_DOUBLE, 0, clock->comm); /* all ranks decide alike */
  }
  sp_bench_summarize(clock->comm, count, samples, row);
  return time_levels(s, row);
}

static void destroy(solve *s) {
  sp_preconditioner_destroy(&s->preconditioner);
  sp_coarse_destroy(&s->coarse);
  for (int i = 0; i < SP_MULTIGRID_MOST; i++) sp_system_destroy(&s->systems[i]);
  sp_vector_destroy(&s->b);
  sp_vector_destroy(&s->x);
  sp_vector_destroy(&s->r);
  SP_FREE(s->load, s->work);
}

sp_status sp_bench_solve_time(const sp_bench_clock *clock, sp_bench_case *c, sp_operator_kind kind,
                              sp_geometry_kind geometry, sp_bench_load load, sp_bench_row *row) {
  double samples[SP_BENCH_MAX_REPEATS];
  SP_TRY(sp_bench_case_space(c));
  solve s = {.clock = clock, .c = c, .kind = kind, .geometry = geometry};
  row->dofs = c->space->numbering->global;
  row->sets = 1;
  row->flops = row->bytes = NAN;
  sp_status status = sp_agree(clock->comm, allocate(&s));
  if (!status) status = make_fine_system(&s);
  if (!status) status = time_set_up(&s, &row->setup_seconds);
  if (!status) status = fill_load(&s, load);
  if (!status) status = time_solves(&s, samples, row);
  destroy(&s);
  return status;
}
