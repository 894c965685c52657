#include "mesh/gmsh/gmsh.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "io/rendezvous.h"
#include "mesh/divide.h"
#include "mesh/gmsh/reader.h"
#include "mesh/partition.h"

/* ---- The files of a split mesh ---- */

static const char ENDING[] = ".msh";

static size_t stem_length(const char *path) {
  const size_t length = strlen(path), ending = sizeof ENDING - 1;
  return length > ending && strcmp(path + length - ending, ENDING) == 0 ? length - ending : 0;
}

sp_status sp_gmsh_part_path(const char *path, int part, char **out) {
  *out = NULL;
  return sp_format(out, "%.*s_%d%s", (int)stem_length(path), path, part, ENDING);
}

sp_status sp_gmsh_count_parts(const char *path, int *count) {
  struct stat file;
  *count = 0;
  if (stem_length(path) == 0 || stat(path, &file) == 0) return SP_OK;
  for (bool exists = true; exists;) {
    SP_OWNED char *part = NULL;
    SP_TRY(sp_gmsh_part_path(path, *count + 1, &part));
    exists = stat(part, &file) == 0;
    *count += exists;
  }
  return SP_OK;
}

bool sp_gmsh_is_split(const char *path) {
  int files = 0;
  return sp_gmsh_count_parts(path, &files) == SP_OK && files > 0;
}

/* ---- One list of groups and surfaces for all ranks, and one of volumes ----
 * Both surfaces and volumes are called parts here. */

/* A group as sent between ranks, with counts of its faces. gmsh's names have up to 127 characters,
 * other programs' may be longer. */
typedef struct named_group {
  sp_gid listed, lost;
  int number;
  char name[252];
} named_group;

static int compare_groups(const void *left, const void *right) {
  const int a = ((const named_group *)left)->number, b = ((const named_group *)right)->number;
  return (a > b) - (a < b);
}

/* Merge groups with one number, and add up their counts. Returns the number of groups. */
static size_t merge_groups(named_group *all, size_t count) {
  size_t kept = 0;
  qsort(all, count, sizeof *all, compare_groups);
  for (size_t i = 0; i < count; i++) {
    named_group *last = &all[kept > 0 ? kept - 1 : 0];
    if (kept == 0 || compare_groups(&all[i], last) != 0) {
      all[kept++] = all[i];
      continue;
    }
    last->listed += all[i].listed;
    last->lost += all[i].lost;
  }
  return kept;
}

/* The groups of all ranks by number. */
static sp_status gather_groups(MPI_Comm comm, const sp_family *own, named_group **all,
                               size_t *count) {
  const size_t n = (size_t)own->group_count;
  SP_OWNED named_group *mine = NULL;
  sp_status status = sp_allocate(n, sizeof *mine, "groups", &mine);
  for (size_t g = 0; g < n && !status; g++) {
    const sp_group *from = &own->groups[g];
    mine[g] = (named_group){.listed = from->listed, .lost = from->lost, .number = from->number};
    const int length = snprintf(mine[g].name, sizeof mine[g].name, "%s", from->name);
    if (length >= (int)sizeof mine[g].name)
      status =
          sp_fail(SP_ERR_INPUT,
                  "the name of physical group %d has %d characters; at most %zu can be used in "
                  "a split mesh",
                  from->number, length, sizeof mine[g].name - 1);
  }
  SP_TRY(sp_agree(comm, status));
  SP_TRY(sp_gather_records(comm, mine, n, sizeof *mine, "groups", all, count));
  *count = merge_groups(*all, *count);
  return SP_OK;
}

/* A part's groups as text, "3 17 ", which does not depend on the rank. Two parts in the same groups
 * are the same part. */
enum { KEY_SIZE = 512 };

static int compare_keys(const void *left, const void *right) {
  return strncmp(left, right, KEY_SIZE);
}

/* The groups of a family ascend by number. */
static sp_status make_key(const char *path, const char *what, const sp_family *own, size_t part,
                          char key[KEY_SIZE]) {
  size_t used = 0;
  for (int g = 0; g < own->group_count; g++) {
    if (!sp_group_has(&own->groups[g], (int)part)) continue;
    used += (size_t)snprintf(key + used, KEY_SIZE - used, "%d ", own->groups[g].number);
    if (used >= KEY_SIZE)
      return sp_fail(SP_ERR_INPUT, "%s: a %s is in too many physical groups", path, what);
  }
  return SP_OK;
}

/* Sort keys and drop repeated ones. Returns their number. */
static size_t sort_keys(char (*keys)[KEY_SIZE], size_t count) {
  size_t kept = 0;
  qsort(keys, count, KEY_SIZE, compare_keys);
  for (size_t k = 0; k < count; k++)
    if (kept == 0 || compare_keys(keys[k], keys[kept - 1]) != 0)
      memmove(keys[kept++], keys[k], KEY_SIZE);
  return kept;
}

