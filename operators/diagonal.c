#include "operators/operator.h"

#include "io/clones.h"
#include "io/threads.h"
#include "mesh/geometry.h"
#include "mesh/tensor.h"
#include "operators/counts.h"
#include "operators/factors.h"

/* Products of the entries of two matrices, or squares. */
SP_INLINE void multiply_entries(int count, const double *a, const double *b, double *out) {
  for (int i = 0; i < count; i++) out[i] = a[i] * b[i];
}

/* ---- Nodes and quadrature points differ ---- */

/* One-dimensional values and derivatives of the nodal basis at quadrature points, [points][Nq], and
 * their products: [0] value^2, [1] value * derivative, [2] derivative^2. */
typedef struct products {
  int points, nq;
  double table[3][SP_MAX_RULE * SP_MAX_NQ];
} products;

static void make_products(sp_operator_kind kind, int order, products *out) {
  const sp_reference *reference = sp_reference_get(order);
  const sp_rule *rule = sp_operator_rule(kind, order);
  double value[SP_MAX_RULE * SP_MAX_NQ], derivative[SP_MAX_RULE * SP_MAX_NQ];
  out->points = rule->n;
  out->nq = order + 1;
  sp_interpolation_matrix(out->nq, reference->gll.nodes, rule->n, rule->nodes, value);
  sp_derivative_matrix(out->nq, reference->gll.nodes, rule->n, rule->nodes, derivative);
  multiply_entries(rule->n * out->nq, value, value, out->table[0]);
  multiply_entries(rule->n * out->nq, value, derivative, out->table[1]);
  multiply_entries(rule->n * out->nq, derivative, derivative, out->table[2]);
}

/* Diagonal of one element: the sum over points and pairs of directions (a, b) of the factor times
 * the product over directions d of l^2, l l' or l'^2, depending on how often d is in (a, b). */
static void element_diagonal(const products *p, bool stiffness, double mass, const double *factors,
                             double *diagonal) {
  const int points = p->points * p->points * p->points, nodes = p->nq * p->nq * p->nq;
  double term[SP_MAX_NQ * SP_MAX_NQ * SP_MAX_NQ];
  for (int n = 0; n < nodes; n++) diagonal[n] = 0;
  for (int a = 0, factor = 0; a < 3 && stiffness; a++)
    for (int b = a; b < 3; b++, factor++) {
      const double twice = a == b ? 1 : 2;
      const double *t[3];
      for (int d = 0; d < 3; d++) t[d] = p->table[(d == a) + (d == b)];
      sp_tensor_apply_transposed(p->points, p->nq, t[0], t[1], t[2], &factors[factor * points],
                                 term);
      for (int n = 0; n < nodes; n++) diagonal[n] += twice * term[n];
    }
  const double *value = p->table[0];
  sp_tensor_apply_transposed(p->points, p->nq, value, value, value, &factors[SP_G_WJ * points],
                             term);
  for (int n = 0; n < nodes; n++) diagonal[n] += mass * term[n];
}

/* ---- Quadrature points at the nodes ---- */

/* out[slow][i][fast] += sum over m of squares[m][i] in[slow][m][fast]. */
SP_INLINE void add_direction(int slow, int n, int fast, const double *squares, const double *in,
                             double *out) {
  for (int s = 0; s < slow; s++)
    for (int i = 0; i < n; i++) {
      double *restrict target = &out[(s * n + i) * fast];
      const double *restrict source = &in[s * n * fast];
      for (int f = 0; f < fast; f++) {
        double sum = target[f];
#pragma GCC unroll 16
        for (int m = 0; m < n; m++) sum += squares[m * n + i] * source[m * fast + f];
        target[f] = sum;
      }
    }
}

/* The basis is 1 at its own node and 0 at the others: the sum over points reduces to a line for one
 * direction, and to the node for two different ones. The latter count only if both coordinates are
 * ends, since GLL derivatives D_ii are zero elsewhere. */
