/* Kinds that a case chooses, without the solvers that they name. Each list has the words of a case
 * in the order of its enum, and ends with NULL. */
#pragma once

#include "operators/kinds.h"

/* Quantity that is compared with `tolerance`. */
typedef enum sp_cg_criterion { SP_CG_ENERGY, SP_CG_RESIDUAL } sp_cg_criterion;
extern const char *const sp_cg_criterion_names[];

typedef enum sp_preconditioner_kind {
  SP_PRECONDITIONER_AUTO, /* solver/solve/precondition.h */
  SP_PRECONDITIONER_NONE,
  SP_PRECONDITIONER_JACOBI,
  SP_PRECONDITIONER_MULTIGRID
} sp_preconditioner_kind;
extern const char *const sp_preconditioner_names[];

/* S of multigrid's smoother: the rows of the table in smoother.c. */
typedef enum sp_smoother_kind {
  /* schwarz if an element is stretched more than SP_SMOOTHER_STRETCH, more than SP_SMOOTHER_SHARE
   * of all are stretched (mesh/shape.h), or kappa is a tensor */
  SP_SMOOTHER_AUTO,
  SP_SMOOTHER_JACOBI,
  SP_SMOOTHER_SCHWARZ
} sp_smoother_kind;
extern const char *const sp_smoother_names[];

/* Precision of the cycle. Single moves half the bytes, and CG, in double, takes the same number of
 * iterations. */
typedef enum sp_cycle_precision {
  SP_CYCLE_AUTO, /* single if the backend has such operators and lengths suit its range */
  SP_CYCLE_SINGLE,
  SP_CYCLE_DOUBLE
} sp_cycle_precision;
extern const char *const sp_cycle_precision_names[];

/* Solver of multigrid's last level, order 1. */
typedef enum sp_coarse_kind {
  SP_COARSE_AUTO,     /* direct or amg */
  SP_COARSE_AMG,      /* a cycle of algebraic multigrid */
  SP_COARSE_DIRECT,   /* an inverse, for at most sp_coarse_direct_most() rows */
  SP_COARSE_CHEBYSHEV /* only the smoother; iterations then grow with refinement */
} sp_coarse_kind;
extern const char *const sp_coarse_names[];

/* A list of integers of any length up to SP_LIST_MOST. */
enum { SP_LIST_MOST = 16 };
typedef struct sp_list {
  int count, values[SP_LIST_MOST];
} sp_list;

/* How a problem is solved. */
typedef struct sp_solver_options {
  int order;                 /* N, 1..15 */
  sp_geometry_kind geometry; /* may be auto */
  double tolerance;          /* from DBL_EPSILON to below 1 */
  sp_cg_criterion criterion;
  int max_iterations; /* >= 1 */
  sp_preconditioner_kind preconditioner;
  /* For multigrid. */
  sp_smoother_kind smoother;
  int smoother_degree; /* 1..6; 0: chosen */
  sp_list orders;      /* of its levels, decreasing from N to 1; empty: the program chooses */
  sp_coarse_kind coarse;
  sp_cycle_precision precision;
} sp_solver_options;
