/* The solution as a field file (io/field_file.h): "u", and "error" = u_h - u where the problem has
 * a solution, at the equispaced points of each element. */
#ifndef SP_SOLVER_RUN_FIELD_H
#define SP_SOLVER_RUN_FIELD_H

#include "operators/space.h"
#include "solver/problem/problem.h"

/* Write the host L-vector x. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_field_write(const char *path, const sp_problem *problem, const sp_space *space,
                         const double *x);

/* Bytes that this takes meanwhile on a rank with so many elements. Local. */
double sp_field_predicted_bytes(double elements, int order, bool has_solution);

#endif
