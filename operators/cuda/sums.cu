// Sums over blocks in a fixed order: part of order.cu and vectors.cu.

static __device__ __forceinline__ unsigned long long sp_now() {
  unsigned long long nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

// The sum over a block, valid in thread 0; a fixed tree.
static __device__ double block_sum(double value) {
  __shared__ double warps[32];
  __syncthreads();
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = threadIdx.x < (blockDim.x + 31) / 32 ? warps[threadIdx.x] : 0;
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  }
  return value;
}

// Whether this block is the last of `total` to arrive at *counter, which is zero again afterwards.
// What all blocks stored before is visible to the last one.
static __device__ bool is_last(unsigned *counter, int total) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(counter, 1u) == (unsigned)total - 1;
    if (last) *counter = 0;
    __threadfence();
  }
  __syncthreads();
  return last;
}

static __device__ double sum_partials(int count, const double *partial) {
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) sum += __ldcg(partial + i);
  return block_sum(sum);
}
