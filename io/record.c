#include "io/record.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/utf8.h"

enum { DEPTH = 8, MANY = 16 };

struct sp_record {
  sp_record_node *open[DEPTH]; /* the root and the open members, each inside the one before */
  int depth;                   /* of open[]; at least 1 */
  bool failed;                 /* memory was lacking */
  sp_record_node root, lost;   /* lost: placeholder used when allocation fails */
};

/* ---- The tree ---- */

sp_status sp_record_create(sp_record **out) {
  SP_TRY(sp_allocate(1, sizeof **out, "record of results", out));
  (*out)->root.kind = (*out)->lost.kind = SP_RECORD_OBJECT;
  (*out)->open[(*out)->depth++] = &(*out)->root;
  return SP_OK;
}

static void clear_members(sp_record_node *n) {
  while (n->first) {
    sp_record_node *member = n->first;
    n->first = member->next;
    clear_members(member);
    SP_FREE(member->name, member->text, member->unit, member);
  }
  n->last = NULL;
  n->count = 0;
  sp_names_clear(&n->names);
}

void sp_record_destroy(sp_record **record) {
  if (!*record) return;
  clear_members(&(*record)->root);
  clear_members(&(*record)->lost);
  SP_FREE((*record)->lost.text, (*record)->lost.unit);
  free(*record);
  *record = NULL;
}

static bool has_names(const sp_record_node *n) {
  return n->kind == SP_RECORD_OBJECT || n->kind == SP_RECORD_ROW;
}

static sp_record_node *find_member(const sp_record_node *parent, const char *name, size_t length) {
  sp_record_node *n = parent->first;
  if (parent->count > MANY) {
    const sp_name *found = sp_names_find(&parent->names, name, length);
    return found ? found->item : NULL;
  }
  while (n && (strncmp(n->name, name, length) != 0 || n->name[length])) n = n->next;
  return n;
}

static char *copy_text(sp_record *record, const char *text) {
  char *copy = NULL;
  if (sp_format(&copy, "%s", text)) record->failed = true;
  return copy;
}

/* Append a member. With more than MANY, members with names are in a table. */
static sp_status append_member(sp_record_node *parent, sp_record_node *n) {
  *(parent->last ? &parent->last->next : &parent->first) = n;
  parent->last = n;
  if (++parent->count <= MANY || !has_names(parent)) return SP_OK;
  for (n = parent->count == MANY + 1 ? parent->first : n; n; n = n->next)
    SP_TRY(sp_names_add(&parent->names, n->name, strlen(n->name), 0, n));
  return SP_OK;
}

/* The member `name` of the innermost open object, without a value. */
static sp_record_node *add_member(sp_record *record, sp_record_kind kind, const char *name) {
  sp_record_node *parent = record->open[record->depth - 1];
  sp_record_node *n = has_names(parent) ? find_member(parent, name, strlen(name)) : NULL;
  if (!n) {
    char *copy = has_names(parent) ? copy_text(record, name) : NULL;
    if (record->failed || sp_allocate(1, sizeof *n, "record of results", &n)) {
      record->failed = true;
      free(copy);
      n = &record->lost;
    } else {
      n->name = copy;
      record->failed = append_member(parent, n);
    }
  }
  if (n->kind != kind) clear_members(n);
  SP_FREE(n->text, n->unit);
  n->text = n->unit = NULL;
  n->kind = kind;
  return n;
}

void sp_record_text(sp_record *record, const char *name, const char *value) {
  if (!record) return;
  sp_record_node *n = add_member(record, SP_RECORD_TEXT, name);
  if (value) n->text = copy_text(record, value);
}

void sp_record_integer(sp_record *record, const char *name, int64_t value) {
  if (record) add_member(record, SP_RECORD_INTEGER, name)->integer = value;
}

void sp_record_real(sp_record *record, const char *name, double value, const char *unit) {
  if (!record) return;
  sp_record_node *n = add_member(record, SP_RECORD_REAL, name);
  n->real = value;
  if (unit && unit[0]) n->unit = copy_text(record, unit);
}

