/* The case: one INI file (io/ini.h) and overrides from the command line become one validated
 * sp_config.
 *
 * An unknown section or key, a key given twice, a value of the wrong type or out of range is an
 * error. Its message has file, line, the expected and the found value, and the nearest known name.
 * Overrides have the form section.key=value and are applied after the file; the last one for a key
 * counts. Their errors name the argument instead of file and line. An empty value, section.key=,
 * restores the default of the key, or removes the line of a boundary group, probe, line or result.
 * Names of boundary groups are free text, or "default", and so is NAME in [material NAME] and
 * [region NAME], as arguments material.NAME.key=value. A relative mesh.file or problem.initial is
 * relative to the case file that names it or, on the command line, to the working directory. The
 * file of a table in a formula is always relative to the case file, if there is one; every rank
 * reads it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "io/error.h"
#include "io/record.h"
#include "solver/linear/options.h"
#include "solver/problem/statement.h"
#include "solver/results/wanted.h"
#include "solver/solve/mesh.h"
#include "solver/solve/time.h"
#include "solver/solve/workers.h"

/* One line of [constants]: name = number or formula of earlier constants. */
typedef struct sp_constant_entry {
  char *name;
  char *where; /* "case.ini:12: constants.name", prefix of messages */
  sp_formula value;
} sp_constant_entry;

/* Place where a key was given. */
typedef struct sp_given {
  char *where;      /* "case.ini:12: mesh.file", prefix of messages; NULL if it was not given */
  bool in_argument; /* on the command line */
} sp_given;

typedef struct sp_config {
  sp_given *given; /* by key, see sp_config_where */
  sp_names *names; /* by list: the index of each entry by its name */
  struct {
    sp_constant_entry *entries; /* in the order of the file */
    int count;
  } constants;
  sp_mesh_options mesh;
  sp_statement statement;
  sp_time_options time;
  sp_wanted wanted;
  sp_solver_options solver; /* without order, see sp_config_solver */
  sp_backend_options backend;
  struct {
    /* Paths relative to the working directory; "" for none. A solution that has not converged never
     * replaces one that has. */
    char *log, *field, *unconverged;
    int accuracy; /* 1: error bars (solver/results/answers.h) */
    int flux;     /* 1: the field also holds kappa grad u; else 0 */
  } output;
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

typedef struct sp_output_path {
  const char *name;    /* of the key output.NAME, or of an option with its dashes */
  const char *path;    /* "" for none */
  const char *purpose; /* " with an unconverged solution", or "" */
  const char *where;   /* where the key was given, for messages; NULL for the default */
  bool is_option;      /* given by an option, not by a key */
} sp_output_path;

/* A file that the run reads. */
typedef struct sp_input_path {
  const char *what; /* "the mesh" */
  const char *path; /* NULL or "" for none */
} sp_input_path;

/* Check that each output may be written. It must not be an input or another output, under any name
 * or link (device and inode). A file that exists must be a regular one. Errors: SP_ERR_INPUT with
 * the output's `where` and path. Local. */
sp_status sp_output_paths_check(const sp_output_path *outputs, int output_count,
                                const sp_input_path *inputs, int input_count);

/* The path for an unconverged solution: run.unconverged.hdf for run.hdf, so that it does not
 * replace a converged one. The caller frees *out. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_output_unconverged_path(const char *path, char **out);

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
 * and "region". Keys without a meaning in this case are left out. Errors: as sp_config_format.
 * Local. */
sp_status sp_config_record(const sp_config *config, sp_record *record);

/* A commented INI text with every key and its default, for --defaults. Local. Errors:
 * SP_ERR_SYSTEM. */
sp_status sp_config_print_defaults(FILE *stream);
