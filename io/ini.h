/* The syntax of case files: INI text becomes a plain list. Independent of the names of sections and
 * keys.
 *
 *     # a comment, or ; one
 *     [section]            # white space within the brackets does not matter
 *     key = value          # the key ends at the first '='; the value may be empty
 *
 * A # or ; begins a comment at the start of a line or a value, or after white space, but not within
 * double quotes that are closed on the same line. Quotes around a whole value are removed. Lines
 * may have any length and end in LF or CRLF; a UTF-8 byte order mark is skipped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "io/error.h"

/* White space within a line. */
#define SP_INI_SPACE " \t\r\v\f"

typedef struct sp_ini_entry {
  const char *section;
  const char *key;   /* NULL in the entry of the line [section] itself */
  const char *value; /* trimmed, may be ""; NULL if key is NULL */
  int line;          /* counted from 1; 0 for a command-line argument */
} sp_ini_entry;

typedef struct sp_ini {
  sp_ini_entry *entries; /* in the order of the text */
  int count;
  char *text; /* the memory to which the entries point */
} sp_ini;

/* Split `text`, which may hold any bytes. `name` begins messages, "case.ini:12: expected ...". The
 * caller destroys *out. Local. Errors: SP_ERR_INPUT with the first line that is neither a section
 * nor a key = value nor a comment, or that contains a NUL byte. */
sp_status sp_ini_parse(const char *name, const char *text, size_t length, sp_ini **out);

/* One entry from section.key=value, where the section ends at the first dot. Refuses keys and
 * values that a file cannot express, so that a case with its arguments can be written as one file.
 * The caller destroys *out. Local. Errors: SP_ERR_INPUT. */
sp_status sp_ini_parse_argument(const char *argument, sp_ini **out);

/* NULL-safe; sets *ini to NULL. Local. */
void sp_ini_destroy(sp_ini **ini);

/* True if `value` is read back unchanged when sp_ini_write has written it into a file. Local. */
bool sp_ini_holds(const char *value);

/* Write a value, in quotes if it needs them. Local. */
void sp_ini_write(const char *value, FILE *stream);

/* `text` as a message shows it: long text cut and ended in "...", control characters as '?'.
 * Returns `shown`. Local. */
enum { SP_SHOWN_SIZE = 64 };
const char *sp_ini_show(const char *text, char shown[SP_SHOWN_SIZE]);
