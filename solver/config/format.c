/* A case as INI text and as JSON, and the list of all keys. */
#define _POSIX_C_SOURCE 200809L /* open_memstream, getcwd */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "solver/config/internal.h"

static bool key_applies(const sp_key *key, const sp_config *config) {
  return !key->applies || key->applies(config);
}

static bool begins_section(const sp_key *key) {
  return key == sp_keys || strcmp(key->section, key[-1].section) != 0;
}

static const sp_key *end_of_section(const sp_key *key) {
  do key++;
  while (key < sp_keys + sp_key_count && !begins_section(key));
  return key;
}

/* ---- INI ---- */

/* Close a stream of open_memstream, which may be NULL. */
static sp_status close_text(FILE *stream, char **text) {
  const bool failed = !stream || ferror(stream);
  if ((!stream || fclose(stream) == 0) && !failed) return SP_OK;
  const sp_status status =
      sp_fail(SP_ERR_SYSTEM, "cannot write the case to memory: %s", strerror(errno));
  free(*text);
  *text = NULL;
  return status;
}

static sp_status print_value(const sp_key *key, const void *field, char **text) {
  size_t size;
  FILE *stream = open_memstream(text, &size);
  if (stream) key->type->print(key, field, stream);
  return close_text(stream, text);
}

static void print_line(const char *comment, const char *name, const sp_key *key, const void *field,
                       FILE *stream) {
  SP_OWNED char *value = NULL;
  fprintf(stream, "%s%s = ", comment, name);
  if (print_value(key, field, &value))
    key->type->print(key, field, stream);
  else
    sp_ini_write(value, stream);
  fputc('\n', stream);
}

static void print_title(const sp_key *key, FILE *stream) {
  fprintf(stream, "%s[%s]\n", key == sp_keys ? "" : "\n", key->section);
}

static void print_section(const sp_config *config, const sp_key *first, const sp_key *end,
                          FILE *stream) {
  print_title(first, stream);
  for (const sp_key *key = first; key < end; key++)
    for (int i = 0; i < sp_key_values(config, key) && key->type->print; i++)
      print_line(key_applies(key, config) ? "" : "# ",
                 key->list ? sp_key_entry_name(config, key, i) : key->name, key,
                 sp_key_field(config, key, i), stream);
}

/* False for a formula of [material NAME] that is not given: the formula of [problem] applies. */
static bool is_given(const sp_key *key, const void *field) {
  return !sp_key_is_titled(key) || key->type != &sp_formula_value ||
         ((const sp_formula *)field)->text;
}

static void print_titled(const sp_config *config, const sp_key *first, const sp_key *end,
                         FILE *stream) {
  for (int i = 0; i < sp_key_values(config, first); i++) {
    fprintf(stream, "\n[%s %s]\n", first->section, sp_key_entry_name(config, first, i));
    for (const sp_key *key = first; key < end; key++)
      if (is_given(key, sp_key_field(config, key, i)))
        print_line("", key->name, key, sp_key_field(config, key, i), stream);
  }
}

static void print_config(const sp_config *config, FILE *stream) {
  for (const sp_key *key = sp_keys, *end; key < sp_keys + sp_key_count; key = end) {
    end = end_of_section(key);
    (sp_key_is_titled(key) ? print_titled : print_section)(config, key, end, stream);
  }
}

/* *absolute = the path of a file, NULL for none; the caller frees it, also after an error. */
static sp_status make_absolute(const char *file, char **absolute) {
  *absolute = NULL;
  if (!file) return SP_OK;
  SP_OWNED char *folder = *file == '/' ? NULL : getcwd(NULL, 0);
  if (*file != '/' && !folder)
    return sp_fail(SP_ERR_SYSTEM, "cannot name the working directory: %s", strerror(errno));
  const char *slash = !folder || strcmp(folder, "/") == 0 ? "" : "/";
  SP_TRY(sp_format(absolute, "%s%s%s", folder ? folder : "", slash, file));
  if (!sp_ini_holds(*absolute))
    return sp_fail(SP_ERR_INPUT,
                   "%s: a case cannot hold this path: it has a line break, or quotes and a # or ; "
                   "after white space",
                   *absolute);
  return SP_OK;
}

/* *written = a copy of `config` for readers in any folder: its mesh and its initial field have
 * absolute paths. The caller frees files[], also after an error. */
static sp_status copy_with_paths(const sp_config *config, sp_config *written, char *files[2]) {
  const char *initial = sp_statement_initial_file(&config->statement);
  *written = *config;
  files[1] = NULL;
  SP_TRY(make_absolute(config->mesh.file, &files[0]));
  SP_TRY(make_absolute(initial, &files[1]));
  written->mesh.file = files[0];
  if (initial) written->statement.initial.text = files[1];
  return SP_OK;
}

