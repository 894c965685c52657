#define _POSIX_C_SOURCE 200809L /* newlocale, open_memstream, getcwd */
#include "io/config.h"

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/config_keys.h"
#include "io/config_results.h"
#include "io/config_sections.h"
#include "io/ini.h"
#include "io/output_paths.h"

enum { MAX_FILE_SIZE = 16 * 1024 * 1024 };

/* A case while it is being read. */
struct reader {
  sp_config *config;
  const char *path;      /* of the case file, NULL without one */
  char **where;          /* [sp_key_count]: where each key was given, NULL if it was not */
  bool file_in_argument; /* mesh.file comes from the command line */
};

/* ---- Numbers are written with a point, whatever the user's locale says ---- */

static sp_status use_c_locale(locale_t *own, locale_t *previous) {
  *own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (*own == (locale_t)0)
    return sp_fail(SP_ERR_SYSTEM, "cannot make the C locale: %s", strerror(errno));
  *previous = uselocale(*own);
  return SP_OK;
}

static void restore_locale(locale_t own, locale_t previous) {
  uselocale(previous);
  freelocale(own);
}

/* ---- Keys one by one ---- */

static void *field_of(sp_config *config, const sp_key *key) {
  return (char *)config + key->offset;
}

static const char *where_given(const struct reader *reader, const char *section, const char *name) {
  return reader->where[sp_key_find(section, name) - sp_keys];
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
      return sp_key_set(key, config->vocabulary, entry->value, where, &entries[i]);

  sp_boundary_entry added = {.group = NULL};
  sp_status status = sp_copy_text(entry->key, &added.group);
  if (status == SP_OK) status = sp_key_set(key, config->vocabulary, entry->value, where, &added);
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
  return sp_key_set(key, config->vocabulary, entry->value, where, entries[i].point);
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
  return sp_key_set(key, config->vocabulary, key->fallback, where, field_of(config, key));
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
  char **given = &reader->where[key - sp_keys];
  free(*given);
  *given = NULL;
  if (config->boundary.count == 0 && !where_given(reader, "boundary", "default")) {
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
  sp_status status =
      key->name ? sp_key_set(key, config->vocabulary, entry->value, where, field_of(config, key))
                : set_named(config, key, entry, where);
  if (status == SP_OK && strcmp(key->section, "boundary") == 0 && !config->boundary.where)
    status = sp_copy_text(where, &config->boundary.where);
  if (status == SP_OK) {
    char **given = &reader->where[key - sp_keys];
    free(*given);
    /* A key without a value counts as not given. */
    *given = *entry->value != '\0' ? where : NULL;
    if (*given) where = NULL;
    if (field_of(config, key) == (void *)&config->mesh.file)
      reader->file_in_argument = entry->line == 0;
  }
  free(where);
  return status;
}

static sp_status assign_file(struct reader *reader, const sp_ini *ini) {
  const size_t size = strlen(reader->path) + 16;
  char *location = NULL;
  SP_TRY(sp_allocate(size, 1, "a location in the case", &location));
  sp_status status = SP_OK;
  for (int i = 0; i < ini->count && status == SP_OK; i++) {
    const sp_ini_entry *entry = &ini->entries[i];
    snprintf(location, size, "%s:%d", reader->path, entry->line);
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

/* ---- Rules that involve several keys ---- */

/* mesh.file as the program opens it: relative to the folder of the case file where that names it,
 * else to the working directory. */
static sp_status resolve_file(struct reader *reader) {
  char **file = &reader->config->mesh.file;
  const char *slash = reader->path ? strrchr(reader->path, '/') : NULL;
  if (!slash || **file == '/' || reader->file_in_argument) return SP_OK;
  const size_t folder = (size_t)(slash - reader->path) + 1, name = strlen(*file) + 1;
  char *joined = NULL;
  SP_TRY(sp_allocate(folder + name, 1, "the path of the mesh", &joined));
  memcpy(joined, reader->path, folder);
  memcpy(joined + folder, *file, name);
  free(*file);
  *file = joined;
  return SP_OK;
}

static sp_status resolve_shape(struct reader *reader) {
  sp_config *config = reader->config;
  const char *file = where_given(reader, "mesh", "file");
  const char *shape = where_given(reader, "mesh", "shape");
  if (shape && file && config->mesh.shape == SP_SHAPE_BOX)
    return sp_fail(SP_ERR_INPUT,
                   "%s: a box takes no file; drop this, or drop mesh.file, which is given too (%s)",
                   shape, file);
  if (shape && !file && config->mesh.shape == SP_SHAPE_FILE)
    return sp_fail(SP_ERR_INPUT, "%s: no mesh.file is given; give it, or drop shape = file", shape);
  config->mesh.shape = file ? SP_SHAPE_FILE : SP_SHAPE_BOX;
  SP_TRY(sp_copy_text(file ? file : shape ? shape : "default of mesh.shape", &config->mesh.where));
  if (file) return resolve_file(reader);
  free(config->mesh.file);
  config->mesh.file = NULL;
  return SP_OK;
}

static sp_status check_corners(const struct reader *reader) {
  const sp_config *config = reader->config;
  const char *upper_where = where_given(reader, "mesh", "upper");
  const char *where = upper_where ? upper_where : where_given(reader, "mesh", "lower");
  for (int d = 0; d < 3; d++) {
    const double lower = config->mesh.lower[d], upper = config->mesh.upper[d];
    if (!(upper > lower) || !isfinite(upper - lower))
      return sp_fail(SP_ERR_INPUT,
                     "%s: expected a finite box with mesh.upper above mesh.lower, found %g to %g "
                     "in %c",
                     where, lower, upper, "xyz"[d]);
  }
  return SP_OK;
}

void sp_config_outputs(const sp_config *config, sp_output_path outputs[SP_OUTPUTS]) {
  outputs[SP_OUTPUT_LOG] = (sp_output_path){
      .name = "log", .path = config->output.log, .where = config->output.log_where};
  outputs[SP_OUTPUT_FIELD] = (sp_output_path){.name = "field",
                                              .path = config->output.field,
                                              .where = config->output.field_where,
                                              .has_unconverged = true};
  outputs[SP_OUTPUT_CHECKPOINT] = (sp_output_path){.name = "checkpoint",
                                                   .path = config->output.checkpoint,
                                                   .where = config->output.checkpoint_where,
                                                   .may_replace_restart = true};
}

static sp_status keep_where(const struct reader *reader, const char *name, char **where) {
  const char *given = where_given(reader, "output", name);
  return given ? sp_copy_text(given, where) : SP_OK;
}

static sp_status check_outputs(struct reader *reader) {
  sp_config *config = reader->config;
  SP_TRY(keep_where(reader, "log", &config->output.log_where));
  SP_TRY(keep_where(reader, "field", &config->output.field_where));
  SP_TRY(keep_where(reader, "checkpoint", &config->output.checkpoint_where));
  sp_output_path outputs[SP_OUTPUTS];
  sp_config_outputs(config, outputs);
  const sp_input_path inputs[] = {{.what = "the case file", .path = reader->path},
                                  {.what = "the mesh", .path = config->mesh.file},
                                  {.what = "the checkpoint to restart from",
                                   .path = config->output.restart,
                                   .is_restart = true}};
  return sp_output_paths_check(outputs, SP_OUTPUTS, inputs, sizeof inputs / sizeof *inputs);
}

/* b itself is rounded to half of this, so a smaller relative residual is meaningless. */
static sp_status check_tolerance(const struct reader *reader) {
  const double tolerance = reader->config->solver.tolerance;
  if (tolerance >= DBL_EPSILON) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: %g cannot be reached: double precision rounds the right-hand side itself to "
                 "%.2g of its size; give that or more",
                 where_given(reader, "solver", "tolerance"), tolerance, DBL_EPSILON);
}

/* Multigrid's levels begin at the operator's order and end at 1. */
static sp_status check_orders(const struct reader *reader) {
  const sp_list *orders = &reader->config->solver.orders;
  const int order = reader->config->discretization.order, count = orders->count;
  bool good = count == 0 || (orders->values[0] == order && orders->values[count - 1] == 1);
  for (int i = 1; i < count; i++) good = good && orders->values[i] < orders->values[i - 1];
  if (good) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%s: expected decreasing orders from discretization.order, %d, to 1",
                 where_given(reader, "solver", "orders"), order);
}

static sp_status check_whole(struct reader *reader) {
  sp_config *config = reader->config;
  config->problem.lambda_given = where_given(reader, "problem", "lambda");
  config->problem.kappa_given = where_given(reader, "problem", "kappa");
  SP_TRY(resolve_shape(reader));
  for (int k = 0; k < sp_key_count; k++)
    if (reader->where[k] && sp_keys[k].applies && !sp_keys[k].applies(config))
      return sp_fail(SP_ERR_INPUT, "%s: %s", reader->where[k], sp_keys[k].misfit);
  SP_TRY(check_outputs(reader));
  SP_TRY(check_tolerance(reader));
  SP_TRY(check_orders(reader));
  SP_TRY(check_corners(reader));
  return sp_sections_resolve(config);
}

/* ---- From file to configuration ---- */

static sp_status fill(struct reader *reader, const sp_ini *ini, int override_count,
                      const char *const *overrides) {
  SP_TRY(assign_defaults(reader->config));
  if (ini) SP_TRY(assign_file(reader, ini));
  for (int i = 0; i < override_count; i++) SP_TRY(assign_argument(reader, overrides[i]));
  return check_whole(reader);
}

/* The part of reading that needs no communication. Local. */
static sp_status parse(const sp_vocabulary *vocabulary, const char *path, const char *text,
                       size_t length, int override_count, const char *const *overrides,
                       sp_config **out) {
  locale_t own = (locale_t)0, previous = (locale_t)0;
  SP_TRY(use_c_locale(&own, &previous));
  struct reader reader = {.path = path};
  sp_ini *ini = NULL;
  sp_status status = sp_allocate(1, sizeof *reader.config, "the configuration", &reader.config);
  if (status == SP_OK)
    status =
        sp_allocate((size_t)sp_key_count, sizeof *reader.where, "the configuration", &reader.where);
  if (status == SP_OK && path) status = sp_ini_parse(path, text, length, &ini);
  if (status == SP_OK) {
    reader.config->vocabulary = vocabulary;
    status = fill(&reader, ini, override_count, overrides);
  }

  sp_ini_destroy(&ini);
  for (int k = 0; reader.where && k < sp_key_count; k++) free(reader.where[k]);
  free(reader.where);
  if (status != SP_OK) sp_config_destroy(&reader.config);
  *out = reader.config;
  restore_locale(own, previous);
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

sp_status sp_config_read(MPI_Comm comm, const sp_vocabulary *vocabulary, const char *path,
                         int override_count, const char *const *overrides, sp_config **out) {
  *out = NULL;
  char *text = NULL;
  int length = 0;
  sp_status status = path ? read_everywhere(comm, path, &text, &length) : SP_OK;
  if (status == SP_OK) {
    status = parse(vocabulary, path, text, (size_t)length, override_count, overrides, out);
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
  free((*config)->output.checkpoint_where);
  free(*config);
  *config = NULL;
}

/* ---- From configuration to text ---- */

static void print_section(const sp_key *key, FILE *stream) {
  if (key == sp_keys || strcmp(key->section, key[-1].section) != 0)
    fprintf(stream, "%s[%s]\n", key == sp_keys ? "" : "\n", key->section);
}

static void print_config(const sp_config *config, FILE *stream) {
  for (const sp_key *key = sp_keys; key < sp_keys + sp_key_count; key++) {
    if (key->named) continue;
    print_section(key, stream);
    const bool groups = !key->name && key->type == SP_KEY_CONDITION;
    const bool points = !key->name && key->type == SP_KEY_NUMBER;
    if (!key->name && key->type == SP_KEY_RESULT) sp_results_print(config, key, stream);
    for (int i = 0; points && i < config->probes.count; i++) {
      fprintf(stream, "%s = ", config->probes.entries[i].name);
      sp_key_print(key, config->vocabulary, config->probes.entries[i].point, stream);
      fputc('\n', stream);
    }
    for (int i = 0; groups && i < config->boundary.count; i++) {
      fprintf(stream, "%s = ", config->boundary.entries[i].group);
      sp_key_print(key, config->vocabulary, &config->boundary.entries[i], stream);
      fputc('\n', stream);
    }
    if (!key->name) continue;
    fprintf(stream, "%s%s = ", !key->applies || key->applies(config) ? "" : "# ", key->name);
    sp_key_print(key, config->vocabulary, (const char *)config + key->offset, stream);
    fputc('\n', stream);
  }
  sp_sections_print(config, stream);
}

/* The written case may be read from any folder, so that its mesh needs an absolute path. */
static sp_status make_absolute(const char *file, char **absolute) {
  if (*file == '/') {
    SP_TRY(sp_copy_text(file, absolute));
  } else {
    char *folder = getcwd(NULL, 0);
    if (!folder)
      return sp_fail(SP_ERR_SYSTEM, "cannot name the working directory: %s", strerror(errno));
    const size_t size = strlen(folder) + strlen(file) + 2;
    const sp_status status = sp_allocate(size, 1, "the path of the mesh", absolute);
    if (status == SP_OK)
      snprintf(*absolute, size, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, file);
    free(folder);
    SP_TRY(status);
  }
  if (!sp_ini_holds(*absolute))
    return sp_fail(SP_ERR_INPUT,
                   "%s: a case cannot hold this path: it has a line break, or a # or ; after white "
                   "space",
                   *absolute);
  return SP_OK;
}

sp_status sp_config_format(const sp_config *config, char **text) {
  *text = NULL;
  sp_config written = *config;
  written.mesh.file = NULL;
  if (config->mesh.file) {
    const sp_status status = make_absolute(config->mesh.file, &written.mesh.file);
    if (status != SP_OK) {
      free(written.mesh.file);
      return status;
    }
  }
  locale_t own = (locale_t)0, previous = (locale_t)0;
  sp_status status = use_c_locale(&own, &previous);
  if (status == SP_OK) {
    size_t size;
    FILE *stream = open_memstream(text, &size);
    if (stream) {
      print_config(&written, stream);
      const bool failed = ferror(stream);
      if (fclose(stream) != 0 || failed) stream = NULL;
    }
    if (!stream) {
      status = sp_fail(SP_ERR_SYSTEM, "cannot write the case to memory: %s", strerror(errno));
      free(*text);
      *text = NULL;
    }
    restore_locale(own, previous);
  }
  free(written.mesh.file);
  return status;
}

sp_status sp_config_print_defaults(const sp_vocabulary *vocabulary, FILE *stream) {
  sp_config *defaults; /* decides which keys apply */
  SP_TRY(sp_config_read(MPI_COMM_SELF, vocabulary, NULL, 0, NULL, &defaults));
  fprintf(
      stream,
      "# Every key of a case with its default. Remove the # before a key to use it: it changes\n"
      "# the case by being given, or takes effect only together with another key.\n\n");
  for (const sp_key *key = sp_keys; key < sp_keys + sp_key_count; key++) {
    if (key->named) continue;
    print_section(key, stream);
    if (!key->name) {
      fprintf(stream, "# %s\n", key->help);
      continue;
    }
    char expected[SP_DESCRIPTION_SIZE];
    sp_key_describe(key, vocabulary, expected);
    fprintf(stream, "# %s (%s)\n", key->help, expected);
    fprintf(stream, "%s%s = %s\n", !key->applies || key->applies(defaults) ? "" : "# ", key->name,
            key->fallback);
  }
  sp_sections_print_keys(vocabulary, stream);
  sp_config_destroy(&defaults);
  return SP_OK;
}
