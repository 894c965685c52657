/* Z and Z^T around the local operators (local.c): see kernels.h. */
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "operators/host/vector.h"

/* Transpose four reals of each of four lanes: from one row per lane to one row per point, or back.
 */
typedef real quad __attribute__((vector_size(4 * sizeof(real))));

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

/* `count` contiguous entries per lane, from starts[lane] on; entry q belongs to node places[q]. */
static void gather_run(int count, const unsigned short *places, const sp_lid *starts, const real *x,
                       vec *u) {
  real *lanes = (real *)u;
  int q = 0;
  if (LANES % 4 == 0)
    for (; q + 4 <= count; q += 4)
      for (int first = 0; first < LANES; first += 4) {
        quad rows[4];
        UNROLL for (int l = 0; l < 4; l++)
            memcpy(&rows[l], &x[starts[first + l] + q], sizeof rows[l]);
        transpose(rows);
        UNROLL for (int i = 0; i < 4; i++)
            memcpy(&lanes[places[q + i] * LANES + first], &rows[i], sizeof rows[i]);
      }
  for (; q < count; q++)
    UNROLL for (int l = 0; l < LANES; l++) lanes[places[q] * LANES + l] = x[starts[l] + q];
}

/* y = out, or y += out, lane by lane because lanes may share DOFs. */
INLINE void scatter_run(int count, const unsigned short *places, const sp_lid *starts, bool add,
                        const vec *out, real *y) {
  const real *lanes = (const real *)out;
  int q = 0;
  if (LANES % 4 == 0)
    for (; q + 4 <= count; q += 4)
      for (int first = 0; first < LANES; first += 4) {
        quad rows[4];
        UNROLL for (int i = 0; i < 4; i++)
            memcpy(&rows[i], &lanes[places[q + i] * LANES + first], sizeof rows[i]);
        transpose(rows);
        UNROLL for (int l = 0; l < 4; l++) {
          quad sum = rows[l], before;
          memcpy(&before, &y[starts[first + l] + q], sizeof before);
          if (add) sum += before;
          memcpy(&y[starts[first + l] + q], &sum, sizeof sum);
        }
      }
  for (; q < count; q++) UNROLL for (int l = 0; l < LANES; l++) {
      real *entry = &y[starts[l] + q];
      *entry = add ? *entry + lanes[places[q] * LANES + l] : lanes[places[q] * LANES + l];
    }
}

/* Interiors of a block: `count` contiguous entries per element from `start` on, one element after
 * another. */
static void interior_starts(int count, sp_lid start, sp_lid starts[LANES]) {
  for (int l = 0; l < LANES; l++) starts[l] = start + (sp_lid)(l * count);
}

static void gather_interiors(int count, const unsigned short *places, int elements, sp_lid start,
                             const real *x, vec *u) {
  sp_lid starts[LANES];
  interior_starts(count, start, starts);
  if (elements == LANES) {
    gather_run(count, places, starts, x, u);
    return;
  }
  for (int q = 0; q < count; q++)
    for (int l = 0; l < LANES; l++) u[places[q]][l] = l < elements ? x[starts[l] + q] : 0;
}

static void scatter_interiors(int count, const unsigned short *places, int elements, sp_lid start,
                              const vec *out, real *y) {
  sp_lid starts[LANES];
  interior_starts(count, start, starts);
  if (elements == LANES) {
    scatter_run(count, places, starts, false, out, y);
    return;
  }
  for (int q = 0; q < count; q++)
    for (int l = 0; l < elements; l++) y[starts[l] + q] = out[places[q]][l];
}

/* The DOFs of one surface node in all lanes, and a mask of the active ones. */
typedef int32_t indices __attribute__((vector_size(LANES * sizeof(int32_t))));

INLINE mask decode(const sp_lid *dofs, bool constrained, mask present, sp_lid at[LANES]) {
  indices dof;
  memcpy(&dof, dofs, sizeof dof);
  const indices negative = dof < 0, plain = dof ^ negative;
  memcpy(at, &plain, sizeof plain);
  return constrained ? present & ~__builtin_convertvector(negative, mask) : present;
}

INLINE mask present_lanes(int elements) {
  mask present;
  for (int l = 0; l < LANES; l++) present[l] = l < elements ? -1 : 0;
  return present;
}

/* x at the DOF of each lane. AVX-512's gather makes a multigrid cycle of N = 2 a tenth faster than
 * loads and shuffles. */
INLINE vec at_dofs(const real *x, const sp_lid d[LANES]) {
#if SP_HOST_VECTOR_BYTES == 64
#define GATHER_double(x, d) _mm512_i32gather_pd(_mm256_loadu_si256((const __m256i *)(d)), x, 8)
#define GATHER_float(x, d) _mm512_i32gather_ps(_mm512_loadu_si512(d), x, 4)
  return (vec)PASTE(GATHER_, SP_REAL)(x, d);
#else
#define AT(lane) x[d[lane]]
  return (vec){EACH_LANE(AT)};
#endif
}

