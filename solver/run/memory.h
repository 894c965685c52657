/* Memory of a run on one rank, predicted from its sizes for the dry run. The formulas count arrays
 * that grow with elements or DOFs; they are accurate to 15 %. */
#pragma once

#include "mesh/sizes.h"
#include "operators/backend.h"
#include "solver/linear/multigrid.h"

/* Bytes of host memory, and of device memory if it is separate. */
typedef struct sp_memory {
  double host, device;
} sp_memory;

/* The operator, or a level of multigrid. */
typedef struct sp_memory_level {
  sp_operator_kind kind;
  sp_geometry_kind geometry; /* stored or trilinear */
  int order;
  bool affine;    /* all elements are parallelepipeds */
  bool coarser;   /* on a coarser mesh, which the level owns */
  bool is_tensor; /* kappa is a tensor; of the first level only */
  sp_sizes sizes;
} sp_memory_level;

typedef struct sp_memory_case {
  const sp_backend *backend;
  int ranks;         /* with elements */
  bool is_first;     /* rank 0 */
  int threads;       /* of a rank */
  int map_order;     /* of the elements */
  double at_start;   /* host bytes of the program and its libraries */
  int coefficients;  /* doubles per element for kappa and lambda at the quadrature points */
  int field_columns; /* doubles per node of the field file, coordinates included; 0: no file */
  bool flux;         /* the field file has the flux */
  bool null_space;   /* DOFs are numbered by connected component */
  bool has_initial;  /* problem.initial is given */
  bool one_sweep;    /* the operator is built for CG in one sweep */
  sp_preconditioner_kind preconditioner; /* not auto */
  sp_multigrid_options multigrid;        /* without auto; like `rows`, only with multigrid */
  double rows;                           /* of the last level on all ranks */
  double bars; /* the share of bars (operators/bars.h) if they have a level, else 0 */
  sp_memory_level levels[SP_MULTIGRID_MOST]; /* the first one is the operator */
} sp_memory_case;

/* Host bytes of a mesh. Local. */
double sp_memory_of_mesh(const sp_sizes *sizes, int map_order);

/* Return where the last level of multigrid is solved. Local. */
sp_coarse_place sp_memory_place(const sp_memory_case *c);

/* Return the peak of the case on this rank. Local. */
sp_memory sp_memory_predict(const sp_memory_case *c);
