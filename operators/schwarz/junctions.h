/* Junctions in additive Schwarz (operators/schwarz/schwarz.h): lines where contacts branch or
 * cross.
 *
 * A junction's point has a DOF for each body that meets there, and the DOFs inside the contacts
 * between them. Stiff contacts couple all of them in a ring, but a block has the DOFs of one
 * contact. An error that is equal in all of them costs little energy, and no block removes it. So
 * these DOFs leave the blocks, and A, as boxes, is inverted on each set of them:
 *
 *     z_J = W A_JJ^-1 W r_J
 *
 * A set is the DOFs of one point (8 cubes, kappa = 1, R = 1e-6: 1000 iterations become 6). All
 * ranks have all r_J. */
#pragma once

#include "operators/schwarz/builder.h"

typedef struct sp_junctions sp_junctions;

/* *exist = true if a space of order 2 or more has junctions. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_junctions_exist(const sp_space *space, bool *exist);

/* Find the junctions, after b->weights are complete, and set these to zero there. *out = NULL
 * without junctions. The caller destroys *out. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_junctions_create(sp_schwarz_builder *b, sp_precision precision, sp_junctions **out);

/* z += z_J, for L-vectors of that precision. Returns this rank's failure. Collective. */
sp_status sp_junctions_add(sp_junctions *junctions, const sp_vector *r, sp_vector *z);

/* NULL-safe; sets *junctions to NULL. Local. */
void sp_junctions_destroy(sp_junctions **junctions);
