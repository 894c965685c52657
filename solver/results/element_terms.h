/* The solution in one element, for fluxes (solver/results/fluxes.h): kappa grad u and A u from the
 * differences of u in the element, which are exact where u hardly varies. All functions are Local.
 */
#pragma once

#include "mesh/geometry.h"
#include "operators/space.h"
#include "solver/problem/problem.h"

/* Data shared by all elements. */
typedef struct sp_element_terms {
  const sp_problem *problem;
  const sp_space *space;
  const double *x, *rest;                                               /* as in sp_fluxes */
  const sp_rule *rule;                                                  /* the operator's */
  double value[SP_MAX_M * SP_MAX_NQ], derivative[SP_MAX_M * SP_MAX_NQ]; /* at its points */
} sp_element_terms;

/* The arrays of an element; too large for the stack. */
typedef struct sp_element_arrays {
  double start;                                       /* u at the first node */
  double nodal[SP_MAX_NODES];                         /* u - start at the nodes */
  double flow[SP_MAX_POINTS];                         /* of sp_element_flow */
  bool has_slopes;                                    /* `at` and `slopes` belong to `nodal` */
  int flow_direction;                                 /* of `flow`; -1: none yet */
  double at[SP_MAX_POINTS], slopes[3][SP_MAX_POINTS]; /* of u - start */
  double part[SP_MAX_NODES], lambda[SP_MAX_POINTS], kappa[SP_TENSOR * SP_MAX_POINTS];
  double xyz[3 * SP_MAX_POINTS], wj[SP_MAX_POINTS];
  double factors[SP_FACTORS * SP_MAX_POINTS];
  double inverse[9 * SP_MAX_POINTS], jacobian[SP_MAX_POINTS], along[3 * SP_MAX_POINTS];
  double *tensor; /* work of sp_tensor_gradient, the caller's */
} sp_element_arrays;

/* Return the terms of x and rest, which are borrowed. */
sp_element_terms sp_element_terms_of(const sp_problem *problem, const sp_space *space,
                                     const double *x, const double *rest);

/* Begin an element: a->nodal = u - a->start at the nodes. */
void sp_element_gather(const sp_element_terms *terms, sp_lid e, sp_element_arrays *a);

/* a->flow = |J| kappa grad u . grad r_d at the nodes of the element. It is computed at the
 * operator's quadrature points and interpolated: if kappa jumps between elements, nodes have values
 * of both. Errors: SP_ERR_INPUT of kappa. */
sp_status sp_element_flow(const sp_element_terms *terms, sp_lid e, int d, sp_element_arrays *a);

/* sum[n] += the integral of kappa grad u . grad l_n + (lambda u + capacity du/dt) l_n over the
 * element, with the operator's quadrature. sp_element_gather follows for another one. Errors:
 * SP_ERR_INPUT of formulas. */
sp_status sp_element_apply(const sp_element_terms *terms, sp_lid e, sp_element_arrays *a,
                           double *sum);
