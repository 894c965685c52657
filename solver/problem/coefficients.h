/* kappa and lambda of -div(kappa grad u) + lambda u = f: constants stay numbers; formulas are
 * evaluated and checked at points. The mass problem has no coefficients: kappa = 1 and lambda = 0.
 */
#ifndef SP_SOLVER_PROBLEM_COEFFICIENTS_H
#define SP_SOLVER_PROBLEM_COEFFICIENTS_H

#include "io/config.h"
#include "io/expression.h"
#include "mesh/mesh.h"
#include "mesh/reference.h"

/* Both coefficients as the case gives them. */
typedef struct sp_material {
  double lambda, kappa;                          /* values of constant coefficients */
  sp_expression *lambda_formula, *kappa_formula; /* NULL if constant */
} sp_material;

/* Read both from the case. sp_material_free releases *out, also after a failure. Errors:
 * SP_ERR_INPUT for formulas, for constants that are negative (kappa: or zero) or not finite, and
 * for coefficients of the mass problem. Local. */
sp_status sp_material_parse(const sp_config *config, sp_material *out);
void sp_material_free(sp_material *material);

/* Whether the operator needs values of kappa at its quadrature points, because kappa is not 1
 * everywhere, and of lambda, because lambda is not constant. Local. */
bool sp_material_has_kappa(const sp_material *material);
bool sp_material_has_lambda(const sp_material *material);

/* Values at the n points (xyz[0][p], xyz[1][p], xyz[2][p]); value and each gradient[d] are [n],
 * `gradient` may be NULL. Errors: SP_ERR_INPUT with a point where kappa is not positive, lambda is
 * negative, or one of them is not finite. Local. */
sp_status sp_material_kappa(const sp_material *material, size_t n, const double *xyz[3],
                            double *value, double *const gradient[3]);
sp_status sp_material_lambda(const sp_material *material, size_t n, const double *xyz[3],
                             double *value);

/* Both at the operator's quadrature points, for sp_operator_setup. */
typedef struct sp_coefficients {
  double *kappa, *lambda; /* [elements][points]; NULL if sp_material_has_... is false */
  double scale;           /* factor of the mass term: 1 if `lambda` is set, else the constant */
  double largest_lambda;  /* over all ranks */
} sp_coefficients;

/* Fill *out at the points of `rule`. sp_coefficients_free releases its arrays, also after a
 * failure. Errors: those of the values. Collective. */
sp_status sp_coefficients_create(const sp_material *material, const sp_mesh *mesh,
                                 const sp_rule *rule, sp_coefficients *out);
void sp_coefficients_free(sp_coefficients *coefficients);

/* Bytes of its arrays on a rank with so many elements. Local. */
double sp_coefficients_predicted_bytes(const sp_material *material, double elements,
                                       const sp_rule *rule);

#endif
