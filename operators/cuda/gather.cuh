// Waits for other ranks, and sums over them: part of peers.cu and vectors.cu.

// Set shared DOF target[t] to the sum of the values of all ranks that hold it, in the order of
// ranks.
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

// Wait until ready(). After SP_CUDA_PATIENCE give up and note `rank` as missing. Once a rank is
// missing, later waits end after 1 ms.
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

// Sums over all ranks, in the order of operators/reduction.h, by one whole block with at least one
// thread per rank. All threads call the constructor, which loads what add() needs.
struct sum_over_ranks {
  sp_cuda_sums *there = nullptr; // values of the rank with this thread's number
  unsigned epoch = 0;

  __device__ __forceinline__ sum_over_ranks(const sp_cuda_ranks &p) {
    if (p.size == 0) return;
    epoch = (unsigned)*p.epoch + 1;
    if (threadIdx.x < p.size) there = p.remote_sums[threadIdx.x];
  }

  // Replace a and b by their sums over ranks; only those of thread 0 count. `kind` alternates
  // between 0 and 1.
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
      __threadfence_system(); // after put(), others may change what this rank has read
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

  // True if all words have arrived: they carry this epoch's number.
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
