/* Check that the quadrature resolves the data: the load vector of a heater that is narrower than
 * the distance between points of an element or a face has another strength than the case states. */
#pragma once

#include "operators/space.h"
#include "solver/problem/problem.h"

/* Integrals over all ranks: of f and |f| by the operator's quadrature, and how much larger the
 * integral of f is by the finer one. */
typedef struct sp_source_integral {
  double own, size, excess;
  int points; /* of the finer rule, per direction */
} sp_source_integral;

/* The largest difference at a point between the given forcing and the forcing that follows from the
 * solution, with both values. It is relative to the largest of both and of |kappa grad u| / width
 * in the element. */
typedef struct sp_forcing_difference {
  double relative, given, derived, place[3];
} sp_forcing_difference;

/* Take the largest of all ranks. Collective. */
void sp_forcing_difference_join(MPI_Comm comm, sp_forcing_difference *difference);

/* The formula of f in a material if it varies; NULL if it is constant, or if f follows from a
 * solution (then error norms tell more). Local. */
const sp_expression *sp_source_formula(const sp_problem *problem, const sp_material *material);

/* Likewise for formulas of faces: of g of flux conditions, then alpha, in out[2]. Every face is
 * compared, unless its data are constant, depend on u, or are not finite at a point. Errors:
 * SP_ERR_SYSTEM. Collective. */
enum { SP_FACE_DATA = 2 };
sp_status sp_source_compare_faces(const sp_problem *problem, const sp_space *space,
                                  sp_source_integral out[SP_FACE_DATA]);

/* Compare the quadratures. `own` and `size` are this rank's integrals of f and |f|. Where f varies,
 * variation[elements] is its largest minus its smallest value at the operator's points and at the
 * centre, times the volume of the element. The finer rule is Gauss-Legendre's with N + 4 points per
 * direction, or one more so that the centre is a point. In all elements it would take longer than
 * the load vector. So at most SP_SOURCE_MOST elements of a rank are compared: all if f varies in no
 * more, else the elements with the largest variation and a sample of the others. Each of these has
 * a probability proportional to its variation. Elements in which f is not finite at a finer point
 * are left out. Errors: SP_ERR_SYSTEM. Collective. */
enum { SP_SOURCE_MOST = 128 };
sp_status sp_source_compare(const sp_problem *problem, const sp_space *space, double own,
                            double size, const double *variation, sp_source_integral *out);
