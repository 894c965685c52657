/* Questions about paths that a case names. All functions Local; what one rank sees, another need
 * not. */
#ifndef SP_IO_PATH_H
#define SP_IO_PATH_H

#include <stdbool.h>

#include "io/error.h"

/* True if a file renamed to `path` hurts nothing else: there is nothing, or a regular file (also
 * behind a symbolic link). A device or a folder is not to be replaced. */
bool sp_path_is_replaceable(const char *path);

/* The path that `path` leads to: itself, unless it is a symbolic link, else what that leads to,
 * which need not exist. Links among its folders stay as they are. The caller frees *target. Errors:
 * SP_ERR_SYSTEM with the bare reason ("Too many levels of symbolic links"). */
sp_status sp_path_resolve(const char *path, char **target);

/* The folder that `path` lies in, and the part of `path` after it; the caller frees *folder, which
 * ends in "/" or is "". */
sp_status sp_path_split(const char *path, char **folder, const char **name);

/* True if both name one file, however they are spelt: the same name in the same folder, or two
 * links to one file, hard or symbolic. Files need not exist. */
bool sp_path_is_same(const char *a, const char *b);

#endif