static void add_values(sp_record *record, const char *format, va_list values) {
  while (*format) {
    char name[32], unit[16] = "";
    const char *given = unit;
    int length = 0;
    if (sscanf(format, "%31s %%%n", name, &length) != 1) break;
    format += length;
    if (*format == 's')
      sp_record_text(record, name, va_arg(values, const char *));
    else if (*format == 'd')
      sp_record_integer(record, name, va_arg(values, int));
    else if (*format == 'l')
      sp_record_integer(record, name, va_arg(values, long long));
    format += strspn(format, "sdl");
    if (*format == 'g') {
      if (sscanf(format, "g [%15[^]]]%n", unit, &length) == 1) format += length - 1;
      const double value = va_arg(values, double);
      if (strcmp(unit, "%s") == 0) given = va_arg(values, const char *);
      sp_record_real(record, name, value, given);
      format++;
    }
    format += strspn(format, ", ");
  }
}

void sp_record_add(sp_record *record, const char *format, ...) {
  va_list values;
  va_start(values, format);
  if (record) add_values(record, format, values);
  va_end(values);
}

void sp_record_row(sp_record *record, const char *format, ...) {
  va_list values;
  va_start(values, format);
  sp_record_open(record, SP_RECORD_ROW, NULL);
  if (record) add_values(record, format, values);
  sp_record_close(record);
  va_end(values);
}

void sp_record_open(sp_record *record, sp_record_kind kind, const char *name) {
  if (!record) return;
  assert(record->depth < DEPTH && kind >= SP_RECORD_OBJECT);
  sp_record_node *n = add_member(record, kind, name);
  record->open[record->depth++] = n;
}

void sp_record_close(sp_record *record) {
  if (!record) return;
  assert(record->depth > 1);
  record->depth--;
}

void sp_record_log_text(sp_record *record, const char *text) {
  if (!record) return;
  sp_record_node *n = record->open[record->depth - 1];
  free(n->text);
  n->text = copy_text(record, text);
}

sp_status sp_record_check(const sp_record *record) {
  return record && record->failed ? sp_fail(SP_ERR_SYSTEM, "out of memory: record of results")
                                  : SP_OK;
}

const sp_record_node *sp_record_root(const sp_record *record) {
  return &record->root;
}

/* ---- JSON ---- */

static void write_text(FILE *out, const char *text) {
  fputc('"', out);
  while (*text) {
    unsigned code;
    const size_t length = sp_utf8(text, &code);
    const unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      fprintf(out, "\\%c", c);
    else if (c == '\n')
      fputs("\\n", out);
    else if (c < 0x20)
      fprintf(out, "\\u%04x", c);
    else if (length == 0)
      fputs("\xEF\xBF\xBD", out); /* U+FFFD */
    else
      fwrite(text, 1, length, out);
    text += length ? length : 1;
  }
  fputc('"', out);
}

/* With a point or an exponent, so that readers take it for a real number. */
static void write_real(FILE *out, double value) {
  char text[32];
  const int length = snprintf(text, sizeof text, "%.17g", value);
  fprintf(out, "%s%s", text, strspn(text, "-0123456789") == (size_t)length ? ".0" : "");
}

static void write_node(FILE *out, const sp_record_node *n, int depth) {
  const char *ends = has_names(n) ? "{}" : "[]";
  if (n->kind == SP_RECORD_TEXT && n->text) {
    write_text(out, n->text);
  } else if (n->kind == SP_RECORD_INTEGER) {
    fprintf(out, "%" PRId64, n->integer);
  } else if (n->kind == SP_RECORD_REAL && isfinite(n->real)) {
    write_real(out, n->real);
  } else if (n->kind < SP_RECORD_OBJECT) {
    fputs("null", out);
  } else {
    fputc(ends[0], out);
    for (const sp_record_node *m = n->first; m; m = m->next) {
      fprintf(out, "%s\n%*s", m == n->first ? "" : ",", 2 * (depth + 1), "");
      if (m->name) write_text(out, m->name);
      if (m->name) fputs(": ", out);
      write_node(out, m, depth + 1);
    }
    if (n->first) fprintf(out, "\n%*s", 2 * depth, "");
    fputc(ends[1], out);
  }
}