static void gather_nodes(int count, const unsigned short *restrict places,
                         const sp_lid *restrict dofs, const sp_host_block *block, bool constrained,
                         const real *x, vec *u) {
  if (block->plain) {
    for (int s = 0; s < count; s++) u[places[s]] = at_dofs(x, &dofs[s * LANES]);
    return;
  }
  const mask present = present_lanes(block->elements);
  for (int s = 0; s < count; s++) {
    sp_lid d[LANES];
    const mask counts = decode(&dofs[s * LANES], constrained, present, d);
    u[places[s]] = (vec)((mask)at_dofs(x, d) & counts);
  }
}

/* Make the compiler load indices one by one: extracting them from a register makes a cycle of N = 2
 * a twentieth slower. */
#define IN_MEMORY(a, b) __asm__("" : "+m"(a), "+m"(b))

/* Add lane by lane, as above. Inactive lanes add zero. */
static void scatter_nodes(int count, const unsigned short *restrict places,
                          const sp_lid *restrict dofs, const sp_host_block *block, bool constrained,
                          const vec *out, real *restrict y) {
  if (block->plain) {
    for (int s = 0; s < count; s++) {
      const real *lanes = (const real *)&out[places[s]];
      UNROLL for (int l = 0; l < LANES; l++) y[dofs[s * LANES + l]] += lanes[l];
    }
    return;
  }
  const mask present = present_lanes(block->elements);
  for (int s = 0; s < count; s++) {
    sp_lid d[LANES];
    const mask counts = decode(&dofs[s * LANES], constrained, present, d);
    real lanes[LANES];
    const vec counted = (vec)((mask)out[places[s]] & counts);
    memcpy(lanes, &counted, sizeof lanes);
    IN_MEMORY(lanes, d);
    UNROLL for (int l = 0; l < LANES; l++) y[d[l]] += lanes[l];
  }
}

/* Read faces and edges as runs if their DOFs are contiguous, other nodes by their index. */
static void gather_surface(const sp_host_tables *tables, const sp_lid *dofs,
                           const sp_host_block *block, bool constrained, const real *x, vec *u) {
  int s = 0;
  for (int e = 0; e < tables->entities; e++) {
    const int count = tables->entity_end[e] - s;
    if (block->runs >> e & 1)
      gather_run(count, &tables->node[s], &dofs[s * LANES], x, u);
    else
      gather_nodes(count, &tables->node[s], &dofs[s * LANES], block, constrained, x, u);
    s = tables->entity_end[e];
  }
  gather_nodes(tables->surface - s, &tables->node[s], &dofs[s * LANES], block, constrained, x, u);
}

static void scatter_surface(const sp_host_tables *tables, const sp_lid *dofs,
                            const sp_host_block *block, bool constrained, const vec *out, real *y) {
  int s = 0;
  for (int e = 0; e < tables->entities; e++) {
    const int count = tables->entity_end[e] - s;
    if (block->runs >> e & 1)
      scatter_run(count, &tables->node[s], &dofs[s * LANES], true, out, y);
    else
      scatter_nodes(count, &tables->node[s], &dofs[s * LANES], block, constrained, out, y);
    s = tables->entity_end[e];
  }
  scatter_nodes(tables->surface - s, &tables->node[s], &dofs[s * LANES], block, constrained, out,
                y);
}

/* Add to y, or to the slots of seams, lane by lane. */
static void scatter_seams(const sp_host_tables *tables, const sp_lid *dofs, const sp_lid *targets,
                          const sp_host_block *block, bool constrained, const vec *out, real *slots,
                          real *y) {
  const mask present = present_lanes(block->elements);
  for (int s = 0; s < tables->surface; s++) {
    sp_lid d[LANES];
    const mask counts = decode(&dofs[s * LANES], constrained, present, d);
    const vec counted = (vec)((mask)out[tables->node[s]] & counts);
    for (int l = 0; l < LANES; l++) {
      const sp_lid slot = targets[s * LANES + l];
      if (slot >= 0)
        slots[slot] = counted[l];
      else
        y[d[l]] += counted[l];
    }
  }
}

static void set_zero(real *y, sp_lid count, const sp_host_run *runs) {
  for (sp_lid i = 0; i < count; i++)
    if (runs[i].begin < runs[i].end)
      memset(&y[runs[i].begin], 0, (size_t)(runs[i].end - runs[i].begin) * sizeof *y);
}

static void touch_runs(const sp_host_sweep *sweep, sp_lid count, const sp_host_run *runs) {
  if (sweep->touch && count > 0) sweep->touch(sweep->context, count, runs);
  set_zero(sweep->y, count, runs);
}

static sp_lid runs_of(const sp_host_lists *lists, sp_lid b, const sp_host_run **runs) {
  *runs = &lists->runs[lists->start[b]];
  return lists->start[b + 1] - lists->start[b];
}

