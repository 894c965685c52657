/* The values of keys: text to field and back. */
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/config/internal.h"
#include "solver/problem/conductivity.h"

void sp_words_list(const char *const *words, char text[SP_DESCRIPTION_SIZE]) {
  text[0] = '\0';
  for (int w = 0; words[w]; w++) {
    const size_t length = strlen(text);
    const char *separator = w == 0 ? "" : words[w + 1] ? ", " : " or ";
    snprintf(text + length, SP_DESCRIPTION_SIZE - length, "%s%s", separator, words[w]);
  }
}

void sp_key_describe(const sp_key *key, char text[SP_DESCRIPTION_SIZE]) {
  if (key->type->expected)
    snprintf(text, SP_DESCRIPTION_SIZE, "%s", key->type->expected);
  else
    key->type->describe(key, text);
}

sp_status sp_key_fail(const sp_key *key, const char *text, const char *where) {
  char expected[SP_DESCRIPTION_SIZE], shown[SP_SHOWN_SIZE];
  sp_key_describe(key, expected);
  if (*text == '\0')
    return sp_fail(SP_ERR_INPUT, "%s: expected %s, found nothing", where, expected);
  return sp_fail(SP_ERR_INPUT, "%s: expected %s, found '%s'", where, expected,
                 sp_ini_show(text, shown));
}

sp_status sp_key_set(const sp_key *key, const char *text, const char *where, void *field) {
  if (*text == '\0' && !key->optional) return sp_key_fail(key, text, where);
  if (key->type->parse) return key->type->parse(key, text, where, field);
  return key->type->read(key, text, field) ? SP_OK : sp_key_fail(key, text, where);
}

static bool is_in_range(const sp_key *key, double value) {
  return (key->minimum_excluded ? value > key->minimum : value >= key->minimum) &&
         (key->maximum_excluded ? value < key->maximum : value <= key->maximum);
}

/* True if `end` is where a number may end: at white space or at the end of the text. */
static bool is_number_end(const char *begin, const char *end) {
  return end != begin && (*end == '\0' || strchr(SP_INI_SPACE, *end));
}

static bool is_blank(const char *text) {
  return text[strspn(text, SP_INI_SPACE)] == '\0';
}

/* Read one integer in the key's range and advance *rest past it. */
static bool read_integer(const sp_key *key, const char **rest, int *out) {
  char *end;
  errno = 0;
  const long value = strtol(*rest, &end, 10);
  if (errno != 0 || !is_number_end(*rest, end) || value < INT_MIN || value > INT_MAX ||
      !is_in_range(key, (double)value))
    return false;
  *out = (int)value;
  *rest = end;
  return true;
}

/* ---- Integers ---- */

static void describe_integers(const sp_key *key, char text[SP_DESCRIPTION_SIZE]) {
  char quantity[32];
  snprintf(quantity, sizeof quantity,
           key->is_list     ? "at most %d integers"
           : key->count > 1 ? "%d integers"
                            : "an integer",
           key->count);
  snprintf(text, SP_DESCRIPTION_SIZE, "%s from %.0f to %.0f", quantity, key->minimum, key->maximum);
}

static bool read_integers(const sp_key *key, const char *text, void *field) {
  sp_list list = {0};
  for (const char *rest = text; !is_blank(rest); list.count++)
    if (list.count == key->count || !read_integer(key, &rest, &list.values[list.count]))
      return false;
  if (!key->is_list && list.count != key->count) return false;
  memcpy(field, key->is_list ? (void *)&list : list.values,
         key->is_list ? sizeof list : (size_t)key->count * sizeof *list.values);
  return true;
}

static void print_integers(const sp_key *key, const void *field, FILE *stream) {
  const sp_list *list = field;
  const int count = key->is_list ? list->count : key->count;
  const int *values = key->is_list ? list->values : field;
  for (int i = 0; i < count; i++) fprintf(stream, "%s%d", i > 0 ? " " : "", values[i]);
}

const sp_value_type sp_integer_value = {.describe = describe_integers,
                                        .read = read_integers,
                                        .print = print_integers,
                                        .kind = SP_RECORD_INTEGER};

/* ---- Numbers ---- */

static void describe_numbers(const sp_key *key, char text[SP_DESCRIPTION_SIZE]) {
  char quantity[32], range[64] = "";
  const char *above = key->minimum_excluded ? "above" : "of at least";
  if (key->maximum < DBL_MAX)
    snprintf(range, sizeof range, " %s %g and %s %g", above, key->minimum,
             key->maximum_excluded ? "below" : "at most", key->maximum);
  else if (key->minimum > -DBL_MAX)
    snprintf(range, sizeof range, " %s %g", above, key->minimum);
  snprintf(quantity, sizeof quantity,
           key->is_list     ? "at most %d increasing numbers"
           : key->count > 1 ? "%d numbers"
                            : "a number",
           key->count);
  snprintf(text, SP_DESCRIPTION_SIZE, "%s%s", quantity, range);
}

