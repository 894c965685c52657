/* Formulas: values compared with libm, and messages. Random input is in tests/fuzz/formula.c.
 */
#include "io/formula/program.h"

#include "tests/formula.h"

static const double PI = 3.14159265358979323846, E = 2.71828182845904523536;

/* The error of a function by io/formula/expression.h: 4 units in the last place, each at most
 * DBL_EPSILON of the value. Here libm adds its own error, below one unit. */
static const double FUNCTION_ERROR = 5 * DBL_EPSILON;

/* The point at which values are compared with libm. */
static const double X = 0.6, Y = -0.35, Z = 2.5;

static void check_value(const char *text, double expected) {
  const double value = value_at(text, X, Y, Z), with_jet = jet_at(text, X, Y, Z).value;
  CHECK(fabs(value - expected) <= FUNCTION_ERROR * fabs(expected), "%s = %.17g, not %.17g", text,
        value, expected);
  CHECK(same_bits(with_jet, value), "%s is %.17g with derivatives", text, with_jet);
}

static void check_true(const char *text) {
  check_value(text, 1);
}

static void check_constant(const char *text) {
  AUTO(sp_expression) expression = parse(text);
  CHECK(expression->is_constant, "%s", text);
}

static void check_variable(const char *text) {
  AUTO(sp_expression) expression = parse(text);
  CHECK(!expression->is_constant, "%s", text);
  CHECK_TEXT(expression->text, text);
  CHECK_TEXT(expression->where, "f");
  sp_expression_destroy(&expression);
  CHECK(!expression, "destroy sets NULL");
}

/* The same in C as in a formula. A power with a small integer exponent is n - 1 multiplications,
 * each with half a unit of rounding. */
static void check_values(void) {
  const double x = X, y = Y, z = Z;
#define LIKE_C(formula) check_value(#formula, formula)
#define OF_X(name) LIKE_C(name(x));
  FUNCTIONS(OF_X)
  LIKE_C(cbrt(y)), LIKE_C(floor(y)), LIKE_C(floor(z)), LIKE_C(atan2(y, x)), LIKE_C(pow(x, z));
  LIKE_C(pow(x, 3)), LIKE_C(x + y), LIKE_C(x - y), LIKE_C(x * y), LIKE_C(x / y), LIKE_C(-x);
  LIKE_C(+x), LIKE_C(1e-3), LIKE_C(1.5E+2), LIKE_C(0.1), LIKE_C(.5), LIKE_C(5.), LIKE_C(1);
  LIKE_C(123456789012345678901234567890.);
  check_value("x ^ y", pow(x, y)), check_value("x ** z", pow(x, z)), check_value("2^x", pow(2, x));
  check_value("x^-2", pow(x, -2)), check_value("x^9", pow(x, 9)), check_value("x^0.5", sqrt(x));
  check_value("pi", PI), check_value("e", E), check_value("1e-400", 0);
  for_each("sign(x);-sign(y);sign(x-x) == 0;!(x-x);!x == 0;x == x;x != y;y < x;x <= x;x > y;x >= x;"
           "x && y;x || 0;0 || x; \t( 1 )\r\n;!(x == y);!(x != x);!(x < y);!(x < x);!(x <= y);"
           "!(x > x);!(y >= x);!(x && 0);!(0 && x);!((x-x) || 0);abs(y) == -y;abs(x) == x;"
           "min(x, y) == y;min(y, x) == y;max(x, y) == x;max(y, x) == x;if(x > 0, y, z) == y;"
           "if(x < 0, y, z) == z",
           check_true);
  /* precedence and associativity */
  for_each("2^3^2 == 512;(2^3)^2 == 64;2**3**2 == 512;-2^2 == -4;(-2)^3 == -8;(-2)^-3 == -0.125;"
           "2^-2 == 0.25;-2^-2 == -0.25;2*-3 == -6;1-2-3 == -4;1-(2-3) == 2;8/4/2 == 1;8/4*2 == 4;"
           "1+2*3 == 7;2*3^2 == 18;- -3 == 3;1 - - 1 == 2;!0 + 1 == 2;!2^0 == 0;-!0 == -1;"
           "(1 ? 2 : 3 ? 4 : 5) == 2;(0 ? 2 : 3 ? 4 : 5) == 4;(0 ? 2 : 0 ? 4 : 5) == 5;"
           "(1 ? 0 ? 2 : 3 : 4) == 3;1 || 0 && 0;!(0 && 0 == 0);1 < 2 == 2 < 3;2 == 1 + 1;"
           "1 + 1 < 1 * 3;(0 || 0 ? 1 : 2) == 2",
           check_true);
  for (int n = 2; n <= 8; n++) {
    const char *text = test_text("x^%d", n);
    CHECK_CLOSE(value_at(text, 1.7, 0, 0) / pow(1.7, n), 1, n * DBL_EPSILON);
  }
  CHECK(isnan(value_at("min(x, sqrt(y))", x, y, z)), "min lets a NaN through");
  CHECK(isnan(value_at("max(sqrt(y), x)", x, y, z)), "max lets a NaN through");
  CHECK(value_at("x^0", 0, 0, 0) == 1, "0^0");
  for_each("1;2*pi;sin(1)^2;1 < 2 ? e : 0", check_constant);
  for_each("x;0*y;z^0;sign(x);1 ? 2 : z", check_variable);
}

