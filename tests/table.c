/* Tables in formulas: values and derivatives at, between and outside the points, and wrong files.
 */
#include "io/formula/expression.h"

#include <float.h>

#include "tests/folders.h"

/* Read t.csv anew for a formula. */
static sp_status read_for(const char *formula, sp_scope **scope, sp_expression **out) {
  *out = NULL;
  SP_TRY(sp_allocate(1, sizeof **scope, "constants", scope));
  SP_TRY(sp_tables_read(&(*scope)->tables, formula, "", "case.ini:7"));
  return sp_expression_parse(formula, "f", *scope, out);
}

/* f(x) = 3 + table(2 x) of the points (1, 10), (2, 30), (4, 0): slopes 20 and -15. */
static void test_values(void) {
  static const struct {
    double x, value, slope;
  } expected[] = {{-7, 13, 0},      {0.4999, 13, 0},   {0.5, 13, 40}, {0.75, 23, 40},
                  {1, 33, -30},     {1.5, 18, -30},    {2, 3, 0},     {1e300, 3, 0},
                  {INFINITY, 3, 0}, {-INFINITY, 13, 0}};
  enum { COUNT = COUNT_OF(expected) };
  AUTO(sp_scope) scope = NULL;
  AUTO(sp_expression) f = NULL;
  write_text("t.csv", "# x, y\n\n1, 10 # first\n 2 30\r\n4\t,\t0");
  CHECK_OK(read_for("3 + table( \"t.csv\" , 2*x)", &scope, &f));
  if (f) {
    double x[COUNT], zero[COUNT] = {0}, value[COUNT], slope[COUNT], none[COUNT], laplacian[COUNT];
    for (int i = 0; i < COUNT; i++) x[i] = expected[i].x;
    CHECK_OK(sp_expression_evaluate(f, COUNT, (const double *const[]){x, zero, zero}, NULL, value,
                                    (double *const[]){slope, none, NULL}, laplacian));
    for (int i = 0; i < COUNT; i++) {
      CHECK_CLOSE(value[i], expected[i].value, 4 * DBL_EPSILON * 33);
      CHECK(slope[i] == expected[i].slope, "slope %g at %g", slope[i], x[i]);
      CHECK(none[i] == 0 && laplacian[i] == 0, "other derivatives at %g", x[i]);
    }
    const double nan = NAN;
    CHECK(!sp_expression_evaluate(f, 1, (const double *const[]){&nan, zero, zero}, NULL, value,
                                  NULL, NULL) &&
              isnan(value[0]),
          "NaN");
    CHECK(f->regularity != SP_SMOOTH && f->regularity != SP_JUMPS, "smooth or with jumps");
  }
}

/* The chain rule: the Laplacian of t(y^2), t = 3 y^2 + 1 between the points, is 6. One table is one
 * node: the difference is 0 without rounding. Also at a constant, and of u. */
static void test_formulas(void) {
  static const struct {
    const char *formula;
    double value, slope, laplacian;
  } expected[] = {{"table(\"t.csv\", y^2)", 13, 12, 6},
                  {"table(\"t.csv\", x) - table(\"t.csv\", x)", 0, 0, 0},
                  {"table(\"t.csv\", 5) + y", 18, 1, 0}};
  write_text("t.csv", "\xEF\xBB\xBF-1 -2\n1e1 31\n"); /* with a byte order mark, as Excel writes */
  for (size_t k = 0; k < COUNT_OF(expected); k++) {
    const double x = 0.3, y = 2, u = 1;
    double value, slope, laplacian, of_u;
    AUTO(sp_scope) scope = NULL;
    sp_expression *f, *g = NULL;
    CHECK_OK(read_for(expected[k].formula, &scope, &f));
    CHECK_OK(sp_expression_parse_given("table(\"t.csv\", u)", "g", scope, "u", &g));
    if (f && g) {
      const double *const xyz[3] = {&x, &y, &x};
      CHECK(scope->tables.count == 1, "%d tables", scope->tables.count);
      CHECK_OK(sp_expression_evaluate(f, 1, xyz, NULL, &value,
                                      (double *const[]){NULL, &slope, NULL}, &laplacian));
      CHECK_CLOSE(value, expected[k].value, 8 * DBL_EPSILON * 31);
      CHECK_CLOSE(slope, expected[k].slope, 8 * DBL_EPSILON * 31);
      CHECK_CLOSE(laplacian, expected[k].laplacian, 8 * DBL_EPSILON * 31);
      CHECK_OK(sp_expression_evaluate(g, 1, xyz, &u, &of_u, NULL, NULL));
      CHECK_CLOSE(of_u, 4, 8 * DBL_EPSILON * 31);
    }
    sp_expression_destroy(&f);
    sp_expression_destroy(&g);
  }
}

