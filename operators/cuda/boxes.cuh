// Additive Schwarz on elements (operators/schwarz/schwarz.h) between L-vectors: part of order.cu. A
// thread works on BOX_LINES lines of the element in each direction, so that it loads a coefficient
// of a basis once for all of them. Z and Z^T are the operator's.

// Two lines are faster in single precision at these orders (MEASUREMENTS.md). At Nq = 9, 81 lines
// would leave 23 of 64 threads without work.
constexpr int BOX_LINES = SP_FLOAT && Nq >= 5 && Nq <= 11 && Nq != 9 ? 2 : 1;
constexpr int BOX_WORKERS = (Nq * Nq + BOX_LINES - 1) / BOX_LINES; // threads per element
constexpr int BOX_ELEMENTS = BOX_WORKERS >= 64 / BOX_LINES ? 1 : 64 / BOX_WORKERS;
constexpr int BOX_THREADS = (BOX_ELEMENTS * BOX_WORKERS + 31) / 32 * 32;
constexpr int box_registers() {
  if (BOX_LINES == 2) return Nq <= 6 ? 80 : Nq <= 8 ? 112 : 160;
  return (SP_FLOAT ? 48 : 64) + (Nq <= 3 ? 0 : Nq <= 6 ? 16 : Nq <= 9 ? 40 : 100);
}
constexpr int BOX_BLOCKS = 65536 / (BOX_THREADS * box_registers());

using box_lines = real[BOX_LINES][Nq];

// y[l][m] = sum over c of matrix[c][m] x[l][c].
__device__ __forceinline__ void combine(const real *matrix, const box_lines &x, box_lines &y) {
#pragma unroll
  for (int m = 0; m < BOX_LINES * Nq; m++) y[m / Nq][m % Nq] = 0;
#pragma unroll
  for (int c = 0; c < Nq; c++)
#pragma unroll
    for (int m = 0; m < Nq; m++)
#pragma unroll
      for (int l = 0; l < BOX_LINES; l++) y[l][m] += matrix[c * Nq + m] * x[l][c];
}

// y[l][m] = sum over c of matrix[m][c] x[l][c].
__device__ __forceinline__ void combine_transposed(const real *matrix, const box_lines &x,
                                                   box_lines &y) {
#pragma unroll
  for (int m = 0; m < Nq; m++) {
#pragma unroll
    for (int l = 0; l < BOX_LINES; l++) y[l][m] = 0;
#pragma unroll
    for (int c = 0; c < Nq; c++)
#pragma unroll
      for (int l = 0; l < BOX_LINES; l++) y[l][m] += matrix[m * Nq + c] * x[l][c];
  }
}

// Rows of a cube have a gap, so that lines in all directions start at different banks.
constexpr int BOX_ROW = Nq + 1, BOX_PLANE = Nq * BOX_ROW;

// Per element in shared memory: bases and eigenvalues of the three directions, and the cube.
constexpr int BOX_BASIS = 3 * Nq * Nq, BOX_VALUES = 3 * Nq, BOX_CUBE = Nq * BOX_PLANE;
constexpr int BOX_SIZE = (BOX_BASIS + BOX_VALUES + BOX_CUBE + 3) / 4 * 4;

