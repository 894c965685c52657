#include "solver/linear/coarse_elements.h"

#include <limits.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/geometry.h"
#include "operators/counts.h"
#include "operators/factors.h"
#include "operators/schwarz/bars.h"

enum { CORNERS = SP_COARSE_CORNERS };

/* ---- Stiffness ---- */

/* The factors at the 4 n points of the edges in direction `along`, [SP_FACTORS][4][n], from the
 * factors at the GLL points of order N; n is 2 or N + 1. The weights become the weights of orders n
 * - 1, 1 and 1. */
static void sample_edges(const sp_rule *rule, int along, int n, const double *all,
                         double *factors) {
  const size_t points = sp_grid_points(rule->n);
  const double end = rule->weights[0];
  const double scale = n == rule->n ? 1 / (end * end) : 1 / (end * end * end);
  for (int f = 0; f < SP_FACTORS; f++)
    for (int edge = 0; edge < 4; edge++)
      for (int i = 0; i < n; i++)
        factors[(f * 4 + edge) * n + i] =
            scale * all[(size_t)f * points +
                        sp_edge_node(rule->n, along, edge, n == 2 ? i * (rule->n - 1) : i)];
}

/* A derivative at a point of an edge, over the nodes that it couples. */
typedef struct derivative {
  int count, nodes[SP_MAX_NQ];
  double values[SP_MAX_NQ];
} derivative;

/* Compute a stiffness matrix [4 n][4 n] from sampled factors. With GLL quadrature, points are
 * nodes; the derivative across the edges is a difference between two of them. */
static void stiffness_matrix(const double *factors, int along, int n, double lambda,
                             double *matrix) {
  static const int factor[3][3] = {
      {SP_G_RR, SP_G_RS, SP_G_RT}, {SP_G_RS, SP_G_SS, SP_G_ST}, {SP_G_RT, SP_G_ST, SP_G_TT}};
  const double *d = sp_reference_get(n - 1)->differentiation;
  const int nodes = 4 * n;
  memset(matrix, 0, (size_t)(nodes * nodes) * sizeof *matrix);
  for (int q = 0; q < nodes; q++) {
    const int edge = q / n, i = q % n;
    derivative g[3] = {{.count = n}, {.count = 2}, {.count = 2}};
    for (int j = 0; j < n; j++) {
      g[0].nodes[j] = edge * n + j;
      g[0].values[j] = d[i * n + j];
    }
    for (int side = 0; side < 2; side++)
      for (int across = 0; across < 2; across++) {
        const int bit = 1 << across;
        g[1 + across].nodes[side] = (side ? edge | bit : edge & ~bit) * n + i;
        g[1 + across].values[side] = side ? 0.5 : -0.5;
      }
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) {
        const double c = factors[factor[(along + a) % 3][(along + b) % 3] * nodes + q];
        for (int s = 0; s < g[a].count; s++)
          for (int t = 0; t < g[b].count; t++)
            matrix[g[a].nodes[s] * nodes + g[b].nodes[t]] += c * g[a].values[s] * g[b].values[t];
      }
    matrix[q * nodes + q] += lambda * factors[SP_G_WJ * nodes + q];
  }
}

/* Replace node `from` by (1 - t) low + t high. */
static void replace_node(double *matrix, int nodes, int from, int low, int high, double t) {
  for (int j = 0; j < nodes; j++) {
    matrix[low * nodes + j] += (1 - t) * matrix[from * nodes + j];
    matrix[high * nodes + j] += t * matrix[from * nodes + j];
    matrix[from * nodes + j] = 0;
  }
  for (int j = 0; j < nodes; j++) {
    double *row = &matrix[j * nodes];
    row[low] += (1 - t) * row[from];
    row[high] += t * row[from];
    row[from] = 0;
  }
}

/* ---- Mass ---- */

/* Compute a mass matrix from factors at the points of `rule`; corners are numbered 4 edges of 2. */
static void mass_matrix(const sp_rule *rule, const double *factors, double *matrix) {
  const int n = rule->n;
  double value[2 * SP_MAX_RULE]; /* [points][2] */
  sp_interpolation_matrix(2, sp_reference_get(1)->gll.nodes, n, rule->nodes, value);
  memset(matrix, 0, CORNERS * CORNERS * sizeof *matrix);
  for (int q = 0; q < n * n * n; q++) {
    const double *const at[3] = {&value[2 * (q % n)], &value[2 * (q / n % n)],
                                 &value[2 * (q / n / n)]};
    double basis[CORNERS];
    for (int i = 0; i < CORNERS; i++) basis[i] = at[0][i & 1] * at[1][i >> 1 & 1] * at[2][i >> 2];
    for (int i = 0; i < CORNERS; i++)
      for (int j = 0; j < CORNERS; j++)
        matrix[i * CORNERS + j] += factors[SP_G_WJ * n * n * n + q] * basis[i] * basis[j];
  }
}

