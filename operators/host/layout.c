#include "operators/host/layout.h"

#include <assert.h>
#include <string.h>

#include "io/team.h"
#include "io/threads.h"
#include "operators/counts.h"
#include "operators/factors.h"
#include "operators/host/memory.h"
#include "operators/space.h"

/* First element of a block: halo elements fill the first blocks; the other elements start a new
 * block. */
static sp_lid first_element(const sp_mesh *mesh, const sp_host_layout *layout, sp_lid block) {
  return block <= layout->halo_blocks
             ? (block == layout->halo_blocks ? mesh->halo_elements : block * layout->lanes)
             : mesh->halo_elements + (block - layout->halo_blocks) * layout->lanes;
}

static sp_lid end_element(const sp_mesh *mesh, const sp_host_layout *layout, sp_lid block) {
  const sp_lid part_end = block < layout->halo_blocks ? mesh->halo_elements : mesh->hexes->count;
  const sp_lid end = first_element(mesh, layout, block) + layout->lanes;
  return end < part_end ? end : part_end;
}

/* The entities of a block that are runs, as bits; none if lanes are missing. */
static uint32_t find_runs(const sp_host_tables *tables, int lanes, sp_lid elements,
                          const sp_lid *dofs) {
  uint32_t runs = 0;
  if (elements < lanes) return 0;
  for (int e = 0, s = 0; e < tables->entities; s = tables->entity_end[e++]) {
    bool run = true;
    for (int lane = 0; lane < lanes; lane++) {
      const sp_lid start = dofs[s * lanes + lane];
      run = run && start >= 0;
      for (int q = s; q < tables->entity_end[e] && run; q++)
        run = dofs[q * lanes + lane] == start + q - s;
    }
    if (run) runs |= (uint32_t)1 << e;
  }
  return runs;
}

static void pack_dofs(const sp_operator_setup *setup, const sp_host_tables *tables,
                      sp_host_layout *layout, sp_lid block) {
  const sp_lid begin = first_element(setup->space->mesh, layout, block);
  const sp_lid end = end_element(setup->space->mesh, layout, block);
  const int lanes = layout->lanes;
  sp_lid *dofs = &layout->dofs[(size_t)block * (size_t)(tables->surface * lanes)];
  bool plain = end - begin == lanes;
  for (int lane = 0; lane < lanes; lane++) {
    const sp_lid e = begin + lane < end ? begin + lane : end - 1;
    const sp_lid *nodes = &setup->space->numbering->nodes[(size_t)e * (size_t)tables->points];
    for (int s = 0; s < tables->surface; s++) {
      const sp_lid dof = nodes[tables->node[s]];
      const bool constrained = setup->constrained && setup->constrained[dof];
      plain = plain && !constrained;
      dofs[s * lanes + lane] = constrained ? ~dof : dof;
    }
  }
  layout->block[block] = (sp_host_block){.elements = (unsigned char)(end - begin),
                                         .plain = plain,
                                         .runs = find_runs(tables, lanes, end - begin, dofs)};
  memcpy(layout->touched[block], setup->space->numbering->touched[begin], sizeof *layout->touched);
  memcpy(layout->touched[block + 1], setup->space->numbering->touched[end],
         sizeof *layout->touched);
}

bool sp_host_layout_factors(const sp_host_layout *layout, const sp_operator_setup *setup, sp_lid e,
                            double *factors) {
  const sp_mesh *mesh = setup->space->mesh;
  const size_t points =
      sp_rule_points(sp_operator_rule(setup->kind, setup->space->numbering->order));
  const size_t lanes = (size_t)layout->lanes;
  if (layout->precision != SP_DOUBLE || sp_operator_rows[setup->kind].factors != SP_FACTORS ||
      (size_t)layout->block_factors != lanes * SP_FACTORS * points)
    return false;
  const sp_lid halo = mesh->halo_elements, inside = e < halo ? e : e - halo;
  const size_t block = (size_t)((e < halo ? 0 : layout->halo_blocks) + inside / layout->lanes);
  const double *from = (const double *)layout->factors + block * (size_t)layout->block_factors +
                       inside % layout->lanes;
  for (size_t p = 0; p < points; p++)
    for (size_t f = 0; f < SP_FACTORS; f++)
      factors[f * points + p] = from[(p * SP_FACTORS + f) * lanes];
  return true;
}

/* Doubles per element. */
static int factors_of(const sp_operator_setup *setup) {
  if (sp_operator_factor_kind(setup) == SP_FACTORS_AFFINE) return SP_FACTORS;
  if (setup->geometry == SP_GEOMETRY_TRILINEAR) return 24;
  const size_t points =
      sp_rule_points(sp_operator_rule(setup->kind, setup->space->numbering->order));
  return sp_operator_rows[setup->kind].factors * (int)points;
}

