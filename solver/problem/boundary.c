#include "solver/problem/boundary.h"

#include <stdlib.h>

#include "mesh/interlayer.h"
#include "solver/problem/groups.h"

/* Return the index of the first group of that name or number, -1 if there is none; *matches = the
 * number of such groups. */
static int find_group(const char *name, const sp_hexes *hexes, int *matches) {
  int found = -1;
  *matches = 0;
  for (int g = hexes->surface.group_count - 1; g >= 0; g--)
    if (sp_group_is_called(&hexes->surface.groups[g], name)) {
      found = g;
      (*matches)++;
    }
  return found;
}

bool sp_boundary_is_volume(const char *name, const sp_hexes *hexes) {
  return !sp_groups_have(&hexes->surface, name) && sp_groups_have(&hexes->volume, name);
}

sp_status sp_boundary_check_group(const sp_boundary_entry *entry, const char *name,
                                  const sp_hexes *hexes) {
  if (sp_boundary_is_volume(name, hexes)) {
    if (entry->type->places & SP_ON_VOLUMES)
      return sp_groups_check(entry->formula.where, "volume group", name, hexes, &hexes->volume);
    char kinds[SP_CONDITIONS_SIZE];
    sp_condition_list(SP_ON_VOLUMES, sizeof kinds, kinds);
    return sp_fail(SP_ERR_INPUT,
                   "%s: expected a boundary group or, for a volume, %s; found the volume '%s' and "
                   "%s",
                   entry->formula.where, kinds, name, entry->type->name);
  }
  return sp_groups_check(entry->formula.where, "boundary group", name, hexes, &hexes->surface);
}

static sp_status find_pair(const sp_boundary_entry *entry, const sp_hexes *hexes,
                           sp_periodic_pair *pair) {
  const char *const names[2] = {entry->group, entry->partner};
  for (int s = 0; s < 2; s++) {
    int matches;
    SP_TRY(sp_boundary_check_group(entry, names[s], hexes));
    pair->groups[s] = find_group(names[s], hexes, &matches);
    if (matches > 1)
      return sp_fail(SP_ERR_INPUT, "%s: '%s' means %d groups of the mesh, expected one",
                     entry->formula.where, names[s], matches);
  }
  if (pair->groups[0] == pair->groups[1])
    return sp_fail(SP_ERR_INPUT, "%s: '%s' is periodic with itself, expected another group",
                   entry->formula.where, entry->group);
  return SP_OK;
}

/* Conditions without a place between elements need exterior faces. The side of a region may be
 * exterior in part. */
static sp_status check_exterior(const sp_statement *statement, const sp_boundary_entry *entry,
                                const char *name, const sp_mesh *mesh) {
  const sp_hexes *hexes = mesh->hexes;
  int exterior = 0, buried = 0;
  char kinds[SP_CONDITIONS_SIZE];
  for (int at[2] = {0}, s; (s = sp_groups_next(&hexes->surface, name, at)) >= 0;)
    (*(mesh->buried[s] ? &buried : &exterior))++;
  if (buried == 0 || (statement->is_box && exterior > 0)) return SP_OK;
  sp_condition_list(SP_ON_INNER, sizeof kinds, kinds);
  return sp_fail(SP_ERR_INPUT,
                 "%s: group '%s' has faces between elements; expected %s there, found %s",
                 entry->formula.where, name, kinds, entry->type->name);
}

sp_status sp_boundary_check(const sp_statement *statement, const sp_mesh *mesh) {
  for (int p = 0; p < statement->boundary.count; p++) {
    const sp_boundary_entry *entry = &statement->boundary.entries[p];
    if (entry->type->places & SP_ON_INNER) continue;
    SP_TRY(check_exterior(statement, entry, entry->group, mesh));
    if (entry->partner) SP_TRY(check_exterior(statement, entry, entry->partner, mesh));
  }
  return SP_OK;
}

sp_status sp_boundary_identify(const sp_statement *statement, sp_mesh *mesh) {
  SP_OWNED sp_periodic_pair *pairs = NULL;
  const sp_boundary_entry *first = NULL;
  int count = 0;
  SP_TRY(sp_agree(mesh->comm, sp_boundary_check(statement, mesh)));
  sp_status status =
      sp_allocate((size_t)statement->boundary.count, sizeof *pairs, "periodic pairs", &pairs);
  for (int p = 0; p < statement->boundary.count && !status; p++) {
    const sp_boundary_entry *entry = &statement->boundary.entries[p];
    if (!entry->type->joins) continue;
    if (!first) first = entry;
    status = find_pair(entry, mesh->hexes, &pairs[count++]);
  }
  SP_TRY(sp_agree(mesh->comm, status));
  status = sp_mesh_identify(mesh, count, pairs);
  if (status == SP_ERR_INPUT)
    return sp_fail(status, "%s: %s", first->formula.where, sp_error_message());
  return status;
}

/* ---- Contacts ---- */

/* contact_of[s] = contact for the surfaces of the groups that a line names. */
static sp_status claim_surfaces(const sp_boundary_entry *entry, int contact, const sp_hexes *hexes,
                                int *contact_of) {
  const char *where = entry->formula.where;
  SP_TRY(sp_groups_check(where, "boundary group", entry->group, hexes, &hexes->surface));
  for (int at[2] = {0}, s; (s = sp_groups_next(&hexes->surface, entry->group, at)) >= 0;) {
    if (contact_of[s] >= 0 && contact_of[s] != contact)
      return sp_fail(SP_ERR_INPUT, "%s: group '%s' has a surface in common with another contact",
                     where, entry->group);
    contact_of[s] = contact;
  }
  return SP_OK;
}

sp_status sp_boundary_insert_contacts(MPI_Comm comm, const sp_statement *statement,
                                      sp_hexes *hexes) {
  const size_t lines = (size_t)statement->boundary.count;
  SP_OWNED const char **names = NULL;
  SP_OWNED int *contact_of = NULL;
  int count = 0;
  sp_status status =
      SP_ALLOCATE("contacts", SP_ARRAY(contact_of, hexes->surface.count), SP_ARRAY(names, lines));
  for (int s = 0; s < hexes->surface.count && !status; s++) contact_of[s] = -1;
  for (size_t p = 0; p < lines && !status; p++) {
    const sp_boundary_entry *entry = &statement->boundary.entries[p];
    if (!entry->type->inserts) continue;
    names[count] = entry->formula.where;
    status = claim_surfaces(entry, count++, hexes, contact_of);
  }
  SP_TRY(sp_agree(comm, status));
  return count > 0 ? sp_interlayer_insert(comm, hexes, count, names, contact_of) : SP_OK;
}
