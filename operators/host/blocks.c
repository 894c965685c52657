/* See blocks.h; compiled once per instruction set and precision (SP_REAL). */
#include "operators/host/blocks.h"

#include <stddef.h>

#include "operators/host/vector.h"

/* u[p][lane] = x at node p of the elements from `first` on, one in each lane; lanes from element
 * `last` on repeat the one before. nodes: [elements][count]. */
INLINE void gather_elements(int count, const sp_lid *nodes, sp_lid first, sp_lid last,
                            const real *x, vec *u) {
  for (int l = 0; l < LANES; l++) {
    const sp_lid *own = &nodes[(size_t)(first + l < last ? first + l : last - 1) * (size_t)count];
    for (int p = 0; p < count; p++) u[p][l] = x[own[p]];
  }
}

/* y = or += u at the nodes of these elements; to the slots of nodes on seams. */
INLINE void scatter_elements(const sp_host_seams *seams, int count, const sp_lid *nodes,
                             sp_lid first, sp_lid last, const vec *u, bool add, real *y) {
  real *slots = seams->slots;
  for (int l = 0; l < LANES && first + l < last; l++) {
    const sp_lid *own = &nodes[(size_t)(first + l) * (size_t)count];
    const sp_lid row = seams->row ? seams->row[first + l] : -1;
    const sp_lid *targets = row < 0 ? NULL : &seams->targets[(size_t)row * (size_t)count];
    for (int p = 0; p < count && targets; p++)
      if (targets[p] >= 0)
        slots[targets[p]] = u[p][l];
      else
        y[own[p]] = add ? y[own[p]] + u[p][l] : u[p][l];
    for (int p = 0; p < count && !targets; p++) y[own[p]] = add ? y[own[p]] + u[p][l] : u[p][l];
  }
}

/* ---- Interpolation ---- */

/* Lines along one direction of an array with `inner` entries before it and `outer` after it: `from`
 * entries per line become `to`. With `transposed`, matrix is [from][to]. */
INLINE void apply_lines(int to, int from, int inner, int outer, const real *matrix, bool transposed,
                        const vec *in, vec *out) {
  const int row = transposed ? 1 : from, column = transposed ? to : 1;
  for (int o = 0; o < outer; o++)
    for (int r = 0; r < to; r++)
      for (int i = 0; i < inner; i++) {
        const vec *line = &in[o * from * inner + i];
        vec sum = matrix[r * row] * line[0];
        for (int c = 1; c < from; c++) sum += matrix[r * row + c * column] * line[c * inner];
        out[(o * to + r) * inner + i] = sum;
      }
}

static void prolong_blocks(const sp_host_interpolation *t, const sp_host_elements *share,
                           const void *coarse, void *fine) {
  const int nc = t->nc, nf = t->nf, coarse_nodes = nc * nc * nc, fine_nodes = nf * nf * nf;
  const real *matrix = t->matrix;
  vec *u = share->work, *a = u + fine_nodes, *b = a + fine_nodes, *v = b + fine_nodes;
  for (sp_lid first = share->first; first < share->last; first += LANES) {
    gather_elements(coarse_nodes, t->coarse_nodes, first, share->last, coarse, u);
    apply_lines(nf, nc, 1, nc * nc, matrix, false, u, a);
    apply_lines(nf, nc, nf, nc, matrix, false, a, b);
    apply_lines(nf, nc, nf * nf, 1, matrix, false, b, v);
    scatter_elements(&t->fine_seams, fine_nodes, t->fine_nodes, first, share->last, v, false, fine);
  }
}

static void restrict_add(const sp_host_interpolation *t, const sp_host_elements *share,
                         const void *fine, void *coarse) {
  const int nc = t->nc, nf = t->nf, coarse_nodes = nc * nc * nc, fine_nodes = nf * nf * nf;
  const real *matrix = t->matrix;
  vec *u = share->work, *a = u + fine_nodes, *b = a + fine_nodes, *v = b + fine_nodes;
  for (sp_lid first = share->first; first < share->last; first += LANES) {
    gather_elements(fine_nodes, t->fine_nodes, first, share->last, fine, v);
    apply_lines(nc, nf, nf * nf, 1, matrix, true, v, b);
    apply_lines(nc, nf, nf, nc, matrix, true, b, a);
    apply_lines(nc, nf, 1, nc * nc, matrix, true, a, u);
    scatter_elements(&t->coarse_seams, coarse_nodes, t->coarse_nodes, first, share->last, u, true,
                     coarse);
  }
}

/* ---- Inverses of boxes ---- */

