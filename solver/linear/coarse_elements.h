/* Element matrices of the coarsest problem (coarse.h): bp3.5 or mass at order 1. */
#ifndef SP_SOLVER_LINEAR_COARSE_ELEMENTS_H
#define SP_SOLVER_LINEAR_COARSE_ELEMENTS_H

#include "operators/operator.h"

enum { SP_COARSE_NODES = 8 };

typedef double sp_coarse_element[SP_COARSE_NODES][SP_COARSE_NODES];

/* Compute matrices[count] of all elements, on threads. Errors: SP_ERR_INPUT for an element with a
 * non-positive Jacobian; SP_ERR_SYSTEM. Local. */
sp_status sp_coarse_elements(const sp_operator_setup *setup, size_t count,
                             sp_coarse_element *matrices);

/* True if a DOF is constrained. Local. */
static inline bool sp_coarse_is_constrained(const sp_operator_setup *setup, sp_lid dof) {
  return setup->constrained && setup->constrained[dof];
}

#endif