static bool read_numbers(const sp_key *key, const char *text, void *field) {
  sp_times list = {0};
  if (text[strspn(text, SP_NUMBER_CHARACTERS)] != '\0') return false;
  for (const char *rest = text; !is_blank(rest); list.count++) {
    char *end;
    if (list.count == key->count) return false;
    double *value = &list.values[list.count];
    *value = strtod(rest, &end); /* infinite after overflow, which is out of every range */
    if (!is_number_end(rest, end) || !is_in_range(key, *value)) return false;
    if (key->is_list && list.count > 0 && *value <= value[-1]) return false;
    rest = end;
  }
  if (!key->is_list && list.count != key->count) return false;
  memcpy(field, key->is_list ? (void *)&list : list.values,
         key->is_list ? sizeof list : (size_t)key->count * sizeof *list.values);
  return true;
}

/* The fewest of 15, 16 and 17 digits that are read back to the same bits; 17 always suffice. */
static void print_number(double value, FILE *stream) {
  char text[32];
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  fputs(text, stream);
}

void sp_numbers_print(int count, const double *values, FILE *stream) {
  for (int i = 0; i < count; i++) {
    if (i > 0) fputc(' ', stream);
    print_number(values[i], stream);
  }
}

static void print_numbers(const sp_key *key, const void *field, FILE *stream) {
  const sp_times *list = field;
  sp_numbers_print(key->is_list ? list->count : key->count, key->is_list ? list->values : field,
                   stream);
}

const sp_value_type sp_number_value = {.describe = describe_numbers,
                                       .read = read_numbers,
                                       .print = print_numbers,
                                       .kind = SP_RECORD_REAL};

/* ---- Words and text ---- */

static void describe_choice(const sp_key *key, char text[SP_DESCRIPTION_SIZE]) {
  sp_words_list(key->choices, text);
}

static bool read_choice(const sp_key *key, const char *text, void *field) {
  int choice = 0;
  while (key->choices[choice] && strcmp(key->choices[choice], text) != 0) choice++;
  if (key->choices[choice]) memcpy(field, &choice, sizeof choice);
  return key->choices[choice];
}

static void print_choice(const sp_key *key, const void *field, FILE *stream) {
  int choice;
  memcpy(&choice, field, sizeof choice);
  fputs(key->choices[choice], stream);
}

const sp_value_type sp_choice_value = {
    .describe = describe_choice, .read = read_choice, .print = print_choice};

static sp_status parse_text(const sp_key *key, const char *text, const char *where, void *field) {
  (void)key, (void)where;
  return sp_format(field, "%s", text);
}

/* Also of a formula, which begins with its text. */
static void print_text(const sp_key *key, const void *field, FILE *stream) {
  (void)key;
  const char *text = *(char *const *)field;
  if (text) fputs(text, stream);
}

static void clear_text(void *field) {
  free(*(char **)field);
}

const sp_value_type sp_text_value = {"text", .parse = parse_text, .print = print_text,
                                     .clear = clear_text};

/* ---- Formulas ---- */

sp_status sp_formula_copy(const char *text, size_t length, sp_formula *formula, const char *where) {
  while (length > 0 && strchr(SP_INI_SPACE, text[length - 1])) length--;
  SP_TRY(sp_format(&formula->where, "%s", where));
  if (length > 0) return sp_format(&formula->text, "%.*s", (int)length, text);
  free(formula->text);
  formula->text = NULL;
  return SP_OK;
}

size_t sp_formula_length(const char *text) {
  int depth = 0;
  bool quoted = false;
  size_t length = 0;
  for (; text[length] && (text[length] != ',' || depth > 0 || quoted); length++) {
    if (text[length] == '"') quoted = !quoted;
    if (!quoted) depth += (text[length] == '(') - (text[length] == ')');
  }
  return length;
}

void sp_formula_clear(void *field) {
  sp_formula *formula = field;
  sp_expression_destroy(&formula->expression);
  sp_expression_destroy(&formula->curvature);
  sp_expression_destroy(&formula->rate);
  sp_conductivity_destroy(&formula->tensor);
  SP_FREE(formula->text, formula->where);
  *formula = (sp_formula){0};
}

static sp_status parse_formula_value(const sp_key *key, const char *text, const char *where,
                                     void *field) {
  (void)key;
  return sp_formula_copy(text, strlen(text), field, where);
}

const sp_value_type sp_formula_value = {"a formula", .parse = parse_formula_value,
                                        .print = print_text, .clear = sp_formula_clear};
