/* The functions of formulas on each instruction set that this processor has: accuracy, values that
 * are not finite, and independence of the other points. The reference is libm in long double, which
 * must have more bits than double. */
#include "io/formula/program.h"

#include <float.h>

#include "tests/check.h"
#include "tests/random.h"

_Static_assert(LDBL_MANT_DIG > DBL_MANT_DIG, "long double is no reference here");

static const double PI = 3.14159265358979323846;

static bool same_bits(double a, double b) {
  return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

typedef long double real_function(long double);
typedef double libm_function(double);

/* Points between `low` and `high`, evenly or (`geometric`) in the logarithm. */
static const struct {
  const char *name;
  sp_operation operation;
  real_function *exact;
  libm_function *libm;
  double low, high;
  bool geometric;
} function_table[] = {
    {"sin", SP_OP_SIN, sinl, sin, -100, 100, false},
    {"sin", SP_OP_SIN, sinl, sin, -70000, 70000, false},
    {"sin", SP_OP_SIN, sinl, sin, 1e-300, 1e300, true},
    {"cos", SP_OP_COS, cosl, cos, -100, 100, false},
    {"cos", SP_OP_COS, cosl, cos, -70000, 70000, false},
    {"cos", SP_OP_COS, cosl, cos, 1e-300, 1e300, true},
    {"tan", SP_OP_TAN, tanl, tan, -100, 100, false},
    {"tan", SP_OP_TAN, tanl, tan, 1e-300, 1e300, true},
    {"asin", SP_OP_ASIN, asinl, asin, -1, 1, false},
    {"asin", SP_OP_ASIN, asinl, asin, 1e-300, 1, true},
    {"acos", SP_OP_ACOS, acosl, acos, -1, 1, false},
    {"atan", SP_OP_ATAN, atanl, atan, -10, 10, false},
    {"atan", SP_OP_ATAN, atanl, atan, 1e-300, 1e300, true},
    {"sinh", SP_OP_SINH, sinhl, sinh, -700, 700, false},
    {"sinh", SP_OP_SINH, sinhl, sinh, 1e-300, 700, true},
    {"cosh", SP_OP_COSH, coshl, cosh, -700, 700, false},
    {"tanh", SP_OP_TANH, tanhl, tanh, -20, 20, false},
    {"tanh", SP_OP_TANH, tanhl, tanh, 1e-300, 20, true},
    {"exp", SP_OP_EXP, expl, exp, -700, 700, false},
    {"exp", SP_OP_EXP, expl, exp, 1e-300, 1, true},
    {"log", SP_OP_LOG, logl, log, 0.5, 2, false},
    {"log", SP_OP_LOG, logl, log, 1e-307, 1e308, true},
    {"log10", SP_OP_LOG10, log10l, log10, 0.5, 2, false},
    {"log10", SP_OP_LOG10, log10l, log10, 1e-307, 1e308, true},
    {"sqrt", SP_OP_SQRT, sqrtl, sqrt, 1e-307, 1e308, true},
    {"cbrt", SP_OP_CBRT, cbrtl, cbrt, -10, 10, false},
    {"cbrt", SP_OP_CBRT, cbrtl, cbrt, 1e-300, 1e300, true},
    {"erf", SP_OP_ERF, erfl, erf, -6, 6, false},
    {"erf", SP_OP_ERF, erfl, erf, 1e-300, 6, true},
    {"abs", SP_OP_ABS, fabsl, fabs, -10, 10, false},
    {"floor", SP_OP_FLOOR, floorl, floor, -10, 10, false},
};
enum { FUNCTION_ROWS = COUNT_OF(function_table) };

/* |value - exact| in units in the last place of the exact value; 0 if both are NaN. */
static double units(double value, long double exact) {
  int exponent;
  if (isnan(value) && isnan(exact)) return 0;
  if (isinf((double)exact)) return value == (double)exact ? 0 : HUGE_VAL;
  frexpl(exact, &exponent);
  if (exponent < DBL_MIN_EXP) exponent = DBL_MIN_EXP;
  const double error = (double)fabsl(ldexpl(value - exact, DBL_MANT_DIG - exponent));
  return isnan(error) ? HUGE_VAL : error;
}

enum { SAMPLES = 4096 };
typedef struct samples {
  _Alignas(64) double a[SAMPLES], b[SAMPLES], out[SAMPLES], again[SAMPLES];
} samples;

static void apply_kernel(sp_expression_kernel *kernel, sp_operation operation, size_t n, samples *s,
                         double *out) {
  const sp_operand operand[3] = {{s->a, 1}, {s->b, 1}, {s->b, 1}};
  kernel(operation, n, operand, out, NULL);
}

static double between(double low, double high, bool geometric) {
  const double t = (double)random_below(1u << 30) / (1u << 30);
  return geometric ? exp(log(low) + t * (log(high) - log(low))) : low + t * (high - low);
}

/* Sine and cosine next to their zeros, where the argument's reduction cancels most. */
static void sample_zeros(sp_operation operation, samples *s) {
  for (int k = 0; k < SAMPLES; k++)
    s->a[k] = (10 * (k - SAMPLES / 2) + (operation == SP_OP_COS ? 0.5 : 0)) * PI;
}

static double worst_units(sp_expression_kernel *kernel, sp_operation operation,
                          real_function *exact, samples *s) {
  double worst = 0;
  apply_kernel(kernel, operation, SAMPLES, s, s->out);
  for (int k = 0; k < SAMPLES; k++) worst = fmax(worst, units(s->out[k], exact(s->a[k])));
  return worst;
}

static const double special_values[] = {
    0,       -0.0,     1,         -1,     2,      -2,      0.5,    -0.5, 1e6,   -1e6,    65536,
    65537,   1e22,     1e300,     -1e300, 5e-324, -5e-324, 1e-310, 710,  -746,  DBL_MAX, -DBL_MAX,
    DBL_MIN, HUGE_VAL, -HUGE_VAL, NAN,    3,      -3,      1.5,    -1.5, 1e-20, PI / 2};
enum { SPECIALS = COUNT_OF(special_values) };
_Static_assert(SPECIALS % SP_EXPRESSION_PADDING == 0, "whole vectors");

/* NaN, infinity and the sign of zero as in libm. */
static bool agrees(double value, double libm) {
  if (isnan(libm) || isinf(libm) || libm == 0) return same_bits(value, libm);
  return units(value, libm) <= 5;
}

static void check_special_values(sp_expression_kernel *kernel, samples *s) {
  for (size_t r = 0; r < FUNCTION_ROWS; r++) {
    memcpy(s->a, special_values, sizeof special_values);
    apply_kernel(kernel, function_table[r].operation, SPECIALS, s, s->out);
    for (size_t k = 0; k < SPECIALS; k++)
      CHECK(agrees(s->out[k], function_table[r].libm(s->a[k])), "%s(%g) = %.17g, not %.17g",
            function_table[r].name, s->a[k], s->out[k], function_table[r].libm(s->a[k]));
  }
  for (size_t j = 0; j < SPECIALS; j++) {
    for (size_t k = 0; k < SPECIALS; k++) s->b[k] = special_values[j];
    apply_kernel(kernel, SP_OP_POWER, SPECIALS, s, s->out);
    apply_kernel(kernel, SP_OP_ATAN2, SPECIALS, s, s->again);
    for (size_t k = 0; k < SPECIALS; k++) {
      CHECK(agrees(s->out[k], pow(s->a[k], s->b[k])), "%g^%g = %.17g, not %.17g", s->a[k], s->b[k],
            s->out[k], pow(s->a[k], s->b[k]));
      CHECK(agrees(s->again[k], atan2(s->a[k], s->b[k])), "atan2(%g, %g) = %.17g, not %.17g",
            s->a[k], s->b[k], s->again[k], atan2(s->a[k], s->b[k]));
    }
  }
}

static void fill(samples *s) {
  for (int k = 0; k < SAMPLES; k++) {
    s->a[k] = between(-3, 3, false);
    s->b[k] = between(-3, 3, false);
  }
}

/* A point's bits do not depend on its neighbours, nor on where it is. */
static void check_lanes(sp_expression_kernel *kernel, samples *s) {
  static bool replaced[SAMPLES];
  for (sp_operation operation = SP_OP_NEGATE; operation <= SP_OP_SUBTRACT_MULTIPLY; operation++) {
    if (operation == SP_OP_SINCOS || operation == SP_OP_TABLE || operation == SP_OP_TABLE_SLOPE)
      continue; /* two results; an operand that is a table */
    size_t differing = 0;
    fill(s);
    apply_kernel(kernel, operation, SAMPLES, s, s->out);
    for (int k = 0; k < SAMPLES; k++) {
      replaced[k] = random_below(3) == 0;
      if (replaced[k]) s->a[k] = special_values[random_below(SPECIALS)];
    }
    apply_kernel(kernel, operation, SAMPLES, s, s->again);
    for (int k = 0; k < SAMPLES; k++)
      differing += !replaced[k] && !same_bits(s->again[k], s->out[k]);
    CHECK(differing == 0, "operation %d: %zu values change with their neighbours", (int)operation,
          differing);
    for (int k = 0; k + 1 < SAMPLES; k++) {
      s->a[k] = s->a[k + 1];
      s->b[k] = s->b[k + 1];
    }
    apply_kernel(kernel, operation, SAMPLES, s, s->out);
    for (int k = 0; k + 1 < SAMPLES; k++) differing += !same_bits(s->out[k], s->again[k + 1]);
    CHECK(differing == 0, "operation %d: %zu values change with their place", (int)operation,
          differing);
  }
}

/* Sine and cosine together have the same bits as separately. */
static void check_sincos(sp_expression_kernel *kernel, samples *s) {
  static _Alignas(64) double cosine[SAMPLES];
  fill(s);
  for (int k = 0; k < SPECIALS; k++) s->a[k] = special_values[k];
  const sp_operand operand[3] = {{s->a, 1}};
  kernel(SP_OP_SINCOS, SAMPLES, operand, s->out, cosine);
  size_t differing = 0;
  apply_kernel(kernel, SP_OP_SIN, SAMPLES, s, s->again);
  for (int k = 0; k < SAMPLES; k++) differing += !same_bits(s->again[k], s->out[k]);
  apply_kernel(kernel, SP_OP_COS, SAMPLES, s, s->again);
  for (int k = 0; k < SAMPLES; k++) differing += !same_bits(s->again[k], cosine[k]);
  CHECK(differing == 0, "%zu values differ between sincos and sin or cos", differing);
}

static void check_powers(sp_expression_kernel *kernel, samples *s) {
  double worst[2] = {0, 0};
  for (int k = 0; k < SAMPLES; k++)
    s->a[k] = between(1e-6, 1e6, true), s->b[k] = between(-40, 40, false);
  apply_kernel(kernel, SP_OP_POWER, SAMPLES, s, s->out);
  apply_kernel(kernel, SP_OP_ATAN2, SAMPLES, s, s->again);
  for (int k = 0; k < SAMPLES; k++) {
    worst[0] = fmax(worst[0], units(s->out[k], powl(s->a[k], s->b[k])));
    worst[1] = fmax(worst[1], units(s->again[k], atan2l(s->a[k], s->b[k])));
  }
  CHECK(worst[0] <= 4 && worst[1] <= 4, "pow is off by %.2f units, atan2 by %.2f", worst[0],
        worst[1]);
}

static void check_sets(void) {
  static samples s;
  sp_expression_kernel *kernels[SP_EXPRESSION_SETS];
  const int sets = sp_expression_usable_kernels(kernels);
  CHECK(sets > 0, "no kernels");
  for (int k = 0; k < sets; k++) {
    double all = 0;
    for (size_t r = 0; r < FUNCTION_ROWS; r++) {
      const sp_operation operation = function_table[r].operation;
      for (int i = 0; i < SAMPLES; i++)
        s.a[i] =
            between(function_table[r].low, function_table[r].high, function_table[r].geometric);
      const double worst = worst_units(kernels[k], operation, function_table[r].exact, &s);
      CHECK(worst <= 4, "%s is off by %.2f units", function_table[r].name, worst);
      all = fmax(all, worst);
      if (operation != SP_OP_SIN && operation != SP_OP_COS) continue;
      sample_zeros(operation, &s);
      const double zeros = worst_units(kernels[k], operation, function_table[r].exact, &s);
      CHECK(zeros <= 1, "%s is off by %.2f units near its zeros", function_table[r].name, zeros);
    }
    check_powers(kernels[k], &s);
    check_special_values(kernels[k], &s);
    check_lanes(kernels[k], &s);
    check_sincos(kernels[k], &s);
    printf("instruction set %d of %d: functions agree to %.2f units\n", k + 1, sets, all);
  }
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  check_sets();
  return check_end();
}
