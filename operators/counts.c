#include "operators/counts.h"

const sp_rule *sp_operator_rule(sp_operator_kind kind, int order) {
  const sp_reference *reference = sp_reference_get(order);
  return sp_operator_rows[kind].collocated ? &reference->gll : &reference->gl;
}

double sp_operator_flops(sp_operator_kind kind, int order) {
  const sp_operator_row *row = &sp_operator_rows[kind];
  const double nq = order + 1, m = sp_operator_rule(kind, order)->n;
  double flops = row->point_flops * m * m * m;
  if (!row->collocated) flops += 4 * (nq * nq * nq * m + nq * nq * m * m + nq * m * m * m);
  if (row->has_stiffness) flops += 12 * m * m * m * m;
  return flops;
}

static double factor_bytes(sp_operator_kind kind, sp_factor_kind factors, sp_precision precision,
                           int order) {
  const double m = sp_operator_rule(kind, order)->n, number = (double)sp_precision_bytes(precision);
  const double stored = sp_operator_rows[kind].factors * m * m * m;
  return factors == SP_FACTORS_STORED    ? stored * number
         : factors == SP_FACTORS_ROUNDED ? stored * 2
         : factors == SP_FACTORS_AFFINE  ? sp_operator_rows[kind].factors * number
                                         : 24 * number;
}

double sp_operator_bytes(sp_operator_kind kind, sp_factor_kind factors, sp_precision precision,
                         int order) {
  const double nq = order + 1, number = (double)sp_precision_bytes(precision);
  return number * 2 * nq * nq * nq + factor_bytes(kind, factors, precision, order);
}

double sp_operator_bytes_assembled(sp_operator_kind kind, sp_factor_kind factors,
                                   sp_precision precision, int order, double elements,
                                   double dofs) {
  const double nq = order + 1, number = (double)sp_precision_bytes(precision);
  return elements * (factor_bytes(kind, factors, precision, order) + 4 * nq * nq * nq) +
         2 * number * dofs;
}

sp_status sp_operator_device_numbers(int order, double elements, double dofs) {
  const double edge_nodes = elements * (12 * order - 4);
  if (dofs <= SP_DEVICE_MOST && edge_nodes <= SP_DEVICE_MOST) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%.0f elements of order %d on one GPU: use more ranks", elements,
                 order);
}
