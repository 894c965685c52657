/* Tables of answers (solver/results/answers.h): of a series of runs, and with error bars. */
#pragma once

#include "solver/report/report.h"
#include "solver/results/answers.h"
#include "solver/results/rates.h"

/* Print and record the answers of at least three runs along an axis: rows in
 * /answers, a row per answer in /limits. Judge them (solver/results/rates.h) down to the solver's
 * error in rows[count]. Errors: SP_ERR_STUDY with the first answer that does not converge. Local;
 * the same on all ranks. */
sp_status sp_answers_judge(sp_report *report, sp_study_axis axis, int count,
                           const sp_study_row *rows, const sp_answers *answers);

/* Print and record the answers with their errors. Errors: SP_ERR_STUDY with the first answer that
 * has none. Local; the same on all ranks. */
sp_status sp_accuracy_report(const sp_accuracy *accuracy, sp_report *report);
