/* Values at chosen DOFs on all ranks: each rank selects some of its DOFs, its rows, and all ranks
 * get the values at all rows, in the order of ranks. */
#pragma once

#include "operators/space.h"
#include "operators/vector.h"

typedef struct sp_row_gather sp_row_gather;

/* For vectors of `space`, which must outlive it; dofs[count] are this rank's rows, local DOFs. The
 * caller destroys *out. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_row_gather_create(const sp_space *space, sp_precision precision, int count,
                               const sp_lid *dofs, sp_row_gather **out);

/* rows[all rows] = x[local DOFs] at the rows. Takes the status of earlier work, and returns this
 * rank's failure. Collective. */
sp_status sp_row_gather_apply(const sp_row_gather *gather, sp_status status, const sp_vector *x,
                              sp_vector *rows);

/* True if the values travel without the host. Local. */
bool sp_row_gather_is_resident(const sp_row_gather *gather);

/* NULL-safe; sets *gather to NULL. Collective. */
void sp_row_gather_destroy(sp_row_gather **gather);
