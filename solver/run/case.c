#include "solver/run/case.h"

#include <math.h>
#include <stdlib.h>

#include "operators/counts.h"
#include "operators/geometry_choice.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/interfaces.h"
#include "solver/problem/load.h"
#include "solver/problem/null_space.h"
#include "solver/problem/robin.h"
#include "solver/run/checkpoint.h"
#include "solver/run/field.h"
#include "solver/run/interrupt.h"
#include "solver/run/outputs.h"
#include "solver/run/postprocess.h"
#include "solver/run/precondition.h"
#include "solver/run/report_levels.h"
#include "solver/run/profile.h"
#include "solver/run/report.h"
#include "solver/run/vectors.h"

/* Everything that a case owns, so that there is one place that releases it, and in front what it
 * stands on. */
typedef struct sp_case {
  const sp_workers *workers;
  MPI_Comm comm; /* of the ranks with elements */
  const sp_config *config;
  const sp_mesh *mesh;
  const sp_platform *platform;
  sp_terminal *terminal; /* for the names of phases; NULL for one of a series */
  sp_terminal *series;   /* of one of a series; else NULL */
  sp_report *report;     /* NULL for one of a series */
  sp_outputs *outputs;   /* likewise */
  const char *field;     /* the file that was written, NULL if there is none */

  sp_postprocess *postprocess; /* NULL for one of a series */
  sp_space *space;
  sp_problem *problem;
  sp_jacobian_range range;
  sp_coefficients coefficients; /* until the preconditioner is built, as the Robin faces' part */
  sp_robin robin;
  sp_interface_jumps jumps;
  sp_null_space *null_space; /* NULL where Dirichlet data determine all means */
  bool singular;             /* nothing determines its means */
  sp_checkpoint *checkpoint; /* NULL without checkpoint and restart */
  sp_operator_setup setup;   /* of the operator; its arrays are those here */
  sp_operator *op;
  const char *geometry_reason, *preconditioner_reason;
  sp_precondition *precondition;     /* while it is created */
  sp_preconditioner *preconditioner; /* NULL for none */
  /* L-vectors on the host. `load` becomes the right-hand side; `work` is scratch. */
  bool *constrained;
  double *boundary_values, *load, *solution, *work;
  /* L-vectors on the device. */
  double *x, *b;
} sp_case;

static void free_coefficients(sp_case *c) {
  sp_coefficients_free(&c->coefficients);
  sp_robin_free(&c->robin);
}

static void release(sp_case *c) {
  c->platform->backend->vector_destroy(c->platform->device, &c->x);
  c->platform->backend->vector_destroy(c->platform->device, &c->b);
  sp_precondition_end(&c->precondition);
  sp_preconditioner_destroy(&c->preconditioner);
  sp_operator_destroy(&c->op);
  free_coefficients(c);
  free(c->constrained);
  free(c->boundary_values);
  free(c->load);
  free(c->solution);
  free(c->work);
  sp_checkpoint_destroy(&c->checkpoint);
  sp_null_space_destroy(&c->null_space);
  sp_problem_destroy(&c->problem);
  sp_space_destroy(&c->space);
  sp_postprocess_destroy(&c->postprocess);
}

