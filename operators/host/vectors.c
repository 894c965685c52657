/* Vector operations in both precisions, and the table of an instruction set; compiled once per set.
 * Sums are in double: SP_REAL. */
#include <string.h>

#include "operators/host/vector.h"

/* Single-precision numbers, half a vector. */
typedef float single_vec __attribute__((vector_size(LANES * sizeof(float))));

INLINE vec load_double(const double *x) {
  vec lanes;
  memcpy(&lanes, x, sizeof lanes);
  return lanes;
}

INLINE vec load_float(const float *x) {
  single_vec lanes;
  memcpy(&lanes, x, sizeof lanes);
  return __builtin_convertvector(lanes, vec);
}

#define INDEPENDENT _Pragma("GCC ivdep")
#define DEFINE_OPERATIONS(real)                                                                    \
  /* The result may be an operand, entry by entry. */                                              \
  static void combine_##real(size_t n, int terms, const double *weights, const void *const *from,  \
                             void *to) {                                                           \
    const real *x[SP_TERMS_MOST];                                                                  \
    real w[SP_TERMS_MOST], *y = to;                                                                \
    for (int k = 0; k < SP_TERMS_MOST; k++) {                                                      \
      x[k] = from[k < terms ? k : 0];                                                              \
      w[k] = (real)weights[k < terms ? k : 0];                                                     \
    }                                                                                              \
    const real *a = x[0], *b = x[1], *c = x[2], *d = x[3];                                         \
    if (terms == 1)                                                                                \
      INDEPENDENT for (size_t i = 0; i < n; i++) y[i] = w[0] * a[i];                               \
    else if (terms == 2)                                                                           \
      INDEPENDENT for (size_t i = 0; i < n; i++) y[i] = w[0] * a[i] + w[1] * b[i];                 \
    else if (terms == 3)                                                                           \
      INDEPENDENT for (size_t i = 0; i < n; i++) y[i] = w[0] * a[i] + w[1] * b[i] + w[2] * c[i];   \
    else                                                                                           \
      INDEPENDENT for (size_t i = 0; i < n; i++) y[i] =                                            \
          w[0] * a[i] + w[1] * b[i] + (w[2] * c[i] + w[3] * d[i]);                                 \
  }                                                                                                \
                                                                                                   \
  static void multiply_##real(size_t n, const void *left, const void *right, void *product) {      \
    const real *x = left, *y = right;                                                              \
    real *z = product;                                                                             \
    for (size_t i = 0; i < n; i++) z[i] = x[i] * y[i];                                             \
  }                                                                                                \
                                                                                                   \
  static double dot_##real(size_t n, const void *left, const void *right) {                        \
    const real *x = left, *y = right;                                                              \
    vec lanes = splat(0);                                                                          \
    size_t i = 0;                                                                                  \
    for (; i + LANES <= n; i += LANES) lanes += load_##real(&x[i]) * load_##real(&y[i]);           \
    double sum = 0;                                                                                \
    for (; i < n; i++) sum += (double)x[i] * (double)y[i];                                         \
    for (int l = 0; l < LANES; l++) sum += lanes[l];                                               \
    return sum;                                                                                    \
  }                                                                                                \
                                                                                                   \
  /* Not restrict, since r may be t; entries are independent. */                                   \
  static void correct_##real(size_t n, const sp_correction *step) {                                \
    const real a = (real)step->a, b = (real)step->b, c = (real)step->c;                            \
    const real *restrict s = step->s, *restrict q = step->q, *t = step->t;                         \
    real *r = step->r, *restrict d = step->d, *restrict x = step->x;                               \
    if (!d) {                                                                                      \
      _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) r[i] = t[i] - q[i];                      \
      return;                                                                                      \
    }                                                                                              \
    _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) {                                          \
      const real residual = q ? t[i] - q[i] : t[i];                                                \
      const real part = b * (s ? s[i] * residual : residual);                                      \
      if (q) r[i] = residual;                                                                      \
      d[i] = a == 0 ? part : a * d[i] + part;                                                      \
      x[i] = step->first ? c * d[i] : x[i] + c * d[i];                                             \
    }                                                                                              \
  }

