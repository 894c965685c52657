/* The files that a run writes: check before it takes time that they may and can be written. Of two
 * runs that write the same file the last one wins (io/file.h).
 *
 * What a run reads is not overwritten: the case file, the mesh or all of its parts (mesh/gmsh.h),
 * the initial field. What a .geo file merges
 * is not known here.
 */
#ifndef SP_SOLVER_RUN_OUTPUTS_H
#define SP_SOLVER_RUN_OUTPUTS_H

#include "solver/case/config.h"

/* Check that the outputs of `config` may and can be written; leaves nothing behind.
 * Errors: SP_ERR_INPUT with the output, SP_ERR_SYSTEM "cannot write WHAT PATH: reason". Collective.
 */
sp_status sp_outputs_check(MPI_Comm comm, const sp_config *config);

/* Check that `other`, which the run writes too, may be written beside the outputs of `config`: it
 * must be none of them and none of the files that the case names as inputs. Errors: SP_ERR_INPUT.
 * Local.
 */
sp_status sp_outputs_check_beside(const sp_config *config, const sp_output_path *other);

#endif
