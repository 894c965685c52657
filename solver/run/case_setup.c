#include "solver/run/case_setup.h"

#include <stdlib.h>

#include "operators/counts.h"
#include "operators/geometry_choice.h"
#include "solver/linear/start.h"
#include "solver/problem/contacts.h"
#include "solver/problem/load.h"
#include "solver/run/case.h"
#include "solver/run/initial.h"
#include "solver/run/vectors.h"

static void free_coefficients(sp_case *c) {
  sp_coefficients_free(&c->coefficients);
  sp_robin_free(&c->robin);
}

void sp_case_release(sp_case *c) {
  c->platform->backend->vector_destroy(c->platform->device, &c->x);
  c->platform->backend->vector_destroy(c->platform->device, &c->b);
  c->platform->backend->vector_destroy(c->platform->device, &c->r);
  sp_precondition_end(&c->creation);
  sp_preconditioner_destroy(&c->preconditioner);
  sp_operator_destroy(&c->op);
  free_coefficients(c);
  free(c->unconverged);
  free(c->constrained);
  free(c->boundary_values);
  free(c->load);
  free(c->solution);
  free(c->work);
  sp_null_space_destroy(&c->null_space);
  sp_null_space_destroy(&c->weak);
  sp_problem_destroy(&c->problem);
  sp_space_destroy(&c->space);
  sp_postprocess_destroy(&c->postprocess);
}

static sp_status make_space(sp_case *c) {
  return sp_space_create(c->platform, c->mesh, c->config->discretization.order, &c->space);
}

static sp_status allocate_host_vectors(sp_case *c) {
  const size_t dofs = sp_space_dofs(c->space);
  SP_TRY(sp_allocate(dofs, sizeof(bool), "Dirichlet mask", &c->constrained));
  SP_TRY(sp_allocate(dofs, sizeof(double), "Dirichlet values", &c->boundary_values));
  SP_TRY(sp_allocate(dofs, sizeof(double), "load vector", &c->load));
  return sp_allocate(dofs, sizeof(double), "solution", &c->solution);
}

/* The sum of the load vector over all ranks. */
static sp_status sum_load(const sp_case *c, double *sum) {
  *sum = 0;
  for (sp_lid i = 0; i < c->space->numbering->owned; i++) *sum += c->load[i];
  return sp_reduction_sum(c->platform->reduction, 1, sum, SP_OK);
}

/* Conditions, coefficients and constraints, and what they leave undetermined. */
static sp_status make_problem(sp_case *c) {
  SP_TRY(sp_problem_create(c->config, c->mesh, &c->problem));
  if (c->postprocess) SP_TRY(sp_postprocess_prepare(c->postprocess, c->problem));
  SP_TRY(sp_agree(c->comm, allocate_host_vectors(c)));
  const sp_rule *rule = sp_operator_rule(c->problem->kind, c->space->numbering->order);
  SP_TRY(sp_coefficients_create(&c->problem->materials, c->mesh, rule, &c->coefficients));
  SP_TRY(sp_problem_robin(c->problem, c->space, &c->robin));
  SP_TRY(sp_problem_constraints(c->problem, c->space, c->constrained, c->boundary_values));
  if (!sp_operator_rows[c->problem->kind].has_stiffness) return SP_OK;
  SP_TRY(sp_null_space_create(c->space, c->constrained, &c->coefficients, &c->robin, &c->null_space,
                              &c->weak, &c->notes.parts));
  if (!c->report || c->notes.parts == 1) return SP_OK;
  return sp_problem_count_contacts(c->problem, c->mesh, &c->notes.contacts);
}

static sp_status make_load(sp_case *c) {
  SP_TRY(sp_problem_load(c->problem, c->space, c->load, &c->range,
                         c->postprocess ? &c->postprocess->balance.sums : NULL));
  if (c->report) SP_TRY(sp_problem_jumps(c->problem, c->space, &c->jumps));
  if (!c->null_space) return SP_OK;
  double imbalance, before, after;
  SP_TRY(sum_load(c, &before));
  SP_TRY(sp_null_space_project(c->null_space, c->problem, c->space, c->load, &imbalance));
  SP_TRY(sum_load(c, &after));
  if (c->postprocess) c->postprocess->balance.removed = before - after;
  return SP_OK;
}

