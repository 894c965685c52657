/* Derivatives of formulas, compared with differences in long double, and at special points. */
#include "tests/formula.h"

/* The reference for derivatives: the same function in long double, without the evaluator. */
typedef long double real;

static real inner_g(const real r[3]) {
  return 0.4L + 0.2L * r[0] + 0.1L * r[1] * r[2] + 0.05L * sinl(r[0] + 2 * r[2]);
}
static real inner_h(const real r[3]) {
  return 0.7L - 0.15L * r[0] * r[1] + 0.1L * r[2] * r[2] + 0.05L * r[1];
}
#define G "(0.4 + 0.2*x + 0.1*y*z + 0.05*sin(x + 2*z))"
#define H "(0.7 - 0.15*x*y + 0.1*z*z + 0.05*y)"

/* Formulas of g and h, and the same in C: the text and *value of number k, NULL after the last. */
static const char *outer(size_t k, real g, real h, real *value) {
  const struct {
    const char *text;
    real value;
  } table[] = {
#define OF_G(name) {#name "(" G ")", name##l(g)},
      FUNCTIONS(OF_G){"abs(" G " - 2)", fabsl(g - 2)},
      {"abs(" G ")", fabsl(g)},
      {"sign(" G ")", 1},
      {"floor(-" G ")", -1},
      {"-" G, -g},
      {G "+" H, g + h},
      {G "-" H, g - h},
      {G "*" H, g * h},
      {G "/" H, g / h},
      {G "^" H, powl(g, h)},
      {"pow(" G "," H ")", powl(g, h)},
      {G "^2", g * g},
      {G "^3", g * g * g},
      {G "^7", g * g * g * g * g * g * g},
      {G "^12", powl(g, 12)},
      {"(" G " - 2)^3", powl(g - 2, 3)},
      {"(" G " - 2)^11", powl(g - 2, 11)},
      {G "^-1", 1 / g},
      {"1/" G, 1 / g},
      {G "^-2", 1 / (g * g)},
      {G "^2.3", powl(g, 2.3L)},
      {"1.7^" G, powl(1.7L, g)},
      {"atan2(" G "," H ")", atan2l(g, h)},
      {"atan2(" G ", -" H ")", atan2l(g, -h)},
      {"max(2*" G " + " H "," G ")", 2 * g + h},
      {"max(" G ", 2*" G " + " H ")", 2 * g + h},
      {"min(" G " - " H "," G ")", g - h},
      {"min(" G "," G " - " H ")", g - h},
      {"if(" G " > 0, " G " - " H ", sqrt(-1 - x^2))", g - h},
      {G " < 0 ? log(-1 - x^2) : " G " - " H, g - h},
      {"sin(" G ")*exp(" H ")*" G, sinl(g) * expl(h) * g},
      {"sin(" G ")/(1 + " H "^2)", sinl(g) / (1 + h * h)},
      {"exp(sin(" G "*" H "))/sqrt(" G "+" H ")", expl(sinl(g * h)) / sqrtl(g + h)}};
  if (k >= COUNT_OF(table)) return NULL;
  *value = table[k].value;
  return table[k].text;
}

static real composite(size_t k, const double point[3], const double v[3], real shift) {
  real r[3] = {point[0], point[1], point[2]}, value;
  for (int d = 0; d < 3; d++) r[d] += shift * v[d];
  outer(k, inner_g(r), inner_h(r), &value);
  return value;
}

/* First and second derivative along v: central differences with steps h / 2^k, extrapolated to
 * O(h^10). The change in the last extrapolation bounds the truncation error; rounding adds at most
 * about 100 eps |f| / step and 100 eps |f| / step^2. */
