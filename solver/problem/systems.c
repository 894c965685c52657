#include "solver/problem/systems.h"

#include <stdlib.h>

#include "operators/counts.h"
#include "operators/factors.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/robin.h"

/* Fill the arrays and the coefficients of a setup with a space and a kind, and the Dirichlet
 * values. `fine` is the system that a level is below; NULL for the finest one. */
static sp_status fill_setup(const sp_problem *problem, const sp_system *fine,
                            sp_operator_setup *setup, double **boundary_values,
                            sp_data_jump *jump) {
  const sp_space *space = setup->space;
  const size_t dofs = sp_space_dofs(space);
  bool *constrained = NULL;
  sp_status status =
      SP_ALLOCATE("Dirichlet mask", SP_ARRAY(constrained, dofs), SP_ARRAY(*boundary_values, dofs));
  setup->constrained = constrained;
  SP_TRY(sp_agree(space->platform->comm, status));
  if (fine) {
    const sp_rule *rule = sp_operator_rule(setup->kind, space->numbering->order);
    double *kappa, *lambda;
    status = sp_system_average(&fine->setup, rule, NULL, &kappa, &lambda);
    setup->kappa = kappa;
    setup->lambda_values = lambda;
    setup->lambda = fine->setup.lambda;
    setup->by_element = fine->setup.by_element;
    setup->is_tensor = fine->setup.is_tensor;
    SP_TRY(sp_agree(space->platform->comm, status));
  } else {
    SP_TRY(sp_coefficients_create(problem, setup));
  }
  SP_TRY(sp_problem_robin(problem, (fine ? fine->space : space)->numbering->order, setup));
  return sp_problem_constraints(problem, space, constrained, *boundary_values, jump);
}

/* Make the system from its parts, which it takes. After an error, `status` or its own, free them.
 */
static sp_status make_system(sp_operator_setup *setup, sp_space *own_space,
                             const sp_constants *constants, sp_geometry_kind geometry,
                             sp_status status, const char **reason, sp_system **out) {
  const sp_geometry_facts facts = sp_geometry_facts_of(setup);
  if (!status)
    status = sp_geometry_choose(setup->space->platform->backend, &facts, geometry, &setup->geometry,
                                reason);
  const sp_status made = sp_system_create(setup, own_space, constants, out);
  if (!status) return made;
  sp_system_destroy(out);
  return status;
}

sp_status sp_problem_system(const sp_problem *problem, const sp_space *space,
                            sp_geometry_kind geometry, sp_problem_facts *facts, sp_system **out) {
  sp_operator_setup setup = {.space = space, .kind = problem->kind};
  sp_constants constants = {0};
  *facts = (sp_problem_facts){0};
  *out = NULL;
  sp_status status = fill_setup(problem, NULL, &setup, &facts->boundary_values, &facts->jump);
  if (!status && facts->jump.largest == 0) {
    free(facts->boundary_values);
    facts->boundary_values = NULL;
  }
  if (!status && sp_operator_rows[problem->kind].has_stiffness)
    status = sp_null_space_create(&setup, &facts->exact, &facts->weak, &constants);
  if (!status) status = sp_null_space_constants(facts->exact, space, &constants);
  return make_system(&setup, NULL, &constants, geometry, status, &facts->geometry_reason, out);
}

void sp_problem_facts_free(sp_problem_facts *facts) {
  SP_FREE(facts->boundary_values, facts->jump.of_part);
  sp_null_space_destroy(&facts->exact);
  sp_null_space_destroy(&facts->weak);
  *facts = (sp_problem_facts){0};
}

/* Stored factors: kernels that recompute them multiply lambda / kappa by kappa. */
sp_status sp_problem_mass(const sp_problem *problem, const sp_space *space, bool of_capacity,
                          sp_operator **out) {
  sp_operator_setup setup = {
      .space = space, .kind = problem->kind, .geometry = SP_GEOMETRY_STORED, .lambda = 1};
  sp_status status = SP_OK;
  *out = NULL;
  if (sp_operator_rows[problem->kind].has_stiffness)
    status = sp_coefficients_of_mass(problem, of_capacity, &setup);
  if (!status) status = sp_operator_create(&setup, out);
  sp_system_free_setup(&setup);
  return status;
}

sp_status sp_problem_level(const sp_problem *problem, const sp_system *fine, int order,
                           sp_geometry_kind geometry, const sp_null_space *exact, sp_system **out) {
  const bool has_stiffness = sp_operator_rows[problem->kind].has_stiffness;
  sp_operator_setup setup = {.kind = has_stiffness ? SP_BP35 : SP_MASS};
  sp_constants constants = {0};
  SP_OWNED double *boundary_values = NULL;
  sp_space *space;
  const char *reason;
  *out = NULL;
  SP_TRY(sp_space_create(fine->space->platform, fine->space->mesh, order, &space));
  setup.space = space;
  sp_status status = fill_setup(problem, fine, &setup, &boundary_values, NULL);
  if (!status) status = sp_null_space_constants(exact, space, &constants);
  return make_system(&setup, space, &constants, geometry, status, &reason, out);
}
