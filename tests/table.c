#define _POSIX_C_SOURCE 200809L /* mkdtemp */
/* Tables in formulas: values and derivatives at, between and outside the points, and wrong files.
 */
#include "io/formula/expression.h"

#include <float.h>
#include <unistd.h>

#include "tests/check.h"

static char folder[] = "/tmp/sp_table_XXXXXX/";

static void write_table(const char *text) {
  char path[64];
  snprintf(path, sizeof path, "%st.csv", folder);
  FILE *stream = fopen(path, "w");
  CHECK(stream && fputs(text, stream) >= 0 && fclose(stream) == 0, "cannot write %s", path);
}

/* Read t.csv anew for a formula. */
static sp_status read_for(const char *formula, sp_scope **scope, sp_expression **out) {
  *out = NULL;
  SP_TRY(sp_allocate(1, sizeof **scope, "constants", scope));
  SP_TRY(sp_tables_read(&(*scope)->tables, formula, folder, "case.ini:7"));
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
  write_table("# x, y\n\n1, 10 # first\n 2 30\r\n4\t,\t0");
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
  write_table("\xEF\xBB\xBF-1 -2\n1e1 31\n"); /* with a byte order mark, as Excel writes */
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

static void test_errors(void) {
  static const struct {
    const char *table, *formula, *message; /* after "case.ini:7: FOLDER/" or, from "f: ", whole */
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
      {"1 2\n2 3\n", "table(\"t.csv\", x, 2)", "f: column 17: expected ')', found ','"},
      {"1 2\n2 3\n", "table(\"t.csv, x)",
       "f: column 7: expected the name of a file in quotes, found '\"'"},
      {"1 2\n2 3\n", "table x", "f: column 7: expected '(' after table, found 'x'"}};
  for (size_t k = 0; k < COUNT_OF(errors); k++) {
    AUTO(sp_scope) scope = NULL;
    AUTO(sp_expression) f = NULL;
    char message[256];
    const bool whole = strncmp(errors[k].message, "f: ", 3) == 0;
    write_table(errors[k].table);
    CHECK(read_for(errors[k].formula, &scope, &f) == SP_ERR_INPUT, "%s", errors[k].formula);
    snprintf(message, sizeof message, "%s%s%s", whole ? "" : "case.ini:7: ", whole ? "" : folder,
             errors[k].message);
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
  char path[64];
  test_begin(&argc, &argv);
  folder[strlen(folder) - 1] = '\0';
  CHECK(mkdtemp(folder), "no folder");
  folder[strlen(folder)] = '/';
  test_values();
  test_formulas();
  test_errors();
  snprintf(path, sizeof path, "%st.csv", folder);
  unlink(path);
  rmdir(folder);
  return check_end();
}
