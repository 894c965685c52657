#include <stdlib.h>
#include <string.h>

#include "mesh/gmsh/model.h"

static int compare_ints(const void *left, const void *right) {
  const int a = *(const int *)left, b = *(const int *)right;
  return (a > b) - (a < b);
}

sp_status sp_gmsh_sets_create(const sp_gmsh_model *m, int dimension, sp_gmsh_sets *sets) {
  size_t listed = 0;
  *sets = (sp_gmsh_sets){.dimension = dimension};
  for (size_t e = 0; e < m->entity_count; e++) listed += (size_t)m->entities[e].group_count;
  SP_TRY(SP_ALLOCATE("groups", SP_ARRAY(sets->groups, listed), SP_ARRAY(sets->wanted, listed)));
  listed = 0;
  for (size_t i = 0; i < m->entity_count; i++) {
    const sp_gmsh_entity *e = &m->entities[i];
    for (int g = 0; g < e->group_count && e->dimension == dimension && !e->is_artificial; g++)
      sets->groups[listed++] = e->groups[g];
  }
  qsort(sets->groups, listed, sizeof *sets->groups, compare_ints);
  for (size_t g = 0; g < listed; g++)
    if (g == 0 || sets->groups[g] != sets->groups[g - 1])
      sets->groups[sets->group_count++] = sets->groups[g];
  return SP_OK;
}

/* Find or add the set of the wanted groups, and clear these. */
static sp_status find(sp_gmsh_sets *sets, int *set) {
  const size_t size = sets->group_count * sizeof *sets->wanted;
  int found = 0;
  while (found < sets->count && memcmp(sets->members[found], sets->wanted, size) != 0) found++;
  if (found == sets->count) {
    SP_TRY(sp_reserve((size_t)found, 1, sizeof *sets->members, "sets of groups", &sets->members));
    SP_TRY(sp_allocate(sets->group_count, sizeof *sets->wanted, "groups", &sets->members[found]));
    memcpy(sets->members[found], sets->wanted, size);
    sets->count++;
  }
  memset(sets->wanted, 0, size);
  *set = found;
  return SP_OK;
}

sp_status sp_gmsh_sets_find(sp_gmsh_sets *sets, const sp_gmsh_entity *entity, int *set) {
  for (int g = 0; g < entity->group_count; g++) {
    const int *found = bsearch(&entity->groups[g], sets->groups, sets->group_count,
                               sizeof *sets->groups, compare_ints);
    sets->wanted[found - sets->groups] = true;
  }
  return find(sets, set);
}

sp_status sp_gmsh_sets_unite(sp_gmsh_sets *sets, int other, int *set) {
  if (other == *set) return SP_OK;
  for (size_t g = 0; g < sets->group_count; g++)
    sets->wanted[g] = sets->members[*set][g] || sets->members[other][g];
  return find(sets, set);
}

sp_status sp_gmsh_sets_copy(const sp_gmsh_model *m, const sp_gmsh_sets *sets, sp_family *to) {
  SP_TRY(sp_family_resize(to, sets->count, (int)sets->group_count));
  for (int g = 0; g < to->group_count; g++) {
    const int number = sets->groups[g];
    SP_TRY(sp_family_set_group(to, g, sp_gmsh_group_name(m, sets->dimension, number), number));
    for (int s = 0; s < sets->count; s++)
      if (sets->members[s][g]) SP_TRY(sp_group_add(&to->groups[g], s));
  }
  return SP_OK;
}

void sp_gmsh_sets_free(sp_gmsh_sets *sets) {
  for (int s = 0; s < sets->count; s++) free(sets->members[s]);
  SP_FREE(sets->groups, sets->members, sets->wanted);
  *sets = (sp_gmsh_sets){0};
}
