/* Geometric factors of the map x(r, s, t) from the reference cube to an element (paper, Section
 * "Problem description"; where the formula for G writes J for J^-1).
 *
 * With J_ab = d x_a / d r_b, |J| its determinant and w the product of the three one-dimensional
 * weights, at every point of a tensor grid of n^3 points:
 *
 *     G  = w |J| J^-1 J^-T   (symmetric: rr, rs, rt, ss, st, tt),      wJ = w |J|
 *
 * so that  integral of grad v . grad u = sum over points of (grad_r v)^T G (grad_r u).
 *
 * For a contact, wJ and |J| are zero, except in sp_geometry_factors, which uses its lattice. All
 * functions are Local. */
#pragma once

#include <math.h>

#include "mesh/hexes.h"
#include "mesh/reference.h"

/* The factors at a point, in this order. */
enum { SP_G_RR, SP_G_RS, SP_G_RT, SP_G_SS, SP_G_ST, SP_G_TT, SP_G_WJ, SP_FACTORS };

/* factors[SP_FACTORS][k][j][i] of one element on the tensor grid of `rule`. Errors: SP_ERR_INPUT
 * with the element's number and the location if |J| is not positive beyond rounding at a point. */
sp_status sp_geometry_factors(const sp_hexes *hexes, sp_lid element, const sp_rule *rule,
                              double *factors);

/* A symmetric tensor K at the points of an element: number c of xx, yy, zz, xy, xz, yz at point p
 * is values[component * c + point * p]. */
typedef struct sp_geometry_tensor {
  const double *values;
  ptrdiff_t component, point;
} sp_geometry_tensor;

/* Fill the factors of a tensor K, G = w |J| J^-1 K J^-T, likewise. */
sp_status sp_geometry_tensor_factors(const sp_hexes *hexes, sp_lid element, const sp_rule *rule,
                                     const sp_geometry_tensor *k, double *factors);

/* True if a quick bound proves that a trilinear element (map_order 1) passes the check of
 * sp_geometry_factors at its corners, edge mid-points, face centres and centre. */
bool sp_geometry_is_surely_proper(const sp_hexes *hexes, sp_lid element);

/* The points xyz[3][k][j][i] and wJ, [k][j][i], of the same grid. For a contact, the points of its
 * face, and wJ = 0. Errors: as sp_geometry_factors. */
sp_status sp_geometry_volume(const sp_hexes *hexes, sp_lid element, const sp_rule *rule,
                             double *xyz, double *wj);

/* Coefficients of the trilinear map of an eight-node element, coefficients[8][3]:
 *     x = c_0 + c_1 r + c_2 s + c_3 t + c_4 rs + c_5 st + c_6 rt + c_7 rst.
 * Coefficients of products are set to zero if they are at the rounding level of the corners. True
 * if all of these are zero: the element is a parallelepiped. */
bool sp_geometry_trilinear(const sp_hexes *hexes, sp_lid element, double coefficients[24]);

/* Data for gradients at the n^3 points of a tensor grid, n >= 2: the points xyz[3][n^3], J^-1 as
 * inverse[a][b] = d r_a / d x_b, [3][3][n^3], and |J|, [n^3]. |J| is not checked. */
void sp_geometry_inverse(const sp_hexes *hexes, sp_lid element, int n, const double *nodes,
                         double *xyz, double *inverse, double *jacobian);

/* The n x n tensor grid of `rule` on face f (mesh/hexes.h), the lower of the face's two directions
 * fastest: points xyz[3][n^2], and normal[3][n^2] = outward unit normal times surface element times
 * weights. */
void sp_geometry_face(const sp_hexes *hexes, sp_lid element, int face, const sp_rule *rule,
                      double *xyz, double *normal);

/* Points of an element or of a face of one. */
typedef struct sp_sample {
  size_t count;
  double xyz[3 * SP_MAX_RULE_POINTS];           /* [3][count] */
  double weight[SP_MAX_RULE_POINTS];            /* wJ; on a face the surface element */
  double normal[3 * SP_MAX_RULE * SP_MAX_RULE]; /* of a face, [3][count] */
} sp_sample;

/* Sample an element, as sp_geometry_volume, or its face unless that is negative, as
 * sp_geometry_face. Errors: as sp_geometry_volume; none of faces. */
sp_status sp_geometry_sample(const sp_hexes *hexes, sp_lid element, int face, const sp_rule *rule,
                             sp_sample *out);

/* The length of normal[3][n] at point q: the surface element times weights. */
static inline double sp_geometry_area(const double *normal, int n, int q) {
  return sqrt(normal[q] * normal[q] + normal[n + q] * normal[n + q] +
              normal[2 * n + q] * normal[2 * n + q]);
}