/* ---- All elements ---- */

typedef struct loop {
  const sp_operator_setup *setup;
  const sp_rule *rule;
  sp_coarse_elements *out;
} loop;

/* Fill the DOFs of an element's nodes. */
static void list_nodes(const loop *l, sp_lid e) {
  sp_coarse_elements *out = l->out;
  const int order = l->setup->space->numbering->order, start = out->start[e];
  const int n = (out->start[e + 1] - start) / 4, along = sp_system_bar_direction(l->setup, e);
  const sp_lid *all = &l->setup->space->numbering->nodes[(size_t)e * sp_element_nodes(order)];
  for (int i = 0; i < 4 * n; i++) {
    const int at = n == 2 ? i % n * order : i % n;
    out->of_node[start + i] = (int)e;
    out->dofs[start + i] = all[sp_edge_node(order + 1, along < 0 ? 0 : along, i / n, at)];
  }
}

static void fill_stiffness(const loop *l, sp_lid e, const double *all, double *sampled) {
  const sp_coarse_elements *out = l->out;
  const sp_lid *dofs = &out->dofs[out->start[e]];
  const int n = (out->start[e + 1] - out->start[e]) / 4,
            kept = sp_system_bar_direction(l->setup, e);
  const int along = kept < 0 ? 0 : kept;
  double *matrix = &out->matrices[out->first[e]];
  sample_edges(l->rule, along, n, all, sampled);
  stiffness_matrix(sampled, along, n, l->setup->lambda, matrix);
  for (int i = 0; i < 4 * n && kept >= 0; i++) {
    const int low = i / n * n, high = low + n - 1;
    if (i > low && i < high && sp_coarse_is_constrained(l->setup, dofs[i]))
      replace_node(matrix, 4 * n, i, low, high, (l->rule->nodes[i - low] + 1) / 2);
  }
}

static sp_status compute_some(void *loop_, void *workspace, size_t begin, size_t end) {
  const loop *l = loop_;
  double *factors = workspace;
  for (size_t e = begin; e < end; e++) {
    list_nodes(l, (sp_lid)e);
    SP_TRY(sp_operator_factors(l->setup, (sp_lid)e, l->rule, factors));
    if (sp_operator_rows[l->setup->kind].has_stiffness)
      fill_stiffness(l, (sp_lid)e, factors, factors + SP_FACTORS * sp_rule_points(l->rule));
    else
      mass_matrix(l->rule, factors, &l->out->matrices[l->out->first[e]]);
  }
  return SP_OK;
}

static sp_status allocate_elements(const sp_operator_setup *setup, sp_coarse_elements *out) {
  const size_t count = (size_t)setup->space->mesh->hexes->count;
  size_t nodes = 0;
  out->count = (int)count;
  SP_TRY(SP_ALLOCATE("element matrices", SP_ARRAY(out->start, count + 1),
                     SP_ARRAY(out->first, count + 1)));
  for (size_t e = 0; e < count; e++) {
    const size_t own = sp_system_bar_direction(setup, (sp_lid)e) < 0
                           ? CORNERS
                           : 4 * (size_t)(setup->space->numbering->order + 1);
    nodes += own;
    if (own > (size_t)out->longest) out->longest = (int)own;
    if (nodes > INT_MAX)
      return sp_fail(SP_ERR_INPUT,
                     "the coarsest problem of multigrid has more than %d nodes on a "
                     "rank: use more ranks",
                     INT_MAX);
    out->start[e + 1] = (int)nodes;
    out->first[e + 1] = out->first[e] + own * own;
  }
  return SP_ALLOCATE("element matrices", SP_ARRAY(out->of_node, nodes), SP_ARRAY(out->dofs, nodes),
                     SP_ARRAY(out->matrices, out->first[count]));
}

sp_status sp_coarse_elements_create(const sp_operator_setup *setup, sp_coarse_elements *out) {
  const int order = setup->space->numbering->order;
  loop l = {setup, sp_operator_rule(setup->kind, order), out};
  const size_t points = sp_rule_points(l.rule), count = (size_t)setup->space->mesh->hexes->count;
  *out = (sp_coarse_elements){0};
  SP_TRY(allocate_elements(setup, out));
  return sp_loop_run(
      &(sp_loop){.what = "element matrices",
                 .count = count,
                 .chunk = sp_loop_chunk(count, SP_FACTORS * points),
                 .workspace_bytes = (points + 4 * SP_MAX_NQ) * SP_FACTORS * sizeof *out->matrices,
                 .context = &l,
                 .compute = compute_some});
}

void sp_coarse_elements_destroy(sp_coarse_elements *elements) {
  SP_FREE(elements->start, elements->of_node, elements->dofs, elements->first, elements->matrices);
  *elements = (sp_coarse_elements){0};
}
