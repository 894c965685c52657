/* Dirichlet data: which DOFs are given, and their values. */
#pragma once

#include "operators/space.h"
#include "solver/problem/problem.h"

/* The largest difference between Dirichlet data of two parts at a common node, the largest value,
 * and the two parts: first the one that gives the value. Over all ranks. */
typedef struct sp_data_jump {
  double size, largest;
  int parts[2];
} sp_data_jump;

/* Dirichlet DOFs and their values, both [local DOFs] on the host and zero before; also nodes of a
 * contact between two of them. A DOF of several parts gets the value of the part listed first in
 * the case; all ranks that hold it get the same bits. Fills *jump unless that is NULL. Errors:
 * SP_ERR_INPUT if a formula is not finite. Collective. */
sp_status sp_problem_constraints(const sp_problem *problem, const sp_space *space,
                                 bool *constrained, double *values, sp_data_jump *jump);
