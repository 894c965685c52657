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
  SP_TRY(SP_ALLOCATE("groups", SP_ARRAY(sets->groups, listed), SP_ARRAY(sets->wanted, 2 * listed)));
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

/* Find or add the set of the first `count` groups in sets->wanted. */
static sp_status find_set(sp_gmsh_sets *sets, int count, int *set) {
  int *wanted = sets->wanted, different = 0;
  qsort(wanted, (size_t)count, sizeof *wanted, compare_ints);
  for (int n = 0; n < count; n++)
    if (n == 0 || wanted[n] != wanted[n - 1]) wanted[different++] = wanted[n];
  const size_t size = (size_t)different * sizeof *wanted;
  const sp_name *found = sp_names_find(&sets->names, (const char *)wanted, size);
  *set = found ? found->index : sets->count;
  if (found) return SP_OK;
  SP_TRY(sp_reserve((size_t)sets->count, 1, sizeof *sets->list, "sets of groups", &sets->list));
  sp_gmsh_set *added = &sets->list[sets->count++];
  *added = (sp_gmsh_set){.count = different};
  SP_TRY(sp_allocate((size_t)different, sizeof *wanted, "groups", &added->groups));
  if (different > 0) memcpy(added->groups, wanted, size);
  return sp_names_add(&sets->names, (const char *)wanted, size, *set, NULL);
}

sp_status sp_gmsh_sets_find(sp_gmsh_sets *sets, const sp_gmsh_entity *entity, int *set) {
  for (int g = 0; g < entity->group_count; g++) {
    const int *found = bsearch(&entity->groups[g], sets->groups, sets->group_count,
                               sizeof *sets->groups, compare_ints);
    sets->wanted[g] = (int)(found - sets->groups);
  }
  return find_set(sets, entity->group_count, set);
}

sp_status sp_gmsh_sets_unite(sp_gmsh_sets *sets, int other, int *set) {
  if (other == *set) return SP_OK;
  const sp_gmsh_set *parts[2] = {&sets->list[*set], &sets->list[other]};
  int count = 0;
  for (int p = 0; p < 2; p++)
    for (int g = 0; g < parts[p]->count; g++) sets->wanted[count++] = parts[p]->groups[g];
  return find_set(sets, count, set);
}

sp_status sp_gmsh_sets_copy(const sp_gmsh_model *m, const sp_gmsh_sets *sets, sp_family *to) {
  SP_TRY(sp_family_resize(to, sets->count, (int)sets->group_count));
  for (int g = 0; g < to->group_count; g++) {
    const int number = sets->groups[g];
    SP_TRY(sp_family_set_group(to, g, sp_gmsh_group_name(m, sets->dimension, number), number));
  }
  for (int s = 0; s < sets->count; s++)
    for (int g = 0; g < sets->list[s].count; g++)
      SP_TRY(sp_group_add(&to->groups[sets->list[s].groups[g]], s));
  return SP_OK;
}

void sp_gmsh_sets_free(sp_gmsh_sets *sets) {
  for (int s = 0; s < sets->count; s++) free(sets->list[s].groups);
  sp_names_clear(&sets->names);
  SP_FREE(sets->groups, sets->list, sets->wanted);
  *sets = (sp_gmsh_sets){0};
}
