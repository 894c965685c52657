/* Dirichlet data: which DOFs are given, and their values. */
#pragma once

#include "operators/space.h"
#include "solver/problem/problem.h"

/* The largest difference between Dirichlet data of two parts at a common node, the largest value,
 * and the two parts, first the one that gives the value. The largest difference of each part is
 * NULL without Dirichlet parts; the caller frees it. Over all ranks. Where data differ by more than
 * rounding, kappa du/dn grows like 1 / distance, and its integral is infinite. */
typedef struct sp_data_jump {
  double size, largest;
  int parts[2];
  double *of_part; /* [part_count] */
} sp_data_jump;

/* True if a difference of that size is more than rounding: sin(pi) is no jump from 0. Local. */
static inline bool sp_data_jump_is_real(const sp_data_jump *jump, double size) {
  return size > 1e-8 * jump->largest + 1e-14;
}

/* Dirichlet DOFs and their values, both [local DOFs] on the host and zero before; also nodes of a
 * contact between two of them. A DOF of several parts gets the value of the part listed first in
 * the case; all ranks that hold it get the same bits. Fills *jump unless that is NULL. Errors:
 * SP_ERR_INPUT if a formula is not finite. Collective. */
sp_status sp_problem_constraints(const sp_problem *problem, const sp_space *space,
                                 bool *constrained, double *values, sp_data_jump *jump);
