#include "io/output_paths.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/hdf5_file.h"
#include "io/path.h"

static sp_status fail(const char *where, const sp_output_path *output, const char *what) {
  if (where) return sp_fail(SP_ERR_INPUT, "%s: %s, '%s'", where, what, output->path);
  return sp_fail(SP_ERR_INPUT, "default of output.%s: %s, '%s'", output->name, what, output->path);
}

/* Refuse an output that would take the place of the file `victim`, if there is one: NAME.tmp, which
 * is written first and renamed (io/hdf5_file.h), or with `by_name` NAME itself. */
static sp_status spare(const sp_output_path *output, const char *victim, bool by_name,
                       const char *what) {
  char *temporary, text[128];
  if (!victim || !victim[0]) return SP_OK;
  SP_TRY(sp_file_temporary_name(output->path, &temporary));
  const bool hit = by_name && sp_path_is_same(output->path, victim);
  const bool hit_before = sp_path_is_same(temporary, victim);
  free(temporary);
  if (!hit && !hit_before) return SP_OK;
  snprintf(text, sizeof text, "this would overwrite %s%s", what,
           hit ? "" : " with NAME.tmp, which is written first");
  return fail(output->where, output, text);
}

static sp_status check_pair(const sp_output_path *first, const sp_output_path *second) {
  char what[64];
  if (!first->path[0]) return SP_OK;
  if (sp_path_is_same(second->path, first->path)) {
    snprintf(what, sizeof what, "%s and %s are the same file", first->name, second->name);
    return fail(second->where ? second->where : first->where, second, what);
  }
  snprintf(what, sizeof what, "output.%s", first->name);
  SP_TRY(spare(second, first->path, false, what));
  snprintf(what, sizeof what, "output.%s", second->name);
  return spare(first, second->path, false, what);
}

sp_status sp_output_paths_check(const sp_output_path *outputs, int count, const char *case_file,
                                const char *mesh, const char *restart) {
  for (int o = 0; o < count; o++) {
    const sp_output_path *output = &outputs[o];
    if (!output->path[0]) continue;
    if (!sp_path_is_replaceable(output->path))
      return fail(output->where, output, "this is no regular file; give another name");
    SP_TRY(spare(output, case_file, true, "the case file"));
    SP_TRY(spare(output, mesh, true, "the mesh"));
    SP_TRY(spare(output, restart, !output->may_replace_restart, "the checkpoint to restart from"));
    for (int before = 0; before < o; before++) SP_TRY(check_pair(&outputs[before], output));
  }
  return SP_OK;
}
