/* Memory that the host's kernels stream through. All functions Local. */
#pragma once

#include <stddef.h>

#include "io/error.h"

/* out, a pointer to any type, becomes zeroed memory for `count` numbers of `size` bytes, aligned
 * for vectors. Large arrays request huge pages, which halve the cost of streaming. They begin at
 * different offsets within a page, because equal low 12 bits of addresses make loads wait for
 * unrelated stores. sp_host_free frees it. Errors: SP_ERR_SYSTEM; *out is NULL then. */
sp_status sp_host_allocate(size_t count, size_t size, const char *what, void *out);

/* NULL-safe. */
void sp_host_free(void *memory);
