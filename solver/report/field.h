/* The solution as a field file (io/field_file.h). At the equispaced points of each element: "u",
 * and "error" = u_h - u if the problem has a solution. Per element: "rank", "tag" (its number in
 * the mesh file) and "octants" (its refinement path, mesh/hexes.h). If the mesh has volume groups,
 * also "region" (the first group that contains the element, -1 if none); "regions" has the names of
 * the groups.
 *
 * Elements of a rank share their points, except across periodic boundaries. If elements differ at a
 * point (by rounding, or "error" between materials whose solutions jump), the first element's value
 * is written.
 *
 * With `flux` the file also has "kappa_grad_u", a vector (solver/results/flux.h). Elements of
 * different materials then share no points, so that each material has its own values. */
#pragma once

#include "io/field_file.h"
#include "operators/space.h"
#include "solver/problem/problem.h"
#include "solver/results/units.h"
#include "solver/solve/time.h"

/* A solution to write. Everything is borrowed. */
typedef struct sp_field_solution {
  const double *x;         /* host L-vector */
  const double *indicator; /* [elements], "error_indicator" (results/resolution.h), or NULL */
  bool flux;
  const sp_units *units; /* attributes of coordinates, u and flux; NULL: none */
  /* Of a series (io/field_file.h), else NULL: the state, after `states` others, and the solutions
   * before x, kept with the names of solver/solve/initial.h. It has no indicator. */
  const sp_field_state *state;
  int64_t states;
  const double *before[SP_TIME_HISTORY - 1];
} sp_field_solution;

/* Write the solution; *seconds = time spent in the file, not in computing values. Errors:
 * SP_ERR_SYSTEM. Collective. */
sp_status sp_field_write(const char *path, const sp_problem *problem, const sp_space *space,
                         const sp_field_solution *solution, double *seconds);
