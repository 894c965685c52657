#include "solver/config/config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "solver/config/internal.h"

enum { MAX_FILE_SIZE = 16 * 1024 * 1024 };

/* A case while it is being read. */
struct reader {
  const char *path; /* of the case file, NULL without one */
  sp_config *config;
};

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

static void clear_field(const sp_key *key, void *field) {
  if (key->type->clear) key->type->clear(field);
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

/* The line `name` = `value` of a section: set the entry of that name, or append one. */
static sp_status set_list_line(sp_config *config, const sp_key *key, const char *name,
                               const char *value, const char *where) {
  const char *section = titled_section(key->list);
  if (section) SP_TRY(check_title(where, section, name, strlen(name)));
  const int i = find_entry(config, key->list, name, strlen(name));
  if (i == sp_key_values(config, key)) SP_TRY(append_entry(config, key->list, name, strlen(name)));
  SP_TRY(sp_format(where_of(config, key->list, i), "%s", where));
  return sp_key_set(key, value, where, sp_key_field(config, key, i));
}

/* Remove the line called `name`, if there is one. */
static sp_status drop_list_line(sp_config *config, const sp_key *key, const char *name) {
  const sp_key_list *list = key->list;
  const int i = find_entry(config, list, name, strlen(name));
  if (i == *count_of(config, list)) return SP_OK;
  clear_field(key, sp_key_field(config, key, i));
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

/* Find an earlier entry of a file with the same section and key, NULL for none, in `keys`, which
 * gets this one. White space before the name of a section does not matter. */
static sp_status note_key(const sp_ini_entry *entry, sp_names *keys, const sp_ini_entry **known) {
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

/* Apply a line or an argument of a section with a name. Numbers of an entry that are not given are
 * NAN. */
static sp_status assign_to_section(sp_config *config, const char *location,
                                   const sp_ini_entry *entry) {
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

/* ---- Keys one by one ---- */

/* The beginning of messages about a value. An argument already names its key. */
static sp_status make_where(const char *location, const sp_ini_entry *entry, char **where) {
  char shown[SP_SHOWN_SIZE];
  return entry->line == 0 ? sp_format(where, "%s", location)
                          : sp_format(where, "%s: %s.%s", location, entry->section,
                                      sp_ini_show(entry->key, shown));
}

static sp_status set_default(sp_config *config, const sp_key *key) {
  char where[64];
  snprintf(where, sizeof where, "default of %s.%s", key->section, key->name);
  return sp_key_set(key, key->fallback, where, sp_key_field(config, key, 0));
}

/* An argument without a value removes the line of a group, probe, line or result, or gives another
 * key its default. */
static sp_status unset_key(struct reader *reader, const sp_key *key, const char *name) {
  sp_config *config = reader->config;
  if (key->list)
    SP_TRY(drop_list_line(config, key, name));
  else
    SP_TRY(set_default(config, key));
  free(config->given[key - sp_keys].where);
  config->given[key - sp_keys].where = NULL;
  return SP_OK;
}

/* Read the tables that a value names, relative to the folder of the case file. */
static sp_status read_tables(struct reader *reader, const char *location,
                             const sp_ini_entry *entry) {
  const char *path = reader->path, *slash = path ? strrchr(path, '/') : NULL;
  SP_OWNED char *folder = NULL;
  if (!strstr(entry->value, "table")) return SP_OK;
  SP_TRY(sp_format(&folder, "%.*s", slash ? (int)(slash + 1 - path) : 0, path ? path : ""));
  return sp_tables_read(&reader->config->statement.scope->tables, entry->value, folder, location);
}

static sp_status assign_entry(struct reader *reader, const char *location,
                              const sp_ini_entry *entry) {
  sp_config *config = reader->config;
  if (entry->key) SP_TRY(read_tables(reader, location, entry));
  if (find_section(entry->section)) return assign_to_section(config, location, entry);
  const sp_key *key = sp_key_find(entry->section, entry->key);
  if (!key) return sp_key_fail_unknown(location, entry->section, entry->key);
  if (!entry->key) return SP_OK;
  if (entry->line == 0 && *entry->value == '\0' && !key->optional)
    return unset_key(reader, key, entry->key);

  SP_OWNED char *where = NULL;
  SP_TRY(make_where(location, entry, &where));
  SP_TRY(key->list ? set_list_line(config, key, entry->key, entry->value, where)
                   : sp_key_set(key, entry->value, where, sp_key_field(config, key, 0)));
  sp_given *given = &config->given[key - sp_keys];
  free(given->where);
  /* A key without a value counts as not given. */
  given->where = *entry->value != '\0' ? where : NULL;
  given->in_argument = entry->line == 0;
  if (given->where) where = NULL;
  return SP_OK;
}

static sp_status assign_lines(struct reader *reader, const sp_ini *ini, sp_names *keys) {
  SP_OWNED char *location = NULL;
  for (int i = 0; i < ini->count; i++) {
    const sp_ini_entry *entry = &ini->entries[i];
    SP_TRY(sp_format(&location, "%s:%d", reader->path, entry->line));
    const sp_ini_entry *known = NULL;
    char shown[SP_SHOWN_SIZE];
    if (entry->key) SP_TRY(note_key(entry, keys, &known));
    if (known)
      return sp_fail(SP_ERR_INPUT, "%s: key '%s' of [%s] is already given in line %d", location,
                     sp_ini_show(entry->key, shown), entry->section, known->line);
    SP_TRY(assign_entry(reader, location, entry));
  }
  return SP_OK;
}

static sp_status assign_file(struct reader *reader, const sp_ini *ini) {
  sp_names keys = {0};
  const sp_status status = assign_lines(reader, ini, &keys);
  sp_names_clear(&keys);
  return status;
}

static sp_status assign_argument(struct reader *reader, const char *argument) {
  SP_AUTO(sp_ini) ini = NULL;
  SP_TRY(sp_ini_parse_argument(argument, &ini));
  char shown[SP_SHOWN_SIZE], location[SP_SHOWN_SIZE + 16];
  snprintf(location, sizeof location, "argument '%s'", sp_ini_show(argument, shown));
  return assign_entry(reader, location, &ini->entries[0]);
}

static sp_status assign_defaults(sp_config *config) {
  for (int k = 0; k < sp_key_count; k++)
    if (!sp_keys[k].list) SP_TRY(set_default(config, &sp_keys[k]));
  return sp_format(&config->statement.boundary.fallback.group, "default");
}

/* ---- From file to configuration ---- */

static sp_status fill_config(struct reader *reader, const sp_ini *ini, int override_count,
                             const char *const *overrides) {
  SP_TRY(sp_allocate(1, sizeof *reader->config->statement.scope, "constants",
                     &reader->config->statement.scope));
  SP_TRY(assign_defaults(reader->config));
  if (ini) SP_TRY(assign_file(reader, ini));
  for (int i = 0; i < override_count; i++) SP_TRY(assign_argument(reader, overrides[i]));
  return sp_config_check(reader->path, reader->config);
}

/* The part of reading that needs no communication. Local. */
static sp_status parse_config(const char *path, const char *text, size_t length, int override_count,
                              const char *const *overrides, sp_config **out) {
  struct reader reader = {.path = path};
  SP_AUTO(sp_ini) ini = NULL;
  sp_status status = sp_allocate(1, sizeof *reader.config, "the configuration", &reader.config);
  if (status == SP_OK)
    status = SP_ALLOCATE("the configuration", SP_ARRAY(reader.config->given, sp_key_count),
                         SP_ARRAY(reader.config->names, sp_key_list_count));
  if (status == SP_OK && path) status = sp_ini_parse(path, text, length, &ini);
  if (status == SP_OK) status = fill_config(&reader, ini, override_count, overrides);
  if (status != SP_OK) sp_config_destroy(&reader.config);
  *out = reader.config;
  return status;
}

/* Read the whole file; the caller frees *text. Do not query the size first: the file may be a pipe.
 */
static sp_status read_stream(const char *path, FILE *stream, char **text, int *length) {
  enum { BLOCK = 65536 };
  size_t used = 0;
  while (!feof(stream)) {
    SP_TRY(sp_reserve(used, BLOCK, 1, path, text));
    used += fread(*text + used, 1, BLOCK, stream);
    if (ferror(stream)) return sp_fail(SP_ERR_SYSTEM, "%s: cannot read: %s", path, strerror(errno));
    if (used > MAX_FILE_SIZE)
      return sp_fail(SP_ERR_INPUT, "%s: larger than %d MiB, too large for a case file", path,
                     MAX_FILE_SIZE / (1024 * 1024));
  }
  *length = (int)used;
  return SP_OK;
}

static sp_status read_file(const char *path, char **text, int *length) {
  struct stat file;
  if (lstat(path, &file) == 0 && S_ISFIFO(file.st_mode)) /* not the pipe behind /dev/stdin */
    return sp_fail(SP_ERR_INPUT, "%s: is a named pipe, expected a case file", path);
  FILE *stream = fopen(path, "rb");
  if (!stream) return sp_fail(SP_ERR_SYSTEM, "%s: cannot open: %s", path, strerror(errno));
  const sp_status status = read_stream(path, stream, text, length);
  fclose(stream); /* opened for reading: closing cannot lose data */
  return status;
}

sp_status sp_config_text(MPI_Comm comm, const char *path, char **text, int *length) {
  const int rank = sp_comm_rank(comm);
  SP_TRY(sp_agree(comm, rank == 0 ? read_file(path, text, length) : SP_OK));
  MPI_Bcast(length, 1, MPI_INT, 0, comm);
  const sp_status status =
      rank == 0 ? SP_OK : sp_allocate((size_t)*length, 1, "the text of the case", text);
  SP_TRY(sp_agree(comm, status));
  MPI_Bcast(*text, *length, MPI_CHAR, 0, comm);
  return SP_OK;
}

sp_status sp_config_parse(MPI_Comm comm, const char *path, const char *text, int length,
                          int override_count, const char *const *overrides, sp_config **out) {
  *out = NULL;
  const sp_status status =
      sp_agree(comm, parse_config(path, text, (size_t)length, override_count, overrides, out));
  if (status) sp_config_destroy(out);
  return status;
}

sp_status sp_config_read(MPI_Comm comm, const char *path, int override_count,
                         const char *const *overrides, sp_config **out) {
  *out = NULL;
  SP_OWNED char *text = NULL;
  int length = 0;
  if (path) SP_TRY(sp_config_text(comm, path, &text, &length));
  return sp_config_parse(comm, path, text, length, override_count, overrides, out);
}

void sp_config_destroy(sp_config **config) {
  sp_config *c = *config;
  if (!c) return;
  for (const sp_key *key = sp_keys; key < sp_keys + sp_key_count; key++)
    for (int i = 0; i < sp_key_values(c, key); i++) clear_field(key, sp_key_field(c, key, i));
  for (const sp_key_list *list = sp_key_lists; list < sp_key_lists + sp_key_list_count; list++) {
    for (int i = 0; i < *count_of(c, list); i++) {
      SP_FREE(*name_of(c, list, i), *where_of(c, list, i));
    }
    free(array_of(c, list));
    if (c->names) sp_names_clear(names_of(c, list));
  }
  free(c->statement.boundary.fallback.group);
  sp_scope_destroy(&c->statement.scope);
  for (int k = 0; c->given && k < sp_key_count; k++) free(c->given[k].where);
  SP_FREE(c->given, c->names, c->mesh.where, c->output.unconverged, c);
  *config = NULL;
}

sp_solver_options sp_config_solver(const sp_config *config) {
  sp_solver_options options = config->solver;
  options.order = config->statement.order;
  return options;
}
