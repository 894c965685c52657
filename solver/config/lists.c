/* The lists of a case: lines with a free name, and sections with a name of their own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/config/internal.h"

/* ---- Entries ---- */

static char *array_of(const sp_config *config, const sp_key_list *list) {
  char *entries;
  memcpy(&entries, (const char *)config + list->entries, sizeof entries);
  return entries;
}

static int *count_of(const sp_config *config, const sp_key_list *list) {
  return (int *)((char *)config + list->count);
}

static char **name_of(const sp_config *config, const sp_key_list *list, int i) {
  return (char **)(array_of(config, list) + (size_t)i * list->size);
}

static char **where_of(const sp_config *config, const sp_key_list *list, int i) {
  return (char **)(array_of(config, list) + (size_t)i * list->size + list->where);
}

int sp_key_values(const sp_config *config, const sp_key *key) {
  return key->list ? *count_of(config, key->list) : 1;
}

void *sp_key_field(const sp_config *config, const sp_key *key, int i) {
  if (!key->list) return (char *)config + key->offset;
  return array_of(config, key->list) + (size_t)i * key->list->size + key->offset;
}

const char *sp_key_entry_name(const sp_config *config, const sp_key *key, int i) {
  return *name_of(config, key->list, i);
}

static sp_names *names_of(const sp_config *config, const sp_key_list *list) {
  return &config->names[list - sp_key_lists];
}

/* The index of the entry with this name; the number of entries if there is none. */
static int find_entry(const sp_config *config, const sp_key_list *list, const char *name,
                      size_t length) {
  const sp_name *found = sp_names_find(names_of(config, list), name, length);
  return found ? found->index : *count_of(config, list);
}

/* Append an entry of zeros with a name. */
static sp_status append_entry(sp_config *config, const sp_key_list *list, const char *name,
                              size_t length) {
  int *count = count_of(config, list);
  char *copy = NULL;
  SP_TRY(sp_format(&copy, "%.*s", (int)length, name));
  sp_status status =
      sp_reserve((size_t)*count, 1, list->size, list->what, (char *)config + list->entries);
  if (!status) status = sp_names_add(names_of(config, list), name, length, *count, NULL);
  if (status) {
    free(copy);
    return status;
  }
  memset(array_of(config, list) + (size_t)*count * list->size, 0, list->size);
  *name_of(config, list, *count) = copy;
  ++*count;
  return SP_OK;
}

/* The section "[SECTION NAME]" that holds entries of a list, NULL if they are lines only. */
static const char *titled_section(const sp_key_list *list) {
  for (const sp_key *key = sp_keys; key < sp_keys + sp_key_count; key++)
    if (key->list == list && sp_key_is_titled(key)) return key->section;
  return NULL;
}

/* Entries of [SECTION NAME], also those that are given as lines, are written to such a section. */
static sp_status check_title(const char *location, const char *section, const char *name,
                             size_t length) {
  if (memchr(name, ']', length))
    return sp_fail(SP_ERR_INPUT, "%s: a case cannot hold a [%s] whose name contains ']'", location,
                   section);
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)name[i] < ' ' || name[i] == 0x7F)
      return sp_fail(SP_ERR_INPUT, "%s: the name of a [%s] contains a control character", location,
                     section);
  return SP_OK;
}

/* ---- Lines ---- */

sp_status sp_list_set_line(sp_config *config, const sp_key *key, const char *name,
                           const char *value, const char *where) {
  const char *section = titled_section(key->list);
  if (section) SP_TRY(check_title(where, section, name, strlen(name)));
  const int i = find_entry(config, key->list, name, strlen(name));
  if (i == sp_key_values(config, key)) SP_TRY(append_entry(config, key->list, name, strlen(name)));
  SP_TRY(sp_format(where_of(config, key->list, i), "%s", where));
  return sp_key_set(key, value, where, sp_key_field(config, key, i));
}

sp_status sp_list_drop_line(sp_config *config, const sp_key *key, const char *name) {
  const sp_key_list *list = key->list;
  const int i = find_entry(config, list, name, strlen(name));
  if (i == *count_of(config, list)) return SP_OK;
  sp_key_clear(key, sp_key_field(config, key, i));
  SP_FREE(*name_of(config, list, i), *where_of(config, list, i));
  char *entry = array_of(config, list) + (size_t)i * list->size;
  memmove(entry, entry + list->size, (size_t)(--*count_of(config, list) - i) * list->size);
  sp_names_clear(names_of(config, list));
  for (int n = 0; n < *count_of(config, list); n++) {
    const char *known = *name_of(config, list, n);
    SP_TRY(sp_names_add(names_of(config, list), known, strlen(known), n, NULL));
  }
  return SP_OK;
}

/* ---- Sections with a name ---- */

/* The parts of "material steel" + "kappa", or of "material" + "steel.kappa" in an argument. */
typedef struct address {
  const char *section;
  const char *name, *key;
  size_t name_length; /* 0: none */
} address;

