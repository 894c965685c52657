// Waits for other ranks, and sums over them: part of blas.cu, peers.cu and vectors.cu.

// Target t's sum of the values of all ranks that hold it, in the order of ranks; received(s) is
// received entry s.
template <class T, class Received>
static __device__ __forceinline__ T sum_of_ranks(const sp_cuda_lists &lists, int t, T own,
                                                 Received received) {
  T sum = 0;
  for (int s = lists.source_start[t]; s < lists.source_start[t + 1]; s++) {
    const int source = lists.sources[s];
    sum += source == SP_OWN_VALUE ? own : received(source);
  }
  return sum;
}

// Words of 64 bits that need no flag: the low half is 32 bits of a value, the high half the number
// of the exchange, so a word has arrived when its number is the expected one.
static __device__ __forceinline__ void put_word(unsigned long long *to, unsigned half,
                                                unsigned epoch) {
  const unsigned long long word = (unsigned long long)epoch << 32 | half;
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(word) : "memory");
}

// False if the word has not arrived.
static __device__ __forceinline__ bool get_word(const unsigned long long *from, unsigned epoch,
                                                unsigned &half) {
  unsigned long long word;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
  half = (unsigned)word;
  return word >> 32 == epoch;
}

// A value as the low halves of one word (float) or two (double, low bits first).
static __device__ __forceinline__ void put(unsigned long long *to, double value, unsigned epoch) {
  put_word(to, (unsigned)__double2loint(value), epoch);
  put_word(to + 1, (unsigned)__double2hiint(value), epoch);
}
static __device__ __forceinline__ void put(unsigned long long *to, float value, unsigned epoch) {
  put_word(to, __float_as_uint(value), epoch);
}
static __device__ __forceinline__ bool get(const unsigned long long *from, unsigned epoch,
                                           double &value) {
  unsigned low, high;
  const bool first = get_word(from, epoch, low), second = get_word(from + 1, epoch, high);
  value = __hiloint2double((int)high, (int)low);
  return first && second;
}
static __device__ __forceinline__ bool get(const unsigned long long *from, unsigned epoch,
                                           float &value) {
  unsigned half;
  const bool ready = get_word(from, epoch, half);
  value = __uint_as_float(half);
  return ready;
}

// Wait until ready(). After SP_CUDA_PATIENCE mark `rank` as missing. Once a rank is missing, later
// waits end after 1 ms.
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

// The neighbour of entry i of the lists.
static __device__ __forceinline__ const sp_cuda_neighbour &neighbour_of(const sp_cuda_border &p,
                                                                        int i) {
  const sp_cuda_neighbour *b = p.of;
  while (i >= b->end) b++;
  return *b;
}

// Values of an exchange that travel as words. All threads call the constructor, after the sending
// kernel.
template <class T> struct received_words {
  const sp_cuda_border &border;
  const sp_cuda_epoch exchange;

  __device__ __forceinline__ received_words(const sp_cuda_border &p, int thread)
      : border(p), exchange(*p.begun) {
    // Wait for every neighbour, even if no target needs its values: no rank may be two exchanges
    // ahead.
    if (thread < p.neighbours && p.of[thread].begin < p.of[thread].end)
      (void)(*this)(p.of[thread].begin);
  }

  // Wait for entry s.
  __device__ __forceinline__ T operator()(int s) const {
    const double *buffer = border.received + (exchange % 2) * 2 * (unsigned)border.lists.shared;
    T value = 0;
    await(
        [&] { return get((const unsigned long long *)buffer + 2 * s, (unsigned)exchange, value); },
        neighbour_of(border, s).rank, border.missing);
    return value;
  }
};

// Sums over all ranks, in the order of operators/reduction.h, by whole blocks with at least one
// thread per rank. All threads call the constructor, which loads what send() and receive() need.
// There are two kinds of sums, 0 and 1, which alternate. They need no fence: a rank overwrites a
// word only after it has received a sum of the other kind from the reader, which the reader sends
// after its loads of the word have returned.
struct sum_over_ranks {
  sp_cuda_sums *there = nullptr; // values of the rank with this thread's number
  unsigned epoch = 0;

  __device__ __forceinline__ sum_over_ranks(const sp_cuda_ranks &p) {
    if (p.size == 0) return;
    epoch = (unsigned)*p.epoch + 1;
    if (threadIdx.x < p.size) there = p.remote_sums[threadIdx.x];
  }

  // Send thread 0's values to all ranks. One block of a rank calls it.
  __device__ __forceinline__ void send(const sp_cuda_ranks &p, int kind, double a, double b) const {
    __shared__ double mine[2];
    if (threadIdx.x == 0) {
      mine[0] = a;
      mine[1] = b;
    }
    __syncthreads();
    if (threadIdx.x >= p.size) return;
    sp_cuda_sums &to = there[kind * p.size + p.rank];
    for (int v = 0; v < 2; v++) put(to.words + 2 * v, mine[v], epoch);
  }

  // Wait for the values of all ranks; thread 0 gets their sums. Any number of blocks may call it.
  __device__ __forceinline__ void receive(const sp_cuda_ranks &p, int kind, double &a,
                                          double &b) const {
    __shared__ double all[SP_CUDA_MOST_PEERS][2];
    const int r = threadIdx.x;
    if (r < p.size) {
      const sp_cuda_sums &here = p.sums[kind * p.size + r];
      const auto arrived = [&] {
        const bool first = get(here.words, epoch, all[r][0]);
        return get(here.words + 2, epoch, all[r][1]) && first;
      };
      await(arrived, r, p.missing);
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
};
