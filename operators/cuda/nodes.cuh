// Z, Z^T and the vector updates of CG at an element's nodes: part of order.cu. Between L-vectors
// the nodes of an element are visited in the order of sp_cuda_node_order(): the DOFs of a vertex,
// edge, face or interior are contiguous in the L-vector, so neighbouring threads read neighbouring
// entries. Nodes cross shared memory on their way to lines and back.

// sp_cuda_node_order(), and the index of those nodes in BP3.5's shared memory.
__device__ unsigned short d_places[Np], d_offsets[Np];

template <class T> __device__ __forceinline__ T load_once(const T *p) {
  return __ldcs(p); // streamed: read by one block, once
}

// The nodes that a worker (a thread) visits, one per turn. `workers` workers share the nodes of an
// element; each visits `elements` elements, one after another. Missing elements alias the last one,
// so loads need no predicate. With `remembers`, the loads' element numbers are kept for stores,
// which saves instructions and costs registers.
template <int workers, int elements = 1, bool remembers = false> struct walk {
  static constexpr int each = (Np + workers - 1) / workers, turns = elements * each;
  static constexpr bool several = elements > 1;
  int worker, first, stride, end; // elements first, first + stride, ... before `end`

  __device__ __forceinline__ int node(int c) const {
    return c % each * workers + worker;
  }
  __device__ __forceinline__ int
  place(int c) const { // number of the element, even if it is missing
    return elements == 1 ? first : first + c / each * stride;
  }
  __device__ __forceinline__ int element(int c) const {
    return elements == 1 ? first : min(place(c), end - 1);
  }
  __device__ __forceinline__ int element_there(int c) const { // valid if there(c)
    return remembers ? element(c) : place(c);
  }
  // True if node(c) < limit: a compile-time constant for most c.
  __device__ __forceinline__ bool below(int c, int limit) const {
    const int turn = c % each;
    return (turn + 1) * workers <= limit || (turn * workers < limit && node(c) < limit);
  }
  __device__ __forceinline__ bool there(int c) const {
    return below(c, Np) && (elements == 1 || place(c) < end);
  }
  __device__ __forceinline__ bool in_face(int c) const {
    return !below(c, EDGE_NODES) && below(c, SURFACE_NODES);
  }
};

// The DOF of a code. If loads are unconditional, the mask is hidden from the compiler: an address
// takes six instructions with a visible mask, two otherwise.
template <class Walk> __device__ __forceinline__ unsigned dof_of(unsigned code) {
  if (!Walk::several) return code & SP_CUDA_DOF;
  unsigned dof;
  asm("and.b32 %0, %1, %2;" : "=r"(dof) : "r"(code), "n"(SP_CUDA_DOF));
  return dof;
}

// The code of a node (launch.h). Interiors are in the order of elements, so their codes are
// computed.
template <class Walk>
__device__ __forceinline__ unsigned code_of(const sp_cuda_arguments &a, const Walk &w, int c) {
  const int element = w.element(c);
  if (w.below(c, SURFACE_NODES))
    return __ldg(a.nodes + (size_t)element * SURFACE_NODES + w.node(c));
  return (unsigned)(element * INNER_NODES + w.node(c) - SURFACE_NODES) | SP_CUDA_FIRST;
}

// Codes of the nodes that a worker visits. They do not change, so a kernel loads them before the
// previous kernel is done. Missing nodes are never the first of a DOF.
template <int MODE, class Walk> struct node_codes {
  unsigned code[Walk::turns];

  __device__ __forceinline__ node_codes(const sp_cuda_arguments &a, bool on, const Walk &w) {
#pragma unroll
    for (int c = 0; c < Walk::turns; c++)
      if (MODE != SP_CUDA_LOCAL && on && w.below(c, Np))
        code[c] = code_of(a, w, c) & (MODE != SP_CUDA_CG || w.there(c) ? ~0u : ~SP_CUDA_FIRST);
  }
};

// p_new = z + beta p at a node, with z = D^-1 r. The rounding is explicit, so that copies have
// their owners' bits in any kernel. The first node of a DOF stores p_new and updates x by an atomic
// addition, so no load delays it.
template <class Walk>
__device__ __forceinline__ double new_direction(const sp_cuda_step &step, double alpha, double beta,
                                                unsigned code, double z, double p) {
  const unsigned dof = dof_of<Walk>(code);
  const double direction = fma(beta, p, z);
  if (code & SP_CUDA_FIRST) {
    step.next_p[dof] = direction;
    if (step.x) atomicAdd(step.x + dof, __dmul_rn(alpha, p));
  }
  return direction;
}

