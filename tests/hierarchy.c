/* The levels of algebraic multigrid (solver/linear/hierarchy.h) for seven-point Laplacians with and
 * without jumps. Coarse matrices are R A P, R is P^T, P keeps constants, the bound is one, and the
 * bits are the same on any number of threads. Dominated rows; tiny matrices. */
#include "solver/linear/hierarchy.h"

#include <float.h>

#include "io/threads.h"
#include "solver/linear/amg.h"
#include "tests/operator_bench.h"

enum { SIDE = 14, DIRECT = 60 };

static double *allocate(int count) {
  return test_array((size_t)count, sizeof(double));
}

static void fill_random(int count, int seed, double *x) {
  for (int i = 0; i < count; i++) x[i] = sin(12.9898 * (i + 1) + 78.233 * seed);
}

/* The conductivity between two nodes of a lattice: one; jumps by 1e6 between blocks of 3^3 nodes;
 * or 1, 0.1 and 0.001 along x, y and z. */
typedef enum kind { UNIFORM, JUMPS, STRETCHED, KINDS } kind;

static double block_of(int i) {
  return (i % SIDE / 3 + i / SIDE % SIDE / 3 + i / SIDE / SIDE / 3) % 2 == 0 ? 1 : 1e6;
}

static double conductivity(kind k, int i, int j, int direction) {
  static const double along[] = {1, 0.1, 0.001};
  if (k == STRETCHED) return along[direction];
  return k == JUMPS ? 2 / (1 / block_of(i) + 1 / block_of(j)) : 1;
}

/* The seven-point Laplacian on SIDE^3 nodes. Nodes of the side x = 0 have a fixed neighbour.
 * Without `joined`, the planes z < SIDE / 2 are another component, without one; its first row is
 * pinned. */
static void make_laplacian(kind k, bool joined, sp_csr *out) {
  const int rows = SIDE * SIDE * SIDE, strides[3] = {1, SIDE, SIDE * SIDE};
  require(sp_csr_create(rows, rows, 7 * (size_t)rows, out));
  int n = 0;
  for (int i = 0; i < rows; i++) {
    const bool upper = joined || i / strides[2] >= SIDE / 2;
    const int first = n++;
    out->column[first] = i;
    out->values[first] = upper && i % SIDE == 0 ? conductivity(k, i, i, 0) : 0;
    for (int c = 0; c < 6; c++) {
      const int d = c / 2, at = i / strides[d] % SIDE + (c % 2 ? 1 : -1);
      const int j = i + (c % 2 ? strides[d] : -strides[d]);
      if (at < 0 || at >= SIDE || (!joined && (j / strides[2] >= SIDE / 2) != upper)) continue;
      const double a = conductivity(k, i, j, d);
      out->column[n] = j;
      out->values[n++] = -a;
      out->values[first] += a;
    }
    if (!joined && i == 0) out->values[first] *= 2;
    out->start[i + 1] = n;
  }
}

static void multiply(const sp_csr *m, const double *x, double *y) {
  for (int i = 0; i < m->rows; i++) {
    y[i] = 0;
    for (int e = m->start[i]; e < m->start[i + 1]; e++) y[i] += m->values[e] * x[m->column[e]];
  }
}

static double dot(int count, const double *x, const double *y) {
  double sum = 0;
  for (int i = 0; i < count; i++) sum += x[i] * y[i];
  return sum;
}

/* Both sides of A_coarse = R A P, and of y.P x = R y.x. Sums of some hundred products. */
static void check_products(const sp_hierarchy_level *l, const sp_csr *coarse) {
  const int fine = l->matrix.rows, rows = coarse->rows;
  double *x = allocate(rows), *px = allocate(fine), *apx = allocate(fine), *y = allocate(fine);
  double *rapx = allocate(rows), *want = allocate(rows), *ry = allocate(rows);
  CHECK(l->interpolation.rows == fine && l->interpolation.columns == rows, "shape of P");
  fill_random(rows, 1, x);
  fill_random(fine, 2, y);
  multiply(&l->interpolation, x, px);
  multiply(&l->matrix, px, apx);
  multiply(&l->restriction, apx, rapx);
  multiply(coarse, x, want);
  const double size = sqrt(dot(rows, want, want));
  for (int i = 0; i < rows; i++) CHECK_CLOSE(rapx[i], want[i], 1e3 * DBL_EPSILON * size);
  multiply(&l->restriction, y, ry);
  CHECK_CLOSE(dot(rows, ry, x), dot(fine, y, px),
              1e3 * DBL_EPSILON * sqrt(dot(fine, y, y) * dot(fine, px, px)));
}

