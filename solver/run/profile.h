/* Where the time goes: phases of a run, timed on every rank with MPI_Wtime. */
#ifndef SP_SOLVER_RUN_PROFILE_H
#define SP_SOLVER_RUN_PROFILE_H

#include <stdbool.h>

#include "io/run_log.h"

/* In the order of the tables. Solve is the CG loop; matvec, vectors and precondition are parts of
 * it: pass 1 without its reduction, pass 2 with its reduction, and applications of a preconditioner
 * that is no diagonal (solver/linear/cg.h). Checkpoints that are written between iterations are no
 * part of it. */
typedef enum sp_phase {
  SP_PHASE_MESH,
  SP_PHASE_NUMBERING,
  SP_PHASE_PROBLEM,
  SP_PHASE_OPERATOR,
  SP_PHASE_PRECONDITIONER, /* its set-up */
  SP_PHASE_SOLVE,
  SP_PHASE_MATVEC,
  SP_PHASE_VECTORS,
  SP_PHASE_PRECONDITION,
  SP_PHASE_CHECKPOINT,
  SP_PHASE_ERRORS,
  SP_PHASE_FIELD,
  SP_PHASES
} sp_phase;

typedef struct sp_profile {
  int64_t calls[SP_PHASES];
  double seconds[SP_PHASES];
} sp_profile;

/* Add `seconds` and `calls` to a phase. Local. */
void sp_profile_add(sp_profile *profile, sp_phase phase, int64_t calls, double seconds);

/* Add the time since *start (MPI_Wtime) as one call, and set *start to now. Local. */
void sp_profile_lap(sp_profile *profile, sp_phase phase, double *start);

/* Rows for the log and the table: minimum, mean and maximum over ranks. The share is the phase's
 * mean over the mean of the CG loop; phases outside the loop have none (0). Collective. */
void sp_profile_rows(MPI_Comm comm, const sp_profile *profile, sp_phase_row rows[SP_PHASES]);

#endif
