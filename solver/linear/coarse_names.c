#include <stddef.h>

#include "solver/linear/coarse.h"

const char *const sp_coarse_names[] = {[SP_COARSE_AUTO] = "auto",
                                       [SP_COARSE_AMG] = "amg",
                                       [SP_COARSE_DIRECT] = "direct",
                                       [SP_COARSE_CHEBYSHEV] = "chebyshev",
                                       NULL};
