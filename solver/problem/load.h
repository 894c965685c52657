/* The load vector: the formulas of f and g become an L-vector. */
#pragma once

#include "operators/space.h"
#include "solver/problem/problem.h"
#include "solver/problem/source.h"

/* Largest and smallest |J| at the operator's quadrature points, over all ranks. */
typedef struct sp_jacobian_range {
  double smallest, largest;
} sp_jacobian_range;

/* Integrals of the data, with the quadrature of the load vector, on this rank. */
typedef struct sp_load_sums {
  double source, size; /* of f and |f| */
  /* The caller allocates both, with zeros. */
  double *given;     /* [surface.count + 1], of g over the faces of each surface; last, of faces
                        that no surface covers */
  double *variation; /* [elements], of f (solver/problem/source.h); or NULL */
  double *sources;   /* [elements], of f over each, overwritten; or NULL */
  double *fluxes;    /* [problem->face_count], of g over each face, 0 without g; or NULL */
  const bool (*left_out)[SP_FACES]; /* [elements], faces that `given` leaves out; NULL: none */
  sp_forcing_difference forcing;    /* zeros without a forcing or a solution */
} sp_load_sums;

/* Count a load in the sums, as a source. `values` is an L-vector. Local. */
void sp_load_sums_add(const sp_space *space, const double *values, sp_load_sums *sums);

/* The load vector: load_i = integral of l_i f + integral over faces of l_i g (flux conditions),
 * with the operator's own quadrature (GLL if they have alpha), plus problem->extra_i; [local DOFs]
 * on the host, summed over ranks. Only of the elements marked in elements[elements] and then
 * without `extra`, which belongs to no element; and without g on faces that are
 * skipped[elements][SP_FACES]; NULL for all elements, and for none skipped. Fills *range,
 * and adds to *sums unless that is NULL. Errors: SP_ERR_INPUT if a formula is not finite.
 * Collective. */
sp_status sp_problem_load(const sp_problem *problem, const sp_space *space, const bool *elements,
                          const bool (*skipped)[SP_FACES], double *load, sp_jacobian_range *range,
                          sp_load_sums *sums);

/* integrals[elements] += the integral of f over each element, and of g over its faces,
 * with the quadrature of an operator of the same kind and another order. Errors: as above.
 * Collective. */
sp_status sp_problem_integrals(const sp_problem *problem, const sp_space *space, int order,
                               double *integrals);
