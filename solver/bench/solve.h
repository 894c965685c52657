/* Measure whole solves: conjugate gradients with multigrid, from b to a relative residual of 1e-8,
 * for -lap u = f with Dirichlet conditions on the whole boundary. */
#pragma once

#include "solver/bench/case.h"
#include "solver/bench/clock.h"
#include "solver/bench/options.h"

/* Set up the operator `kind` and multigrid with its default options on *c, solve once to warm up
 * and to check the residual, then solve again up to clock->samples times or for ten seconds. Fills
 * *row except its key: the times are those of whole solves, without the set-up of multigrid, which
 * is setup_seconds. Errors: SP_ERR_SYSTEM for a wrong result; those of multigrid and of CG.
 * Collective. */
sp_status sp_bench_solve_time(const sp_bench_clock *clock, sp_bench_case *c, sp_operator_kind kind,
                              sp_geometry_kind geometry, sp_bench_load load, sp_bench_row *row);
