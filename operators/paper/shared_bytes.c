/* Shared-memory traffic of the kernels for which the paper has a shared-memory roofline.
 *
 * In doubles, with n = Nq, M = glNq = N + 2. All of them first store I: n M writes.
 *
 * By slices (BP1.0 kernel 6). The contractions along c run in registers and read only I: n^2
 * columns, n M entries for each, twice. Each of the M slices is stored (n^2) and contracted four
 * times. Each result is a sum of products of two shared values:
 *
 *     along b   n M results of n terms, stored    project a   n M results of M terms, stored
 *     along a   M^2 results of n terms, stored    project b   n^2 results of M terms
 *
 * By whole lines (BP1.0 kernels 7 and 8, BP3.0 kernels 8 and 9). Each value is written once and
 * read once: q (n^3), after b (n^2 M), after a (n M^2), and the same two on the way back. In
 * between, a thread has its line in registers and reads only I: n M entries per line, for n^2 lines
 * along b, n M along a and M^2 along c, twice. Half as many by the symmetry of I.
 *
 * The differentiation of BP3.0 kernels 8 and 9 stores D and D^T (2 M^2). Each thread of each of the
 * M slices stores q, rqr and rqs. It sums M products of two shared values for each of qr, qs and
 * their transposes. For qt and its transpose only one value is shared; the other is in a register.
 */
#include <stdbool.h>

#include "operators/paper/paper.h"

typedef struct traffic {
  size_t reads, writes;
} traffic;

static traffic by_slices(size_t n, size_t M) {
  const size_t slice_reads = 2 * (n * M * n + M * M * n + n * M * M + n * n * M);
  const size_t slice_writes = n * n + n * M + M * M + n * M;
  return (traffic){.reads = 2 * n * n * n * M + M * slice_reads,
                   .writes = n * M + M * slice_writes};
}

static traffic by_lines(size_t n, size_t M, bool symmetric) {
  const size_t values = n * n * n + 2 * n * n * M + 2 * n * M * M;
  const size_t matrix = n * M * 2 * (n * n + n * M + M * M);
  return (traffic){.reads = values + (symmetric ? matrix / 2 : matrix), .writes = n * M + values};
}

static traffic with_differentiation(traffic t, size_t M) {
  return (traffic){.reads = t.reads + M * M * M * (4 * 2 * M + 2 * M),
                   .writes = t.writes + 2 * M * M + 3 * M * M * M};
}

size_t sp_paper_shared_bytes(const sp_paper_kernel *kernel, int order) {
  const size_t n = (size_t)order + 1, M = n + 1;
  const int number = kernel->threads == 2 ? kernel->number : 0;
  traffic t = {0};
  if (kernel->problem == SP_MASS && number == 6) t = by_slices(n, M);
  if (kernel->problem == SP_MASS && (number == 7 || number == 8)) t = by_lines(n, M, number == 8);
  if (kernel->problem == SP_BP30 && (number == 8 || number == 9))
    t = with_differentiation(by_lines(n, M, number == 9), M);
  return (t.reads + t.writes) * sizeof(double);
}
