#include "operators/host/peak.h"

#include <math.h>

#include "io/team.h"
#include "operators/counts.h"
#include "operators/host/device.h"

static const int64_t LENGTH = 1 << 20; /* a millisecond or so */

static void multiply_add(void *context, int thread) {
  const sp_host_kernels *kernels = context;
  volatile double used = kernels->operators[SP_DOUBLE]->multiply_adds(
      LENGTH); /* volatile, so the chains are not optimized away */
  (void)used;
  (void)thread;
}

double sp_host_multiply_add_rate(const sp_device *device) {
  enum { TRIES = 20 };
  const sp_host_kernels *kernels = device->kernels;
  const double chains = (double)SP_HOST_CHAINS * sp_host_lanes(kernels, SP_DOUBLE);
  double best = INFINITY;
  sp_host_kernels shared = *kernels;
  for (int t = 0; t < TRIES; t++) {
    const double start = MPI_Wtime();
    sp_team_run(sp_team_size(), multiply_add, &shared);
    best = fmin(best, MPI_Wtime() - start);
  }
  return (double)LENGTH * chains * sp_team_size() / best;
}

/* A line of `columns` numbers times a matrix with `rows` rows (local.c, apply_line): sums and
 * differences of pairs, products by the even and the odd part, and the results from both; with
 * `add`, they are added to what is there. */
static double line(int rows, int columns, bool add) {
  const int pairs = columns / 2, half_rows = (rows + 1) / 2, half_columns = (columns + 1) / 2;
  return 2 * pairs + half_rows * (half_columns + pairs) + rows + (add ? rows : 0);
}

/* |J| along a line of `m` points: the derivatives, ds x dt and its product with dr; then two
 * multiply-adds and the product with the weight per point. */
static double jacobians(int m) {
  return 9 + 4 * 3 + (4 * 6 + 3) + 3 * 3 + 3.0 * m;
}

/* At the points of a line: G times the gradient and the mass term; trilinear also the other two
 * rows of |J| J^-1 along the line, and |J| with its division. */
static double points(sp_geometry_kind geometry, int m) {
  if (geometry == SP_GEOMETRY_STORED) return (9 + 2) * (double)m;
  const double per_point = 1 + (6 + 3 + 3) + 3 * (3 + 1) + 3 * 3 + 2;
  return jacobians(m) + 4 * 6 + per_point * m;
}

static double stiffness(sp_geometry_kind geometry, int m) {
  const double lines = (double)m * m;
  return lines * (3 * line(m, m, false) + 3 * line(m, m, true) + points(geometry, m));
}

/* Interpolation from n nodes to m points per direction, or back, except along t. */
static double interpolation(int n, int m) {
  return (n * n + n * m) * (line(m, n, false) + line(n, m, false));
}

double sp_host_arithmetic(sp_operator_kind kind, sp_geometry_kind geometry, int order) {
  const int n = order + 1, m = sp_operator_rule(kind, order)->n;
  double count = (double)n * n * n; /* the energy x_e^T A_e x_e, for CG */
  if (kind == SP_MASS)
    return count + interpolation(n, m) +
           m * m *
               (line(m, n, false) + line(n, m, false) + m +
                (geometry == SP_GEOMETRY_TRILINEAR ? jacobians(m) : 0));
  if (m > n) count += interpolation(n, m) + m * m * (line(m, n, false) + line(n, m, false));
  return count + stiffness(geometry, m);
}