static void check_smooth(const char *text) {
  AUTO(sp_expression) expression = parse(text);
  CHECK(expression->regularity == SP_SMOOTH, "%s", text);
}

static void check_jump(const char *text) {
  AUTO(sp_expression) expression = parse(text);
  CHECK(expression->regularity == SP_JUMPS, "%s", text);
}

static void check_kink(const char *text) {
  AUTO(sp_expression) expression = parse(text);
  CHECK(expression->regularity == SP_KINKS, "%s", text);
}

/* Formulas that may jump or have a kink, unless these are folded to constants. */
static void check_smoothness(void) {
  for_each("1;x;sin(x)*exp(y)/(1+z^2);-x^y+cbrt(z);1 < 2 ? x : y;x*min(1, 2);floor(1.5)*z;"
           "atan2(x, y)",
           check_smooth);
  for_each("x < 0.5 ? 1 : 100;if(y, 1, 2);1 + 99*(x > 0.5);x == y;x != y;x <= 1;x >= 1;x && y;"
           "x || y;!x;sign(y);floor(z);abs(x < 1)",
           check_jump);
  for_each("abs(x);min(x, 1);max(x, y) + 0", check_kink);
}

/* The bits do not depend on the set of requested outputs; the others are not touched. */
static void check_subsets(const sp_expression *expression, size_t n, const double *x,
                          const double *y, const double *z) {
  enum { MOST = 1000, OUTPUTS = SP_EXPRESSION_OUTPUTS };
  static double all[OUTPUTS][MOST], some[OUTPUTS][MOST];
  const double *const xyz[3] = {x, y, z};
  CHECK_OK(sp_expression_evaluate(expression, n, xyz, NULL, all[0],
                                  (double *const[]){all[1], all[2], all[3]}, all[4]));
  for (unsigned set = 0; set < 1u << OUTPUTS; set++) {
    double *out[OUTPUTS];
    for (size_t k = 0; k < OUTPUTS; k++) {
      out[k] = set & 1u << k ? some[k] : NULL;
      for (size_t i = 0; i < n; i++) some[k][i] = 7;
    }
    CHECK_OK(sp_expression_evaluate(expression, n, xyz, NULL, out[0], &out[1], out[4]));
    size_t differing = 0;
    for (size_t k = 0; k < OUTPUTS; k++)
      for (size_t i = 0; i < n; i++) differing += !same_bits(some[k][i], out[k] ? all[k][i] : 7);
    CHECK(differing == 0, "%s: %zu values differ with outputs %#x", expression->text, differing,
          set);
  }
}