/* The map of f(x, y) at x = 0, 1, 3 and y = 0, 2, and 2 f(x, y) x; with a corner and without one,
 * in three notations. */
static void test_maps(void) {
  static const char *const files[] = {
      "y/x 0 1 3\n0 1 5 7\n2 3 11 -1\n", "# copper\n,0,1,3\n0,1,5,7\n2,3,11,-1\n",
      "0 1 3\n0 1 5 7\n2 3 11 -1\n", "99, 0, 1, 3\r\n0, 1, 5, 7,\r\n2, 3, 11, -1\r\n"};
  static const struct {
    double x, y, value, slope[2], mixed;
  } expected[] = {{0.5, 0.5, 4, {5, 2}, 2}, {0, 0, 1, {4, 1}, 2},   {2, 1, 5.5, {-2.5, -0.5}, -3.5},
                  {-1, 1, 2, {0, 1}, 0},    {0.5, 9, 7, {8, 0}, 0}, {9, -9, 7, {0, 0}, 0}};
  for (size_t k = 0; k < COUNT_OF(files); k++) {
    AUTO(sp_scope) scope = NULL;
    AUTO(sp_expression) f = NULL;
    AUTO(sp_expression) g = NULL;
    write_text("t.csv", files[k]);
    CHECK_OK(read_for("table(\"t.csv\", x, max(y, -100))", &scope, &f));
    CHECK_OK(sp_expression_parse("x*table(\"t.csv\", x, x + y)", "g", scope, &g));
    for (size_t i = 0; i < COUNT_OF(expected) && f && g; i++) {
      const double x = expected[i].x, y = expected[i].y, across = y - x;
      const double *const xyz[3] = {&x, &y, &x};
      double value, slope[2], laplacian;
      CHECK_OK(sp_expression_evaluate(f, 1, xyz, NULL, &value,
                                      (double *const[]){&slope[0], &slope[1], NULL}, &laplacian));
      CHECK_CLOSE(value, expected[i].value, 8 * DBL_EPSILON * 11);
      for (int d = 0; d < 2; d++) CHECK_CLOSE(slope[d], expected[i].slope[d], 1e-14);
      CHECK_CLOSE(laplacian, 0, 1e-14);
      /* grad g = (f + x (f_a + f_b), x f_b), lap g = 2 (f_a + f_b) + 2 x f_ab */
      CHECK_OK(sp_expression_evaluate(g, 1, (const double *const[]){&x, &across, &x}, NULL, &value,
                                      (double *const[]){&slope[0], &slope[1], NULL}, &laplacian));
      const double sum = expected[i].slope[0] + expected[i].slope[1];
      CHECK_CLOSE(value, x * expected[i].value, 1e-13);
      CHECK_CLOSE(slope[0], expected[i].value + x * sum, 1e-13);
      CHECK_CLOSE(slope[1], x * expected[i].slope[1], 1e-13);
      CHECK_CLOSE(laplacian, 2 * sum + 2 * x * expected[i].mixed, 1e-13);
    }
    CHECK(f && f->regularity == SP_KINKS, "not with kinks");
  }
}

