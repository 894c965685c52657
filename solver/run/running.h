/* A case while it runs: its parts and the steps that the program (run.h) and the library
 * (library.c) take: set-up, then solves, each with its results and their report.
 *
 *     begin -> set_up -> solve -> measure -> evaluate -> report (run.h) -> destroy
 *
 * A report, which shows the facts so far, may be set at any time; sp_running_report_setup begins
 * it. The first two functions are Local, the others Collective over `comm`. */
#pragma once

#include "io/field_file.h"
#include "solver/report/report.h"
#include "solver/solve/march.h"

/* Results of a case; partial if it stopped early. */
typedef struct sp_results {
  int64_t elements, dofs;
  sp_cg_result cg;
  bool have_norms; /* the problem has a solution to compare with */
  sp_error_norms norms;
  sp_error_norms in_space; /* of the interpolated solution, for a series in time */
  sp_profile profile;
} sp_results;

/* Evaluated results; empty unless the case evaluates. */
typedef struct sp_running_values {
  sp_probes *probes;
  sp_quantities *quantities;
  sp_heat *heat;         /* [quantities->material_count], NULL for mass */
  sp_balance balance;    /* its load also without evaluation */
  double *rest;          /* the part of the solution below its rounding, if fluxes need it */
  sp_kept_error failure; /* of the first row in time with a result that is not finite */
} sp_running_values;

typedef struct sp_running_bars {
  double *indicator; /* [elements], or NULL */
  sp_accuracy accuracy;
  sp_kept_error failure; /* why there are none */
} sp_running_bars;

typedef struct sp_running_written {
  const char *field; /* the file that was written; NULL if none */
  int64_t states;    /* of a series in it */
  sp_level_time levels[SP_LEVELS_MOST];
  int level_count;
} sp_running_written;

/* State of a running case: first borrowed parts, then its own. */
typedef struct sp_running {
  const sp_workers *workers;
  const sp_config *config;
  const sp_mesh *mesh;
  sp_results *results;
  sp_report *report;              /* NULL for one of a series, and in the library while CG runs */
  sp_report *series;              /* shows progress in a series, and gets its notes; else NULL */
  const struct sp_running *given; /* a solved case at another order to start from, or NULL */
  /* Sees each iteration if there is no report; true ends the solve. NULL: none. */
  bool (*on_iteration)(void *context, const sp_cg_iteration *iteration);
  void *context;
  const double *arrays[SP_COEFFICIENTS]; /* of the problem; NULL: its formulas */
  bool evaluates;                        /* results besides the error norms */
  bool stopped;                          /* on_iteration has ended this solve */
  sp_phase phase;                        /* the current one; SP_PHASES: none */
  double phase_start;

  sp_problem *problem;
  sp_solver *solver;
  sp_march *march; /* NULL for a steady case */
  /* L-vectors on the host. */
  double *solution;
  double *initial;      /* problem.initial, if there is one; in time, and the solutions before it */
  sp_field_state state; /* of it, in time */
  double *last; /* the solution at which conditions that depend on u are linearized, else NULL */
  sp_running_values values;
  sp_note_facts notes;
  sp_running_bars bars;
  sp_running_written written;
} sp_running;

sp_running sp_running_begin(const sp_workers *workers, const sp_mesh *mesh, const sp_config *config,
                            sp_results *results);

/* End the current phase and begin the next one; SP_PHASES: none. */
void sp_running_enter(sp_running *c, sp_phase phase);

/* Check that coefficients may be arrays. Errors: SP_ERR_INPUT for mass, and for a case with an
 * exact solution. Local. */
sp_status sp_running_check_arrays(const sp_problem *problem);

/* Make probes, problem, solver, initial iterate and load. */
sp_status sp_running_set_up(sp_running *c);

/* Record and print the set-up, its notes, and begin the log: c->report is new. */
void sp_running_report_setup(sp_running *c);

/* Solve, from the initial iterate or the given solution, into c->solution. */
sp_status sp_running_solve(sp_running *c);

/* The same for a problem that depends on u, from `start`, [local DOFs] on the host; NULL: as the
 * conditions say. It stays linearized at c->last. */
sp_status sp_running_solve_nonlinear(sp_running *c, const double *start);

/* Find the sums of the load at the present time and state, after c->solver->sums has been NULL. */
sp_status sp_running_find_sums(sp_running *c);

/* ---- Time steps instead of one solve (solver/solve/march.h) ---- */

/* Step from c->initial to the end. Evaluate c->solution at the beginning, at the times of output
 * and at the end. Each time add a state to the field file, and a row to the record's table
 * "history": the time, the iterations since the previous row, and all answers. If c->initial is the
 * last state of a series, the steps continue there, and it is not written again. results->cg
 * belongs to the last stage, with the iterations of all stages. If CG does not converge or a signal
 * comes, the solution is the last complete step, with that status. */
sp_status sp_stepping_run(sp_running *c);

/* Make c->march, at c->initial. Errors: SP_ERR_INPUT if its time is no step of this case. */
sp_status sp_stepping_begin(sp_running *c);

/* Print the range of each answer over time. Local. */
void sp_stepping_report(const sp_running *c);

/* ---- Results ---- */

/* Measure the error norms of c->solution. */
sp_status sp_running_measure(sp_running *c);

/* Evaluate the probes, the balance and the results of c->solution; evaluate.c. */
sp_status sp_running_evaluate(sp_running *c);

/* Fill *answers with the evaluated results; the caller ends with sp_answers_free. */
sp_status sp_running_collect(const sp_running *c, sp_answers *answers);

/* Check that the evaluated balance closes. Errors: SP_ERR_NOT_CONVERGED. */
sp_status sp_running_check_balance(const sp_running *c);

/* The error of fluxes that the tolerance allows, relative to the heat that flows; 0 if unknown.
 * Local. */
double sp_running_flux_error(const sp_running *c);

/* The largest less the smallest value of u, evaluated. Local. */
double sp_running_range(const sp_running *c);

/* True if the fluxes of the problem have a balance: it is not mass. Local. */
bool sp_running_has_balance(const sp_running *c);

/* Estimate the error of each element, c->bars.indicator. */
sp_status sp_running_find_indicator(sp_running *c);

/* Write the field that [output] names for the status `solved` of CG, unless it names none, or the
 * case is one of a series. In time add another state, with the solutions before it for a restart.
 */
sp_status sp_running_write_field(sp_running *c, sp_status solved);

/* Release the data that the case owns. */
void sp_running_destroy(sp_running *c);