static sp_status make_space(sp_case *c) {
  SP_TRY(sp_space_create(c->platform, c->mesh, c->config->discretization.order, &c->space));
  return sp_checkpoint_create(c->config, c->space, &c->checkpoint);
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

/* Constraints and load vector. */
static sp_status make_problem(sp_case *c) {
  SP_TRY(sp_problem_create(c->config, c->mesh, &c->problem));
  if (c->postprocess) SP_TRY(sp_postprocess_prepare(c->postprocess, c->problem));
  SP_TRY(sp_agree(c->comm, allocate_host_vectors(c)));
  const sp_rule *rule = sp_operator_rule(c->problem->kind, c->space->numbering->order);
  SP_TRY(sp_coefficients_create(&c->problem->materials, c->mesh, rule, &c->coefficients));
  SP_TRY(sp_problem_robin(c->problem, c->space, &c->robin));
  SP_TRY(sp_problem_constraints(c->problem, c->space, c->constrained, c->boundary_values));
  SP_TRY(sp_problem_load(c->problem, c->space, c->load, &c->range,
                         c->postprocess ? &c->postprocess->balance.sums : NULL));
  if (c->report) SP_TRY(sp_problem_jumps(c->problem, c->space, &c->jumps));
  if (!sp_operator_rows[c->problem->kind].has_stiffness) return SP_OK;
  SP_TRY(sp_null_space_create(c->space, c->constrained, &c->null_space));
  c->singular = c->null_space && sp_null_space_is_exact(&c->coefficients, &c->robin);
  if (!c->singular) return SP_OK;
  /* Data derived from a solution are compatible by the divergence theorem; what the quadrature
   * leaves over is part of the discretization error. */
  bool given = sp_materials_have_forcing(&c->problem->materials);
  for (int p = 0; p < c->problem->part_count; p++)
    given = given || c->problem->parts[p].formula != NULL;
  double imbalance, before, after;
  SP_TRY(sum_load(c, &before));
  SP_TRY(sp_null_space_project(c->null_space, c->space, given, c->load, &imbalance));
  SP_TRY(sum_load(c, &after));
  if (c->postprocess) c->postprocess->balance.removed = before - after;
  return SP_OK;
}

static sp_status choose_setup(sp_case *c) {
  c->setup = (sp_operator_setup){.space = c->space,
                                 .kind = c->problem->kind,
                                 .lambda = c->coefficients.scale,
                                 .constrained = c->constrained,
                                 .kappa = c->coefficients.kappa,
                                 .lambda_values = c->coefficients.lambda,
                                 .by_element = c->coefficients.by_element,
                                 .diagonal_count = c->robin.count,
                                 .diagonal_dofs = c->robin.dofs,
                                 .diagonal_values = c->robin.values};
  /* Stretch matters to a device alone, and one sweep is for CPUs. */
  const sp_precondition_facts facts = {.op = sp_geometry_facts_of(&c->setup),
                                       .backend = c->platform->backend,
                                       .elements = (double)c->mesh->global_elements};
  SP_TRY(sp_geometry_choose(facts.backend, &facts.op,
                            (sp_geometry_kind)c->config->discretization.geometry,
                            &c->setup.geometry, &c->geometry_reason));
  c->setup.one_sweep = sp_precondition_leaves_one_sweep(c->config, &facts, c->setup.geometry);
  return SP_OK;
}

/* Algebraic multigrid is set up beside the operator. */
static sp_status begin_preconditioner(sp_case *c) {
  SP_TRY(choose_setup(c));
  return sp_precondition_begin(c->config, c->problem, &c->setup, c->singular ? c->null_space : NULL,
                               &c->precondition, &c->preconditioner_reason);
}

static sp_status make_preconditioner(sp_case *c) {
  SP_TRY(sp_precondition_complete(c->precondition, c->op, &c->preconditioner));
  sp_precondition_end(&c->precondition);
  free_coefficients(c);
  return SP_OK;
}

/* Copies of L-vectors between host and device. Collective. */
static sp_status upload(const sp_case *c, const double *host, double *vector) {
  const sp_platform *p = c->platform;
  return sp_agree(c->comm,
                  p->backend->upload(p->device, SP_DOUBLE, sp_space_dofs(c->space), host, vector));
}

static sp_status download(const sp_case *c, const double *vector, double *host) {
  const sp_platform *p = c->platform;
  return sp_agree(
      c->comm, p->backend->download(p->device, SP_DOUBLE, sp_space_dofs(c->space), vector, host));
}

static sp_status create_vectors(sp_case *c) {
  const sp_platform *p = c->platform;
  const size_t dofs = sp_space_dofs(c->space);
  SP_TRY(sp_allocate(dofs, sizeof(double), "work vector", &c->work));
  SP_TRY(p->backend->vector_create(p->device, SP_DOUBLE, dofs, &c->x));
  return p->backend->vector_create(p->device, SP_DOUBLE, dofs, &c->b);
}

sp_bytes sp_case_predicted_bytes(const sp_backend *backend, double dofs, bool has_solution) {
  const sp_case *c = NULL;
  const sp_bytes vector = backend->vector_predicted_bytes(SP_DOUBLE, dofs); /* x, b */
  size_t host =
      sizeof *c->constrained + sizeof *c->boundary_values + sizeof *c->load + sizeof *c->work;
  if (has_solution) host += sizeof *c->solution;
  return (sp_bytes){dofs * (double)host + 2 * vector.host, 2 * vector.device};
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
  if (c->null_space && !c->singular)
    SP_TRY(sp_null_space_weigh(c->null_space, c->op, c->x, c->b, c->work));
  if (c->problem->has_dirichlet) {
    if (c->postprocess) {
      sp_balance *balance = &c->postprocess->balance;
      SP_TRY(sp_agree(c->comm, sp_balance_keep(balance, c->space, c->constrained, c->load)));
    }
    SP_TRY(upload(c, c->boundary_values, c->x));
    SP_TRY(sp_agree(c->comm, sp_operator_apply(c->op, false, c->x, c->b)));
    SP_TRY(download(c, c->b, c->work));
    SP_TRY(sp_agree(c->comm, sp_vectors_subtract_free(dofs, c->constrained, c->work, c->load)));
    SP_TRY(upload(c, c->solution, c->x)); /* zero */
  }
  SP_TRY(check_load(c));
  return upload(c, c->load, c->b);
}

static sp_status make_system(sp_case *c) {
  SP_TRY(sp_operator_create(&c->setup, &c->op));
  return lift(c);
}

/* Iterate, residual and, in `work`, direction of a checkpoint instead of those to begin with. */
static sp_status restart(sp_case *c, sp_profile *profile, sp_cg_progress *progress) {
  const double start = sp_profile_begin(c->terminal, SP_PHASE_CHECKPOINT);
  SP_TRY(sp_checkpoint_load(c->checkpoint, progress, c->solution, c->load, c->work));
  SP_TRY(upload(c, c->solution, c->x));
  SP_TRY(upload(c, c->load, c->b));
  sp_profile_end(profile, c->terminal, SP_PHASE_CHECKPOINT, start);
  if (c->report) sp_report_restart(c->report, progress);
  return SP_OK;
}

static sp_status on_iteration(const sp_cg_iteration *iteration, void *context) {
  const sp_case *c = context;
  if (c->report) return sp_report_iteration(iteration, c->report);
  sp_terminal_progress(c->series, "  order %d, refine %d: iteration %lld, relative residual %.1e",
                       c->config->discretization.order, c->config->mesh.refine,
                       (long long)iteration->iteration, iteration->relative);
  return SP_OK;
}

static sp_cg_request request(void *context) {
  const sp_case *c = context;
  if (sp_interrupt_noted() || sp_workers_interrupted(c->workers)) return SP_CG_STOP;
  return sp_checkpoint_is_due(c->checkpoint) ? SP_CG_SAVE : SP_CG_CONTINUE;
}

/* A checkpoint that cannot be written does not end the solve: there may be room for the next one,
 * and if the last one fails, that is the run's error. */
static sp_status save(const sp_cg_progress *progress, const sp_cg_vectors *vectors, void *context) {
  const sp_case *c = context;
  (void)sp_profile_begin(c->terminal, SP_PHASE_CHECKPOINT); /* CG takes the time */
  (void)sp_checkpoint_save(c->checkpoint, c->op, progress, vectors);
  return SP_OK;
}

/* Whether there is a solution to look at. */
static bool has_results(sp_status status) {
  return !status || status == SP_ERR_NOT_CONVERGED || status == SP_ERR_INTERRUPTED;
}

/* The means that the residual says little or nothing about. */
static sp_status set_means(sp_case *c) {
  if (c->singular)
    return sp_null_space_match_means(c->null_space, c->problem, c->space, c->solution);
  double *residual = c->work;
  SP_TRY(download(c, c->b, residual)); /* CG has overwritten b with it */
  return sp_null_space_correct_means(c->null_space, c->space, residual, c->solution);
}

/* The whole solution on the host. */
static sp_status fetch_solution(sp_case *c) {
  const size_t dofs = sp_space_dofs(c->space);
  SP_TRY(download(c, c->x, c->solution));
  SP_TRY(sp_agree(c->comm, sp_vectors_add(dofs, c->boundary_values, c->solution)));
  return c->null_space ? set_means(c) : SP_OK;
}

/* The iteration and its solution, also if it is not converged. */
static sp_status iterate(sp_case *c, sp_results *results) {
  const bool restarts = sp_checkpoint_restarts(c->checkpoint);
  const char *checkpoint = c->config->output.checkpoint;
  sp_cg_result *result = &results->cg;
  sp_cg_progress start;
  if (restarts) SP_TRY(restart(c, &results->profile, &start));
  const sp_cg_options options = {.tolerance = c->config->solver.tolerance,
                                 .max_iterations = c->config->solver.max_iterations,
                                 .on_iteration = on_iteration,
                                 .request = request,
                                 .save = checkpoint[0] ? save : NULL,
                                 .context = c,
                                 .start = restarts ? &start : NULL,
                                 .start_p = c->work};
  if (c->report) sp_report_begin(c->report, &results->profile);
  sp_interrupt_watch();
  double begun = sp_profile_begin(c->terminal, SP_PHASE_SOLVE);
  sp_status solved = sp_cg_solve(c->op, c->preconditioner, &options, c->b, c->x, result);
  sp_profile_add_iteration(&results->profile, result, MPI_Wtime() - begun);
  if (solved == SP_ERR_INTERRUPTED && checkpoint[0] && !sp_checkpoint_last_save(c->checkpoint))
    solved = sp_fail(solved, "%s; continue with output.restart=%s", sp_error_message(), checkpoint);
  if (!has_results(solved)) return solved;
  begun = sp_profile_begin(c->terminal, SP_PHASE_SOLUTION);
  SP_TRY(fetch_solution(c));
  sp_profile_end(&results->profile, c->terminal, SP_PHASE_SOLUTION, begun);
  return solved;
}

/* From the space to what CG needs. */
static sp_status set_up(sp_case *c, sp_profile *profile) {
  static const struct {
    sp_phase phase;
    sp_status (*make)(sp_case *c);
  } steps[] = {{SP_PHASE_NUMBERING, make_space},
               {SP_PHASE_PROBLEM, make_problem},
               {SP_PHASE_PRECONDITIONER, begin_preconditioner},
               {SP_PHASE_OPERATOR, make_system},
               {SP_PHASE_PRECONDITIONER, make_preconditioner}};
  for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
    const double start = sp_profile_begin(c->terminal, steps[s].phase);
    SP_TRY(steps[s].make(c));
    sp_profile_end(profile, c->terminal, steps[s].phase, start);
  }
  return SP_OK;
}

