/* Stands in for coarse.c in a program built without hypre. */
#include <stddef.h>

#include "solver/linear/coarse.h"

bool sp_coarse_is_available(void) {
  return false;
}

const char *sp_coarse_hypre(void) {
  return "none";
}

int sp_coarse_direct_most(const sp_backend *backend) {
  (void)backend;
  return 0;
}

sp_status sp_coarse_create(const sp_system *system, sp_coarse_kind kind, sp_precision precision,
                           sp_coarse **out) {
  (void)system;
  (void)precision;
  *out = NULL;
  return sp_fail(SP_ERR_INPUT,
                 "solver.coarse = %s needs hypre, but this program was built without it; install "
                 "it (Debian: libhypre-dev) and build again, or use auto",
                 sp_coarse_names[kind]);
}

sp_status sp_coarse_complete(sp_coarse *coarse) {
  (void)coarse;
  return SP_OK;
}

void sp_coarse_destroy(sp_coarse **coarse) {
  *coarse = NULL;
}

sp_status sp_coarse_apply(sp_coarse *coarse, sp_status status, const sp_vector *b, sp_vector *x) {
  (void)coarse;
  (void)b;
  (void)x;
  return status;
}

bool sp_coarse_only_queues(const sp_coarse *coarse) {
  (void)coarse;
  return false;
}

const char *sp_coarse_describe(const sp_coarse *coarse) {
  (void)coarse;
  return "none";
}
