/* Stands in for coarse.c in a program built without hypre. */
#include <stddef.h>

#include "solver/linear/coarse.h"

bool sp_coarse_is_available(void) {
  return false;
}

sp_status sp_coarse_create(const sp_operator_setup *setup, const sp_constants *constants,
                           sp_coarse **out) {
  (void)setup;
  (void)constants;
  *out = NULL;
  return sp_fail(
      SP_ERR_INPUT,
      "solver.coarse = amg needs hypre, which this program was built without: install it "
      "(Debian: libhypre-dev) and build again, or use auto");
}

void sp_coarse_destroy(sp_coarse **coarse) {
  *coarse = NULL;
}

sp_status sp_coarse_solve(sp_coarse *coarse, sp_status status, double *b, double *x) {
  (void)coarse;
  (void)b;
  (void)x;
  return status;
}

const char *sp_coarse_describe(const sp_coarse *coarse) {
  (void)coarse;
  return "none";
}

double sp_coarse_predicted_bytes(double dofs) {
  (void)dofs;
  return 0;
}