static void differences(size_t formula, const double point[3], const double v[3],
                        real derivative[2], real error[2]) {
  enum { LEVELS = 5 };
  real table[2][LEVELS], step = 0.1L;
  const real middle = composite(formula, point, v, 0);
  for (int k = 0; k < LEVELS; k++, step /= 2) {
    const real up = composite(formula, point, v, step), down = composite(formula, point, v, -step);
    table[0][k] = (up - down) / (2 * step);
    table[1][k] = (up - 2 * middle + down) / (step * step);
  }
  step *= 2;
  for (int order = 0; order < 2; order++) {
    real weight = 4, before = 0;
    for (int level = 1; level < LEVELS; level++, weight *= 4) {
      before = table[order][LEVELS - 1];
      for (int k = LEVELS - 1; k >= level; k--)
        table[order][k] += (table[order][k] - table[order][k - 1]) / (weight - 1);
    }
    derivative[order] = table[order][LEVELS - 1];
    error[order] = fabsl(derivative[order] - before) +
                   100 * LDBL_EPSILON * (1 + fabsl(middle)) / (order == 0 ? step : step * step);
  }
}

static const double UNIT[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

/* K : grad grad u is the sum of c times the second derivative along v for K = sum of c v v^T. Six
 * directions, so that no component of K is zero. Returns the error. */
static double check_curvature(const char *text, size_t formula, const double point[3]) {
  static const double along[6][3] = {{1, 0, 0},     {0, 1, 0},      {0, 0, 1},
                                     {0.6, 0.6, 0}, {0.7, 0, -0.5}, {0, 0.4, 0.8}};
  static const double weights[6] = {1, 0.7, 1.3, 0.9, 0.8, 0.6};
  static const int pairs[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
  double k[6] = {0}, value = NAN, gradient[3], curvature = NAN;
  double *const slopes[3] = {&gradient[0], &gradient[1], &gradient[2]};
  real sum = 0, error_sum = 0, scale = 1;
  for (int i = 0; i < 6; i++) {
    real derivative[2], error[2];
    differences(formula, point, along[i], derivative, error);
    for (int c = 0; c < 6; c++) k[c] += weights[i] * along[i][pairs[c][0]] * along[i][pairs[c][1]];
    sum += weights[i] * derivative[1];
    error_sum += weights[i] * error[1];
    scale += fabsl(derivative[1]);
  }
  sp_expression *expression;
  CHECK_OK(sp_expression_parse_given(text, "f", NULL, "K", &expression));
  CHECK_OK(sp_expression_evaluate(expression, 1,
                                  (const double *const[]){&point[0], &point[1], &point[2]}, k,
                                  &value, slopes, &curvature));
  sp_expression_destroy(&expression);
  const jet j = jet_at(text, point[0], point[1], point[2]);
  CHECK(same_bits(j.value, value), "%s: value %.17g", text, value);
  for (int d = 0; d < 3; d++)
    CHECK_CLOSE(gradient[d], j.gradient[d], 1e-14 * (1 + fabs(gradient[d])));
  const real off = fabsl((real)curvature - sum);
  CHECK(off <= error_sum + 2500 * DBL_EPSILON * scale, "%s: K : grad grad u %.15g, not %.15Lg",
        text, curvature, sum);
  return (double)off;
}

/* The evaluator's own rounding: some 50 operations, each of relative error eps times terms that are
 * at most 50 times the largest derivative here: 2500 eps times (1 + that derivative). */
static void check_derivatives(void) {
  const double points[][3] = {{0.3, 0.4, 0.5}, {-0.6, 0.2, 0.7}, {0.5, -0.8, 0.1}};
  const double rounding = 2500 * DBL_EPSILON;
  double worst = 0;
  const char *text;
  real any;
  for (size_t k = 0; (text = outer(k, 1, 1, &any)); k++) {
    for (size_t q = 0; q < 3; q++) {
      const double *point = points[q];
      const jet j = jet_at(text, point[0], point[1], point[2]);
      const real value = composite(k, point, UNIT[0], 0);
      CHECK(fabsl((real)j.value - value) <= rounding * (1 + fabsl(value)), "%s: value %.17g", text,
            j.value);
      real laplacian = 0, laplacian_error = 0, scale = 1;
      for (int d = 0; d < 3; d++) {
        real derivative[2], error[2];
        differences(k, point, UNIT[d], derivative, error);
        CHECK(error[0] < 1e-9L && error[1] < 1e-9L, "%s: weak reference %Lg %Lg", text, error[0],
              error[1]);
        const real off = fabsl((real)j.gradient[d] - derivative[0]);
        CHECK(off <= error[0] + rounding * (1 + fabsl(derivative[0])),
              "%s: derivative %d is %.15g, not %.15Lg", text, d, j.gradient[d], derivative[0]);
        worst = fmax(worst, (double)off);
        laplacian += derivative[1];
        laplacian_error += error[1];
        scale += fabsl(derivative[1]);
      }
      const real off = fabsl((real)j.laplacian - laplacian);
      CHECK(off <= laplacian_error + rounding * scale, "%s: Laplacian %.15g, not %.15Lg", text,
            j.laplacian, laplacian);
      worst = fmax(worst, (double)off);
      worst = fmax(worst, check_curvature(text, k, point));
    }
  }
  printf("derivatives agree with differences to %.1e\n", worst);
}

static void check_infinite(const char *text) {
  CHECK(!isfinite(jet_at(text, 0, 0, 0).laplacian), "%s at 0", text);
}

/* Points where a naive rule gives NaN or loses digits. The tolerance is a few roundings. */
static void check_special_points(void) {
  const double t = 1e-13;
  const struct {
    const char *text;
    double x, first, second;
  } table[] = {{"tanh(x)", 30, 4 * exp(-60), -8 * exp(-60)},
               {"x^2", 0, 0, 2},

               {"x^3", 0, 0, 0},

               {"x^0", 0, 0, 0},
               {"x^2.5", 0, 0, 0},

               {"0^(x+1)", 0, 0, 0},
               {"x^(2+0*y)", 0, 0, 2},
               {"x^floor(2.5+0*y)", -3, -6, 2},
               {"x^(y+3)", 0, 0, 0},
               {"abs(x)", -2, -1, 0},

               {"x < 0", 1, 0, 0},

               {"!x", 1, 0, 0},
               {"sign(x)*x", -2, -1, 0},

               {"x > 0 ? sqrt(x) : 0", 0, 0, 0},
               {"x > 0 ? x*log(x) : x^2", 0, 0, 2},
               {"x > 0 ? x*log(x) : x^2", -1, -2, 2},
               {"x == 0 ? 1 : sin(x)/x", 0, 0, 0},
               {"if(x < 0, 1/(x-x), 3*x)", 1, 3, 0},
               {"if(x < 0, 3*x, log(-x*0-1))", -1, 3, 0},
               {"max(x, 2)", 3, 1, 0},
               {"max(x, 2)", 1, 0, 0}};
  for (size_t k = 0; k < COUNT_OF(table); k++) {
    const jet j = jet_at(table[k].text, table[k].x, 0, 0);
    const double scale =
        table[k].x > 20 ? exp(-60) : 1; /* the tail of tanh, with a relative tolerance */
    CHECK(fabs(j.gradient[0] - table[k].first) <= t * (scale + fabs(table[k].first)) &&
              fabs(j.laplacian - table[k].second) <= t * (scale + fabs(table[k].second)),
          "%s at %g: %.17g %.17g, not %.17g %.17g", table[k].text, table[k].x, j.gradient[0],
          j.laplacian, table[k].first, table[k].second);
    CHECK(!isnan(j.value) && j.gradient[1] == 0 && j.gradient[2] == 0,
          "%s depends on x only: %g %g", table[k].text, j.gradient[1], j.gradient[2]);
  }
  for_each("sqrt(x);cbrt(x);log(x);log(x - 1);x^0.5;x^1.5;asin(x+2);1/x;x^-1;atan2(x,y);sqrt(x^2);"
           "log10(x-1)",
           check_infinite);
  CHECK(!isfinite(jet_at("log(x)", -1, 0, 0).gradient[0]), "log has no derivative at -1");
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  check_derivatives();
  check_special_points();
  return check_end();
}
