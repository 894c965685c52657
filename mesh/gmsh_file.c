/* Check a file before the SDK opens it, and afterwards that the SDK returned all elements. The SDK
 * reads a missing or empty file as an empty model without an error, and a file that does not begin
 * as a mesh as a script. */
#include <errno.h>
#include <gmshc.h>
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

/* Find the version of a mesh, which follows $MeshFormat; 0 for other files. The user's own sections
 * may come first. */
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
  const bool format1 = mesh && strncmp(line, "$NOD", 4) == 0 && strchr("\r\n", line[4]);
  if (mesh) {
    do found = strncmp(line, "$MeshFormat", 11) == 0;
    while (!found && getline(&line, &room, stream) > 0 && ++number);
    if (found && getline(&line, &room, stream) > 0) *version = strtod(line, NULL);
  }
  free(line);
  if (!mesh && !sp_gmsh_ends_with(path, ".msh")) return SP_OK;
  if (format1)
    return sp_fail(SP_ERR_INPUT,
                   "%s: this is gmsh's format 1, which is not read: convert it with `gmsh %s -save "
                   "-format msh41 -o NEW.msh`",
                   path, path);
  if (!mesh || !found) return damaged(path, 1, "a gmsh mesh, which begins with a line $MeshFormat");
  if ((*version >= 2 && *version < 3) || (*version >= 4 && *version < 5)) return SP_OK;
  return damaged(path, number + 1, "the version of the format, 2.2 or 4.1");
}

static sp_status check_file(const char *path, double *version) {
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

sp_status sp_gmsh_file_read(const char *path, sp_gmsh_file *file) {
  *file = (sp_gmsh_file){.path = path};
  SP_TRY(check_file(path, &file->version));
  if (file->version <= 0) return SP_OK;
  sp_scan s;
  char *bytes;
  size_t size;
  SP_TRY(sp_scan_open(path, &s, &bytes, &size));
  const sp_status status =
      file->version >= 4
          ? sp_gmsh_format4_parse(path, bytes, size, sp_gmsh_type_nodes, &file->format4)
          : sp_gmsh_format2_parse(path, bytes, size, sp_gmsh_type_nodes, &file->format2);
  sp_scan_close(bytes, size);
  return status;
}

void sp_gmsh_file_free(sp_gmsh_file *file) {
  sp_gmsh_format2_free(&file->format2);
  sp_gmsh_format4_free(&file->format4);
}

const sp_gmsh_format2 *sp_gmsh_file_format2(const sp_gmsh_file *file) {
  return file->version > 0 && file->version < 3 ? &file->format2 : NULL;
}

sp_status sp_gmsh_group_name(const sp_gmsh_file *file, int dimension, int number, char **name) {
  const sp_gmsh_format2 *format2 = sp_gmsh_file_format2(file);
  char *of_sdk = NULL;
  int error = 0;
  if (!format2) gmshModelGetPhysicalName(dimension, number, &of_sdk, &error);
  if (error) return sp_gmsh_failed(file->path, "name a physical group");
  const char *text = format2 ? sp_gmsh_format2_name(format2, dimension, number) : of_sdk;
  const size_t size = strlen(text) + 1;
  const sp_status status = sp_allocate(size, 1, "group name", name);
  if (!status) memcpy(*name, text, size);
  gmshFree(of_sdk);
  return status;
}

/* Report missing elements. If an entity has elements of one shape and several orders, the SDK
 * returns only one order. */
static sp_status refuse_loss(const sp_gmsh_file *file, const size_t *listed, int type) {
  sp_gmsh_type lost, other;
  SP_TRY(sp_gmsh_type_get(file->path, type, &lost));
  free(lost.lattice);
  if (lost.dimension < 2) return SP_OK; /* points and lines are not used */
  for (int t = 1; t < SP_GMSH_TYPES; t++) {
    if (t == type || file->returned[t] == 0) continue;
    SP_TRY(sp_gmsh_type_get(file->path, t, &other));
    free(other.lattice);
    if (other.dimension != lost.dimension || other.corners != lost.corners) continue;
    const bool lower = lost.order < other.order;
    return sp_fail(SP_ERR_INPUT,
                   "%s: %s of order %d and %d in one entity; all must have the same order",
                   file->path,
                   lost.dimension == 3 ? lost.corners == 8 ? "hexahedra" : "volume elements"
                                       : "elements of a surface",
                   lower ? lost.order : other.order, lower ? other.order : lost.order);
  }
  return sp_fail(SP_ERR_INPUT,
                 "%s: the file lists %zu element%s of type '%s', but gmsh read %zu of them",
                 file->path, listed[type], sp_plural((long long)listed[type]), lost.name,
                 file->returned[type]);
}

sp_status sp_gmsh_file_check_returned(const sp_gmsh_file *file) {
  const size_t *listed = file->version >= 4 ? file->format4.counts : file->format2.counts;
  for (int t = 1; t < SP_GMSH_TYPES; t++)
    if (file->returned[t] < listed[t]) SP_TRY(refuse_loss(file, listed, t));
  return SP_OK;
}
