#define _POSIX_C_SOURCE 200809L /* locale_t */
#include "solver/case/config.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "io/ini.h"
#include "solver/case/config_check.h"
#include "solver/case/config_keys.h"
#include "solver/case/config_locale.h"
#include "solver/case/config_results.h"
#include "solver/case/config_sections.h"

enum { MAX_FILE_SIZE = 16 * 1024 * 1024 };

/* A case while it is being read. */
struct reader {
  sp_config *config;
  sp_config_origin origin;
};

/* ---- Keys one by one ---- */

static void *field_of(sp_config *config, const sp_key *key) {
  return (char *)config + key->offset;
}

/* How messages about a value begin. An argument already says which key it is about. */
static sp_status make_where(const char *location, const sp_ini_entry *entry, char **where) {
  if (entry->line == 0) return sp_copy_text(location, where);
  char shown[SP_SHOWN_SIZE];
  const size_t size = strlen(location) + strlen(entry->section) + SP_SHOWN_SIZE + 8;
  SP_TRY(sp_allocate(size, 1, "a location in the case", where));
  snprintf(*where, size, "%s: %s.%s", location, entry->section, sp_ini_show(entry->key, shown));
  return SP_OK;
}

/* A line GROUP = ... of [boundary]: replaces an earlier line of the group, or is appended. */
static sp_status set_group(sp_config *config, const sp_key *key, const sp_ini_entry *entry,
                           const char *where) {
  sp_boundary_entry *entries = config->boundary.entries;
  const int count = config->boundary.count;
  for (int i = 0; i < count; i++)
    if (strcmp(entries[i].group, entry->key) == 0)
      return sp_key_set(key, entry->value, where, &entries[i]);

  sp_boundary_entry added = {.group = NULL};
  sp_status status = sp_copy_text(entry->key, &added.group);
  if (status == SP_OK) status = sp_key_set(key, entry->value, where, &added);
  if (status == SP_OK) {
    entries = realloc(entries, ((size_t)count + 1) * sizeof *entries);
    if (!entries) status = sp_fail(SP_ERR_SYSTEM, "out of memory: %d boundary groups", count + 1);
  }
  if (status != SP_OK) {
    sp_key_clear(key, &added);
    return status;
  }
  entries[count] = added;
  config->boundary.entries = entries;
  config->boundary.count = count + 1;
  return SP_OK;
}

/* A line NAME = x y z of [probe]: replaces an earlier line of that name, or is appended. */
static sp_status set_probe(sp_config *config, const sp_key *key, const sp_ini_entry *entry,
                           const char *where) {
  sp_probe_entry *entries = config->probes.entries;
  int i = 0;
  while (i < config->probes.count && strcmp(entries[i].name, entry->key) != 0) i++;
  if (i == config->probes.count) {
    entries = realloc(entries, ((size_t)i + 1) * sizeof *entries);
    if (!entries) return sp_fail(SP_ERR_SYSTEM, "out of memory: %d probes", i + 1);
    entries[i] = (sp_probe_entry){.name = NULL};
    config->probes.entries = entries;
    config->probes.count = i + 1;
  }
  SP_TRY(sp_copy_text(entry->key, &entries[i].name));
  SP_TRY(sp_copy_text(where, &entries[i].where));
  return sp_key_set(key, entry->value, where, entries[i].point);
}

static sp_status set_named(sp_config *config, const sp_key *key, const sp_ini_entry *entry,
                           const char *where) {
  if (key->type == SP_KEY_RESULT)
    return sp_result_assign(config, key, entry->key, entry->value, where);
  return key->type == SP_KEY_NUMBER ? set_probe(config, key, entry, where)
                                    : set_group(config, key, entry, where);
}

static sp_status set_default(sp_config *config, const sp_key *key) {
  char where[64];
  snprintf(where, sizeof where, "default of %s.%s", key->section, key->name);
  return sp_key_set(key, key->fallback, where, field_of(config, key));
}

static void drop_group(sp_config *config, const sp_key *key, const char *name) {
  sp_boundary_entry *entries = config->boundary.entries;
  for (int i = 0; i < config->boundary.count; i++) {
    if (strcmp(entries[i].group, name) != 0) continue;
    sp_key_clear(key, &entries[i]);
    config->boundary.count--;
    memmove(&entries[i], &entries[i + 1], (size_t)(config->boundary.count - i) * sizeof *entries);
    return;
  }
}

static void drop_probe(sp_config *config, const char *name) {
  sp_probe_entry *entries = config->probes.entries;
  for (int i = 0; i < config->probes.count; i++) {
    if (strcmp(entries[i].name, name) != 0) continue;
    free(entries[i].name);
    free(entries[i].where);
    config->probes.count--;
    memmove(&entries[i], &entries[i + 1], (size_t)(config->probes.count - i) * sizeof *entries);
    return;
  }
}

