/* Extrema of the polynomial in an element, which are between nodes in general: the error of the
 * largest node does not fall with the order. */
#pragma once

#include "mesh/hexes.h"
#include "mesh/reference.h"

/* By how much the least value can fall below the least node, as a part of the element's range
 * (largest minus smallest node). A parabola needs 1/8 per direction. */
#define SP_EXTREMUM_MARGIN 0.5

/* Less than this part of the range counts as rounding. */
#define SP_EXTREMUM_VISIBLE 1e-12

enum { SP_EXTREMUM_WORK = 4 * SP_MAX_NODES };

/* A search over an element or its face (-1: the whole element). */
typedef struct sp_extremum_search {
  int order, face;
  double sign;         /* of u: 1 for its minimum, -1 */
  const double *nodal; /* u, [Nq][Nq][Nq] */
  double range;        /* > 0, the largest less the smallest of nodal[] */
  double limit;        /* nothing above is searched for */
  double *work;        /* [SP_EXTREMUM_WORK], scratch */
  double least;        /* found: sign * u, or DBL_MAX */
  double place[3];     /* its point */
} sp_extremum_search;

/* Find the minimum of sign * u below the limit. Newton's method starts from the least node of the
 * element and of each box from halving it twice, unless the lower bound of the box rules it out.
 * The result s->least is DBL_MAX if the bound of the element is not below the limit. Local. */
void sp_extremum_find(const sp_hexes *hexes, sp_lid element, sp_extremum_search *s);

/* Return a lower bound of sign * u - least over an element or, with two dimensions, a face: the
 * least of 0 and the coefficients of Bernstein's polynomials. values[Nq]^dimensions of u; `least`
 * is the least of sign * values; work[SP_EXTREMUM_WORK] is scratch. Local. */
double sp_extremum_bound(int order, int dimensions, double sign, double least, const double *values,
                         double *work);