SP_INLINE void add_lines(int n, const double *differentiation, double mass, const double *factors,
                         double *diagonal) {
  double squares[SP_MAX_NQ * SP_MAX_NQ];
  const int nodes = n * n * n, last = n - 1;
  const double end[2] = {differentiation[0], differentiation[n * n - 1]};
  multiply_entries(n * n, differentiation, differentiation, squares);
  for (int p = 0; p < nodes; p++) diagonal[p] = mass * factors[SP_G_WJ * nodes + p];
  add_direction(n * n, n, 1, squares, &factors[SP_G_RR * nodes], diagonal);
  add_direction(n, n, n, squares, &factors[SP_G_SS * nodes], diagonal);
  add_direction(1, n, n * n, squares, &factors[SP_G_TT * nodes], diagonal);
  for (int side = 0; side < 4; side++) {
    const int a = side % 2, b = side / 2;
    const double twice = 2 * end[a] * end[b];
    for (int i = 0; i < n; i++) {
      const int rs = (i * n + b * last) * n + a * last;
      const int rt = (b * last * n + i) * n + a * last;
      const int st = (b * last * n + a * last) * n + i;
      diagonal[rs] += twice * factors[SP_G_RS * nodes + rs];
      diagonal[rt] += twice * factors[SP_G_RT * nodes + rt];
      diagonal[st] += twice * factors[SP_G_ST * nodes + st];
    }
  }
}

/* n is a compile-time constant, so sums over m are unrolled and stay in registers. */
SP_CLONES static void collocated_diagonal(int n, const double *differentiation, double mass,
                                          const double *factors, double *diagonal) {
  switch (n) {
#define CASE(N)                                                                                    \
  case N:                                                                                          \
    add_lines(N, differentiation, mass, factors, diagonal);                                        \
    break;
    SP_NQ_CASES(CASE)
#undef CASE
  }
}

/* ---- Parallelepipeds ---- */

/* Fill the diagonals for unit factors, [SP_FACTORS][nodes]. The diagonal is linear in the seven
 * factors, which are constant up to the weights. */
static void make_unit_diagonals(const sp_rule *rule, const double *differentiation,
                                double *diagonals) {
  const int n = rule->n, nodes = n * n * n;
  for (int f = 0; f < SP_FACTORS; f++) {
    double factors[SP_FACTORS * SP_MAX_NQ * SP_MAX_NQ * SP_MAX_NQ] = {0};
    for (int p = 0; p < nodes; p++)
      factors[f * nodes + p] =
          rule->weights[p % n] * rule->weights[p / n % n] * rule->weights[p / (n * n)];
    collocated_diagonal(n, differentiation, 1, factors, &diagonals[f * nodes]);
  }
}

SP_CLONES static void affine_diagonal(size_t nodes, const double *units,
                                      const double factors[SP_FACTORS], double *diagonal) {
  for (size_t p = 0; p < nodes; p++) diagonal[p] = 0;
  for (size_t f = 0; f < SP_FACTORS; f++)
    for (size_t p = 0; p < nodes; p++) diagonal[p] += factors[f] * units[f * nodes + p];
}

/* ---- All elements ---- */

/* Data shared by all elements. */
typedef struct assembly {
  const sp_operator_setup *setup;
  const sp_rule *rule;
  const double *differentiation;
  products table;
  bool stiffness, collocated;
  double mass, *sum;
  const double *units; /* of make_unit_diagonals, or NULL */
} assembly;

/* Factors and diagonal of one element, and additions of a chunk. */
typedef struct workspace {
  double factors[SP_FACTORS * SP_MAX_RULE * SP_MAX_RULE * SP_MAX_RULE];
  double diagonal[SP_MAX_NQ * SP_MAX_NQ * SP_MAX_NQ];
  sp_additions later;
  double memory[];
} workspace;

