/* The table that sp_bench prints: the program's own kernels, alone, in the operator and in an
 * iteration. (io/plot draws the paper's.) Local. */
#pragma once

#include "solver/bench/plan.h"

/* Print the rows of the file that belong to the plan. */
void sp_bench_table_print(const sp_bench_plan *plan, const sp_bench_file *file,
                          sp_terminal *terminal);
