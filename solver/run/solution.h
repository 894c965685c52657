/* Facts of a solve, and a solution to start another one from. */
#pragma once

#include "io/profile.h"
#include "operators/space.h"
#include "solver/linear/cg.h"
#include "solver/results/errors.h"

/* Results of a case; partial if it stopped early. */
typedef struct sp_results {
  int64_t elements, dofs;
  sp_cg_result cg;
  bool have_norms; /* the problem has a solution to compare with */
  sp_error_norms norms;
  sp_error_norms in_space; /* of the interpolated solution, for a series in time */
  sp_profile profile;
} sp_results;

/* A solution of the same mesh at another order to start from. */
typedef struct sp_solution_start {
  const sp_space *space;
  const double *values; /* L-vector on the host */
} sp_solution_start;
