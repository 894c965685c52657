/* Vectors over the DOFs of a space: values of a function at the nodes, and inner products. */
#pragma once

#include "mesh/reference.h"
#include "operators/space.h"
#include "tests/check.h"

/* values[local DOFs] = f at the nodes. */
static inline void nodal_fill(const sp_space *space, double (*f)(const double x[3], int parameter),
                              int parameter, double *values) {
  const sp_rule *gll = &sp_reference_get(space->numbering->order)->gll;
  const size_t nodes = sp_grid_points(gll->n);
  double *xyz = (double *)test_array(3 * nodes, sizeof *xyz);
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++) {
    sp_hexes_coordinates(space->mesh->hexes, e, gll->n, gll->nodes, xyz);
    for (size_t n = 0; n < nodes; n++)
      values[space->numbering->nodes[(size_t)e * nodes + n]] =
          f((const double[]){xyz[n], xyz[nodes + n], xyz[2 * nodes + n]}, parameter);
  }
}

/* The inner product of L-vectors. Collective over MPI_COMM_WORLD. */
static inline double nodal_dot(const sp_space *space, const double *a, const double *b) {
  double sum = 0;
  for (sp_lid i = 0; i < space->numbering->owned; i++) sum += a[i] * b[i];
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}
