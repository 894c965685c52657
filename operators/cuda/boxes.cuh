// Additive Schwarz on elements (operators/schwarz.h) between L-vectors: part of order.cu. A thread
// works on one line of the element in each direction, as in lines.cuh; Z and Z^T are those of the
// operator.

// y[m] = sum over c of matrix[c][m] x[c].
__device__ __forceinline__ void combine(const real *matrix, const real (&x)[Nq], real (&y)[Nq]) {
#pragma unroll
  for (int m = 0; m < Nq; m++) y[m] = 0;
#pragma unroll
  for (int c = 0; c < Nq; c++) {
#pragma unroll
    for (int m = 0; m < Nq; m++) y[m] += matrix[c * Nq + m] * x[c];
  }
}

// y[m] = sum over c of matrix[m][c] x[c].
__device__ __forceinline__ void combine_transposed(const real *matrix, const real (&x)[Nq],
                                                   real (&y)[Nq]) {
#pragma unroll
  for (int m = 0; m < Nq; m++) {
    y[m] = 0;
#pragma unroll
    for (int c = 0; c < Nq; c++) y[m] += matrix[m * Nq + c] * x[c];
  }
}

// Rows of a cube have a gap, so that lines in all directions start at different banks.
__device__ __forceinline__ int box_place(int node) {
  return node + node / Nq;
}

// Per element in shared memory: bases and eigenvalues of the three directions, and the cube.
constexpr int BOX_BASIS = 3 * Nq * Nq, BOX_VALUES = 3 * Nq, BOX_CUBE = Nq * Nq * (Nq + 1);
constexpr int BOX_SIZE = (BOX_BASIS + BOX_VALUES + BOX_CUBE + 3) / 4 * 4;

template <int E, int MIN_BLOCKS>
__global__ __launch_bounds__(threads<E, Nq>, MIN_BLOCKS) void solve_boxes(sp_cuda_arguments a,
                                                                          sp_cuda_boxes boxes) {
  extern __shared__ real shared[];
  constexpr int AREA = Nq * Nq, PLANE = Nq * (Nq + 1);
  const team<Nq, E> t(a);
  const auto nodes = t.nodes();
  const node_codes<SP_CUDA_ASSEMBLED, walk<AREA>> codes(a, t.on, nodes);
  real *const basis = shared + t.slot * BOX_SIZE, *const values = basis + BOX_BASIS;
  real *const cube = values + BOX_VALUES, *const x = basis, *const y = x + AREA,
              *const z = y + AREA;
  real weights[Nq], u[Nq] = {}, v[Nq];
  if (t.on) {
    for (int n = nodes.worker; n < BOX_BASIS; n += AREA)
      basis[n] = __ldg(reals(boxes.basis) + (size_t)t.element * BOX_BASIS + n);
    for (int n = nodes.worker; n < BOX_VALUES; n += AREA)
      values[n] = __ldg(reals(boxes.values) + (size_t)t.element * BOX_VALUES + n);
#pragma unroll
    for (int c = 0; c < Nq; c++)
      weights[c] = __ldg(reals(boxes.weights) + (size_t)t.element * Np + nodes.node(c));
  }
  follow();
  const auto place = [&](int c) { return box_place(__ldg(d_places + nodes.node(c))); };
  if (t.on) {
#pragma unroll
    for (int c = 0; c < Nq; c++) u[c] = weights[c] * reals(a.x)[dof_of<walk<AREA>>(codes.code[c])];
#pragma unroll
    for (int c = 0; c < Nq; c++) cube[place(c)] = u[c];
  }
  const auto on_t = [&](int k) -> real & { return cube[k * PLANE + t.j * (Nq + 1) + t.i]; };
  const auto on_s = [&](int k) -> real & { return cube[t.j * PLANE + k * (Nq + 1) + t.i]; };
  const auto on_r = [&](int k) -> real & { return cube[t.j * PLANE + t.i * (Nq + 1) + k]; };
  const auto read = [&](const auto &line, real(&to)[Nq]) {
    __syncthreads();
#pragma unroll
    for (int k = 0; k < Nq; k++)
      if (t.on) to[k] = line(k);
  };
  const auto write = [&](const auto &line, const real(&from)[Nq]) {
#pragma unroll
    for (int k = 0; k < Nq; k++)
      if (t.on) line(k) = from[k];
  };
  read(on_t, u);
  combine(z, u, v);
  write(on_t, v);
  read(on_s, u);
  combine(y, u, v);
  write(on_s, v);
  read(on_r, u);
  combine(x, u, v);
  const real rest = values[Nq + t.i] + values[2 * Nq + t.j];
#pragma unroll
  for (int k = 0; k < Nq; k++) v[k] *= reciprocal(values[k] + rest);
  combine_transposed(x, v, u);
  write(on_r, u);
  read(on_s, u);
  combine_transposed(y, u, v);
  write(on_s, v);
  read(on_t, u);
  combine_transposed(z, u, v);
  write(on_t, v);
  __syncthreads();
  if (!t.on) return;
#pragma unroll
  for (int c = 0; c < Nq; c++) {
    const unsigned code =
        nodes.in_face(c) ? code_of(a, nodes, c) : 0; // saves registers, which are scarce
    add_node(a, nodes, c, code, weights[c] * cube[place(c)]);
  }
}
