#include <math.h>
#include <stdlib.h>

#include "solver/run/library.h"

/* ---- Solves ---- */

/* Check the array for a solution, NULL on all ranks to get none. */
static sp_status check_output(const sp_case *c, const char *function, size_t count, const double *u,
                              bool *wanted) {
  *wanted = u;
  MPI_Allreduce(MPI_IN_PLACE, wanted, 1, MPI_C_BOOL, MPI_LOR, c->comm);
  if (!*wanted) return SP_OK;
  return sp_library_check(function, sp_space_dofs(c->run->solver->space), count, u);
}

static void fill_facts(const sp_case *c, sp_case_solution *solution) {
  const sp_cg_result *cg = &c->results.cg;
  if (solution)
    *solution = (sp_case_solution){.iterations = cg->iterations,
                                   .error = cg->error,
                                   .residual = cg->relative,
                                   .seconds = cg->seconds};
}

static sp_status solve_linear(sp_case *c) {
  sp_solver *s = c->run->solver;
  const sp_vector *given = c->is_set[SP_CASE_INITIAL] ? &c->arrays[SP_CASE_INITIAL] : &c->initial;
  SP_TRY(sp_library_load(c));
  if (given->data) {
    SP_TRY(sp_agree(c->comm, sp_vector_multiply(&s->free, given, &c->in)));
    SP_TRY(sp_solver_start(s, &c->in));
  } else {
    SP_TRY(sp_solver_start(s, NULL));
  }
  return sp_solver_iterate(s, &c->results.cg);
}

/* Each solve begins as the first one does, even from the system of an earlier solve. */
static sp_status solve_nonlinear(sp_case *c) {
  sp_running *run = c->run;
  const double *start = run->initial;
  SP_OWNED double *given = NULL;
  if (c->is_set[SP_CASE_INITIAL]) {
    sp_status status =
        sp_allocate(sp_space_dofs(run->solver->space), sizeof *given, "initial iterate", &given);
    if (!status) status = sp_vector_read(&c->arrays[SP_CASE_INITIAL], given);
    SP_TRY(sp_agree(c->comm, status));
    start = given;
  }
  SP_TRY(sp_library_take_data(c));
  SP_TRY(sp_library_extend_problem(c));
  if (!start && (run->last || run->problem->extra)) SP_TRY(sp_library_begin(c));
  return sp_running_solve_nonlinear(run, start);
}

static sp_status solve(sp_case *c, size_t count, double *u, bool wanted) {
  c->status = c->run->problem->of_u ? solve_nonlinear(c) : solve_linear(c);
  sp_error_keep(c->status, &c->outcome);
  if (!sp_solver_has_solution(c->status)) return c->status;
  c->solved = true;
  if (wanted) {
    SP_TRY(sp_solver_copy(c->run->solver, &c->in));
    SP_TRY(sp_library_give_array(c, count, NULL, &c->in, u));
  }
  return sp_error_restore(&c->outcome);
}

int sp_case_solve(sp_case *c, size_t count, double *u, sp_case_solution *solution) {
  if (!c) return sp_library_fail("sp_case_solve", "no case, it is NULL");
  bool wanted;
  sp_status status = check_output(c, "sp_case_solve", count, u, &wanted);
  if (!status && sp_library_in_time(c))
    status = sp_fail(SP_ERR_INPUT, "sp_case_solve: the case has time.end; call sp_case_step");
  status = sp_agree(c->comm, status);
  if (!status) status = sp_library_renew(c);
  if (status) return sp_library_code(status);
  c->results.cg = (sp_cg_result){0};
  status = solve(c, count, u, wanted);
  fill_facts(c, solution);
  return sp_library_code(status);
}

/* ---- Steps in time ---- */

/* run->initial = the array, or problem.initial. */
static sp_status read_initial(sp_case *c) {
  const sp_vector *given = c->is_set[SP_CASE_INITIAL] ? &c->arrays[SP_CASE_INITIAL] : &c->initial;
  return sp_agree(c->comm, sp_vector_read(given, c->run->initial));
}

