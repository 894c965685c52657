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
constexpr int BOX_ROW = Nq + 1, BOX_PLANE = Nq * BOX_ROW;

// Per element in shared memory: bases and eigenvalues of the three directions, and the cube.
constexpr int BOX_BASIS = 3 * Nq * Nq, BOX_VALUES = 3 * Nq, BOX_CUBE = Nq * BOX_PLANE;
constexpr int BOX_SIZE = (BOX_BASIS + BOX_VALUES + BOX_CUBE + 3) / 4 * 4;

// Solve each element; or, with columns (operators/column_factors.h), in two halves with
// sp_cuda_sweep_columns between them: SP_CUDA_REDUCE leaves coefficients in boxes.modal and
// right-hand sides of interfaces, SP_CUDA_EXPAND takes the values at interfaces.
template <int E, int MIN_BLOCKS, sp_cuda_box_pass PASS>
__global__ __launch_bounds__(threads<E, Nq>, MIN_BLOCKS) void solve_boxes(sp_cuda_arguments a,
                                                                          sp_cuda_boxes boxes) {
  extern __shared__ real shared[];
  constexpr int AREA = Nq * Nq, LAST = Nq - 1;
  const team<Nq, E> t(a);
  const auto nodes = t.nodes();
  const node_codes<SP_CUDA_ASSEMBLED, walk<AREA>> codes(a, t.on && PASS != SP_CUDA_EXPAND, nodes);
  real *const basis = shared + t.slot * BOX_SIZE, *const values = basis + BOX_BASIS;
  real *const cube = values + BOX_VALUES, *const x = basis, *const y = x + AREA,
              *const z = y + AREA;
  real weights[Nq], u[Nq] = {}, v[Nq], conductance = 0;
  int interface = -1;
  int4 frame = {0, 1, BOX_ROW, BOX_PLANE};
  if (t.on) {
    for (int n = nodes.worker; n < BOX_BASIS; n += AREA)
      basis[n] = __ldg(reals(boxes.basis) + (size_t)t.element * BOX_BASIS + n);
    for (int n = nodes.worker; n < BOX_VALUES; n += AREA)
      values[n] = __ldg(reals(boxes.values) + (size_t)t.element * BOX_VALUES + n);
#pragma unroll
    for (int c = 0; c < Nq; c++)
      weights[c] = __ldg(reals(boxes.weights) + (size_t)t.element * Np + nodes.node(c));
    if constexpr (PASS != SP_CUDA_SOLVE) {
      frame = __ldg((const int4 *)boxes.frames + t.element);
      interface = __ldg(boxes.interface + t.element);
      conductance = __ldg(reals(boxes.conductances) + t.element);
    }
  }
  follow();
  const auto place = [&](int c) {
    const int node = __ldg(d_places + nodes.node(c));
    if constexpr (PASS == SP_CUDA_SOLVE) return node + node / Nq;
    return frame.x + node % Nq * frame.y + node / Nq % Nq * frame.z + node / AREA * frame.w;
  };
  const auto on_t = [&](int k) -> real & { return cube[k * BOX_PLANE + t.j * BOX_ROW + t.i]; };
  const auto on_s = [&](int k) -> real & { return cube[t.j * BOX_PLANE + k * BOX_ROW + t.i]; };
  const auto on_r = [&](int k) -> real & { return cube[t.j * BOX_PLANE + t.i * BOX_ROW + k]; };
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
  if constexpr (PASS != SP_CUDA_EXPAND) {
    if (t.on) {
#pragma unroll
      for (int c = 0; c < Nq; c++)
        u[c] = weights[c] * reals(a.x)[dof_of<walk<AREA>>(codes.code[c])];
#pragma unroll
      for (int c = 0; c < Nq; c++) cube[place(c)] = u[c];
    }
    read(on_t, u);
    combine(z, u, v);
    write(on_t, v);
    read(on_s, u);
    combine(y, u, v);
    write(on_s, v);
    read(on_r, u);
    combine(x, u, v);
  } else
    __syncthreads();
  const real rest = values[Nq + t.i] + values[2 * Nq + t.j];
  const real *low = reals(boxes.end_couplings), *high = low + Nq;
  real *const modal = (real *)boxes.modal + (size_t)t.element * Np + nodes.worker;
  real *const above = (real *)boxes.above + (ptrdiff_t)interface * AREA + nodes.worker;
  real *const below = (real *)boxes.below + (ptrdiff_t)(interface + 1) * AREA + nodes.worker;
  if constexpr (PASS == SP_CUDA_REDUCE) {
    if (!t.on) return;
    real from_low = v[0], from_high = v[LAST];
#pragma unroll
    for (int k = 0; k < Nq; k++) v[k] *= reciprocal(values[k] + rest);
#pragma unroll
    for (int k = 1; k < LAST; k++) {
      from_low -= conductance * __ldg(low + k) * v[k];
      from_high -= conductance * __ldg(high + k) * v[k];
    }
#pragma unroll
    for (int k = 0; k < Nq; k++) modal[k * AREA] = v[k];
    if (interface < 0) return;
    *above = from_low;
    *below = from_high;
  } else {
    if constexpr (PASS == SP_CUDA_SOLVE) {
#pragma unroll
      for (int k = 0; k < Nq; k++) v[k] *= reciprocal(values[k] + rest);
    } else if (t.on) {
#pragma unroll
      for (int k = 0; k < Nq; k++) v[k] = modal[k * AREA];
      if (interface >= 0) {
        v[0] = above[0];
        v[LAST] = above[AREA];
      }
      const real first = conductance * v[0], last = conductance * v[LAST];
#pragma unroll
      for (int k = 1; k < LAST; k++)
        v[k] -= (__ldg(low + k) * first + __ldg(high + k) * last) * reciprocal(values[k] + rest);
    }
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
}
