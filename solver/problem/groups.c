#include "solver/problem/groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_number_of(const char *name, const sp_group *group) {
  char number[16];
  if (atoi(name) != group->number) return false; /* in most cases, without printing */
  snprintf(number, sizeof number, "%d", group->number);
  return strcmp(name, number) == 0;
}

bool sp_group_is_called(const sp_group *group, const char *name) {
  return strcmp(name, group->name) == 0 || is_number_of(name, group);
}

bool sp_groups_have(const sp_family *family, const char *name) {
  bool found = false;
  for (int g = 0; g < family->group_count; g++)
    found = found || sp_group_is_called(&family->groups[g], name);
  return found;
}

const char *sp_groups_title(const sp_family *family, const char *name) {
  const bool is_number = name && name[0] >= '0' && name[0] <= '9';
  for (int g = 0; is_number && g < family->group_count; g++)
    if (is_number_of(name, &family->groups[g]) && family->groups[g].name[0])
      return family->groups[g].name;
  return name;
}

int sp_groups_next(const sp_family *family, const char *name, int at[2]) {
  for (; at[0] < family->group_count; at[0]++, at[1] = 0) {
    const sp_group *group = &family->groups[at[0]];
    if (at[1] < group->part_count && sp_group_is_called(group, name)) return group->parts[at[1]++];
  }
  return -1;
}

/* Refuse `name` if it is one group's name and another group's number. */
static sp_status check_one_meaning(const char *where, const char *name, const sp_family *family) {
  const sp_group *named = NULL, *numbered = NULL, *group = family->groups;
  for (int g = 0; g < family->group_count; g++, group++) {
    if (strcmp(name, group->name) == 0)
      named = group;
    else if (is_number_of(name, group))
      numbered = group;
  }
  if (!named || !numbered) return SP_OK;
  if (numbered->name[0])
    return sp_fail(SP_ERR_INPUT,
                   "%s: '%s' has two meanings, the name of group number %d and the number of group "
                   "'%s': write %d or %s",
                   where, name, named->number, numbered->name, named->number, numbered->name);
  return sp_fail(SP_ERR_INPUT,
                 "%s: '%s' has two meanings, the name of group number %d and the number of a group "
                 "without a name: write %d for the first, or give it another name in the mesh",
                 where, name, named->number, named->number);
}

const char *sp_groups_list(const sp_family *family, const bool *listed, size_t size, char *text) {
  const sp_group *groups = family->groups;
  size_t used = 0;
  text[0] = '\0';
  static const char rest[] = ", ...";
  for (int g = 0; g < family->group_count; g++) {
    if (listed && !listed[g]) continue;
    const char *separator = used ? ", " : "";
    const size_t room = size - used - sizeof rest;
    const char *quote = strpbrk(groups[g].name, " ,") ? "'" : "";
    const int n =
        groups[g].name[0]
            ? snprintf(text + used, room, "%s%s%s%s", separator, quote, groups[g].name, quote)
            : snprintf(text + used, room, "%s%d", separator, groups[g].number);
    if ((size_t)n >= room) {
      strcpy(text + used, rest);
      break;
    }
    used += (size_t)n;
  }
  return text;
}

sp_status sp_groups_check_default(const char *where, const char *what, const sp_family *family,
                                  const int *part_of, int fallback) {
  const sp_group *group = family->groups;
  for (int g = 0; g < family->group_count; g++, group++)
    for (int p = 0; p < group->part_count && strcmp(group->name, "default") == 0; p++)
      if (part_of[group->parts[p]] == fallback)
        return sp_fail(SP_ERR_INPUT,
                       "%s: 'default' means all that no other line names, but the mesh also has a "
                       "%s 'default'; refer to that group by its number, %d",
                       where, what, group->number);
  return SP_OK;
}

const char *sp_groups_kind_of(const char *name, const sp_hexes *hexes, const sp_family *family) {
  static const char *const kinds[] = {", which is a Physical Point", ", which is a Physical Curve"};
  const bool on_surface = family == &hexes->surface;
  char line[sizeof hexes->file.names[0]];
  if (sp_groups_have(on_surface ? &hexes->volume : &hexes->surface, name))
    return on_surface ? ", which is a volume group" : ", which is a boundary group";
  const int length = snprintf(line, sizeof line, "\n%s\n", name);
  for (int d = 0; d < 2 && length < (int)sizeof line; d++)
    if (strstr(hexes->file.names[d], line)) return kinds[d];
  return "";
}

sp_status sp_groups_check(const char *where, const char *what, const char *name,
                          const sp_hexes *hexes, const sp_family *family) {
  char known[512];
  if (sp_groups_have(family, name)) return check_one_meaning(where, name, family);
  return sp_fail(SP_ERR_INPUT, "%s: the mesh has no %s '%s'%s; %s%s", where, what, name,
                 sp_groups_kind_of(name, hexes, family),
                 family->group_count ? "it has: " : "it names none",
                 sp_groups_list(family, NULL, sizeof known, known));
}
