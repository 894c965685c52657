// Z, Z^T and the vector updates of CG at an element's nodes: part of order.cu.

__device__ __forceinline__ double load_once(const double *p) {
  return __ldcs(p); // streamed: read by one block, once
}

// A node (i, j, k) of an element; `there` is false for a thread that has none.
struct node {
  int i, j, k;
  bool there;

  __device__ __forceinline__ int place() const {
    return (k * Nq + j) * Nq + i;
  }
  // On how many sides of the element the node lies.
  __device__ __forceinline__ int sides() const {
    return (i == 0 || i == SP_ORDER) + (j == 0 || j == SP_ORDER) + (k == 0 || k == SP_ORDER);
  }
  // Place among the 4 N nodes of the rim of a layer k = const, in the order of (j, i).
  __device__ __forceinline__ int rim_place() const {
    if (j == 0) return i;
    return Nq + 2 * (j - 1) + (j == SP_ORDER ? i : i > 0);
  }
  // Place among the surface nodes, in the order of (k, j, i): whole bottom, rims, whole top.
  __device__ __forceinline__ int surface_place() const {
    if (k == 0) return j * Nq + i;
    return Nq * Nq + (k - 1) * RIM + (k == SP_ORDER ? j * Nq + i : rim_place());
  }
  // Place among the nodes on edges and at vertices, in the same order: rims of bottom and top,
  // corners of the layers between.
  __device__ __forceinline__ int edge_place() const {
    if (k == 0) return rim_place();
    return RIM + 4 * (k - 1) + (k == SP_ORDER ? rim_place() : 2 * (j > 0) + (i > 0));
  }
  // Place in the interior.
  __device__ __forceinline__ int inner_place() const {
    return ((k - 1) * (SP_ORDER - 1) + j - 1) * (SP_ORDER - 1) + i - 1;
  }
};

// The code of a node (launch.h): interiors stand in the order of elements and need none.
__device__ __forceinline__ unsigned code_of(const sp_cuda_arguments &a, int element, node n) {
  if (n.sides() > 0) return __ldg(a.nodes + (size_t)element * SURFACE_NODES + n.surface_place());
  return (unsigned)(element * INNER_NODES + n.inner_place()) | SP_CUDA_FIRST;
}

// p_new = D^-1 r + beta p at a node, rounded as written, so that copies have their owners' bits
// whichever kernel forms them; the first node of a DOF stores it and brings x up to date. x
// gets one addition: without a load nothing waits for it.
__device__ __forceinline__ double new_direction(const sp_cuda_step &step, double alpha, double beta,
                                                unsigned code, double r, double p) {
  const unsigned dof = code & SP_CUDA_DOF;
  const double z = step.inverse_diagonal ? __dmul_rn(step.inverse_diagonal[dof], r) : r;
  const double direction = fma(beta, p, z);
  if (code & SP_CUDA_FIRST) {
    step.next_p[dof] = direction;
    if (step.x) atomicAdd(step.x + dof, __dmul_rn(alpha, p));
  }
  return direction;
}

// Values of x at nodes at(0), ..., at(count - 1) of an element for one thread. In pass 1 of CG they
// are those of the new direction. Loads stand before stores, so that they are in flight together.
template <int MODE, int count, class Nodes>
__device__ __forceinline__ void load(const sp_cuda_arguments &a, int element, double alpha,
                                     double beta, Nodes at, double (&u)[count]) {
  unsigned code[count];
#pragma unroll
  for (int c = 0; c < count; c++) {
    u[c] = 0;
    if (!at(c).there) continue;
    if (MODE == SP_CUDA_LOCAL)
      u[c] = load_once(a.x + (size_t)element * Np + at(c).place());
    else
      code[c] = code_of(a, element, at(c));
  }
  if (MODE == SP_CUDA_ASSEMBLED) {
#pragma unroll
    for (int c = 0; c < count; c++)
      if (at(c).there && !(a.constrained && code[c] & SP_CUDA_CONSTRAINED))
        u[c] = a.x[code[c] & SP_CUDA_DOF];
  }
  if (MODE == SP_CUDA_CG) {
    double p[count];
#pragma unroll
    for (int c = 0; c < count; c++) {
      if (!at(c).there) continue;
      const unsigned dof = code[c] & SP_CUDA_DOF;
      p[c] = a.step.p[dof];
      u[c] = a.step.r[dof];
    }
#pragma unroll
    for (int c = 0; c < count; c++)
      if (at(c).there) u[c] = new_direction(a.step, alpha, beta, code[c], u[c], p[c]);
  }
}

// Z^T at a node whose code is known where it is needed.
template <int MODE>
__device__ __forceinline__ void store(const sp_cuda_arguments &a, int element, node n,
                                      unsigned code, double value) {
  const int sides = n.sides();
  if (MODE == SP_CUDA_LOCAL)
    __stcs(a.y + (size_t)element * Np + n.place(), value);
  else if (sides == 0)
    a.y[element * INNER_NODES + n.inner_place()] = value;
  else if (sides >= 2)
    a.edges[(size_t)element * EDGE_NODES + n.edge_place()] = value;
  else if (!(a.constrained && code & SP_CUDA_CONSTRAINED))
    atomicAdd(a.y + (code & SP_CUDA_DOF), value);
}

template <int MODE>
__device__ __forceinline__ void store(const sp_cuda_arguments &a, int element, node n,
                                      double value) {
  const bool needed = MODE != SP_CUDA_LOCAL && n.sides() == 1;
  store<MODE>(a, element, n, needed ? code_of(a, element, n) : 0, value);
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