#define DEFINE_CONVERSION(from_real, to_real)                                                      \
  static void convert_##from_real##_##to_real(size_t n, double scale, const void *from,            \
                                              void *to) {                                          \
    const from_real *restrict x = from;                                                            \
    to_real *restrict y = to;                                                                      \
    for (size_t i = 0; i < n; i++) y[i] = (to_real)(scale * (double)x[i]);                         \
  }

DEFINE_OPERATIONS(double)
DEFINE_OPERATIONS(float)
DEFINE_CONVERSION(double, double)
DEFINE_CONVERSION(double, float)
DEFINE_CONVERSION(float, double)
DEFINE_CONVERSION(float, float)

static void form_direction(void *context, sp_lid count, const sp_host_run *runs) {
  const sp_host_cg *cg = context;
  const double *restrict z = cg->z, *restrict d = cg->inverse_diagonal, beta = cg->beta;
  double *restrict p = cg->p;
  for (sp_lid k = 0; k < count; k++)
    if (d)
      for (sp_lid i = runs[k].begin; i < runs[k].end; i++) p[i] = d[i] * z[i] + beta * p[i];
    else
      for (sp_lid i = runs[k].begin; i < runs[k].end; i++) p[i] = z[i] + beta * p[i];
}

/* sums[sum] += lanes and one. */
INLINE void add_sum(sp_host_cg *cg, sp_cg_sum sum, vec lanes, double one) {
  vec all = load_double(cg->sums[sum]) + lanes;
  memcpy(cg->sums[sum], &all, sizeof all);
  cg->sums[sum][0] += one;
}

/* Scale by the diagonal D^-1 if `scaled`, else by one; form the new direction if `directs`. */
INLINE void step_runs(sp_host_cg *cg, bool scaled, bool directs, sp_lid count,
                      const sp_host_run *runs) {
  const double alpha = cg->alpha, beta = cg->beta;
  const double *ap = cg->ap, *d = cg->inverse_diagonal;
  double *x = cg->x, *r = cg->r, *p = cg->p, one_rr = 0, one_rz = 0;
  vec rr = splat(0), rz = splat(0);
  for (sp_lid k = 0; k < count; k++) {
    sp_lid i = runs[k].begin;
    for (; i + LANES <= runs[k].end; i += LANES) {
      const vec old = load_double(&p[i]);
      const vec solution = load_double(&x[i]) + alpha * old;
      const vec residual = load_double(&r[i]) - alpha * load_double(&ap[i]);
      const vec z = scaled ? load_double(&d[i]) * residual : residual;
      const vec direction = z + beta * old;
      memcpy(&x[i], &solution, sizeof solution);
      memcpy(&r[i], &residual, sizeof residual);
      if (directs) memcpy(&p[i], &direction, sizeof direction);
      rr += residual * residual;
      if (scaled) rz += residual * z;
    }
    for (; i < runs[k].end; i++) {
      x[i] += alpha * p[i];
      r[i] -= alpha * ap[i];
      const double z = scaled ? d[i] * r[i] : r[i];
      if (directs) p[i] = z + beta * p[i];
      one_rr += r[i] * r[i];
      if (scaled) one_rz += r[i] * z;
    }
  }
  if (runs[0].begin >= cg->owned) return;
  add_sum(cg, SP_CG_RR, rr, one_rr);
  if (scaled) add_sum(cg, SP_CG_RZ, rz, one_rz);
}

static void step_and_form_direction(void *context, sp_lid count, const sp_host_run *runs) {
  sp_host_cg *cg = context;
  if (cg->inverse_diagonal)
    step_runs(cg, true, true, count, runs);
  else
    step_runs(cg, false, true, count, runs);
}

