#include "solver/linear/coarse_rows.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/geometry.h"
#include "operators/counts.h"
#include "operators/factors.h"

/* ---- Element matrices ---- */

/* Element matrices: mass at order 1, and bp3.5. The functions of bp3.5 are linear along the edges
 * of elements, or of the space's order N on edges that are kept (operators/schwarz/bars.h). A space
 * of order 1 keeps none.
 *
 * An element without a kept edge has its 8 corners as nodes. One with kept edges, all in one
 * direction, has the 4 (N + 1) nodes of all edges in that direction: functions interpolate between
 * the four linearly. Nodes inside edges that are not kept have rows and columns of zero. */
enum { CORNERS = 8 };
typedef struct elements {
  const sp_operator_setup *setup;
  const sp_rule *rule; /* the operator's */
  int longest;         /* the largest number of nodes of an element */
  int *start;          /* [elements + 1], first node of each element */
  int *of_node;        /* [nodes], the element */
  sp_lid *dofs;        /* [nodes], local DOF of each node */
  size_t *first;       /* [elements + 1], first entry of each matrix */
  double *matrices;
} elements;

static void elements_destroy(elements *all) {
  SP_FREE(all->start, all->of_node, all->dofs, all->first, all->matrices);
}

/* True if a DOF is constrained. */
static bool is_constrained(const sp_operator_setup *setup, sp_lid dof) {
  return setup->constrained && setup->constrained[dof];
}

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

/* ---- Matrices of all elements ---- */

/* Fill the DOFs of an element's nodes. */
static void list_nodes(const elements *all, sp_lid e) {
  const int order = all->setup->space->numbering->order, start = all->start[e];
  const int n = (all->start[e + 1] - start) / 4, along = sp_system_bar_direction(all->setup, e);
  const sp_lid *dofs = sp_numbering_nodes(all->setup->space->numbering, e);
  for (int i = 0; i < 4 * n; i++) {
    const int at = n == 2 ? i % n * order : i % n;
    all->of_node[start + i] = (int)e;
    all->dofs[start + i] = dofs[sp_edge_node(order + 1, along < 0 ? 0 : along, i / n, at)];
  }
}

static void fill_stiffness(const elements *all, sp_lid e, const double *factors, double *sampled) {
  const sp_lid *dofs = &all->dofs[all->start[e]];
  const int n = (all->start[e + 1] - all->start[e]) / 4;
  const int kept = sp_system_bar_direction(all->setup, e), along = kept < 0 ? 0 : kept;
  double *matrix = &all->matrices[all->first[e]];
  sample_edges(all->rule, along, n, factors, sampled);
  stiffness_matrix(sampled, along, n, all->setup->lambda, matrix);
  for (int i = 0; i < 4 * n && kept >= 0; i++) {
    const int low = i / n * n, high = low + n - 1;
    if (i > low && i < high && is_constrained(all->setup, dofs[i]))
      replace_node(matrix, 4 * n, i, low, high, (all->rule->nodes[i - low] + 1) / 2);
  }
}

static sp_status compute_some(void *elements_, void *workspace, size_t begin, size_t end) {
  const elements *all = elements_;
  double *factors = workspace;
  for (size_t e = begin; e < end; e++) {
    list_nodes(all, (sp_lid)e);
    SP_TRY(sp_operator_factors(all->setup, (sp_lid)e, all->rule, factors));
    if (sp_operator_rows[all->setup->kind].has_stiffness)
      fill_stiffness(all, (sp_lid)e, factors, factors + SP_FACTORS * sp_rule_points(all->rule));
    else
      mass_matrix(all->rule, factors, &all->matrices[all->first[e]]);
  }
  return SP_OK;
}

static sp_status allocate_elements(elements *all) {
  const size_t count = (size_t)all->setup->space->mesh->hexes->count;
  size_t nodes = 0;
  SP_TRY(SP_ALLOCATE("element matrices", SP_ARRAY(all->start, count + 1),
                     SP_ARRAY(all->first, count + 1)));
  for (size_t e = 0; e < count; e++) {
    const size_t own = sp_system_bar_direction(all->setup, (sp_lid)e) < 0
                           ? CORNERS
                           : 4 * (size_t)(all->setup->space->numbering->order + 1);
    nodes += own;
    if (own > (size_t)all->longest) all->longest = (int)own;
    if (nodes > INT_MAX)
      return sp_fail(SP_ERR_INPUT,
                     "the coarsest problem of multigrid has more than %d nodes on a "
                     "rank: use more ranks",
                     INT_MAX);
    all->start[e + 1] = (int)nodes;
    all->first[e + 1] = all->first[e] + own * own;
  }
  return SP_ALLOCATE("element matrices", SP_ARRAY(all->of_node, nodes), SP_ARRAY(all->dofs, nodes),
                     SP_ARRAY(all->matrices, all->first[count]));
}

