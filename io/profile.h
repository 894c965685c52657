/* Profile of a run: its phases, timed on every rank with MPI_Wtime.
 *
 *     total = start + case + device + ... + solve + ... + log + rest
 *     solve = matvec + vectors + precondition + residual + reductions + rest of solve
 *
 * `file (gmsh)` and `parts (METIS)` are some of the parts of `mesh`, `mesher (gmsh)` is one of
 * `file`, `writing` is one of `field`. `rest` and `rest of solve` are the times in no other row.
 * The sums hold on every rank, hence for the means over ranks, but not for minima and maxima. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/terminal.h"

/* In the order of the tables. */
typedef enum sp_phase {
  SP_PHASE_START,  /* from the start of the process to the end of MPI_Init */
  SP_PHASE_CASE,   /* arguments, case file, checks of the outputs */
  SP_PHASE_DEVICE, /* opening it; for a GPU, creating its context */
  SP_PHASE_MESH,
  SP_PHASE_FILE,   /* of the mesh: the gmsh SDK reads the file, or meshes a geometry */
  SP_PHASE_MESHER, /* of the file: gmsh generates the mesh of a geometry */
  SP_PHASE_METIS,  /* of the mesh: METIS divides it; other ranks wait for rank 0 */
  SP_PHASE_NUMBERING,
  SP_PHASE_PROBLEM,
  SP_PHASE_OPERATOR,       /* its set-up, with b and the start of CG */
  SP_PHASE_PRECONDITIONER, /* its set-up */
  SP_PHASE_SOLVE,          /* the CG loop */
  SP_PHASE_MATVEC,         /* of the solve: passes 1 with the exchange of values */
  SP_PHASE_WAIT, /* of the matvec: waiting for neighbours' values on the host; not timed on a GPU */
  SP_PHASE_VECTORS,      /* of the solve: passes 2 */
  SP_PHASE_PRECONDITION, /* of the solve: applications of a preconditioner that is not a diagonal */
  SP_PHASE_RESIDUAL,     /* of the solve: b - A x before the first iteration and after the last */
  SP_PHASE_REDUCTIONS,   /* of the solve: sums over ranks, with waiting for other ranks */
  SP_PHASE_SOLVE_REST,   /* of the solve: the loop itself, rows and writes of the log, progress */
  SP_PHASE_SOLUTION,     /* from the device, with boundary values and means */
  SP_PHASE_ERRORS,
  SP_PHASE_PROBES,   /* finding and evaluating them */
  SP_PHASE_RESULTS,  /* the balance and [result] */
  SP_PHASE_ACCURACY, /* error bars: the solve at another order */
  SP_PHASE_FIELD,
  SP_PHASE_WRITING, /* of the field: writing the file, with the order of its points */
  SP_PHASE_LOG,     /* writing it before and after the iteration */
  SP_PHASE_REST,
  SP_PHASE_TOTAL,
  SP_PHASES
} sp_phase;

typedef struct sp_profile {
  double begun; /* MPI_Wtime at which `total` begins */
  int64_t calls[SP_PHASES];
  double seconds[SP_PHASES];
} sp_profile;

typedef struct sp_phase_row {
  int depth;                  /* 0 for the total and its parts, 1 for parts of these, and so on */
  const char *name, *part_of; /* the row that contains this one, "" for the total */
  int64_t calls;
  double seconds_min, seconds_mean, seconds_max; /* over ranks */
  double share, share_of_total;                  /* of the solve, 0..1; of the whole run */
} sp_phase_row;

/* Return a profile that begins now. Local. */
sp_profile sp_profile_from_now(void);

/* A profile that begins with the process, with `start` until now; call it right after MPI_Init. If
 * the system does not report when the process began, it begins now and has no `start`. Linux
 * reports it to 10 ms, in field 22 of /proc/self/stat. A shell that becomes the program by `exec`
 * counts from its own start. Local. */
sp_profile sp_profile_from_process(void);

/* Add `seconds` and `calls` to a phase. Local. */
void sp_profile_add(sp_profile *profile, sp_phase phase, int64_t calls, double seconds);

/* Begin a phase: show its name as the progress line. Returns MPI_Wtime. `terminal` may be NULL:
 * nothing is shown. Local. */
double sp_profile_begin(sp_terminal *terminal, sp_phase phase);

/* End a phase: add the time since `start` as one call. A phase before the solve that took more than
 * half a second leaves a line if there is a progress line. Local. */
void sp_profile_end(sp_profile *profile, sp_terminal *terminal, sp_phase phase, double start);

/* Add the phases of `other`, a run of a series. Local. */
void sp_profile_merge(sp_profile *profile, const sp_profile *other);

/* Compute rows for the log and the table: minimum, mean and maximum over ranks until now. Shares
 * are computed from the means; the share of the solve is 0 for phases outside of it. Collective. */
void sp_profile_rows(MPI_Comm comm, const sp_profile *profile, sp_phase_row rows[SP_PHASES]);
