/* kappa and lambda of an operator: at its quadrature points, or one number per element. */
#pragma once

#include "mesh/mesh.h"
#include "mesh/reference.h"
#include "operators/space.h"
#include "solver/problem/problem.h"

/* For sp_operator_setup. */
typedef struct sp_coefficients {
  /* [elements][points], or with `by_element` [elements]; NULL if sp_materials_have_... is false and
   * the problem has no array. With is_tensor kappa is [elements][6][points] or [elements][6]
   * (operators/backend.h). */
  double *kappa, *lambda;
  bool by_element;       /* sp_materials_are_constant, and no arrays */
  bool is_tensor;        /* sp_materials_have_tensor, and no array of kappa */
  size_t per_element;    /* values of lambda: 1 with by_element, else points */
  double scale;          /* factor of the mass term: 1 if `lambda` is set, else the constant */
  double largest_lambda; /* over all ranks */
} sp_coefficients;

/* Fill *out from the formulas of each element's material, or the arrays of the problem. If the
 * values are not constant in each element, they are at the points of `rule`, the operator's.
 * sp_coefficients_free releases its arrays, also after a failure. Errors: SP_ERR_INPUT of values.
 * Collective. */
sp_status sp_coefficients_create(const sp_problem *problem, const sp_mesh *mesh,
                                 const sp_rule *rule, sp_coefficients *out);

/* Fill *out with kappa = 0 and lambda = the capacity: the operator is then a mass matrix, weighted
 * by the capacity. Otherwise as above. */
sp_status sp_coefficients_of_capacity(const sp_problem *problem, const sp_mesh *mesh,
                                      const sp_rule *rule, sp_coefficients *out);
void sp_coefficients_free(sp_coefficients *coefficients);

/* Check if lambda > 0 at one of the element's points. Local. */
bool sp_coefficients_have_lambda(const sp_coefficients *coefficients, sp_lid element);

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
