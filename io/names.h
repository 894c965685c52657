/* A table of different names, each with an index or an item: a balanced tree. Names may hold any
 * bytes. A table of zeros is empty. */
#pragma once

#include <stddef.h>

#include "io/error.h"

typedef struct sp_name {
  const char *text; /* [length] */
  size_t length;
  int index;
  void *item; /* borrowed */
} sp_name;

typedef struct sp_names {
  void *root;
} sp_names;

/* NULL if the name is not in the table. Local. */
const sp_name *sp_names_find(const sp_names *names, const char *name, size_t length);

/* Add a copy of a name that is not in the table. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_names_add(sp_names *names, const char *name, size_t length, int index, void *item);

/* Empty the table and free its memory. Local. */
void sp_names_clear(sp_names *names);
