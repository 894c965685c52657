/* Helpers of the writers of HDF5 files: error handling of HDF5, and small files that are written in
 * one piece.
 *
 * The messages recorded here are bare reasons ("No space left on device"); callers prefix them with
 * the file's name. State is kept per process; nothing here is thread-safe. All functions Local. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/error.h"

/* Every HDF5 call that fails between begin and end is recorded, so these calls need no check of
 * their own. A call with the invalid id that a failed one returned fails as well.
 *
 *     sp_hdf5_begin();
 *     const hid_t file = H5Fcreate(...);
 *     ...
 *     H5Fclose(file);
 *     status = sp_hdf5_end();
 *
 * From sp_hdf5_begin until the program ends HDF5 prints nothing. Meanwhile sp_hdf5_failed is true
 * if a call has failed. The result of sp_hdf5_end is SP_OK, or SP_ERR_SYSTEM with the innermost
 * reason of the first failure. Pairs do not nest. */
void sp_hdf5_begin(void);
bool sp_hdf5_failed(void);
sp_status sp_hdf5_end(void);

/* Give an object an attribute, one value or with count > 0 a list, of a type of HDF5. */
void sp_hdf5_attribute(int64_t object, const char *name, int64_t type, int count,
                       const void *value);

/* The type of texts in UTF-8 of `size` bytes or H5T_VARIABLE; the caller calls H5Tclose. */
int64_t sp_hdf5_text_type(size_t size);

/* Replace `path` (io/file.h) by a file whose contents `fill` writes into an empty open file; `fill`
 * does not call sp_hdf5_begin or sp_hdf5_end. The file is built in memory, so this is for small
 * files. Errors: SP_ERR_SYSTEM. */
sp_status sp_hdf5_replace(const char *path, void (*fill)(int64_t file, const void *context),
                          const void *context);
