/* Internal to mesh/gmsh*.c: the bytes of a gmsh file as lines, words and binary numbers, for our
 * own readers of formats 2 and 4. All functions are Local. Failures are SP_ERR_INPUT with the path
 * and, in an ASCII file, the line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "io/error.h"

enum { SP_EXCERPT = 44 };

/* Part of a file: the rest of a line or of the file. */
typedef struct sp_span {
  const char *at, *end;
} sp_span;

typedef struct sp_scan {
  const char *path;
  sp_span rest;
  size_t line;          /* of the line that was read last */
  double version;       /* before $MeshFormat the caller's */
  bool binary, swapped; /* swapped: written by a machine of the other byte order */
} sp_scan;

/* Map a file into memory; sp_scan_close removes the map. Errors: SP_ERR_INPUT. */
sp_status sp_scan_open(const char *path, sp_scan *s, char **bytes, size_t *size);
void sp_scan_close(char *bytes, size_t size);

/* The next line, or the next nonblank line, without blanks at its ends; false at the end of the
 * file. */
bool sp_scan_line(sp_scan *s, sp_span *line);
bool sp_scan_filled_line(sp_scan *s, sp_span *line);

bool sp_span_begins(const sp_span *line, const char *word);

/* Take one word, an integer in [-INT_MAX, INT_MAX], `count` reals from the line; false if there are
 * none. */
bool sp_span_word(sp_span *line, sp_span *word);
bool sp_span_int(sp_span *line, int *value);
bool sp_span_reals(sp_span *line, int count, double *values);

/* The value of a word; false if it is no number. */
bool sp_span_real(const sp_span *word, double *value);

/* Take binary numbers; false if the file ends before. */
bool sp_scan_int(sp_scan *s, int *value);
bool sp_scan_long(sp_scan *s, long long *value);
bool sp_scan_reals(sp_scan *s, int count, double *values);

/* Read the section $MeshFormat: the version, the encoding, and the byte order of a binary file. */
sp_status sp_scan_format(sp_scan *s);

/* Fail: "expected X, found 'the start of the line'". */
sp_status sp_scan_unexpected(const sp_scan *s, const sp_span *found, const char *expected);

/* The start of a line, with unprintable characters replaced. Returns `out`. */
const char *sp_span_excerpt(const sp_span *line, char out[SP_EXCERPT]);

/* ":12", or nothing in a binary file, which has no lines. Returns `out`. */
const char *sp_scan_where(const sp_scan *s, size_t line, char out[24]);
