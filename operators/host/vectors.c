/* Vector operations in double and single precision, and the table of an instruction set; compiled
 * once for each. Sums are in double: SP_REAL. */
#include <string.h>

#include "operators/host/vector.h"

/* Numbers of single precision in the lanes of half a vector. */
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

#define DEFINE_OPERATIONS(real)                                                                    \
  static void axpby_##real(size_t n, double a, const void *from, double b, void *to) {             \
    const real *restrict x = from, first = (real)a, second = (real)b;                              \
    real *restrict y = to;                                                                         \
    if (b == 0)                                                                                    \
      for (size_t i = 0; i < n; i++) y[i] = first * x[i];                                          \
    else                                                                                           \
      for (size_t i = 0; i < n; i++) y[i] = first * x[i] + second * y[i];                          \
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
  /* r may be t, so these are not restrict: but no entry depends on another one. */                \
  static void correct_##real(size_t n, const sp_correction *step) {                                \
    const real a = (real)step->a, b = (real)step->b, c = (real)step->c;                            \
    const real *restrict s = step->s, *restrict q = step->q, *t = step->t;                         \
    real *r = step->r, *restrict d = step->d, *restrict x = step->x;                               \
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

static void update(sp_lid owned, sp_lid n, double alpha, const double *restrict p,
                   const double *restrict ap, const double *restrict inverse_diagonal,
                   double *restrict x, double *restrict r, double sums[2]) {
  vec rr = splat(0), rz = splat(0);
  sp_lid i = 0;
  for (; i + LANES <= owned; i += LANES) {
    const vec solution = load_double(&x[i]) + alpha * load_double(&p[i]);
    const vec residual = load_double(&r[i]) - alpha * load_double(&ap[i]);
    memcpy(&x[i], &solution, sizeof solution);
    memcpy(&r[i], &residual, sizeof residual);
    rr += residual * residual;
    if (inverse_diagonal) rz += residual * load_double(&inverse_diagonal[i]) * residual;
  }
  double sum_rr = 0, sum_rz = 0;
  for (; i < n; i++) {
    x[i] += alpha * p[i];
    r[i] -= alpha * ap[i];
    if (i < owned) {
      sum_rr += r[i] * r[i];
      if (inverse_diagonal) sum_rz += r[i] * inverse_diagonal[i] * r[i];
    }
  }
  for (int l = 0; l < LANES; l++) {
    sum_rr += rr[l];
    sum_rz += rz[l];
  }
  sums[0] = sum_rr;
  sums[1] = inverse_diagonal ? sum_rz : sum_rr;
}

static const sp_host_vectors vectors = {
    .update = update,
    .axpby = {[SP_DOUBLE] = axpby_double, [SP_SINGLE] = axpby_float},
    .multiply = {[SP_DOUBLE] = multiply_double, [SP_SINGLE] = multiply_float},
    .dot = {[SP_DOUBLE] = dot_double, [SP_SINGLE] = dot_float},
    .convert =
        {[SP_DOUBLE] = {[SP_DOUBLE] = convert_double_double, [SP_SINGLE] = convert_double_float},
         [SP_SINGLE] = {[SP_DOUBLE] = convert_float_double, [SP_SINGLE] = convert_float_float}},
    .correct = {[SP_DOUBLE] = correct_double, [SP_SINGLE] = correct_float}};

extern const sp_host_operators SP_HOST_OPERATORS_DOUBLE, SP_HOST_OPERATORS_SINGLE;
extern const sp_host_interpolate SP_HOST_INTERPOLATE_DOUBLE, SP_HOST_INTERPOLATE_SINGLE;
extern sp_host_boxes_function SP_HOST_BOXES_DOUBLE, SP_HOST_BOXES_SINGLE;

const sp_host_kernels SP_HOST_KERNELS = {
    .instruction_set = SP_HOST_INSTRUCTION_SET,
    .operators = {[SP_DOUBLE] = &SP_HOST_OPERATORS_DOUBLE, [SP_SINGLE] = &SP_HOST_OPERATORS_SINGLE},
    .vectors = &vectors,
    .interpolate =
        {[SP_DOUBLE] = &SP_HOST_INTERPOLATE_DOUBLE, [SP_SINGLE] = &SP_HOST_INTERPOLATE_SINGLE},
    .solve_boxes = {[SP_DOUBLE] = SP_HOST_BOXES_DOUBLE, [SP_SINGLE] = SP_HOST_BOXES_SINGLE},
};
