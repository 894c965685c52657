/* A local operator on the GPU: created by setup.cu, used by backend.cu. C++ only. */
#pragma once

extern "C" {
#include "operators/cuda/exchange.h"
#include "operators/cuda/vectors.h"
}

#include <nvtx3/nvToolsExt.h>

struct sp_local_operator {
  sp_device *device;
  const sp_cuda_order *order;
  const sp_cuda_kernel *kernel;
  double lambda;
  int halo_elements, elements, dofs;
  size_t nodes_an_element;
  sp_precision precision;
  void *factors, *edges; /* of this precision */
  double *scales;        /* launch.h */
  double *energy, *partial;
  bool owns_lists; /* true if it owns nodes and assembly; otherwise they belong to the setup's
                      `alike` */
  bool works_by_patches;
  unsigned *nodes;              /* NULL with patches */
  sp_cuda_patch_arrays patches; /* empty without patches */
  int halo_patches;
  sp_cuda_assembly assembly;
  sp_cuda_diagonal diagonal;
  sp_cuda_scalars *scalars;
  double *sums;           /* pinned: the sums of the last pass */
  sp_device_space *space; /* borrowed */
  /* SP_CUDA_GRAPH iterations as a graph, for the vectors `captured`. */
  cudaGraphExec_t graph;
  sp_cg_arrays captured;
  sp_cg_record *records; /* on the device, SP_CG_BATCH */
};

/* Iterations per graph; several hide the launch of some microseconds. Even, so that p and next_p
 * are not swapped after a graph. */
enum { SP_CUDA_GRAPH = 8 };

/* HALO: the elements that touch other ranks. Their sums travel while the GPU computes INNER, the
 * others. */
typedef enum mesh_part { HALO, INNER, WHOLE } mesh_part;

/* The ranks over which the device sums without the host; size 0: only this rank. */
static inline sp_cuda_ranks ranks_of(const sp_local_operator *local) {
  const bool peers = local->space->ranks > 1 && local->space->kind == SP_TRANSPORT_PEER;
  return peers ? local->device->peers->view : sp_cuda_ranks{};
}

static inline int diagonal_blocks(const sp_local_operator *local) {
  return sp_cuda_diagonal_blocks(local->diagonal.shared) +
         sp_cuda_diagonal_blocks(local->diagonal.count - local->diagonal.shared);
}

/* A named range for profilers (NVTX): from here to the end of the C++ block. */
struct range {
  explicit range(const char *name) {
    nvtxRangePushA(name);
  }
  ~range() {
    nvtxRangePop();
  }
};

/* The arguments of a part of the mesh, without vectors. */
sp_cuda_arguments sp_cuda_arguments_of(const sp_local_operator *local, mesh_part part);

/* Add the setup's diagonal at shared DOFs (HALO) or the others (INNER), whose edge nodes may be
 * pending (sp_cuda_add_diagonal, vectors.h); the pass needs no entries. */
sp_status sp_cuda_apply_diagonal(sp_local_operator *local, mesh_part part, bool pending,
                                 sp_cuda_diagonal_pass pass, cudaStream_t stream);

/* y = Z^T B Z x with the sum over ranks. B is A with the setup's diagonal or, if `boxes` is given,
 * additive Schwarz without it. With `step`, do the step with the result; y is scratch, as in
 * sp_backend.apply_step. */
typedef struct sp_cuda_application {
  const sp_cuda_boxes *boxes; /* or NULL */
  bool constrained;           /* true with a step */
  const void *x;
  void *y;
  const sp_correction *step; /* or NULL */
} sp_cuda_application;

/* Collective among neighbours. */
sp_status sp_cuda_apply_elements(sp_local_operator *local, const sp_cuda_application *application);

/* Entries of the backend's table (operators/backend.h). */
sp_status sp_cuda_operator_create(sp_device *device, const sp_operator_setup *setup,
                                  sp_local_operator **out);
void sp_cuda_operator_destroy(sp_local_operator **out);
