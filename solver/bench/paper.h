/* Measure the paper's kernels (operators/paper/paper.h), and copies of the same number of bytes. */
#pragma once

#include "operators/paper/paper.h"
#include "solver/bench/case.h"
#include "solver/bench/clock.h"

/* Inputs and outputs of one problem on the device; sp_bench_input_sets says how many sets. */
typedef struct sp_bench_paper {
  const sp_bench_clock *clock;
  const sp_bench_case *c;
  sp_operator_kind kind;
  int sets;
  size_t e_size, factor_size; /* doubles per set */
  sp_vector factors, q, aq;   /* [sets][...] */
  double *expected;           /* [local DOFs], the sum of the results over elements and ranks */
} sp_bench_paper;

/* Create the data for the problem `kind` on *c. The clock and *c must outlive *paper. The caller
 * destroys it, also after an error. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_bench_paper_create(const sp_bench_clock *clock, sp_bench_case *c,
                                sp_operator_kind kind, sp_bench_paper *paper);
void sp_bench_paper_destroy(sp_bench_paper *paper); /* Local. */

/* Check a kernel's result, then time it. Fills *row except its key. Errors: SP_ERR_SYSTEM for a
 * wrong result. Collective. */
sp_status sp_bench_paper_time(const sp_bench_paper *paper, const sp_paper_kernel *kernel,
                              sp_bench_row *row);

/* Time copies on the device of (R + W) / 2 bytes, where R and W are the bytes that the paper's
 * kernels read and write (its Table 2), or would in single precision: samples of ten copies each.
 * Fills *row except its key. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_bench_copy_time(const sp_bench_clock *clock, const sp_bench_case *c,
                             sp_operator_kind kind, sp_precision precision, sp_bench_row *row);
