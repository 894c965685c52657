/* Vector kernels of the CUDA backend: launches return the launch's error. Sums are formed in a
 * fixed order: partial sums of the blocks of a fixed grid, then one block over them. */
#ifndef SP_OPERATORS_CUDA_VECTORS_H
#define SP_OPERATORS_CUDA_VECTORS_H

#include "operators/cuda/assembly.h"
#include "operators/cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Scalars of an iteration, on the device. */
typedef struct sp_cuda_scalars {
  double p_ap, rr, rz;        /* sums of the last passes */
  double alpha, beta;         /* for the next ones */
  double target;              /* iterations end when rr <= target */
  unsigned long long started; /* ns, %globaltimer at the start of pass 1 */
  int iterations, limit;      /* done since the launch of the batch, and how many may be done */
  int stop;                   /* no further pass does anything */
} sp_cuda_scalars;

enum { SP_CUDA_VECTOR_BLOCKS = 132 * 8, SP_CUDA_VECTOR_THREADS = 256 };

/* p = D^-1 r + beta p over n entries (D = 1 if inverse_diagonal is NULL), beta = scalars->beta. */
cudaError_t sp_cuda_direction(int n, const sp_cg_vectors *vectors, sp_cuda_scalars *scalars,
                              cudaStream_t stream);

/* y at targets [first, last) of an assembly. */
cudaError_t sp_cuda_assemble(const sp_cuda_assembly *assembly, int first, int last,
                             bool constrained, const double *surface, double *y,
                             const sp_cuda_scalars *scalars, cudaStream_t stream);

/* scalars->p_ap = sum of count partial sums, and alpha = rz / p_ap; the iteration's record, if any.
 */
cudaError_t sp_cuda_finish_direction(int count, const double *partial, sp_cuda_scalars *scalars,
                                     sp_cg_record *records, cudaStream_t stream);

/* x += alpha p, r -= alpha ap over n entries, alpha = scalars->alpha; partial sums of r.r and
 * r.D^-1 r over the first `owned` entries in partial[2][SP_CUDA_VECTOR_BLOCKS]. */
cudaError_t sp_cuda_update(int owned, int n, const sp_cg_vectors *vectors, double *partial,
                           const sp_cuda_scalars *scalars, cudaStream_t stream);

/* scalars->rr and rz, beta = rz_new / rz_old, and whether to stop; the iteration's record, if any.
 */
cudaError_t sp_cuda_finish_update(const double *partial, sp_cuda_scalars *scalars,
                                  sp_cg_record *records, cudaStream_t stream);

/* packed[i] = vector[list[i]] and back. */
cudaError_t sp_cuda_pack(int n, const int *list, const double *vector, double *packed,
                         cudaStream_t stream);
cudaError_t sp_cuda_unpack(int n, const int *list, const double *packed, double *vector,
                           cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
