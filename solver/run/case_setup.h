/* A case on its way, and its set-up: from the space to what CG needs. */
#ifndef SP_SOLVER_RUN_CASE_SETUP_H
#define SP_SOLVER_RUN_CASE_SETUP_H

#include "solver/problem/coefficients.h"
#include "solver/problem/interfaces.h"
#include "solver/problem/null_space.h"
#include "solver/problem/robin.h"
#include "solver/run/postprocess.h"
#include "solver/run/precondition.h"
#include "solver/run/profile.h"
#include "solver/run/report.h"
#include "solver/run/report_notes.h"
#include "solver/run/workers.h"

/* Everything that a case owns, so that there is one place that releases it, and in front what it
 * stands on. */
typedef struct sp_case {
  const sp_workers *workers;
  MPI_Comm comm; /* of the ranks with elements */
  const sp_config *config;
  const sp_mesh *mesh;
  const sp_platform *platform;
  sp_terminal *terminal; /* for the names of phases; NULL for one of a series */
  sp_terminal *series;   /* of one of a series; else NULL */
  sp_report *report;     /* NULL for one of a series */
  const char *field;     /* the file that was written, NULL if there is none */
  char *unconverged;     /* its path if the solution has not converged, else NULL */

  sp_postprocess *postprocess; /* NULL for one of a series */
  sp_space *space;
  sp_problem *problem;
  sp_jacobian_range range;
  sp_coefficients coefficients; /* until the preconditioner is built, as the Robin faces' part */
  sp_robin robin;
  sp_interface_jumps jumps;
  sp_notes notes;
  sp_null_space *null_space; /* of the parts whose mean nothing determines; NULL for none */
  sp_null_space *weak;       /* of those whose mean lambda and alpha alone determine; likewise */
  sp_operator_setup setup;   /* of the operator; its arrays are those here */
  sp_operator *op;
  const char *geometry_reason, *preconditioner_reason;
  sp_precondition_facts facts;
  sp_preconditioner_creation *creation; /* while it is created */
  sp_preconditioner *preconditioner;    /* NULL for none */
  /* L-vectors on the host. `load` becomes the right-hand side; `work` is scratch. */
  bool *constrained;
  double *boundary_values, *load, *solution, *work;
  /* L-vectors on the device. */
  double *x, *b, *r;
  double weight;       /* 1.A 1 on free DOFs (solver/linear/start.h) */
  double start_energy; /* of a start that is close to the solution (solver/linear/cg.h) */
} sp_case;

/* From the space to right-hand side, preconditioner and initial iterate, and the time of each
 * phase. The caller has set the fields from `workers` to `postprocess`. Errors: those of all
 * phases. Collective. */
sp_status sp_case_set_up(sp_case *c, sp_profile *profile);

/* Free what the case owns, however far it got. Collective. */
void sp_case_release(sp_case *c);

/* Copies of L-vectors between host and device. Collective. */
sp_status sp_case_upload(const sp_case *c, const double *host, double *vector);
sp_status sp_case_download(const sp_case *c, const double *vector, double *host);

#endif
