#include "solver/bench/solve.h"

#include <math.h>
#include <stdlib.h>

#include "mesh/reference.h"
#include "solver/bench/check.h"
#include "solver/bench/residual.h"
#include "solver/linear/multigrid.h"

static const double TOLERANCE = 1e-8, MOST_SECONDS = 10, PI = 3.14159265358979323846;
enum { MOST_ITERATIONS = 500, DEGREE = 3 /* of the smoother, as in a case */ };

typedef struct solve {
  const sp_bench_clock *clock;
  sp_bench_case *c;
  sp_operator_setup setup;
  sp_operator *op;
  sp_preconditioner *preconditioner;
  double *b, *work;         /* [local DOFs], on the host */
  double *x, *r, *device_b; /* on the device */
} solve;

/* ---- Set-up ---- */

static sp_operator_setup setup_on(const sp_space *space, sp_operator_kind kind,
                                  sp_geometry_kind geometry, const bool *boundary) {
  return (sp_operator_setup){
      .space = space, .kind = kind, .geometry = geometry, .constrained = boundary};
}

static void release(void *context, sp_multigrid_level_data *data) {
  (void)context;
  free(data->owned);
  *data = (sp_multigrid_level_data){0};
}

static sp_status discretize(void *context, const sp_space *space, sp_multigrid_level_data *data) {
  const solve *s = context;
  bool *boundary;
  if (space == s->c->space) {
    data->setup = s->setup;
    data->setup.alike = s->op->local;
    return SP_OK;
  }
  SP_TRY(sp_agree(s->clock->comm, sp_bench_boundary(space, &boundary)));
  data->owned = boundary;
  const sp_geometry_kind geometry =
      s->clock->backend->faster_geometry(SP_BP35, space->numbering->order);
  data->setup = setup_on(space, SP_BP35, geometry, boundary);
  return SP_OK;
}

static sp_status create_multigrid(solve *s, double *seconds) {
  const sp_multigrid_problem levels = {.discretize = discretize, .release = release, .context = s};
  sp_multigrid_options options = {.degree = DEGREE};
  sp_multigrid_choose_orders(s->c->order, &options);
  MPI_Barrier(s->clock->comm);
  const double start = MPI_Wtime();
  SP_TRY(sp_multigrid_create(s->c->space, &options, &levels, &s->preconditioner));
  SP_TRY(sp_agree(s->clock->comm, s->clock->backend->finish(s->clock->device)));
  *seconds = MPI_Wtime() - start;
  MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, s->clock->comm);
  return SP_OK;
}

static sp_status allocate(solve *s) {
  const sp_backend *backend = s->clock->backend;
  const size_t dofs = sp_space_dofs(s->c->space);
  SP_TRY(sp_allocate(dofs, sizeof *s->b, "a right-hand side", &s->b));
  SP_TRY(sp_allocate(dofs, sizeof *s->work, "work space", &s->work));
  SP_TRY(backend->vector_create(s->clock->device, SP_DOUBLE, dofs, &s->x));
  SP_TRY(backend->vector_create(s->clock->device, SP_DOUBLE, dofs, &s->r));
  return backend->vector_create(s->clock->device, SP_DOUBLE, dofs, &s->device_b);
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
      s->b[numbering->nodes[(size_t)e * nodes + n]] +=
          3 * PI * PI * sin(PI * xyz[n]) * sin(PI * xyz[nodes + n]) * sin(PI * xyz[2 * nodes + n]);
  }
  free(xyz);
  sp_exchange_now(s->c->space->exchange, SP_SUM, s->b);
  return SP_OK;
}

static sp_status fill_load(solve *s, sp_bench_load load) {
  const sp_numbering *numbering = s->c->space->numbering;
  if (load == SP_BENCH_NEK) SP_TRY(fill_as_nek(s));
  for (sp_lid i = 0; i < numbering->local; i++) {
    if (load == SP_BENCH_RANDOM) s->b[i] = sp_bench_random(sp_numbering_global(numbering, i));
    if (s->c->boundary[i]) s->b[i] = 0;
  }
  return SP_OK;
}

/* ---- Solves ---- */

static sp_status run_once(solve *s, sp_cg_result *result) {
  const sp_backend *backend = s->clock->backend;
  sp_device *device = s->clock->device;
  const size_t dofs = (size_t)s->op->dofs;
  const sp_cg_options options = {
      .criterion = SP_CG_RESIDUAL, .tolerance = TOLERANCE, .max_iterations = MOST_ITERATIONS};
  for (size_t i = 0; i < dofs; i++) s->work[i] = 0;
  sp_status status = backend->upload(device, SP_DOUBLE, dofs, s->work, s->x);
  if (!status) status = backend->upload(device, SP_DOUBLE, dofs, s->b, s->device_b);
  SP_TRY(sp_agree(s->clock->comm, status));
  return sp_cg_solve(s->op, s->preconditioner, &options, true, s->device_b, s->x, s->r, result);
}

static sp_status check(const solve *s, const sp_cg_result *result, sp_bench_row *row) {
  const sp_bench_system system = {
      .clock = s->clock, .op = s->op, .b = s->b, .work = s->work, .x = s->x, .y = s->r};
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
  const sp_backend *backend = s->clock->backend;
  sp_preconditioner_destroy(&s->preconditioner);
  sp_operator_destroy(&s->op);
  backend->vector_destroy(s->clock->device, &s->x);
  backend->vector_destroy(s->clock->device, &s->r);
  backend->vector_destroy(s->clock->device, &s->device_b);
  free(s->b);
  free(s->work);
}

sp_status sp_bench_solve_time(const sp_bench_clock *clock, sp_bench_case *c, sp_operator_kind kind,
                              sp_geometry_kind geometry, sp_bench_load load, sp_bench_row *row) {
  double samples[SP_BENCH_MAX_REPEATS];
  SP_TRY(sp_bench_case_space(c));
  solve s = {.clock = clock, .c = c, .setup = setup_on(c->space, kind, geometry, c->boundary)};
  s.setup.for_level = true;
  row->dofs = c->space->numbering->global;
  row->sets = 1;
  row->flops = row->bytes = NAN;
  sp_status status = sp_agree(clock->comm, allocate(&s));
  if (!status) status = sp_operator_create(&s.setup, &s.op);
  if (!status) status = create_multigrid(&s, &row->setup_seconds);
  if (!status) status = fill_load(&s, load);
  if (!status) status = time_solves(&s, samples, row);
  destroy(&s);
  return status;
}
