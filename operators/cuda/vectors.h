/* Vector kernels of the CUDA backend; functions return the launch's error. Sums are formed in a
 * fixed order: every block forms a partial sum, the last block adds them up. */
#pragma once

#include "operators/cuda/assembly.h"
#include "operators/cuda/launch.h"
#include "operators/cuda/peers.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SP_CUDA_VECTOR_BLOCKS = 132 * 4, SP_CUDA_VECTOR_THREADS = 256 };

cudaError_t sp_cuda_set_scalars(sp_cuda_scalars *scalars, const sp_cuda_scalars *values,
                                cudaStream_t stream);

/* y = 0 at entries to which faces add. Vectors and edge nodes have the precision of the argument.
 */
cudaError_t sp_cuda_clear_faces(const sp_cuda_assembly *assembly, sp_precision precision, void *y,
                                cudaStream_t stream);

/* Sum y from first_edge on (assembly.h) from the array of edge nodes: at DOFs shared with other
 * ranks, or at the others. Does nothing once iterations have stopped; scalars may be NULL. `joins`:
 * it may follow kernels of several streams (queue.cuh). */
cudaError_t sp_cuda_assemble_shared(const sp_cuda_assembly *assembly, sp_precision precision,
                                    bool constrained, const void *edges, void *y,
                                    const sp_cuda_scalars *scalars, cudaStream_t stream);
cudaError_t sp_cuda_assemble_own(const sp_cuda_assembly *assembly, sp_precision precision,
                                 bool constrained, const void *edges, void *y, bool joins,
                                 cudaStream_t stream);

/* Finish an application whose result is step->q, or step->t if step->q is NULL (blas.cu): sum at
 * edges and vertices, then do the step. If `border` is not NULL, first receive and add the few
 * shared values (peers.h). Before the call the result is zero at edges and vertices, except for
 * values from the exchange or the diagonal; afterwards it is zero there, in faces and at copies. */
cudaError_t sp_cuda_complete(const sp_cuda_assembly *assembly, sp_precision precision,
                             const void *edges, const sp_correction *step,
                             const sp_cuda_border *border, bool joins, cudaStream_t stream);

/* The setup's diagonal (operators/backend.h), in double precision: shared DOFs first. */
typedef struct sp_cuda_diagonal {
  int shared, count;
  unsigned *dofs; /* [count], with SP_CUDA_CONSTRAINED */
  double *values;
} sp_cuda_diagonal;

/* y += D x at entries [first, last) of the diagonal. If `pending` is not NULL, pass 2 or
 * sp_cuda_complete adds the edge nodes, so y = D x at owned DOFs that have any. If `partial` is not
 * NULL it gets sp_cuda_diagonal_blocks(last - first) sums of x.D x. Does nothing once iterations
 * have stopped; scalars may be NULL. `joins`: it may follow kernels of several streams (queue.cuh).
 */
typedef struct sp_cuda_diagonal_pass {
  int first, last;
  bool constrained, joins;
  const sp_cuda_assembly *pending;
  const void *x;
  void *y;
  double *partial;
  const sp_cuda_scalars *scalars;
} sp_cuda_diagonal_pass;
int sp_cuda_diagonal_blocks(int count);
cudaError_t sp_cuda_add_diagonal(const sp_cuda_diagonal *diagonal, sp_precision precision,
                                 const sp_cuda_diagonal_pass *pass, cudaStream_t stream);

/* End of pass 1: scalars->p_ap = the sum of `count` partial sums. With several ranks, send this sum
 * to all of them instead; pass 2 receives it. `room` holds SP_CUDA_SUM_BLOCKS doubles. `joins`: it
 * may follow kernels of several streams (queue.cuh). */
enum { SP_CUDA_SUM_BLOCKS = 64 };
cudaError_t sp_cuda_finish_pass_1(int count, const double *partial, double *room,
                                  sp_cuda_scalars *scalars, const sp_cuda_ranks *ranks, bool joins,
                                  cudaStream_t stream);

/* Pass 2 of CG with alpha = rz / p.Ap, p.Ap summed over all ranks if there are several, or with
 * alpha = scalars->alpha if `records` is NULL:
 *
 *     r -= alpha (ap + sum over edge nodes, on edges and at vertices that only this rank has) r.r
 *     and r.D^-1 r over owned DOFs, and over all ranks
 *
 * and ap = 0 at entries to which faces add in the next pass 1; with update_x also x += alpha p. The
 * last block sets scalars->rr, rz and beta, checks the stopping criteria, and completes the
 * iteration's record. `partial` has room for 2 SP_CUDA_VECTOR_BLOCKS doubles. */
typedef struct sp_cuda_update {
  sp_cg_arrays vectors;
  bool update_x;
  /* With one rank and few blocks, pass 2 first sums these partial sums of pass 1. pass_1_count = 0:
   * sp_cuda_finish_pass_1 did it. */
  int pass_1_count;
  const double *pass_1;
  sp_cuda_assembly assembly;
  const double *edges;
  double *partial;
  sp_cuda_scalars *scalars;
  sp_cuda_ranks ranks;
  sp_cg_record *records;
  cudaEvent_t done; /* event to record afterwards for other streams, or NULL (queue.cuh) */
} sp_cuda_update;
cudaError_t sp_cuda_update_launch(const sp_cuda_update *update, cudaStream_t stream);

/* Apply the deferred update x += alpha p after whole iterations. p is even_p after an even number
 * of iterations, else odd_p. */
cudaError_t sp_cuda_last_step(int n, const double *even_p, const double *odd_p, double *x,
                              const sp_cuda_scalars *scalars, cudaStream_t stream);

/* Pack the shared values of `vector`; add received values to it, in the order of ranks. */
cudaError_t sp_cuda_pack(const sp_cuda_lists *lists, sp_precision precision, const void *vector,
                         void *sent, cudaStream_t stream);
cudaError_t sp_cuda_combine(const sp_cuda_lists *lists, sp_precision precision,
                            const void *received, void *vector, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