static sp_status measure_errors(sp_case *c, sp_results *results) {
  results->have_norms = sp_materials_have_solution(&c->problem->materials);
  if (!results->have_norms) return SP_OK;
  const double start = sp_profile_begin(c->terminal, SP_PHASE_ERRORS);
  SP_TRY(sp_errors_compute(c->problem, c->space, c->solution, &results->norms));
  sp_profile_end(&results->profile, c->terminal, SP_PHASE_ERRORS, start);
  return SP_OK;
}

/* From the mesh to the error norms, which are computed converged or not. */
static sp_status solve(sp_case *c, sp_results *results) {
  SP_TRY(set_up(c, &results->profile));
  if (c->report)
    SP_TRY(sp_report_setup(c->report, c->op, c->geometry_reason, c->preconditioner,
                           c->preconditioner_reason, c->problem, &c->range));
  if (c->report) sp_report_jumps(c->report, &c->jumps);
  if (c->report && c->null_space && !c->singular)
    sp_report_magnification(c->report, c->null_space->magnification);
  results->elements = c->mesh->global_elements;
  results->dofs = c->op->global_dofs;
  const sp_status solved = iterate(c, results);
  if (!has_results(solved)) return solved;
  sp_kept_error kept;
  sp_error_keep(solved, &kept);
  SP_TRY(measure_errors(c, results));
  return sp_error_restore(&kept);
}

