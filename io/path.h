/* Questions about paths that a case names. All functions Local; what one rank sees, another need
 * not. */
#ifndef SP_IO_PATH_H
#define SP_IO_PATH_H

#include <stdbool.h>

/* True if a file renamed to `path` hurts nothing else: there is nothing, or a regular file (also
 * behind a symbolic link). A device or a folder is not to be replaced. */
bool sp_path_is_replaceable(const char *path);

/* True if both name one file, however they are spelt: the same name in the same folder, or two
 * links to one file. Files need not exist. */
bool sp_path_is_same(const char *a, const char *b);

#endif
