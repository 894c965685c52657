#define _POSIX_C_SOURCE 200809L /* getline */
#include "io/formula/scope.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/formula/kernel.h"
#include "io/path.h"
#include "io/utf8.h"

/* A table while it is read: pairs x, y. */
typedef struct reading {
  const char *path, *where;
  size_t count;
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

/* Append the pair of a line; `number` counts lines from 1. */
static sp_status add_line(reading *r, char *line, long number) {
  double pair[2];
  line[strcspn(line, "#\r\n")] = '\0';
  char *at = line + strspn(line, " \t");
  if (!*at) return SP_OK;
  bool good = read_number(&at, &pair[0]);
  if (*at == ',') at++;
  good = good && read_number(&at, &pair[1]) && !*at;
  if (!good)
    return sp_fail(SP_ERR_INPUT, "%s: %s:%ld: expected two numbers, x and y, found '%.40s'",
                   r->where, r->path, number, line);
  if (r->count > 0 && !(pair[0] > r->pairs[2 * r->count - 2]))
    return sp_fail(SP_ERR_INPUT, "%s: %s:%ld: expected x above %.12g, found %.12g", r->where,
                   r->path, number, r->pairs[2 * r->count - 2], pair[0]);
  SP_TRY(sp_reserve(r->count, 1, sizeof pair, r->path, &r->pairs));
  memcpy(&r->pairs[2 * r->count++], pair, sizeof pair);
  return SP_OK;
}

static sp_status read_lines(reading *r, FILE *stream) {
  char *line = NULL;
  size_t size = 0;
  sp_status status = SP_OK;
  for (long number = 1; !status && getline(&line, &size, stream) >= 0; number++)
    status = add_line(r, line + (number == 1 ? sp_utf8_mark(line) : 0), number);
  free(line);
  if (!status && ferror(stream))
    return sp_fail(SP_ERR_SYSTEM, "%s: %s: cannot read: %s", r->where, r->path, strerror(errno));
  if (!status && r->count < 2)
    return sp_fail(SP_ERR_INPUT, "%s: %s: expected two lines or more with x and y, found %zu",
                   r->where, r->path, r->count);
  return status;
}

static sp_status read_table(sp_table *table, const char *where) {
  reading r = {.path = table->path, .where = where};
  if (!sp_path_is_ordinary(table->path))
    return sp_fail(SP_ERR_INPUT, "%s: the table '%s' is not a regular file", where, table->path);
  FILE *stream = fopen(table->path, "r");
  if (!stream)
    return sp_fail(SP_ERR_INPUT, "%s: cannot open the table '%s': %s", where, table->path,
                   strerror(errno));
  const sp_status status = read_lines(&r, stream);
  SP_OWNED double *pairs = r.pairs;
  fclose(stream); /* a close after reading cannot lose data */
  SP_TRY(status);
  SP_TRY(sp_allocate(1 + 2 * r.count, sizeof(double), table->path, &table->data));
  table->data[0] = (double)r.count;
  for (size_t k = 0; k < 2 * r.count; k++) table->data[1 + k / 2 + k % 2 * r.count] = pairs[k];
  return SP_OK;
}

static sp_status add_table(sp_tables *tables, const char *name, int length, const char *folder,
                           const char *where) {
  if (sp_tables_find(tables, name, (size_t)length)) return SP_OK;
  SP_TRY(sp_reserve((size_t)tables->count, 1, sizeof *tables->list, "tables", &tables->list));
  sp_table *table = &tables->list[tables->count++];
  *table = (sp_table){0};
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
  enum { LINE = 64 }; /* as constants of a program, io/formula/kernel.h */
  scope->time = aligned_alloc(LINE, SP_EXPRESSION_PADDING * sizeof *scope->time);
  if (!scope->time) return sp_fail(SP_ERR_SYSTEM, "out of memory: the time of formulas");
  sp_scope_set_time(scope, 0);
  return SP_OK;
}

void sp_scope_set_time(sp_scope *scope, double t) {
  for (int i = 0; i < SP_EXPRESSION_PADDING && scope->time; i++) scope->time[i] = t;
}

void sp_scope_destroy(sp_scope **scope) {
  if (!*scope) return;
  free_tables(&(*scope)->tables);
  SP_FREE((*scope)->constants, (*scope)->time, *scope);
  *scope = NULL;
}
