/* The levels of algebraic multigrid in host memory, made by hypre's BoomerAMG. This rank has the
 * whole matrix. All functions are Local. */
#ifndef SP_SOLVER_LINEAR_HIERARCHY_H
#define SP_SOLVER_LINEAR_HIERARCHY_H

#include "operators/backend.h"

enum { SP_HIERARCHY_MOST = 25 };

/* The last level has no transfer. */
typedef struct sp_hierarchy_level {
  sp_csr matrix;
  sp_csr interpolation,
      restriction;          /* from the next level and to it; each is the transpose of the other */
  double *inverse_diagonal; /* [rows] */
  double bound;             /* on the eigenvalues of D^-1 A: 1.1 times an estimate */
} sp_hierarchy_level;

typedef struct sp_hierarchy {
  int levels;
  sp_hierarchy_level level[SP_HIERARCHY_MOST];
} sp_hierarchy;

/* Build the levels of a symmetric positive definite matrix. Coarsening ends at a level with at most
 * `direct` rows, or if hypre finds no coarser one because the diagonal dominates. It calls MPI on
 * MPI_COMM_SELF, and hypre; only one thread at a time may use hypre. sp_hierarchy_free frees *out,
 * also after an error. Errors: SP_ERR_SYSTEM; SP_ERR_INPUT for more entries than int counts. */
sp_status sp_hierarchy_create(const sp_csr *matrix, int direct, sp_hierarchy *out);
void sp_hierarchy_free(sp_hierarchy *hierarchy);

#endif
