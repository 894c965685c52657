/* Input of a user: points, lines, and results by the names of groups, before there is a mesh.
 * solver/config/ fills it from a case file. */
#pragma once

#include "solver/problem/statement.h"
#include "solver/results/units.h"

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

/* One line of [result]: name = kind [of formula] [over [surface|volume] group]; of a resistance,
 * with `, [surface|volume] other [by source]`; or name = formula, of the probes, the results before
 * it and constants. */
typedef enum sp_result_kind {
  SP_RESULT_INTEGRAL,
  SP_RESULT_AVERAGE,
  SP_RESULT_MINIMUM,
  SP_RESULT_MAXIMUM,
  SP_RESULT_NORM,
  SP_RESULT_RESISTANCE, /* of no formula; over two groups */
  SP_RESULT_FLUX,       /* of no formula, and not over SP_OVER_DOMAIN or SP_OVER_VOLUME */
  SP_RESULT_FORMULA
} sp_result_kind;
typedef enum sp_result_over {
  SP_OVER_DOMAIN,
  SP_OVER_GROUP, /* of surfaces or of volumes */
  SP_OVER_SURFACE,
  SP_OVER_VOLUME
} sp_result_over;

/* Words of a case, by sp_result_kind; ends with NULL. */
extern const char *const sp_result_names[];

typedef struct sp_result_entry {
  char *name;
  char *where; /* "case.ini:12: result.name", prefix of messages */
  sp_result_kind kind;
  sp_result_over over, other_over;
  sp_formula formula; /* of x, y, z and u; none: u itself; of SP_RESULT_FORMULA that of the line */
  char *group;        /* NULL: the whole domain */
  char *other;        /* of a resistance: the group that heat flows to; else NULL */
  /* Of a resistance: the result or source to divide by, or NULL. The index of that result, or -1;
   * or the heat of that source, without one that of a source in `group` or, negative, `other`;
   * NAN: none. */
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
