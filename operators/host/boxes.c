/* See boxes.h; compiled once per instruction set and precision (SP_REAL). */
#include "operators/host/boxes.h"

#include <stddef.h>

#include "operators/host/vector.h"

/* out = V^T in or V in along one direction, with `inner` entries before it and `outer` after it. */
INLINE void multiply(int n, int inner, int outer, bool transposed, const vec *basis, const vec *in,
                     vec *out) {
  const int row = transposed ? 1 : n, column = transposed ? n : 1;
  for (int o = 0; o < outer; o++)
    for (int r = 0; r < n; r++)
      for (int i = 0; i < inner; i++) {
        const vec *line = &in[o * n * inner + i];
        vec sum = basis[r * row] * line[0];
        for (int c = 1; c < n; c++) sum += basis[r * row + c * column] * line[c * inner];
        out[(o * n + r) * inner + i] = sum;
      }
}

/* u = A_e^-1 u; `a` is workspace. */
INLINE void solve_box(int n, const vec *basis, const vec *values, vec *u, vec *a) {
  const int area = n * n;
  const vec *x = basis, *y = x + area, *z = y + area;
  multiply(n, 1, area, true, x, u, a);
  multiply(n, n, n, true, y, a, u);
  multiply(n, area, 1, true, z, u, a);
  for (int k = 0; k < n; k++)
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        a[(k * n + j) * n + i] /= values[i] + values[n + j] + values[2 * n + k];
  multiply(n, area, 1, false, z, a, u);
  multiply(n, n, n, false, y, u, a);
  multiply(n, 1, area, false, x, a, u);
}

/* Make the number of nodes a constant, so that loops unroll. */
static void solve(int n, const vec *basis, const vec *values, vec *u, vec *a) {
  switch (n) {
#define CASE(N)                                                                                    \
  case N:                                                                                          \
    solve_box(N, basis, values, u, a);                                                             \
    return
    CASE(3);
    CASE(4);
    CASE(5);
    CASE(6);
    CASE(7);
    CASE(8);
    CASE(9);
    CASE(10);
    CASE(11);
    CASE(12);
    CASE(13);
    CASE(14);
    CASE(15);
    CASE(16);
#undef CASE
  default:
    return;
  }
}

/* Add lane l of u to z, or store it in the slot of a node on a seam. */
static void add_lane(const sp_host_boxes *b, sp_lid element, const vec *u, int l, real *z) {
  const int points = b->n * b->n * b->n;
  const sp_host_seams *seams = &b->seams;
  const sp_lid *nodes = &b->nodes[(ptrdiff_t)element * points];
  if (seams->row && seams->row[element] >= 0) {
    const sp_lid *targets = &seams->targets[(ptrdiff_t)seams->row[element] * points];
    real *slots = seams->slots;
    for (int p = 0; p < points; p++)
      if (targets[p] >= 0)
        slots[targets[p]] = u[p][l];
      else
        z[nodes[p]] += u[p][l];
    return;
  }
  for (int p = 0; p < points; p++) z[nodes[p]] += u[p][l];
}

void SP_HOST_BOXES(const sp_host_boxes *b, const sp_host_elements *share, const void *from,
                   void *to) {
  const size_t n = (size_t)b->n, points = n * n * n;
  const real *r = from;
  real *z = to;
  vec *u = share->work, *a = u + points;
  for (sp_lid first = share->first; first < share->last; first += LANES) {
    const size_t block = (size_t)first / LANES;
    const vec *basis = (const vec *)b->basis + block * 3 * n * n;
    const vec *values = (const vec *)b->values + block * 3 * n;
    const vec *weights = (const vec *)b->weights + block * points;
    for (int l = 0; l < LANES; l++) {
      const sp_lid e = first + l < share->last ? first + l : share->last - 1;
      const sp_lid *nodes = &b->nodes[(size_t)e * points];
      for (size_t p = 0; p < points; p++) u[p][l] = r[nodes[p]];
    }
    for (size_t p = 0; p < points; p++) u[p] *= weights[p];
    solve(b->n, basis, values, u, a);
    for (size_t p = 0; p < points; p++) u[p] *= weights[p];
    for (int l = 0; l < LANES && first + l < share->last; l++) add_lane(b, first + l, u, l, z);
  }
}