/* Rayleigh quotients of D^-1 A grow towards its largest eigenvalue. */
static void check_bound(const sp_hierarchy_level *l) {
  const int rows = l->matrix.rows;
  double *x = allocate(rows), *ax = allocate(rows), largest = 0;
  fill_random(rows, 3, x);
  for (int step = 0; step < 300; step++) {
    double xdx = 0, norm = 0;
    multiply(&l->matrix, x, ax);
    for (int i = 0; i < rows; i++) xdx += x[i] * x[i] / l->inverse_diagonal[i];
    largest = dot(rows, x, ax) / xdx;
    for (int i = 0; i < rows; i++) x[i] = l->inverse_diagonal[i] * ax[i];
    norm = sqrt(dot(rows, x, x));
    for (int i = 0; i < rows; i++) x[i] /= norm;
  }
  CHECK(largest > 1 && l->bound >= largest && l->bound < 1.2 * largest, "bound %g, eigenvalue %g",
        l->bound, largest);
}

/* P e is one where A e is zero, e = (1, ..., 1), except on dominated rows, and smaller elsewhere.
 * Weights are positive. */
static void check_constants(const sp_hierarchy_level *l) {
  for (int i = 0; i < l->matrix.rows; i++) {
    double sum = 0, size = 0, negative = 0, weights = 0;
    const sp_csr *p = &l->interpolation;
    for (int n = l->matrix.start[i]; n < l->matrix.start[i + 1]; n++) {
      sum += l->matrix.values[n];
      size += fabs(l->matrix.values[n]);
      negative += fmax(-l->matrix.values[n], 0);
    }
    for (int n = p->start[i]; n < p->start[i + 1]; n++) {
      CHECK(p->values[n] > 0, "row %d: weight %g", i, p->values[n]);
      weights += p->values[n];
    }
    const bool conserves = fabs(sum) <= 1e-12 * size;
    const bool dominated = negative < 0.1 / l->inverse_diagonal[i];
    CHECK(dominated   ? weights == 0
          : conserves ? fabs(weights - 1) < 1e-11
                      : weights > 0 && weights < 1 + 1e-11,
          "row %d with the sum %g of %g: weights add up to %.17g", i, sum, size, weights);
  }
}

static double complexity(const sp_hierarchy *h) {
  double entries = 0;
  for (int i = 0; i < h->levels; i++) entries += h->level[i].matrix.start[h->level[i].matrix.rows];
  return entries / h->level[0].matrix.start[h->level[0].matrix.rows];
}

static void check_same(const sp_csr *a, const sp_csr *b, int threads) {
  const size_t entries = a->rows > 0 ? (size_t)a->start[a->rows] : 0;
  CHECK(a->rows == b->rows && a->columns == b->columns, "%d threads: shape", threads);
  if (a->rows != b->rows || a->rows == 0) return;
  CHECK(memcmp(a->start, b->start, ((size_t)a->rows + 1) * sizeof *a->start) == 0 &&
            memcmp(a->column, b->column, entries * sizeof *a->column) == 0 &&
            memcmp(a->values, b->values, entries * sizeof *a->values) == 0,
        "%d threads: other bits", threads);
}

/* Two and three threads give the bits of one. */
static void check_threads(const sp_csr *matrix, const sp_hierarchy *one) {
  for (int threads = 2; threads <= 3; threads++) {
    AUTO_VALUE(sp_hierarchy) h = {0};
    sp_threads_set(threads);
    CHECK_OK(sp_hierarchy_create(matrix, DIRECT, &h));
    sp_threads_set(1);
    CHECK(h.levels == one->levels, "%d levels", h.levels);
    for (int i = 0; i < h.levels; i++) {
      check_same(&h.level[i].matrix, &one->level[i].matrix, threads);
      check_same(&h.level[i].interpolation, &one->level[i].interpolation, threads);
      CHECK(h.level[i].bound == one->level[i].bound, "%d threads: another bound", threads);
    }
  }
}

static bench tested;

/* z = B r. */
static void cycle(sp_amg *amg, int rows, const double *r, double *z) {
  AUTO_VALUE(sp_vector) on_r = bench_upload(&tested, (size_t)rows, r), on_z = {0};
  require(sp_vector_create(&tested.platform, SP_DOUBLE, (size_t)rows, &on_z));
  CHECK_OK(sp_amg_apply(amg, &on_r, &on_z));
  bench_download(&on_z, z);
}

/* Iterations of CG with B until the residual has fallen to 1e-8. */
static int iterations(sp_amg *amg, const sp_csr *m, int most) {
  const int rows = m->rows;
  double *r = allocate(rows), *z = allocate(rows), *p = allocate(rows), *q = allocate(rows);
  double rz = 0, alpha;
  int count = 0;
  fill_random(rows, 4, r);
  const double start = sqrt(dot(rows, r, r));
  while (sqrt(dot(rows, r, r)) > 1e-8 * start && count <= most) {
    cycle(amg, rows, r, z);
    const double beta = count++ ? dot(rows, r, z) / rz : 0;
    rz = dot(rows, r, z);
    CHECK(rz > 0, "r.B r = %g", rz);
    for (int i = 0; i < rows; i++) p[i] = z[i] + beta * p[i];
    multiply(m, p, q);
    alpha = rz / dot(rows, p, q);
    for (int i = 0; i < rows; i++) r[i] -= alpha * q[i];
  }
  return count;
}

