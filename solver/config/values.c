/* The values of keys: text to field and back. */
#include "solver/config/internal.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/problem/conductivity.h"

/* ---- Text to value ---- */

static void describe_choices(const char *const *choices, size_t size, char *text) {
  text[0] = '\0';
  for (int c = 0; choices[c]; c++) {
    const size_t length = strlen(text);
    const char *separator = c == 0 ? "" : choices[c + 1] ? ", " : " or ";
    snprintf(text + length, size - length, "%s%s", separator, choices[c]);
  }
}

/* Conditions that a line, or the default, may have. */
static unsigned place_of(const sp_key *key) {
  return key->name ? SP_ON_DEFAULT : 0;
}

void sp_key_describe(const sp_key *key, char text[SP_DESCRIPTION_SIZE]) {
  const size_t size = SP_DESCRIPTION_SIZE;
  const bool several = key->count > 1;
  char quantity[32], range[64] = "";
  switch (key->type) {
  case SP_KEY_INTEGER:
    snprintf(quantity, sizeof quantity, several ? "%d integers" : "an integer", key->count);
    snprintf(text, size, "%s from %.0f to %.0f", quantity, key->minimum, key->maximum);
    return;
  case SP_KEY_LIST:
    snprintf(text, size, "at most %d integers from %.0f to %.0f", key->count, key->minimum,
             key->maximum);
    return;
  case SP_KEY_NUMBER:
    if (key->maximum < DBL_MAX)
      snprintf(range, sizeof range, " %s %g and %s %g",
               key->minimum_excluded ? "above" : "of at least", key->minimum,
               key->maximum_excluded ? "below" : "at most", key->maximum);
    else if (key->minimum > -DBL_MAX)
      snprintf(range, sizeof range, " %s %g", key->minimum_excluded ? "above" : "of at least",
               key->minimum);
    snprintf(quantity, sizeof quantity, several ? "%d numbers" : "a number", key->count);
    snprintf(text, size, "%s%s", quantity, range);
    return;
  case SP_KEY_CHOICE:
  case SP_KEY_RESULT:
    describe_choices(key->choices, size, text);
    return;
  case SP_KEY_CONDITION:
    sp_condition_list(place_of(key), size, text);
    return;
  case SP_KEY_TEXT:
    snprintf(text, size, "text");
    return;
  case SP_KEY_FORMULA:
    snprintf(text, size, "a formula");
    return;
  case SP_KEY_REGION:
    snprintf(text, size, "x y z, x y z[, empty], the lower corner and the upper one");
    return;
  case SP_KEY_LINE:
    snprintf(text, size, "x y z, x y z, n: two different points and n from 2 to %d",
             SP_LINE_SAMPLES);
    return;
  }
}