static void test_errors(void) {
  static const struct {
    const char *table, *formula, *message; /* after "case.ini:7: " or, from "f: ", whole */
  } errors[] = {
      {"1 2\n2 x\n", "table(\"t.csv\", x)", "t.csv:2: expected two numbers, x and y, found '2 x'"},
      {"1 2 3\n", "table(\"t.csv\", x)", "t.csv:1: expected two numbers, x and y, found '1 2 3'"},
      {"1,,2\n", "table(\"t.csv\", x)", "t.csv:1: expected two numbers, x and y, found '1,,2'"},
      {"1 nan\n", "table(\"t.csv\", x)", "t.csv:1: expected two numbers, x and y, found '1 nan'"},
      {"\n1\n", "table(\"t.csv\", x)", "t.csv:2: expected two numbers, x and y, found '1'"},
      {"1 2\n#\n1 3\n", "table(\"t.csv\", x)", "t.csv:3: expected x above 1, found 1"},
      {"1 2\n", "table(\"t.csv\", x)", "t.csv: expected two lines or more with x and y, found 1"},
      {"1 2\n2 3\n", "table(t.csv, x)",
       "f: column 7: expected the name of a file in quotes, found 't'"},
      {"1 2\n2 3\n", "table(\"t.csv\")",
       "f: column 14: expected ',' and the argument of the table, found ')'"},
      {"1 2\n2 3\n", "table(\"t.csv\", x, 2)",
       "t.csv:2: expected y and one value for each x of line 1, two or more; found 2 numbers"},
      {"1 2\n2 3\n", "table(\"t.csv\", x, y, z)", "f: column 20: expected ')', found ','"},
      {"y,1,2\n0,3,4\n0,3,4\n", "table(\"t.csv\", x, y)", "t.csv:3: expected y above 0, found 0"},
      {"1 1 2\n0 3 4 5\n", "table(\"t.csv\", x, y)", "t.csv:1: expected x above 1, found 1"},
      {"1 2\n\n0 3 4\n1 3\n", "table(\"t.csv\", x, y)",
       "t.csv:4: expected y and one value for each x of line 1, two or more; found 2 numbers"},
      {"y 1 2\n0 3 w\n", "table(\"t.csv\", x, y)", "t.csv:2: expected numbers, found '0 3 w'"},
      {"1 2\n0 3 4\n", "table(\"t.csv\", x, y)",
       "t.csv: expected a line of x and two or more of y and values at each x"},
      {"1 2\n2 3\n", "table(\"t.csv, x)",
       "f: column 7: expected the name of a file in quotes, found '\"'"},
      {"1 2\n2 3\n", "table x", "f: column 7: expected '(' after table, found 'x'"}};
  for (size_t k = 0; k < COUNT_OF(errors); k++) {
    AUTO(sp_scope) scope = NULL;
    AUTO(sp_expression) f = NULL;
    char message[256];
    const bool whole = strncmp(errors[k].message, "f: ", 3) == 0;
    write_text("t.csv", errors[k].table);
    CHECK(read_for(errors[k].formula, &scope, &f) == SP_ERR_INPUT, "%s", errors[k].formula);
    snprintf(message, sizeof message, "%s%s", whole ? "" : "case.ini:7: ", errors[k].message);
    CHECK_TEXT(sp_error_message(), message);
  }
  sp_expression *f;
  AUTO(sp_scope) scope = NULL;
  CHECK_FAILS(read_for("table(\"/dev/zero\", x)", &scope, &f), SP_ERR_INPUT,
              "the table '/dev/zero' is not a regular file");
  CHECK(sp_expression_parse("table(\"t.csv\", x)", "f", NULL, &f) == SP_ERR_INPUT, "no scope");
  CHECK(!sp_expression_allows_name("table"), "a constant called table");
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  enter_folder();
  test_values();
  test_formulas();
  test_maps();
  test_errors();
  leave_folder(TEXTS("t.csv"));
  return check_end();
}