/* Evaluating many points at once gives the same bits as one at a time. */
static void check_chunks(void) {
  enum { MOST = 1000 };
  static double x[MOST], y[MOST], z[MOST], value[MOST + 1], value_only[MOST + 1];
  static double gradient_store[3][MOST + 1], laplacian[MOST + 1];
  for (int i = 0; i < MOST; i++) {
    x[i] = sin(i + 0.1);
    y[i] = sin(1.7 * i + 0.2);
    z[i] = sin(2.3 * i + 0.3);
  }
  const char *const formulas[] = {"x",
                                  "3",
                                  "sin(pi*x)*sin(pi*y)*sin(pi*z)",
                                  "x < y ? log(x)^2/z : atan2(y, z)^x",
                                  "max(x, y)*min(y, z) - tan(x)^3 + abs(z)^y",
                                  "asin(x)*acos(y) + atan(z)*sinh(x) - cosh(y)*tanh(z)",
                                  "exp(x)*log10(y)/cbrt(z) - erf(x)*sqrt(y)",
                                  "sin(9e4*x)*cos(1e300*y*(x > 0)) + exp(x/y - y/(z - z))"};
  enum { FORMULAS = COUNT_OF(formulas) };
  const size_t counts[] = {0, 1, 2, 7, 8, 9, 63, 64, 65, 255, 256, 257, MOST};
  enum { COUNTS = COUNT_OF(counts) };
  for (size_t f = 0; f < FORMULAS; f++) {
    AUTO(sp_expression) expression = parse(formulas[f]);
    for (size_t c = 0; c < COUNTS; c++) {
      const size_t n = counts[c];
      double *const gradient[3] = {gradient_store[0], gradient_store[1], gradient_store[2]};
      value[n] = value_only[n] = laplacian[n] = gradient[0][n] = gradient[1][n] = gradient[2][n] =
          7;
      const double *const xyz[3] = {x, y, z};
      CHECK_OK(sp_expression_evaluate(expression, n, xyz, NULL, value_only, NULL, NULL));
      CHECK_OK(sp_expression_evaluate(expression, n, xyz, NULL, value, gradient, laplacian));
      size_t differing = 0;
      for (size_t i = 0; i < n; i++) {
        const jet j = jet_of(expression, x[i], y[i], z[i]);
        bool same = same_bits(value_only[i], value_of(expression, x[i], y[i], z[i])) &&
                    same_bits(value[i], j.value) && same_bits(laplacian[i], j.laplacian);
        for (int d = 0; d < 3; d++) same = same && same_bits(gradient[d][i], j.gradient[d]);
        differing += !same;
      }
      CHECK(differing == 0, "%s: %zu of %zu points differ", formulas[f], differing, n);
      CHECK(value[n] == 7 && value_only[n] == 7 && laplacian[n] == 7 && gradient[0][n] == 7 &&
                gradient[1][n] == 7 && gradient[2][n] == 7,
            "%s: wrote beyond %zu points", formulas[f], n);
    }
    check_subsets(expression, MOST, x, y, z);
  }
}

static void check_undefined(const char *text) {
  CHECK(isnan(jet_at(text, -1, 0.5, 0).value) && isnan(value_at(text, -1, 0.5, 0)), "%s at x = -1",
        text);
}

static void check_guarded(const char *text) {
  CHECK(value_at(text, -1, 0, 0) == 1, "%s at x = -1", text);
}

/* A condition that is not a number makes the result NaN, unless the result does not depend on
 * it. */
static void check_undefined_conditions(void) {
  for_each("log(x) < 0 ? 1 : 2;log(x) ? 1 : 2;if(log(x) >= 0, y, 1);!log(x);log(x) == log(x);"
           "log(x) != 0;1 > log(x);log(x) <= y;log(x) && 1;log(x) && 0;1 && log(x);log(x) || 1;"
           "0 || log(x);x && log(x) > 0;sign(log(x));(0*y)/(0*y) ? 1 : 2;log(x) < 0 ? x^2 : x^3",
           check_undefined);
  const jet j = jet_at("log(x) < 0 ? x^2 : x^3", -1, 0, 0);
  CHECK(isnan(j.gradient[0]) && isnan(j.laplacian), "derivatives %g %g", j.gradient[0],
        j.laplacian);
  for_each("(x > 0 && log(x) < 1) == 0;x < 0 || log(x) < 1;(x > 0 ? log(x) : 3) == 3;"
           "if(x < 0, 4, log(x) > 0) == 4;(0 && log(x)) == 0",
           check_guarded);
}

/* Instructions of the program for `outputs` (0: value; 1: and gradient; 2: and Laplacian). */
static size_t length_of(const char *text, int outputs) {
  AUTO(sp_expression) expression = parse(text);
  const size_t length = expression ? expression->code->programs[outputs].length : 0;
  return length;
}

