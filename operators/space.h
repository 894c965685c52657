/* A mesh at one order: the numbering of its degrees of freedom, and the sum over ranks in Z^T on
 * the host and on the device. Created once; operators, problems and preconditioners borrow it. A
 * mesh may have several spaces on a device, one per order. */
#pragma once

#include "mesh/numbering.h"
#include "operators/vector.h"

typedef struct sp_space {
  const sp_platform *platform; /* borrowed */
  const sp_mesh *mesh;         /* borrowed */
  sp_numbering *numbering;
  sp_exchange *exchange;      /* sums L-vectors in host memory */
  sp_device_space *on_device; /* sums L-vectors in device memory */
  const char *transport;      /* how values travel between ranks, in words */
  bool resident;              /* values and sums over all ranks travel without the host */
} sp_space;

/* Number the DOFs of degree `order` and connect the ranks. `platform` and `mesh`, on the same
 * communicator, must outlive *out, which the caller destroys. Errors: as sp_numbering_create;
 * SP_ERR_SYSTEM if the platform's transport is not possible. Collective. */
sp_status sp_space_create(const sp_platform *platform, const sp_mesh *mesh, int order,
                          sp_space **out);

/* NULL-safe; sets *space to NULL. Collective. */
void sp_space_destroy(sp_space **space);

/* Entries of an L-vector on this rank: owned DOFs and copies. Local. */
static inline size_t sp_space_dofs(const sp_space *space) {
  return (size_t)space->numbering->local;
}

/* *out becomes an L-vector of zeros (operators/vector.h). Local. */
static inline sp_status sp_space_vector(const sp_space *space, sp_precision precision,
                                        sp_vector *out) {
  return sp_vector_create(space->platform, precision, sp_space_dofs(space), out);
}

/* A space torn between sets of elements: each set that has a DOF has its own copy of it. So one
 * visit of all elements makes the vectors of all sets. Copies keep the order of their DOFs. */
typedef struct sp_torn {
  sp_space space; /* for sums in host memory; has no device part */
  sp_lid *from;   /* [local DOFs of `space`], the DOF of the whole space that each one copies */
} sp_torn;

/* Tear `whole`, which must outlive *out: keys[volume.count] >= 0 is the set of each volume. A rank
 * has the copies of other ranks' sets at the DOFs that it shares. sp_torn_free releases *out, also
 * after a failure. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_torn_create(const sp_space *whole, const int *keys, sp_torn *out);
void sp_torn_free(sp_torn *torn);
