/* Check that element nodes share a degree of freedom if and only if they are one point. */
#pragma once

#include <float.h>

#include "mesh/numbering.h"
#include "mesh/reference.h"
#include "tests/check.h"

typedef struct dof_point {
  double xyz[3];
  sp_gid dof;
} dof_point;

static inline int dof_points_by_dof(const void *left, const void *right) {
  const dof_point *a = (const dof_point *)left, *b = (const dof_point *)right;
  return (a->dof > b->dof) - (a->dof < b->dof);
}

/* Points of the tests are at least 1e-3 apart, or equal up to rounding. The shift keeps
 * coordinates, fractions with small denominators, away from cell borders. */
static inline int dof_points_by_point(const void *left, const void *right) {
  const dof_point *a = (const dof_point *)left, *b = (const dof_point *)right;
  for (int d = 0; d < 3; d++) {
    const long long i = llround(a->xyz[d] * 1e6 + 0.3719), j = llround(b->xyz[d] * 1e6 + 0.3719);
    if (i != j) return i < j ? -1 : 1;
  }
  return 0;
}

/* The element nodes of all ranks, on rank 0; x modulo 1 in a periodic direction. */
static inline dof_point *dof_points_gather(const sp_mesh *mesh, const sp_numbering *numbering,
                                           const bool *periodic, size_t *count) {
  const sp_rule *gll = &sp_reference_get(numbering->order)->gll;
  const size_t np = sp_grid_points(gll->n), elements = (size_t)mesh->hexes->count;
  dof_point *local = (dof_point *)test_array(elements * np, sizeof *local), *all = NULL;
  double *xyz = (double *)test_array(3 * np, sizeof *xyz);
  for (size_t e = 0; e < elements; e++) {
    sp_hexes_coordinates(mesh->hexes, (sp_lid)e, gll->n, gll->nodes, xyz);
    for (size_t q = 0; q < np; q++) {
      dof_point *to = &local[e * np + q];
      const sp_lid dof = numbering->nodes[e * np + q];
      CHECK(dof >= 0 && dof < numbering->local, "local DOF %d", dof);
      to->dof = sp_numbering_global(numbering, dof);
      for (size_t d = 0; d < 3; d++) {
        const double x = xyz[d * np + q];
        to->xyz[d] = periodic[d] && x > 1 - 1e-9 ? x - 1 : x;
      }
    }
  }
  const int bytes = (int)(elements * np * sizeof *local);
  int *counts = (int *)test_array(2 * (size_t)world_size, sizeof *counts);
  int *starts = counts + world_size;
  MPI_Gather(&bytes, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int r = 1; r < world_size; r++) starts[r] = starts[r - 1] + counts[r - 1];
  *count = (size_t)(starts[world_size - 1] + counts[world_size - 1]) / sizeof *local;
  if (world_rank == 0) all = (dof_point *)test_array(*count, sizeof *all);
  MPI_Gatherv(local, bytes, MPI_BYTE, all, counts, starts, MPI_BYTE, 0, MPI_COMM_WORLD);
  return all;
}

/* All DOFs are on nodes, nodes of one DOF are one point, and nodes of different DOFs are different
 * points. Collective over MPI_COMM_WORLD. */
static inline void check_dof_points(const sp_mesh *mesh, const sp_numbering *numbering,
                                    const bool *periodic) {
  ARRAYS_OF_SCOPE;
  size_t count, distinct = 0;
  int apart = 0, same = 0;
  dof_point *all = dof_points_gather(mesh, numbering, periodic, &count);
  if (world_rank == 0) qsort(all, count, sizeof *all, dof_points_by_dof);
  for (size_t n = 0; n < count && world_rank == 0; n++) {
    if (n == 0 || all[n].dof != all[n - 1].dof) {
      all[distinct++] = all[n];
      continue;
    }
    /* Interpolating points with coordinates below 2 makes errors of a few epsilons. */
    for (int d = 0; d < 3; d++)
      apart += fabs(all[n].xyz[d] - all[distinct - 1].xyz[d]) > 40 * DBL_EPSILON;
  }
  if (world_rank == 0) {
    const sp_gid last = numbering->global - 1;
    CHECK(apart == 0, "%d coordinates of nodes of one DOF differ", apart);
    CHECK((sp_gid)distinct == last + 1 && all[0].dof == 0 && all[distinct - 1].dof == last,
          "%zu DOFs on nodes, %lld in all", distinct, (long long)last + 1);
    qsort(all, distinct, sizeof *all, dof_points_by_point);
    for (size_t n = 1; n < distinct; n++) same += dof_points_by_point(&all[n], &all[n - 1]) == 0;
    CHECK(same == 0, "%d points have two DOFs", same);
  }
}
