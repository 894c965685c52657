/* Copies between host memory and the GPU.
 *
 * The driver copies between ordinary and pinned memory on one core, which limits it. For large
 * arrays several threads (io/threads.h) do it piece by piece. All functions are Local. */
#pragma once

#include <stddef.h>

#include "io/error.h"
#include "operators/kinds.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Copy host to memory, and memory to host; `memory` is on the current device. They return when the
 * copy is done. No queued work may still use the arrays. Errors: SP_ERR_SYSTEM. */
sp_status sp_cuda_copy_in(size_t bytes, const void *host, void *memory);
sp_status sp_cuda_copy_out(size_t bytes, const void *memory, void *host);

/* Allocate device memory, *out (sp_cuda_allocate), and copy a host array to it. */
sp_status sp_cuda_copy_of(const void *host, size_t count, size_t size, const char *what, void *out);

/* out[i] = values[places[i]], rounded to `precision`; places = NULL: values[i]. */
void sp_cuda_round(sp_precision precision, size_t count, const double *values,
                   const unsigned short *places, void *out);

/* As sp_cuda_copy_of, with each row of values[rows][each] rounded by sp_cuda_round. */
sp_status sp_cuda_copy_rounded(sp_precision precision, size_t rows, size_t each,
                               const double *values, const unsigned short *places, const char *what,
                               void *out);

/* Free the pinned memory, which the first large copy allocates. */
void sp_cuda_copies_close(void);

#ifdef __cplusplus
}
#endif
