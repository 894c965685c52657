/* Input of a user: points, lines, and results by the names of groups, before there is a mesh.
 * solver/config/ fills it from a case file. */
#pragma once

#include "solver/problem/statement.h"
#include "solver/results/result_types.h"

/* One line of [probe]: name = x y z. */
typedef struct sp_probe_entry {
  char *name;
  char *where; /* "case.ini:12: probe.name", prefix of messages */
  double point[3];
} sp_probe_entry;

/* One line of [line]: name = x y z, x y z, samples. */
enum { SP_LINE_SAMPLES = 10000 };
typedef struct sp_line_entry {
  char *name;
  char *where; /* "case.ini:12: line.name", prefix of messages */
  double ends[2][3];
  int samples; /* 2..SP_LINE_SAMPLES, evenly spaced, with both ends */
} sp_line_entry;

/* One line of [result]: name = kind [of formula] [over [surface|volume] group]; of a pair, with
 * `, [surface|volume] other [by source]`; or name = formula, of the probes, the results before it
 * and constants. */
typedef enum sp_result_over {
  SP_OVER_DOMAIN,
  SP_OVER_GROUP, /* of surfaces or of volumes */
  SP_OVER_SURFACE,
  SP_OVER_VOLUME
} sp_result_over;

typedef struct sp_result_entry {
  char *name;
  char *where; /* "case.ini:12: result.name", prefix of messages */
  const sp_result_type *type;
  sp_result_over over, other_over;
  sp_formula formula; /* of x, y, z and u; none: u itself; or of results, if the type is */
  char *group;        /* NULL: the whole domain */
  char *other;        /* of a pair: the group that heat flows to; else NULL */
  /* Of a pair: the result or source to divide by, or NULL. The index of that result, or -1;
   * or the heat of that source; without one, of a source in `group` or, negative, `other`; NAN:
   * none. */
  char *by;
  int by_result;
  double heat;
  const char *heat_of; /* that group, or `by` */
} sp_result_entry;

/* Lists in the order of the file. */
typedef struct sp_wanted {
  struct {
    sp_probe_entry *entries;
    int count;
  } probes;
  struct {
    sp_line_entry *entries;
    int count;
  } lines;
  struct {
    sp_result_entry *entries;
    int count;
  } results;
  sp_units units; /* labels for all numbers */
} sp_wanted;