static sp_status fail_value(const sp_key *key, const char *text, const char *where) {
  char expected[SP_DESCRIPTION_SIZE], shown[SP_SHOWN_SIZE];
  sp_key_describe(key, expected);
  if (*text == '\0')
    return sp_fail(SP_ERR_INPUT, "%s: expected %s, found nothing", where, expected);
  return sp_fail(SP_ERR_INPUT, "%s: expected %s, found '%s'", where, expected,
                 sp_ini_show(text, shown));
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

/* Read at most key->count integers. Returns their number, -1 if the text does not fit. */
static int read_integers(const sp_key *key, const char *text, int *values) {
  int count = 0;
  for (const char *rest = text; !is_blank(rest); count++)
    if (count == key->count || !read_integer(key, &rest, &values[count])) return -1;
  return count;
}

/* These return false and leave the field unchanged if the text does not fit the key. */
static bool set_integers(const sp_key *key, const char *text, void *field) {
  sp_list list = {0};
  list.count = read_integers(key, text, list.values);
  if (key->type == SP_KEY_LIST ? list.count < 0 : list.count != key->count) return false;
  if (key->type == SP_KEY_LIST)
    memcpy(field, &list, sizeof list);
  else
    memcpy(field, list.values, (size_t)key->count * sizeof *list.values);
  return true;
}

/* Characters of decimal numbers: strtod would also take nan, inf and hexadecimal digits. */
#define NUMBER_CHARACTERS "0123456789+-.eE" SP_INI_SPACE

static bool set_numbers(const sp_key *key, const char *text, void *field) {
  double values[3];
  if (text[strspn(text, NUMBER_CHARACTERS)] != '\0') return false;
  const char *rest = text;
  for (int i = 0; i < key->count; i++) {
    char *end;
    values[i] = strtod(rest, &end); /* infinite after overflow, which is out of every range */
    if (!is_number_end(rest, end) || !is_in_range(key, values[i])) return false;
    rest = end;
  }
  if (!is_blank(rest)) return false;
  memcpy(field, values, (size_t)key->count * sizeof *values);
  return true;
}

static bool set_line(const char *text, sp_line_entry *line) {
  double v[7];
  int end = 0;
  const bool decimal = text[strspn(text, NUMBER_CHARACTERS ",")] == '\0';
  const int read = decimal ? sscanf(text, "%lf %lf %lf , %lf %lf %lf , %lf %n", &v[0], &v[1], &v[2],
                                    &v[3], &v[4], &v[5], &v[6], &end)
                           : 0;
  bool good = read == 7 && text[end] == '\0' && v[6] >= 2 && v[6] <= SP_LINE_SAMPLES;
  for (int i = 0; i < 6; i++) good = good && fabs(v[i]) <= DBL_MAX;
  if (!good || v[6] != floor(v[6]) || (v[0] == v[3] && v[1] == v[4] && v[2] == v[5])) return false;
  memcpy(line->ends, v, sizeof line->ends);
  line->samples = (int)v[6];
  return true;
}

static bool set_region(const char *text, sp_box_region *region) {
  double v[6];
  int end = 0;
  const int read =
      sscanf(text, "%lf %lf %lf , %lf %lf %lf %n", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &end);
  const char *rest = text + end + (text[end] == ',');
  const bool empty = strcmp(rest + strspn(rest, SP_INI_SPACE), "empty") == 0 && text[end] == ',';
  bool good = read == 6 && (empty || text[end] == '\0') &&
              strspn(text, NUMBER_CHARACTERS ",") >= (size_t)end;
  for (int i = 0; i < 6; i++) good = good && fabs(v[i]) <= DBL_MAX;
  if (!good) return false;
  memcpy(region->lower, v, sizeof region->lower);
  memcpy(region->upper, v + 3, sizeof region->upper);
  region->empty = empty;
  return true;
}

/* The choice that the first `length` characters of `text` name, -1 if there is none. */
static int find_choice(const char *const *choices, const char *text, size_t length) {
  for (int c = 0; choices[c]; c++)
    if (strlen(choices[c]) == length && strncmp(choices[c], text, length) == 0) return c;
  return -1;
}

/* Store the first `length` characters of `text`, without white space at their end. */
static sp_status set_formula(const char *text, size_t length, sp_formula *formula,
                             const char *where) {
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

static void clear_formula(sp_formula *formula) {
  sp_expression_destroy(&formula->expression);
  sp_expression_destroy(&formula->curvature);
  sp_expression_destroy(&formula->rate);
  sp_conductivity_destroy(&formula->tensor);
  SP_FREE(formula->text, formula->where);
  *formula = (sp_formula){0};
}

static void clear_condition(sp_boundary_entry *entry) {
  for (int c = 0; c < SP_CONDITION_COEFFICIENTS; c++) clear_formula(&entry->coefficients[c]);
  clear_formula(&entry->formula);
  free(entry->partner);
  entry->partner = NULL;
}

/* Store a formula of a condition, with its name in its place unless that is NULL. */
static sp_status set_named(const char *text, size_t length, const char *name, const char *where,
                           sp_formula *out) {
  SP_OWNED char *place = NULL;
  if (name) SP_TRY(sp_format(&place, "%s (%s)", where, name));
  return set_formula(text, length, out, name ? place : where);
}

/* Parse the text after the name of a condition: its coefficients and data, or a group. */
static sp_status set_condition(const sp_condition_type *type, const char *text, const char *where,
                               sp_boundary_entry *entry) {
  const char *const *names = type->coefficients;
  int count = 0;
  clear_condition(entry);
  entry->type = type;
  while (count < SP_CONDITION_COEFFICIENTS && names[count]) count++;
  for (int c = 0; c < count; c++) {
    const bool is_last = c + 1 == count && !type->data, is_only = is_last && c == 0;
    const size_t length = is_last ? strlen(text) : sp_formula_length(text);
    SP_TRY(set_named(text, length, is_only ? NULL : names[c], where, &entry->coefficients[c]));
    if (!entry->coefficients[c].text)
      return sp_fail(SP_ERR_INPUT, "%s: expected %s, %s; found no %s", where, type->usage,
                     type->meaning, names[c]);
    text += length + (text[length] == ',');
    text += strspn(text, SP_INI_SPACE);
  }
  if (type->form == SP_PERIODIC) {
    if (*text == '\0')
      return sp_fail(SP_ERR_INPUT, "%s: expected %s, found no group", where, type->usage);
    SP_TRY(sp_format(&entry->partner, "%s", text));
    text = "";
  }
  return set_named(text, strlen(text), count > 0 ? type->data : NULL, where, &entry->formula);
}

/* Advance *rest past `word` and the white space behind it, if it begins with both. */
static bool skip_word(const char **rest, const char *word) {
  const size_t length = strlen(word),
               space = strspn(*rest + strcspn(*rest, SP_INI_SPACE), SP_INI_SPACE);
  if (strcspn(*rest, SP_INI_SPACE) != length || strncmp(*rest, word, length) != 0) return false;
  *rest += length + space;
  return true;
}

/* Begin of the word `over`, or the end of the text. No formula contains it. */
static const char *find_over(const char *text) {
  const char *rest = text;
  while (*text != '\0' && !skip_word(&rest, "over")) {
    text += strcspn(text, SP_INI_SPACE);
    text += strspn(text, SP_INI_SPACE);
    rest = text;
  }
  return text;
}

/* Store the formula after `of`, if there is one, in *out, and advance *text past it. */
static sp_status copy_result_formula(sp_result_kind kind, const char **text, const char *where,
                                     sp_formula *out) {
  const char *formula = *text;
  if (!skip_word(&formula, "of")) return SP_OK;
  if (kind == SP_RESULT_FLUX)
    return sp_fail(SP_ERR_INPUT, "%s: a flux is that of u: expected flux over GROUP", where);
  if (kind == SP_RESULT_RESISTANCE)
    return sp_fail(SP_ERR_INPUT, "%s: expected resistance over GROUP, OTHER, found a formula",
                   where);
  *text = find_over(formula);
  SP_TRY(set_formula(formula, (size_t)(*text - formula), out, where));
  if (out->text) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%s: expected a formula after 'of', found nothing", where);
}

/* Advance *text past a word that says if a group is of surfaces or of volumes. It is the group's
 * name if nothing follows. */
static sp_result_over skip_family(const char **text) {
  const char *rest = *text;
  const sp_result_over over = skip_word(&rest, "surface")  ? SP_OVER_SURFACE
                              : skip_word(&rest, "volume") ? SP_OVER_VOLUME
                                                           : SP_OVER_GROUP;
  if (*rest == '\0') return SP_OVER_GROUP;
  *text = rest;
  return over;
}

/* Parse `over` and a group, or nothing. */
static sp_status find_result_group(sp_result_kind kind, const char *text, const char *where,
                                   sp_result_over *out, const char **found) {
  const char *name = sp_result_names[kind], *group = text;
  sp_result_over over = SP_OVER_DOMAIN;
  char shown[SP_SHOWN_SIZE];
  if (*text != '\0') {
    if (!skip_word(&group, "over"))
      return sp_fail(SP_ERR_INPUT, "%s: expected %s, found '%s' after '%s'", where,
                     kind == SP_RESULT_FLUX ? "over GROUP" : "of FORMULA, over GROUP, or nothing",
                     sp_ini_show(text, shown), name);
    over = skip_family(&group);
    if (*group == '\0')
      return sp_fail(SP_ERR_INPUT, "%s: expected a group after 'over', found nothing", where);
  }
  if (kind == SP_RESULT_FLUX && (over == SP_OVER_DOMAIN || over == SP_OVER_VOLUME))
    return sp_fail(SP_ERR_INPUT, "%s: a flux goes through a surface: expected flux over GROUP%s",
                   where, over == SP_OVER_VOLUME ? ", found a volume" : "");
  *out = over;
  *found = group;
  return SP_OK;
}

static void clear_result(sp_result_entry *entry) {
  clear_formula(&entry->formula);
  SP_FREE(entry->group, entry->other, entry->by);
  entry->group = entry->other = entry->by = NULL;
}

/* Split "OTHER by SOURCE" at the last word `by`. Returns the length of OTHER. */
static size_t find_by(const char *text, const char **source) {
  size_t length = strlen(text);
  *source = NULL;
  for (const char *word = text; *word;) {
    const char *rest = word;
    if (word != text && skip_word(&rest, "by")) {
      *source = rest;
      length = (size_t)(word - text);
    }
    word += strcspn(word, SP_INI_SPACE);
    word += strspn(word, SP_INI_SPACE);
  }
  while (length > 0 && strchr(SP_INI_SPACE, text[length - 1])) length--;
  return length;
}

/* Split "GROUP, [surface|volume] OTHER [by SOURCE]" at its last comma. */
static sp_status set_pair(const char *text, const char *where, sp_result_entry *entry) {
  const char *comma = text ? strrchr(text, ',') : NULL;
  const char *other = comma ? comma + 1 + strspn(comma + 1, SP_INI_SPACE) : "";
  size_t length = comma ? (size_t)(comma - text) : 0;
  while (length > 0 && strchr(SP_INI_SPACE, text[length - 1])) length--;
  entry->other_over = skip_family(&other);
  const char *source;
  const size_t other_length = find_by(other, &source);
  if (length == 0 || other_length == 0 || (source && !*source))
    return sp_fail(SP_ERR_INPUT,
                   "%s: expected resistance over GROUP, OTHER or resistance over GROUP, OTHER by "
                   "SOURCE, from where heat flows to where",
                   where);
  SP_TRY(sp_format(&entry->other, "%.*s", (int)other_length, other));
  if (source) SP_TRY(sp_format(&entry->by, "%s", source));
  SP_TRY(sp_format(&entry->group, "%.*s", (int)length, text));
  if (strcmp(entry->group, entry->other) == 0 && entry->over == entry->other_over)
    return sp_fail(SP_ERR_INPUT, "%s: expected resistance over two groups, found '%s' twice", where,
                   entry->other);
  return SP_OK;
}

/* True if a line whose first word may be a kind is a formula: maximum / 3. */
static bool is_result_formula(int choice, const char *text, const char *rest) {
  const char *first = text;
  const bool spelled_wrong = skip_word(&rest, "of") || skip_word(&rest, "over");
  if (choice < 0) return !spelled_wrong && !*find_over(first);
  return choice == SP_RESULT_FORMULA || (*rest && strchr("+-*/^<>=!&|?", *rest));
}

/* Parse what follows the kind of a result: [of formula] [over group]. */
static sp_status set_result(sp_result_kind kind, const char *text, const char *where,
                            sp_result_entry *entry) {
  const char *group = NULL;
  clear_result(entry);
  entry->kind = kind;
  SP_TRY(copy_result_formula(kind, &text, where, &entry->formula));
  SP_TRY(find_result_group(kind, text, where, &entry->over, &group));
  if (kind == SP_RESULT_RESISTANCE) return set_pair(group, where, entry);
  return entry->over == SP_OVER_DOMAIN ? SP_OK : sp_format(&entry->group, "%s", group);
}

sp_status sp_key_set(const sp_key *key, const char *text, const char *where, void *field) {
  /* Empty values of all types are handled here. */
  if (*text == '\0' && !key->optional) return fail_value(key, text, where);
  bool good = true;
  const size_t word = strcspn(text, SP_INI_SPACE);
  const char *rest = text + word + strspn(text + word, SP_INI_SPACE);
  const sp_condition_type *condition;
  int choice;
  switch (key->type) {
  case SP_KEY_INTEGER:
  case SP_KEY_LIST:
    good = set_integers(key, text, field);
    break;
  case SP_KEY_NUMBER:
    good = set_numbers(key, text, field);
    break;
  case SP_KEY_LINE:
    good = set_line(text, field);
    break;
  case SP_KEY_REGION:
    good = set_region(text, field);
    break;
  case SP_KEY_CHOICE:
    choice = find_choice(key->choices, text, strlen(text));
    good = choice >= 0;
    if (good) memcpy(field, &choice, sizeof choice);
    break;
  case SP_KEY_TEXT:
    return sp_format(field, "%s", text);
  case SP_KEY_FORMULA:
    return set_formula(text, strlen(text), field, where);
  case SP_KEY_CONDITION:
    condition = sp_condition_find(text, word, place_of(key));
    return condition ? set_condition(condition, rest, where, field) : fail_value(key, text, where);
  case SP_KEY_RESULT:
    choice = find_choice(key->choices, text, word);
    if (is_result_formula(choice, text, rest)) {
      sp_result_entry *entry = field;
      clear_result(entry);
      entry->kind = SP_RESULT_FORMULA;
      return set_formula(text, strlen(text), &entry->formula, where);
    }
    return choice < 0 ? fail_value(key, text, where)
                      : set_result((sp_result_kind)choice, rest, where, field);
  }
  return good ? SP_OK : fail_value(key, text, where);
}

/* ---- Value to text ---- */

/* The fewest of 15, 16 and 17 digits that are read back to the same bits; 17 always suffice. */
static void print_number(double value, FILE *stream) {
  char text[32];
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  fputs(text, stream);
}

static void print_integers(int count, const int *values, FILE *stream) {
  for (int i = 0; i < count; i++) fprintf(stream, "%s%d", i > 0 ? " " : "", values[i]);
}

static void print_numbers(int count, const double *values, FILE *stream) {
  for (int i = 0; i < count; i++) {
    if (i > 0) fputc(' ', stream);
    print_number(values[i], stream);
  }
}

void sp_key_print(const sp_key *key, const void *field, FILE *stream) {
  switch (key->type) {
  case SP_KEY_INTEGER:
    print_integers(key->count, field, stream);
    return;
  case SP_KEY_LIST:
    print_integers(((const sp_list *)field)->count, ((const sp_list *)field)->values, stream);
    return;
  case SP_KEY_NUMBER:
    print_numbers(key->count, field, stream);
    return;
  case SP_KEY_LINE: {
    const sp_line_entry *line = field;
    for (int end = 0; end < 2; end++) {
      print_numbers(3, line->ends[end], stream);
      fputs(", ", stream);
    }
    fprintf(stream, "%d", line->samples);
    return;
  }
  case SP_KEY_REGION: /* written as [region NAME] */
    return;
  case SP_KEY_CHOICE: {
    int choice;
    memcpy(&choice, field, sizeof choice);
    fputs(key->choices[choice], stream);
    return;
  }
  case SP_KEY_TEXT: {
    const char *text = *(char *const *)field;
    if (text) fputs(text, stream);
    return;
  }
  case SP_KEY_FORMULA: {
    const sp_formula *formula = field;
    if (formula->text) fputs(formula->text, stream);
    return;
  }
  case SP_KEY_CONDITION: {
    const sp_boundary_entry *entry = field;
    const char *separator = "";
    fputs(entry->type->name, stream);
    for (int c = 0; c < SP_CONDITION_COEFFICIENTS && entry->coefficients[c].text; c++) {
      fprintf(stream, "%s %s", separator, entry->coefficients[c].text);
      separator = ",";
    }
    if (entry->formula.text) fprintf(stream, "%s %s", separator, entry->formula.text);
    if (entry->partner) fprintf(stream, " %s", entry->partner);
    return;
  }
  case SP_KEY_RESULT: {
    static const char *const family[] = {
        [SP_OVER_GROUP] = "", [SP_OVER_SURFACE] = "surface ", [SP_OVER_VOLUME] = "volume "};
    const sp_result_entry *entry = field;
    const bool is_formula = entry->kind == SP_RESULT_FORMULA;
    if (!is_formula) fputs(key->choices[entry->kind], stream);
    if (entry->formula.text) fprintf(stream, "%s%s", is_formula ? "" : " of ", entry->formula.text);
    if (entry->group) fprintf(stream, " over %s%s", family[entry->over], entry->group);
    if (entry->other) fprintf(stream, ", %s%s", family[entry->other_over], entry->other);
    if (entry->by) fprintf(stream, " by %s", entry->by);
    return;
  }
  }
}

void sp_key_clear(const sp_key *key, void *field) {
  if (key->type == SP_KEY_TEXT) free(*(char **)field);
  if (key->type == SP_KEY_FORMULA) clear_formula(field);
  if (key->type == SP_KEY_CONDITION) clear_condition(field);
  if (key->type == SP_KEY_RESULT) clear_result(field);
}
