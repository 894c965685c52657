// Sums over blocks in a fixed order: part of order.cu, vectors.cu and peers.cu.

static __device__ __forceinline__ unsigned long long sp_now() {
  unsigned long long nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

// Sums over a block by a fixed tree; valid in thread 0.
template <int n> static __device__ __forceinline__ void block_sums(double (&values)[n]) {
  __shared__ double warps[n][32];
  __syncthreads();
#pragma unroll
  for (int v = 0; v < n; v++) {
    for (int offset = 16; offset > 0; offset /= 2)
      values[v] += __shfl_down_sync(~0u, values[v], offset);
    if (threadIdx.x % 32 == 0) warps[v][threadIdx.x / 32] = values[v];
  }
  __syncthreads();
  if (threadIdx.x >= 32) return;
#pragma unroll
  for (int v = 0; v < n; v++) {
    values[v] = threadIdx.x < (blockDim.x + 31) / 32 ? warps[v][threadIdx.x] : 0;
    for (int offset = 16; offset > 0; offset /= 2)
      values[v] += __shfl_down_sync(~0u, values[v], offset);
  }
}

static __device__ __forceinline__ double block_sum(double value) {
  double values[] = {value};
  block_sums(values);
  return values[0];
}

// True if this block is the last of `total` blocks to arrive at *counter, which is zero again
// afterwards. All earlier stores by thread 0 of any block, and by other threads before a barrier,
// are visible to the last block.
static __device__ bool is_last(unsigned *counter, int total) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    unsigned before;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;"
                 : "=r"(before)
                 : "l"(counter)
                 : "memory");
    last = before == (unsigned)total - 1;
    if (last) *counter = 0;
  }
  __syncthreads();
  return last;
}

// The thread's part of the sum of partial[0 .. count), n values each, over the threads of one
// block.
template <int n>
static __device__ __forceinline__ void share_of_partials(int count, const double *partial,
                                                         double (&sums)[n]) {
#pragma unroll
  for (int v = 0; v < n; v++) sums[v] = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
#pragma unroll
    for (int v = 0; v < n; v++) sums[v] += __ldcg(partial + n * i + v);
  }
}

static __device__ __forceinline__ double share_of_partials(int count, const double *partial) {
  double sums[1];
  share_of_partials(count, partial, sums);
  return sums[0];
}

// The sum over the block, valid in thread 0.
static __device__ __forceinline__ double sum_partials(int count, const double *partial) {
  return block_sum(share_of_partials(count, partial));
}