/* Compute the matrices of all elements. */
static sp_status create_elements(const sp_operator_setup *setup, elements *all) {
  const size_t count = (size_t)setup->space->mesh->hexes->count;
  all->setup = setup;
  all->rule = sp_operator_rule(setup->kind, setup->space->numbering->order);
  const size_t points = sp_rule_points(all->rule);
  SP_TRY(allocate_elements(all));
  return sp_loop_sum("element matrices", count, SP_FACTORS * points, all,
                     (points + 4 * SP_MAX_NQ) * SP_FACTORS * sizeof *all->matrices, compute_some,
                     NULL);
}

/* ---- Gathering over ranks ---- */

void sp_free_rows_destroy(sp_free_rows *rows) {
  sp_csr_destroy(&rows->matrix);
  SP_FREE(rows->of_dof, rows->dofs, rows->counts);
  *rows = (sp_free_rows){0};
}

/* Counts and offsets of an MPI_Allgatherv. */
typedef struct parts {
  int ranks, total;
  int *counts, *starts; /* [ranks] */
} parts;

static void parts_destroy(parts *p) {
  free(p->counts);
}

static sp_status find_parts(MPI_Comm comm, int count, parts *p) {
  *p = (parts){.ranks = sp_comm_size(comm)};
  sp_status status = sp_allocate(2 * (size_t)p->ranks, sizeof *p->counts, "ranks", &p->counts);
  SP_TRY(sp_agree(comm, status));
  p->starts = p->counts + p->ranks;
  MPI_Allgather(&count, 1, MPI_INT, p->counts, 1, MPI_INT, comm);
  int64_t total = 0;
  for (int r = 0; r < p->ranks; r++) {
    p->starts[r] = (int)total;
    total += p->counts[r];
    if (total > INT_MAX)
      return sp_fail(SP_ERR_INPUT,
                     "the coarsest problem of multigrid has more than %d entries, and one rank "
                     "would hold all: use solver.preconditioner = jacobi",
                     INT_MAX);
  }
  p->total = (int)total;
  return SP_OK;
}

static bool is_root(MPI_Comm comm) {
  return sp_comm_rank(comm) == 0;
}

/* Gather on all ranks or on rank 0. */
static void gather_rows(MPI_Comm comm, bool everywhere, const int *counts, const int *starts,
                        MPI_Datatype type, const void *own, void *all) {
  const int rank = sp_comm_rank(comm);
  if (everywhere)
    MPI_Allgatherv(own, counts[rank], type, all, counts, starts, type, comm);
  else
    MPI_Gatherv(own, counts[rank], type, all, counts, starts, type, 0, comm);
}

void sp_free_rows_gather(MPI_Comm comm, const sp_free_rows *rows, MPI_Datatype type,
                         const void *own, void *all) {
  gather_rows(comm, rows->everywhere, rows->counts, rows->starts, type, own, all);
}

/* Fill the numbers of rows. Copies get their owners' numbers: the exchange sums these numbers and
 * zeros. */
static sp_status number_rows(const sp_operator_setup *setup, sp_free_rows *rows) {
  const sp_space *space = setup->space;
  const MPI_Comm comm = space->platform->comm;
  const size_t dofs = sp_space_dofs(space);
  SP_OWNED double *numbers = NULL;
  parts p;
  SP_TRY(sp_agree(comm, SP_ALLOCATE("coarse rows", SP_ARRAY(rows->of_dof, dofs),
                                    SP_ARRAY(rows->dofs, dofs), SP_ARRAY(numbers, dofs))));
  for (sp_lid i = 0; i < space->numbering->owned; i++)
    if (!is_constrained(setup, i)) rows->dofs[rows->count++] = i;
  const sp_status status = find_parts(comm, rows->count, &p);
  rows->counts = p.counts;
  rows->starts = p.starts;
  SP_TRY(status);
  rows->total = p.total;
  for (int r = 0; r < rows->count; r++) numbers[rows->dofs[r]] = p.starts[sp_comm_rank(comm)] + r;
  sp_exchange_now(space->exchange, SP_SUM, numbers);
  for (size_t i = 0; i < dofs; i++)
    rows->of_dof[i] = is_constrained(setup, (sp_lid)i) ? -1 : (int)numbers[i];
  return SP_OK;
}

/* ---- Rows as sums of pieces ---- */

/* Rows of a matrix as sums of pieces, which come from elements or from ranks. The pieces of row i
 * are list[start[i] .. start[i + 1]). */