/* The section that the first word of `text` names, NULL if its sections have no name. */
static const char *find_section(const char *text) {
  const size_t length = strcspn(text, SP_INI_SPACE);
  for (const sp_key *key = sp_keys; key < sp_keys + sp_key_count; key++)
    if (sp_key_is_titled(key) && strlen(key->section) == length &&
        strncmp(key->section, text, length) == 0)
      return key->section;
  return NULL;
}

static address find_address(const sp_ini_entry *entry) {
  address a = {.section = find_section(entry->section), .key = entry->key};
  a.name = entry->section + strlen(a.section);
  a.name += strspn(a.name, SP_INI_SPACE);
  a.name_length = strlen(a.name);
  if (entry->line > 0) return a;
  /* The section of an argument ends at its first dot, and the key follows the last one. */
  const char *dot = strrchr(entry->key, '.');
  if (a.name_length > 0 || !dot) {
    a.name_length = 0;
    return a;
  }
  a.name = entry->key;
  a.name_length = (size_t)(dot - entry->key);
  while (a.name_length > 0 && strchr(SP_INI_SPACE, a.name[a.name_length - 1])) a.name_length--;
  a.key = dot + 1 + strspn(dot + 1, SP_INI_SPACE);
  return a;
}

bool sp_section_is_titled(const sp_ini_entry *entry) {
  return find_section(entry->section);
}

sp_status sp_section_note_key(const sp_ini_entry *entry, sp_names *keys,
                              const sp_ini_entry **known) {
  const char *section = find_section(entry->section);
  const size_t title = section ? strlen(section) : 0;
  const char *rest = entry->section + title + strspn(entry->section + title, SP_INI_SPACE);
  SP_OWNED char *name = NULL;
  SP_TRY(sp_format(&name, "%s]%s]%s", section ? section : "", rest, entry->key));
  const size_t length = strlen(name);
  const sp_name *found = sp_names_find(keys, name, length);
  *known = found ? found->item : NULL;
  return found ? SP_OK : sp_names_add(keys, name, length, 0, (void *)entry);
}

static sp_status check_name(const char *location, const address *a) {
  if (a->name_length > 0) return check_title(location, a->section, a->name, a->name_length);
  return sp_fail(SP_ERR_INPUT,
                 "%s: expected the name of %s: [%s NAME] in a file, %s.NAME.KEY=VALUE as an "
                 "argument",
                 location, strcmp(a->section, "material") == 0 ? "a Physical Volume" : "the region",
                 a->section, a->section);
}

static void set_not_given(const sp_key *key, void *field) {
  if (key->type == &sp_number_value) *(double *)field = NAN;
  if (key->type == &sp_choice_value) memset(field, 0, sizeof(int));
}

/* The entry that `a` names, appended if it is new. */
static sp_status find_or_append(sp_config *config, const char *location, const address *a,
                                int *out) {
  const sp_key *row = sp_key_find(a->section, NULL);
  const sp_key_list *list = row->list;
  const int i = *out = find_entry(config, list, a->name, a->name_length);
  if (i < sp_key_values(config, row)) return SP_OK;
  SP_TRY(append_entry(config, list, a->name, a->name_length));
  for (; row < sp_keys + sp_key_count && strcmp(row->section, a->section) == 0; row++)
    set_not_given(row, sp_key_field(config, row, i));
  return sp_format(where_of(config, list, i), "%s: [%s %.*s]", location, a->section,
                   (int)a->name_length, a->name);
}

sp_status sp_section_assign(sp_config *config, const char *location, const sp_ini_entry *entry) {
  const address a = find_address(entry);
  int i;
  SP_TRY(check_name(location, &a));
  const sp_key *key = a.key ? sp_key_find(a.section, a.key) : NULL;
  if (a.key && !key) return sp_key_fail_unknown(location, a.section, a.key);
  SP_TRY(find_or_append(config, location, &a, &i));
  if (!key) return SP_OK; /* the line of the section itself */
  void *field = sp_key_field(config, key, i);
  if (entry->line == 0 && *entry->value == '\0' && !key->optional) {
    set_not_given(key, field);
    return SP_OK;
  }
  if (entry->line == 0) return sp_key_set(key, entry->value, location, field);
  SP_OWNED char *where = NULL;
  SP_TRY(sp_format(&where, "%s: %s.%.*s.%s", location, a.section, (int)a.name_length, a.name,
                   key->name));
  if (*entry->value != '\0' || !key->optional) return sp_key_set(key, entry->value, where, field);
  return sp_fail(SP_ERR_INPUT,
                 "%s: expected a formula, found nothing; remove the line to take problem.%s", where,
                 key->name);
}

/* ---- All ---- */

void sp_keys_clear(sp_config *config) {
  for (const sp_key *key = sp_keys; key < sp_keys + sp_key_count; key++)
    for (int i = 0; i < sp_key_values(config, key); i++)
      sp_key_clear(key, sp_key_field(config, key, i));
  for (const sp_key_list *list = sp_key_lists; list < sp_key_lists + sp_key_list_count; list++) {
    for (int i = 0; i < *count_of(config, list); i++) {
      SP_FREE(*name_of(config, list, i), *where_of(config, list, i));
    }
    free(array_of(config, list));
    if (config->names) sp_names_clear(names_of(config, list));
  }
}