/* Common subexpressions are computed once, and only for requested outputs. */
static void check_programs(void) {
  const struct {
    const char *text;
    size_t length[3]; /* value; and gradient; and Laplacian */
  } table[] = {{"2 + pi", {0, 0, 0}},
               {"exp(y)", {1, 1, 1}},              /* is all its derivatives */
               {"x*y + y*x", {2, 4, 4}},           /* one product, and y + y, x + x */
               {"sin(2*x)*sin(3*y)", {5, 9, 10}}}; /* the Laplacian is a multiple of the value */
  for (size_t k = 0; k < COUNT_OF(table); k++)
    for (int outputs = 0; outputs < 3; outputs++) {
      const size_t length = length_of(table[k].text, outputs);
      CHECK(length == table[k].length[outputs], "%s: %zu instructions for outputs %d, not %zu",
            table[k].text, length, outputs, table[k].length[outputs]);
    }
  CHECK(length_of("exp(x*y)*sin(x) + exp(y*x)*sin(x)", 2) == length_of("exp(x*y)*sin(x)", 2) + 4,
        "a term that occurs twice is computed twice");
}

#define NAMES                                                                                      \
  "known names are x, y, z, pi, e, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, exp, log, "  \
  "log10, sqrt, cbrt, abs, erf, sign, floor, atan2, pow, min, max, if, table"

static void check_messages(void) {
  const struct {
    const char *text, *message;
  } table[] = {
      {"", "column 1: expected a formula, found end of formula"},
      {"(x + 1 y", "column 8: expected ')', found 'y'"},
      {"x)", "column 2: expected an operator or end of formula, found ')'"},
      {"2pi", "column 2: expected an operator or end of formula, found 'pi'"},
      {"x(3)", "column 2: expected an operator or end of formula, found '('"},
      {"0x10", "column 2: expected an operator or end of formula, found 'x10'"},
      {"1,5", "column 2: expected an operator or end of formula, found ','"},
      {"1e", "column 2: expected an operator or end of formula, found 'e'"},
      {".", "column 1: expected a number, a name or '(', found '.'"},
      {"x +", "column 4: expected a number, a name or '(', found end of formula"},
      {"x + * y", "column 5: expected a number, a name or '(', found '*'"},
      {"x = 1", "column 3: expected an operator or end of formula, found '=' (to compare, write "
                "'==')"},
      {"x & y", "column 3: expected an operator or end of formula, found '&' (for 'and', write "
                "'&&')"},
      {"x | y", "column 3: expected an operator or end of formula, found '|' (for 'or', write "
                "'||')"},
      {"x == y == z", "column 8: expected '&&' or parentheses between comparisons, found '=='"},
      {"0 < x < 1", "column 7: expected '&&' or parentheses between comparisons, found '<'"},
      {"x ? y", "column 6: expected ':', found end of formula"},
      {"x : y", "column 3: expected an operator or end of formula, found ':'"},
      {"sin x", "column 5: expected '(' after sin, found 'x'"},
      {"sin()", "column 5: expected an argument, found ')': sin takes 1 argument"},
      {"sin(x, y)", "column 6: expected ')', found ',': sin takes 1 argument"},
      {"atan2(y)", "column 8: expected ',', found ')': atan2 takes 2 arguments"},
      {"1 + max(x, y, z)", "column 13: expected ')', found ',': max takes 2 arguments"},
      {"if(x, y)", "column 8: expected ',', found ')': if takes 3 arguments"},
      {"x + foo", "column 5: unknown name 'foo'; " NAMES},
      {"X", "column 1: unknown name 'X'; " NAMES},
      {"1e999", "column 1: expected a number below 1.8e308, found '1e999'"},
      {"2 \xC3\x97 x",
       "column 3: expected an operator or end of formula, found '\xC3\x97' (U+00D7, not ASCII)"},
      {"\xE2\x88\x92x",
       "column 1: expected a number, a name or '(', found '\xE2\x88\x92' (U+2212, not ASCII)"},
      {"x\xFFy", "column 2: expected an operator or end of formula, found byte 0xFF"},
      {"x; y", "column 2: expected an operator or end of formula, found ';'"},
      {"x @ y", "column 3: expected an operator or end of formula, found '@'"},
  };
  for (size_t k = 0; k < COUNT_OF(table); k++) {
    const char *expected = test_text("case.ini:12: problem.solution: %s", table[k].message);
    AUTO(sp_expression) expression = NULL;
    const sp_status status =
        sp_expression_parse(table[k].text, "case.ini:12: problem.solution", NULL, &expression);
    CHECK(status == SP_ERR_INPUT && !expression, "'%s' gave status %d", table[k].text, (int)status);
    CHECK_TEXT(sp_error_message(), expected);
  }
}

