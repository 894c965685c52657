/* Z and Z^T around the local operators (local.c), and pass 2 of CG: see kernels.h. */
#include <stddef.h>
#include <string.h>

#include "operators/host/vector.h"

/* Transpose four doubles of each of four lanes: from one row per lane to one row per point, or
 * back. */
typedef double quad __attribute__((vector_size(4 * sizeof(double))));

INLINE void transpose(quad rows[4]) {
  const quad a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 2, 6);
  const quad b = __builtin_shufflevector(rows[0], rows[1], 1, 5, 3, 7);
  const quad c = __builtin_shufflevector(rows[2], rows[3], 0, 4, 2, 6);
  const quad d = __builtin_shufflevector(rows[2], rows[3], 1, 5, 3, 7);
  rows[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  rows[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  rows[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  rows[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

/* Interiors of a block: `count` contiguous entries per element, one element after another.
 * places[q] is the index of entry q in the element. */
static void gather_interiors(int count, const unsigned short *places, int elements, const double *x,
                             vec *u) {
  double *lanes = (double *)u;
  int q = 0;
  if (elements == SP_LANES)
    for (; q + 4 <= count; q += 4)
      for (int first = 0; first < SP_LANES; first += 4) {
        quad rows[4];
        UNROLL for (int l = 0; l < 4; l++)
            memcpy(&rows[l], &x[(ptrdiff_t)(first + l) * count + q], sizeof rows[l]);
        transpose(rows);
        UNROLL for (int i = 0; i < 4; i++)
            memcpy(&lanes[places[q + i] * SP_LANES + first], &rows[i], sizeof rows[i]);
      }
  for (; q < count; q++)
    for (int l = 0; l < SP_LANES; l++)
      lanes[places[q] * SP_LANES + l] = l < elements ? x[(ptrdiff_t)l * count + q] : 0;
}

static void scatter_interiors(int count, const unsigned short *places, int elements, const vec *out,
                              double *y) {
  const double *lanes = (const double *)out;
  int q = 0;
  if (elements == SP_LANES)
    for (; q + 4 <= count; q += 4)
      for (int first = 0; first < SP_LANES; first += 4) {
        quad rows[4];
        UNROLL for (int i = 0; i < 4; i++)
            memcpy(&rows[i], &lanes[places[q + i] * SP_LANES + first], sizeof rows[i]);
        transpose(rows);
        UNROLL for (int l = 0; l < 4; l++)
            memcpy(&y[(ptrdiff_t)(first + l) * count + q], &rows[l], sizeof rows[l]);
      }
  for (; q < count; q++)
    for (int l = 0; l < elements; l++)
      y[(ptrdiff_t)l * count + q] = lanes[places[q] * SP_LANES + l];
}

/* The DOFs of one surface node in all lanes, and a mask of those that count. */
typedef int32_t indices __attribute__((vector_size(SP_LANES * sizeof(int32_t))));
typedef int64_t mask __attribute__((vector_size(SP_LANES * sizeof(int64_t))));

INLINE mask decode(const sp_lid *dofs, bool constrained, mask present, sp_lid at[SP_LANES]) {
  indices dof;
  memcpy(&dof, dofs, sizeof dof);
  const indices negative = dof < 0, plain = dof ^ negative;
  memcpy(at, &plain, sizeof plain);
  return constrained ? present & ~__builtin_convertvector(negative, mask) : present;
}

INLINE mask present_lanes(int elements) {
  mask present;
  for (int l = 0; l < SP_LANES; l++) present[l] = l < elements ? -1 : 0;
  return present;
}

static void gather_surface(int count, const unsigned short *restrict places,
                           const sp_lid *restrict dofs, const sp_host_block *block,
                           bool constrained, const double *x, vec *u) {
  if (block->plain) {
    for (int s = 0; s < count; s++) {
      const sp_lid *d = &dofs[s * SP_LANES];
      u[places[s]] = (vec){x[d[0]], x[d[1]], x[d[2]], x[d[3]], x[d[4]], x[d[5]], x[d[6]], x[d[7]]};
    }
    return;
  }
  const mask present = present_lanes(block->elements);
  for (int s = 0; s < count; s++) {
    sp_lid d[SP_LANES];
    const mask counts = decode(&dofs[s * SP_LANES], constrained, present, d);
    const vec all = {x[d[0]], x[d[1]], x[d[2]], x[d[3]], x[d[4]], x[d[5]], x[d[6]], x[d[7]]};
    u[places[s]] = (vec)((mask)all & counts);
  }
}

/* One lane after another, because lanes may share DOFs. Lanes that do not count add zero. */
static void scatter_surface(int count, const unsigned short *restrict places,
                            const sp_lid *restrict dofs, const sp_host_block *block,
                            bool constrained, const vec *out, double *restrict y) {
  if (block->plain) {
    for (int s = 0; s < count; s++) {
      const double *lanes = (const double *)&out[places[s]];
      UNROLL for (int l = 0; l < SP_LANES; l++) y[dofs[s * SP_LANES + l]] += lanes[l];
    }
    return;
  }
  const mask present = present_lanes(block->elements);
  for (int s = 0; s < count; s++) {
    sp_lid d[SP_LANES];
    const mask counts = decode(&dofs[s * SP_LANES], constrained, present, d);
    double lanes[SP_LANES];
    const vec counted = (vec)((mask)out[places[s]] & counts);
    memcpy(lanes, &counted, sizeof lanes);
    UNROLL for (int l = 0; l < SP_LANES; l++) y[d[l]] += lanes[l];
  }
}

/* Called just before entries [begin, end) are touched first: y = 0, except for interiors, which are
 * written once, and the new direction. */
static void first_touch(const sp_host_sweep *sweep, sp_lid begin, sp_lid end, bool interiors) {
  double *restrict y = sweep->y, *restrict p = sweep->direction;
  const double *restrict r = sweep->residual, *restrict d = sweep->inverse_diagonal;
  const double beta = sweep->beta;
  if (!interiors)
    for (sp_lid i = begin; i < end; i++) y[i] = 0;
  if (!p) return;
  if (d)
    for (sp_lid i = begin; i < end; i++) p[i] = d[i] * r[i] + beta * p[i];
  else
    for (sp_lid i = begin; i < end; i++) p[i] = r[i] + beta * p[i];
}

/* One block between L-vectors; returns x_e^T A_e x_e by lane. */
static vec assembled_block(const sp_host_layout *layout, const sp_host_tables *tables,
                           const sp_host_sweep *sweep, sp_lid b, const double *factors, vec *u,
                           vec *out) {
  const sp_host_block *block = &layout->block[b];
  const int surface = tables->surface, interiors = tables->points - surface;
  const unsigned short *inside = &tables->node[surface];
  const sp_lid *dofs = &layout->dofs[(ptrdiff_t)b * surface * SP_LANES];
  for (int c = 0; c < SP_DOF_CLASSES; c++)
    first_touch(sweep, layout->touched[b][c], layout->touched[b + 1][c], c == SP_INTERIORS);
  gather_interiors(interiors, inside, block->elements, &sweep->x[layout->touched[b][SP_INTERIORS]],
                   u);
  gather_surface(surface, tables->node, dofs, block, sweep->constrained, sweep->x, u);
  sweep->local(tables, factors, sweep->lambda, (const double *)u, (double *)out,
               (double *)(out + tables->points));
  vec energy = splat(0);
  for (int p = 0; p < tables->points; p++) energy += u[p] * out[p];
  scatter_interiors(interiors, inside, block->elements, out,
                    &sweep->y[layout->touched[b][SP_INTERIORS]]);
  scatter_surface(surface, tables->node, dofs, block, sweep->constrained, out, sweep->y);
  return energy;
}

static void sweep_blocks(const sp_host_layout *layout, const sp_host_tables *tables,
                         sp_host_sweep *sweep) {
  const ptrdiff_t block_points = (ptrdiff_t)tables->points * SP_LANES;
  vec *u = (vec *)sweep->work, *out = u + tables->points, *work = out + tables->points;
  vec energy = splat(0);
  if (sweep->first == 0 && !sweep->unassembled)
    first_touch(sweep, layout->owned, layout->local, false);
  for (sp_lid b = sweep->first; b < sweep->last; b++) {
    const double *factors = &layout->factors[b * layout->block_factors];
    if (sweep->unassembled)
      sweep->local(tables, factors, sweep->lambda, &sweep->x[b * block_points],
                   &sweep->y[b * block_points], (double *)work);
    else
      energy += assembled_block(layout, tables, sweep, b, factors, u, out);
  }
  for (int lane = 0; lane < SP_LANES; lane++) sweep->energy += energy[lane];
}

static void update(sp_lid owned, sp_lid n, double alpha, const double *restrict p,
                   const double *restrict ap, const double *restrict inverse_diagonal,
                   double *restrict x, double *restrict r, double sums[2]) {
  vec rr = splat(0), rz = splat(0);
  sp_lid i = 0;
  for (; i + SP_LANES <= owned; i += SP_LANES) {
    vec residual, diagonal = splat(1);
    for (int l = 0; l < SP_LANES; l++) {
      x[i + l] += alpha * p[i + l];
      residual[l] = r[i + l] -= alpha * ap[i + l];
      if (inverse_diagonal) diagonal[l] = inverse_diagonal[i + l];
    }
    rr += residual * residual;
    if (inverse_diagonal) rz += residual * diagonal * residual;
  }
  double sum_rr = 0, sum_rz = 0;
  for (; i < n; i++) {
    x[i] += alpha * p[i];
    r[i] -= alpha * ap[i];
    if (i < owned) {
      sum_rr += r[i] * r[i];
      if (inverse_diagonal) sum_rz += r[i] * inverse_diagonal[i] * r[i];
    }
  }
  for (int l = 0; l < SP_LANES; l++) {
    sum_rr += rr[l];
    sum_rz += rz[l];
  }
  sums[0] = sum_rr;
  sums[1] = inverse_diagonal ? sum_rz : sum_rr;
}

const sp_host_kernels SP_HOST_KERNELS = {
    .instruction_set = SP_HOST_INSTRUCTION_SET,
    .local = SP_HOST_LOCALS,
    .sweep = sweep_blocks,
    .update = update,
    .vectors = &SP_HOST_VECTORS,
    .interpolate =
        {[SP_DOUBLE] = &SP_HOST_INTERPOLATE_DOUBLE, [SP_SINGLE] = &SP_HOST_INTERPOLATE_SINGLE},
    .solve_boxes = {[SP_DOUBLE] = SP_HOST_BOXES_DOUBLE, [SP_SINGLE] = SP_HOST_BOXES_SINGLE},
};