typedef struct pieces {
  int *start, *list;
  /* Adds a piece to a row, with sp_csr_row_add for each entry. */
  void (*add)(const void *context, int piece, sp_csr_row *row);
  const void *context;
} pieces;

static void sum_pieces(const void *pieces_, int i, sp_csr_row *row) {
  const pieces *s = pieces_;
  for (int p = s->start[i]; p < s->start[i + 1]; p++) s->add(s->context, s->list[p], row);
}

/* List `count` pieces by their rows, in their order; row_of[piece] < 0: none. */
static void list_pieces(size_t count, const int *row_of, size_t rows, pieces *s) {
  for (size_t p = 0; p < count; p++)
    if (row_of[p] >= 0) s->start[row_of[p] + 1]++;
  for (size_t i = 0; i < rows; i++) s->start[i + 1] += s->start[i];
  for (size_t p = 0; p < count; p++)
    if (row_of[p] >= 0) s->list[s->start[row_of[p]]++] = (int)p;
  for (size_t i = rows; i > 0; i--) s->start[i] = s->start[i - 1];
  s->start[0] = 0;
}

/* *out[rows][columns] = the sum of `count` pieces with at most `longest` entries each. */
static sp_status sum_rows(pieces *s, size_t count, const int *row_of, int rows, int columns,
                          int longest, sp_csr *out) {
  SP_OWNED int *start = NULL, *list = NULL;
  int most = 0;
  SP_TRY(SP_ALLOCATE("coarse rows", SP_ARRAY(start, (size_t)rows + 1), SP_ARRAY(list, count)));
  s->start = start;
  s->list = list;
  list_pieces(count, row_of, (size_t)rows, s);
  for (int i = 0; i < rows; i++)
    if (start[i + 1] - start[i] > most) most = start[i + 1] - start[i];
  return sp_csr_sum(rows, columns, (size_t)longest * (size_t)most, s, sum_pieces, out);
}

/* ---- This rank's elements ---- */

/* A piece is a node of an element: its row of the element's matrix. */
static void add_element_rows(const void *elements_, int piece, sp_csr_row *row) {
  const elements *s = elements_;
  const int e = s->of_node[piece], first = s->start[e], count = s->start[e + 1] - first;
  const double *values = &s->matrices[s->first[e] + (size_t)(piece - first) * (size_t)count];
  if (is_constrained(s->setup, s->dofs[piece])) return;
  for (int j = 0; j < count; j++)
    if (!is_constrained(s->setup, s->dofs[first + j]))
      sp_csr_row_add(row, s->dofs[first + j], values[j]);
}

/* Find the diagonal entry of a row; NULL if the row is empty. */
static double *diagonal_of(const sp_csr *matrix, sp_lid i) {
  for (int e = matrix->start[i]; e < matrix->start[i + 1]; e++)
    if (matrix->column[e] == i) return &matrix->values[e];
  return NULL;
}

/* Double the diagonal of the first DOF of each component. Every rank doubles its part. A component
 * of one DOF (one element across all periods) has a row of zero, which becomes one. */
static sp_status pin_components(const sp_space *space, const sp_constants *constants,
                                sp_csr *matrix) {
  const MPI_Comm comm = space->platform->comm;
  const sp_numbering *numbering = space->numbering;
  const int components = constants->components;
  SP_OWNED sp_gid *first = NULL;
  if (components == 0) return SP_OK;
  SP_TRY(sp_agree(comm, sp_allocate((size_t)components, sizeof *first, "components", &first)));
  for (int k = 0; k < components; k++) first[k] = INT64_MAX;
  for (sp_lid d = numbering->owned; d-- > 0;)
    if (constants->of_dof[d] >= 0) first[constants->of_dof[d]] = numbering->first + d;
  MPI_Allreduce(MPI_IN_PLACE, first, components, SP_MPI_GID, MPI_MIN, comm);
  for (sp_lid d = 0; d < numbering->local; d++) {
    const int k = constants->of_dof[d];
    double *diagonal = diagonal_of(matrix, d);
    const bool alone = matrix->start[d + 1] - matrix->start[d] == 1;
    if (k >= 0 && diagonal && sp_numbering_global(numbering, d) == first[k])
      *diagonal = alone ? 1 : 2 * *diagonal;
  }
  return SP_OK;
}

static sp_status sum_elements(const sp_operator_setup *setup, sp_csr *out) {
  const int dofs = (int)sp_space_dofs(setup->space);
  const sp_lid count = setup->space->mesh->hexes->count;
  SP_AUTO_VALUE(elements) e = {0};
  pieces s = {.add = add_element_rows, .context = &e};
  SP_TRY(create_elements(setup, &e));
  SP_TRY(sum_rows(&s, (size_t)e.start[count], e.dofs, dofs, dofs, e.longest, out));
  for (sp_lid n = 0; n < setup->diagonal_count; n++) {
    double *diagonal = diagonal_of(out, setup->diagonal_dofs[n]);
    if (diagonal) *diagonal += setup->diagonal_values[n];
  }
  return SP_OK;
}

