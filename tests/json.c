/* JSON documents: what is written is what was added, whatever the values. tests/json_output.py
 * reads whole documents back. */
#include "io/json.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/check.h"

static void expect(sp_json *json, const char *expected) {
  char *text;
  CHECK(sp_json_format(json, &text) == SP_OK, "%s", sp_error_message());
  if (text) CHECK(strcmp(text, expected) == 0, "'%s' instead of '%s'", text, expected);
  free(text);
}

static sp_json *create(void) {
  sp_json *json;
  CHECK(sp_json_create(&json) == SP_OK, "%s", sp_error_message());
  return json;
}

static void test_values(void) {
  sp_json *json = create();
  expect(json, "{}\n");
  sp_json_text(json, "text", "quote \" backslash \\ line\n");
  sp_json_text(json, "none", NULL);
  sp_json_integer(json, "large", INT64_MAX);
  sp_json_integer(json, "small", INT64_MIN);
  sp_json_real(json, "nan", NAN);
  sp_json_real(json, "above", INFINITY);
  sp_json_real(json, "below", -INFINITY);
  expect(json, "{\n"
               "  \"text\": \"quote \\\" backslash \\\\ line\\n\",\n"
               "  \"none\": null,\n"
               "  \"large\": 9223372036854775807,\n"
               "  \"small\": -9223372036854775808,\n"
               "  \"nan\": null,\n"
               "  \"above\": null,\n"
               "  \"below\": null\n"
               "}\n");
  sp_json_destroy(&json);
  CHECK(!json, "the pointer to a document that was destroyed");
  sp_json_destroy(&json);
}

/* Reals are read back to the same bits. */
static void test_digits(void) {
  static const double values[] = {0.1,
                                  1.0 / 3,
                                  -2e-17,
                                  1e300,
                                  DBL_MIN,
                                  DBL_MAX,
                                  5e-324,
                                  6.02e23,
                                  0,
                                  -0.0,
                                  123456789.0123456789,
                                  DBL_EPSILON};
  for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
    sp_json *json = create();
    char *text = NULL;
    sp_json_real(json, "x", values[v]);
    CHECK(sp_json_format(json, &text) == SP_OK, "%s", sp_error_message());
    const char *number = text ? strstr(text, ": ") : NULL;
    CHECK(number, "no value");
    const double read = number ? strtod(number + 2, NULL) : 0;
    CHECK(memcmp(&read, &values[v], sizeof read) == 0, "%.17g instead of %.17g", read, values[v]);
    free(text);
    sp_json_destroy(&json);
  }
}

static void test_nesting(void) {
  sp_json *json = create();
  sp_json_text(json, "status", NULL);
  sp_json_open_object(json, "case");
  sp_json_open_object(json, "material");
  sp_json_close(json);
  sp_json_close(json);
  sp_json_open_array(json, "rows");
  for (int r = 0; r < 2; r++) {
    sp_json_open_object(json, NULL);
    sp_json_integer(json, "n", r);
    sp_json_close(json);
  }
  sp_json_real(json, NULL, 0.5);
  sp_json_close(json);
  sp_json_open_object(json, "case"); /* again: it keeps what it has */
  sp_json_open_array(json, "list");
  sp_json_close(json);
  sp_json_close(json);
  sp_json_text(json, "status", "good"); /* again: at its old position */
  expect(json, "{\n"
               "  \"status\": \"good\",\n"
               "  \"case\": {\n"
               "    \"material\": {},\n"
               "    \"list\": []\n"
               "  },\n"
               "  \"rows\": [\n"
               "    {\n"
               "      \"n\": 0\n"
               "    },\n"
               "    {\n"
               "      \"n\": 1\n"
               "    },\n"
               "    0.5\n"
               "  ]\n"
               "}\n");
  sp_json_destroy(&json);
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
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    char expected[64];
    sp_json *json = create();
    sp_json_text(json, cases[c].given, cases[c].given);
    snprintf(expected, sizeof expected, "{\n  \"%s\": \"%s\"\n}\n", cases[c].written,
             cases[c].written);
    expect(json, expected);
    sp_json_destroy(&json);
  }
}

/* Without a document nothing happens. */
static void test_none(void) {
  sp_json_text(NULL, "a", "b");
  sp_json_integer(NULL, "a", 1);
  sp_json_real(NULL, "a", 1);
  sp_json_open_object(NULL, "a");
  sp_json_open_array(NULL, "a");
  sp_json_close(NULL);
  CHECK(sp_error_message()[0] == '\0', "%s", sp_error_message());
}

static void test_target(void) {
  static const struct {
    const char *text; /* NULL: no file */
    sp_status status;
  } files[] = {{NULL, SP_OK},
               {"", SP_OK},
               {"{}\n", SP_OK},
               {"$MeshFormat\n", SP_ERR_INPUT},
               {"[mesh]\n", SP_ERR_INPUT}};
  char path[] = "/tmp/sp_test_json_XXXXXX";
  const int file = mkstemp(path);
  CHECK(file >= 0 && close(file) == 0, "cannot create %s", path);
  for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
    FILE *stream = files[f].text ? fopen(path, "w") : NULL;
    if (stream) CHECK(fputs(files[f].text, stream) >= 0 && fclose(stream) == 0, "cannot write");
    if (!files[f].text) unlink(path);
    CHECK(sp_json_check_target(path) == files[f].status, "file %zu: %s", f, sp_error_message());
  }
  unlink(path);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  test_none();
  test_values();
  test_digits();
  test_nesting();
  test_bytes();
  test_target();
  const int result = check_end(MPI_COMM_WORLD);
  MPI_Finalize();
  return result;
}
