/* The record as a JSON document and on the terminal: the output has the added values, of any kind.
 * The log is in tests/run_log.c; tests/json_output.py reads whole documents back. */
#include "io/record.h"

#include <float.h>
#include <unistd.h>

#include "tests/check.h"

static void expect(sp_record *record, const char *expected) {
  char *text;
  CHECK_OK(sp_record_format(record, &text));
  if (text) CHECK_TEXT(text, expected);
  free(text);
}

static sp_record *create(void) {
  sp_record *record;
  CHECK_OK(sp_record_create(&record));
  return record;
}

static void test_values(void) {
  AUTO(sp_record) record = create();
  expect(record, "{}\n");
  sp_record_text(record, "text", "quote \" backslash \\ line\n");
  sp_record_text(record, "none", NULL);
  sp_record_integer(record, "large", INT64_MAX);
  sp_record_integer(record, "small", INT64_MIN);
  sp_record_real(record, "nan", NAN, NULL);
  sp_record_real(record, "below", -INFINITY, NULL);
  expect(record, "{\n  \"text\": \"quote \\\" backslash \\\\ line\\n\",\n  \"none\": null,\n"
                 "  \"large\": 9223372036854775807,\n  \"small\": -9223372036854775808,\n"
                 "  \"nan\": null,\n  \"below\": null\n}\n");
}

/* Reals are read back to the same bits. */
static void test_digits(void) {
  static const double values[] = {0.1,     1.0 / 3, -2e-17, 1e300, DBL_MIN,
                                  DBL_MAX, 5e-324,  0,      -0.0,  123456789.0123456789};
  for (size_t v = 0; v < COUNT_OF(values); v++) {
    AUTO(sp_record) record = create();
    char *text = NULL;
    sp_record_real(record, "x", values[v], NULL);
    CHECK_OK(sp_record_format(record, &text));
    const char *number = text ? strstr(text, ": ") : NULL;
    CHECK(number, "no value");
    const double read = number ? strtod(number + 2, NULL) : 0;
    CHECK(memcmp(&read, &values[v], sizeof read) == 0, "%.17g instead of %.17g", read, values[v]);
    free(text);
  }
}

/* Objects and tables that are opened again grow, texts keep their position; a member of another
 * kind starts anew. */
static void test_nesting(void) {
  AUTO(sp_record) record = create();
  sp_record_text(record, "status", NULL);
  sp_record_open(record, SP_RECORD_OBJECT, "case");
  sp_record_open(record, SP_RECORD_OBJECT, "material");
  sp_record_close(record);
  sp_record_close(record);
  for (int r = 0; r < 2; r++) {
    sp_record_open(record, SP_RECORD_TABLE, "rows");
    sp_record_open(record, SP_RECORD_ROW, NULL);
    sp_record_integer(record, "n", r);
    sp_record_close(record);
    sp_record_close(record);
  }
  sp_record_open(record, SP_RECORD_OBJECT, "case");
  sp_record_open(record, SP_RECORD_LIST, "list");
  sp_record_real(record, NULL, 2, NULL);
  sp_record_close(record);
  sp_record_close(record);
  sp_record_text(record, "gone", "text");
  sp_record_open(record, SP_RECORD_ROW, "gone");
  sp_record_close(record);
  sp_record_text(record, "status", "good");
  expect(record,
         "{\n  \"status\": \"good\",\n  \"case\": {\n    \"material\": {},\n    \"list\": [\n"
         "      2.0\n    ]\n  },\n  \"rows\": [\n    {\n      \"n\": 0\n    },\n    {\n"
         "      \"n\": 1\n    }\n  ],\n  \"gone\": {}\n}\n");
}

