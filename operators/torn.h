/* A space torn between sets of elements: each set that has a DOF has its own copy of it. So one
 * visit of all elements makes the vectors of all sets. Copies keep the order of their DOFs. */
#pragma once

#include "operators/space.h"

typedef struct sp_torn {
  sp_space space; /* for sums in host memory; has no device part */
  sp_lid *from;   /* [local DOFs of `space`], the DOF of the whole space that each one copies */
} sp_torn;

/* Tear `whole`, which must outlive *out: keys[volume.count] >= 0 is the set of each volume. A rank
 * has the copies of other ranks' sets at the DOFs that it shares. sp_torn_free releases *out, also
 * after a failure. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_torn_create(const sp_space *whole, const int *keys, sp_torn *out);
void sp_torn_free(sp_torn *torn);
