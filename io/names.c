#include "io/names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The place of a name, or the free one where it belongs. room > 0. */
static sp_name *place_of(const sp_names *names, const char *name, size_t length) {
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)name[i]) * 1099511628211u;
  size_t at = (size_t)(hash ^ hash >> 32);
  for (;; at++) {
    sp_name *place = &names->list[at & (names->room - 1)];
    if (!place->text) return place;
    if (place->length == length && memcmp(place->text, name, length) == 0) return place;
  }
}

const sp_name *sp_names_find(const sp_names *names, const char *name, size_t length) {
  const sp_name *place = names->room > 0 ? place_of(names, name, length) : NULL;
  return place && place->text ? place : NULL;
}

static sp_status grow(sp_names *names) {
  sp_names larger = {.count = names->count, .room = names->room > 0 ? 2 * names->room : 16};
  SP_TRY(sp_allocate(larger.room, sizeof *larger.list, "names", &larger.list));
  for (size_t i = 0; i < names->room; i++) {
    const sp_name *old = &names->list[i];
    if (old->text) *place_of(&larger, old->text, old->length) = *old;
  }
  free(names->list);
  *names = larger;
  return SP_OK;
}

sp_status sp_names_add(sp_names *names, const char *name, size_t length, int index, void *item) {
  if (2 * (names->count + 1) > names->room) SP_TRY(grow(names));
  sp_name *place = place_of(names, name, length);
  SP_TRY(sp_allocate(length + 1, 1, "names", &place->text));
  memcpy(place->text, name, length);
  place->length = length;
  place->index = index;
  place->item = item;
  names->count++;
  return SP_OK;
}

void sp_names_clear(sp_names *names) {
  for (size_t i = 0; i < names->room; i++) free(names->list[i].text);
  free(names->list);
  *names = (sp_names){0};
}
