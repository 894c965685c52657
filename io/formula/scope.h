/* Constants and tables of a case, which its formulas may use; a constant may use earlier ones.
 * Tables are functions of one argument, from files with two columns, or of two arguments, from
 * maps. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "io/error.h"

typedef struct sp_constant {
  const char *name; /* owned by the caller of sp_scope_define (io/formula/expression.h) */
  double value;
  bool used; /* in a formula that has been parsed */
} sp_constant;

typedef struct sp_table {
  char *name, *path; /* as formulas write it; as the program opens it */
  bool is_map;       /* of two arguments */
  double *data;      /* {n, x[n], y[n]}: y[k] at x[k], x ascending; of a map {nx, ny, x[nx], y[ny],
                        v[ny][nx]}: v[j][i] at x[i], y[j] */
} sp_table;

typedef struct sp_tables {
  int count;
  sp_table *list;
} sp_tables;

/* Numbers that a program sets after formulas have been parsed. */
typedef struct sp_values {
  int count, known;   /* formulas that are parsed see the first `known` */
  const char **names; /* borrowed */
  double *data;       /* [count][SP_EXPRESSION_PADDING], aligned as constants of a program */
} sp_values;

typedef struct sp_scope {
  int count;
  sp_constant *constants;
  sp_tables tables;
  sp_values values;
  double *time; /* the value of t, for formulas that have it; NULL: they have none */
} sp_scope;

/* Give t to the formulas that are parsed from now on, with the value 0. Errors: SP_ERR_SYSTEM.
 * Local. */
sp_status sp_scope_add_time(sp_scope *scope);

/* Set t for all evaluations from now on, while none runs. `scope` may be without time. Local. */
void sp_scope_set_time(sp_scope *scope, double t);

/* Make room for `count` values without names, once; with the name NULL a value is unknown. Errors:
 * SP_ERR_SYSTEM. Local. */
sp_status sp_scope_add_values(sp_scope *scope, int count);

/* Set value i for all evaluations from now on, while none runs. Local. */
void sp_scope_set_value(const sp_scope *scope, int i, double value);

/* Read the tables and maps that `text` names, table("FILE", ...), if they are new; io/README.md
 * (Formulas) has their formats. A relative FILE is in `folder`, which ends in "/" or is "". `where`
 * begins messages. Local. Errors: SP_ERR_INPUT with the line of the file, SP_ERR_SYSTEM. */
sp_status sp_tables_read(sp_tables *tables, const char *text, const char *folder,
                         const char *where);

/* The data of the table or map whose name has these `length` characters; NULL if there is none.
 * Local. */
static inline const double *sp_tables_find(const sp_tables *tables, const char *name, size_t length,
                                           bool is_map) {
  for (int t = 0; t < tables->count; t++)
    if (tables->list[t].is_map == is_map && strlen(tables->list[t].name) == length &&
        strncmp(tables->list[t].name, name, length) == 0)
      return tables->list[t].data;
  return NULL;
}

/* NULL-safe; sets *scope to NULL. Local. */
void sp_scope_destroy(sp_scope **scope);
