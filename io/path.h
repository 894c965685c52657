/* Questions about paths that a case names. All functions Local; ranks on different machines may get
 * different answers. */
#pragma once

#include <stdbool.h>

#include "io/error.h"

/* True if nothing is at `path`, or a regular file (also behind a symbolic link), but no device,
 * pipe or folder: it may be replaced, and reading it comes to an end. */
bool sp_path_is_ordinary(const char *path);

/* True if there is a file that nobody may write. Renaming a file to `path` would replace it all the
 * same. */
bool sp_path_is_read_only(const char *path);

/* *target = `path` or, if that is a symbolic link, its target, which need not exist. Links among
 * its folders are not resolved. The caller frees *target. Errors: SP_ERR_SYSTEM with the bare
 * reason ("Too many levels of symbolic links"). */
sp_status sp_path_resolve(const char *path, char **target);

/* True if both paths name the same file: the same name in the same folder, or links to the same
 * file, hard or symbolic. Files need not exist. */
bool sp_path_is_same(const char *a, const char *b);
