/* Results of a solution: probes, fluxes, balance, and the field. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "solver/report/field.h"
#include "solver/run/running.h"

/* Compute the balance, the results and the heat of materials. */
static sp_status compute_fluxes(sp_running *c, double *scratch) {
  double *const vectors[2] = {c->solver->work, scratch};
  c->values.balance.projected = c->solver->facts.exact;
  c->values.balance.removed = c->solver->removed;
  if (sp_running_has_balance(c))
    SP_TRY(sp_balance_compute(&c->values.balance, c->solution, c->values.rest, vectors));
  SP_TRY(sp_quantities_evaluate(c->values.quantities, c->solver->space, &c->values.balance,
                                c->config->statement.scope, c->values.probes, c->solution));
  return c->values.heat
             ? sp_heat_compute(&c->values.balance.fluxes, &c->values.balance.sums, c->values.heat)
             : SP_OK;
}

double sp_running_range(const sp_running *c) {
  const sp_quantity *extrema = &c->values.quantities->list[c->values.quantities->count];
  return extrema[1].value - extrema[0].value;
}

/* True if all data are zero, the solution is constant, and no heat flows, to rounding.
 */
static bool is_flat(const sp_running *c) {
  static const double FLAT = 1e-12, RESOLVED = 0.1; /* of u, of what rounding of u may change */
  const sp_balance *balance = &c->values.balance;
  const sp_quantity *extrema = &c->values.quantities->list[c->values.quantities->count];
  const double rounding = RESOLVED * balance->fluxes.noise + 8 * DBL_EPSILON * balance->direct;
  return balance->data == 0 && sp_balance_flow(balance) <= rounding &&
         sp_running_range(c) <= FLAT * fmax(fabs(extrema[0].value), fabs(extrema[1].value));
}

static void forget_rest(sp_running *c) {
  free(c->values.rest);
  c->values.rest = NULL;
}

/* Find the part of the solution below its rounding; none if CG does not converge. */
static sp_status find_rest(sp_running *c) {
  const size_t dofs = sp_space_dofs(c->solver->space);
  SP_TRY(sp_agree(c->workers->comm,
                  sp_allocate(dofs, sizeof *c->values.rest, "fluxes", &c->values.rest)));
  const sp_status status = sp_solver_refine(c->solver, c->solution, c->values.rest);
  if (!status) return SP_OK;
  forget_rest(c);
  return status == SP_ERR_NOT_CONVERGED || status == SP_ERR_BREAKDOWN ? SP_OK : status;
}

/* Compute fluxes and results, again if rounding of the solution may change them visibly. */
static sp_status find_fluxes(sp_running *c) {
  static const double VISIBLE = 1e-7; /* of the heat that flows */
  const size_t dofs = sp_space_dofs(c->solver->space);
  SP_OWNED double *scratch = NULL;
  forget_rest(c);
  SP_TRY(sp_agree(c->workers->comm, sp_allocate(dofs, sizeof *scratch, "fluxes", &scratch)));
  SP_TRY(compute_fluxes(c, scratch));
  if (c->values.balance.fluxes.noise <= VISIBLE * sp_balance_flow(&c->values.balance)) return SP_OK;
  SP_TRY(find_rest(c));
  return c->values.rest ? compute_fluxes(c, scratch) : SP_OK;
}

sp_status sp_running_evaluate(sp_running *c) {
  if (c->values.probes->all > 0) {
    sp_running_enter(c, SP_PHASE_PROBES);
    SP_TRY(sp_probes_evaluate(c->values.probes, c->problem, c->solver->space, c->solution));
  }
  sp_running_enter(c, SP_PHASE_RESULTS);
  SP_TRY(find_fluxes(c));
  sp_running_enter(c, SP_PHASES);
  return SP_OK;
}

sp_status sp_running_collect(const sp_running *c, sp_answers *answers) {
  return sp_agree(c->workers->comm,
                  sp_answers_collect(c->values.quantities, c->problem, &c->solver->facts.jump,
                                     &c->values.balance, c->config->statement.scope,
                                     c->values.probes, answers));
}

/* |1.r| = |1.A e| <= ||1||_A ||e||_A, or at most the root of the number of DOFs times ||r||. */
sp_status sp_running_check_balance(const sp_running *c) {
  static const double MARGIN = 2; /* the error is only an estimate */
  const sp_cg_result *cg = &c->results->cg;
  if (!sp_running_has_balance(c) || is_flat(c)) return SP_OK;
  const double tolerance = c->config->solver.tolerance;
  const double size = c->config->solver.criterion == SP_CG_ENERGY
                          ? sqrt(c->solver->start.weight) * cg->energy
                          : sqrt((double)c->results->dofs) * cg->norm_b;
  const sp_status status =
      sp_balance_check(&c->values.balance, MARGIN * tolerance * size, tolerance);
  c->report->outcome.unbalanced = status;
  return status;
}

double sp_running_flux_error(const sp_running *c) {
  const sp_solver_options *o = &c->config->solver;
  const sp_balance *balance = &c->values.balance;
  if (o->criterion != SP_CG_ENERGY || !sp_running_has_balance(c) || is_flat(c)) return 0;
  return o->tolerance * c->results->cg.energy * sqrt(balance->fluxes.stiffness) /
         sp_balance_flow(balance);
}

/* ---- The field ---- */

sp_status sp_running_find_indicator(sp_running *c) {
  const size_t elements = (size_t)c->mesh->hexes->count;
  sp_status status = SP_OK;
  if (!c->bars.indicator)
    status =
        sp_allocate(elements, sizeof *c->bars.indicator, "error indicator", &c->bars.indicator);
  if (!status) status = sp_resolution_indicate(c->solver->space, c->solution, c->bars.indicator);
  return sp_agree(c->workers->comm, status);
}

/* Add the state in time, and the solutions before it. */
static sp_status add_state(sp_running *c, sp_field_state *state, sp_field_solution *solution) {
  const size_t dofs = sp_space_dofs(c->solver->space);
  *state = (sp_field_state){.time = sp_march_time(c->march),
                            .known = sp_march_known(c->march),
                            .length = sp_march_length(c->march)};
  solution->state = state;
  for (int i = 1; i < SP_TIME_HISTORY; i++) { /* the march has copied these initial vectors */
    double *before = c->initial + (size_t)i * dofs;
    SP_TRY(sp_march_fetch_before(c->march, i, before));
    solution->before[i - 1] = before;
  }
  return SP_OK;
}

sp_status sp_running_write_field(sp_running *c, sp_status solved) {
  const char *path = solved ? c->config->output.unconverged : c->config->output.field;
  sp_field_solution solution = {.x = c->solution,
                                .flux = c->config->output.flux,
                                .units = &c->config->wanted.units,
                                .states = c->written.states};
  sp_field_state state;
  double seconds;
  if (!c->config->output.field[0] || !c->report) return SP_OK;
  if (c->config->output.accuracy && !c->march) SP_TRY(sp_running_find_indicator(c));
  solution.indicator = c->bars.indicator;
  sp_running_enter(c, SP_PHASE_FIELD);
  if (c->march) SP_TRY(add_state(c, &state, &solution));
  SP_TRY(sp_field_write(path, c->problem, c->solver->space, &solution, &seconds));
  sp_profile_add(&c->results->profile, SP_PHASE_WRITING, 1, seconds);
  c->written.states += c->march != NULL;
  c->written.field = path;
  sp_record_text(c->report->record, "field", path);
  sp_running_enter(c, SP_PHASES);
  return SP_OK;
}
