/* Groups of the mesh, found by the name or number that a case gives. */
#pragma once

#include "mesh/hexes.h"

/* True if `name` is the group's name or its number. Local. */
bool sp_group_is_called(const sp_group *group, const char *name);

/* True if `name` means one of the groups. Local. */
bool sp_groups_have(const sp_family *family, const char *name);

/* The name of the group that `name` means, for tables: `name` itself unless it is the number of a
 * group with a name. Local. */
const char *sp_groups_title(const sp_family *family, const char *name);

/* Return the next surface or volume of the groups that `name` means, -1 after the last one. `at` is
 * {0, 0} before the first call. Local. */
int sp_groups_next(const sp_family *family, const char *name, int at[2]);

/* Check that `name` means one of the groups of a family of `hexes`. `where` begins messages, `what`
 * is the kind of group ("boundary group"). Errors: SP_ERR_INPUT with a list of all groups if there
 * is none of that name or number. The message names a group of another dimension that has the name;
 * and both groups if it is the name of one and the number of another. Local. */
sp_status sp_groups_check(const char *where, const char *what, const char *name,
                          const sp_hexes *hexes, const sp_family *family);

/* The kind of a group called `name` that is not in `family`, one of the families of `hexes`: ",
 * which is a Physical Point"; "" if there is none. Local. */
const char *sp_groups_kind_of(const char *name, const sp_hexes *hexes, const sp_family *family);

/* Refuse a group called "default", unless a line names it by its number. The line `where` of that
 * name is for all groups that no other line names. For each surface or volume of the family
 * part_of[count] is its line, `fallback` if none names it. `what` is the kind of group. Errors:
 * SP_ERR_INPUT. Local. */
sp_status sp_groups_check_default(const char *where, const char *what, const sp_family *family,
                                  const int *part_of, int fallback);

/* List, with commas, the groups for which listed[group] is true (NULL: all): names, or numbers of
 * groups without one. A list that does not fit `size` ends with ", ...". Returns `text`. Local. */
const char *sp_groups_list(const sp_family *family, const bool *listed, size_t size, char *text);
