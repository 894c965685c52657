/* Lists of records that every rank needs completely: boundary groups, faces of periodic groups. */
#pragma once

#include <stddef.h>

#include "io/error.h"

/* Gather the records of all ranks, in rank order: `mine` is this rank's [count] records of `width`
 * bytes. *(void **)all becomes the array of *all_count records, which the caller frees. `what`
 * names the records in messages. Errors: SP_ERR_INPUT for 2^31 records or more, SP_ERR_SYSTEM; *all
 * is then NULL. Collective over `comm`. */
sp_status sp_gather_records(MPI_Comm comm, const void *mine, size_t count, size_t width,
                            const char *what, void *all, size_t *all_count);
