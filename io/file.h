/* Replace files so that no reader ever sees a half-written one:
 *
 *     write a temporary file beside PATH  ->  sync  ->  rename it to PATH
 *
 * If PATH is a symbolic link, its target is replaced, in the target's folder, and the link stays.
 * The temporary file of run.h5 is run.h5.TAG.tmp, where TAG is eight letters and digits that only
 * this process uses, so that two runs do not write into the same temporary file. After a failure it
 * is removed; a process that is killed while it writes leaves one behind. If two runs write one
 * file, the last one wins.
 *
 * The messages recorded here are bare reasons ("No space left on device"); callers prefix them with
 * what could not be written. Not thread-safe. All functions Local. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "io/error.h"

/* Write all bytes to an open descriptor. Errors: SP_ERR_SYSTEM. */
sp_status sp_file_write(int file, const void *bytes, size_t size);

/* Eight characters of a-z and 0-9, the same at each call. The probability that another process has
 * the same ones is negligible. */
enum { SP_FILE_TAG_SIZE = 9 };
const char *sp_file_tag(void);

/* The file that a write to `path` replaces (links resolved), and the temporary file beside it; the
 * caller frees both. */
typedef struct sp_file_names {
  char *target, *temporary;
} sp_file_names;
sp_status sp_file_names_create(const char *path, sp_file_names *names);

/* Sets both to NULL. */
void sp_file_names_free(sp_file_names *names);

/* First bytes of files. */
enum { SP_FILE_HDF5 = 0x89, SP_FILE_JSON = '{' };

/* Check before a long run that `path` may be replaced by a file that begins with `first`: a file is
 * created beside it and removed, and what is there is empty or begins with `first`, so that a
 * mistyped name does not cost a mesh. Errors: SP_ERR_SYSTEM with the bare reason. */
sp_status sp_file_try(const char *path, int first);

/* Replace `path` as above by a file of `size` bytes. */
sp_status sp_file_replace(const char *path, const void *bytes, size_t size);

/* The steps of a write, for files that several processes write together. */

/* Reserve disk space for `bytes` bytes in `path`, which is created if it does not exist and keeps
 * its contents. SP_OK also if the file system cannot reserve space. */
sp_status sp_file_reserve(const char *path, int64_t bytes);

/* True if this machine sees `path` and may read and write it. */
sp_status sp_file_check(const char *path);

/* Wait until what this machine wrote to `path` is on the disk. */
sp_status sp_file_sync(const char *path);

/* rename(2). */
sp_status sp_file_rename(const char *from, const char *to);
