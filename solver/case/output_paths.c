#include "solver/case/output_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/path.h"

/* The files that a run makes for one output. */
enum { ITSELF, UNCONVERGED, FILES };

typedef struct files {
  char *names[FILES]; /* NULL where there is none */
} files;

static const char *const purposes[FILES] = {
    [ITSELF] = "",
    [UNCONVERGED] = " with an unconverged solution",
};

sp_status sp_output_unconverged_path(const char *path, char **out) {
  static const char word[] = ".unconverged";
  char *folder;
  const char *name;
  SP_TRY(sp_path_split(path, &folder, &name));
  free(folder);
  const char *dot = strrchr(name, '.');
  const size_t stem = dot && dot > name ? (size_t)(dot - path) : strlen(path);
  const size_t size = strlen(path) + sizeof word;
  SP_TRY(sp_allocate(size, 1, "a file name", out));
  snprintf(*out, size, "%.*s%s%s", (int)stem, path, word, path + stem);
  return SP_OK;
}

static void free_files(files *f) {
  for (int n = 0; n < FILES; n++) free(f->names[n]);
}

static sp_status name_files(const sp_output_path *output, files *f) {
  *f = (files){0};
  if (!output->path[0]) return SP_OK;
  const size_t size = strlen(output->path) + 1;
  sp_status status = sp_allocate(size, 1, "a file name", &f->names[ITSELF]);
  if (status == SP_OK) memcpy(f->names[ITSELF], output->path, size);
  if (status == SP_OK && output->has_unconverged)
    status = sp_output_unconverged_path(output->path, &f->names[UNCONVERGED]);
  return status;
}

static sp_status fail_as(sp_status status, const sp_output_path *output, const char *what) {
  if (output->where) return sp_fail(status, "%s: %s, '%s'", output->where, what, output->path);
  return sp_fail(status, "default of output.%s: %s, '%s'", output->name, what, output->path);
}

static sp_status fail(const sp_output_path *output, const char *what) {
  return fail_as(SP_ERR_INPUT, output, what);
}

static sp_status check_input(const sp_output_path *output, const files *own,
                             const sp_input_path *input) {
  char text[512];
  if (!input->path || !input->path[0]) return SP_OK;
  for (int n = 0; n < FILES; n++) {
    if (!own->names[n] || !sp_path_is_same(own->names[n], input->path)) continue;
    snprintf(text, sizeof text, "this would overwrite %s%s", input->what, purposes[n]);
    return fail(output, text);
  }
  return SP_OK;
}

/* Compare each file of `output` with the path of the other output. */
static sp_status check_output(const sp_output_path *output, const files *own,
                              const sp_output_path *other) {
  char text[128];
  if (!other->path[0]) return SP_OK;
  for (int n = ITSELF + 1; n < FILES; n++) {
    if (!own->names[n] || !sp_path_is_same(own->names[n], other->path)) continue;
    snprintf(text, sizeof text, "this would overwrite %s%s%s", other->is_option ? "" : "output.",
             other->name, purposes[n]);
    return fail(output, text);
  }
  return SP_OK;
}

static sp_status check_pair(const sp_output_path *first, const files *firsts,
                            const sp_output_path *second, const files *seconds) {
  char what[64];
  if (!first->path[0] || !second->path[0]) return SP_OK;
  if (sp_path_is_same(second->path, first->path)) {
    snprintf(what, sizeof what, "%s and %s are the same file", first->name, second->name);
    return fail(second->where ? second : first, what);
  }
  SP_TRY(check_output(second, seconds, first));
  return check_output(first, firsts, second);
}

static sp_status check_one(const sp_output_path *outputs, const files *all, int o,
                           const sp_input_path *inputs, int input_count) {
  const sp_output_path *output = &outputs[o];
  if (!output->path[0]) return SP_OK;
  if (!sp_path_is_replaceable(output->path))
    return fail(output, "this is not a regular file; give another name");
  for (int i = 0; i < input_count; i++) SP_TRY(check_input(output, &all[o], &inputs[i]));
  for (int before = 0; before < o; before++)
    SP_TRY(check_pair(&outputs[before], &all[before], output, &all[o]));
  return SP_OK;
}

sp_status sp_output_paths_check(const sp_output_path *outputs, int output_count,
                                const sp_input_path *inputs, int input_count) {
  files *all;
  SP_TRY(sp_allocate((size_t)output_count, sizeof *all, "file names", &all));
  sp_status status = SP_OK;
  for (int o = 0; o < output_count && status == SP_OK; o++) {
    status = name_files(&outputs[o], &all[o]);
    if (status != SP_OK) status = fail_as(status, &outputs[o], sp_error_message());
  }
  for (int o = 0; o < output_count && status == SP_OK; o++)
    status = check_one(outputs, all, o, inputs, input_count);
  for (int o = 0; o < output_count; o++) free_files(&all[o]);
  free(all);
  return status;
}
