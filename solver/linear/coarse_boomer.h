/* One V-cycle of hypre's BoomerAMG on the host, in which all ranks take part: the coarsest problem
 * (coarse.h) of several ranks on CPUs. All functions are Collective. */
#pragma once

#include "operators/system.h"

typedef struct sp_boomer sp_boomer;

/* Return the version of hypre: a constant string, NULL in a program built without it. Local. */
const char *sp_boomer_hypre(void);

/* For the matrix of sp_coarse_assemble. Only the space is used afterwards. The caller destroys
 * *out. Errors: SP_ERR_INPUT for more DOFs than hypre's integers count; SP_ERR_SYSTEM. */
sp_status sp_boomer_create(const sp_operator_setup *setup, const sp_constants *constants,
                           sp_boomer **out);

/* NULL-safe; sets *boomer to NULL. */
void sp_boomer_destroy(sp_boomer **boomer);

/* x = B b on the owned DOFs, [owned]; both are zero at constrained DOFs. In a null space b and x
 * are projected. Returns a failure of any rank, or without a null space of this one. */
sp_status sp_boomer_solve(sp_boomer *boomer, double *b, double *x);
