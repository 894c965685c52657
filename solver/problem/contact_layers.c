#include "solver/problem/contact_layers.h"

#include <stdlib.h>

#include "mesh/interlayer.h"
#include "solver/problem/groups.h"

/* contact_of[s] = contact for the surfaces of the groups that a line names. */
static sp_status claim(const sp_boundary_entry *entry, int contact, const sp_hexes *hexes,
                       int *contact_of) {
  const char *where = entry->formula.where;
  SP_TRY(sp_groups_check(where, "boundary group", entry->group, hexes->group_count, hexes->groups));
  for (int g = 0; g < hexes->group_count; g++)
    for (int s = 0; s < hexes->surface_count && sp_group_is_called(&hexes->groups[g], entry->group);
         s++) {
      if (!hexes->groups[g].members[s]) continue;
      if (contact_of[s] >= 0 && contact_of[s] != contact)
        return sp_fail(SP_ERR_INPUT, "%s: group '%s' has a surface in common with another contact",
                       where, entry->group);
      contact_of[s] = contact;
    }
  return SP_OK;
}

sp_status sp_contact_layers_insert(MPI_Comm comm, const sp_config *config, sp_hexes *hexes) {
  const size_t lines = (size_t)config->boundary.count;
  const char **names = NULL;
  int count = 0, *contact_of = NULL;
  sp_status status =
      sp_allocate((size_t)hexes->surface_count, sizeof *contact_of, "contacts", &contact_of);
  if (!status) status = sp_allocate(lines, sizeof *names, "contacts", &names);
  for (int s = 0; s < hexes->surface_count && !status; s++) contact_of[s] = -1;
  for (size_t p = 0; p < lines && !status; p++) {
    const sp_boundary_entry *entry = &config->boundary.entries[p];
    if (entry->condition != SP_CONTACT) continue;
    names[count] = entry->formula.where;
    status = claim(entry, count++, hexes, contact_of);
  }
  status = sp_agree(comm, status);
  if (!status && count > 0) status = sp_interlayer_insert(comm, hexes, count, names, contact_of);
  SP_FREE(contact_of, names);
  return status;
}
