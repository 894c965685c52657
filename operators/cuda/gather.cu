// Waiting for other ranks, and sums over them: part of peers.cu and vectors.cu.

// The value of shared DOF target[t] becomes the sum of what ranks hold there, in their order.
static __device__ __forceinline__ void sum_of_ranks(const sp_cuda_lists &lists, int t,
                                                    const double *received, double *vector) {
  const double own = vector[lists.target[t]];
  double sum = 0;
  for (int s = lists.source_start[t]; s < lists.source_start[t + 1]; s++) {
    const int source = lists.sources[s];
    sum += source == SP_OWN_VALUE ? own : __ldcg(received + source);
  }
  vector[lists.target[t]] = sum;
}

static __device__ __forceinline__ void signal(sp_cuda_epoch *flag, sp_cuda_epoch epoch) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(epoch) : "memory");
}

// Wait until a flag has reached `epoch`; whoever does not come is noted. Once somebody is missing,
// later waits end after a moment.
static __device__ void await(const sp_cuda_epoch *flag, sp_cuda_epoch epoch, int rank,
                             volatile int *missing) {
  const unsigned long long start = sp_now(), moment = 1000000;
  for (;;) {
    sp_cuda_epoch value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
    if (value >= epoch) return;
    const unsigned long long waited = sp_now() - start;
    if (waited > moment && *missing) return;
    if (waited > (unsigned long long)SP_CUDA_PATIENCE) {
      *missing = rank + 1;
      return;
    }
  }
}

// Sum two values over all ranks, in their order, by one whole block: thread 0 brings this rank's
// and takes the sums. `kind` is 0 or 1, in turns.
static __device__ void sum_over_ranks(const sp_cuda_peers &p, int kind, double &a, double &b) {
  if (p.size == 0) return;
  __shared__ double mine[2];
  const sp_cuda_epoch epoch = *p.epoch + 1;
  if (threadIdx.x == 0) {
    mine[0] = a;
    mine[1] = b;
  }
  __syncthreads();
  for (int r = threadIdx.x; r < p.size; r += blockDim.x) {
    double *target = p.remote_sums[r] + (kind * p.size + p.rank) * 2;
    target[0] = mine[0];
    target[1] = mine[1];
    signal(p.remote_sums_arrived[r] + kind * p.size + p.rank, epoch);
  }
  for (int r = threadIdx.x; r < p.size; r += blockDim.x)
    await(p.sums_arrived + kind * p.size + r, epoch, r, p.missing);
  __syncthreads();
  if (threadIdx.x > 0) return;
  a = b = 0;
  for (int r = 0; r < p.size; r++) {
    a += __ldcg(p.sums + (kind * p.size + r) * 2);
    b += __ldcg(p.sums + (kind * p.size + r) * 2 + 1);
  }
}
