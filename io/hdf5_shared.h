/* An HDF5 file that all ranks write together, and that appears whole or not at all:
 *
 *     rank 0 creates a temporary file beside PATH (io/file.h) and reserves disk space for all of it
 *     ->  every rank writes its parts  ->  sync  ->  rename it to PATH
 *
 * So no rank changes metadata or the size of the file while others write, and a full disk is
 * detected on rank 0, outside of any collective call. Ranks write their parts independently: a part
 * is one range of bytes per dataset, so aggregation would gain nothing, and if a collective write
 * fails on one rank only, some MPI libraries (ROMIO) leave the other ranks waiting. */
#pragma once

#include <stdint.h>

#include "io/error.h"

typedef struct sp_hdf5_shared {
  const char *what, *path; /* "field": messages are "cannot write field PATH: reason" */
  int64_t bytes;           /* size of the data, without HDF5's own 64 KiB or so */
  /* Both are called between sp_hdf5_begin and sp_hdf5_end (io/hdf5_file.h) with an open file.
   * lay_out creates groups, attributes and datasets (sp_hdf5_create_dataset) in an empty file, on
   * rank 0 only; write fills this rank's part of the datasets with H5Dwrite and the transfer
   * property list `transfer`. */
  void (*lay_out)(int64_t file, const void *context);
  void (*write)(int64_t file, int64_t transfer, const void *context);
  const void *context;
} sp_hdf5_shared;

/* Write the file. All ranks return the same status; after a failure PATH is what it was before.
 * Collective over `comm`. Errors: SP_ERR_SYSTEM "cannot write WHAT PATH: reason". */
sp_status sp_hdf5_shared_write(MPI_Comm comm, const sp_hdf5_shared *shared);

/* Create a dataset of `type` (an hid_t): its space in the file is allocated but not written.
 * `shape` has `dimensions` entries. To be called from lay_out. Local. */
void sp_hdf5_create_dataset(int64_t group, const char *name, int64_t type, int dimensions,
                            const int64_t *shape);
