/* The preconditioner that a case asks for, and the problem on the levels of multigrid. */
#ifndef SP_SOLVER_RUN_PRECONDITION_H
#define SP_SOLVER_RUN_PRECONDITION_H

#include "io/config.h"
#include "solver/linear/preconditioner.h"
#include "solver/problem/null_space.h"
#include "solver/problem/problem.h"

/* What `auto` becomes for an operator; other kinds stay. *reason says why, for the user; a constant
 * string. Local. */
sp_preconditioner_kind sp_precondition_choose(sp_preconditioner_kind request, sp_operator_kind kind,
                                              const char **reason);

/* A preconditioner for `op`, which was built from `setup` for `problem`. `constants` is the null
 * space where the operator has one, else NULL. All of these must outlive *out, except `setup`.
 * *out is NULL for none; the caller destroys it. Errors: those of sp_jacobi_create and
 * sp_multigrid_create. Collective. */
sp_status sp_precondition_create(const sp_config *config, const sp_problem *problem,
                                 sp_operator *op, const sp_operator_setup *setup,
                                 const sp_null_space *constants, sp_preconditioner **out,
                                 const char **reason);

#endif
