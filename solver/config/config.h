/* The case: one INI file and overrides from the command line become one validated sp_config.
 *
 *     # comment, also after a value if white space precedes the # (or ;)
 *     [section]
 *     key = value            values run to the end of the line; lines may have any length
 *
 * An unknown section or key, a key given twice, a value of the wrong type or out of range is an
 * error with file, line, what was expected, what was found, and the nearest known name. Overrides
 * have the form section.key=value and are applied after the file; of several for one key the last
 * one counts. Their errors name the argument instead of file and line. section.key= gives the key
 * its default again, or removes the line of a boundary group, probe, line or result. Section and
 * key names are lower case; names of boundary groups are free text, or "default". Sections
 * [material NAME] and [region NAME] may occur once for each NAME, which is free text too; as
 * arguments material.NAME.key=value. A relative mesh.file or problem.initial is relative to the
 * case file that names it or, on the command line, to the working directory. The file of a table in
 * a formula is always relative to the case file, if there is one; every rank reads it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "io/error.h"
#include "io/formula/scope.h"
#include "io/record.h"
#include "mesh/box.h"
#include "mesh/gmsh/gmsh.h"
#include "operators/kinds.h"
#include "operators/platform.h"
#include "operators/transport.h"
#include "solver/config/output_paths.h"
#include "solver/linear/options.h"

typedef enum sp_shape { SP_SHAPE_FILE, SP_SHAPE_BOX } sp_shape;
typedef enum sp_condition {
  SP_DIRICHLET,
  SP_NEUMANN,
  SP_ROBIN,
  SP_PERIODIC,
  SP_SOURCE,
  SP_CONTACT
} sp_condition;

/* A formula as written, not yet parsed; text is NULL if none is given. */
typedef struct sp_formula {
  char *text;
  char *where; /* "case.ini:12: problem.solution", prefix of messages */
} sp_formula;

/* One line of [constants]: name = number or formula of earlier constants. */
typedef struct sp_constant_entry {
  char *name;
  char *where; /* "case.ini:12: constants.name", prefix of messages */
  sp_formula value;
} sp_constant_entry;

/* One line of [boundary]: group = condition [formula], group = robin alpha[, formula], group =
 * periodic partner, group = source total, or group = contact resistance. Lines keep the order of
 * the file: where two Dirichlet groups meet, the first one listed gives the value. */
typedef struct sp_boundary_entry {
  char *group;
  char *where; /* "case.ini:12: boundary.group", prefix of messages; NULL for "default" */
  sp_condition condition;
  sp_formula alpha;   /* of robin only */
  sp_formula formula; /* text NULL: derived from the solution; `where` is always set */
  char *partner;      /* the other group of a periodic pair, else NULL */
} sp_boundary_entry;

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
 * with `, [surface|volume] other`. */
typedef enum sp_result_kind {
  SP_RESULT_INTEGRAL,
  SP_RESULT_AVERAGE,
  SP_RESULT_MINIMUM,
  SP_RESULT_MAXIMUM,
  SP_RESULT_NORM,
  SP_RESULT_RESISTANCE, /* of no formula; over two groups */
  SP_RESULT_FLUX        /* of no formula, and not over SP_OVER_DOMAIN or SP_OVER_VOLUME */
} sp_result_kind;
typedef enum sp_result_over {
  SP_OVER_DOMAIN,
  SP_OVER_GROUP, /* of surfaces or of volumes */
  SP_OVER_SURFACE,
  SP_OVER_VOLUME
} sp_result_over;

typedef struct sp_result_entry {
  char *name;
  char *where; /* "case.ini:12: result.name", prefix of messages */
  sp_result_kind kind;
  sp_result_over over, other_over;
  char *formula; /* of x, y, z and u; NULL: u itself */
  char *group;   /* NULL: the whole domain */
  char *other;   /* of a resistance: the group that heat flows to; else NULL */
} sp_result_entry;

/* One section [material NAME]: the equation in a volume group of the mesh. Formulas whose text is
 * NULL are those of [problem]. */
typedef struct sp_material_entry {
  char *name;  /* of the group, its number, or "default": elements that no other section names */
  char *where; /* "case.ini:12: [material NAME]", prefix of messages */
  sp_formula kappa, axes, lambda, solution, forcing, source;
} sp_material_entry;

/* One section [region NAME]: the elements of a box between two corners, as a volume group. */
typedef struct sp_region_entry {
  char *name;
  char *where; /* "case.ini:12: [region NAME]", prefix of messages */
  double lower[3], upper[3];
} sp_region_entry;

/* Place where a key was given. */
typedef struct sp_given {
  char *where;      /* "case.ini:12: mesh.file", prefix of messages; NULL if it was not given */
  bool in_argument; /* on the command line */
} sp_given;

