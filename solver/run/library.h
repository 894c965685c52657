/* The case of the library (solver/sp_solve.h) and functions that its files share. A case is opened,
 * changed and closed in library.c; library_arrays.c has arrays and operators, library_solve.c
 * solves and time steps, library_results.c the results of the last solve. */
#pragma once

#include "io/record.h"
#include "operators/counts.h"
#include "solver/run/running.h"
#include "solver/sp_solve.h"

enum { SP_CASE_SETTABLE = SP_CASE_INITIAL + 1 }; /* L-vectors that can be set come first */

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
  /* Set arrays on the host, [elements][points of `rule`], or NULL. */
  double *coefficients[SP_COEFFICIENTS];
  const sp_rule *rule;       /* of the operator when they were set */
  bool coefficients_changed; /* since `run` was set up */
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

/* The rule of the operator: kappa and lambda may be arrays at its points. Local. */
static inline const sp_rule *sp_library_rule(const sp_config *config) {
  return sp_operator_rule(config->statement.operator_kind, config->statement.order);
}

/* Make the system as before the first solve, at the present time. Collective. */
sp_status sp_library_begin(sp_case *c);

/* Make the system again if a failed solve or step has lost it. Collective. */
sp_status sp_library_restore(sp_case *c);

/* The same, and set up again if coefficients have changed; if that fails, the old set-up stays. The
 * state in time stays. Collective. */
sp_status sp_library_renew(sp_case *c);

/* The caller's array = `host`, or a vector if that is NULL. Collective. */
sp_status sp_library_give_array(const sp_case *c, size_t count, const double *host,
                                const sp_vector *vector, double *values);

/* Forget the last results, hand Dirichlet values to the solver, and make c->added. Collective. */
sp_status sp_library_take_data(sp_case *c);

/* Make c->added a part of the problem, from now on in its load. Collective. */
sp_status sp_library_extend_problem(sp_case *c);

/* Do the parts of this that a linear solve needs: b is then its right-hand side. Collective. */
sp_status sp_library_load(sp_case *c);

/* True if the case is one in time. Local. */
static inline bool sp_library_in_time(const sp_case *c) {
  return c->config->time.end > 0;
}

/* Forget the results of the last solve. Local. */
void sp_library_forget(sp_case *c);