/* `open` and `close` count times around x. */
static char *nest(const char *open, size_t count, const char *close) {
  char *text = test_array(count * (strlen(open) + strlen(close)) + 2, 1), *end = text;
  for (size_t k = 0; k < count; k++) end = stpcpy(end, open);
  end = stpcpy(end, "x");
  for (size_t k = 0; k < count; k++) end = stpcpy(end, close);
  return text;
}

static void check_too_deep(const char *open) {
  char *text = nest(open, 100000, "");
  sp_expression *expression;
  CHECK_FAILS(sp_expression_parse(text, "f", NULL, &expression), SP_ERR_INPUT,
              "nested more than 200 levels deep");
}

/* Long formulas work; deep ones work up to a limit and are refused beyond it. */
static void check_size(void) {
  char *text = nest("", 100000, "+x");
  const jet j = jet_at(text, 0.5, 0, 0);
  CHECK(j.value == 50000.5 && j.gradient[0] == 100001, "%g %g", j.value, j.gradient[0]);
  text = nest("sin(", 150, ")");
  double expected = 0.5;
  for (int k = 0; k < 150; k++) expected = sin(expected);
  /* |cos| <= 1: no call enlarges the errors of inner calls. */
  CHECK_CLOSE(value_at(text, 0.5, 0, 0), expected, 150 * FUNCTION_ERROR * sin(0.5));
  text = nest("sin(x)+(", 90, ")");
  CHECK_CLOSE(value_at(text, 0.5, 0, 0), 90 * sin(0.5) + 0.5, 90 * 90 * DBL_EPSILON);
  for_each("(;-;2^;sin(;x?;x?1:;sin(x)+sin(y)*(", check_too_deep);
}

/* u is a variable in formulas of u only; its values are given. More points than a chunk has. */
static void check_of_u(void) {
  enum { N = 1000 };
  static double x[N], y[N], z[N], u[N], value[N];
  static const struct {
    const char *text;
    bool constant, smooth;
  } cases[] = {{"u*x + y - z/2", false, true},
               {"u", false, true},
               {"u > 0.5 ? u^2 : -u", false, false},
               {"2*pi", true, true}};
  for (int p = 0; p < N; p++) {
    x[p] = 0.1 * p;
    y[p] = 3 - p;
    z[p] = p % 7;
    u[p] = p % 3 - 0.25;
  }
  for (size_t c = 0; c < COUNT_OF(cases); c++) {
    AUTO(sp_expression) expression = NULL;
    const sp_status status = sp_expression_parse_given(cases[c].text, "f", NULL, "u", &expression);
    CHECK(!status, "%s: %s", cases[c].text, sp_error_message());
    if (status) continue;
    CHECK(expression->is_constant == cases[c].constant &&
              (expression->regularity == SP_SMOOTH) == cases[c].smooth,
          "%s: constant or smooth", cases[c].text);
    CHECK_OK(sp_expression_evaluate(expression, N, (const double *const[]){x, y, z}, u, value, NULL,
                                    NULL));
    for (int p = 0; p < N; p++) {
      const double expected[] = {u[p] * x[p] + y[p] - z[p] / 2, u[p],
                                 u[p] > 0.5 ? u[p] * u[p] : -u[p], 2 * PI};
      CHECK_CLOSE(value[p], expected[c], 4 * DBL_EPSILON * fabs(expected[c]) + 1e-15);
    }
  }
  sp_expression *expression;
  CHECK_FAILS(sp_expression_parse("x + u", "f", NULL, &expression), SP_ERR_INPUT,
              "column 5: unknown name 'u'; known names are x, y, z, pi,");
  CHECK_FAILS(sp_expression_parse_given("x + v", "f", NULL, "u", &expression), SP_ERR_INPUT,
              "known names are x, y, z, u, pi,");
}

