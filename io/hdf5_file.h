/* What the writers of HDF5 files share: how HDF5 tells of errors, and how a file takes the place of
 * an older one such that no reader ever sees a half-written file:
 *
 *     write PATH.tmp  ->  sync  ->  rename PATH.tmp to PATH
 *
 * The messages recorded here are bare reasons ("No space left on device"); callers put before them
 * what could not be written. State is kept per process; nothing here is thread-safe. All functions
 * Local. */
#ifndef SP_IO_HDF5_FILE_H
#define SP_IO_HDF5_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/error.h"

/* Every failing HDF5 call is noticed between these two, so the calls between them need no check
 * of their own (a call that is handed the invalid id of a failed one does nothing but fail):
 *
 *     sp_hdf5_begin();
 *     const hid_t file = H5Fcreate(...);
 *     ...
 *     H5Fclose(file);
 *     status = sp_hdf5_end();
 *
 * sp_hdf5_begin also stops HDF5 from printing, for good. sp_hdf5_failed says whether a call has
 * failed so far. sp_hdf5_end is SP_OK if none did, else SP_ERR_SYSTEM with the innermost reason of
 * the first failure. Pairs do not nest. */
void sp_hdf5_begin(void);
bool sp_hdf5_failed(void);
sp_status sp_hdf5_end(void);

/* Attribute of one value on an object of an open file (an hid_t); for between the two above. Texts
 * have variable length: readers get plain strings, and no limit of 64 KiB. */
void sp_hdf5_attribute_text(int64_t object, const char *name, const char *text);
void sp_hdf5_attribute_integer(int64_t object, const char *name, int64_t value);
void sp_hdf5_attribute_real(int64_t object, const char *name, double value);

/* Write a whole file and let it take PATH's place as above. `fill` makes the contents in an empty
 * open file, without a pair of its own. The file is put together in memory: meant for small ones.
 */
sp_status sp_hdf5_replace(const char *path, void (*fill)(int64_t file, const void *context),
                          const void *context);

/* PATH.tmp, freed by the caller. */
sp_status sp_file_temporary_name(const char *path, char **temporary);

/* Make sure that the disk has room for `bytes` bytes in `path`, which is created if need be and
 * keeps its contents. SP_OK also where the file system cannot tell. */
sp_status sp_file_reserve(const char *path, int64_t bytes);

/* Whether this machine sees `path` and may read and write it. */
sp_status sp_file_check(const char *path);

/* Create or overwrite `path` with `size` bytes, and sync. */
sp_status sp_file_write(const char *path, const void *bytes, size_t size);

/* Wait until what this machine wrote to `path` is on the disk. */
sp_status sp_file_sync(const char *path);

/* rename(2). */
sp_status sp_file_rename(const char *from, const char *to);

#endif