sp_status sp_record_format(const sp_record *record, char **text) {
  assert(record->depth == 1);
  size_t size;
  *text = NULL;
  SP_TRY(sp_record_check(record));
  FILE *out = open_memstream(text, &size);
  if (out) write_node(out, &record->root, 0);
  if (out) fputc('\n', out);
  const bool failed = !out || ferror(out);
  if ((!out || fclose(out) == 0) && !failed) return SP_OK;
  free(*text);
  *text = NULL;
  return sp_fail(SP_ERR_SYSTEM, "out of memory: JSON document");
}

/* ---- The terminal ---- */

/* The member at `path`, which ends at one of ":*?". *end = there. */
static const sp_record_node *find_path(const sp_record_node *n, const char *path,
                                       const char **end) {
  for (;; path++) {
    const size_t length = strcspn(path, ".:*?");
    n = n ? find_member(n, path, length) : NULL;
    path += length;
    if (*path == '.') continue;
    *end = path;
    return n;
  }
}

/* Print the value named at `at`, behind "{". Returns the text behind "}". Prints nothing if there
 * is no value, or no terminal. */
static const char *print_value(sp_terminal *terminal, const sp_record_node *scope, const char *at,
                               bool *missing) {
  char format[32], *behind;
  double factor = 1;
  const sp_record_node *n = find_path(scope, at, &at);
  const char *end = at + strcspn(at, "}");
  const bool is_empty = !n || (n->kind == SP_RECORD_TEXT && !(n->text && *n->text));
  *missing = *missing || is_empty;
  if (!terminal || is_empty) return end + 1;
  if (*at == '*') {
    factor = strtod(at + 1, &behind);
    at = behind;
  }
  const int length = (int)(end - at) - 1;
  assert(length > 0 && length < 16 && (*at == '?' || *at == ':'));
  if (*at == '?' && n->integer != 1) sp_terminal_print(terminal, "%.*s", length, at + 1);
  if (*at == '?') return end + 1;
  const bool is_integer = end[-1] == 'd';
  snprintf(format, sizeof format, "%%%.*s%s", is_integer ? length - 1 : length, at + 1,
           is_integer ? PRId64 : "");
  if (is_integer)
    sp_terminal_print(terminal, format, n->integer);
  else if (end[-1] == 's')
    sp_terminal_print(terminal, format, n->text);
  else
    sp_terminal_print(terminal, format, n->real * factor);
  return end + 1;
}

/* Print up to the end of the layout or of its optional part, and return the rest. */
static const char *print_part(sp_terminal *terminal, const sp_record_node *scope, const char *at,
                              bool *missing) {
  while (*at && *at != ']') {
    const size_t length = strcspn(at, "{[]");
    if (length > 0 && terminal) sp_terminal_print(terminal, "%.*s", (int)length, at);
    at += length;
    if (*at == '{') {
      at = print_value(terminal, scope, at + 1, missing);
    } else if (*at == '[') {
      bool lacks = false;
      const char *end = print_part(NULL, scope, at + 1, &lacks);
      if (terminal && !lacks) print_part(terminal, scope, at + 1, &lacks);
      at = end + 1;
    }
  }
  return at;
}

void sp_record_print(const sp_record *record, sp_terminal *terminal, const char *layout) {
  bool missing = false;
  if (record) print_part(terminal, &record->root, layout, &missing);
}

void sp_record_print_rows(const sp_record *record, sp_terminal *terminal, const char *table,
                          const char *layout) {
  bool missing = false;
  const sp_record_node *rows = record ? find_member(&record->root, table, strlen(table)) : NULL;
  for (const sp_record_node *row = rows ? rows->first : NULL; row; row = row->next)
    print_part(terminal, row, layout, &missing);
}