static sp_status compute_diagonals(void *context, void *workspace_, size_t begin, size_t end) {
  const assembly *s = context;
  const sp_numbering *numbering = s->setup->space->numbering;
  workspace *w = workspace_;
  sp_additions_begin((end - begin) * sp_element_nodes(numbering->order), w->memory, &w->later);
  for (size_t e = begin; e < end; e++) {
    if (s->units)
      sp_operator_affine(s->setup, (sp_lid)e, w->factors);
    else
      SP_TRY(sp_operator_factors(s->setup, (sp_lid)e, s->rule, w->factors));
    if (s->units)
      affine_diagonal(sp_element_nodes(numbering->order), s->units, w->factors, w->diagonal);
    else if (s->collocated)
      collocated_diagonal(s->table.nq, s->differentiation, s->mass, w->factors, w->diagonal);
    else
      element_diagonal(&s->table, s->stiffness, s->mass, w->factors, w->diagonal);
    sp_numbering_add(numbering, begin, (sp_lid)e, w->diagonal, s->sum, &w->later);
  }
  return SP_OK;
}

static void add_diagonals(void *context, void *workspace_, size_t begin, size_t end) {
  (void)begin, (void)end;
  sp_additions_finish(&((const workspace *)workspace_)->later, ((const assembly *)context)->sum);
}

static sp_status sum_elements(const sp_operator_setup *setup, double *sum) {
  const int order = setup->space->numbering->order;
  const sp_operator_row *row = &sp_operator_rows[setup->kind];
  assembly s = {.setup = setup,
                .rule = sp_operator_rule(setup->kind, order),
                .differentiation = sp_reference_get(order)->differentiation,
                .stiffness = row->has_stiffness,
                .collocated = row->has_stiffness && row->collocated,
                .mass = row->has_stiffness ? setup->lambda : 1,
                .sum = sum};
  make_products(setup->kind, order, &s.table);
  SP_OWNED double *units = NULL;
  if (s.collocated && setup->space->mesh->shape.affine &&
      (setup->by_element || !(setup->kappa || setup->lambda_values))) {
    SP_TRY(sp_allocate(SP_FACTORS * sp_element_nodes(order), sizeof *units, "diagonal", &units));
    make_unit_diagonals(s.rule, s.differentiation, units);
    s.units = units;
  }
  const size_t count = (size_t)setup->space->mesh->hexes->count;
  const size_t nodes = sp_element_nodes(order), chunk = sp_loop_chunk(count, nodes);
  const sp_loop loop = {.what = "diagonal",
                        .count = count,
                        .chunk = chunk,
                        .workspace_bytes = sizeof(workspace) + sp_additions_bytes(chunk * nodes),
                        .context = &s,
                        .compute = compute_diagonals,
                        .commit = add_diagonals};
  SP_TRY(sp_loop_run(&loop));
  for (sp_lid i = 0; i < setup->diagonal_count; i++)
    sum[setup->diagonal_dofs[i]] += setup->diagonal_values[i];
  return SP_OK;
}

static void invert_some(void *context, size_t begin, size_t end) {
  assembly *s = context;
  const bool *constrained = s->setup->constrained;
  for (size_t i = begin; i < end; i++)
    s->sum[i] = constrained && constrained[i] ? 0 : 1 / s->sum[i];
}

sp_status sp_operator_inverse_diagonal(const sp_operator_setup *setup, double *inverse) {
  const sp_space *space = setup->space;
  const size_t dofs = sp_space_dofs(space);
  assembly s = {.setup = setup, .sum = inverse};
  sp_loop_set(dofs * sizeof *inverse, 0, inverse);
  SP_TRY(sp_agree(space->mesh->comm, sum_elements(setup, inverse)));
  sp_exchange_now(space->exchange, SP_SUM, inverse);
  return sp_agree(space->mesh->comm, sp_loop_over("diagonal", dofs, 1, &s, invert_some));
}
