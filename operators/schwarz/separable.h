/* Elements as boxes: for each element the operator on a similar box,
 *
 *     A_e = kappa (K1 x M2 x M3 + M1 x K2 x M3 + M1 x M2 x K3) + lambda M1 x M2 x M3,
 *
 * with one-dimensional GLL matrices K_d and M_d on intervals of lengths l_d. Such an operator can
 * be inverted exactly (operators/schwarz/schwarz.h). With means over the element of the diagonal
 * factors c_d = <|J| kappa |grad r_d|^2> and m = <|J|>:
 *
 *     kappa = (c_1 c_2 c_3 / m)^(1/3),   l_1 = 2 sqrt(c_2 c_3) / kappa (cyclic),
 *     lambda = <lambda |J|> / m,
 *
 * which is exact for a box. */
#pragma once

#include "operators/backend.h"

typedef struct sp_separable {
  double kappa, lambda, length[3];
} sp_separable;

/* The coupling a_d of a box (mesh/columns.h): K and M of the box are a_d times K and M on [-1, 1].
 * Local. */
static inline double sp_separable_coupling(const sp_separable *box, int d) {
  return box->kappa * box->length[(d + 1) % 3] * box->length[(d + 2) % 3] / (2 * box->length[d]);
}

/* boxes[elements] for the operator that `setup` describes, one with stiffness. Errors: SP_ERR_INPUT
 * for an element with a non-positive Jacobian. Local. */
sp_status sp_separable_fill(const sp_operator_setup *setup, sp_separable *boxes);

/* Bounds for the sizes of entries of element matrices, over all ranks. Terms of kappa have the size
 * kappa times a length, terms of lambda the size lambda times a volume. */
typedef struct sp_magnitudes {
  double largest, smallest; /* of kappa and lambda; the smallest on a diagonal */
  double absorbing;         /* the largest of lambda and the setup's diagonal */
  double conducting;        /* the smallest of kappa, without contacts */
  double joining;           /* the largest of contacts; 0 without them */
  double jump;              /* largest eigenvalue of kappa, without contacts / smallest */
} sp_magnitudes;

/* For an operator with stiffness or mass. Collective. */
void sp_separable_magnitudes(const sp_operator_setup *setup, sp_magnitudes *out);
