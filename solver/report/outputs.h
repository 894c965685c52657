/* The files that a run writes. Check early that they may and can be written. If two runs write the
 * same file, the last one wins (io/file.h).
 *
 * Files that a run reads are not overwritten: the case file, the mesh or all of its parts
 * (mesh/gmsh/gmsh.h), the initial field. Files that a .geo file merges are not known here. */
#pragma once

#include "solver/config/config.h"

/* Check that the outputs of `config` may and can be written. No file is left behind. Errors:
 * SP_ERR_INPUT with the output, SP_ERR_SYSTEM "cannot write WHAT PATH: reason". Collective. */
sp_status sp_outputs_check(MPI_Comm comm, const sp_config *config);

/* Check that `other`, another file that the run writes, is none of the outputs of `config` and none
 * of the inputs that the case names. Errors: SP_ERR_INPUT. Local. */
sp_status sp_outputs_check_beside(const sp_config *config, const sp_output_path *other);