/* The operator's, without what depends on the preconditioner. */
static sp_operator_setup setup_of(const sp_case *c) {
  return (sp_operator_setup){.space = c->space,
                             .kind = c->problem->kind,
                             .lambda = c->coefficients.scale,
                             .constrained = c->constrained,
                             .kappa = c->coefficients.kappa,
                             .lambda_values = c->coefficients.lambda,
                             .by_element = c->coefficients.by_element,
                             .diagonal_count = c->robin.count,
                             .diagonal_dofs = c->robin.dofs,
                             .diagonal_values = c->robin.values};
}

static sp_status begin_creation(sp_case *c) {
  const double magnification = c->weak ? c->weak->magnification : 0;
  return sp_precondition_begin(c->config, c->problem, &c->facts, &c->setup, c->null_space,
                               magnification, &c->creation, &c->preconditioner_reason);
}

/* Algebraic multigrid is set up beside load vector and operator, unless the operator has to say
 * first how well it determines the mean. */
static sp_status begin_preconditioner(sp_case *c) {
  sp_operator_setup *setup = &c->setup;
  *setup = setup_of(c);
  const sp_geometry_facts of_op = sp_geometry_facts_of(setup);
  SP_TRY(sp_geometry_choose(c->platform->backend, &of_op, c->config->discretization.geometry,
                            &setup->geometry, &c->geometry_reason));
  SP_TRY(sp_precondition_facts_find(&of_op, c->platform->backend, c->mesh,
                                    (double)c->mesh->global_elements, &c->facts));
  setup->for_level = sp_precondition_is_multigrid(c->config, &c->facts);
  setup->one_sweep = sp_precondition_leaves_one_sweep(c->config, &c->facts, setup->geometry);
  return c->weak ? SP_OK : begin_creation(c);
}

static sp_status make_preconditioner(sp_case *c) {
  if (!c->creation) SP_TRY(begin_creation(c));
  SP_TRY(sp_precondition_complete(c->creation, c->op, &c->preconditioner));
  sp_precondition_end(&c->creation);
  return SP_OK;
}

sp_status sp_case_upload(const sp_case *c, const double *host, double *vector) {
  const sp_platform *p = c->platform;
  return sp_agree(c->comm,
                  p->backend->upload(p->device, SP_DOUBLE, sp_space_dofs(c->space), host, vector));
}

sp_status sp_case_download(const sp_case *c, const double *vector, double *host) {
  const sp_platform *p = c->platform;
  return sp_agree(
      c->comm, p->backend->download(p->device, SP_DOUBLE, sp_space_dofs(c->space), vector, host));
}

static sp_status create_vectors(sp_case *c) {
  const sp_platform *p = c->platform;
  const size_t dofs = sp_space_dofs(c->space);
  SP_TRY(sp_allocate(dofs, sizeof(double), "work vector", &c->work));
  SP_TRY(p->backend->vector_create(p->device, SP_DOUBLE, dofs, &c->x));
  SP_TRY(p->backend->vector_create(p->device, SP_DOUBLE, dofs, &c->b));
  return p->backend->vector_create(p->device, SP_DOUBLE, dofs, &c->r);
}

/* CG squares its vectors: keep r.r and p.Ap far from underflow, where a residual looks like zero,
 * and from overflow. */
static sp_status check_load(sp_case *c) {
  const double smallest = 1e-140, largest = 1e140;
  double size;
  SP_TRY(sp_agree(c->comm, sp_vectors_largest((size_t)c->op->owned, c->load, &size)));
  MPI_Allreduce(MPI_IN_PLACE, &size, 1, MPI_DOUBLE, MPI_MAX, c->comm);
  if (size == 0 || (size * c->config->solver.tolerance > smallest && size < largest)) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "the right-hand side has entries of up to %.3g; its squares would leave the range "
                 "of double precision: give the data in other units, so that this lies between "
                 "%.0e / solver.tolerance and %.0e",
                 size, smallest, largest);
}

/* b = load - A u_D on free DOFs, where u_D has the Dirichlet values and is zero elsewhere. */
static sp_status lift(sp_case *c) {
  const size_t dofs = sp_space_dofs(c->space);
  SP_TRY(sp_agree(c->comm, create_vectors(c)));
  if (c->weak) SP_TRY(sp_null_space_weigh(c->weak, c->op, c->x, c->b, c->work));
  if (c->problem->has_dirichlet) {
    if (c->postprocess) {
      sp_balance *balance = &c->postprocess->balance;
      SP_TRY(sp_agree(c->comm, sp_balance_keep(balance, c->space, c->constrained, c->load)));
    }
    SP_TRY(sp_case_upload(c, c->boundary_values, c->x));
    SP_TRY(sp_agree(c->comm, sp_operator_apply(c->op, false, c->x, c->b)));
    SP_TRY(sp_case_download(c, c->b, c->work));
    SP_TRY(sp_agree(c->comm,
                    sp_vectors_subtract_unconstrained(dofs, c->constrained, c->work, c->load)));
    SP_TRY(sp_case_upload(c, c->solution, c->x)); /* zero */
  }
  SP_TRY(check_load(c));
  return sp_case_upload(c, c->load, c->b);
}

