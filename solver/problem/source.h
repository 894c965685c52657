/* Check that the quadrature sees the source: a heater that is narrower than the points of an
 * element gives the load vector another strength than the case states. */
#pragma once

#include "operators/space.h"
#include "solver/problem/problem.h"

/* The variation of f in an element is the largest minus the smallest value at the operator's points
 * and at the centre, times the volume. */
typedef struct sp_source_sample {
  double priority, variation;
  sp_lid element;
} sp_source_sample;

/* A sample of the elements of this rank in which f varies, by priority (Duffield, Lund, Thorup: J.
 * ACM 54(6), 2007): the elements with the largest variation / u, where u is a pseudorandom number
 * in (0, 1] of the element. If f varies in more elements than a sample has, `threshold` is the
 * largest priority left out, and the sum of x_e max(1, threshold / variation_e) over the sample is
 * an unbiased estimate of the sum of x_e over all elements. An element that has a large part of all
 * variation is always in it. */
enum { SP_SOURCE_SAMPLES = 128 };
typedef struct sp_source_samples {
  double threshold;
  int count;
  sp_source_sample heap[SP_SOURCE_SAMPLES]; /* the least priority at the top */
} sp_source_samples;

/* Integrals over all ranks: of f and |f| by the operator's quadrature, and how much larger that of
 * f is by the finer one. */
typedef struct sp_source_integral {
  double own, size, excess;
  int points; /* of the finer rule, per direction */
} sp_source_integral;

/* The largest difference at a point between a given forcing and the one that follows from the
 * solution, relative to the largest of both and of |kappa grad u| / width in the element, and the
 * two there. */
typedef struct sp_forcing_difference {
  double relative, given, derived, place[3];
} sp_forcing_difference;

/* Take the largest of all ranks. Collective. */
void sp_forcing_difference_join(MPI_Comm comm, sp_forcing_difference *difference);

/* The formula of f in a material if it varies; NULL if it is constant, or if f follows from a
 * solution (then error norms tell more). Local. */
const sp_expression *sp_source_formula(const sp_problem *problem, const sp_material *material);

/* Add an element with its variation. Local. */
void sp_source_add(sp_source_samples *samples, const sp_hexes *hexes, sp_lid element,
                   double variation);

/* Compare the quadratures; `own` and `size` are this rank's integrals of f and |f|. The finer rule
 * is Gauss-Legendre's with N + 4 points per direction, or one more so that the centre is a point.
 * The excess is exact if on each rank f varies in no more elements than a sample has, and else an
 * estimate. Elements in which f is not finite at a finer point are left out. Errors: SP_ERR_SYSTEM.
 * Collective. */
sp_status sp_source_compare(const sp_problem *problem, const sp_space *space, double own,
                            double size, const sp_source_samples *samples, sp_source_integral *out);
