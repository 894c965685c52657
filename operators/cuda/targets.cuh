// Sums of edge nodes (assembly.h): part of vectors.cu and blas.cu.

// A target and its contributions, of which FLIGHT are loaded together. Their indices do not change,
// so they are loaded before previous kernels are done. The first entry holds the flag.
template <class T> struct target {
  static constexpr int FLIGHT = 4;
  unsigned begin, end, entries[FLIGHT];
  T values[FLIGHT];

  __device__ __forceinline__ target(const sp_cuda_targets &targets, int t) {
    begin = end = 0;
    entries[0] = SP_CUDA_ABSENT;
    if (t >= targets.count) return;
    begin = __ldg(targets.start + t / 32) + t % 32;
    end = __ldg(targets.start + t / 32 + 1);
    find(targets, begin);
  }

  __device__ __forceinline__ void find(const sp_cuda_targets &targets, unsigned from) {
#pragma unroll
    for (int f = 0; f < FLIGHT; f++)
      entries[f] = from + 32 * f < end ? __ldcs(targets.entries + from + 32 * f) : SP_CUDA_ABSENT;
  }

  __device__ __forceinline__ void load(const T *edges) {
#pragma unroll
    for (int f = 0; f < FLIGHT; f++) {
      const unsigned entry = begin < end ? entries[f] & SP_CUDA_ABSENT : SP_CUDA_ABSENT;
      values[f] = entry != SP_CUDA_ABSENT ? edges[entry] : 0;
    }
  }

  // True without contributions from edge nodes: a patch or the exchange completes the target.
  __device__ __forceinline__ bool is_empty() const {
    return (entries[0] & SP_CUDA_ABSENT) == SP_CUDA_ABSENT;
  }
  __device__ __forceinline__ bool is_constrained() const {
    return entries[0] & SP_CUDA_CONSTRAINED;
  }

  // Call it after load().
  __device__ __forceinline__ T sum(const sp_cuda_targets &targets, const T *edges) const {
    T sum = 0;
    target next = *this;
    for (unsigned n = begin; n < end; n += 32 * FLIGHT) {
      if (n > begin) {
        next.find(targets, n);
        next.load(edges);
      }
#pragma unroll
      for (int f = 0; f < FLIGHT; f++) sum += next.values[f];
    }
    return sum;
  }
};
