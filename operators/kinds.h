/* The operators and the geometries: their names, and a row of facts per operator. Code outside the
 * backends tests facts, never which operator it is.
 *
 *     name    operator         quadrature                       solves
 *     mass    M                GL, N + 2 points per direction   the L2 projection M u = f (BP1.0)
 *     bp3.5   S + lambda M     GLL, at the N + 1 nodes          screened Poisson
 *     bp3.0   S + lambda M     GL, N + 2 points per direction   screened Poisson
 *
 * with the stiffness S, which holds kappa, and the mass M. To add an operator, besides its kernels
 * (operators/host/local.c, operators/cuda/order.cu) and its line in the manual:
 *
 *     1. its constant in sp_operator_kind,
 *     2. its name and its row in operators/kinds.c,
 *     3. its bilinear form in tests/reference_operator.c,
 *     4. its flops and bytes, computed by hand, in tests/counts.c. */
#pragma once

#include <stdbool.h>

typedef enum sp_operator_kind { SP_MASS, SP_BP35, SP_BP30, SP_OPERATORS } sp_operator_kind;

typedef struct sp_operator_row {
  bool collocated;      /* quadrature at the GLL nodes themselves; else GL with N + 2 points */
  bool has_stiffness;   /* S + lambda M; else M, without kappa and lambda */
  bool has_boundary;    /* takes boundary conditions */
  int factors;          /* doubles per point of stored geometry: the last of SP_FACTORS */
  int point_flops;      /* per quadrature point, besides interpolation and differentiation */
  int rate_l2, rate_h1; /* under refinement, errors fall like h^(N + rate) */
  bool boundary_layer;  /* for even N, errors are larger along the boundary (solver/results/rates.h)
                         */
} sp_operator_row;

extern const sp_operator_row sp_operator_rows[SP_OPERATORS];

/* Source of the geometric factors: stored at every quadrature point, or recomputed from the eight
 * corners of the element. `auto` is resolved by operators/geometry_choice.h. */
typedef enum sp_geometry_kind {
  SP_GEOMETRY_AUTO,
  SP_GEOMETRY_STORED,
  SP_GEOMETRY_TRILINEAR
} sp_geometry_kind;

/* Data from which a kernel computes its factors (operators/factors.h). */
typedef enum sp_factor_kind {
  SP_FACTORS_STORED,    /* numbers at every point */
  SP_FACTORS_TRILINEAR, /* coefficients of the trilinear map */
  SP_FACTORS_SCALED,    /* the same with the element's kappa and lambda; not for mass */
  SP_FACTORS_ROUNDED,   /* bfloat16 numbers at every point; in single precision, not for mass */
  SP_FACTORS_AFFINE,    /* numbers per element, if all are parallelepipeds; for bp3.5 */
  SP_FACTOR_KINDS
} sp_factor_kind;

/* The kind without coefficients and rounding. Local. */
static inline sp_factor_kind sp_factor_kind_of(sp_geometry_kind geometry) {
  return geometry == SP_GEOMETRY_TRILINEAR ? SP_FACTORS_TRILINEAR : SP_FACTORS_STORED;
}

/* Names in a case, by sp_operator_kind and sp_geometry_kind; both lists end with NULL. */
extern const char *const sp_operator_names[], *const sp_geometry_names[];