static sp_status replace_family(size_t group_count, const named_group *groups, size_t key_count,
                                char (*keys)[KEY_SIZE], sp_family *family) {
  SP_TRY(sp_family_resize(family, (int)key_count, (int)group_count));
  for (size_t g = 0; g < group_count; g++) {
    SP_TRY(sp_family_set_group(family, (int)g, groups[g].name, groups[g].number));
    family->groups[g].listed = groups[g].listed;
    family->groups[g].lost = groups[g].lost;
  }
  for (int k = 0; k < family->count; k++)
    for (char *at = keys[k], *end; *at; at = end + 1) {
      const named_group wanted = {.number = (int)strtol(at, &end, 10)};
      const named_group *found =
          bsearch(&wanted, groups, group_count, sizeof *groups, compare_groups);
      SP_TRY(sp_group_add(&family->groups[found - groups], k));
    }
  return SP_OK;
}

/* parts[count]: the parts of elements or faces, to be renumbered. `what` is for messages. */
static sp_status unify_family(MPI_Comm comm, const char *path, const char *what, sp_family *family,
                              size_t count, int *parts) {
  SP_OWNED named_group *groups = NULL;
  size_t group_count = 0, key_count = 0;
  const size_t own = (size_t)family->count;
  SP_OWNED char(*mine)[KEY_SIZE] = NULL, (*keys)[KEY_SIZE] = NULL;
  SP_TRY(gather_groups(comm, family, &groups, &group_count));
  sp_status status = sp_allocate(own, KEY_SIZE, what, &mine);
  for (size_t p = 0; p < own && !status; p++) status = make_key(path, what, family, p, mine[p]);
  SP_TRY(sp_agree(comm, status));
  SP_TRY(sp_gather_records(comm, mine, own, KEY_SIZE, what, &keys, &key_count));
  key_count = sort_keys(keys, key_count);
  for (size_t n = 0; n < count; n++) {
    if (parts[n] < 0) continue;
    const char(*found)[KEY_SIZE] = bsearch(mine[parts[n]], keys, key_count, KEY_SIZE, compare_keys);
    parts[n] = (int)(found - (const char(*)[KEY_SIZE])keys);
  }
  return sp_agree(comm, replace_family(group_count, groups, key_count, keys, family));
}

static sp_status unify_order(MPI_Comm comm, const char *path, sp_hexes *hexes) {
  int orders[2] = {0, -INT_MAX};
  if (hexes->count > 0) {
    orders[0] = hexes->map_order;
    orders[1] = -hexes->map_order;
  }
  MPI_Allreduce(MPI_IN_PLACE, orders, 2, MPI_INT, MPI_MAX, comm);
  if (orders[0] == 0)
    return sp_fail(SP_ERR_INPUT, "%s: no hexahedra in the physical volumes of its parts", path);
  if (orders[0] != -orders[1])
    return sp_fail(SP_ERR_INPUT, "%s: its parts have hexahedra of orders %d and %d", path,
                   -orders[1], orders[0]);
  hexes->map_order = orders[0];
  return SP_OK;
}

/* Each reader has turned its part if all its elements are left-handed. */
static sp_status unify_turned(MPI_Comm comm, const char *path, sp_hexes *hexes) {
  sp_gid counts[2] = {hexes->file.turned, hexes->count};
  MPI_Allreduce(MPI_IN_PLACE, counts, 2, SP_MPI_GID, MPI_SUM, comm);
  hexes->file.turned = counts[0];
  if (counts[0] == 0 || counts[0] == counts[1]) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%s: %lld of %lld elements are left-handed, in some of its parts",
                 path, (long long)counts[0], (long long)counts[1]);
}

/* Give all ranks, after each has read a part, the same groups (matched by number), surfaces,
 * volumes and map order (also without elements), and the sum of left_out. Errors: SP_ERR_INPUT for
 * parts of different order, and if no part has elements. Collective. */
static sp_status unify_parts(MPI_Comm comm, const char *path, sp_hexes *hexes) {
  SP_TRY(unify_order(comm, path, hexes));
  SP_TRY(unify_turned(comm, path, hexes));
  MPI_Allreduce(MPI_IN_PLACE, &hexes->file.left_out, 1, SP_MPI_GID, MPI_SUM, comm);
  MPI_Allreduce(MPI_IN_PLACE, &hexes->file.hash, 1, MPI_UINT64_T, MPI_SUM, comm);
  const size_t elements = (size_t)hexes->count;
  SP_TRY(
      unify_family(comm, path, "surface", &hexes->surface, SP_FACES * elements, *hexes->surfaces));
  return unify_family(comm, path, "volume", &hexes->volume, elements, hexes->volumes);
}

/* ---- Reading ---- */

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
  if (!status) status = sp_gmsh_in_child(part, sizes, files, NULL, out, NULL);
  SP_TRY(sp_agree(comm, status));
  return unify_parts(comm, path, *out);
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

sp_status sp_gmsh_hexes(MPI_Comm comm, const char *path, const sp_gmsh_sizes *sizes,
                        sp_terminal *terminal, sp_hexes **out) {
  static const sp_gmsh_sizes defaults = {0};
  int files = 0;
  *out = NULL;
  if (!sizes) sizes = &defaults;
  SP_TRY(sp_agree(comm, sp_comm_rank(comm) == 0 ? sp_gmsh_count_parts(path, &files) : SP_OK));
  MPI_Bcast(&files, 1, MPI_INT, 0, comm);
  sp_status status = files > 0 ? read_split(comm, path, sizes, files, out)
                               : read_whole(comm, path, sizes, terminal, out);
  if (!status) status = sp_divide(comm, out);
  if (status) sp_hexes_destroy(out);
  return status;
}
