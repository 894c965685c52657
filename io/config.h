/* The case: one INI file and overrides from the command line become one validated sp_config.
 *
 *     # comment, also after a value when white space stands before the # (or ;)
 *     [section]
 *     key = value            values run to the end of the line; lines may have any length
 *
 * An unknown section or key, a key given twice, a value of the wrong type or out of range is an
 * error with file, line, what was expected, what was found, and the nearest known name. Overrides
 * have the form section.key=value, are applied after the file (the last one of a key wins), and
 * their errors name the argument in place of file and line. section.key= gives the key its default
 * again, or takes the line of a boundary group or probe out. Section and key names are lower case;
 * names of boundary groups are free text, or "default". A relative mesh.file is relative to the
 * case file that names it, on the command line to the working directory. */
#ifndef SP_IO_CONFIG_H
#define SP_IO_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "io/error.h"
#include "io/output_paths.h"

typedef enum sp_shape { SP_SHAPE_FILE, SP_SHAPE_BOX } sp_shape;
typedef enum sp_map { SP_MAP_NONE, SP_MAP_SINE, SP_MAP_KERSHAW } sp_map;
typedef enum sp_operator_kind { SP_MASS, SP_BP35, SP_BP30 } sp_operator_kind;
typedef enum sp_geometry_kind {
  SP_GEOMETRY_AUTO,
  SP_GEOMETRY_STORED,
  SP_GEOMETRY_TRILINEAR
} sp_geometry_kind;
typedef enum sp_condition { SP_DIRICHLET, SP_NEUMANN, SP_ROBIN, SP_PERIODIC } sp_condition;
typedef enum sp_preconditioner_kind {
  SP_PRECONDITIONER_NONE,
  SP_PRECONDITIONER_JACOBI
} sp_preconditioner_kind;
typedef enum sp_device_kind { SP_DEVICE_AUTO, SP_DEVICE_HOST, SP_DEVICE_CUDA } sp_device_kind;

typedef enum sp_transport {
  SP_TRANSPORT_AUTO,
  SP_TRANSPORT_PEER,
  SP_TRANSPORT_CUDA_AWARE,
  SP_TRANSPORT_NCCL,
  SP_TRANSPORT_STAGED
} sp_transport;

/* A formula as written, not yet parsed; text is NULL where the user gave none. */
typedef struct sp_formula {
  char *text;
  char *where; /* "case.ini:12: problem.solution", to head messages */
} sp_formula;

/* One line of [boundary]: group = condition [formula], group = robin alpha[, formula], or group =
 * periodic partner. Lines keep the order of the file: where two Dirichlet groups meet, the first
 * one listed gives the value.
 */
typedef struct sp_boundary_entry {
  char *group;
  sp_condition condition;
  sp_formula alpha;   /* robin alone has it */
  sp_formula formula; /* without text: derived from the solution; its place is the line's */
  char *partner;      /* the other group of a periodic pair, else NULL */
} sp_boundary_entry;

/* One line of [probe]: name = x y z. */
typedef struct sp_probe_entry {
  char *name;
  char *where; /* "case.ini:12: probe.name", to head messages */
  double point[3];
} sp_probe_entry;

typedef struct sp_config {
  struct {
    sp_shape shape;  /* box, unless mesh.file is given */
    char *file;      /* NULL for a box; path as the program opens it */
    char *where;     /* place of mesh.file or mesh.shape, for messages */
    int elements[3]; /* each >= 1 */
    double lower[3], upper[3];
    sp_map map;
    double epsilon; /* Kershaw's, in (0, 1] */
    int refine;     /* uniform refinements, 0..10 */
  } mesh;
  struct {
    int order; /* N, 1..15 */
    sp_operator_kind operator_kind;
    sp_geometry_kind geometry;
  } discretization;
  struct {
    sp_formula lambda, kappa, solution, forcing;
    bool lambda_given, kappa_given; /* by the user, so that the mass problem can refuse them */
  } problem;
  struct {
    sp_boundary_entry *entries; /* without "default" */
    int count;
    sp_boundary_entry fallback; /* "default": every exterior face that no entry claims */
    char *where;                /* place of the first line the user gave, NULL if there was none */
  } boundary;
  struct {
    double tolerance;   /* on ||r|| / ||b||, from DBL_EPSILON to below 1 */
    int max_iterations; /* >= 1 */
    sp_preconditioner_kind preconditioner;
  } solver;
  struct {
    sp_device_kind device;
    sp_transport exchange; /* how GPUs sum over ranks */
  } backend;
  struct {
    /* Paths relative to the working directory; "" writes none, restarts from none. */
    char *log, *field, *checkpoint, *restart;
    /* Places of the outputs that the user names, for messages; NULL for defaults. */
    char *log_where, *field_where, *checkpoint_where;
    double every; /* seconds between checkpoints; 0: at the end only */
  } output;
  struct {
    sp_probe_entry *entries; /* in the order of the file */
    int count;
  } probes;
} sp_config;

/* Rank 0 reads `path` and broadcasts its text; every rank parses it and the overrides, so that all
 * hold the same configuration. `path` may be NULL: then defaults and overrides alone make the case.
 * *out is destroyed by the caller. Collective over `comm`. Errors: SP_ERR_INPUT, SP_ERR_SYSTEM. */
sp_status sp_config_read(MPI_Comm comm, const char *path, int override_count,
                         const char *const *overrides, sp_config **out);

/* NULL-safe; sets *config to NULL. Local. */
void sp_config_destroy(sp_config **config);

/* The outputs of a case as sp_output_paths_check wants them; they borrow from `config`. Local. */
enum { SP_OUTPUT_LOG, SP_OUTPUT_FIELD, SP_OUTPUT_CHECKPOINT, SP_OUTPUTS };
void sp_config_outputs(const sp_config *config, sp_output_path outputs[SP_OUTPUTS]);

/* The resolved case as an INI text with every key, that sp_config_read accepts and resolves to the
 * same configuration. The caller frees it. Local. */
sp_status sp_config_format(const sp_config *config, char **text);

/* A commented INI text with every key and its default, for --defaults. Local. */
void sp_config_print_defaults(FILE *stream);

/* Names as they are written in a case ("bp3.5", "stored", "jacobi", ...). Local. */
const char *sp_operator_name(sp_operator_kind kind);
const char *sp_geometry_kind_name(sp_geometry_kind kind);
const char *sp_transport_name(sp_transport kind);
const char *sp_condition_name(sp_condition condition);
const char *sp_preconditioner_name(sp_preconditioner_kind kind);

#endif
