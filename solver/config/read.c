#include "solver/config/config.h"

#include <errno.h>
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
    SP_TRY(sp_list_drop_line(config, key, name));
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
  if (sp_section_is_titled(entry)) return sp_section_assign(config, location, entry);
  const sp_key *key = sp_key_find(entry->section, entry->key);
  if (!key) return sp_key_fail_unknown(location, entry->section, entry->key);
  if (!entry->key) return SP_OK;
  if (entry->line == 0 && *entry->value == '\0' && !key->optional)
    return unset_key(reader, key, entry->key);

  SP_OWNED char *where = NULL;
  SP_TRY(make_where(location, entry, &where));
  SP_TRY(key->list ? sp_list_set_line(config, key, entry->key, entry->value, where)
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
    if (entry->key) SP_TRY(sp_section_note_key(entry, keys, &known));
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
  if (!*config) return;
  sp_keys_clear(*config);
  free((*config)->statement.boundary.fallback.group);
  sp_scope_destroy(&(*config)->statement.scope);
  for (int k = 0; (*config)->given && k < sp_key_count; k++) free((*config)->given[k].where);
  SP_FREE((*config)->given, (*config)->names, (*config)->mesh.where, (*config)->output.unconverged,
          *config);
  *config = NULL;
}

sp_solver_options sp_config_solver(const sp_config *config) {
  sp_solver_options options = config->solver;
  options.order = config->statement.order;
  return options;
}
