/* What the writers of HDF5 files share: how HDF5 tells of errors, attributes, and small files that
 * are written whole.
 *
 * The messages recorded here are bare reasons ("No space left on device"); callers put before them
 * what could not be written. State is kept per process; nothing here is thread-safe. All functions
 * Local. */
#ifndef SP_IO_HDF5_FILE_H
#define SP_IO_HDF5_FILE_H

#include <stdbool.h>
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

/* Write a whole file and let it take PATH's place (io/file.h). `fill` makes the contents in an
 * empty open file, without a pair of its own. The file is put together in memory: meant for small
 * ones.
 */
sp_status sp_hdf5_replace(const char *path, void (*fill)(int64_t file, const void *context),
                          const void *context);

#endif
