/* Properties of paths in a case. All functions Local; results may differ between machines. */
#pragma once

#include <stdbool.h>

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
