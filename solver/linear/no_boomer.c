/* Stands in for coarse_boomer.c in a program built without hypre, which never makes an sp_boomer.
 */
#include <stddef.h>

#include "solver/linear/coarse_boomer.h"

const char *sp_boomer_hypre(void) {
  return NULL;
}

sp_status sp_boomer_create(const sp_operator_setup *setup, const sp_constants *constants,
                           sp_boomer **out) {
  (void)setup, (void)constants;
  *out = NULL;
  return sp_fail(SP_ERR_SYSTEM, "this program was built without hypre");
}

void sp_boomer_destroy(sp_boomer **boomer) {
  *boomer = NULL;
}

sp_status sp_boomer_solve(sp_boomer *boomer, double *b, double *x) {
  (void)boomer, (void)b, (void)x;
  return SP_OK;
}
