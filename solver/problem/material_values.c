#include <assert.h>

#include "solver/problem/evaluate.h"
#include "solver/problem/materials.h"

const sp_expression *sp_material_rough_kappa(const sp_material *material, sp_regularity least) {
  if (material->tensor) return sp_conductivity_rough(material->tensor, least);
  const sp_expression *formula = material->of[SP_KAPPA].formula;
  return formula && formula->regularity < least ? formula : NULL;
}

sp_status sp_material_conduct(const sp_material *material, size_t n, const double *xyz[3],
                              double *factor, int count, double *const vectors[]) {
  enum { BATCH = 256 };
  double k[SP_TENSOR * BATCH];
  if (!material->tensor) return sp_material_kappa(material, n, xyz, factor, NULL);
  for (size_t first = 0, size; first < n; first += size) {
    size = n - first < BATCH ? n - first : BATCH;
    const double *at[3] = {xyz[0] + first, xyz[1] + first, xyz[2] + first};
    SP_TRY(sp_conductivity_evaluate(material->tensor, size, at, k, NULL));
    for (size_t p = 0; p < size; p++) {
      factor[first + p] = 1;
      for (double *const *v = vectors; v < vectors + 3 * count; v += 3) {
        const double x = v[0][first + p], y = v[1][first + p], z = v[2][first + p];
        v[0][first + p] = k[p] * x + k[3 * size + p] * y + k[4 * size + p] * z;
        v[1][first + p] = k[3 * size + p] * x + k[size + p] * y + k[5 * size + p] * z;
        v[2][first + p] = k[4 * size + p] * x + k[5 * size + p] * y + k[2 * size + p] * z;
      }
    }
  }
  return SP_OK;
}

sp_status sp_material_tensor(const sp_material *material, size_t n, const double *xyz[3],
                             double *k) {
  if (material->tensor) return sp_conductivity_evaluate(material->tensor, n, xyz, k, NULL);
  SP_TRY(sp_material_kappa(material, n, xyz, k, NULL));
  for (size_t p = 0; p < n; p++) {
    k[n + p] = k[2 * n + p] = k[p];
    k[3 * n + p] = k[4 * n + p] = k[5 * n + p] = 0;
  }
  return SP_OK;
}

sp_status sp_material_kappa(const sp_material *material, size_t n, const double *xyz[3],
                            double *value, double *const gradient[3]) {
  assert(!material->tensor);
  const sp_material_coefficient *kappa = &material->of[SP_KAPPA];
  if (kappa->formula)
    SP_TRY(sp_problem_evaluate_coefficient(kappa->formula, false, n, xyz, NULL, value, gradient));
  for (size_t p = 0; p < n && kappa->formula && material->is_contact; p++) {
    const double r = value[p];
    value[p] = kappa->value / r;
    for (int d = 0; d < 3 && gradient; d++) gradient[d][p] *= -value[p] / r;
  }
  if (kappa->formula) return SP_OK;
  for (size_t p = 0; p < n; p++) {
    value[p] = kappa->value;
    for (int d = 0; d < 3 && gradient; d++) gradient[d][p] = 0;
  }
  return SP_OK;
}

static sp_status evaluate_or_fill(const sp_material_coefficient *c, bool zero_allowed, size_t n,
                                  const double *xyz[3], double *value) {
  if (c->formula)
    return sp_problem_evaluate_coefficient(c->formula, zero_allowed, n, xyz, NULL, value, NULL);
  for (size_t p = 0; p < n; p++) value[p] = c->value;
  return SP_OK;
}

sp_status sp_material_shifted(const sp_material *material, double shift, bool with_lambda, size_t n,
                              const double *xyz[3], double *value) {
  enum { BATCH = 256 };
  const sp_material *m = material;
  double capacity[BATCH];
  if (with_lambda)
    SP_TRY(evaluate_or_fill(&m->of[SP_LAMBDA], true, n, xyz, value));
  else
    for (size_t p = 0; p < n; p++) value[p] = 0;
  for (size_t first = 0, size; first < n && shift > 0 && !m->is_contact; first += size) {
    size = n - first < BATCH ? n - first : BATCH;
    const double *at[3] = {xyz[0] + first, xyz[1] + first, xyz[2] + first};
    SP_TRY(evaluate_or_fill(&m->of[SP_CAPACITY], false, size, at, capacity));
    for (size_t p = 0; p < size; p++) value[first + p] += shift * capacity[p];
  }
  return SP_OK;
}