static sp_status make_system(sp_case *c) {
  SP_TRY(sp_operator_create(&c->setup, &c->op));
  return lift(c);
}

/* True if lambda or alpha may rule a row of A. Collective. */
static bool may_be_stiff(const sp_case *c) {
  bool stiff = c->coefficients.largest_lambda > 0 || c->robin.count > 0;
  MPI_Allreduce(MPI_IN_PLACE, &stiff, 1, MPI_C_BOOL, MPI_LOR, c->comm);
  return stiff && sp_operator_rows[c->problem->kind].has_stiffness;
}

/* The diagonal of A on the device, if a row may be stiff: Jacobi's, or a new one. */
static sp_status find_diagonal(sp_case *c, double **created, const double **diagonal) {
  const sp_platform *p = c->platform;
  *created = NULL;
  *diagonal = NULL;
  if (!may_be_stiff(c)) return SP_OK;
  *diagonal = c->preconditioner ? c->preconditioner->inverse_diagonal : NULL;
  if (*diagonal) return SP_OK;
  SP_TRY(sp_operator_inverse_diagonal(&c->setup, c->work));
  const size_t dofs = sp_space_dofs(c->space);
  SP_TRY(sp_agree(c->comm, p->backend->vector_create(p->device, SP_DOUBLE, dofs, created)));
  *diagonal = *created;
  return sp_case_upload(c, c->work, *created);
}

static sp_status find_start(sp_case *c, const sp_parts *parts, double *scratch) {
  double *created;
  const double *diagonal;
  sp_status status = find_diagonal(c, &created, &diagonal);
  if (!status)
    status = sp_start_find(c->op, parts, c->constrained, diagonal, c->b, c->x, c->r, scratch,
                           c->work, &c->weight);
  c->platform->backend->vector_destroy(c->platform->device, &created);
  return status;
}

/* Start from problem.initial instead of c->x, which becomes the scale of what CG still adds. */
static sp_status use_initial(sp_case *c, double *given) {
  const sp_platform *p = c->platform;
  const size_t dofs = sp_space_dofs(c->space);
  SP_TRY(sp_initial_load(c->config, c->space, c->work));
  for (size_t i = 0; i < dofs; i++)
    if (c->constrained[i]) c->work[i] = 0;
  SP_TRY(sp_case_upload(c, c->work, given));
  SP_TRY(sp_start_energy(c->op, given, c->x, c->r, &c->start_energy));
  return sp_agree(c->comm, p->backend->copy(p->device, SP_DOUBLE, dofs, given, c->x));
}

/* The initial iterate. */
static sp_status make_start(sp_case *c) {
  const sp_platform *p = c->platform;
  const size_t dofs = sp_space_dofs(c->space);
  double *scratch = NULL;
  sp_parts parts;
  SP_TRY(sp_parts_create(c->space, c->null_space ? c->null_space->of_dof : NULL, &parts));
  sp_status status =
      sp_agree(c->comm, p->backend->vector_create(p->device, SP_DOUBLE, dofs, &scratch));
  if (!status) status = find_start(c, &parts, scratch);
  if (!status && c->config->problem.initial.text) status = use_initial(c, scratch);
  p->backend->vector_destroy(p->device, &scratch);
  sp_parts_free(&parts);
  free_coefficients(c);
  return status;
}

sp_status sp_case_set_up(sp_case *c, sp_profile *profile) {
  static const struct {
    sp_phase phase;
    sp_status (*make)(sp_case *c);
  } steps[] = {{SP_PHASE_NUMBERING, make_space},
               {SP_PHASE_PROBLEM, make_problem},
               {SP_PHASE_PRECONDITIONER, begin_preconditioner},
               {SP_PHASE_PROBLEM, make_load},
               {SP_PHASE_OPERATOR, make_system},
               {SP_PHASE_PRECONDITIONER, make_preconditioner},
               {SP_PHASE_OPERATOR, make_start}};
  for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
    const double start = sp_profile_begin(c->terminal, steps[s].phase);
    SP_TRY(steps[s].make(c));
    sp_profile_end(profile, c->terminal, steps[s].phase, start);
  }
  return SP_OK;
}
