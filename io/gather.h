/* Lists of records that every rank needs whole: boundary groups, faces of periodic groups. */
#ifndef SP_IO_GATHER_H
#define SP_IO_GATHER_H

#include <stddef.h>

#include "io/error.h"

/* The records of all ranks, rank by rank: this rank has `count` of `width` bytes at `mine`; *all,
 * which the caller frees, holds *all_count. `what` names them in messages. Errors: SP_ERR_INPUT for
 * 2^31 records or more, SP_ERR_SYSTEM; *all is NULL then. Collective over `comm`. */
sp_status sp_gather_records(MPI_Comm comm, const void *mine, size_t count, size_t width,
                            const char *what, void *all, size_t *all_count);

#endif