/* A solution that has not converged does not take the place of one that has. */
static sp_status write_field(sp_case *c, sp_status solved, sp_profile *profile) {
  const char *path = c->config->output.field;
  double seconds;
  if (solved) SP_TRY(sp_outputs_unconverged_field(c->outputs, &path));
  SP_TRY(sp_field_write(path, c->problem, c->space, c->config->output.flux, c->solution, &seconds));
  sp_profile_add(profile, SP_PHASE_WRITING, 1, seconds);
  c->field = path;
  sp_report_field(c->report, path);
  return SP_OK;
}

/* Overwrites all L-vectors but the solution: nobody needs them any more. */
static sp_status postprocess(sp_case *c, sp_profile *profile) {
  const sp_solved solved = {.problem = c->problem,
                            .op = c->op,
                            .solution = c->solution,
                            .host = {c->load, c->work},
                            .device = {c->x, c->b}};
  return sp_postprocess_evaluate(c->postprocess, &solved, c->terminal, profile);
}

/* The table of the preconditioner's levels. */
static sp_status time_levels(sp_case *c, sp_profile *profile, int *count, sp_level_time *times) {
  sp_preconditioner *p = c->preconditioner;
  const double start = sp_profile_begin(c->terminal, SP_PHASE_LOG);
  *count = 0;
  if (p && p->time_levels) SP_TRY(p->time_levels(p, times, count));
  sp_profile_end(profile, c->terminal, SP_PHASE_LOG, start);
  return SP_OK;
}

/* The field and the tables, converged or not (`solved`); a field or a checkpoint that fails cannot
 * lose the tables, nor can a result that is not finite. */
