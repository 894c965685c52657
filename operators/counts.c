#include "operators/counts.h"

/* Terms of the flop count: interpolation to the Gauss points and back, differentiation on the
 * points, and the operations at each point. */
typedef struct problem {
  bool gauss;     /* GL quadrature with interpolation; else collocated GLL */
  bool stiffness; /* gradient and its transpose: six contractions */
  int point_flops;
  int factors; /* doubles a point when stored */
} problem;

static const problem problems[] = {
    [SP_MASS] = {.gauss = true, .stiffness = false, .point_flops = 1, .factors = 1},
    [SP_BP35] = {.gauss = false, .stiffness = true, .point_flops = 18, .factors = 7},
    [SP_BP30] = {.gauss = true, .stiffness = true, .point_flops = 18, .factors = 7},
};

const sp_rule *sp_operator_rule(sp_operator_kind kind, int order) {
  const sp_reference *reference = sp_reference_get(order);
  return problems[kind].gauss ? &reference->gl : &reference->gll;
}

bool sp_operator_has_stiffness(sp_operator_kind kind) {
  return problems[kind].stiffness;
}

double sp_operator_flops(sp_operator_kind kind, int order) {
  const problem *p = &problems[kind];
  const double nq = order + 1, m = sp_operator_rule(kind, order)->n;
  double flops = p->point_flops * m * m * m;
  if (p->gauss) flops += 4 * (nq * nq * nq * m + nq * nq * m * m + nq * m * m * m);
  if (p->stiffness) flops += 12 * m * m * m * m;
  return flops;
}

static double factor_doubles(sp_operator_kind kind, sp_geometry_kind geometry, int order) {
  const double m = sp_operator_rule(kind, order)->n;
  return geometry == SP_GEOMETRY_TRILINEAR ? 24 : problems[kind].factors * m * m * m;
}

double sp_operator_bytes(sp_operator_kind kind, sp_geometry_kind geometry, int order) {
  const double nq = order + 1;
  return 8 * (2 * nq * nq * nq + factor_doubles(kind, geometry, order));
}

double sp_operator_bytes_assembled(sp_operator_kind kind, sp_geometry_kind geometry, int order,
                                   double elements, double dofs) {
  const double nq = order + 1;
  return elements * (8 * factor_doubles(kind, geometry, order) + 4 * nq * nq * nq) + 16 * dofs;
}

double sp_operator_device_bytes(sp_operator_kind kind, sp_geometry_kind geometry, int order,
                                double elements, double dofs, bool jacobi) {
  /* Factors; a 4-byte code for every surface node; a value and a 4-byte entry for every node on
   * edges and at vertices (operators/cuda/assembly.h). */
  const double n = order, surface = 6 * n * n + 2, edges = 12 * n - 4;
  const double matrix =
      elements * (8 * factor_doubles(kind, geometry, order) + 4 * surface + (8 + 4) * edges);
  /* x, b (which becomes r), two buffers of p, A p, and the inverse diagonal. */
  const double vectors = 8 * dofs * (5 + jacobi);
  return matrix + vectors;
}

sp_status sp_operator_device_numbers(int order, double elements, double dofs) {
  const double edge_nodes = elements * (12 * order - 4);
  if (dofs <= SP_DEVICE_MOST && edge_nodes <= SP_DEVICE_MOST) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%.0f elements of order %d on one GPU: use more ranks", elements,
                 order);
}