/* An argument without a value undoes what the file says: the key gets its default again, the line
 * of a group, probe or result is removed. */
static sp_status unset(struct reader *reader, const sp_key *key, const char *name) {
  sp_config *config = reader->config;
  if (key->name) SP_TRY(set_default(config, key));
  if (!key->name && key->type == SP_KEY_CONDITION) drop_group(config, key, name);
  if (!key->name && key->type == SP_KEY_NUMBER) drop_probe(config, name);
  if (!key->name && key->type == SP_KEY_RESULT) sp_result_drop(config, key, name);
  char **given = &reader->origin.where[key - sp_keys];
  free(*given);
  *given = NULL;
  if (config->boundary.count == 0 && !sp_config_where(&reader->origin, "boundary", "default")) {
    free(config->boundary.where);
    config->boundary.where = NULL;
  }
  return SP_OK;
}

static sp_status assign(struct reader *reader, const char *location, const sp_ini_entry *entry) {
  sp_config *config = reader->config;
  if (sp_section_is_named(entry)) return sp_section_assign(config, location, entry);
  const sp_key *key = sp_key_find(entry->section, entry->key);
  if (!key) return sp_key_fail_unknown(location, entry->section, entry->key);
  if (!entry->key) return SP_OK;
  if (entry->line == 0 && *entry->value == '\0' && !key->optional)
    return unset(reader, key, entry->key);

  char *where = NULL;
  SP_TRY(make_where(location, entry, &where));
  sp_status status = key->name ? sp_key_set(key, entry->value, where, field_of(config, key))
                               : set_named(config, key, entry, where);
  if (status == SP_OK && strcmp(key->section, "boundary") == 0 && !config->boundary.where)
    status = sp_copy_text(where, &config->boundary.where);
  if (status == SP_OK) {
    char **given = &reader->origin.where[key - sp_keys];
    free(*given);
    /* A key without a value counts as not given. */
    *given = *entry->value != '\0' ? where : NULL;
    if (*given) where = NULL;
    if (field_of(config, key) == (void *)&config->mesh.file)
      reader->origin.file_in_argument = entry->line == 0;
    if (field_of(config, key) == (void *)&config->problem.initial)
      reader->origin.initial_in_argument = entry->line == 0;
  }
  free(where);
  return status;
}

static sp_status assign_file(struct reader *reader, const sp_ini *ini) {
  const size_t size = strlen(reader->origin.path) + 16;
  char *location = NULL;
  SP_TRY(sp_allocate(size, 1, "a location in the case", &location));
  sp_status status = SP_OK;
  for (int i = 0; i < ini->count && status == SP_OK; i++) {
    const sp_ini_entry *entry = &ini->entries[i];
    snprintf(location, size, "%s:%d", reader->origin.path, entry->line);
    for (int j = 0; j < i && entry->key && status == SP_OK; j++) {
      const sp_ini_entry *first = &ini->entries[j];
      char shown[SP_SHOWN_SIZE];
      if (first->key && strcmp(first->key, entry->key) == 0 &&
          sp_section_is_same(first->section, entry->section))
        status = sp_fail(SP_ERR_INPUT, "%s: key '%s' of [%s] is already given in line %d", location,
                         sp_ini_show(entry->key, shown), entry->section, first->line);
    }
    if (status == SP_OK) status = assign(reader, location, entry);
  }
  free(location);
  return status;
}

static sp_status assign_argument(struct reader *reader, const char *argument) {
  sp_ini *ini = NULL;
  SP_TRY(sp_ini_parse_argument(argument, &ini));
  char shown[SP_SHOWN_SIZE], location[SP_SHOWN_SIZE + 16];
  snprintf(location, sizeof location, "argument '%s'", sp_ini_show(argument, shown));
  const sp_status status = assign(reader, location, &ini->entries[0]);
  sp_ini_destroy(&ini);
  return status;
}

static sp_status assign_defaults(sp_config *config) {
  for (int k = 0; k < sp_key_count; k++)
    if (sp_keys[k].name && !sp_keys[k].named) SP_TRY(set_default(config, &sp_keys[k]));
  return sp_copy_text("default", &config->boundary.fallback.group);
}

/* ---- From file to configuration ---- */

static sp_status fill(struct reader *reader, const sp_ini *ini, int override_count,
                      const char *const *overrides) {
  SP_TRY(assign_defaults(reader->config));
  if (ini) SP_TRY(assign_file(reader, ini));
  for (int i = 0; i < override_count; i++) SP_TRY(assign_argument(reader, overrides[i]));
  return sp_config_check(&reader->origin, reader->config);
}

