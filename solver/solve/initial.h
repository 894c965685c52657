/* The iterate that CG starts from, problem.initial: a formula, or the solution in a field file
 * (solver/report/field.h). The field is of the same mesh with the same or fewer refinements, of any
 * order, from any number of ranks.
 *
 * An element is found in the file by its number and its refinement path (tag and octants,
 * mesh/hexes.h); if the mesh has been refined since, its ancestor is found. In it u is the
 * polynomial of degree N through the equispaced nodes of the file, evaluated at the GLL nodes of
 * this order. So a field of the same or a lower order is reproduced to rounding. Corners of
 * elements must be where they are in the file. */
#pragma once

#include "io/field_file.h"
#include "operators/space.h"
#include "solver/problem/statement.h"
#include "solver/solve/time.h"

/* Names in the file: the solution, and in a series the solutions one and two steps before it. */
extern const char *const sp_initial_names[SP_TIME_HISTORY];

/* Check that a file is a field. Call it first, before anything that takes time. Errors:
 * SP_ERR_INPUT or SP_ERR_SYSTEM with the line of problem.initial. Collective over `comm`. */
sp_status sp_initial_check(MPI_Comm comm, const sp_statement *statement);

/* Fill values[local DOFs], an L-vector in host memory, the same bits on all copies. Without
 * problem.initial, a case in time gets the solution of [problem]; in others values are unchanged.
 * Errors: as above; SP_ERR_INPUT for a formula that is not finite at a node, and for a field that
 * is of another mesh, is damaged or has values that are not finite. If `state` is not NULL, values
 * has SP_TIME_HISTORY L-vectors; the first state->known are filled, the newest first. *state comes
 * from the file if it is a series; else it is {0, 1, 0}. Collective. */
sp_status sp_initial_load(const sp_statement *statement, const sp_space *space, double *values,
                          sp_field_state *state);

/* Fill values[local DOFs of `space`] with the L-vector x of another order on the same mesh,
 * interpolated; the same bits on all copies. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_initial_interpolate(const sp_space *from, const double *x, const sp_space *space,
                                 double *values);
