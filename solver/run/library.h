/* The case of the library (solver/sp_solve.h) and what its files share: library.c opens, changes
 * and closes a case; library_arrays.c has arrays, solves and operators; library_results.c the
 * results of the last solve. */
#pragma once

#include "io/record.h"
#include "solver/run/running.h"
#include "solver/sp_solve.h"

enum { SP_CASE_SETTABLE = SP_CASE_INITIAL + 1 }; /* arrays that can be set come first */

struct sp_case {
  MPI_Comm comm; /* of the caller */
  char *path;    /* of the case file, "" without one */
  char *text;    /* of the case; NULL for defaults */
  int length;    /* of the text */
  char **keys;   /* [key_count], overrides so far */
  int key_count;
  sp_config *config;
  sp_workers workers;
  sp_mesh *mesh;
  sp_running *run;      /* the set-up, replaced by sp_case_change */
  sp_results results;   /* of `run`, with the times since the case was opened */
  sp_terminal terminal; /* silent */

  /* L-vectors of the backend, each made when it is needed. */
  sp_vector arrays[SP_CASE_SETTABLE], initial; /* set ones; problem.initial */
  sp_vector added, in, out; /* load of the last solve, beside the case's; scratch */
  bool is_set[SP_CASE_SETTABLE];
  bool values_changed; /* Dirichlet values, since the last solve */
  double *extra;       /* `added` on the host */
  sp_operator *mass;

  sp_case_progress *progress;
  void *context;

  /* Of the last solve. */
  bool solved, evaluated, is_recorded;
  sp_status status;            /* of CG */
  sp_kept_error outcome;       /* with what the results show */
  sp_record *record;           /* on rank 0, if it is recorded */
  char *json;                  /* the same as a document, on all ranks */
  sp_cg_iteration *iterations; /* [iteration_count] on rank 0, for the log */
  double *seconds_by_rank;     /* [iteration_count][ranks] */
  size_t iteration_count;
};

/* The code of a status; never 4, which belongs to the program. Local. */
int sp_library_code(sp_status status);

/* The code of a wrong call, with a message. Local. */
int sp_library_fail(const char *function, const char *reason);

/* Check the length of an array of the caller. Errors: SP_ERR_INPUT. Local. */
sp_status sp_library_check(const char *function, size_t expected, size_t count, const void *values);

/* sp_running.on_iteration with the case as context. Local. */
bool sp_library_on_iteration(void *c, const sp_cg_iteration *iteration);

/* Evaluate the last solve, unless it has been. Errors: no solve. Collective. */
sp_status sp_library_evaluate(sp_case *c);

/* Forget the results of the last solve. Local. */
void sp_library_forget(sp_case *c);
