/* kappa and lambda of an operator: at its quadrature points, or one number per element. */
#pragma once

#include "mesh/mesh.h"
#include "operators/backend.h"
#include "operators/space.h"
#include "solver/problem/problem.h"

/* Fill kappa, lambda_values, lambda, by_element and is_tensor of a setup with a space and a kind,
 * from the formulas of each element's material or the arrays of the problem. The setup owns its
 * arrays (sp_system_create, sp_system_free_setup), also after a failure. They are NULL if the
 * materials have none and the problem has no array. Errors: SP_ERR_INPUT of values. Collective. */
sp_status sp_coefficients_create(const sp_problem *problem, sp_operator_setup *setup);

/* Likewise with kappa = 0 and lambda = 1, or the capacity: a mass matrix, or one that is weighted
 * by the capacity. Not for the mass problem. */
sp_status sp_coefficients_of_mass(const sp_problem *problem, bool of_capacity,
                                  sp_operator_setup *setup);

/* Check if lambda > 0 at one of the element's points. Local. */
bool sp_coefficients_have_lambda(const sp_operator_setup *setup, sp_lid element);

/* ---- Values in an element, at the n points of the operator's rule ---- */

/* Return a coefficient of an element from the problem's array, [n]; NULL: its formula counts.
 * Local. */
const double *sp_problem_array(const sp_problem *problem, sp_coefficient which,
                               const sp_hexes *hexes, sp_lid e, size_t n);

/* As sp_material_conduct with one vector, which may be NULL if kappa is a scalar; lambda + shift
 * capacity; and the capacity. From the arrays if there are any. Local. */
sp_status sp_problem_conduct(const sp_problem *problem, const sp_hexes *hexes, sp_lid e, size_t n,
                             const double *xyz[3], double *factor, double *const vector[3]);
sp_status sp_problem_shifted(const sp_problem *problem, const sp_hexes *hexes, sp_lid e,
                             double shift, size_t n, const double *xyz[3], double *value);
sp_status sp_problem_capacity(const sp_problem *problem, const sp_hexes *hexes, sp_lid e, size_t n,
                              const double *xyz[3], double *value);

/* Interpolate the array of kappa to the grid nodes[0] x nodes[1] x nodes[2] of `count` reference
 * coordinates each, kappa[k][j][i]; false: the element's formula counts. Local. */
bool sp_problem_interpolate_kappa(const sp_problem *problem, const sp_space *space, sp_lid e,
                                  int count, const double *const nodes[3], double *kappa);
