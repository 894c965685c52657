/* kappa and lambda of an operator: at its quadrature points, or one number per element. */
#pragma once

#include "mesh/mesh.h"
#include "mesh/reference.h"
#include "solver/problem/materials.h"

/* For sp_operator_setup. */
typedef struct sp_coefficients {
  /* [elements][points], or with `by_element` [elements]; NULL if sp_materials_have_... is false.
   * With is_tensor kappa is [elements][6][points] or [elements][6] (operators/backend.h). */
  double *kappa, *lambda;
  bool by_element;       /* sp_materials_are_constant */
  bool is_tensor;        /* sp_materials_have_tensor */
  size_t per_element;    /* values of lambda: 1 with by_element, else points */
  double scale;          /* factor of the mass term: 1 if `lambda` is set, else the constant */
  double largest_lambda; /* over all ranks */
} sp_coefficients;

/* Fill *out from the formulas of each element's material. If the values are not constant in each
 * element, they are those at the points of `rule`. sp_coefficients_free releases its arrays, also
 * after a failure. Errors: those of the values. Collective. */
sp_status sp_coefficients_create(const sp_materials *materials, const sp_mesh *mesh,
                                 const sp_rule *rule, sp_coefficients *out);

/* Fill *out with kappa = 0 and lambda = the capacity: the operator is then a mass matrix, weighted
 * by the capacity. Otherwise as above. */
sp_status sp_coefficients_of_capacity(const sp_materials *materials, const sp_mesh *mesh,
                                      const sp_rule *rule, sp_coefficients *out);
void sp_coefficients_free(sp_coefficients *coefficients);

/* Check if lambda > 0 at one of the element's points. Local. */
bool sp_coefficients_have_lambda(const sp_coefficients *coefficients, sp_lid element);
