/* Junctions: lines where contacts branch or cross.
 *
 * A junction's point has a DOF for each body that meets there, and the DOFs inside the contacts
 * between them. Stiff contacts couple all of them in a ring, but a block of additive Schwarz has
 * the DOFs of one contact. An error that is equal in all of them costs little energy, and no block
 * removes it. So A is inverted on these DOFs (operators/schwarz/sets.h; 8 cubes, kappa = 1, R =
 * 1e-6: 1000 iterations become 6). */
#pragma once

#include "operators/space.h"

/* *exist = true if a space of order 2 or more has junctions. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_junctions_exist(const sp_space *space, bool *exist);

/* Set (*marks)[local DOFs] > 0 at junctions, else 0. *marks = NULL without contacts. The caller
 * frees it. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_junctions_mark(const sp_space *space, double **marks);