static sp_status begin_march(sp_case *c) {
  sp_running *run = c->run;
  if (c->is_set[SP_CASE_INITIAL]) {
    run->state = (sp_field_state){0};
    SP_TRY(read_initial(c));
  }
  const sp_status status = sp_stepping_begin(run);
  if (!status) return SP_OK;
  sp_march_destroy(&run->march);
  sp_materials_shift(&run->problem->materials, sp_time_first_shift(&run->config->time));
  return status;
}

static sp_status take_step(sp_case *c, double dt) {
  static const double ROUNDING = 1e-9; /* of a step */
  sp_running *run = c->run;
  int64_t iterations = 0;
  SP_TRY(sp_library_take_data(c));
  if (!run->march) SP_TRY(begin_march(c));
  if (dt == 0 && run->config->time.tolerance == 0) dt = sp_time_step(&run->config->time);
  if (dt > 0 && fabs(dt - sp_march_length(run->march)) > ROUNDING * dt)
    SP_TRY(sp_march_restart(run->march, sp_march_time(run->march), dt, NULL));
  sp_march_add_load(run->march, c->added.data ? &c->added : NULL);
  const sp_status status = sp_march_step(run->march, &iterations, &c->results.cg);
  c->results.cg.iterations = iterations;
  c->solved = !status;
  return status;
}

/* Check a call of a function for cases in time, and make its coefficients count. */
static sp_status enter_time(sp_case *c, const char *function, sp_status status) {
  if (!status && !sp_library_in_time(c))
    status = sp_fail(SP_ERR_INPUT, "%s: the case is steady, without time.end", function);
  SP_TRY(sp_agree(c->comm, status));
  return sp_library_renew(c);
}

int sp_case_step(sp_case *c, double dt, size_t count, double *u, sp_case_solution *solution) {
  if (!c) return sp_library_fail("sp_case_step", "no case, it is NULL");
  bool wanted;
  sp_status status = check_output(c, "sp_case_step", count, u, &wanted);
  if (!status && !(dt >= 0 && isfinite(dt)))
    status = sp_fail(SP_ERR_INPUT, "sp_case_step: expected a step dt > 0, or 0; dt is %g", dt);
  status = enter_time(c, "sp_case_step", status);
  if (status) return sp_library_code(status);
  c->results.cg = (sp_cg_result){0};
  c->status = status = take_step(c, dt);
  sp_error_keep(status, &c->outcome);
  if (!status && wanted)
    status = sp_library_give_array(c, count, NULL, sp_march_solution(c->run->march), u);
  fill_facts(c, solution);
  return sp_library_code(status);
}

int sp_case_restart(sp_case *c, double time) {
  if (!c) return sp_library_fail("sp_case_restart", "no case, it is NULL");
  sp_status status = SP_OK;
  if (!isfinite(time))
    status = sp_fail(SP_ERR_INPUT, "sp_case_restart: expected a finite time, not %g", time);
  status = enter_time(c, "sp_case_restart", status);
  if (!status) sp_library_forget(c);
  if (!status && !c->run->march) status = begin_march(c);
  if (!status) status = read_initial(c);
  if (!status)
    status =
        sp_march_restart(c->run->march, time, sp_time_step(&c->run->config->time), c->run->initial);
  return sp_library_code(status);
}

int sp_case_get_time(const sp_case *c, sp_case_time *time) {
  if (!c || !time) return sp_library_fail("sp_case_get_time", "an argument is NULL");
  if (!sp_library_in_time(c))
    return sp_library_fail("sp_case_get_time", "the case is steady, without time.end");
  const sp_running *run = c->run;
  const sp_time_options *options = &run->config->time;
  *time = (sp_case_time){.time = c->is_set[SP_CASE_INITIAL] ? 0 : run->state.time,
                         .step = sp_time_step(options),
                         .end = options->end};
  if (run->march) time->time = sp_march_time(run->march);
  if (run->march && options->tolerance > 0) time->step = sp_march_length(run->march);
  return SP_CASE_OK;
}