// The scalars at the start of pass 1 of CG.
template <int MODE> struct pass_1 {
  int stop = 0;
  double alpha = 0, beta = 0;

  __device__ __forceinline__ pass_1(const sp_cuda_step &step) {
    if (MODE != SP_CUDA_CG) return;
    stop = step.scalars->stop;
    alpha = step.scalars->alpha;
    beta = step.scalars->beta;
  }

  // False if the iterations have ended.
  __device__ __forceinline__ bool begins(const sp_cuda_step &step) const {
    if (MODE != SP_CUDA_CG) return true;
    if (stop) return false;
    if (blockIdx.x == 0 && threadIdx.x == 0 && step.stamps) step.scalars->started = sp_now();
    return true;
  }
};

// Values of x at the nodes of a walk; in pass 1 of CG the values that form the new direction.
template <int MODE, class Walk> struct node_values {
  static constexpr int turns = Walk::turns;
  real u[turns], p[MODE == SP_CUDA_CG ? turns : 1];

  // Only loads, so that they are in flight together.
  __device__ __forceinline__ void ask(const sp_cuda_arguments &a, const Walk &w,
                                      const node_codes<MODE, Walk> &codes) {
    const auto &code = codes.code;
#pragma unroll
    for (int c = 0; c < turns; c++) {
      u[c] = 0;
      if (MODE == SP_CUDA_LOCAL && w.below(c, Np))
        u[c] = load_once(reals(a.x) + (size_t)w.element(c) * Np + w.node(c));
    }
    if (MODE == SP_CUDA_ASSEMBLED) {
#pragma unroll
      for (int c = 0; c < turns; c++)
        if (w.below(c, Np) && !(a.constrained && code[c] & SP_CUDA_CONSTRAINED))
          u[c] = reals(a.x)[dof_of<Walk>(code[c])];
    }
    if (MODE == SP_CUDA_CG) {
#pragma unroll
      for (int c = 0; c < turns; c++) {
        if (!w.below(c, Np)) continue;
        const unsigned dof = dof_of<Walk>(code[c]);
        p[c] = a.step.p[dof];
        u[c] = a.step.z[dof];
      }
    }
    if (MODE == SP_CUDA_CG && a.step.inverse_diagonal) {
#pragma unroll
      for (int c = 0; c < turns; c++)
        if (w.below(c, Np))
          u[c] = __dmul_rn(__ldg(a.step.inverse_diagonal + dof_of<Walk>(code[c])), u[c]);
    }
  }

  // Store the values to U[offset(turn)].
  template <class Offset>
  __device__ __forceinline__ void put(const sp_cuda_arguments &a, const Walk &w,
                                      const node_codes<MODE, Walk> &codes, const pass_1<MODE> &pass,
                                      Offset offset, real *U) {
    if (MODE == SP_CUDA_CG) {
#pragma unroll
      for (int c = 0; c < turns; c++)
        if (w.below(c, Np))
          u[c] = new_direction<Walk>(a.step, pass.alpha, pass.beta, codes.code[c], u[c], p[c]);
    }
#pragma unroll
    for (int c = 0; c < turns; c++)
      if (w.below(c, Np)) U[offset(c)] = u[c];
  }
};

template <int MODE, class Walk, class Offset>
__device__ __forceinline__ void load_nodes(const sp_cuda_arguments &a, const Walk &w,
                                           const node_codes<MODE, Walk> &codes,
                                           const pass_1<MODE> &pass, Offset offset, real *U) {
  node_values<MODE, Walk> values;
  values.ask(a, w, codes);
  values.put(a, w, codes, pass, offset, U);
}

// Z^T at a node; its code is used only inside faces.
template <class Walk>
__device__ __forceinline__ void add_node(const sp_cuda_arguments &a, const Walk &w, int c,
                                         unsigned code, real value) {
  const int element = w.element_there(c);
  if (w.below(c, EDGE_NODES))
    reals(a.edges)[(size_t)element * EDGE_NODES + w.node(c)] = value;
  else if (!w.below(c, SURFACE_NODES))
    reals(a.y)[element * INNER_NODES + w.node(c) - SURFACE_NODES] = value;
  else if (!(a.constrained && code & SP_CUDA_CONSTRAINED))
    atomicAdd(reals(a.y) + dof_of<Walk>(code), value);
}

// Z^T: add the nodes in U[offset(turn)] to y. face_code(turn) is used only inside faces.
template <int MODE, class Walk, class Code, class Offset>
__device__ __forceinline__ void store_nodes(const sp_cuda_arguments &a, const Walk &w,
                                            Code face_code, Offset offset, const real *U) {
#pragma unroll
  for (int c = 0; c < Walk::turns; c++) {
    if (!w.there(c)) continue;
    const real value = U[offset(c)];
    if (MODE == SP_CUDA_LOCAL)
      __stcs(reals(a.y) + (size_t)w.element_there(c) * Np + w.node(c), value);
    else
      add_node(a, w, c, w.in_face(c) ? face_code(c) : 0, value);
  }
}

// End of pass 1: store this block's part of p.Ap.
__device__ __forceinline__ void store_partial(const sp_cuda_step &step, double energy) {
  energy = block_sum(energy);
  if (threadIdx.x == 0) step.partial[step.first_block + blockIdx.x] = energy;
}
