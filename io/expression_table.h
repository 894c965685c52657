/* Tables that formulas name: functions of one argument, from files with two columns. */
#pragma once

#include <stddef.h>

#include "io/error.h"

typedef struct sp_table {
  char *name, *path; /* as formulas write it; as the program opens it */
  double *data;      /* {n, x[n], y[n]}: y[k] at x[k], x ascending */
} sp_table;

typedef struct sp_tables {
  int count;
  sp_table *list;
} sp_tables;

/* Read the tables that `text` names, table("FILE", ...), if they are new. A line of a file is two
 * numbers x and y, separated by blanks, a comma or both, and x ascends strictly; # begins a
 * comment. A relative FILE is in `folder`, which ends in "/" or is "". `where` begins
 * messages. sp_tables_free releases the memory, also after a failure. Local. Errors: SP_ERR_INPUT
 * with the line of the file, SP_ERR_SYSTEM. */
sp_status sp_tables_read(sp_tables *tables, const char *text, const char *folder,
                         const char *where);
void sp_tables_free(sp_tables *tables);

/* The data of the table whose name has these `length` characters; NULL if there is none. Local. */
const double *sp_tables_find(const sp_tables *tables, const char *name, size_t length);