/* Compute the factors of one block, at layout->factors[at]. Lanes without an element repeat the
 * last one, so that they do not divide by zero. */
static void pack_recomputed(const sp_operator_setup *setup, sp_lid begin, sp_lid end,
                            sp_host_layout *layout, size_t at) {
  const int count = factors_of(setup);
  for (int lane = 0; lane < layout->lanes; lane++) {
    const sp_lid e = begin + lane < end ? begin + lane : end - 1;
    double coefficients[24];
    if (count == SP_FACTORS)
      sp_operator_affine(setup, e, coefficients);
    else
      sp_operator_trilinear(setup, e, coefficients);
    for (int c = 0; c < count; c++)
      sp_host_store(layout->precision, coefficients[c], at + (size_t)(c * layout->lanes + lane),
                    layout->factors);
  }
}

/* `elements` is workspace for the factors of a block's elements. */
static sp_status pack_stored(const sp_operator_setup *setup, const sp_rule *rule, sp_lid begin,
                             sp_lid end, double *elements, sp_host_layout *layout, size_t at) {
  const size_t lanes = (size_t)layout->lanes;
  const size_t points = (size_t)(rule->n * rule->n * rule->n);
  const size_t count = (size_t)sp_operator_rows[setup->kind].factors; /* the last ones */
  const size_t first = SP_FACTORS - count;
  for (sp_lid e = begin; e < end; e++)
    SP_TRY(
        sp_operator_factors(setup, e, rule, &elements[(size_t)(e - begin) * points * SP_FACTORS]));
  for (size_t p = 0; p < points; p++)
    for (size_t f = 0; f < count; f++)
      for (size_t lane = 0; lane < (size_t)(end - begin); lane++)
        sp_host_store(layout->precision, elements[(lane * SP_FACTORS + first + f) * points + p],
                      at + (p * count + f) * lanes + lane, layout->factors);
  return SP_OK;
}

/* Data that all blocks share. */
typedef struct packing {
  const sp_operator_setup *setup;
  const sp_rule *rule;
  sp_host_layout *layout;
} packing;

static sp_status pack_blocks(void *context, void *elements, size_t begin, size_t end) {
  const packing *p = context;
  const sp_mesh *mesh = p->setup->space->mesh;
  for (size_t b = begin; b < end; b++) {
    const sp_lid first = first_element(mesh, p->layout, (sp_lid)b);
    const sp_lid last = end_element(mesh, p->layout, (sp_lid)b);
    const size_t at = b * (size_t)p->layout->block_factors;
    if (p->setup->geometry == SP_GEOMETRY_TRILINEAR)
      pack_recomputed(p->setup, first, last, p->layout, at);
    else
      SP_TRY(pack_stored(p->setup, p->rule, first, last, elements, p->layout, at));
  }
  return SP_OK;
}

static sp_status pack_factors(const sp_operator_setup *setup, sp_host_layout *layout) {
  packing p = {setup, sp_operator_rule(setup->kind, setup->space->numbering->order), layout};
  const size_t values = (size_t)layout->lanes * SP_FACTORS * sp_rule_points(p.rule);
  const size_t count = (size_t)layout->blocks;
  return sp_loop_run(&(sp_loop){.what = "factors of a block",
                                .count = count,
                                .chunk = sp_loop_chunk(count, values),
                                .workspace_bytes = values * sizeof(double),
                                .context = &p,
                                .compute = pack_blocks});
}

/* The lists of owned DOFs on surfaces, [begin, owned): DOF d is in list block[d - begin], or
 * `blocks` if it belongs to no block. */
static void exclude_seams(const sp_host_layout *layout, sp_lid begin, sp_lid *block) {
  for (sp_lid s = 0; s < layout->seams.count; s++)
    if (layout->seams.dofs[s] < layout->owned)
      block[layout->seams.dofs[s] - begin] = layout->blocks;
}

static void find_first(const sp_host_layout *layout, sp_lid begin, sp_lid *first) {
  for (sp_lid b = 0; b < layout->blocks; b++)
    for (int c = SP_FACE_DOFS; c < SP_DOF_CLASSES; c++)
      for (sp_lid d = layout->touched[b][c]; d < layout->touched[b + 1][c]; d++)
        first[d - begin] = b;
  exclude_seams(layout, begin, first);
}

