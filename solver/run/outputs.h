/* The files that a run writes: before it takes time, whether they may and can be written; and as
 * long as it lives, that no other run writes them.
 *
 * What a run reads is not overwritten: the case file, the mesh or all of its parts (mesh/gmsh.h),
 * the checkpoint to restart from (but output.checkpoint may be that one). What a .geo file merges
 * is not known here.
 *
 * Rank 0 holds the locks (io/file_lock.h) for all ranks, on all machines. */
#ifndef SP_SOLVER_RUN_OUTPUTS_H
#define SP_SOLVER_RUN_OUTPUTS_H

#include "io/terminal.h"
#include "solver/case/config.h"

typedef struct sp_outputs sp_outputs;

/* Whether the outputs of `config` may and can be written, without a lock: leaves nothing behind.
 * Errors: SP_ERR_INPUT with the output, SP_ERR_SYSTEM "cannot write WHAT PATH: reason". Collective.
 */
sp_status sp_outputs_check(MPI_Comm comm, const sp_config *config);

/* Whether `other`, which the run writes too, may be written beside the outputs of `config`: it must
 * be none of them and none of the files that the case names as inputs. Errors: SP_ERR_INPUT. Local.
 */
sp_status sp_outputs_check_beside(const sp_config *config, const sp_output_path *other);

/* The outputs of `config` as in sp_outputs_check, and lock them until sp_outputs_close. `config`
 * must outlive *out, which is NULL after an error. Errors: as above, and SP_ERR_INPUT for an output
 * that another run writes. Collective.
 */
sp_status sp_outputs_open(MPI_Comm comm, const sp_config *config, sp_outputs **out);

/* Tell where a file system has no locks. Local. */
void sp_outputs_print_notes(const sp_outputs *outputs, sp_terminal *terminal);

/* The file for the field of a solution that has not converged (sp_output_unconverged_path), which
 * `outputs` owns; locked like the others. Errors: as above. Collective. */
sp_status sp_outputs_unconverged_field(sp_outputs *outputs, const char **path);

/* Release the locks. NULL-safe; sets *outputs to NULL. Local. */
void sp_outputs_close(sp_outputs **outputs);

#endif