/* The part of reading that needs no communication. Local. */
static sp_status parse(const char *path, const char *text, size_t length, int override_count,
                       const char *const *overrides, sp_config **out) {
  locale_t own = (locale_t)0, previous = (locale_t)0;
  SP_TRY(sp_locale_use_c(&own, &previous));
  struct reader reader = {.origin = {.path = path}};
  sp_ini *ini = NULL;
  sp_status status = sp_allocate(1, sizeof *reader.config, "the configuration", &reader.config);
  if (status == SP_OK)
    status = sp_allocate((size_t)sp_key_count, sizeof *reader.origin.where, "the configuration",
                         &reader.origin.where);
  if (status == SP_OK && path) status = sp_ini_parse(path, text, length, &ini);
  if (status == SP_OK) {
    status = fill(&reader, ini, override_count, overrides);
  }

  sp_ini_destroy(&ini);
  for (int k = 0; reader.origin.where && k < sp_key_count; k++) free(reader.origin.where[k]);
  free(reader.origin.where);
  if (status != SP_OK) sp_config_destroy(&reader.config);
  *out = reader.config;
  sp_locale_restore(own, previous);
  return status;
}

/* Read the whole file; the caller frees *text. The size is not asked for first, since it may be a
 * pipe. */
static sp_status read_stream(const char *path, FILE *stream, char **text, int *length) {
  size_t capacity = 0, used = 0;
  while (!feof(stream)) {
    if (used == capacity) {
      capacity = capacity > 0 ? 2 * capacity : 65536;
      char *larger = realloc(*text, capacity);
      if (!larger)
        return sp_fail(SP_ERR_SYSTEM, "%s: out of memory: %zu bytes of text", path, capacity);
      *text = larger;
    }
    used += fread(*text + used, 1, capacity - used, stream);
    if (ferror(stream)) return sp_fail(SP_ERR_SYSTEM, "%s: cannot read: %s", path, strerror(errno));
    if (used > MAX_FILE_SIZE)
      return sp_fail(SP_ERR_INPUT, "%s: larger than %d MiB, too large for a case file", path,
                     MAX_FILE_SIZE / (1024 * 1024));
  }
  *length = (int)used;
  return SP_OK;
}

static sp_status read_file(const char *path, char **text, int *length) {
  FILE *stream = fopen(path, "rb");
  if (!stream) return sp_fail(SP_ERR_SYSTEM, "%s: cannot open: %s", path, strerror(errno));
  const sp_status status = read_stream(path, stream, text, length);
  fclose(stream); /* opened for reading: closing cannot lose data */
  return status;
}

/* The text of the file on all ranks; the caller frees *text, also after a failure. Collective. */
static sp_status read_everywhere(MPI_Comm comm, const char *path, char **text, int *length) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  SP_TRY(sp_agree(comm, rank == 0 ? read_file(path, text, length) : SP_OK));
  MPI_Bcast(length, 1, MPI_INT, 0, comm);
  const sp_status status =
      rank == 0 ? SP_OK : sp_allocate((size_t)*length, 1, "the text of the case", text);
  SP_TRY(sp_agree(comm, status));
  MPI_Bcast(*text, *length, MPI_CHAR, 0, comm);
  return SP_OK;
}

sp_status sp_config_read(MPI_Comm comm, const char *path, int override_count,
                         const char *const *overrides, sp_config **out) {
  *out = NULL;
  char *text = NULL;
  int length = 0;
  sp_status status = path ? read_everywhere(comm, path, &text, &length) : SP_OK;
  if (status == SP_OK) {
    status = parse(path, text, (size_t)length, override_count, overrides, out);
    status = sp_agree(comm, status);
  }
  if (status != SP_OK) sp_config_destroy(out);
  free(text);
  return status;
}

void sp_config_destroy(sp_config **config) {
  if (!*config) return;
  sp_sections_clear(*config);
  for (int k = 0; k < sp_key_count; k++) {
    if (sp_keys[k].named) continue;
    if (sp_keys[k].name)
      sp_key_clear(&sp_keys[k], field_of(*config, &sp_keys[k]));
    else if (sp_keys[k].type == SP_KEY_CONDITION)
      for (int i = 0; i < (*config)->boundary.count; i++)
        sp_key_clear(&sp_keys[k], &(*config)->boundary.entries[i]);
    else if (sp_keys[k].type == SP_KEY_RESULT)
      sp_results_clear(*config, &sp_keys[k]);
  }
  free((*config)->boundary.entries);
  for (int i = 0; i < (*config)->probes.count; i++) {
    free((*config)->probes.entries[i].name);
    free((*config)->probes.entries[i].where);
  }
  free((*config)->probes.entries);
  free((*config)->boundary.where);
  free((*config)->mesh.where);
  free((*config)->output.log_where);
  free((*config)->output.field_where);
  free((*config)->output.flux_where);
  free(*config);
  *config = NULL;
}