/* DOFs changed by the exchange or the setup's diagonal are complete after no block. */
static void find_last(const sp_operator_setup *setup, const sp_host_tables *tables,
                      const sp_host_layout *layout, sp_lid begin, sp_lid *last) {
  const sp_numbering *numbering = setup->space->numbering;
  const sp_lid *dofs = layout->dofs;
  for (sp_lid b = 0; b < layout->blocks; b++)
    for (int i = 0; i < tables->surface * layout->lanes; i++, dofs++) {
      const sp_lid dof = *dofs < 0 ? ~*dofs : *dofs;
      if (dof < layout->owned) last[dof - begin] = b;
    }
  for (sp_lid i = 0; i < numbering->shared_start[numbering->neighbours]; i++)
    if (numbering->shared[i] < layout->owned) last[numbering->shared[i] - begin] = layout->blocks;
  for (sp_lid i = 0; i < setup->diagonal_count; i++)
    if (setup->diagonal_dofs[i] < layout->owned)
      last[setup->diagonal_dofs[i] - begin] = layout->blocks;
  exclude_seams(layout, begin, last);
}

/* Find runs of DOFs with the same block. If `runs` is NULL, count them in next[block]; else write
 * each to index next[block]++. */
static void list_equal(sp_lid begin, sp_lid end, const sp_lid *block, sp_lid *next,
                       sp_host_run *runs) {
  for (sp_lid i = begin, after; i < end; i = after) {
    after = i + 1;
    while (after < end && block[after - begin] == block[i - begin]) after++;
    const sp_lid at = next[block[i - begin]]++;
    if (runs) runs[at] = (sp_host_run){i, after};
  }
}

static sp_status list_runs(const sp_host_layout *layout, sp_lid begin, const sp_lid *block,
                           sp_host_lists *lists) {
  const sp_lid end = layout->owned, count = layout->blocks + 1;
  SP_TRY(sp_allocate((size_t)count + 1, sizeof *lists->start, "runs of DOFs", &lists->start));
  sp_lid *next = lists->start + 1; /* first the sizes of the lists, then their starts */
  list_equal(begin, end, block, next, NULL);
  for (sp_lid b = 1; b <= count; b++) lists->start[b] += lists->start[b - 1];
  SP_TRY(
      sp_allocate((size_t)lists->start[count], sizeof *lists->runs, "runs of DOFs", &lists->runs));
  /* Turn sizes into starts, and fill. */
  for (sp_lid b = count; b > 0; b--) lists->start[b] = lists->start[b - 1];
  list_equal(begin, end, block, next, lists->runs);
  return SP_OK;
}

static sp_status make_lists(const sp_operator_setup *setup, const sp_host_tables *tables,
                            sp_host_layout *layout) {
  const sp_lid begin = setup->space->numbering->class_start[SP_FACE_DOFS];
  SP_OWNED sp_lid *block = NULL;
  if (layout->threads == 1 && !setup->one_sweep) return SP_OK;
  SP_TRY(sp_allocate((size_t)(layout->owned - begin), sizeof *block, "runs of DOFs", &block));
  if (layout->threads > 1) {
    find_first(layout, begin, block);
    SP_TRY(list_runs(layout, begin, block, &layout->first));
  }
  if (!setup->one_sweep) return SP_OK;
  find_last(setup, tables, layout, begin, block);
  return list_runs(layout, begin, block, &layout->last);
}

static sp_status find_seams(const sp_host_tables *tables, sp_host_layout *layout) {
  const sp_host_seam_items items = {.threads = layout->threads,
                                    .group = 1,
                                    .part_end = {layout->halo_blocks, layout->blocks},
                                    .width = tables->surface * layout->lanes,
                                    .nodes = layout->dofs,
                                    .local = layout->local};
  return sp_host_seams_create(&items, layout->precision, &layout->seams);
}

sp_status sp_host_layout_create(const sp_host_kernels *kernels, const sp_operator_setup *setup,
                                const sp_host_tables *tables, sp_host_layout *layout) {
  const sp_mesh *mesh = setup->space->mesh;
  const sp_lid inner = mesh->hexes->count - mesh->halo_elements;
  const int lanes = sp_host_lanes(kernels, setup->precision);
  *layout = (sp_host_layout){.precision = setup->precision,
                             .lanes = lanes,
                             .threads = sp_team_size(),
                             .halo_blocks = (mesh->halo_elements + lanes - 1) / lanes,
                             .owned = setup->space->numbering->owned,
                             .local = setup->space->numbering->local,
                             .block_factors = lanes * factors_of(setup)};
  layout->blocks = layout->halo_blocks + (inner + lanes - 1) / lanes;
  const size_t blocks = (size_t)layout->blocks;
  SP_TRY(SP_ALLOCATE("blocks", SP_ARRAY(layout->dofs, blocks * (size_t)(tables->surface * lanes)),
                     SP_ARRAY(layout->block, blocks), SP_ARRAY(layout->touched, blocks + 1)));
  SP_TRY(sp_host_allocate(blocks * (size_t)layout->block_factors,
                          sp_precision_bytes(layout->precision), "geometric factors",
                          &layout->factors));
  for (sp_lid b = 0; b < layout->blocks; b++) pack_dofs(setup, tables, layout, b);
  if (layout->threads > 1) SP_TRY(find_seams(tables, layout));
  SP_TRY(make_lists(setup, tables, layout));
  return pack_factors(setup, layout);
}

