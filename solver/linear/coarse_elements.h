/* Element matrices of the coarsest problem (coarse.h): mass at order 1, and bp3.5. The functions of
 * bp3.5 are linear along the edges of elements, or of the space's order N on edges that are kept
 * (operators/schwarz/bars.h). A space of order 1 keeps none.
 *
 * An element without a kept edge has its 8 corners as nodes. One with kept edges, all in one
 * direction, has the 4 (N + 1) nodes of all edges in that direction: functions interpolate between
 * the four linearly. Nodes inside edges that are not kept have rows and columns of zero. */
#pragma once

#include "operators/operator.h"

enum { SP_COARSE_CORNERS = 8 };

typedef struct sp_coarse_elements {
  int count;
  int longest;      /* the largest number of nodes of an element */
  int *start;       /* [count + 1], first node of each element */
  int *of_node;     /* [start[count]], the element */
  sp_lid *dofs;     /* [start[count]], local DOF of each node */
  size_t *first;    /* [count + 1], first entry of each matrix */
  double *matrices; /* [first[count]] */
} sp_coarse_elements;

/* Compute the matrices of all elements, on threads. The caller frees *out, also after an error.
 * Errors: SP_ERR_INPUT for an element with a non-positive Jacobian, and for more nodes than int
 * counts; SP_ERR_SYSTEM. Local. */
sp_status sp_coarse_elements_create(const sp_operator_setup *setup, sp_coarse_elements *out);
void sp_coarse_elements_destroy(sp_coarse_elements *elements);

/* True if a DOF is constrained. Local. */
static inline bool sp_coarse_is_constrained(const sp_operator_setup *setup, sp_lid dof) {
  return setup->constrained && setup->constrained[dof];
}
