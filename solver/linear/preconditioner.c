#include "solver/linear/preconditioner.h"

#include <stddef.h>

const char *const sp_preconditioner_names[] = {[SP_PRECONDITIONER_AUTO] = "auto",
                                               [SP_PRECONDITIONER_NONE] = "none",
                                               [SP_PRECONDITIONER_JACOBI] = "jacobi",
                                               [SP_PRECONDITIONER_MULTIGRID] = "multigrid",
                                               NULL};