void sp_host_layout_free(sp_host_layout *layout) {
  SP_FREE(layout->dofs, layout->block, layout->touched, layout->last.start, layout->last.runs,
          layout->first.start, layout->first.runs);
  sp_host_seams_free(&layout->seams);
  sp_host_free(layout->factors);
  *layout = (sp_host_layout){0};
}

static void split_both(int rows, int columns, const double *matrix, sp_even_odd *plain,
                       sp_even_odd *transposed) {
  double transpose[SP_MAX_M * SP_MAX_M];
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < columns; c++) transpose[c * rows + r] = matrix[r * columns + c];
  sp_even_odd_split(rows, columns, matrix, plain);
  sp_even_odd_split(columns, rows, transpose, transposed);
}

static_assert(sizeof(sp_host_matrices_double) / sizeof(double) ==
                  sizeof(sp_host_matrices_float) / sizeof(float),
              "the matrices of both precisions are the same numbers");

/* The entity of node (i, j, k): 0 to 5 faces, 6 to 17 edges, then vertices and the interior. */
static int entity_of(int order, const int at[3]) {
  int ends = 0, upper = 0, direction[2] = {0, 0}; /* an end's direction, a direction between ends */
  for (int d = 0; d < 3; d++) {
    const bool end = at[d] == 0 || at[d] == order;
    if (end) upper |= (at[d] == order) << ends++;
    direction[!end] = d;
  }
  switch (ends) {
  case 0:
    return SP_HOST_ENTITIES + 1;
  case 1:
    return 2 * direction[0] + upper;
  case 2:
    return SP_FACES + 4 * direction[1] + upper;
  default:
    return SP_HOST_ENTITIES;
  }
}

static void order_nodes(int order, sp_host_tables *tables) {
  enum { WORTH_A_RUN = 4 }; /* number of nodes that kernels read together */
  const int n = order + 1;
  int count = 0;
  for (int e = 0; e <= SP_HOST_ENTITIES + 1; e++) {
    const int start = count;
    for (int p = 0; p < tables->points; p++)
      if (entity_of(order, (const int[3]){p % n, p / n % n, p / (n * n)}) == e)
        tables->node[count++] = (unsigned short)p;
    if (e < SP_HOST_ENTITIES && count - start >= WORTH_A_RUN)
      tables->entity_end[tables->entities++] = (short)count;
    if (e == SP_HOST_ENTITIES) tables->surface = count;
  }
}

/* The largest number of points per direction for which an operator prefetches its stored factors.
 * With 64-byte vectors on Intel processors, large elements get slower by it (README.md,
 * "Measured").
 */
static int prefetched_points(const sp_host_kernels *kernels, sp_operator_kind kind) {
#ifdef __x86_64__
  if (kernels->vector_bytes == 64 && __builtin_cpu_is("intel"))
    return sp_operator_rows[kind].collocated ? 9 : 6;
#endif
  (void)kernels;
  (void)kind;
  return SP_MAX_M;
}

void sp_host_tables_fill(const sp_host_kernels *kernels, sp_operator_kind kind, int order,
                         sp_precision precision, sp_host_tables *tables) {
  const sp_reference *reference = sp_reference_get(order);
  const sp_rule *rule = sp_operator_rule(kind, order);
  const bool collocated = sp_operator_rows[kind].collocated;
  *tables = (sp_host_tables){.n = order + 1,
                             .points = (order + 1) * (order + 1) * (order + 1),
                             .prefetched = prefetched_points(kernels, kind)};
  order_nodes(order, tables);
  sp_host_matrices_double m = {0};
  memcpy(m.nodes, rule->nodes, (size_t)rule->n * sizeof(double));
  memcpy(m.weights, rule->weights, (size_t)rule->n * sizeof(double));
  split_both(rule->n, rule->n,
             collocated ? reference->differentiation : reference->gl_differentiation,
             &m.differentiate, &m.differentiate_t);
  if (!collocated)
    split_both(order + 2, order + 1, reference->interpolation, &m.interpolate, &m.interpolate_t);
  sp_host_round(precision, sizeof m / sizeof(double), (const double *)&m, &tables->matrices);
}
