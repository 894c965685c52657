/* The groups of dimension 3, and the volumes into which they divide the elements. */
#include <gmshc.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/gmsh_model.h"

static size_t width_of(const sp_gmsh_volumes *v) {
  return v->group_count / 2;
}

sp_status sp_gmsh_volumes_read(const char *path, sp_gmsh_volumes *v) {
  int error;
  gmshModelGetPhysicalGroups(&v->groups, &v->group_count, 3, &error);
  if (error) return sp_gmsh_failed(path, "list the physical volumes");
  const size_t width = width_of(v);
  SP_TRY(sp_allocate(width, sizeof *v->of_group, "volumes", &v->of_group));
  for (size_t g = 0; g < width; g++) v->of_group[g] = -1;
  return sp_allocate(width, sizeof *v->set, "volumes", &v->set);
}

/* Find or add the volume whose elements are in the groups marked in v->set; clear the set. */
static sp_status find_set(sp_gmsh_volumes *v, int *volume) {
  const size_t width = width_of(v);
  int found = 0;
  while (found < v->count && memcmp(v->members[found], v->set, width * sizeof *v->set) != 0)
    found++;
  if (found == v->count) {
    void *list = realloc(v->members, ((size_t)found + 1) * sizeof *v->members);
    if (!list) return sp_fail(SP_ERR_SYSTEM, "out of memory: volumes");
    v->members = list;
    SP_TRY(sp_allocate(width, sizeof *v->set, "volumes", &v->members[found]));
    memcpy(v->members[found], v->set, width * sizeof *v->set);
    v->count++;
  }
  memset(v->set, 0, width * sizeof *v->set);
  *volume = found;
  return SP_OK;
}

/* Index of the group with this number, -1 if there is none. */
static int group_index(const sp_gmsh_volumes *v, int number) {
  for (size_t g = 0; g < width_of(v); g++)
    if (v->groups[2 * g + 1] == number) return (int)g;
  return -1;
}

sp_status sp_gmsh_volumes_of_entity(const char *path, sp_gmsh_volumes *v, int entity, int *volume) {
  int *numbers = NULL, error;
  size_t count = 0;
  gmshModelGetPhysicalGroupsForEntity(3, entity, &numbers, &count, &error);
  if (error) return sp_gmsh_failed(path, "list the groups of a volume");
  for (size_t n = 0; n < count; n++) {
    const int g = group_index(v, abs(numbers[n]));
    if (g >= 0) v->set[g] = true;
  }
  gmshFree(numbers);
  return find_set(v, volume);
}

sp_status sp_gmsh_volumes_of_group(sp_gmsh_volumes *v, int number, int *volume) {
  const int g = group_index(v, number);
  if (g < 0) return find_set(v, volume);
  if (v->of_group[g] < 0) {
    v->set[g] = true;
    SP_TRY(find_set(v, &v->of_group[g]));
  }
  *volume = v->of_group[g];
  return SP_OK;
}

sp_status sp_gmsh_volumes_unite(sp_gmsh_volumes *v, int other, int *volume) {
  if (other == *volume) return SP_OK;
  for (size_t g = 0; g < width_of(v); g++)
    v->set[g] = v->members[*volume][g] || v->members[other][g];
  return find_set(v, volume);
}

sp_status sp_gmsh_volumes_set_groups(const sp_gmsh_file *file, const sp_gmsh_volumes *v,
                                     sp_hexes *hexes) {
  const size_t width = width_of(v);
  SP_TRY(sp_hexes_create_volumes(hexes, v->count, (int)width));
  for (size_t g = 0; g < width; g++) {
    const int number = v->groups[2 * g + 1];
    char *name = NULL;
    sp_status status = sp_gmsh_group_name(file, 3, number, &name);
    if (!status) status = sp_hexes_set_volume_group(hexes, (int)g, name, number);
    free(name);
    SP_TRY(status);
    for (int s = 0; s < v->count; s++) hexes->volume_groups[g].members[s] = v->members[s][g];
  }
  return SP_OK;
}

void sp_gmsh_volumes_free(sp_gmsh_volumes *v) {
  gmshFree(v->groups);
  for (int s = 0; s < v->count; s++) free(v->members[s]);
  SP_FREE(v->members, v->of_group, v->set);
  *v = (sp_gmsh_volumes){0};
}
