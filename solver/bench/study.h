/* A study of sp_bench: the measurements that the options ask for, and the file that keeps them:
 *
 *     /        program, version, git_revision, ... (attributes)
 *     /bench   one row per measurement: the columns of sp_bench_row, with threads and kernel (0
 *              without a kernel of the paper) and shared_traffic, bytes per element, s_r + s_w of
 *              the paper's shared-memory roofline
 *
 * The attributes are program, version, git_revision, start_time (ISO 8601, UTC), hosts, ranks,
 * device, exchange, options (the command line) and status ("running", "complete", or the error); on
 * a GPU cuda_driver and cuda_runtime (versions), multiprocessors and, with their units as
 * NAME_unit, clock, cache, memory_bandwidth_theoretical (absent if unknown),
 * shared_bandwidth_formula, shared_bandwidth_measured and fp64_measured. Rank 0 writes the file
 * (io/run_log.h). */
#pragma once

#include "io/terminal.h"
#include "solver/bench/measure.h"

typedef struct sp_bench_plan {
  int count;
  sp_bench_row *rows;
} sp_bench_plan;

/* Plan the rows, of which only the keys are set, so that those with the same data follow each
 * other: the copy, the paper's kernels at the orders that they have, the program's own. In single
 * precision there are neither conjugate gradients nor the paper's kernels. The caller destroys
 * *plan, also after an error. Errors: SP_ERR_INPUT if this program or device lacks requested
 * kernels, or if there is nothing to measure. Local. */
sp_status sp_bench_plan_make(const sp_bench_options *options, const sp_bench *b,
                             sp_bench_plan *plan);
void sp_bench_plan_destroy(sp_bench_plan *plan); /* Local. */

/* Run the plan: show its progress, print the table of the program's own kernels, and write
 * options->output, replacing an older file. `record`, on rank 0, has the attributes and gains the
 * rows. `is_interrupted` is asked between measurements. Errors: SP_ERR_INPUT also if the output is
 * not a regular file; SP_ERR_INTERRUPTED: the file has the rows measured so far. Collective. */
sp_status sp_bench_study(sp_bench *b, const sp_bench_options *options, sp_record *record,
                         sp_terminal *terminal, bool (*is_interrupted)(void));
