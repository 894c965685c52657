#include "mesh/gmsh.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "mesh/divide.h"
#include "mesh/gmsh_child.h"
#include "mesh/gmsh_parts.h"
#include "mesh/partition.h"

/* Every rank reads its own file. */
static sp_status read_split(MPI_Comm comm, const char *path, const sp_gmsh_sizes *sizes, int files,
                            sp_hexes **out) {
  const int rank = sp_comm_rank(comm), size = sp_comm_size(comm);
  SP_OWNED char *part = NULL;
  if (files != size) {
    SP_TRY(sp_agree(comm, sp_gmsh_part_path(path, files + 1, &part)));
    return sp_fail(SP_ERR_INPUT,
                   "%s: the mesh is split into %d file%s (there is no %s), but there %s %d "
                   "rank%s: run on %d, or split it for %d",
                   path, files, sp_plural(files), part, size == 1 ? "is" : "are", size,
                   sp_plural(size), files, size);
  }
  sp_status status = sp_gmsh_part_path(path, rank + 1, &part);
  if (!status) status = sp_gmsh_check_part(part);
  if (!status) status = sp_gmsh_in_child(part, sizes, files, NULL, out, NULL);
  SP_TRY(sp_agree(comm, status));
  return sp_gmsh_unify(comm, path, *out);
}

bool sp_gmsh_is_split(const char *path) {
  int files = 0;
  return sp_gmsh_count_parts(path, &files) == SP_OK && files > 0;
}

/* Rank 0 reads the file for all. */
static sp_status read_whole(MPI_Comm comm, const char *path, const sp_gmsh_sizes *sizes,
                            sp_terminal *terminal, sp_hexes **out) {
  SP_OWNED int *parts = NULL;
  const int rank = sp_comm_rank(comm), size = sp_comm_size(comm);
  SP_TRY(sp_agree(comm,
                  rank == 0 ? sp_gmsh_in_child(path, sizes, size, terminal, out, &parts) : SP_OK));
  sp_hexes_file file = *out ? (*out)->file : (sp_hexes_file){0};
  MPI_Bcast(&file, (int)sizeof file, MPI_BYTE, 0, comm);
  SP_TRY(sp_partition_distribute(comm, out, parts));
  (*out)->file = file;
  return SP_OK;
}

/* The unit of a CAD file, NULL for others. */
static const char *unit_of(const char *path) {
  static const char *const endings[] = {".step", ".stp", ".iges", ".igs", ".brep"};
  const char *dot = strrchr(path, '.');
  for (size_t n = 0; dot && n < sizeof endings / sizeof *endings; n++)
    if (strcasecmp(dot, endings[n]) == 0) return n < 4 ? "mm" : "";
  return NULL;
}

bool sp_gmsh_is_cad(const char *path) {
  return unit_of(path) != NULL;
}

const char *sp_gmsh_unit(const char *path) {
  return unit_of(path) ? unit_of(path) : "";
}

sp_status sp_gmsh_hexes(MPI_Comm comm, const char *path, sp_hexes **out) {
  return sp_gmsh_cad_hexes(comm, path, &(sp_gmsh_sizes){0}, NULL, out);
}

sp_status sp_gmsh_cad_hexes(MPI_Comm comm, const char *path, const sp_gmsh_sizes *sizes,
                            sp_terminal *terminal, sp_hexes **out) {
  int files = 0;
  *out = NULL;
  SP_TRY(sp_agree(comm, sp_comm_rank(comm) == 0 ? sp_gmsh_count_parts(path, &files) : SP_OK));
  MPI_Bcast(&files, 1, MPI_INT, 0, comm);
  sp_status status = files > 0 ? read_split(comm, path, sizes, files, out)
                               : read_whole(comm, path, sizes, terminal, out);
  if (!status) status = sp_divide(comm, out);
  if (status) sp_hexes_destroy(out);
  return status;
}
