#include "solver/linear/coarse_elements.h"

#include "io/threads.h"
#include "mesh/geometry.h"
#include "operators/factors.h"

enum { NODES = SP_COARSE_NODES };

/* From factors at the corners, [SP_FACTORS][NODES]: with GLL quadrature points are nodes, and the
 * slope along a direction couples the two ends of an edge. */
static void element_matrix(const double *factors, double lambda, sp_coarse_element matrix) {
  static const int factor[3][3] = {
      {SP_G_RR, SP_G_RS, SP_G_RT}, {SP_G_RS, SP_G_SS, SP_G_ST}, {SP_G_RT, SP_G_ST, SP_G_TT}};
  for (int i = 0; i < NODES; i++)
    for (int j = 0; j < NODES; j++) matrix[i][j] = 0;
  for (int q = 0; q < NODES; q++) {
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) {
        const double g = factors[factor[a][b] * NODES + q] / 4; /* slopes are +-1/2 */
        const int ends[2][2] = {{q & ~(1 << a), q | 1 << a}, {q & ~(1 << b), q | 1 << b}};
        for (int s = 0; s < 2; s++)
          for (int t = 0; t < 2; t++) matrix[ends[0][s]][ends[1][t]] += s == t ? g : -g;
      }
    matrix[q][q] += lambda * factors[SP_G_WJ * NODES + q];
  }
}

typedef struct batch {
  const sp_operator_setup *setup;
  size_t begin; /* the first element */
  sp_coarse_element *matrices;
} batch;

static sp_status compute_some(void *batch_, void *none, size_t begin, size_t end) {
  (void)none;
  const batch *b = batch_;
  const sp_rule *rule = &sp_reference_get(1)->gll;
  for (size_t n = begin; n < end; n++) {
    double factors[SP_FACTORS * NODES];
    SP_TRY(sp_operator_factors(b->setup, (sp_lid)(b->begin + n), rule, factors));
    element_matrix(factors, b->setup->lambda, b->matrices[n]);
  }
  return SP_OK;
}

sp_status sp_coarse_elements(const sp_operator_setup *setup, size_t begin, size_t count,
                             sp_coarse_element *matrices) {
  batch b = {setup, begin, matrices};
  return sp_loop_over("element matrices", count, NODES * NODES, &b, compute_some);
}
