#define _POSIX_C_SOURCE 200809L /* getline */
#include "io/formula/scope.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/formula/kernel.h"
#include "io/file.h"
#include "io/utf8.h"

enum { LINE = 64 }; /* alignment of constants of a program, io/formula/kernel.h */

/* A table while it is read: pairs x, y. Of a map: x[columns], then rows of y and v[columns]; before
 * the second line, all numbers of the first one. */
typedef struct reading {
  const char *path, *where;
  size_t count, columns;
  long first; /* line of the x */
  double *pairs;
} reading;

/* Read the number at *at, which then points behind it. */
static bool read_number(char **at, double *value) {
  char *end;
  *value = strtod(*at, &end);
  const bool good = end != *at && isfinite(*value);
  *at = end + strspn(end, " \t\r\n");
  return good;
}

static sp_status check_ascending(const reading *r, long number, const char *name, double before,
                                 double value) {
  if (value > before) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%s: %s:%ld: expected %s above %.12g, found %.12g", r->where,
                 r->path, number, name, before, value);
}

/* Append the pair of a line; `number` counts lines from 1. */
static sp_status add_line(reading *r, char *line, long number) {
  double pair[2];
  char *at = line + strspn(line, " \t");
  bool good = read_number(&at, &pair[0]);
  if (*at == ',') at++;
  good = good && read_number(&at, &pair[1]) && !*at;
  if (!good)
    return sp_fail(SP_ERR_INPUT, "%s: %s:%ld: expected two numbers, x and y, found '%.40s'",
                   r->where, r->path, number, line);
  if (r->count > 0) SP_TRY(check_ascending(r, number, "x", r->pairs[2 * r->count - 2], pair[0]));
  SP_TRY(sp_reserve(r->count, 1, sizeof pair, r->path, &r->pairs));
  memcpy(&r->pairs[2 * r->count++], pair, sizeof pair);
  return SP_OK;
}

/* Append the numbers of a line, which has a word or nothing before the first comma if `is_first`.
 */
static sp_status append_numbers(reading *r, bool is_first, const char *line, long number) {
  char *at = (char *)line + strspn(line, " \t"), *word = at;
  double value;
  if (is_first && !read_number(&word, &value)) {
    at += strcspn(at, " \t,");
    at += strspn(at, " \t");
    at += *at == ',';
  }
  while (*at) {
    if (!read_number(&at, &value))
      return sp_fail(SP_ERR_INPUT, "%s: %s:%ld: expected numbers, found '%.40s'", r->where, r->path,
                     number, line);
    if (*at == ',') at += 1 + strspn(at + 1, " \t");
    SP_TRY(sp_reserve(r->count, 1, sizeof value, r->path, &r->pairs));
    r->pairs[r->count++] = value;
  }
  return SP_OK;
}

/* Append a line of a map. The second line shows if the first one begins with an x. */
static sp_status add_map_line(reading *r, char *line, long number) {
  const size_t begin = r->count;
  SP_TRY(append_numbers(r, !r->first, line, number));
  if (!r->first) {
    r->first = number;
    return SP_OK;
  }
  const size_t row = r->count - begin, columns = r->columns ? r->columns : row - 1;
  if (row != columns + 1 || columns < 2 || (!r->columns && begin - columns > 1))
    return sp_fail(
        SP_ERR_INPUT,
        "%s: %s:%ld: expected y and one value for each x of line %ld, two or more; found "
        "%zu numbers",
        r->where, r->path, number, r->first, row);
  if (r->columns)
    return begin == columns
               ? SP_OK
               : check_ascending(r, number, "y", r->pairs[begin - row], r->pairs[begin]);
  r->columns = columns;
  r->count = columns + row;
  memmove(r->pairs, r->pairs + begin - columns, r->count * sizeof *r->pairs);
  for (size_t i = 1; i < columns; i++)
    SP_TRY(check_ascending(r, r->first, "x", r->pairs[i - 1], r->pairs[i]));
  return SP_OK;
}

static sp_status read_lines(reading *r, bool is_map, FILE *stream) {
  char *line = NULL;
  size_t size = 0;
  sp_status status = SP_OK;
  for (long number = 1; !status && getline(&line, &size, stream) >= 0; number++) {
    char *text = line + (number == 1 ? sp_utf8_mark(line) : 0);
    text[strcspn(text, "#\r\n")] = '\0';
    if (text[strspn(text, " \t")]) status = (is_map ? add_map_line : add_line)(r, text, number);
  }
  free(line);
  if (!status && ferror(stream))
    return sp_fail(SP_ERR_SYSTEM, "%s: %s: cannot read: %s", r->where, r->path, strerror(errno));
  if (!status && is_map && (!r->columns || r->count < 3 * r->columns + 2))
    return sp_fail(SP_ERR_INPUT,
                   "%s: %s: expected a line of x and two or more of y and values at each x",
                   r->where, r->path);
  if (!status && r->count < 2)
    return sp_fail(SP_ERR_INPUT, "%s: %s: expected two lines or more with x and y, found %zu",
                   r->where, r->path, r->count);
  return status;
}

