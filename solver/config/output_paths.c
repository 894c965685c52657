#include "solver/config/output_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"

sp_status sp_output_unconverged_path(const char *path, char **out) {
  const char *name = strrchr(path, '/');
  *out = NULL;
  name = name ? name + 1 : path;
  const char *dot = strrchr(name, '.');
  const size_t stem = dot && dot > name ? (size_t)(dot - path) : strlen(path);
  return sp_format(out, "%.*s.unconverged%s", (int)stem, path, path + stem);
}

static sp_status fail_output(const sp_output_path *output, const char *what, const char *name,
                             const char *purpose) {
  if (output->where)
    return sp_fail(SP_ERR_INPUT, "%s: %s%s%s, '%s'", output->where, what, name, purpose,
                   output->path);
  return sp_fail(SP_ERR_INPUT, "default of output.%s: %s%s%s, '%s'", output->name, what, name,
                 purpose, output->path);
}

/* Fail for two outputs of one path. */
static sp_status fail_pair(const sp_output_path *first, const sp_output_path *second) {
  const sp_output_path *other = second->purpose[0] ? first : second;
  const sp_output_path *output = second->purpose[0] ? second : first;
  char name[64];
  snprintf(name, sizeof name, "%s%s", other->is_option ? "" : "output.", other->name);
  if (output->purpose[0])
    return fail_output(output, "this would overwrite ", name, output->purpose);
  snprintf(name, sizeof name, "%s and %s", first->name, second->name);
  return fail_output(second->where ? second : first, name, " are the same file", "");
}

sp_status sp_output_paths_check(const sp_output_path *outputs, int output_count,
                                const sp_input_path *inputs, int input_count) {
  for (const sp_output_path *o = outputs; o < outputs + output_count; o++) {
    if (!o->path[0]) continue;
    if (!o->purpose[0] && !sp_path_is_ordinary(o->path))
      return fail_output(o, "this is not a regular file; give another name", "", "");
    if (sp_path_is_read_only(o->path))
      return fail_output(o, "this file is read-only; give another name", "", "");
    for (const sp_input_path *i = inputs; i < inputs + input_count; i++)
      if (i->path && i->path[0] && sp_path_is_same(o->path, i->path))
        return fail_output(o, "this would overwrite ", i->what, o->purpose);
    for (const sp_output_path *before = outputs; before < o; before++)
      if (before->path[0] && sp_path_is_same(before->path, o->path)) return fail_pair(before, o);
  }
  return SP_OK;
}
