/* One tree of results. Three printers show it, so that a number cannot differ between them: the
 * JSON document (RFC 8259), the run log (io/run_log.h), and the terminal.
 *
 *     sp_record_text(r, "device", "host");              JSON                     run log
 *     sp_record_real(r, "seconds", 1.5, "s");           "device": "host"         attribute
 *     sp_record_open(r, SP_RECORD_ROW, "errors");       "seconds": 1.5           two attributes
 *     sp_record_real(r, "L2", 1e-9, "1");               "errors": {              a table, one row
 *     sp_record_close(r);                                 "L2": 1e-09
 *     sp_record_open(r, SP_RECORD_TABLE, "levels");     }
 *     sp_record_row(r, "order %d", 7);                  "levels": [              a table
 *     sp_record_close(r);                                 {
 *                                                           "order": 7
 *                                                         }
 *                                                       ]
 *
 * Members keep the order in which they are added. Adding a member again replaces its value; opening
 * an object or a table again appends to it. Members of a list or a table have no name: pass NULL.
 * All rows of a table have the same members, of the same kinds.
 *
 * `record` may be NULL: then nothing happens, so callers need no test. A lack of memory is kept and
 * reported by sp_record_check. All functions Local. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/names.h"
#include "io/terminal.h"

typedef enum sp_record_kind {
  SP_RECORD_TEXT,
  SP_RECORD_INTEGER,
  SP_RECORD_REAL,
  SP_RECORD_OBJECT, /* members of any kind; not in the log */
  SP_RECORD_LIST,   /* values without names; not in the log */
  SP_RECORD_ROW,    /* in the log one row: texts, numbers, and the texts of objects and lists */
  SP_RECORD_TABLE   /* rows */
} sp_record_kind;

/* A value; read only, for printers. */
typedef struct sp_record_node sp_record_node;
struct sp_record_node {
  sp_record_kind kind;
  char *name, *text; /* text: NULL is null; of an object or a list its attribute in the log */
  char *unit;        /* NULL for none */
  int64_t integer;
  double real;
  sp_record_node *first, *last, *next; /* first and last member; next member of the parent */
  size_t count;                        /* of members */
  sp_names names;                      /* of members, once there are many */
};

/* An empty object. The caller destroys *out. Errors: SP_ERR_SYSTEM. */
sp_status sp_record_create(sp_record **out);

/* Add a value. Texts are copied, NULL is null. `unit` is "1" for a pure number; NULL or "" is "1"
 * in a table, and no unit elsewhere. */
void sp_record_text(sp_record *record, const char *name, const char *value);
void sp_record_integer(sp_record *record, const char *name, int64_t value);
void sp_record_real(sp_record *record, const char *name, double value, const char *unit);

/* Open a member: all values added before the matching sp_record_close belong to it. At most 7 are
 * open at a time. */
void sp_record_open(sp_record *record, sp_record_kind kind, const char *name);
void sp_record_close(sp_record *record);

/* Add several values: "NAME %s, NAME %d, NAME %lld, NAME %g, NAME %g [UNIT]". sp_record_row adds
 * them as a row of the table that is open. In "%g [%s]" the unit is an argument. */
void sp_record_add(sp_record *record, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sp_record_row(sp_record *record, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Set the log's attribute for the open object or list. */
void sp_record_log_text(sp_record *record, const char *text);

/* Errors: SP_ERR_SYSTEM if memory was lacking since sp_record_create. */
sp_status sp_record_check(const sp_record *record);

/* The tree; `record` must not be NULL. */
const sp_record_node *sp_record_root(const sp_record *record);

/* *text = the JSON document, indented, with a line break at its end; the caller frees it. Reals
 * have 17 significant digits, so that reading them gives the same bits; infinities and NaN become
 * null. Bytes of a name or text that are not UTF-8 become U+FFFD. `record` must not be NULL.
 * Errors: SP_ERR_SYSTEM. */
sp_status sp_record_format(const sp_record *record, char **text);

/* Print `layout` with values in place of their names:
 *
 *     {name:FORMAT}     FORMAT is one of printf without %, for int64_t (d), double (e, f, g) or
 *                       text (s); errors.L2 is the member L2 of errors.
 *     {name*1e-6:.1f}   the real value times a factor.
 *     {name?s}          s if the integer is not 1.
 *     [...]             left out if a value in it is missing or an empty text.
 *
 * sp_record_print_rows does so for each row of a table, with the names of its members. */
void sp_record_print(const sp_record *record, sp_terminal *terminal, const char *layout);
void sp_record_print_rows(const sp_record *record, sp_terminal *terminal, const char *table,
                          const char *layout);

/* NULL-safe; sets *record to NULL. */
void sp_record_destroy(sp_record **record);
