// Z, Z^T and the vector updates of CG at an element's nodes: part of order.cu. Between L-vectors
// the nodes of an element are visited in the order of sp_cuda_node_order(): a vertex, an edge, a
// face or an interior stands in one place of the L-vector, and threads that are neighbours read
// neighbours. Nodes cross shared memory on their way to lines and back.

// sp_cuda_node_order(), and where BP3.5 has those nodes in shared memory.
__device__ unsigned short d_places[Np], d_offsets[Np];

__device__ __forceinline__ double load_once(const double *p) {
  return __ldcs(p); // streamed: read by one block, once
}

// The node that one of an element's workers visits in turn c.
template <int workers> struct visit {
  static constexpr int turns = (Np + workers - 1) / workers;
  int c, worker;

  __device__ __forceinline__ int node() const {
    return c * workers + worker;
  }
  // Whether node() < limit: known when c is, for most c.
  __device__ __forceinline__ bool below(int limit) const {
    return (c + 1) * workers <= limit || (c * workers < limit && node() < limit);
  }
  __device__ __forceinline__ bool there() const {
    return below(Np);
  }
};

// The code of a node (launch.h): interiors stand in the order of elements and need none.
template <int workers>
__device__ __forceinline__ unsigned code_of(const sp_cuda_arguments &a, int element,
                                            visit<workers> v) {
  if (v.below(SURFACE_NODES)) return __ldg(a.nodes + (size_t)element * SURFACE_NODES + v.node());
  return (unsigned)(element * INNER_NODES + v.node() - SURFACE_NODES) | SP_CUDA_FIRST;
}

// Codes of the nodes that a worker visits. They do not change: a kernel asks for them before those
// ahead of it are done.
template <int MODE, int workers> struct node_codes {
  unsigned code[visit<workers>::turns];

  __device__ __forceinline__ node_codes(const sp_cuda_arguments &a, bool on, int element,
                                        int worker) {
#pragma unroll
    for (int c = 0; c < visit<workers>::turns; c++) {
      const visit<workers> v = {c, worker};
      if (MODE != SP_CUDA_LOCAL && on && v.there()) code[c] = code_of(a, element, v);
    }
  }
};

// p_new = z + beta p at a node, z = D^-1 r, rounded as written, so that copies have their owners'
// bits whichever kernel forms them; the first node of a DOF stores it and brings x up to date. x
// gets one addition: without a load nothing waits for it.
__device__ __forceinline__ double new_direction(const sp_cuda_step &step, double alpha, double beta,
                                                unsigned code, double z, double p) {
  const unsigned dof = code & SP_CUDA_DOF;
  const double direction = fma(beta, p, z);
  if (code & SP_CUDA_FIRST) {
    step.next_p[dof] = direction;
    if (step.x) atomicAdd(step.x + dof, __dmul_rn(alpha, p));
  }
  return direction;
}

// Values of x at the nodes of an element to U[offset(visit)], by so many workers; in pass 1 of CG
// those of the new direction. Loads stand before stores, so that they are in flight together.
template <int MODE, int workers, class Offset>
__device__ __forceinline__ void load_nodes(const sp_cuda_arguments &a, int element, int worker,
                                           const node_codes<MODE, workers> &codes, double alpha,
                                           double beta, Offset offset, double *U) {
  constexpr int turns = visit<workers>::turns;
  const auto &code = codes.code;
  double u[turns];
#pragma unroll
  for (int c = 0; c < turns; c++) {
    const visit<workers> v = {c, worker};
    u[c] = 0;
    if (MODE == SP_CUDA_LOCAL && v.there()) u[c] = load_once(a.x + (size_t)element * Np + v.node());
  }
  if (MODE == SP_CUDA_ASSEMBLED) {
#pragma unroll
    for (int c = 0; c < turns; c++)
      if (visit<workers>{c, worker}.there() && !(a.constrained && code[c] & SP_CUDA_CONSTRAINED))
        u[c] = a.x[code[c] & SP_CUDA_DOF];
  }
  if (MODE == SP_CUDA_CG) {
    double p[turns];
#pragma unroll
    for (int c = 0; c < turns; c++) {
      if (!visit<workers>{c, worker}.there()) continue;
      const unsigned dof = code[c] & SP_CUDA_DOF;
      p[c] = a.step.p[dof];
      u[c] = a.step.r[dof];
    }
    if (a.step.inverse_diagonal) {
#pragma unroll
      for (int c = 0; c < turns; c++)
        if (visit<workers>{c, worker}.there())
          u[c] = __dmul_rn(__ldg(a.step.inverse_diagonal + (code[c] & SP_CUDA_DOF)), u[c]);
    }
#pragma unroll
    for (int c = 0; c < turns; c++)
      if (visit<workers>{c, worker}.there())
        u[c] = new_direction(a.step, alpha, beta, code[c], u[c], p[c]);
  }
#pragma unroll
  for (int c = 0; c < turns; c++) {
    const visit<workers> v = {c, worker};
    if (v.there()) U[offset(v)] = u[c];
  }
}

// Z^T at a node; its code matters inside faces.
template <int workers>
__device__ __forceinline__ void add_node(const sp_cuda_arguments &a, int element, visit<workers> v,
                                         unsigned code, double value) {
  if (v.below(EDGE_NODES))
    a.edges[(size_t)element * EDGE_NODES + v.node()] = value;
  else if (!v.below(SURFACE_NODES))
    a.y[element * INNER_NODES + v.node() - SURFACE_NODES] = value;
  else if (!(a.constrained && code & SP_CUDA_CONSTRAINED))
    atomicAdd(a.y + (code & SP_CUDA_DOF), value);
}

// The nodes in U[offset(visit)] to y, by so many workers.
template <int MODE, int workers, class Offset>
__device__ __forceinline__ void store_nodes(const sp_cuda_arguments &a, int element, int worker,
                                            Offset offset, const double *U) {
#pragma unroll
  for (int c = 0; c < visit<workers>::turns; c++) {
    const visit<workers> v = {c, worker};
    if (!v.there()) continue;
    const double value = U[offset(v)];
    if (MODE == SP_CUDA_LOCAL) {
      __stcs(a.y + (size_t)element * Np + v.node(), value);
    } else {
      const bool in_face = !v.below(EDGE_NODES) && v.below(SURFACE_NODES);
      add_node(a, element, v, in_face ? code_of(a, element, v) : 0, value);
    }
  }
}

// Start of pass 1: false if the iterations have ended.
__device__ __forceinline__ bool begin_pass(const sp_cuda_step &step, double &alpha, double &beta) {
  if (step.scalars->stop) return false;
  alpha = step.scalars->alpha;
  beta = step.scalars->beta;
  if (blockIdx.x == 0 && threadIdx.x == 0 && step.first_block == 0)
    step.scalars->started = sp_now();
  return true;
}

// End of pass 1: this block's part of p.Ap.
__device__ __forceinline__ void store_partial(const sp_cuda_step &step, double energy) {
  energy = block_sum(energy);
  if (threadIdx.x == 0) step.partial[step.first_block + blockIdx.x] = energy;
}