// Solve each element; or, with columns (operators/schwarz/column_factors.h), in two halves with
// sweep_columns (schwarz.cu) between them: SP_CUDA_REDUCE leaves coefficients in boxes.modal and
// right-hand sides of interfaces, SP_CUDA_EXPAND uses the values at interfaces.
template <sp_cuda_box_pass PASS>
__global__ __launch_bounds__(BOX_THREADS, BOX_BLOCKS) void solve_boxes(sp_cuda_arguments a,
                                                                       sp_cuda_boxes boxes) {
  extern __shared__ real shared[];
  constexpr int AREA = Nq * Nq, LAST = Nq - 1, TURNS = walk<BOX_WORKERS>::turns;
  const int member = threadIdx.x / BOX_WORKERS;
  const int element = a.first + blockIdx.x * BOX_ELEMENTS + member;
  const bool on = member < BOX_ELEMENTS && element < a.last;
  const walk<BOX_WORKERS> nodes = {(int)threadIdx.x % BOX_WORKERS, element, 0, 0};
  const node_codes<SP_CUDA_ASSEMBLED, walk<BOX_WORKERS>> codes(a, on && PASS != SP_CUDA_EXPAND,
                                                               nodes);
  real *const basis = shared + (on ? member : 0) * BOX_SIZE, *const values = basis + BOX_BASIS;
  real *const cube = values + BOX_VALUES, *const x = basis, *const y = x + AREA,
              *const z = y + AREA;
  real weights[TURNS], conductance = 0;
  box_lines u = {}, v;
  int interface = -1;
  int4 frame = {0, 1, BOX_ROW, BOX_PLANE};
  if (on) {
    for (int n = nodes.worker; n < BOX_BASIS; n += BOX_WORKERS)
      basis[n] = __ldg(reals(boxes.basis) + (size_t)element * BOX_BASIS + n);
    for (int n = nodes.worker; n < BOX_VALUES; n += BOX_WORKERS)
      values[n] = __ldg(reals(boxes.values) + (size_t)element * BOX_VALUES + n);
#pragma unroll
    for (int c = 0; c < TURNS; c++)
      if (nodes.below(c, Np))
        weights[c] = __ldg(reals(boxes.weights) + (size_t)element * Np + nodes.node(c));
    if constexpr (PASS != SP_CUDA_SOLVE) {
      frame = __ldg((const int4 *)boxes.frames + element);
      interface = __ldg(boxes.interface + element);
      conductance = __ldg(reals(boxes.conductances) + element);
    }
  }
  follow();
  const auto place = [&](int c) {
    const int node = __ldg(d_places + nodes.node(c));
    if constexpr (PASS == SP_CUDA_SOLVE) return node + node / Nq;
    return frame.x + node % Nq * frame.y + node / Nq % Nq * frame.z + node / AREA * frame.w;
  };
  // Line l of the thread. If the number of lines is odd, the last thread has one less.
  const auto line = [&](int l) { return nodes.worker + l * BOX_WORKERS; };
  const auto has = [&](int l) { return on && (AREA % BOX_LINES == 0 || line(l) < AREA); };
  const auto on_t = [&](int l, int k) -> real & {
    return cube[k * BOX_PLANE + line(l) / Nq * BOX_ROW + line(l) % Nq];
  };
  const auto on_s = [&](int l, int k) -> real & {
    return cube[line(l) / Nq * BOX_PLANE + k * BOX_ROW + line(l) % Nq];
  };
  const auto on_r = [&](int l, int k) -> real & {
    return cube[line(l) / Nq * BOX_PLANE + line(l) % Nq * BOX_ROW + k];
  };
  const auto read = [&](const auto &from, box_lines &to) {
    __syncthreads();
#pragma unroll
    for (int l = 0; l < BOX_LINES; l++)
#pragma unroll
      for (int k = 0; k < Nq; k++)
        if (has(l)) to[l][k] = from(l, k);
  };
  const auto write = [&](const auto &to, const box_lines &from) {
#pragma unroll
    for (int l = 0; l < BOX_LINES; l++)
#pragma unroll
      for (int k = 0; k < Nq; k++)
        if (has(l)) to(l, k) = from[l][k];
  };
  if constexpr (PASS != SP_CUDA_EXPAND) {
    if (on) {
#pragma unroll
      for (int c = 0; c < TURNS; c++)
        if (nodes.below(c, Np))
          u[c / Nq][c % Nq] = weights[c] * reals(a.x)[dof_of<walk<BOX_WORKERS>>(codes.code[c])];
#pragma unroll
      for (int c = 0; c < TURNS; c++)
        if (nodes.below(c, Np)) cube[place(c)] = u[c / Nq][c % Nq];
    }
    read(on_t, u);
    combine(z, u, v);
    write(on_t, v);
    read(on_s, u);
    combine(y, u, v);
    write(on_s, v);
    read(on_r, u);
    combine(x, u, v);
  } else {
    __syncthreads();
  }
  const real *low = reals(boxes.end_couplings), *high = low + Nq;
#pragma unroll
  for (int l = 0; l < BOX_LINES; l++) {
    if (PASS != SP_CUDA_SOLVE && !has(l)) continue;
    const int mode = min(line(l), AREA - 1); // keeps a missing line in range
    const real rest = values[Nq + mode % Nq] + values[2 * Nq + mode / Nq];
    real *const modal = (real *)boxes.modal + (size_t)element * Np + mode;
    real *const above = (real *)boxes.above + (ptrdiff_t)interface * AREA + mode;
    real *const below = (real *)boxes.below + (ptrdiff_t)(interface + 1) * AREA + mode;
    if constexpr (PASS == SP_CUDA_REDUCE) {
      real from_low = v[l][0], from_high = v[l][LAST];
#pragma unroll
      for (int k = 0; k < Nq; k++) v[l][k] *= reciprocal(values[k] + rest);
#pragma unroll
      for (int k = 1; k < LAST; k++) {
        from_low -= conductance * __ldg(low + k) * v[l][k];
        from_high -= conductance * __ldg(high + k) * v[l][k];
      }
#pragma unroll
      for (int k = 0; k < Nq; k++) modal[k * AREA] = v[l][k];
      if (interface < 0) continue;
      *above = from_low;
      *below = from_high;
    } else if constexpr (PASS == SP_CUDA_SOLVE) {
#pragma unroll
      for (int k = 0; k < Nq; k++) v[l][k] *= reciprocal(values[k] + rest);
    } else {
#pragma unroll
      for (int k = 0; k < Nq; k++) v[l][k] = modal[k * AREA];
      if (interface >= 0) {
        v[l][0] = above[0];
        v[l][LAST] = above[AREA];
      }
      const real first = conductance * v[l][0], last = conductance * v[l][LAST];
#pragma unroll
      for (int k = 1; k < LAST; k++)
        v[l][k] -= (__ldg(low + k) * first + __ldg(high + k) * last) * reciprocal(values[k] + rest);
    }
  }
  if constexpr (PASS != SP_CUDA_REDUCE) {
    combine_transposed(x, v, u);
    write(on_r, u);
    read(on_s, u);
    combine_transposed(y, u, v);
    write(on_s, v);
    read(on_t, u);
    combine_transposed(z, u, v);
    write(on_t, v);
    __syncthreads();
    if (!on) return;
#pragma unroll
    for (int c = 0; c < TURNS; c++) {
      if (!nodes.below(c, Np)) continue;
      const unsigned code =
          nodes.in_face(c) ? code_of(a, nodes, c) : 0; // saves registers, which are scarce
      add_node(a, nodes, c, code, weights[c] * cube[place(c)]);
    }
  }
}
