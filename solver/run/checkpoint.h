/* Checkpoint and restart: an iteration is saved between two of its steps (solver/linear/cg.h), and
 * another run continues it. On as many ranks it makes the same bits; on others it differs by
 * rounding.
 *
 * A degree of freedom is known by a name that does not depend on the ranks: of all element nodes
 * that it has, the least in
 *
 *     (number of the element in the mesh file,  octants (N+1)^3 + place of the node)
 *
 * with the octants that lead to a refined element (mesh/hexes.h). A checkpoint holds one row a
 * degree of freedom, its name and its values of x, r and p, in the order in which the ranks have
 * them (io/checkpoint_file.h).
 *
 * It belongs to a case: the keys that make the linear system and its preconditioner (text), and the
 * mesh (a sum over the elements of hashes of their points and boundary groups). Tolerance, limits,
 * outputs, geometry and device may change. A sum over hashes of all rows and numbers tells a
 * damaged file. */
#ifndef SP_SOLVER_RUN_CHECKPOINT_H
#define SP_SOLVER_RUN_CHECKPOINT_H

#include "solver/case/config.h"
#include "solver/linear/cg.h"

typedef struct sp_checkpoint sp_checkpoint;

/* Before anything takes time: whether output.restart is a checkpoint of this case, as far as its
 * text goes. Collective over `comm`. Errors: SP_ERR_SYSTEM, or SP_ERR_INPUT with the first key that
 * differs. */
sp_status sp_checkpoint_check(MPI_Comm comm, const sp_config *config);

/* Names and room for what is saved; *out is NULL if `config` wants no checkpoint and no restart.
 * `config` and `space` must outlive *out, which the caller destroys. Errors:
 * SP_ERR_INPUT for element numbers beyond 2^53. Collective. */
sp_status sp_checkpoint_create(const sp_config *config, const sp_space *space, sp_checkpoint **out);

/* NULL-safe; sets *checkpoint to NULL. Local. */
void sp_checkpoint_destroy(sp_checkpoint **checkpoint);

/* True on rank 0 when output.every seconds have passed since the last save ended. `checkpoint` may
 * be NULL. Local. */
bool sp_checkpoint_is_due(const sp_checkpoint *checkpoint);

/* Save, if the case names a checkpoint; the file before stays if that fails, and a later save may
 * succeed. `checkpoint` may be NULL. Collective. Errors: SP_ERR_SYSTEM "cannot write checkpoint
 * PATH: reason". */
sp_status sp_checkpoint_save(sp_checkpoint *checkpoint, const sp_operator *op,
                             const sp_cg_progress *progress, const sp_cg_vectors *vectors);

/* SP_OK, or what the last save has failed with. `checkpoint` may be NULL. Collective saves leave
 * the same on all ranks. Local. */
sp_status sp_checkpoint_last_save(const sp_checkpoint *checkpoint);

/* Whether the case restarts: output.restart is given. `checkpoint` may be NULL. Local. */
bool sp_checkpoint_restarts(const sp_checkpoint *checkpoint);

/* Read output.restart: L-vectors in host memory, [local] with the owners' bits on copies. Errors:
 * SP_ERR_INPUT if it belongs to another case or mesh, or is damaged. Collective. */
sp_status sp_checkpoint_load(const sp_checkpoint *checkpoint, sp_cg_progress *progress, double *x,
                             double *r, double *p);

#endif
