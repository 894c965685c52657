#include "solver/run/postprocess.h"

#include <stdlib.h>

sp_status sp_postprocess_create(const sp_config *config, const sp_mesh *mesh, sp_profile *profile,
                                sp_postprocess **out) {
  const double start = MPI_Wtime();
  sp_postprocess *p = NULL;
  *out = NULL;
  SP_TRY(sp_agree(mesh->comm, sp_allocate(1, sizeof *p, "postprocessing", &p)));
  *out = p;
  p->config = config;
  p->mesh = mesh;
  SP_TRY(sp_probes_create(config, mesh, &p->probes));
  if (p->probes->all > 0) sp_profile_add(profile, SP_PHASE_PROBES, 0, MPI_Wtime() - start);
  return SP_OK;
}

void sp_postprocess_destroy(sp_postprocess **postprocess) {
  sp_postprocess *p = *postprocess;
  if (!p) return;
  sp_probes_destroy(&p->probes);
  sp_quantities_destroy(&p->quantities);
  sp_balance_free(&p->balance);
  SP_FREE(p->heat, p);
  *postprocess = NULL;
}

static bool has_balance(const sp_problem *problem) {
  return sp_operator_rows[problem->kind].has_stiffness;
}

sp_status sp_postprocess_prepare(sp_postprocess *postprocess, const sp_problem *problem) {
  const sp_mesh *mesh = postprocess->mesh;
  SP_TRY(sp_quantities_create(postprocess->config, mesh, problem, &postprocess->quantities));
  sp_status status = sp_balance_create(mesh, &postprocess->balance);
  const size_t materials = (size_t)postprocess->quantities->material_count;
  if (!status && materials > 0 && has_balance(problem))
    status = sp_allocate(materials, sizeof *postprocess->heat, "materials", &postprocess->heat);
  return sp_agree(mesh->comm, status);
}

static sp_status evaluate_probes(sp_probes *probes, const sp_solved *solved, sp_terminal *terminal,
                                 sp_profile *profile) {
  if (probes->all == 0) return SP_OK;
  const double start = sp_profile_begin(terminal, SP_PHASE_PROBES);
  SP_TRY(sp_probes_evaluate(probes, solved->problem, solved->op->space, solved->solution));
  sp_profile_end(profile, terminal, SP_PHASE_PROBES, start);
  return SP_OK;
}

/* ax = A x of the unconstrained operator, for the solution x. */
static sp_status apply_operator(const sp_solved *solved, double *ax) {
  sp_operator *op = solved->op;
  sp_vector *x = solved->scratch[0], *y = solved->scratch[1];
  SP_TRY(sp_agree(op->comm, sp_vector_write(solved->solution, x)));
  SP_TRY(sp_agree(op->comm, sp_operator_apply(op, false, x, y)));
  return sp_agree(op->comm, sp_vector_read(y, ax));
}

/* Only Dirichlet faces need A x. */
static sp_status compute_balance(sp_balance *balance, const sp_solved *solved) {
  double *scratch = solved->host[0], *ax = solved->host[1];
  if (solved->problem->has_dirichlet) SP_TRY(apply_operator(solved, ax));
  return sp_balance_compute(balance, solved->problem, solved->op->space, solved->solution, ax,
                            scratch);
}

static sp_status evaluate_results(sp_postprocess *p, const sp_solved *solved, sp_terminal *terminal,
                                  sp_profile *profile) {
  const double start = sp_profile_begin(terminal, SP_PHASE_RESULTS);
  if (has_balance(solved->problem)) SP_TRY(compute_balance(&p->balance, solved));
  SP_TRY(sp_quantities_evaluate(p->quantities, solved->problem, solved->op->space, &p->balance,
                                solved->solution));
  if (p->heat)
    SP_TRY(sp_heat_compute(solved->problem, solved->op->space, solved->solution, solved->host,
                           p->heat));
  sp_profile_end(profile, terminal, SP_PHASE_RESULTS, start);
  return SP_OK;
}

sp_status sp_postprocess_evaluate(sp_postprocess *postprocess, const sp_solved *solved,
                                  sp_terminal *terminal, sp_profile *profile) {
  SP_TRY(evaluate_probes(postprocess->probes, solved, terminal, profile));
  return evaluate_results(postprocess, solved, terminal, profile);
}

void sp_postprocess_report(const sp_postprocess *postprocess, const sp_problem *problem,
                           sp_report *report) {
  if (has_balance(problem)) sp_report_balance(report, problem, &postprocess->balance);
  sp_report_extrema(report, postprocess->quantities, postprocess->heat);
  sp_report_quantities(report, postprocess->quantities);
  const bool have_errors = sp_materials_have_solution(&problem->materials);
  sp_report_probes(report, postprocess->probes, have_errors);
  sp_report_lines(report, postprocess->probes, have_errors, has_balance(problem));
}
