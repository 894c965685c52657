/* The levels of algebraic multigrid (solver/linear/hierarchy.h) for the seven-point Laplacian:
 * coarse matrices are R A P, R is P^T, and the bound is one. */
#include "solver/linear/hierarchy.h"

#include <float.h>

#include "solver/linear/coarse_rows.h"
#include "tests/check.h"

enum { SIDE = 14, DIRECT = 60 };

static double *allocate(int count) {
  double *values;
  if (sp_allocate((size_t)count, sizeof *values, "test", &values)) MPI_Abort(MPI_COMM_WORLD, 1);
  return values;
}

static void fill_random(int count, int seed, double *x) {
  for (int i = 0; i < count; i++) x[i] = sin(12.9898 * (i + 1) + 78.233 * seed);
}

static void make_laplacian(sp_csr *out) {
  const int rows = SIDE * SIDE * SIDE, strides[3] = {1, SIDE, SIDE * SIDE};
  if (sp_csr_create(rows, rows, 7 * (size_t)rows, out)) MPI_Abort(MPI_COMM_WORLD, 1);
  int n = 0;
  for (int i = 0; i < rows; i++) {
    for (int c = -3; c <= 3; c++) {
      const int d = c < 0 ? -c - 1 : c - 1, step = c < 0 ? -1 : 1;
      const int at = c == 0 ? 0 : i / strides[d] % SIDE + step;
      if (at < 0 || at >= SIDE) continue;
      out->column[n] = c == 0 ? i : i + step * strides[d];
      out->values[n++] = c == 0 ? 6 : -1;
    }
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
  double *const vectors[] = {x, px, apx, y, rapx, want, ry};
  for (int v = 0; v < 7; v++) free(vectors[v]);
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
  free(x);
  free(ax);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  sp_csr matrix;
  sp_hierarchy h;
  make_laplacian(&matrix);
  CHECK_OK(sp_hierarchy_create(&matrix, DIRECT, &h));
  CHECK(h.levels > 2, "%d levels", h.levels);
  for (int i = 0; i + 1 < h.levels; i++) {
    CHECK(h.level[i].matrix.rows > DIRECT, "level %d has %d rows", i, h.level[i].matrix.rows);
    check_products(&h.level[i], &h.level[i + 1].matrix);
    check_bound(&h.level[i]);
  }
  CHECK(h.level[h.levels - 1].matrix.rows <= DIRECT, "the last level has %d rows",
        h.level[h.levels - 1].matrix.rows);
  sp_hierarchy_free(&h);
  sp_csr_free(&matrix);
  return check_end();
}