static void step_only(void *context, sp_lid count, const sp_host_run *runs) {
  sp_host_cg *cg = context;
  if (cg->inverse_diagonal)
    step_runs(cg, true, false, count, runs);
  else
    step_runs(cg, false, false, count, runs);
}

INLINE void add_products_of(sp_host_cg *cg, bool scaled, sp_lid count, const sp_host_run *runs) {
  const double *r = cg->r, *ap = cg->ap, *d = cg->inverse_diagonal;
  vec r_ap = splat(0), ap_ap = splat(0), z_ap = splat(0), ap_d_ap = splat(0);
  double one_r_ap = 0, one_ap_ap = 0, one_z_ap = 0, one_ap_d_ap = 0;
  for (sp_lid k = 0; k < count; k++) {
    sp_lid i = runs[k].begin;
    for (; i + LANES <= runs[k].end; i += LANES) {
      const vec residual = load_double(&r[i]), product = load_double(&ap[i]);
      r_ap += residual * product;
      ap_ap += product * product;
      if (!scaled) continue;
      const vec d_ap = load_double(&d[i]) * product;
      z_ap += residual * d_ap;
      ap_d_ap += product * d_ap;
    }
    for (; i < runs[k].end; i++) {
      one_r_ap += r[i] * ap[i];
      one_ap_ap += ap[i] * ap[i];
      if (!scaled) continue;
      const double d_ap = d[i] * ap[i];
      one_z_ap += r[i] * d_ap;
      one_ap_d_ap += ap[i] * d_ap;
    }
  }
  add_sum(cg, SP_CG_R_AP, r_ap, one_r_ap);
  add_sum(cg, SP_CG_AP_AP, ap_ap, one_ap_ap);
  if (!scaled) return;
  add_sum(cg, SP_CG_Z_AP, z_ap, one_z_ap);
  add_sum(cg, SP_CG_AP_D_AP, ap_d_ap, one_ap_d_ap);
}

static void add_products(void *context, sp_lid count, const sp_host_run *runs) {
  sp_host_cg *cg = context;
  if (cg->inverse_diagonal)
    add_products_of(cg, true, count, runs);
  else
    add_products_of(cg, false, count, runs);
}

static const sp_host_vectors vectors = {
    .update = step_only,
    .direct = form_direction,
    .step = step_and_form_direction,
    .add_products = add_products,
    .combine = {[SP_DOUBLE] = combine_double, [SP_SINGLE] = combine_float},
    .multiply = {[SP_DOUBLE] = multiply_double, [SP_SINGLE] = multiply_float},
    .dot = {[SP_DOUBLE] = dot_double, [SP_SINGLE] = dot_float},
    .convert =
        {[SP_DOUBLE] = {[SP_DOUBLE] = convert_double_double, [SP_SINGLE] = convert_double_float},
         [SP_SINGLE] = {[SP_DOUBLE] = convert_float_double, [SP_SINGLE] = convert_float_float}},
    .correct = {[SP_DOUBLE] = correct_double, [SP_SINGLE] = correct_float}};

extern const sp_host_operators SP_HOST_OPERATORS_DOUBLE, SP_HOST_OPERATORS_SINGLE;
extern const sp_host_block_kernels SP_HOST_BLOCKS_DOUBLE, SP_HOST_BLOCKS_SINGLE;

const sp_host_kernels SP_HOST_KERNELS = {
    .instruction_set = SP_HOST_INSTRUCTION_SET,
    .vector_bytes = SP_HOST_VECTOR_BYTES,
    .operators = {[SP_DOUBLE] = &SP_HOST_OPERATORS_DOUBLE, [SP_SINGLE] = &SP_HOST_OPERATORS_SINGLE},
    .vectors = &vectors,
    .blocks = {[SP_DOUBLE] = &SP_HOST_BLOCKS_DOUBLE, [SP_SINGLE] = &SP_HOST_BLOCKS_SINGLE},
};
