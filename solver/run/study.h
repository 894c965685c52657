/* Convergence studies: one case solved on a series of orders, of refinements, of steps in time, or
 * of several of them.
 *
 *     sp_solve case.ini --study order=1:10
 *     sp_solve case.ini --study refine=0:3
 *     sp_solve case.ini --study step=0:3
 *     sp_solve case.ini --study order=1:4 --study refine=0:3
 *
 * With step=k the steps of a case in time are halved k times. With several ranges every combination
 * is solved, and rates are taken along steps or, without these, along refinements.
 *
 * The log of a study has no rows in /matvec and /residual. It has, with one row per run,
 *
 *     /study   order, refine, elements, dofs, iterations, L2, L2_rate, L2_expected, L2_floor, H1,
 *              H1_rate, H1_expected, H1_floor, seconds, matvec_share
 *
 * and along steps, after refine, step and dt, the length of a step.
 * NaN stands for a rate without a run before it, and for expectations along orders. Rates:
 * solver/results/rates.h. Without a solution the columns of L2 and H1 are missing, and /answers and
 * /limits (solver/report/report.h) judge the series of at least three runs. The root attribute
 * study_rate is the direction of rates, study_rule the rule by which they are judged. */
#pragma once

#include "solver/report/report.h"

typedef struct sp_study_range {
  bool given;
  int first, last; /* first < last */
} sp_study_range;

typedef struct sp_study {
  bool given; /* one of the ranges */
  sp_study_range along[SP_STUDY_AXES];
} sp_study;

/* Parse one argument of --study, "order=1:10", "refine=0:3" or "step=0:3", into *study. Errors:
 * SP_ERR_INPUT. Local. */
sp_status sp_study_parse(const char *text, sp_study *study);

/* Solve the series, print and log its table, and judge the rates. The mesh is read once and refined
 * from run to run. The solver's tolerance becomes at most 1e-13, and the limit of iterations grows
 * with it. Field and probes are not written. `profile` is as for sp_run. Errors: SP_ERR_INPUT for
 * fewer than three runs without a solution, and for steps of a case without equal steps;
 * SP_ERR_STUDY with the first step that falls short. Errors of a case end the series. Collective
 * over workers->all. */
sp_status sp_study_run(const sp_workers *workers, const sp_config *config, const sp_study *study,
                       const sp_profile *profile, sp_terminal *terminal);
