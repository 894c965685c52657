#include "solver/linear/coarse_elements.h"

#include "io/threads.h"
#include "mesh/geometry.h"
#include "operators/counts.h"
#include "operators/factors.h"

enum { NODES = SP_COARSE_NODES };

/* Compute a stiffness matrix from factors at the corners, [SP_FACTORS][NODES]. With GLL quadrature,
 * points are nodes, and the derivative along a direction couples the two ends of an edge. */
static void element_matrix(const double *factors, double lambda, sp_coarse_element matrix) {
  static const int factor[3][3] = {
      {SP_G_RR, SP_G_RS, SP_G_RT}, {SP_G_RS, SP_G_SS, SP_G_ST}, {SP_G_RT, SP_G_ST, SP_G_TT}};
  for (int i = 0; i < NODES; i++)
    for (int j = 0; j < NODES; j++) matrix[i][j] = 0;
  for (int q = 0; q < NODES; q++) {
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) {
        const double g = factors[factor[a][b] * NODES + q] / 4; /* derivatives are +-1/2 */
        const int ends[2][2] = {{q & ~(1 << a), q | 1 << a}, {q & ~(1 << b), q | 1 << b}};
        for (int s = 0; s < 2; s++)
          for (int t = 0; t < 2; t++) matrix[ends[0][s]][ends[1][t]] += s == t ? g : -g;
      }
    matrix[q][q] += lambda * factors[SP_G_WJ * NODES + q];
  }
}

/* Compute a mass matrix from factors at the points of `rule`. */
static void mass_matrix(const sp_rule *rule, const double *factors, sp_coarse_element matrix) {
  const int n = rule->n;
  double value[2 * SP_MAX_RULE]; /* [points][2] */
  sp_interpolation_matrix(2, sp_reference_get(1)->gll.nodes, n, rule->nodes, value);
  for (int i = 0; i < NODES; i++)
    for (int j = 0; j < NODES; j++) matrix[i][j] = 0;
  for (int q = 0; q < n * n * n; q++) {
    const double *const at[3] = {&value[2 * (q % n)], &value[2 * (q / n % n)],
                                 &value[2 * (q / n / n)]};
    double basis[NODES];
    for (int i = 0; i < NODES; i++) basis[i] = at[0][i & 1] * at[1][i >> 1 & 1] * at[2][i >> 2];
    for (int i = 0; i < NODES; i++)
      for (int j = 0; j < NODES; j++)
        matrix[i][j] += factors[SP_G_WJ * n * n * n + q] * basis[i] * basis[j];
  }
}

typedef struct elements {
  const sp_operator_setup *setup;
  sp_coarse_element *matrices;
} elements;

static sp_status compute_some(void *elements_, void *none, size_t begin, size_t end) {
  (void)none;
  const elements *s = elements_;
  const sp_operator_kind kind = s->setup->kind;
  const sp_rule *rule = sp_operator_rule(kind, 1);
  for (size_t e = begin; e < end; e++) {
    double factors[SP_FACTORS * 3 * 3 * 3];
    SP_TRY(sp_operator_factors(s->setup, (sp_lid)e, rule, factors));
    if (sp_operator_rows[kind].has_stiffness)
      element_matrix(factors, s->setup->lambda, s->matrices[e]);
    else
      mass_matrix(rule, factors, s->matrices[e]);
  }
  return SP_OK;
}

sp_status sp_coarse_elements(const sp_operator_setup *setup, size_t count,
                             sp_coarse_element *matrices) {
  elements s = {setup, matrices};
  return sp_loop_over("element matrices", count, NODES * NODES, &s, compute_some);
}
