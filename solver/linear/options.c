#include "solver/linear/options.h"

#include <stddef.h>

const char *const sp_cg_criterion_names[] = {"energy", "residual", NULL};

const char *const sp_preconditioner_names[] = {[SP_PRECONDITIONER_AUTO] = "auto",
                                               [SP_PRECONDITIONER_NONE] = "none",
                                               [SP_PRECONDITIONER_JACOBI] = "jacobi",
                                               [SP_PRECONDITIONER_MULTIGRID] = "multigrid",
                                               NULL};

const char *const sp_cycle_precision_names[] = {
    [SP_CYCLE_AUTO] = "auto", [SP_CYCLE_SINGLE] = "single", [SP_CYCLE_DOUBLE] = "double", NULL};

const char *const sp_coarse_names[] = {[SP_COARSE_AUTO] = "auto",
                                       [SP_COARSE_AMG] = "amg",
                                       [SP_COARSE_DIRECT] = "direct",
                                       [SP_COARSE_CHEBYSHEV] = "chebyshev",
                                       NULL};