static sp_status store_map(const reading *r, sp_table *table) {
  const size_t nx = r->columns, ny = r->count / (nx + 1);
  SP_TRY(sp_allocate(2 + r->count, sizeof(double), table->path, &table->data));
  double *x = table->data + 2, *y = x + nx, *values = y + ny;
  table->data[0] = (double)nx;
  table->data[1] = (double)ny;
  memcpy(x, r->pairs, nx * sizeof *x);
  for (size_t j = 0; j < ny; j++) {
    const double *row = r->pairs + nx + j * (nx + 1);
    y[j] = row[0];
    memcpy(values + j * nx, row + 1, nx * sizeof *x);
  }
  return SP_OK;
}

static sp_status read_table(sp_table *table, const char *where) {
  reading r = {.path = table->path, .where = where};
  if (!sp_path_is_ordinary(table->path))
    return sp_fail(SP_ERR_INPUT, "%s: the table '%s' is not a regular file", where, table->path);
  FILE *stream = fopen(table->path, "r");
  if (!stream)
    return sp_fail(SP_ERR_INPUT, "%s: cannot open the table '%s': %s", where, table->path,
                   strerror(errno));
  const sp_status status = read_lines(&r, table->is_map, stream);
  SP_OWNED double *pairs = r.pairs;
  fclose(stream); /* a close after reading cannot lose data */
  SP_TRY(status);
  if (table->is_map) return store_map(&r, table);
  SP_TRY(sp_allocate(1 + 2 * r.count, sizeof(double), table->path, &table->data));
  table->data[0] = (double)r.count;
  for (size_t k = 0; k < 2 * r.count; k++) table->data[1 + k / 2 + k % 2 * r.count] = pairs[k];
  return SP_OK;
}

/* True if the text after FILE in table("FILE", a, b), up to ")", has two arguments. */
static bool has_two_arguments(const char *rest) {
  int depth = 0, commas = 0;
  bool quoted = false;
  for (; *rest && depth >= 0; rest++) {
    quoted ^= *rest == '"';
    if (quoted) continue;
    depth += (*rest == '(') - (*rest == ')');
    commas += *rest == ',' && depth == 0;
  }
  return commas == 2;
}

static sp_status add_table(sp_tables *tables, const char *name, int length, const char *folder,
                           const char *where) {
  const bool is_map = has_two_arguments(name + length + 1);
  if (sp_tables_find(tables, name, (size_t)length, is_map)) return SP_OK;
  SP_TRY(sp_reserve((size_t)tables->count, 1, sizeof *tables->list, "tables", &tables->list));
  sp_table *table = &tables->list[tables->count++];
  *table = (sp_table){.is_map = is_map};
  SP_TRY(sp_format(&table->name, "%.*s", length, name));
  SP_TRY(sp_format(&table->path, "%s%s", *name == '/' ? "" : folder, table->name));
  return read_table(table, where);
}

sp_status sp_tables_read(sp_tables *tables, const char *text, const char *folder,
                         const char *where) {
  static const char word[] = "table";
  for (const char *at = strstr(text, word); at; at = strstr(at, word)) {
    at += strlen(word);
    const char *open = at + strspn(at, " \t");
    if (*open != '(') continue;
    open += 1 + strspn(open + 1, " \t");
    const char *close = *open == '"' ? strchr(open + 1, '"') : NULL;
    if (!close) continue;
    SP_TRY(add_table(tables, open + 1, (int)(close - open - 1), folder, where));
    at = close;
  }
  return SP_OK;
}

static void free_tables(sp_tables *tables) {
  for (int t = 0; t < tables->count; t++) {
    SP_FREE(tables->list[t].name, tables->list[t].path, tables->list[t].data);
  }
  free(tables->list);
  *tables = (sp_tables){0};
}

sp_status sp_scope_add_time(sp_scope *scope) {
  scope->time = aligned_alloc(LINE, SP_EXPRESSION_PADDING * sizeof *scope->time);
  if (!scope->time) return sp_fail(SP_ERR_SYSTEM, "out of memory: the time of formulas");
  sp_scope_set_time(scope, 0);
  return SP_OK;
}

void sp_scope_set_time(sp_scope *scope, double t) {
  for (int i = 0; i < SP_EXPRESSION_PADDING && scope->time; i++) scope->time[i] = t;
}

sp_status sp_scope_add_values(sp_scope *scope, int count) {
  sp_values *v = &scope->values;
  SP_TRY(sp_allocate((size_t)count, sizeof *v->names, "values of formulas", &v->names));
  v->data = aligned_alloc(LINE, ((size_t)count + 1) * SP_EXPRESSION_PADDING * sizeof *v->data);
  if (!v->data) return sp_fail(SP_ERR_SYSTEM, "out of memory: the values of formulas");
  v->count = count;
  for (int i = 0; i < count; i++) sp_scope_set_value(scope, i, NAN);
  return SP_OK;
}

void sp_scope_set_value(const sp_scope *scope, int i, double value) {
  double *data = &scope->values.data[i * SP_EXPRESSION_PADDING];
  for (int k = 0; k < SP_EXPRESSION_PADDING; k++) data[k] = value;
}

void sp_scope_destroy(sp_scope **scope) {
  if (!*scope) return;
  free_tables(&(*scope)->tables);
  SP_FREE((*scope)->constants, (*scope)->time, (*scope)->values.names, (*scope)->values.data,
          *scope);
  *scope = NULL;
}
