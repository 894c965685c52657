/* A table of different names, each with an index or an item: finding one takes a time that does not
 * depend on how many there are. Names may hold any bytes. A table of zeros is empty. */
#pragma once

#include <stddef.h>

#include "io/error.h"

typedef struct sp_name {
  char *text; /* [length]; NULL: free */
  size_t length;
  int index;
  void *item; /* borrowed */
} sp_name;

typedef struct sp_names {
  size_t count, room;
  sp_name *list; /* [room], a power of two or 0; at least half of it is free */
} sp_names;

/* NULL if the name is not in the table. Local. */
const sp_name *sp_names_find(const sp_names *names, const char *name, size_t length);

/* Add a copy of a name that is not in the table. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_names_add(sp_names *names, const char *name, size_t length, int index, void *item);

/* Empty the table and free its memory. Local. */
void sp_names_clear(sp_names *names);