static sp_status write_results(sp_case *c, sp_status solved, sp_results *results) {
  sp_status written = SP_OK;
  sp_level_time levels[SP_LEVELS_MOST];
  int level_count;
  SP_TRY(time_levels(c, &results->profile, &level_count, levels));
  if (c->config->output.field[0]) {
    const double start = sp_profile_begin(c->terminal, SP_PHASE_FIELD);
    written = write_field(c, solved, &results->profile);
    sp_profile_end(&results->profile, c->terminal, SP_PHASE_FIELD, start);
  }
  if (!written) written = sp_checkpoint_last_save(c->checkpoint);
  sp_kept_error kept;
  sp_error_keep(written, &kept);
  SP_TRY(postprocess(c, &results->profile));
  SP_TRY(sp_report_results(c->report, &results->profile, &results->cg,
                           results->have_norms ? &results->norms : NULL));
  sp_report_levels(c->report, c->terminal, results->cg.iterations - results->cg.first, level_count,
                   levels);
  sp_postprocess_report(c->postprocess, c->problem, c->report, c->terminal);
  return written ? sp_error_restore(&kept) : sp_quantities_check_finite(c->postprocess->quantities);
}

static sp_case begin(const sp_case_base *base, const sp_config *config, sp_report *report) {
  return (sp_case){.workers = base->workers,
                   .comm = base->comm,
                   .config = config,
                   .mesh = base->mesh,
                   .platform = base->platform,
                   .report = report};
}

sp_status sp_case_solve(const sp_case_base *base, const sp_config *config, sp_terminal *terminal,
                        sp_results *results) {
  sp_case c = begin(base, config, NULL);
  c.series = terminal;
  *results = (sp_results){.profile = sp_profile_from_now()};
  const sp_status status = solve(&c, results);
  release(&c);
  return status;
}

/* The whole flow of one case, with its log open. */
static sp_status run(const sp_workers *workers, const sp_config *config, sp_report *report,
                     sp_outputs *outputs, sp_terminal *terminal, sp_results *results) {
  sp_case_base base;
  SP_TRY(sp_case_base_create(workers, config, &results->profile, terminal, &base));
  sp_case c = begin(&base, config, report);
  c.outputs = outputs;
  c.terminal = terminal;
  sp_status status = sp_postprocess_create(config, base.mesh, &results->profile, &c.postprocess);
  if (!status) status = solve(&c, results);
  if (has_results(status)) {
    sp_kept_error kept;
    sp_error_keep(status, &kept);
    const sp_status written = write_results(&c, status, results);
    status = written ? written : sp_error_restore(&kept);
    if (status && !written && c.field)
      status = sp_fail(status, "%s; its field is %s", sp_error_message(), c.field);
  }
  release(&c);
  sp_case_base_destroy(&base);
  return status;
}

/* On the ranks with elements. */
static sp_status run_reported(const sp_workers *workers, const sp_config *config,
                              sp_terminal *terminal, sp_results *results) {
  sp_report *report;
  sp_outputs *outputs;
  const double start = MPI_Wtime();
  SP_TRY(sp_outputs_open(workers->comm, config, &outputs));
  sp_status status = sp_report_open(workers, config, terminal, &report);
  if (!status) {
    sp_outputs_print_notes(outputs, terminal);
    status = sp_checkpoint_check(workers->comm, config);
    sp_profile_add(&results->profile, SP_PHASE_CASE, 0, MPI_Wtime() - start);
  }
  if (!status) status = run(workers, config, report, outputs, terminal, results);
  status = sp_report_finish(report, status);
  sp_report_close(&report);
  sp_outputs_close(&outputs);
  return status;
}

sp_status sp_case_run_on(const sp_workers *workers, const sp_config *config,
                         const sp_profile *profile, sp_terminal *terminal, sp_results *results) {
  const sp_workers *w = workers;
  *results = (sp_results){.profile = *profile};
  const sp_status status =
      sp_workers_meet(w, w->works ? run_reported(w, config, terminal, results) : SP_OK);
  sp_results leaders = *results;
  if (w->count < w->ranks) MPI_Bcast(&leaders, (int)sizeof leaders, MPI_BYTE, w->leader, w->all);
  if (!w->works) *results = leaders;
  return status;
}

sp_status sp_case_run(MPI_Comm comm, const sp_config *config, const sp_profile *profile,
                      sp_terminal *terminal, sp_results *results) {
  sp_workers workers;
  sp_profile begun = *profile;
  const double start = sp_profile_begin(terminal, SP_PHASE_DEVICE);
  sp_status status = sp_workers_open(comm, config, &workers);
  sp_profile_end(&begun, NULL, SP_PHASE_DEVICE, start); /* no line before the heading */
  *results = (sp_results){.profile = begun};
  if (!status) status = sp_case_run_on(&workers, config, &begun, terminal, results);
  sp_workers_close(&workers);
  return status;
}
