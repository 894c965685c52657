/* Interpolation between two orders, compiled once per instruction set and precision (SP_REAL).
 */
#include <stddef.h>

#include "operators/host/vector.h"

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

/* Lanes without an element repeat the last one. */
INLINE sp_lid element_of(const sp_host_elements *share, sp_lid first, int lane) {
  return first + lane < share->last ? first + lane : share->last - 1;
}

/* For lane l of u: to[nodes[p]] = or += u[p][l], or the slot of a node on a seam. */
INLINE void write_lane(const sp_host_seams *seams, sp_lid element, int count, const sp_lid *nodes,
                       const vec *u, int l, bool add, real *to) {
  if (seams->row && seams->row[element] >= 0) {
    const sp_lid *targets = &seams->targets[(ptrdiff_t)seams->row[element] * count];
    real *slots = seams->slots;
    for (int p = 0; p < count; p++)
      if (targets[p] >= 0)
        slots[targets[p]] = u[p][l];
      else
        to[nodes[p]] = add ? to[nodes[p]] + u[p][l] : u[p][l];
    return;
  }
  for (int p = 0; p < count; p++) to[nodes[p]] = add ? to[nodes[p]] + u[p][l] : u[p][l];
}

static void prolong_blocks(const sp_host_interpolation *t, const sp_host_elements *share,
                           const void *from, void *to) {
  const int nc = t->nc, nf = t->nf, coarse_nodes = nc * nc * nc, fine_nodes = nf * nf * nf;
  const real *coarse = from, *matrix = t->matrix;
  real *fine = to;
  vec *u = share->work, *a = u + fine_nodes, *b = a + fine_nodes, *v = b + fine_nodes;
  for (sp_lid first = share->first; first < share->last; first += LANES) {
    for (int l = 0; l < LANES; l++) {
      const sp_lid *nodes =
          &t->coarse_nodes[(size_t)element_of(share, first, l) * (size_t)coarse_nodes];
      for (int p = 0; p < coarse_nodes; p++) u[p][l] = coarse[nodes[p]];
    }
    apply_lines(nf, nc, 1, nc * nc, matrix, false, u, a);
    apply_lines(nf, nc, nf, nc, matrix, false, a, b);
    apply_lines(nf, nc, nf * nf, 1, matrix, false, b, v);
    for (int l = 0; l < LANES && first + l < share->last; l++) {
      const sp_lid *nodes = &t->fine_nodes[(size_t)(first + l) * (size_t)fine_nodes];
      write_lane(&t->fine_seams, first + l, fine_nodes, nodes, v, l, false, fine);
    }
  }
}

static void restrict_add(const sp_host_interpolation *t, const sp_host_elements *share,
                         const void *from, void *to) {
  const int nc = t->nc, nf = t->nf, coarse_nodes = nc * nc * nc, fine_nodes = nf * nf * nf;
  const real *fine = from, *matrix = t->matrix;
  real *coarse = to;
  vec *u = share->work, *a = u + fine_nodes, *b = a + fine_nodes, *v = b + fine_nodes;
  for (sp_lid first = share->first; first < share->last; first += LANES) {
    for (int l = 0; l < LANES; l++) {
      const sp_lid *nodes =
          &t->fine_nodes[(size_t)element_of(share, first, l) * (size_t)fine_nodes];
      for (int p = 0; p < fine_nodes; p++) v[p][l] = fine[nodes[p]];
    }
    apply_lines(nc, nf, nf * nf, 1, matrix, true, v, b);
    apply_lines(nc, nf, nf, nc, matrix, true, b, a);
    apply_lines(nc, nf, 1, nc * nc, matrix, true, a, u);
    for (int l = 0; l < LANES && first + l < share->last; l++) {
      const sp_lid *nodes = &t->coarse_nodes[(size_t)(first + l) * (size_t)coarse_nodes];
      write_lane(&t->coarse_seams, first + l, coarse_nodes, nodes, u, l, true, coarse);
    }
  }
}

const sp_host_interpolate SP_HOST_INTERPOLATE = {.prolong = prolong_blocks,
                                                 .restrict_add = restrict_add};