/* Text of a case may have any bytes but zero. */
static void test_bytes(void) {
#define BAD "\xEF\xBF\xBD"
  static const struct {
    const char *given, *written;
  } cases[] = {
      {"\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80", "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80"},
      {"W\xE4rme", "W" BAD "rme"},           /* Latin-1 */
      {"\xC0\xAF", BAD BAD},                 /* overlong */
      {"\xE0\x9F\xBF", BAD BAD BAD},         /* overlong */
      {"\xED\xA0\x80", BAD BAD BAD},         /* a surrogate */
      {"\xF4\x90\x80\x80", BAD BAD BAD BAD}, /* beyond U+10FFFF */
      {"\xE2\x82", BAD BAD},                 /* cut off */
      {"\xF0\x9F\x98", BAD BAD BAD},         /* cut off */
      {"\x80", BAD},                         /* without a first byte */
      {"\xF4\x8F\xBF\xBF\xED\x9F\xBF", "\xF4\x8F\xBF\xBF\xED\x9F\xBF"},
  };
#undef BAD
  for (size_t c = 0; c < COUNT_OF(cases); c++) {
    AUTO(sp_record) record = create();
    sp_record_text(record, cases[c].given, cases[c].given);
    const char *expected =
        test_text("{\n  \"%s\": \"%s\"\n}\n", cases[c].written, cases[c].written);
    expect(record, expected);
  }
}

/* Layouts: values by format, plurals, factors, parts that are left out. */
static void test_terminal(void) {
  static const char expected[] = "  3 parts, 1 part |   x|L2 1.50e-09 25.0 %|no d|"
                                 " 1 one\n 2 two\n%s]";
  char printed[256] = "", path[] = "/tmp/sp_test_record_XXXXXX";
  sp_terminal terminal = {.prints = true};
  AUTO(sp_record) record = create();
  sp_record_integer(record, "three", 3);
  sp_record_integer(record, "one", 1);
  sp_record_text(record, "text", "x");
  sp_record_text(record, "empty", "");
  sp_record_real(record, "share", 0.25, "1");
  sp_record_open(record, SP_RECORD_ROW, "errors");
  sp_record_real(record, "L2", 1.5e-9, NULL);
  sp_record_close(record);
  sp_record_open(record, SP_RECORD_TABLE, "rows");
  for (int row = 1; row <= 2; row++) {
    sp_record_open(record, SP_RECORD_ROW, NULL);
    sp_record_integer(record, "n", row);
    sp_record_text(record, "name", row == 1 ? "one" : "two");
    sp_record_close(record);
  }
  sp_record_close(record);
  const int file = mkstemp(path), out = dup(STDOUT_FILENO);
  fflush(stdout);
  CHECK(file >= 0 && out >= 0 && dup2(file, STDOUT_FILENO) >= 0, "cannot redirect to %s", path);
  sp_record_print(
      record, &terminal,
      "{three:3d} part{three?s}, {one:d} part{one?s} |{text:4s}|"
      "[L2 {errors.L2:.2e} {share*100:.1f} %][a {errors.H1:e}][b {empty:s}][c {none.L2:e}]"
      "[|no d[ {gone:d}]|]");
  sp_record_print_rows(record, &terminal, "rows", "{n:2d} {name:s}\n");
  sp_record_print_rows(record, &terminal, "none", "{n:2d}\n");
  sp_terminal_print(&terminal, "%s]", "%s");
  fflush(stdout);
  CHECK(pread(file, printed, sizeof printed - 1, 0) >= 0, "cannot read %s", path);
  dup2(out, STDOUT_FILENO);
  close(out);
  close(file);
  unlink(path);
  CHECK_TEXT(printed, expected);
}

/* Many members: each name is still there once, also after the object began anew. */
static void test_many(void) {
  AUTO(sp_record) record = create();
  for (int kind = SP_RECORD_LIST; kind >= SP_RECORD_OBJECT; kind--) {
    for (int n = 0; n < 2000; n++) {
      sp_record_open(record, SP_RECORD_OBJECT, "material");
      sp_record_integer(record, test_text("%d", n % 1000), n);
      sp_record_close(record);
    }
    sp_record_open(record, (sp_record_kind)kind, "material");
    sp_record_close(record);
  }
  const sp_record_node *node = sp_record_root(record)->first->first;
  int count = 0;
  for (; node; node = node->next, count++)
    CHECK(atoi(node->name) == count && node->integer == 1000 + count, "%s: %lld", node->name,
          (long long)node->integer);
  CHECK(count == 1000, "%d members", count);
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  test_many();
  test_values();
  test_digits();
  test_nesting();
  test_bytes();
  test_terminal();
  return check_end();
}
