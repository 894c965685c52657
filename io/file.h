/* Replace files, so that readers find the old file or the complete new one:
 *
 *     write a temporary file beside PATH  ->  sync  ->  rename it to PATH
 *
 * If PATH is a symbolic link, its target is replaced, in the target's folder, and the link stays.
 * The temporary file of run.h5 is run.h5.TAG.tmp; TAG is eight letters and digits of this process,
 * so two runs do not share one. It is removed after a failure, but stays if the process is killed.
 * If two runs write one file, the last one wins.
 *
 * The messages recorded here are bare reasons ("No space left on device"); callers prefix them with
 * the file's name. Not thread-safe. All functions Local. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/error.h"

/* True if `path` does not exist, or is or links to a regular file, not a device, pipe or folder: it
 * may be replaced, and reading it ends. */
bool sp_path_is_ordinary(const char *path);

/* True if there is a file without write permission; rename(2) would replace it nevertheless. */
bool sp_path_is_read_only(const char *path);

/* *target = `path` or, if that is a symbolic link, its target, which need not exist. Links among
 * its folders are not resolved. The caller frees *target. Errors: SP_ERR_SYSTEM with the bare
 * reason ("Too many levels of symbolic links"). */
sp_status sp_path_resolve(const char *path, char **target);

/* True if both paths name the same file: the same name in the same folder, or links to the same
 * file, hard or symbolic. Files need not exist. */
bool sp_path_is_same(const char *a, const char *b);

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

/* Check before a long run that `path` may be replaced by a file that begins with `first`. A file
 * can be created beside it, and an old file is empty or begins with `first`, so a mistyped name
 * cannot replace a mesh. Errors: SP_ERR_SYSTEM with the bare reason. */
sp_status sp_file_try(const char *path, int first);

/* Replace `path` as above by a file of `size` bytes. */
sp_status sp_file_replace(const char *path, const void *bytes, size_t size);

/* The steps of a write, for files that several processes write together. */

/* Reserve disk space for `bytes` bytes in `path`, which is created if it does not exist and keeps
 * its contents. SP_OK also if the file system cannot reserve space. */
sp_status sp_file_reserve(const char *path, int64_t bytes);

/* fsync(2): wait until this machine's writes to `path` are on the disk. */
sp_status sp_file_sync(const char *path);

/* rename(2). */
sp_status sp_file_rename(const char *from, const char *to);
