extern "C" {
#include "operators/cuda/copies.h"
#include "operators/cuda/exchange.h"
#include "operators/cuda/launch.h"
#include "operators/cuda/entries.h"
}

#include <cstdlib>

struct sp_device_matrix {
  sp_device *device;
  sp_precision precision;
  int rows, columns;
  int lanes;     /* threads per row */
  int *start;    /* [rows + 1]; NULL: dense */
  int *column;   /* [entries] */
  void *values;  /* [entries]; dense: [rows][stride] */
  size_t stride; /* of a dense matrix */
};

namespace {

#include "operators/cuda/queue.cuh"

constexpr int THREADS = 256;

// The sum over `lanes` neighbouring threads of a warp, in the first of them.
template <int lanes, class T> __device__ __forceinline__ T sum_of_lanes(T value) {
#pragma unroll
  for (int offset = lanes / 2; offset > 0; offset /= 2)
    value += __shfl_down_sync(~0u, value, offset, lanes);
  return value;
}

template <class T>
__device__ __forceinline__ void store(T a, T sum, T b, const T *z, T *y, int row) {
  y[row] = b == 0 ? a * sum : a * sum + b * z[row];
}

// `lanes` threads per row.
template <class T, int lanes>
__global__ void sparse(int rows, const int *start, const int *column, const T *values, T a,
                       const T *x, T b, const T *z, T *y) {
  const int thread = blockIdx.x * THREADS + threadIdx.x, row = thread / lanes;
  const bool active = row < rows;
  const int first = active ? start[row] : 0, last = active ? start[row + 1] : 0;
  follow();
  T sum = 0;
  for (int n = first + thread % lanes; n < last; n += lanes) sum += values[n] * x[column[n]];
  sum = sum_of_lanes<lanes>(sum);
  if (active && thread % lanes == 0) store(a, sum, b, z, y, row);
}

// A warp per row.
template <class T>
__global__ void dense(int rows, int columns, size_t stride, const T *values, T a, const T *x, T b,
                      const T *z, T *y) {
  const int row = (blockIdx.x * THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;
  follow();
  if (row >= rows) return;
  const T *line = values + row * stride;
  T sum = 0;
#pragma unroll 8
  for (int c = lane; c < columns; c += 32) sum += __ldg(line + c) * x[c];
  sum = sum_of_lanes<32>(sum);
  if (lane == 0) store(a, sum, b, z, y, row);
}

// ---- The inverse of a symmetric positive definite matrix ----
//
// Gauss-Jordan elimination in place, by blocks of SIDE rows and columns, without pivoting, which is
// stable for such matrices. For each block k with columns C and pivot block P = C_k:
//
//     R = P^-1 A_k. (R_k = P^-1),    A_ij -= C_i R_j,    A_ik = -C_i R_k,    A_kj = R_j

constexpr int SIDE = 32, TILE = 64;

__global__ void fill(int rows, size_t n, const int *start, const int *column, const double *values,
                     double *matrix) {
  const size_t row = blockIdx.x;
  if (row >= (size_t)rows) { // the last block is completed by an identity
    if (threadIdx.x == 0) matrix[row * n + row] = 1;
    return;
  }
  for (int e = start[row] + threadIdx.x; e < start[row + 1]; e += blockDim.x)
    matrix[row * n + column[e]] = values[e];
}

// pivot[SIDE][SIDE] = the inverse of the k-th block on the diagonal.
__global__ void invert_block(size_t n, int k, const double *matrix, double *pivot) {
  __shared__ double block[SIDE][SIDE + 1];
  const int i = threadIdx.y, j = threadIdx.x;
  block[i][j] = matrix[(k * SIDE + i) * n + k * SIDE + j];
  for (int m = 0; m < SIDE; m++) {
    __syncthreads();
    const double column = block[i][m], row = block[m][j], inverse = 1 / block[m][m];
    __syncthreads();
    block[i][j] = i == m   ? (j == m ? inverse : inverse * row)
                  : j == m ? -column * inverse
                           : block[i][j] - column * (inverse * row);
  }
  pivot[i * SIDE + j] = block[i][j];
}

// rows[SIDE][n] = R and columns[n][SIDE] = C, a block of SIDE by SIDE of either.
__global__ void make_panels(size_t n, int k, const double *matrix, const double *pivot,
                            double *rows, double *columns) {
  __shared__ double left[SIDE][SIDE], right[SIDE][SIDE];
  const int i = threadIdx.y, j = threadIdx.x, block = blockIdx.x;
  columns[((size_t)block * SIDE + i) * SIDE + j] =
      matrix[((size_t)block * SIDE + i) * n + k * SIDE + j];
  left[i][j] = pivot[i * SIDE + j];
  right[i][j] = matrix[((size_t)k * SIDE + i) * n + block * SIDE + j];
  __syncthreads();
  double sum = 0;
#pragma unroll
  for (int m = 0; m < SIDE; m++) sum += left[i][m] * right[m][j];
  rows[i * n + (size_t)block * SIDE + j] = block == k ? left[i][j] : sum;
}

// A tile of the elimination; a thread has four by four entries, 16 apart.
__global__ void eliminate(size_t n, int k, const double *rows, const double *columns,
                          double *matrix) {
  __shared__ double c[TILE][SIDE + 1], r[SIDE][TILE];
  constexpr int EACH = 4, STEP = TILE / EACH;
  const int i0 = threadIdx.y, j0 = threadIdx.x, thread = i0 * STEP + j0;
  const size_t top = (size_t)blockIdx.y * TILE, left = (size_t)blockIdx.x * TILE;
  for (int e = thread; e < TILE * SIDE; e += STEP * STEP) {
    const size_t i = top + e / SIDE, j = left + e % TILE;
    c[e / SIDE][e % SIDE] = i < n ? columns[i * SIDE + e % SIDE] : 0;
    r[e / TILE][e % TILE] = j < n ? rows[e / TILE * n + j] : 0;
  }
  __syncthreads();
  double sum[EACH][EACH] = {};
#pragma unroll
  for (int m = 0; m < SIDE; m++) {
    double u[EACH], v[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) {
      u[e] = c[i0 + STEP * e][m];
      v[e] = r[m][j0 + STEP * e];
    }
#pragma unroll
    for (int a = 0; a < EACH; a++)
#pragma unroll
      for (int b = 0; b < EACH; b++) sum[a][b] += u[a] * v[b];
  }
#pragma unroll
  for (int a = 0; a < EACH; a++) {
#pragma unroll
    for (int b = 0; b < EACH; b++) {
      const size_t i = top + i0 + STEP * a, j = left + j0 + STEP * b;
      if (i >= n || j >= n) continue;
      double &entry = matrix[i * n + j];
      if (i / SIDE == (size_t)k)
        entry = rows[i % SIDE * n + j];
      else
        entry = (j / SIDE == (size_t)k ? 0 : entry) - sum[a][b];
    }
  }
}

// Average the matrix and its transpose, to remove asymmetry by rounding.
template <class T>
__global__ void symmetrize(int rows, size_t n, const double *matrix, size_t stride, T *out) {
  const size_t i = blockIdx.y * SIDE + threadIdx.y, j = blockIdx.x * SIDE + threadIdx.x;
  if (i < (size_t)rows && j < (size_t)rows)
    out[i * stride + j] = (T)((matrix[i * n + j] + matrix[j * n + i]) / 2);
}

// ---- Launches ----

template <class T>
cudaError_t queue_apply(const sp_device_matrix *m, double a, const void *x, double b, const void *z,
                        void *y) {
  const auto kernel = m->lanes == 1    ? sparse<T, 1>
                      : m->lanes == 4  ? sparse<T, 4>
                      : m->lanes == 16 ? sparse<T, 16>
                                       : sparse<T, 32>;
  const int blocks = blocks_for((size_t)m->rows * (size_t)m->lanes, THREADS);
  if (!m->start)
    return queue(dense<T>, blocks, THREADS, 0, m->device->stream, m->rows, m->columns, m->stride,
                 (const T *)m->values, (T)a, (const T *)x, (T)b, (const T *)z, (T *)y);
  return queue(kernel, blocks, THREADS, 0, m->device->stream, m->rows, m->start, m->column,
               (const T *)m->values, (T)a, (const T *)x, (T)b, (const T *)z, (T *)y);
}

/* Choose the number of threads so that each has about two entries of a row. */
int lanes_for(const sp_csr *matrix) {
  const double mean = matrix->rows > 0 ? (double)matrix->start[matrix->rows] / matrix->rows : 0;
  return mean <= 2 ? 1 : mean <= 12 ? 4 : mean <= 48 ? 16 : 32;
}

sp_status send_pattern(const sp_csr *matrix, int **start, int **column) {
  SP_TRY(sp_cuda_copy_of(matrix->start, (size_t)matrix->rows + 1, sizeof(int), "matrix", start));
  return sp_cuda_copy_of(matrix->column, (size_t)matrix->start[matrix->rows], sizeof(int), "matrix",
                         column);
}

/* Device memory of an inversion. */
struct elimination {
  int *start, *column;
  double *values, *matrix, *pivot, *rows, *columns;
};

sp_status allocate_elimination(const sp_csr *matrix, size_t n, elimination *e) {
  SP_TRY(send_pattern(matrix, &e->start, &e->column));
  SP_TRY(sp_cuda_copy_of(matrix->values, (size_t)matrix->start[matrix->rows], sizeof(double),
                         "matrix", &e->values));
  SP_TRY(sp_cuda_allocate(n * n, sizeof(double), "inverse", &e->matrix));
  SP_TRY(sp_cuda_allocate(SIDE * SIDE, sizeof(double), "inverse", &e->pivot));
  SP_TRY(sp_cuda_allocate(n * SIDE, sizeof(double), "inverse", &e->rows));
  return sp_cuda_allocate(n * SIDE, sizeof(double), "inverse", &e->columns);
}

sp_status invert(const sp_device_matrix *m, size_t n, const elimination *e) {
  const dim3 block(SIDE, SIDE), sixteen(16, 16);
  const unsigned blocks = (unsigned)(n / SIDE), tiles = (unsigned)((n + TILE - 1) / TILE);
  cudaStream_t stream = m->device->stream;
  fill<<<(unsigned)n, 32, 0, stream>>>(m->rows, n, e->start, e->column, e->values, e->matrix);
  for (unsigned k = 0; k < blocks; k++) {
    invert_block<<<1, block, 0, stream>>>(n, (int)k, e->matrix, e->pivot);
    make_panels<<<blocks, block, 0, stream>>>(n, (int)k, e->matrix, e->pivot, e->rows, e->columns);
    eliminate<<<dim3(tiles, tiles), sixteen, 0, stream>>>(n, (int)k, e->rows, e->columns,
                                                          e->matrix);
  }
  with_precision(m->precision, [&](auto real) {
    symmetrize<<<dim3(blocks, blocks), block, 0, stream>>>(m->rows, n, e->matrix, m->stride,
                                                           (decltype(real) *)m->values);
  });
  SP_CUDA(cudaGetLastError());
  return sp_cuda_wait(m->device);
}

sp_status build_inverse(const sp_csr *matrix, sp_device_matrix *m) {
  const size_t n = ((size_t)m->rows + SIDE - 1) / SIDE * SIDE;
  elimination e = {};
  m->lanes = 32;
  m->stride = n;
  SP_TRY(sp_cuda_allocate((size_t)m->rows * n, sp_precision_bytes(m->precision), "inverse",
                          &m->values));
  sp_status status = n > 0 ? allocate_elimination(matrix, n, &e) : SP_OK;
  if (!status && n > 0) status = invert(m, n, &e);
  SP_CUDA_FREE(e.start, e.column, e.values, e.matrix, e.pivot, e.rows, e.columns);
  return status;
}

sp_status build_sparse(const sp_csr *matrix, sp_device_matrix *m) {
  const size_t entries = (size_t)matrix->start[matrix->rows];
  m->lanes = lanes_for(matrix);
  SP_TRY(send_pattern(matrix, &m->start, &m->column));
  return sp_cuda_copy_rounded(m->precision, entries, 1, matrix->values, nullptr, "matrix",
                              &m->values);
}

sp_status create(sp_device *device, sp_precision precision, const sp_csr *matrix,
                 sp_status (*build)(const sp_csr *, sp_device_matrix *), sp_device_matrix **out) {
  sp_device_matrix *m;
  *out = nullptr;
  SP_TRY(sp_allocate(1, sizeof *m, "matrix", &m));
  m->device = device;
  m->precision = precision;
  m->rows = matrix->rows;
  m->columns = matrix->columns;
  const sp_status status = build(matrix, m);
  if (status)
    sp_cuda_matrix_destroy(&m);
  else
    *out = m;
  return status;
}

} // namespace

sp_status sp_cuda_matrix_create(sp_device *device, sp_precision precision, const sp_csr *matrix,
                                sp_device_matrix **out) {
  return create(device, precision, matrix, build_sparse, out);
}

sp_status sp_cuda_inverse_create(sp_device *device, sp_precision precision, const sp_csr *matrix,
                                 sp_device_matrix **out) {
  return create(device, precision, matrix, build_inverse, out);
}

void sp_cuda_matrix_destroy(sp_device_matrix **matrix) {
  sp_device_matrix *m = *matrix;
  if (!m) return;
  SP_CUDA_FREE(m->start, m->column, m->values);
  free(m);
  *matrix = nullptr;
}

sp_status sp_cuda_matrix_apply(sp_device_matrix *m, double a, const void *x, double b,
                               const void *z, void *y) {
  return SP_CUDA_STATUS(with_precision(
      m->precision, [&](auto real) { return queue_apply<decltype(real)>(m, a, x, b, z, y); }));
}
