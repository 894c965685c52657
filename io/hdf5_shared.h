/* An HDF5 file that all ranks write together, and that takes its place whole or not at all:
 *
 *     rank 0 lays a temporary file out beside PATH (io/file.h), with room on the disk for all of it
 *     ->  every rank writes its parts  ->  sync  ->  rename it to PATH
 *
 * So no rank changes metadata or the size of the file while others write, and a full disk shows on
 * rank 0 and not in a collective call, where a failure of one rank could leave the others waiting.
 * Parts are written independently: a part is one range of bytes a dataset, so that aggregation has
 * nothing to win, and where a collective write fails on one rank only, some MPI libraries (ROMIO)
 * leave the others waiting. */
#ifndef SP_IO_HDF5_SHARED_H
#define SP_IO_HDF5_SHARED_H

#include <stdint.h>

#include "io/error.h"

typedef struct sp_hdf5_shared {
  const char *what, *path; /* "field": messages are "cannot write field PATH: reason" */
  int64_t bytes;           /* that the file will hold, but for some 64 KiB of HDF5's own */
  /* Both are called between sp_hdf5_begin and sp_hdf5_end (io/hdf5_file.h) with an open file.
   * lay_out makes groups, attributes and datasets (sp_hdf5_create_dataset) in an empty file, on
   * rank 0 alone; write fills this rank's part of the datasets, with H5Dwrite and the transfer
   * property list `transfer`. */
  void (*lay_out)(int64_t file, const void *context);
  void (*write)(int64_t file, int64_t transfer, const void *context);
  const void *context;
} sp_hdf5_shared;

/* Write the file. All ranks return the same status; after a failure PATH is what it was before.
 * Collective over `comm`. Errors: SP_ERR_SYSTEM "cannot write WHAT PATH: reason". */
sp_status sp_hdf5_shared_write(MPI_Comm comm, const sp_hdf5_shared *shared);

/* Create a dataset of `type` (an hid_t) with its place in the file fixed, but not written; `shape`
 * has `dimensions` entries. For lay_out. Local. */
void sp_hdf5_create_dataset(int64_t group, const char *name, int64_t type, int dimensions,
                            const int64_t *shape);

#endif