typedef struct sp_config {
  sp_given *given; /* by key, see sp_config_where */
  struct {
    sp_constant_entry *entries; /* in the order of the file */
    int count;
  } constants;
  sp_scope *scope; /* the constants and tables, for the formulas of the case */
  struct {
    sp_shape shape;      /* box, unless mesh.file is given */
    char *file;          /* NULL for a box; path as the program opens it */
    char *where;         /* where its size was given: refine, file or elements */
    double scale;        /* > 0, factor on the coordinates of the file */
    sp_gmsh_sizes sizes; /* of a geometry from CAD */
    int elements[3];     /* each >= 1 */
    double lower[3], upper[3];
    sp_map map;
    double epsilon; /* of Kershaw's map, in (0, 1] */
    sp_step step;   /* of Kershaw's map */
    int refine;     /* uniform refinements, 0..10 */
  } mesh;
  struct {
    int order; /* N, 1..15 */
    sp_operator_kind operator_kind;
    sp_geometry_kind geometry;
  } discretization;
  struct {
    sp_material_entry all; /* formulas of all elements that have none of their own */
    sp_formula initial;    /* a formula, or the path of a field as the program opens it */
  } problem;
  struct {
    sp_boundary_entry *entries; /* without "default" */
    int count;
    sp_boundary_entry fallback; /* "default": every exterior face that no entry claims */
    char *where;                /* of the first line that the user gave, NULL if there was none */
  } boundary;
  sp_solver_options solver; /* without order and geometry, see sp_config_solver */
  struct {
    sp_device_kind device;
    sp_transport exchange; /* how GPUs sum over ranks */
    sp_share share;
    int threads; /* per rank; 0: OMP_NUM_THREADS, else the program chooses */
  } backend;
  struct {
    /* Paths relative to the working directory; "" for none. A solution that has not converged never
     * replaces one that has. */
    char *log, *field, *unconverged;
    int accuracy; /* 1: error bars (solver/results/answers.h) */
    int flux;     /* 1: the field holds kappa grad u, too; else 0 */
  } output;
  struct {
    sp_probe_entry *entries; /* in the order of the file */
    int count;
  } probes;
  struct {
    sp_line_entry *entries; /* likewise */
    int count;
  } lines;
  struct {
    sp_result_entry *entries; /* likewise */
    int count;
  } results;
  struct {
    sp_material_entry *entries; /* likewise */
    int count;
  } materials;
  struct {
    sp_region_entry *entries; /* likewise; none without a box */
    int count;
  } regions;
} sp_config;

/* Rank 0 reads `path` and broadcasts its text; every rank parses it and the overrides, so that all
 * hold the same configuration. `path` may be NULL: then the case consists of defaults and
 * overrides. The caller destroys *out. Collective over `comm`.
 * Errors: SP_ERR_INPUT, SP_ERR_SYSTEM. */
sp_status sp_config_read(MPI_Comm comm, const char *path, int override_count,
                         const char *const *overrides, sp_config **out);

/* The two steps of sp_config_read. The text of the file on all ranks; the caller frees *text, also
 * after a failure. And a configuration from a text, whose place is `path` in messages and for
 * relative paths; NULL: none, only overrides. Collective, errors as above. */
sp_status sp_config_text(MPI_Comm comm, const char *path, char **text, int *length);
sp_status sp_config_parse(MPI_Comm comm, const char *path, const char *text, int length,
                          int override_count, const char *const *overrides, sp_config **out);

/* NULL-safe; sets *config to NULL. Local. */
void sp_config_destroy(sp_config **config);

/* The place of a key that the user has given, as messages begin; NULL if it has its default. Local.
 */
const char *sp_config_where(const sp_config *config, const char *section, const char *name);

/* The options of the solver, complete. Local. */
sp_solver_options sp_config_solver(const sp_config *config);

/* The field file that problem.initial names, its text ends in ".hdf"; NULL for a formula or
 * nothing. Owned by `config`. Local. */
const char *sp_config_initial_file(const sp_config *config);

/* The outputs of a case for sp_output_paths_check; the strings are owned by `config`. Local. */
enum { SP_OUTPUT_LOG, SP_OUTPUT_FIELD, SP_OUTPUT_UNCONVERGED, SP_OUTPUTS };
void sp_config_outputs(const sp_config *config, sp_output_path outputs[SP_OUTPUTS]);

/* The resolved case as an INI text with every key. sp_config_read resolves it to the same
 * configuration. The caller frees *text. Local. Errors: SP_ERR_SYSTEM; SP_ERR_INPUT if the mesh's
 * path cannot be written in a case. */
sp_status sp_config_format(const sp_config *config, char **text);

/* Add to `record` the object "case": the resolved case, one object per section and one member per
 * key, and its text for the log. Integers and numbers are in a list if there are several; other
 * values are texts. Sections [material NAME] and [region NAME] are objects by NAME in "material"
 * and "region". Keys without a meaning in this case are left out. Errors: those of
 * sp_config_format. Local. */
sp_status sp_config_record(const sp_config *config, sp_record *record);

/* A commented INI text with every key and its default, for --defaults. Local. Errors:
 * SP_ERR_SYSTEM. */
sp_status sp_config_print_defaults(FILE *stream);

/* Words of a case, by sp_condition and sp_result_kind; both lists end with NULL. */
extern const char *const sp_condition_names[], *const sp_result_names[];
