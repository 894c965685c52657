#include "solver/run/outputs.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/file.h"
#include "io/file_lock.h"
#include "mesh/gmsh.h"

struct sp_outputs {
  MPI_Comm comm;
  int rank;
  sp_output_path paths[SP_OUTPUTS];
  sp_file_lock *locks[SP_OUTPUTS + 1]; /* on rank 0; the last one is the unconverged field's */
  char *unconverged;
};

static sp_status check_part(const sp_output_path *outputs, int count, const char *mesh, int part) {
  char what[64], *path;
  SP_TRY(sp_gmsh_part_path(mesh, part, &path));
  snprintf(what, sizeof what, "part %d of the mesh", part);
  const sp_input_path input = {.what = what, .path = path};
  const sp_status status = sp_output_paths_check(outputs, count, &input, 1);
  free(path);
  return status;
}

/* The other files that the run reads were checked with the case (solver/case/config.h), where it is
 * known which they are. */
static sp_status check_parts(const sp_config *config, const sp_output_path *outputs, int count) {
  int parts = 0;
  if (config->mesh.shape == SP_SHAPE_FILE) SP_TRY(sp_gmsh_count_parts(config->mesh.file, &parts));
  for (int part = 1; part <= parts; part++)
    SP_TRY(check_part(outputs, count, config->mesh.file, part));
  return SP_OK;
}

sp_status sp_outputs_check_beside(const sp_config *config, const sp_output_path *other) {
  sp_output_path all[SP_OUTPUTS + 1];
  sp_config_outputs(config, all);
  all[SP_OUTPUTS] = *other;
  const sp_input_path inputs[] = {
      {.what = "the mesh", .path = config->mesh.file},
      {.what = "the initial field", .path = sp_config_initial_file(config)},
      {.what = "the checkpoint to restart from", .path = config->output.restart}};
  SP_TRY(sp_output_paths_check(other, 1, inputs, sizeof inputs / sizeof *inputs));
  SP_TRY(sp_output_paths_check(all, SP_OUTPUTS + 1, NULL, 0));
  return check_parts(config, other, 1);
}

static sp_status fail_write(const sp_output_path *output, const char *path, sp_status status) {
  return sp_fail(status, "cannot write %s %s: %s", output->name, path, sp_error_message());
}

sp_status sp_outputs_check(MPI_Comm comm, const sp_config *config) {
  int rank;
  sp_output_path outputs[SP_OUTPUTS];
  MPI_Comm_rank(comm, &rank);
  sp_config_outputs(config, outputs);
  sp_status status = check_parts(config, outputs, SP_OUTPUTS);
  for (int o = 0; o < SP_OUTPUTS && rank == 0 && !status; o++) {
    if (outputs[o].path[0]) status = sp_file_try(outputs[o].path);
    if (status) status = fail_write(&outputs[o], outputs[o].path, status);
  }
  return sp_agree(comm, status);
}

/* On rank 0. First the lock: it records what a trial leaves behind if it is killed. */
static sp_status lock(const sp_output_path *output, const char *path, sp_file_lock **out) {
  sp_status status = sp_file_lock_acquire(path, out);
  if (status == SP_ERR_INPUT)
    return sp_fail(status, "%s%s: %s, '%s'", output->where ? "" : "default of output.",
                   output->where ? output->where : output->name, sp_error_message(), path);
  if (!status) status = sp_file_try(path);
  return status ? fail_write(output, path, status) : SP_OK;
}

static sp_status lock_all(sp_outputs *outputs) {
  for (int o = 0; o < SP_OUTPUTS; o++)
    if (outputs->paths[o].path[0])
      SP_TRY(lock(&outputs->paths[o], outputs->paths[o].path, &outputs->locks[o]));
  return SP_OK;
}

sp_status sp_outputs_open(MPI_Comm comm, const sp_config *config, sp_outputs **out) {
  *out = NULL;
  sp_output_path paths[SP_OUTPUTS];
  sp_config_outputs(config, paths);
  SP_TRY(sp_agree(comm, check_parts(config, paths, SP_OUTPUTS)));
  sp_outputs *outputs;
  sp_status status = sp_allocate(1, sizeof *outputs, "outputs", &outputs);
  if (!status) {
    *outputs = (sp_outputs){.comm = comm};
    MPI_Comm_rank(comm, &outputs->rank);
    sp_config_outputs(config, outputs->paths);
    if (outputs->rank == 0) status = lock_all(outputs);
  }
  status = sp_agree(comm, status);
  if (status)
    sp_outputs_close(&outputs);
  else
    *out = outputs;
  return status;
}

void sp_outputs_print_notes(const sp_outputs *outputs, sp_terminal *terminal) {
  for (int o = 0; o < SP_OUTPUTS; o++)
    if (outputs->locks[o] && !sp_file_lock_holds(outputs->locks[o]))
      sp_terminal_print(terminal,
                        "  %-16s the file system of %s has no locks: take care that no other run "
                        "writes it\n",
                        "note", outputs->paths[o].path);
}

sp_status sp_outputs_unconverged_field(sp_outputs *outputs, const char **path) {
  const sp_output_path *field = &outputs->paths[SP_OUTPUT_FIELD];
  sp_status status = sp_output_unconverged_path(field->path, &outputs->unconverged);
  if (!status && outputs->rank == 0)
    status = lock(field, outputs->unconverged, &outputs->locks[SP_OUTPUTS]);
  *path = outputs->unconverged;
  return sp_agree(outputs->comm, status);
}

void sp_outputs_close(sp_outputs **outputs) {
  if (!*outputs) return;
  for (int o = 0; o <= SP_OUTPUTS; o++) sp_file_lock_release(&(*outputs)->locks[o]);
  free((*outputs)->unconverged);
  free(*outputs);
  *outputs = NULL;
}