/* out = V^T in or V in along one direction, with `inner` entries before it and `outer` after it. */
INLINE void multiply_lines(int n, int inner, int outer, bool transposed, const vec *basis,
                           const vec *in, vec *out) {
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

/* a = coefficients of u in the bases of the three directions. */
INLINE void transform_block(int n, const vec *basis, vec *u, vec *a) {
  const int area = n * n;
  const vec *x = basis, *y = x + area, *z = y + area;
  multiply_lines(n, 1, area, true, x, u, a);
  multiply_lines(n, n, n, true, y, a, u);
  multiply_lines(n, area, 1, true, z, u, a);
}

/* u = the sum of the bases with coefficients a; a is overwritten. */
INLINE void transform_back(int n, const vec *basis, vec *u, vec *a) {
  const int area = n * n;
  const vec *x = basis, *y = x + area, *z = y + area;
  multiply_lines(n, area, 1, false, z, a, u);
  multiply_lines(n, n, n, false, y, u, a);
  multiply_lines(n, 1, area, false, x, a, u);
}

INLINE void divide_by_values(int n, const vec *values, vec *a) {
  for (int k = 0; k < n; k++)
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        a[(k * n + j) * n + i] /= values[i] + values[n + j] + values[2 * n + k];
}

/* Reduce a block to its interfaces: right-hand sides low[n^2] at the lower ends, high[n^2] at the
 * upper ends. `a` holds the coefficients, in the end only the interiors'. */
INLINE void condense_block(int n, const vec *values, vec kappa, const real *couplings, vec *a,
                           vec *low, vec *high) {
  for (int line = 0; line < n * n; line++) {
    const vec rest = values[n + line % n] + values[2 * n + line / n];
    vec *own = &a[line * n];
    vec from_low = {0}, from_high = {0};
    for (int j = 1; j < n - 1; j++) {
      own[j] /= values[j] + rest;
      from_low += couplings[j] * own[j];
      from_high += couplings[n + j] * own[j];
    }
    low[line] = own[0] - kappa * from_low;
    high[line] = own[n - 1] - kappa * from_high;
    own[0] /= values[0] + rest;
    own[n - 1] /= values[n - 1] + rest;
  }
}

/* Add the effect of the values at the ends to the interiors. */
INLINE void expand_block(int n, const vec *values, vec kappa, const real *couplings, vec *a) {
  for (int line = 0; line < n * n; line++) {
    const vec rest = values[n + line % n] + values[2 * n + line / n];
    vec *own = &a[line * n];
    const vec low = kappa * own[0], high = kappa * own[n - 1];
    for (int j = 1; j < n - 1; j++)
      own[j] -= (couplings[j] * low + couplings[n + j] * high) / (values[j] + rest);
  }
}

/* The parts of a pass for one block: u = A^-1 u; u to coefficients a and right-hand sides of
 * interfaces; a with the solutions at interfaces to u. */
typedef enum part { SOLVE, REDUCE, EXPAND } part;

INLINE void run_part(int n, part what, const vec *basis, const vec *values, vec kappa,
                     const real *couplings, vec *u, vec *a) {
  if (what != EXPAND) transform_block(n, basis, u, a);
  if (what == SOLVE) divide_by_values(n, values, a);
  if (what == REDUCE) condense_block(n, values, kappa, couplings, a, u, u + n * n);
  if (what == EXPAND) expand_block(n, values, kappa, couplings, a);
  if (what != REDUCE) transform_back(n, basis, u, a);
}

/* Make the number of nodes a constant, so that loops unroll. */
static void run_order(int n, part what, const vec *basis, const vec *values, vec kappa,
                      const real *couplings, vec *u, vec *a) {
  switch (n) {
#define CASE(N)                                                                                    \
  case N:                                                                                          \
    run_part(N, what, basis, values, kappa, couplings, u, a);                                      \
    break;
    SP_NQ_CASES(CASE)
#undef CASE
  }
}

/* One block of elements. */
typedef struct block {
  sp_lid first, end; /* of its elements */
  size_t index;
  const vec *basis, *values, *weights;
  vec kappa;      /* in columns, else 0 */
  bool in_column; /* true for any of them */
} block;

static block block_at(const sp_host_boxes *b, sp_lid first, sp_lid last) {
  const size_t n = (size_t)b->n, points = n * n * n, index = (size_t)first / LANES;
  block at = {.first = first,
              .end = first + LANES < last ? first + LANES : last,
              .index = index,
              .basis = (const vec *)b->basis + index * 3 * n * n,
              .values = (const vec *)b->values + index * 3 * n,
              .weights = (const vec *)b->weights + index * points};
  for (sp_lid e = first; e < at.end && b->columns.list->count > 0; e++)
    at.in_column = at.in_column || b->columns.interface[e] >= 0;
  if (at.in_column) at.kappa = ((const vec *)b->columns.conductances)[index];
  return at;
}

static vec *coefficients(const sp_host_boxes *b, const block *at) {
  const size_t n = (size_t)b->n;
  return (vec *)b->columns.modal + at->index * n * n * n;
}

static void gather_block(const sp_host_boxes *b, const block *at, const real *r, vec *u) {
  const int points = b->n * b->n * b->n;
  gather_elements(points, b->nodes, at->first, at->end, r, u);
  for (int p = 0; p < points; p++) u[p] *= at->weights[p];
}

static void scatter_block(const sp_host_boxes *b, const block *at, vec *u, real *z) {
  const int points = b->n * b->n * b->n;
  for (int p = 0; p < points; p++) u[p] *= at->weights[p];
  scatter_elements(&b->seams, points, b->nodes, at->first, at->end, u, true, z);
}

static void solve_boxes(const sp_host_boxes *b, const sp_host_elements *share, const void *r,
                        void *z) {
  const size_t area = (size_t)(b->n * b->n), points = area * (size_t)b->n;
  const sp_host_columns *columns = &b->columns;
  vec *u = share->work, *scratch = u + points;
  for (sp_lid first = share->first; first < share->last; first += LANES) {
    const block at = block_at(b, first, share->last);
    gather_block(b, &at, r, u);
    if (!at.in_column) {
      run_order(b->n, SOLVE, at.basis, at.values, at.kappa, NULL, u, scratch);
      scatter_block(b, &at, u, z);
      continue;
    }
    run_order(b->n, REDUCE, at.basis, at.values, at.kappa, columns->end_couplings, u,
              coefficients(b, &at));
    for (sp_lid e = at.first; e < at.end; e++) {
      if (columns->interface[e] < 0) continue;
      real *low = (real *)columns->above + (size_t)columns->interface[e] * area;
      real *high = (real *)columns->below + ((size_t)columns->interface[e] + 1) * area;
      for (size_t m = 0; m < area; m++) {
        low[m] = u[m][e - at.first];
        high[m] = u[area + m][e - at.first];
      }
    }
  }
}

static void finish_boxes(const sp_host_boxes *b, const sp_host_elements *share, void *z) {
  const size_t n = (size_t)b->n, area = n * n;
  const sp_host_columns *columns = &b->columns;
  vec *u = share->work;
  for (sp_lid first = share->first; first < share->last; first += LANES) {
    const block at = block_at(b, first, share->last);
    vec *a = coefficients(b, &at);
    if (!at.in_column) continue;
    for (sp_lid e = at.first; e < at.end; e++) {
      if (columns->interface[e] < 0) continue;
      const real *low = (const real *)columns->above + (size_t)columns->interface[e] * area;
      for (size_t m = 0; m < area; m++) {
        a[m * n][e - at.first] = low[m];
        a[m * n + n - 1][e - at.first] = low[area + m];
      }
    }
    run_order(b->n, EXPAND, at.basis, at.values, at.kappa, columns->end_couplings, u, a);
    scatter_block(b, &at, u, z);
  }
}

/* Solve for interfaces first .. last of a column. */
static void sweep_open(int first, int last, int area, const real *inverse, const real *ratio,
                       const real *below, real *u) {
  for (int k = first; k <= last; k++) {
    real *own = &u[k * area];
    for (int m = 0; m < area; m++) own[m] += below[k * area + m];
    for (int m = 0; m < area && k > first; m++) own[m] -= ratio[(k - 1) * area + m] * own[m - area];
  }
  for (int k = last; k >= first; k--) {
    real *own = &u[k * area];
    for (int m = 0; m < area; m++) own[m] *= inverse[k * area + m];
    for (int m = 0; m < area && k < last; m++) own[m] -= ratio[k * area + m] * own[m + area];
  }
}

static void sweep_columns(const sp_host_boxes *b, sp_lid first, sp_lid last) {
  const sp_host_columns *columns = &b->columns;
  const sp_columns *list = columns->list;
  const int area = b->n * b->n;
  for (sp_lid c = first; c < last; c++) {
    const size_t at = (size_t)(list->start[c] + c) * (size_t)area;
    const int length = list->start[c + 1] - list->start[c], top = length * area;
    const real *inverse = (const real *)columns->inverse + at;
    const real *ratio = (const real *)columns->ratio + at;
    real *below = (real *)columns->below + at, *u = (real *)columns->above + at;
    const bool closed = list->closed[c];
    for (int m = 0; m < area; m++) {
      below[m] = closed ? below[top + m] : 0;
      if (!closed) u[top + m] = 0;
    }
    sweep_open(closed, length - closed, area, inverse, ratio, below, u);
    if (!closed) continue;
    const real *ring = (const real *)columns->ring + at;
    for (int m = 0; m < area; m++)
      u[m] = u[top + m] = inverse[m] * (u[m] + below[m] - ratio[m] * u[area + m] -
                                        ratio[top + m] * u[top - area + m]);
    for (int k = 1; k < length; k++)
      for (int m = 0; m < area; m++) u[k * area + m] += ring[k * area + m] * u[m];
  }
}

const sp_host_block_kernels SP_HOST_BLOCKS = {.prolong = prolong_blocks,
                                              .restrict_add = restrict_add,
                                              .solve = solve_boxes,
                                              .sweep = sweep_columns,
                                              .finish = finish_boxes};
