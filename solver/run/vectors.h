/* L-vectors in host memory, on the threads of io/threads.h. All functions are Local. */
#pragma once

#include <stddef.h>

#include "io/error.h"

/* y += x. Errors: SP_ERR_SYSTEM. */
sp_status sp_vectors_add(size_t count, const double *x, double *y);

/* *largest = the largest absolute value that is not NaN; 0 if there is none. Errors:
 * SP_ERR_SYSTEM. */
sp_status sp_vectors_largest(size_t count, const double *x, double *largest);
