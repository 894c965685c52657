#include "solver/problem/systems.h"

#include <stdlib.h>

#include "operators/counts.h"
#include "operators/factors.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/robin.h"

/* Parts of a system while it is put together. */
typedef struct parts {
  const sp_space *space;
  sp_space *own_space; /* the same if the system is to own it; else NULL */
  sp_operator_kind kind;
  sp_constants constants;
  bool *constrained;
  double *boundary_values;
  sp_coefficients coefficients;
  sp_robin robin;
} parts;

/* `fine` is the system that a level is below; NULL for the finest one. */
static sp_status fill_parts(const sp_problem *problem, const sp_system *fine, parts *p,
                            sp_data_jump *jump) {
  const sp_space *space = p->space;
  const size_t dofs = sp_space_dofs(space);
  const sp_rule *rule = sp_operator_rule(p->kind, space->numbering->order);
  sp_status status = SP_ALLOCATE("Dirichlet mask", SP_ARRAY(p->constrained, dofs),
                                 SP_ARRAY(p->boundary_values, dofs));
  SP_TRY(sp_agree(space->platform->comm, status));
  if (fine) {
    sp_coefficients *c = &p->coefficients;
    const sp_operator_setup *s = &fine->setup;
    *c = (sp_coefficients){
        .by_element = s->by_element, .is_tensor = s->is_tensor, .scale = s->lambda};
    SP_TRY(
        sp_agree(space->platform->comm, sp_system_average(s, rule, NULL, &c->kappa, &c->lambda)));
  } else {
    SP_TRY(sp_coefficients_create(problem, space->mesh, rule, &p->coefficients));
  }
  SP_TRY(
      sp_problem_robin(problem, space, (fine ? fine->space : space)->numbering->order, &p->robin));
  return sp_problem_constraints(problem, space, p->constrained, p->boundary_values, jump);
}

static sp_operator_setup setup_of(const parts *p) {
  return (sp_operator_setup){.space = p->space,
                             .kind = p->kind,
                             .lambda = p->coefficients.scale,
                             .constrained = p->constrained,
                             .kappa = p->coefficients.kappa,
                             .lambda_values = p->coefficients.lambda,
                             .by_element = p->coefficients.by_element,
                             .is_tensor = p->coefficients.is_tensor,
                             .diagonal_count = p->robin.count,
                             .diagonal_dofs = p->robin.dofs,
                             .diagonal_values = p->robin.values};
}

/* Make the system from the parts, which it takes. After an error, `status` or its own, free them.
 */
static sp_status make_system(parts *p, sp_geometry_kind geometry, sp_status status,
                             const char **reason, sp_system **out) {
  sp_operator_setup setup = setup_of(p);
  const sp_geometry_facts facts = sp_geometry_facts_of(&setup);
  if (!status)
    status =
        sp_geometry_choose(p->space->platform->backend, &facts, geometry, &setup.geometry, reason);
  const sp_status made = sp_system_create(&setup, p->own_space, &p->constants, out);
  if (!status) return made;
  sp_system_destroy(out);
  return status;
}

static sp_status copy_constants(const sp_null_space *null_space, const sp_space *space,
                                sp_constants *out) {
  sp_null_space *copy = NULL;
  SP_TRY(sp_null_space_copy(null_space, space, &copy));
  if (!copy) return SP_OK;
  out->components = copy->components;
  out->of_dof = copy->of_dof;
  copy->of_dof = NULL;
  sp_null_space_destroy(&copy);
  return SP_OK;
}

sp_status sp_problem_system(const sp_problem *problem, const sp_space *space,
                            sp_geometry_kind geometry, sp_problem_facts *facts, sp_system **out) {
  parts p = {.space = space, .kind = problem->kind};
  *facts = (sp_problem_facts){0};
  *out = NULL;
  sp_status status = fill_parts(problem, NULL, &p, &facts->jump);
  if (!status && facts->jump.largest == 0) {
    free(p.boundary_values);
    p.boundary_values = NULL;
  }
  facts->boundary_values = p.boundary_values;
  if (!status && sp_operator_rows[problem->kind].has_stiffness)
    status = sp_null_space_create(space, p.constrained, &p.coefficients, &p.robin, &facts->exact,
                                  &facts->weak, &p.constants);
  if (!status) status = copy_constants(facts->exact, space, &p.constants);
  return make_system(&p, geometry, status, &facts->geometry_reason, out);
}

void sp_problem_facts_free(sp_problem_facts *facts) {
  SP_FREE(facts->boundary_values, facts->jump.of_part);
  sp_null_space_destroy(&facts->exact);
  sp_null_space_destroy(&facts->weak);
  *facts = (sp_problem_facts){0};
}

/* kappa = 0, one number per element. */
static sp_status remove_stiffness(const sp_mesh *mesh, sp_coefficients *c) {
  *c = (sp_coefficients){.by_element = true, .per_element = 1, .scale = 1};
  return sp_agree(mesh->comm,
                  sp_allocate((size_t)mesh->hexes->count, sizeof *c->kappa, "kappa", &c->kappa));
}

/* Stored factors: kernels that recompute them multiply lambda / kappa by kappa. */
sp_status sp_problem_mass(const sp_problem *problem, const sp_space *space, bool of_capacity,
                          sp_operator **out) {
  const sp_rule *rule = sp_operator_rule(problem->kind, space->numbering->order);
  parts p = {.space = space, .kind = problem->kind, .coefficients = {.scale = 1}};
  sp_status status = SP_OK;
  *out = NULL;
  if (of_capacity)
    status = sp_coefficients_of_capacity(problem, space->mesh, rule, &p.coefficients);
  else if (sp_operator_rows[problem->kind].has_stiffness)
    status = remove_stiffness(space->mesh, &p.coefficients);
  sp_operator_setup setup = setup_of(&p);
  setup.geometry = SP_GEOMETRY_STORED;
  if (!status) status = sp_operator_create(&setup, out);
  sp_coefficients_free(&p.coefficients);
  return status;
}

sp_status sp_problem_level(const sp_problem *problem, const sp_system *fine, int order,
                           sp_geometry_kind geometry, const sp_null_space *exact, sp_system **out) {
  const bool has_stiffness = sp_operator_rows[problem->kind].has_stiffness;
  parts p = {.kind = has_stiffness ? SP_BP35 : SP_MASS};
  const char *reason;
  *out = NULL;
  SP_TRY(sp_space_create(fine->space->platform, fine->space->mesh, order, &p.own_space));
  p.space = p.own_space;
  sp_status status = fill_parts(problem, fine, &p, NULL);
  free(p.boundary_values);
  if (!status) status = copy_constants(exact, p.space, &p.constants);
  return make_system(&p, geometry, status, &reason, out);
}
