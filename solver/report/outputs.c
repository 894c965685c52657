#include "solver/report/outputs.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/file.h"
#include "mesh/gmsh/gmsh.h"

static sp_status check_part(const sp_output_path *outputs, int count, const char *mesh, int part) {
  char what[64];
  SP_OWNED char *path = NULL;
  SP_TRY(sp_gmsh_part_path(mesh, part, &path));
  snprintf(what, sizeof what, "part %d of the mesh", part);
  const sp_input_path input = {.what = what, .path = path};
  return sp_output_paths_check(outputs, count, &input, 1);
}

/* Check outputs against the parts of the mesh. The other files that the run reads were checked with
 * the case (solver/config/config.h). */
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
      {.what = "the initial field", .path = sp_statement_initial_file(&config->statement)}};
  SP_TRY(sp_output_paths_check(other, 1, inputs, sizeof inputs / sizeof *inputs));
  SP_TRY(sp_output_paths_check(all, SP_OUTPUTS + 1, NULL, 0));
  return check_parts(config, other, 1);
}

sp_status sp_outputs_check(MPI_Comm comm, const sp_config *config) {
  sp_output_path outputs[SP_OUTPUTS];
  const int rank = sp_comm_rank(comm);
  sp_config_outputs(config, outputs);
  sp_status status = check_parts(config, outputs, SP_OUTPUTS);
  for (int o = 0; o < SP_OUTPUTS && rank == 0 && !status; o++) {
    if (outputs[o].path[0] && !outputs[o].purpose[0])
      status = sp_file_try(outputs[o].path, SP_FILE_HDF5);
    if (status)
      status = sp_fail(status, "cannot write %s %s: %s", outputs[o].name, outputs[o].path,
                       sp_error_message());
  }
  return sp_agree(comm, status);
}
