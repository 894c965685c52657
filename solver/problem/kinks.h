/* Solutions with a kink or a jump inside the domain: the source and the fluxes that follow from
 * their pieces miss what is concentrated there, so errors do not vanish, and rates mislead. */
#pragma once

#include "solver/problem/problem.h"

/* The largest jump found, of the gradient times the size of the element plus that of u, and the
 * largest such sum for differences across an element: a kink has a ratio of order one. */
typedef struct sp_kink {
  double jump, scale;
  double at[3];
} sp_kink;

/* Search the diagonals of at most 512 elements per rank by bisection, and, with one material, short
 * lines through the centres of their faces between elements. A solution is evaluated only if its
 * formula may have a kink and that of kappa may not, at most 150,000 times per rank; *out is zero
 * otherwise. Over all ranks. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_problem_find_kink(const sp_problem *problem, const sp_mesh *mesh, sp_kink *out);
