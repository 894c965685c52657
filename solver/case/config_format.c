#define _POSIX_C_SOURCE 200809L /* locale_t, open_memstream, getcwd */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/ini.h"
#include "solver/case/config.h"
#include "solver/case/config_keys.h"
#include "solver/case/config_locale.h"
#include "solver/case/config_results.h"
#include "solver/case/config_sections.h"

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
      sp_key_print(key, config->probes.entries[i].point, stream);
      fputc('\n', stream);
    }
    for (int i = 0; groups && i < config->boundary.count; i++) {
      fprintf(stream, "%s = ", config->boundary.entries[i].group);
      sp_key_print(key, &config->boundary.entries[i], stream);
      fputc('\n', stream);
    }
    if (!key->name) continue;
    fprintf(stream, "%s%s = ", !key->applies || key->applies(config) ? "" : "# ", key->name);
    sp_key_print(key, (const char *)config + key->offset, stream);
    fputc('\n', stream);
  }
  sp_sections_print(config, stream);
}

/* The written case may be read from any folder, so that its mesh and its initial
 * field need absolute paths. */
static sp_status make_absolute(const char *file, char **absolute) {
  if (*file == '/') {
    SP_TRY(sp_copy_text(file, absolute));
  } else {
    char *folder = getcwd(NULL, 0);
    if (!folder)
      return sp_fail(SP_ERR_SYSTEM, "cannot name the working directory: %s", strerror(errno));
    const size_t size = strlen(folder) + strlen(file) + 2;
    const sp_status status = sp_allocate(size, 1, "the path of a file", absolute);
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
  const char *initial = sp_config_initial_file(config);
  sp_config written = *config;
  char *files[] = {NULL, NULL};
  locale_t own = (locale_t)0, previous = (locale_t)0;
  sp_status status = SP_OK;
  if (config->mesh.file) status = make_absolute(config->mesh.file, &files[0]);
  if (status == SP_OK && initial) status = make_absolute(initial, &files[1]);
  written.mesh.file = files[0];
  if (initial) written.problem.initial.text = files[1];
  if (status == SP_OK) status = sp_locale_use_c(&own, &previous);
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
    sp_locale_restore(own, previous);
  }
  free(files[0]);
  free(files[1]);
  return status;
}

sp_status sp_config_print_defaults(FILE *stream) {
  sp_config *defaults; /* decides which keys apply */
  SP_TRY(sp_config_read(MPI_COMM_SELF, NULL, 0, NULL, &defaults));
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
    sp_key_describe(key, expected);
    fprintf(stream, "# %s (%s)\n", key->help, expected);
    fprintf(stream, "%s%s = %s\n", !key->applies || key->applies(defaults) ? "" : "# ", key->name,
            key->fallback);
  }
  sp_sections_print_keys(stream);
  sp_config_destroy(&defaults);
  return SP_OK;
}
