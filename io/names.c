#define _GNU_SOURCE /* tdestroy */
#include "io/names.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *left, const void *right) {
  const sp_name *a = left, *b = right;
  if (a->length != b->length) return a->length < b->length ? -1 : 1;
  return memcmp(a->text, b->text, a->length);
}

const sp_name *sp_names_find(const sp_names *names, const char *name, size_t length) {
  const sp_name key = {.text = name, .length = length};
  const sp_name *const *found = tfind(&key, &names->root, compare_names);
  return found ? *found : NULL;
}

sp_status sp_names_add(sp_names *names, const char *name, size_t length, int index, void *item) {
  sp_name *new;
  SP_TRY(sp_allocate(1, sizeof *new + length, "names", &new));
  *new = (sp_name){memcpy(new + 1, name, length), length, index, item};
  if (tsearch(new, &names->root, compare_names)) return SP_OK;
  free(new);
  return sp_fail(SP_ERR_SYSTEM, "out of memory: names");
}

void sp_names_clear(sp_names *names) {
  tdestroy(names->root, free);
  names->root = NULL;
}
