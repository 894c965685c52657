/* The factors of an operator: geometry (mesh/geometry.h) and the coefficients of
 *
 *     -div(kappa grad u) + lambda u,      kappa a number or a symmetric positive definite tensor.
 *
 * Stored factors include the coefficients:
 *
 *     G <- kappa G  or  w |J| J^-1 kappa J^-T,
 *     wJ <- lambda wJ   if lambda has values (setup->lambda is 1 then).
 *
 * For the factors of a contact see mesh/interlayer.h.
 *
 * Recomputed factors come from the 24 coefficients of the trilinear map. Kernels do not need the
 * first three, the element's position, so kappa and lambda replace the first two if they are
 * constant in each element. For a tensor L L^T the map is L^-1 x: with factors G' of that map, w
 * |J| J^-1 L L^T J^-T = (det L) G', so kappa is det L and lambda is det L times lambda.
 *
 * Rounded factors are stored factors in 16 bits: wJ, and the lower triangle L of G = L L^T, as
 * bfloat16, which is the upper half of a float. L' = L + E with |E_ij| <= 2^-8 |L_ij| gives an
 * operator that is symmetric positive semidefinite like A itself. Rounding G itself may not, in
 * sheared elements. */
#pragma once

#include <stdint.h>

#include "mesh/reference.h"
#include "operators/backend.h"

/* factors[SP_FACTORS][k][j][i] of one element on the tensor grid of `rule`, the operator's own
 * (operators/counts.h). Errors: SP_ERR_INPUT for an element with a non-positive Jacobian. Local. */
sp_status sp_operator_factors(const sp_operator_setup *setup, sp_lid element, const sp_rule *rule,
                              double *factors);

/* Replace factors[SP_FACTORS][points] of sp_geometry_factors by the factors of a contact
 * (mesh/interlayer.h), without kappa. Local. */
void sp_operator_make_contact(const sp_hexes *hexes, size_t points, double *factors);

/* Two 16-bit numbers in each word, the first one in the lower half:
 *
 *     words[3][points]    (L_rr, L_sr), (L_tr, L_ss), (L_ts, L_tt)
 *     then [points / 2]   wJ of two successive points; the last word of an odd
 *                         number of points has one
 *
 * of an element with factors[SP_FACTORS][points]. Local. */
void sp_operator_round_factors(size_t points, const double *factors, uint32_t *words);

/* Words per element. Local. */
static inline size_t sp_operator_rounded_words(size_t points) {
  return 3 * points + (points + 1) / 2;
}

/* Return the data from which the kernels of this operator compute their factors. Local. */
sp_factor_kind sp_operator_factor_kind(const sp_operator_setup *setup);

/* Return SP_FACTORS_SCALED if the maps of sp_operator_trilinear hold kappa and lambda, else
 * SP_FACTORS_TRILINEAR. Local. */
sp_factor_kind sp_operator_map_kind(const sp_operator_setup *setup);

/* A scalar kappa and lambda of an element in which both are constant. Local. */
void sp_operator_scales(const sp_operator_setup *setup, sp_lid element, double scales[2]);

/* Fill coefficients[8][3] of the element's trilinear map (mesh/geometry.h). In scaled maps the
 * first two are kappa and lambda of the element. The setup has trilinear geometry. Local. */
void sp_operator_trilinear(const sp_operator_setup *setup, sp_lid element, double coefficients[24]);

/* Fill factors[SP_FACTORS] of a parallelepiped at a point of weight one, with kappa, and with
 * lambda |J| in place of wJ. Local. */
void sp_operator_affine(const sp_operator_setup *setup, sp_lid element, double *factors);

/* Facts for the choice between stored and trilinear geometry, known before the set-up. */
typedef struct sp_geometry_facts {
  sp_operator_kind kind;
  int order;     /* N of the operator */
  int map_order; /* of the elements (mesh/hexes.h); 1: eight nodes, trilinear */
  bool affine;   /* true if all elements are parallelepipeds */
  /* coefficients: kappa is not 1, or lambda is not one constant (operators/factors.h); by_element:
   * both are constant in each element. */
  bool coefficients, by_element;
} sp_geometry_facts;

/* Return the facts of a setup. Local. */
sp_geometry_facts sp_geometry_facts_of(const sp_operator_setup *setup);

/* Choose the geometry: the requested one or, for SP_GEOMETRY_AUTO, the faster one on this backend
 * that is exact. *reason is a constant string for the user ("curved elements", ...). Errors:
 * SP_ERR_INPUT for trilinear geometry of curved elements or with coefficients that vary inside
 * elements. Local. */
sp_status sp_geometry_choose(const sp_backend *backend, const sp_geometry_facts *facts,
                             sp_geometry_kind request, sp_geometry_kind *out, const char **reason);
