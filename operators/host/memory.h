/* Memory that the host's kernels stream through. All functions Local. */
#pragma once

#include <stddef.h>

#include "io/error.h"
#include "operators/kinds.h"

/* out, a pointer to any type, becomes zeroed memory for `count` numbers of `size` bytes, aligned
 * for vectors. Large arrays request huge pages, which halve the cost of streaming. They begin at
 * different offsets within a page, because equal low 12 bits of addresses make loads wait for
 * unrelated stores. sp_host_free frees it. Errors: SP_ERR_SYSTEM; *out is NULL then. */
sp_status sp_host_allocate(size_t count, size_t size, const char *what, void *out);

/* NULL-safe. */
void sp_host_free(void *memory);

/* array[index] = value, rounded to the array's precision. */
static inline void sp_host_store(sp_precision precision, double value, size_t index, void *array) {
  if (precision == SP_SINGLE)
    ((float *)array)[index] = (float)value;
  else
    ((double *)array)[index] = value;
}

/* to[i] = from[i], rounded. */
void sp_host_round(sp_precision precision, size_t count, const double *from, void *to);

/* *out = a rounded copy, from sp_host_allocate. Errors: SP_ERR_SYSTEM. */
sp_status sp_host_copy_rounded(sp_precision precision, size_t count, const double *from,
                               const char *what, void *out);
