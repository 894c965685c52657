#include "mesh/gmsh.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "mesh/gmsh_child.h"
#include "mesh/gmsh_model.h"
#include "mesh/partition.h"

/* gmsh takes what does not begin as a .msh file for a script. */
static sp_status check_head(const char *path, FILE *stream) {
  char line[64] = "";
  double version = 0;
  bool comments = true;
  while (comments && fgets(line, sizeof line, stream)) comments = line[0] == '\n';
  /* A file may begin with sections of the user's own. */
  if (line[0] != '$' || strchr(line, '\n') == NULL)
    return sp_fail(SP_ERR_INPUT,
                   "%s:1: expected a gmsh mesh, which begins with a line $MeshFormat; is the file "
                   "damaged or cut short?",
                   path);
  if (strncmp(line, "$MeshFormat", 11) != 0) return SP_OK;
  if (fscanf(stream, "%lf", &version) != 1 || version < 2 || version >= 5)
    return sp_fail(SP_ERR_INPUT,
                   "%s:2: expected the version of the format, 2.2 or 4.1; is the file damaged or "
                   "cut short?",
                   path);
  return SP_OK;
}

/* gmsh answers a missing or empty file with an empty model and no error: look first. */
static sp_status check_file(const char *path) {
  struct stat file;
  if (stat(path, &file)) return sp_fail(SP_ERR_INPUT, "%s: %s", path, strerror(errno));
  if (S_ISDIR(file.st_mode))
    return sp_fail(SP_ERR_INPUT, "%s: is a directory, expected a mesh file", path);
  if (file.st_size == 0) return sp_fail(SP_ERR_INPUT, "%s: the file is empty", path);
  FILE *stream = fopen(path, "rb");
  if (!stream) return sp_fail(SP_ERR_INPUT, "%s: %s", path, strerror(errno));
  const sp_status status = sp_gmsh_ends_with(path, ".msh") ? check_head(path, stream) : SP_OK;
  fclose(stream);
  return status;
}

/* With `parts` also the part of each element, of `size` parts; without, one of `size` files. */
static sp_status read_file(const char *path, int size, sp_hexes **hexes, int **parts) {
  SP_TRY(check_file(path));
  return sp_gmsh_in_child(sp_gmsh_read, path, size, hexes, parts);
}

/* Every rank reads its own file. */
static sp_status read_split(MPI_Comm comm, const char *path, int files, sp_hexes **out) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  char *part = NULL;
  if (files != size) {
    SP_TRY(sp_agree(comm, sp_gmsh_part_path(path, files + 1, &part)));
    sp_fail(SP_ERR_INPUT,
            "%s: the mesh is split into %d files (there is no %s), but there are %d ranks: run on "
            "%d, or split it for %d",
            path, files, part, size, files, size);
    free(part);
    return SP_ERR_INPUT;
  }
  sp_status status = sp_gmsh_part_path(path, rank + 1, &part);
  if (!status) status = sp_gmsh_check_part(part);
  if (!status) status = read_file(part, files, out, NULL);
  free(part);
  status = sp_agree(comm, status);
  return status ? status : sp_gmsh_unify(comm, path, *out);
}

bool sp_gmsh_is_split(const char *path) {
  int files = 0;
  return sp_gmsh_count_parts(path, &files) == SP_OK && files > 0;
}

sp_status sp_gmsh_hexes(MPI_Comm comm, const char *path, sp_hexes **out) {
  int rank, size, files = 0, *parts = NULL;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  *out = NULL;
  sp_status status = SP_OK;
  if (rank == 0) status = sp_gmsh_count_parts(path, &files);
  SP_TRY(sp_agree(comm, status));
  MPI_Bcast(&files, 1, MPI_INT, 0, comm);
  if (files > 0) {
    status = read_split(comm, path, files, out);
    if (status) sp_hexes_destroy(out);
    return status;
  }
  if (rank == 0) status = read_file(path, size, out, &parts);
  status = sp_agree(comm, status);
  if (status)
    sp_hexes_destroy(out);
  else
    status = sp_partition_distribute(comm, out, parts);
  free(parts);
  return status;
}
