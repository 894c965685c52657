/* The values of lines with a free name: points, regions, conditions, results. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/config/internal.h"

/* ---- Points along a line ---- */

/* Read two points. Returns the rest of the text, NULL if it does not fit. */
static const char *read_points(const char *text, double v[6]) {
  int end = 0;
  const int read =
      sscanf(text, "%lf %lf %lf , %lf %lf %lf %n", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &end);
  bool good = read == 6 && strspn(text, SP_NUMBER_CHARACTERS ",") >= (size_t)end;
  for (int i = 0; i < 6 && good; i++) good = fabs(v[i]) <= DBL_MAX;
  return good ? text + end : NULL;
}

static bool read_line(const sp_key *key, const char *text, void *field) {
  (void)key;
  sp_line_entry *line = field;
  double v[6], n;
  int end = 0;
  const char *rest = read_points(text, v);
  if (!rest || rest[strspn(rest, SP_NUMBER_CHARACTERS ",")] != '\0' ||
      sscanf(rest, ", %lf %n", &n, &end) != 1 || rest[end] != '\0')
    return false;
  if (!(n >= 2 && n <= SP_LINE_SAMPLES && n == floor(n)) ||
      (v[0] == v[3] && v[1] == v[4] && v[2] == v[5]))
    return false;
  memcpy(line->ends, v, sizeof line->ends);
  line->samples = (int)n;
  return true;
}

static void print_line(const sp_key *key, const void *field, FILE *stream) {
  (void)key;
  const sp_line_entry *line = field;
  for (int end = 0; end < 2; end++) {
    sp_numbers_print(3, line->ends[end], stream);
    fputs(", ", stream);
  }
  fprintf(stream, "%d", line->samples);
}

const sp_value_type sp_line_value = {"x y z, x y z, n: two different points and n from 2 to "
                                     "10000",
                                     .read = read_line, .print = print_line};

/* ---- Regions ---- */

static bool read_region(const sp_key *key, const char *text, void *field) {
  (void)key;
  sp_box_region *region = field;
  double v[6];
  const char *rest = read_points(text, v);
  if (!rest) return false;
  const bool empty = *rest == ',';
  rest += empty + strspn(rest + empty, SP_INI_SPACE);
  if (strcmp(rest, empty ? "empty" : "") != 0) return false;
  memcpy(region->lower, v, sizeof region->lower);
  memcpy(region->upper, v + 3, sizeof region->upper);
  region->empty = empty;
  return true;
}

const sp_value_type sp_region_value = {"x y z, x y z[, empty], the lower corner and the upper one",
                                       .read = read_region};

/* ---- Conditions ---- */

/* Conditions that a line, or the default, may have. */
static unsigned place_of_key(const sp_key *key) {
  return key->name ? SP_ON_DEFAULT : 0;
}

static void describe_condition(const sp_key *key, char text[SP_DESCRIPTION_SIZE]) {
  sp_condition_list(place_of_key(key), SP_DESCRIPTION_SIZE, text);
}

static void clear_condition(void *field) {
  sp_boundary_entry *entry = field;
  for (int c = 0; c < SP_CONDITION_COEFFICIENTS; c++) sp_formula_clear(&entry->coefficients[c]);
  sp_formula_clear(&entry->formula);
  free(entry->partner);
  entry->partner = NULL;
}

/* Store a formula of a condition, with its name in its place unless that is NULL. */
static sp_status set_named(const char *text, size_t length, const char *name, const char *where,
                           sp_formula *out) {
  SP_OWNED char *place = NULL;
  if (name) SP_TRY(sp_format(&place, "%s (%s)", where, name));
  return sp_formula_copy(text, length, out, name ? place : where);
}

/* A condition, then its coefficients and data, or a group. */
static sp_status parse_condition(const sp_key *key, const char *text, const char *where,
                                 void *field) {
  sp_boundary_entry *entry = field;
  const size_t word = strcspn(text, SP_INI_SPACE);
  const sp_condition_type *type = sp_condition_find(text, word, place_of_key(key));
  if (!type) return sp_key_fail(key, text, where);
  const char *const *names = type->coefficients;
  int count = 0;
  text += word + strspn(text + word, SP_INI_SPACE);
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
  if (type->joins) {
    if (*text == '\0')
      return sp_fail(SP_ERR_INPUT, "%s: expected %s, found no group", where, type->usage);
    SP_TRY(sp_format(&entry->partner, "%s", text));
    text = "";
  }
  return set_named(text, strlen(text), count > 0 ? type->data : NULL, where, &entry->formula);
}

static void print_condition(const sp_key *key, const void *field, FILE *stream) {
  (void)key;
  const sp_boundary_entry *entry = field;
  const char *separator = "";
  fputs(entry->type->name, stream);
  for (int c = 0; c < SP_CONDITION_COEFFICIENTS && entry->coefficients[c].text; c++) {
    fprintf(stream, "%s %s", separator, entry->coefficients[c].text);
    separator = ",";
  }
  if (entry->formula.text) fprintf(stream, "%s %s", separator, entry->formula.text);
  if (entry->partner) fprintf(stream, " %s", entry->partner);
}

static const char *usage_of_condition(int row) {
  return sp_condition_types[row].usage;
}

const sp_value_type sp_condition_value = {.usage = usage_of_condition,
                                          .describe = describe_condition,
                                          .parse = parse_condition,
                                          .print = print_condition,
                                          .clear = clear_condition};

