/* A look at the file before the SDK opens it, which answers a missing or empty one with an empty
 * model and no error, and takes what does not begin as a mesh for a script. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "mesh/gmsh_model.h"

bool sp_gmsh_ends_with(const char *text, const char *end) {
  const size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

static sp_status damaged(const char *path, int line, const char *expected) {
  return sp_fail(SP_ERR_INPUT, "%s:%d: expected %s; is the file damaged or cut short?", path, line,
                 expected);
}

/* The version of a mesh, which stands behind $MeshFormat; sections of the user's own may come
 * first. 0 for other files. */
static sp_status find_version(const char *path, FILE *stream, double *version) {
  char *line = NULL;
  size_t room = 0;
  int number = 0;
  bool blank = true, found = false;
  *version = 0;
  while (blank && getline(&line, &room, stream) > 0) {
    blank = line[strspn(line, " \t\r\n")] == '\0';
    number++;
  }
  const bool mesh = !blank && line[0] == '$';
  if (mesh) {
    do found = strncmp(line, "$MeshFormat", 11) == 0;
    while (!found && getline(&line, &room, stream) > 0 && ++number);
    if (found && getline(&line, &room, stream) > 0) *version = strtod(line, NULL);
  }
  free(line);
  if (!mesh && !sp_gmsh_ends_with(path, ".msh")) return SP_OK;
  if (!mesh || !found) return damaged(path, 1, "a gmsh mesh, which begins with a line $MeshFormat");
  if (*version >= 2 && *version < 5) return SP_OK;
  return damaged(path, number + 1, "the version of the format, 2.2 or 4.1");
}

sp_status sp_gmsh_check_file(const char *path, double *version) {
  struct stat file;
  *version = 0;
  if (stat(path, &file)) return sp_fail(SP_ERR_INPUT, "%s: %s", path, strerror(errno));
  if (S_ISDIR(file.st_mode))
    return sp_fail(SP_ERR_INPUT, "%s: is a directory, expected a mesh file", path);
  if (file.st_size == 0) return sp_fail(SP_ERR_INPUT, "%s: the file is empty", path);
  FILE *stream = fopen(path, "rb");
  if (!stream) return sp_fail(SP_ERR_INPUT, "%s: %s", path, strerror(errno));
  const sp_status status = find_version(path, stream, version);
  fclose(stream);
  return status;
}