sp_status sp_coarse_assemble(const sp_operator_setup *setup, const sp_constants *constants,
                             sp_csr *out) {
  *out = (sp_csr){0};
  SP_TRY(sp_agree(setup->space->platform->comm, sum_elements(setup, out)));
  return pin_components(setup->space, constants, out);
}

/* ---- All ranks ---- */

static void add_part(const void *parts_, int piece, sp_csr_row *row) {
  const sp_csr *m = parts_;
  for (int e = m->start[piece]; e < m->start[piece + 1]; e++)
    sp_csr_row_add(row, m->column[e], m->values[e]);
}

/* Gather the rows of all ranks, in the order of ranks, and their numbers. On ranks without a result
 * *all stays empty. */
static sp_status gather_all(MPI_Comm comm, bool everywhere, const int *number, const sp_csr *own,
                            sp_csr *all, int **numbers) {
  SP_AUTO_VALUE(parts) by_row = {0}, by_entry = {0};
  SP_TRY(find_parts(comm, own->rows, &by_row));
  SP_TRY(find_parts(comm, own->start[own->rows], &by_entry));
  const bool wanted = everywhere || is_root(comm);
  const int total = wanted ? by_row.total : 0;
  sp_status status = sp_csr_create(total, own->columns, wanted ? (size_t)by_entry.total : 0, all);
  if (!status) status = sp_allocate((size_t)total, sizeof **numbers, "rows", numbers);
  SP_TRY(sp_agree(comm, status));
  const int *rows = by_row.counts, *row = by_row.starts;
  const int *entries = by_entry.counts, *entry = by_entry.starts;
  gather_rows(comm, everywhere, rows, row, MPI_INT, number, *numbers);
  gather_rows(comm, everywhere, entries, entry, MPI_INT, own->column, all->column);
  gather_rows(comm, everywhere, entries, entry, MPI_DOUBLE, own->values, all->values);
  gather_rows(comm, everywhere, rows, row, MPI_INT, own->start + 1, all->start + 1);
  for (int r = 0; r < by_row.ranks && wanted; r++)
    for (int n = 0; n < rows[r]; n++) all->start[row[r] + n + 1] += entry[r];
  return SP_OK;
}

/* Columns of a matrix, and their new numbers. */
typedef struct renaming {
  int *column;
  const int *of_dof;
} renaming;

static void rename_some(void *renaming_, size_t begin, size_t end) {
  const renaming *r = renaming_;
  for (size_t n = begin; n < end; n++) r->column[n] = r->of_dof[r->column[n]];
}

/* out->matrix = the sum of the ranks' parts. The columns of `own` become numbers of free rows. One
 * rank's part is the matrix without its empty rows (constrained DOFs). */
static sp_status join_ranks(MPI_Comm comm, sp_csr *own, sp_free_rows *out) {
  SP_AUTO_VALUE(sp_csr) all = {0};
  SP_OWNED int *numbers = NULL;
  renaming r = {own->column, out->of_dof};
  SP_TRY(sp_agree(comm,
                  sp_loop_over("coarse rows", (size_t)own->start[own->rows], 1, &r, rename_some)));
  if (sp_comm_size(comm) == 1) {
    for (int d = 0; d < own->rows; d++)
      if (out->of_dof[d] >= 0) own->start[out->of_dof[d] + 1] = own->start[d + 1];
    own->rows = own->columns = out->total;
    out->matrix = *own;
    *own = (sp_csr){0};
    return SP_OK;
  }
  SP_TRY(gather_all(comm, out->everywhere, out->of_dof, own, &all, &numbers));
  const int total = out->everywhere || is_root(comm) ? out->total : 0;
  pieces s = {.add = add_part, .context = &all};
  return sp_agree(comm, sum_rows(&s, (size_t)all.rows, numbers, total, total, sp_csr_longest(&all),
                                 &out->matrix));
}

sp_status sp_free_rows_create(const sp_operator_setup *setup, const sp_constants *constants,
                              bool everywhere, sp_free_rows *out) {
  SP_AUTO_VALUE(sp_csr) own = {0};
  *out = (sp_free_rows){.everywhere = everywhere};
  SP_TRY(number_rows(setup, out));
  SP_TRY(sp_coarse_assemble(setup, constants, &own));
  return join_ranks(setup->space->platform->comm, &own, out);
}
