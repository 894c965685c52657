/* What sp_bench is going to measure, in the order in which kernels share their set-up: by mesh,
 * order, problem, then the copy, the paper's kernels, and the program's own. All functions Local.
 */
#ifndef SP_SOLVER_BENCH_PLAN_H
#define SP_SOLVER_BENCH_PLAN_H

#include "io/terminal.h"
#include "operators/paper/paper.h"
#include "solver/bench/file.h"
#include "solver/bench/options.h"

typedef struct sp_bench_step {
  sp_bench_what what;
  sp_operator_kind kind;
  sp_geometry_kind geometry;
  const sp_paper_kernel *kernel; /* NULL: a copy, or the program's own */
  sp_bench_row key;              /* what the row is of; nothing else is set */
} sp_bench_step;

typedef struct sp_bench_plan {
  int count, capacity;
  sp_bench_step *steps;
} sp_bench_plan;

/* The steps that the options ask for; `warm_cache` as the clock has it. Says on the terminal which
 * orders the paper's kernels do not exist for. Errors: SP_ERR_INPUT if kernels are asked for that
 * this program or this device (`gpu`: it is one) does not have, or if there is nothing to do.
 * Destroy with the function below, also after an error. */
sp_status sp_bench_plan_make(const sp_bench_options *options, bool gpu, bool warm_cache,
                             sp_terminal *terminal, sp_bench_plan *plan);
void sp_bench_plan_destroy(sp_bench_plan *plan);

/* "bp3.5 2D kernel 4, N = 7, 512 elements" */
void sp_bench_step_describe(const sp_bench_step *step, size_t size, char *text);

#endif