/* B is symmetric, positive on the vectors of CG, and takes few iterations: limits are counts plus
 * two. */
static void check_cycle(kind k, bool joined, int most) {
  AUTO_VALUE(sp_csr) m = {0};
  AUTO(sp_amg) amg = NULL;
  make_laplacian(k, joined, &m);
  double *x = allocate(m.rows), *y = allocate(m.rows), *bx = allocate(m.rows),
         *by = allocate(m.rows);
  require(sp_amg_create(&tested.platform, SP_DOUBLE, &m, DIRECT, &amg));
  require(sp_amg_complete(amg));
  fill_random(m.rows, 5, x);
  fill_random(m.rows, 6, y);
  cycle(amg, m.rows, x, bx);
  cycle(amg, m.rows, y, by);
  CHECK_CLOSE(dot(m.rows, y, bx), dot(m.rows, x, by),
              1e-11 * sqrt(dot(m.rows, x, bx) * dot(m.rows, y, by)));
  const int count = iterations(amg, &m, most);
  CHECK(count <= most, "matrix %d: %d iterations, limit %d", k, count, most);
}

static void check_levels(kind k, bool joined) {
  AUTO_VALUE(sp_csr) matrix = {0};
  AUTO_VALUE(sp_hierarchy) h = {0};
  make_laplacian(k, joined, &matrix);
  CHECK_OK(sp_hierarchy_create(&matrix, DIRECT, &h));
  CHECK(h.levels > 2, "%d levels", h.levels);
  for (int i = 0; i + 1 < h.levels; i++) {
    CHECK(h.level[i].matrix.rows > DIRECT, "level %d has %d rows", i, h.level[i].matrix.rows);
    check_products(&h.level[i], &h.level[i + 1].matrix);
    check_bound(&h.level[i]);
    check_constants(&h.level[i]);
  }
  CHECK(h.level[h.levels - 1].matrix.rows <= DIRECT, "the last level has %d rows",
        h.level[h.levels - 1].matrix.rows);
  CHECK(complexity(&h) < 2.5, "%g times the entries of the first level", complexity(&h));
  check_threads(&matrix, &h);
}

/* A diagonal of `shift` is added to the uniform matrix on the first `ruled` rows. If it dominates
 * all rows, there is one level; else the next level has none of these rows, except at their
 * border. */
static void check_dominated(int ruled) {
  AUTO_VALUE(sp_csr) matrix = {0};
  AUTO_VALUE(sp_hierarchy) h = {0};
  make_laplacian(UNIFORM, true, &matrix);
  for (int i = 0; i < ruled; i++) matrix.values[matrix.start[i]] += 1e3;
  CHECK_OK(sp_hierarchy_create(&matrix, DIRECT, &h));
  CHECK((h.levels == 1) == (ruled == matrix.rows), "%d levels", h.levels);
  for (int i = 0; i < ruled && h.levels > 1; i++)
    CHECK(h.level[0].interpolation.start[i + 1] == 0, "row %d is interpolated", i);
}

/* Chains of 0 to 4 rows. */
static void check_tiny(int rows) {
  AUTO_VALUE(sp_csr) matrix = {0};
  AUTO_VALUE(sp_hierarchy) h = {0};
  require(sp_csr_create(rows, rows, 3 * (size_t)rows, &matrix));
  int n = 0;
  for (int i = 0; i < rows; i++) {
    for (int j = i - 1; j <= i + 1; j++) {
      if (j < 0 || j >= rows) continue;
      matrix.column[n] = j;
      matrix.values[n++] = j == i ? 2 : -1;
    }
    matrix.start[i + 1] = n;
  }
  CHECK_OK(sp_hierarchy_create(&matrix, 1, &h));
  CHECK((h.levels == 1) == (rows <= 1), "%d rows: %d levels", rows, h.levels);
}

int main(int argc, char **argv) {
  bench_begin(&argc, &argv, &tested);
  for (kind k = 0; k < KINDS; k++) check_levels(k, true);
  check_levels(UNIFORM, false);
  check_dominated(SIDE * SIDE * SIDE);
  check_dominated(SIDE * SIDE * SIDE / 2);
  for (int rows = 0; rows <= 4; rows++) check_tiny(rows);
  check_cycle(UNIFORM, true, 10);
  check_cycle(JUMPS, true, 15);
  check_cycle(STRETCHED, true, 10);
  check_cycle(UNIFORM, false, 10);
  return bench_end(&tested);
}