/* The derivative by u. */
static void check_along_u(void) {
  static const double U = 0.7;
  static const char *const texts[] = {"10*x - u^3", "exp(-u*y)*sin(u)", "u > x ? 1/u : 2*u", "y"};
  const double expected[] = {-3 * U * U, exp(-U * Y) * (cos(U) - Y * sin(U)),
                             U > X ? -1 / (U * U) : 2, 0};
  for (size_t i = 0; i < COUNT_OF(texts); i++) {
    AUTO(sp_expression) f = NULL;
    double value, x, y, z, *const gradient[3] = {&x, &y, &z};
    const double at[3] = {X, Y, Z}, *const xyz[3] = {&at[0], &at[1], &at[2]};
    CHECK_OK(sp_expression_parse_given(texts[i], "f", NULL, "du", &f));
    CHECK_OK(sp_expression_evaluate(f, 1, xyz, &U, &value, gradient, NULL));
    CHECK_CLOSE(x, expected[i], 4 * FUNCTION_ERROR * fabs(expected[i]));
    CHECK(y == 0 && z == 0, "%s: derivatives %g, %g", texts[i], y, z);
    CHECK(sp_expression_has_name(texts[i], "u") == (i < 3), "%s", texts[i]);
  }
  CHECK(!sp_expression_has_name("u0 + sinu(1)", "u"), "a name within a name");
}

/* The time of a scope has one value everywhere, which later evaluations read anew. */
static void check_of_t(void) {
  AUTO(sp_scope) scope = NULL;
  AUTO(sp_expression) f = NULL;
  AUTO(sp_expression) rate = NULL;
  AUTO(sp_expression) step = NULL;
  static const char text[] = "x*sin(3*t) + t^2", *const of_t[] = {"cos(t)", "t", "-t", "exp(t)"};
  CHECK_OK(sp_allocate(1, sizeof *scope, "scope", &scope));
  CHECK_FAILS(sp_expression_parse("t", "f", scope, &f), SP_ERR_INPUT, "unknown name 't'");
  CHECK_OK(sp_scope_add_time(scope));
  CHECK_OK(sp_expression_parse(text, "f", scope, &f));
  CHECK_OK(sp_expression_parse_given(text, "f", scope, "t", &rate));
  CHECK_OK(sp_expression_parse("t < 1 ? x : 2", "f", scope, &step));
  CHECK(f->is_of_t && !f->is_constant, "%s depends on t", text);
  CHECK(step->regularity == SP_SMOOTH, "a jump in time is none in space");
  for (double t = 0.25; t < 3; t *= 3) {
    sp_scope_set_time(scope, t);
    const double expected = X * sin(3 * t) + t * t;
    CHECK_CLOSE(value_of(f, X, Y, Z), expected, FUNCTION_ERROR * (X + t * t));
    CHECK_CLOSE(jet_of(f, X, Y, Z).gradient[0], sin(3 * t), FUNCTION_ERROR);
    CHECK_CLOSE(jet_of(rate, X, Y, Z).gradient[0], 3 * X * cos(3 * t) + 2 * t,
                FUNCTION_ERROR * (3 * X + 2 * t));
    CHECK_CLOSE(value_of(step, X, Y, Z), t < 1 ? X : 2, 0);
  }
  for (size_t i = 0; i < COUNT_OF(of_t); i++) { /* more points than a chunk */
    enum { N = 1000 };
    static double zeros[N], value[N];
    AUTO(sp_expression) e = NULL;
    sp_scope_set_time(scope, 0.75);
    const double expected[] = {cos(0.75), 0.75, -0.75, exp(0.75)};
    CHECK_OK(sp_expression_parse(of_t[i], "f", scope, &e));
    CHECK_OK(sp_expression_evaluate(e, N, (const double *const[]){zeros, zeros, zeros}, NULL, value,
                                    NULL, NULL));
    for (int p = 0; p < N; p++)
      CHECK_CLOSE(value[p], expected[i], FUNCTION_ERROR * fabs(expected[i]));
  }
  CHECK_FAILS(sp_scope_define(scope, "t", "1", "c"), SP_ERR_INPUT, "means nothing else");
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  check_values();
  check_along_u();
  check_smoothness();
  check_chunks();
  check_undefined_conditions();
  check_programs();
  check_messages();
  check_size();
  check_of_u();
  check_of_t();
  return check_end();
}
