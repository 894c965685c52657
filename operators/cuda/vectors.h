/* Vector kernels of the CUDA backend: launches return the launch's error. Sums are formed in a
 * fixed order: partial sums of the blocks of a grid, then the last block over them. */
#ifndef SP_OPERATORS_CUDA_VECTORS_H
#define SP_OPERATORS_CUDA_VECTORS_H

#include "operators/cuda/assembly.h"
#include "operators/cuda/launch.h"
#include "operators/cuda/peers.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SP_CUDA_VECTOR_BLOCKS = 132 * 4, SP_CUDA_VECTOR_THREADS = 256 };

cudaError_t sp_cuda_set_scalars(sp_cuda_scalars *scalars, const sp_cuda_scalars *values,
                                cudaStream_t stream);

/* y = 0 where faces add to it. */
cudaError_t sp_cuda_clear_faces(const sp_cuda_assembly *assembly, double *y, cudaStream_t stream);

/* y on edges and at vertices, from the array of edge nodes: at the DOFs that other ranks share, or
 * at the others. Nothing once iterations have stopped; scalars may be NULL. `joins`: it may stand
 * behind kernels on several streams (queue.cuh). */
cudaError_t sp_cuda_assemble_shared(const sp_cuda_assembly *assembly, bool constrained,
                                    const double *edges, double *y, const sp_cuda_scalars *scalars,
                                    cudaStream_t stream);
cudaError_t sp_cuda_assemble_own(const sp_cuda_assembly *assembly, bool constrained,
                                 const double *edges, double *y, bool joins, cudaStream_t stream);

/* The setup's diagonal (operators/backend.h): shared DOFs first. */
typedef struct sp_cuda_diagonal {
  int shared, count;
  unsigned *dofs; /* [count], with SP_CUDA_CONSTRAINED */
  double *values;
} sp_cuda_diagonal;

/* y += D x at entries [first, last) of the diagonal; from first_edge on y = D x instead, for pass
 * 2, which adds the edge nodes. If `partial` is not NULL it gets sp_cuda_diagonal_blocks(last -
 * first) sums of x.D x. Nothing once iterations have stopped; scalars may be NULL. `joins`: as
 * above. */
int sp_cuda_diagonal_blocks(int count);
cudaError_t sp_cuda_add_diagonal(const sp_cuda_diagonal *diagonal, int first, int last,
                                 bool constrained, int first_edge, const double *x, double *y,
                                 double *partial, const sp_cuda_scalars *scalars, bool joins,
                                 cudaStream_t stream);

/* End of pass 1: scalars->p_ap = sum of count partial sums, over all ranks if there are several,
 * and alpha = rz / p_ap; the iteration's record, unless NULL. `room` holds SP_CUDA_SUM_BLOCKS.
 * `joins`: as above. */
enum { SP_CUDA_SUM_BLOCKS = 64 };
cudaError_t sp_cuda_finish_pass_1(int count, const double *partial, double *room,
                                  sp_cuda_scalars *scalars, const sp_cuda_ranks *ranks,
                                  sp_cg_record *records, bool joins, cudaStream_t stream);

/* Pass 2 of CG with alpha = scalars->alpha:
 *
 *     r -= alpha (ap, or the sum over edge nodes at DOFs that only this rank has there)
 *     r.r and r.D^-1 r over owned DOFs, and over all ranks if there are several
 *
 * and ap = 0 where faces add to it in the next pass 1; with update_x also x += alpha p. The last
 * block sets scalars->rr, rz and beta, and decides whether to stop; records get the iteration's,
 * unless NULL. partial has room for 2 SP_CUDA_VECTOR_BLOCKS. */
typedef struct sp_cuda_update {
  sp_cg_vectors vectors;
  bool update_x;
  /* One rank and few blocks: pass 2 begins with what sp_cuda_finish_pass_1 does. 0: it was called.
   */
  int pass_1_count;
  const double *pass_1;
  sp_cuda_assembly assembly;
  const double *edges;
  double *partial;
  sp_cuda_scalars *scalars;
  sp_cuda_ranks ranks;
  sp_cg_record *records;
  cudaEvent_t done; /* recorded behind it for other streams, or NULL (queue.cuh) */
} sp_cuda_update;
cudaError_t sp_cuda_update_launch(const sp_cuda_update *update, cudaStream_t stream);

/* x += alpha p, where whole iterations have left the last step out: p is even_p after an even
 * number of them. */
cudaError_t sp_cuda_last_step(int n, const double *even_p, const double *odd_p, double *x,
                              const sp_cuda_scalars *scalars, cudaStream_t stream);

/* Pack the shared values of `vector`; add received ones to it, in the order of ranks. */
cudaError_t sp_cuda_pack(const sp_cuda_lists *lists, sp_precision precision, const void *vector,
                         void *sent, cudaStream_t stream);
cudaError_t sp_cuda_combine(const sp_cuda_lists *lists, sp_precision precision,
                            const void *received, void *vector, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
