// Waiting for other ranks, and sums over them: part of peers.cu and vectors.cu.

// The value of shared DOF target[t] becomes the sum of what ranks hold there, in their order.
template <class T>
static __device__ __forceinline__ void sum_of_ranks(const sp_cuda_lists &lists, int t,
                                                    const T *received, T *vector) {
  const T own = vector[lists.target[t]];
  T sum = 0;
  for (int s = lists.source_start[t]; s < lists.source_start[t + 1]; s++) {
    const int source = lists.sources[s];
    sum += source == SP_OWN_VALUE ? own : __ldcg(received + source);
  }
  vector[lists.target[t]] = sum;
}

// Wait until ready(); if it never is, note the rank that did not come. Once somebody is missing,
// later waits end after a moment.
template <class Ready>
static __device__ __forceinline__ void await(Ready ready, int rank,
                                             const sp_cuda_missing &missing) {
  const unsigned long long start = sp_now(), moment = 1000000;
  while (!ready()) {
    const unsigned long long waited = sp_now() - start;
    if (waited > moment && *(volatile int *)missing.on_device) return;
    if (waited > (unsigned long long)SP_CUDA_PATIENCE) {
      *(volatile int *)missing.on_device = rank + 1;
      *(volatile int *)missing.on_host = rank + 1;
      return;
    }
  }
}

// Sums over all ranks, in the order of operators/reduction.h, by one whole block of at least as
// many threads as there are ranks. The constructor loads what this needs, in all threads.
struct sum_over_ranks {
  sp_cuda_sums *there = nullptr; // of the thread's rank
  unsigned epoch = 0;

  __device__ __forceinline__ sum_over_ranks(const sp_cuda_ranks &p) {
    if (p.size == 0) return;
    epoch = (unsigned)*p.epoch + 1;
    if (threadIdx.x < p.size) there = p.remote_sums[threadIdx.x];
  }

  // Thread 0 brings this rank's two values and takes the sums. `kind` is 0 or 1, in turns.
  __device__ __forceinline__ void add(const sp_cuda_ranks &p, int kind, double &a,
                                      double &b) const {
    if (p.size == 0) return;
    __shared__ double mine[2], all[SP_CUDA_MOST_PEERS][2];
    if (threadIdx.x == 0) {
      mine[0] = a;
      mine[1] = b;
    }
    __syncthreads();
    const int r = threadIdx.x;
    if (r < p.size) {
      __threadfence_system(); // what this rank has read may change when others have its sums
      put(there[kind * p.size + p.rank], mine);
      const sp_cuda_sums &here = p.sums[kind * p.size + r];
      await([&] { return get(here, all[r]); }, r, p.missing);
      __threadfence_system();
    }
    __syncthreads();
    if (threadIdx.x > 0) return;
    int power = 1;
    while (power <= p.size / 2) power *= 2;
    for (int i = power; i < p.size; i++) add_to(all[i - power], all[i]);
    for (int bit = 1; bit < power; bit *= 2)
      for (int i = 0; i < power; i += 2 * bit) add_to(all[i], all[i + bit]);
    a = all[0][0];
    b = all[0][1];
  }

private:
  static __device__ __forceinline__ void add_to(double (&sum)[2], const double (&value)[2]) {
    sum[0] += value[0];
    sum[1] += value[1];
  }

  __device__ __forceinline__ void put(sp_cuda_sums &to, const double (&values)[2]) const {
    for (int h = 0; h < 4; h++) {
      const unsigned long long bits = (unsigned long long)__double_as_longlong(values[h / 2]);
      const unsigned long long word = (unsigned long long)epoch << 32 | (bits >> h % 2 * 32 & ~0u);
      asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(&to.halves[h]), "l"(word)
                   : "memory");
    }
  }

  // Whether all words are of this epoch.
  __device__ __forceinline__ bool get(const sp_cuda_sums &from, double (&values)[2]) const {
    unsigned long long words[4];
    bool ready = true;
    for (int h = 0; h < 4; h++) {
      asm volatile("ld.relaxed.sys.global.u64 %0, [%1];"
                   : "=l"(words[h])
                   : "l"(&from.halves[h])
                   : "memory");
      ready &= words[h] >> 32 == epoch;
    }
    for (int v = 0; v < 2; v++)
      values[v] = __longlong_as_double((long long)(words[2 * v + 1] << 32 | (words[2 * v] & ~0u)));
    return ready;
  }
};
