/* The list of measurements of sp_bench, ordered so that kernels share their set-up: by mesh, order,
 * problem and precision; then the copy, the paper's kernels, and the program's own. All functions
 * Local. */
#pragma once

#include "io/terminal.h"
#include "operators/paper/paper.h"
#include "solver/bench/file.h"

typedef struct sp_bench_step {
  const sp_paper_kernel *kernel; /* NULL: a copy, or the program's own */
  sp_bench_row key;              /* only the key of the row is set */
} sp_bench_step;

typedef struct sp_bench_plan {
  int count;
  sp_bench_step *steps;
} sp_bench_plan;

/* Inputs of the plan besides the options. */
typedef struct sp_bench_target {
  bool gpu;
  bool single_operators; /* of the backend */
  bool warm_cache;       /* of the clock */
} sp_bench_target;

/* Make the steps that the options request; conjugate gradients and the paper's kernels are planned
 * in double precision only, and the latter at the orders that they have. The caller destroys *plan,
 * also after an error. Errors: SP_ERR_INPUT if this program or device lacks requested kernels, or
 * if there is nothing to measure. */
sp_status sp_bench_plan_make(const sp_bench_options *options, const sp_bench_target *target,
                             sp_bench_plan *plan);
void sp_bench_plan_destroy(sp_bench_plan *plan);

/* "bp3.5 2D kernel 4, N = 7, 512 elements" */
void sp_bench_step_describe(const sp_bench_step *step, size_t size, char *text);