/* ---- Results ---- */

static void describe_result(const sp_key *key, char text[SP_DESCRIPTION_SIZE]) {
  (void)key;
  const char *names[SP_DESCRIPTION_SIZE] = {NULL};
  for (int r = 0; sp_result_types[r].name; r++) names[r] = sp_result_types[r].name;
  sp_words_list(names, text);
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
static sp_status copy_result_formula(const sp_result_type *type, const char **text,
                                     const char *where, sp_formula *out) {
  const char *formula = *text;
  if (!skip_word(&formula, "of")) return SP_OK;
  if (!type->takes_formula)
    return sp_fail(SP_ERR_INPUT, "%s: expected %s, found a formula", where, type->usage);
  *text = find_over(formula);
  SP_TRY(sp_formula_copy(formula, (size_t)(*text - formula), out, where));
  if (out->text) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%s: expected a formula after 'of', found nothing", where);
}

/* Advance *text past the word `surface` or `volume` before a group. It is the group's name if
 * nothing follows. */
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
static sp_status find_result_group(const sp_result_type *type, const char *text, const char *where,
                                   sp_result_over *out, const char **found) {
  const char *group = text;
  sp_result_over over = SP_OVER_DOMAIN;
  char shown[SP_SHOWN_SIZE];
  if (*text != '\0') {
    if (!skip_word(&group, "over"))
      return sp_fail(SP_ERR_INPUT, "%s: expected %s, found '%s' after '%s'", where, type->usage,
                     sp_ini_show(text, shown), type->name);
    over = skip_family(&group);
    if (*group == '\0')
      return sp_fail(SP_ERR_INPUT, "%s: expected a group after 'over', found nothing", where);
  }
  if (type->through && (over == SP_OVER_DOMAIN || over == SP_OVER_VOLUME))
    return sp_fail(SP_ERR_INPUT, "%s: a %s goes through a surface: expected %s%s", where,
                   type->name, type->usage, over == SP_OVER_VOLUME ? ", found a volume" : "");
  *out = over;
  *found = group;
  return SP_OK;
}

static void clear_result(void *field) {
  sp_result_entry *entry = field;
  sp_formula_clear(&entry->formula);
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
    return sp_fail(SP_ERR_INPUT, "%s: expected %s, from where heat flows to where", where,
                   entry->type->usage);
  SP_TRY(sp_format(&entry->other, "%.*s", (int)other_length, other));
  if (source) SP_TRY(sp_format(&entry->by, "%s", source));
  SP_TRY(sp_format(&entry->group, "%.*s", (int)length, text));
  if (strcmp(entry->group, entry->other) == 0 && entry->over == entry->other_over)
    return sp_fail(SP_ERR_INPUT, "%s: expected two groups, found '%s' twice", where, entry->other);
  return SP_OK;
}

/* True if a line whose first word may be a kind is a formula: maximum / 3. */
static bool is_result_formula(const sp_result_type *type, const char *text, const char *rest) {
  const char *first = text;
  const bool spelled_wrong = skip_word(&rest, "of") || skip_word(&rest, "over");
  if (!type) return !spelled_wrong && !*find_over(first);
  return type->of_results || (*rest && strchr("+-*/^<>=!&|?", *rest));
}

/* A kind [of formula] [over group], or a formula. */
static sp_status parse_result(const sp_key *key, const char *text, const char *where, void *field) {
  sp_result_entry *entry = field;
  const sp_result_type *type = sp_result_type_of(text);
  const size_t word = strcspn(text, SP_INI_SPACE);
  const char *rest = text + word + strspn(text + word, SP_INI_SPACE), *group = NULL;
  clear_result(entry);
  if (is_result_formula(type, text, rest)) {
    entry->type = sp_result_type_of("formula");
    return sp_formula_copy(text, strlen(text), &entry->formula, where);
  }
  if (!type) return sp_key_fail(key, text, where);
  entry->type = type;
  SP_TRY(copy_result_formula(type, &rest, where, &entry->formula));
  SP_TRY(find_result_group(type, rest, where, &entry->over, &group));
  if (type->of_pair) return set_pair(group, where, entry);
  return entry->over == SP_OVER_DOMAIN ? SP_OK : sp_format(&entry->group, "%s", group);
}

static void print_result(const sp_key *key, const void *field, FILE *stream) {
  static const char *const family[] = {
      [SP_OVER_GROUP] = "", [SP_OVER_SURFACE] = "surface ", [SP_OVER_VOLUME] = "volume "};
  (void)key;
  const sp_result_entry *entry = field;
  const bool is_formula = entry->type->of_results;
  if (!is_formula) fputs(entry->type->name, stream);
  if (entry->formula.text) fprintf(stream, "%s%s", is_formula ? "" : " of ", entry->formula.text);
  if (entry->group) fprintf(stream, " over %s%s", family[entry->over], entry->group);
  if (entry->other) fprintf(stream, ", %s%s", family[entry->other_over], entry->other);
  if (entry->by) fprintf(stream, " by %s", entry->by);
}

static const char *usage_of_result(int row) {
  return sp_result_types[row].usage;
}

const sp_value_type sp_result_value = {.usage = usage_of_result,
                                       .describe = describe_result,
                                       .parse = parse_result,
                                       .print = print_result,
                                       .clear = clear_result};
