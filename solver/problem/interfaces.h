/* Check that the exact solution fits the materials and periods. Between two materials and across
 * periodic faces u and kappa du/dn must be continuous; else the forcing and boundary data derived
 * from u belong to another problem. */
#pragma once

#include "operators/space.h"
#include "solver/problem/problem.h"

/* Maxima over all ranks: jumps at nodes of periodic faces and, if there are several materials, of
 * faces between elements; and |u| and |kappa du/dn| on faces of both kinds. */
typedef struct sp_interface_jumps {
  double solution, flux;
  double solution_size, flux_size;
  bool periodic; /* there are periodic faces */
} sp_interface_jumps;

/* Fill *out; zeros if there is no solution, or one material and no periodic face. The flux of the
 * mass problem is zero. Jumps of the flux are averages over the faces of a node: exact inside a
 * face, and below the jump on its edges and thus at order 1. Errors: SP_ERR_INPUT if the solution
 * or kappa is not finite. Collective. */
sp_status sp_problem_jumps(const sp_problem *problem, const sp_space *space,
                           sp_interface_jumps *out);