sp_status sp_config_format(const sp_config *config, char **text) {
  *text = NULL;
  size_t size;
  sp_config written;
  char *files[2];
  sp_status status = copy_with_paths(config, &written, files);
  if (!status) {
    FILE *stream = open_memstream(text, &size);
    if (stream) print_config(&written, stream);
    status = close_text(stream, text);
  }
  SP_FREE(files[0], files[1]);
  return status;
}

static void print_usages(const sp_key *key, FILE *stream) {
  const char *usage, *before = "# NAME =";
  for (int row = 0; (usage = key->type->usage(row)); row++, before = " |")
    fprintf(stream, "%s %s", before, usage);
  fprintf(stream, ", %s\n", key->help);
}

sp_status sp_config_print_defaults(FILE *stream) {
  sp_config *defaults; /* decides which keys apply */
  SP_TRY(sp_config_read(MPI_COMM_SELF, NULL, 0, NULL, &defaults));
  fprintf(
      stream,
      "# Every key of a case with its default. Remove the # before a key to use it: it changes\n"
      "# the case by being given, or takes effect only together with another key.\n\n");
  for (const sp_key *key = sp_keys; key < sp_keys + sp_key_count; key++) {
    char expected[SP_DESCRIPTION_SIZE];
    sp_key_describe(key, expected);
    if (begins_section(key) && sp_key_is_titled(key))
      fprintf(stream, "\n# [%s NAME]\n", key->section);
    else if (begins_section(key))
      print_title(key, stream);
    if (!key->name && key->type->usage)
      print_usages(key, stream);
    else if (!key->name)
      fprintf(stream, "# %s\n", key->help);
    else if (key->list)
      fprintf(stream, "# %s (%s)\n# %s =\n", key->help, expected, key->name);
    else
      fprintf(stream, "# %s (%s)\n%s%s = %s\n", key->help, expected,
              key_applies(key, defaults) ? "" : "# ", key->name, key->fallback);
  }
  sp_config_destroy(&defaults);
  return SP_OK;
}

/* ---- Record ---- */

/* Add a text or numbers, in a list if there may be several. */
static sp_status record_value(const sp_key *key, const char *name, const void *field,
                              sp_record *record) {
  const sp_record_kind kind = key->type->kind;
  const bool is_list = key->count > 1;
  SP_OWNED char *text = NULL;
  SP_TRY(print_value(key, field, &text));
  if (kind == SP_RECORD_TEXT) sp_record_text(record, name, text);
  if (is_list) sp_record_open(record, SP_RECORD_LIST, name);
  for (char *rest = text; *rest && kind == SP_RECORD_INTEGER;)
    sp_record_integer(record, name, strtol(rest, &rest, 10));
  for (char *rest = text; *rest && kind == SP_RECORD_REAL;)
    sp_record_real(record, name, strtod(rest, &rest), NULL);
  if (is_list) sp_record_close(record);
  return SP_OK;
}

/* An object of the section, which may be open already, with all values of a key. Keys without a
 * misfit have their default where they do not apply. */
static sp_status write_key(const sp_config *config, const sp_key *key, sp_record *record) {
  const int count = key_applies(key, config) || !key->misfit ? sp_key_values(config, key) : 0;
  sp_status status = SP_OK;
  if ((count == 0 && sp_key_is_titled(key)) || !key->type->print) return SP_OK;
  sp_record_open(record, SP_RECORD_OBJECT, key->section);
  for (int i = 0; i < count && !status; i++) {
    const void *field = sp_key_field(config, key, i);
    if (sp_key_is_titled(key))
      sp_record_open(record, SP_RECORD_OBJECT, sp_key_entry_name(config, key, i));
    const char *name = key->name ? key->name : sp_key_entry_name(config, key, i);
    if (is_given(key, field)) status = record_value(key, name, field, record);
    if (sp_key_is_titled(key)) sp_record_close(record);
  }
  sp_record_close(record);
  return status;
}

sp_status sp_config_record(const sp_config *config, sp_record *record) {
  sp_config written;
  char *files[2], *text = NULL;
  sp_status status = copy_with_paths(config, &written, files);
  if (!status) status = sp_config_format(config, &text);
  sp_record_open(record, SP_RECORD_OBJECT, "case");
  if (!status) sp_record_log_text(record, text);
  for (const sp_key *key = sp_keys; key < sp_keys + sp_key_count && !status; key++)
    status = write_key(&written, key, record);
  sp_record_close(record);
  SP_FREE(text, files[0], files[1]);
  return status;
}