/* Interiors are written once, so they need not be zero. */
static void first_touch(const sp_host_layout *layout, const sp_host_sweep *sweep, sp_lid b) {
  sp_host_run all[SP_DOF_CLASSES];
  for (int c = 0; c < SP_DOF_CLASSES; c++)
    all[c] = (sp_host_run){layout->touched[b][c], layout->touched[b + 1][c]};
  const int classes = layout->first.start ? 1 : SP_DOF_CLASSES;
  if (sweep->touch) sweep->touch(sweep->context, classes, all);
  if (layout->first.start) {
    const sp_host_run *runs;
    const sp_lid count = runs_of(&layout->first, b, &runs);
    touch_runs(sweep, count, runs);
  } else {
    set_zero(sweep->y, SP_DOF_CLASSES - 1, &all[1]);
  }
}

static void last_touch(const sp_host_layout *layout, const sp_host_sweep *sweep, sp_lid b) {
  const sp_host_run interiors = {layout->touched[b][SP_INTERIORS],
                                 layout->touched[b + 1][SP_INTERIORS]};
  const sp_host_run *runs;
  const sp_lid count = runs_of(&layout->last, b, &runs);
  sweep->complete(sweep->context, 1, &interiors);
  sweep->complete(sweep->context, count, runs);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Four accumulators per lane hide add latency. */
static vec dot_nodes(int count, const vec *u, const vec *out) {
  vec sums[4] = {splat(0), splat(0), splat(0), splat(0)};
  int p = 0;
  for (; p + 4 <= count; p += 4)
    UNROLL for (int s = 0; s < 4; s++) sums[s] += u[p + s] * out[p + s];
  for (; p < count; p++) sums[0] += u[p] * out[p];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Process one block between L-vectors. Returns x_e^T A_e x_e by lane, or zero. */
static vec assembled_block(const sp_host_layout *layout, const sp_host_tables *tables,
                           sp_host_sweep *sweep, sp_lid b, const real *factors, vec *u, vec *out) {
  const sp_host_block *block = &layout->block[b];
  const real *x = sweep->x;
  real *y = sweep->y;
  const int surface = tables->surface, interiors = tables->points - surface;
  const unsigned short *inside = &tables->node[surface];
  const sp_lid *dofs = &layout->dofs[(ptrdiff_t)b * surface * LANES];
  const bool completes = sweep->complete != NULL;
  const double start = completes ? seconds() : 0;
  first_touch(layout, sweep, b);
  const double touched = completes ? seconds() : 0;
  const sp_lid first_inside = layout->touched[b][SP_INTERIORS];
  gather_interiors(interiors, inside, block->elements, first_inside, x, u);
  gather_surface(tables, dofs, block, sweep->constrained, x, u);
  sweep->local(tables, factors, sweep->lambda, u, out, out + tables->points);
  const vec energy = sweep->sums_energy ? dot_nodes(tables->points, u, out) : splat(0);
  scatter_interiors(interiors, inside, block->elements, first_inside, out, y);
  const sp_host_seams *seams = &layout->seams;
  if (seams->row && seams->row[b] >= 0)
    scatter_seams(tables, dofs, &seams->targets[(ptrdiff_t)seams->row[b] * seams->width], block,
                  sweep->constrained, out, seams->slots, y);
  else
    scatter_surface(tables, dofs, block, sweep->constrained, out, y);
  if (completes) {
    const double added = seconds();
    last_touch(layout, sweep, b);
    sweep->seconds += touched - start + (seconds() - added);
  }
  return energy;
}

/* Sums over many blocks are in double in both precisions. */
typedef double wide __attribute__((vector_size(LANES * sizeof(double))));

static void sweep_blocks(const sp_host_layout *layout, const sp_host_tables *tables,
                         sp_host_sweep *sweep) {
  const ptrdiff_t block_points = (ptrdiff_t)tables->points * LANES;
  vec *u = sweep->work, *out = u + tables->points, *work = out + tables->points;
  const real *x = sweep->x;
  real *y = sweep->y;
  wide energy = {0};
  for (sp_lid b = sweep->first; b < sweep->last; b++) {
    const real *factors = (const real *)layout->factors + b * layout->block_factors;
    if (sweep->unassembled)
      sweep->local(tables, factors, sweep->lambda, &x[b * block_points], &y[b * block_points],
                   work);
    else
      energy +=
          __builtin_convertvector(assembled_block(layout, tables, sweep, b, factors, u, out), wide);
  }
  for (int lane = 0; lane < LANES; lane++) sweep->energy += energy[lane];
}

extern sp_host_local_function *const SP_HOST_LOCALS[SP_OPERATORS][SP_FACTOR_KINDS];

const sp_host_operators SP_HOST_OPERATORS = {
    .local = SP_HOST_LOCALS, .sweep = sweep_blocks, .touch = touch_runs};
