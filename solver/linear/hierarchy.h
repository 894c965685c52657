/* The levels of algebraic multigrid for a matrix that this rank has whole, in host memory: hypre's
 * BoomerAMG makes them. All functions are Local. */
#ifndef SP_SOLVER_LINEAR_HIERARCHY_H
#define SP_SOLVER_LINEAR_HIERARCHY_H

#include "operators/backend.h"

enum { SP_HIERARCHY_MOST = 25 };

/* The last level has no transfer. */
typedef struct sp_hierarchy_level {
  sp_csr matrix;
  sp_csr interpolation, restriction; /* from the next level and to it, transposes of each other */
  double *inverse_diagonal;          /* [rows] */
  double bound;                      /* of the eigenvalues of D^-1 A, 1.1 times an estimate */
} sp_hierarchy_level;

typedef struct sp_hierarchy {
  int levels;
  sp_hierarchy_level level[SP_HIERARCHY_MOST];
} sp_hierarchy;

/* For a symmetric positive definite matrix. Levels end at one with at most `direct` rows, or if
 * hypre finds none coarser, because the diagonal dominates. It calls MPI, on MPI_COMM_SELF, and
 * hypre, which is used by one thread at a time. sp_hierarchy_free frees *out, also after an error.
 * Errors: SP_ERR_SYSTEM; SP_ERR_INPUT for more entries than int counts. */
sp_status sp_hierarchy_create(const sp_csr *matrix, int direct, sp_hierarchy *out);
void sp_hierarchy_free(sp_hierarchy *hierarchy);

#endif
