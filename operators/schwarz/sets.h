/* Sets of DOFs in additive Schwarz (operators/schwarz/schwarz.h) that its blocks do not suit, on
 * which A is inverted. With the entries of A, as boxes, and Q the inverses on the sets, S becomes
 *
 *     Q + (I - Q A) S (I - A Q).
 *
 * It is symmetric and positive definite. If Q inverts A on all marked DOFs, the eigenvalues of S A
 * are 1 there, and elsewhere they lie between the old ones (Cauchy). The strongest entries of A
 * join DOFs to sets of at most 512 DOFs, 64 if there are many, so that weak entries are cut. All
 * ranks have the residual at the DOFs and at their neighbours in A. */
#pragma once

#include "operators/schwarz/builder.h"
#include "operators/vector.h"

typedef struct sp_sets sp_sets;

/* Create the sets of the DOFs with marks[local DOFs] > 0, which are the same on all ranks. *out =
 * NULL without such DOFs. The caller destroys *out. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_sets_create(const sp_schwarz_builder *b, const double *marks, sp_precision precision,
                         sp_sets **out);

/* out = (I - A Q) r, and keep r for sp_sets_finish. Returns this rank's failure. Collective. */
sp_status sp_sets_begin(sp_sets *sets, const sp_vector *r, sp_vector *out);

/* z = Q r + (I - Q A) z. Returns this rank's failure. Collective. */
sp_status sp_sets_finish(sp_sets *sets, sp_vector *z);

/* NULL-safe; sets *sets to NULL. Collective. */
void sp_sets_destroy(sp_sets **sets);
