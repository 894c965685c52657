/* Checks of the output paths of a case: no output may overwrite an input or another output. All
 * functions Local. */
#pragma once

#include <stdbool.h>

#include "io/error.h"

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
 * the output's `where` and path. */
sp_status sp_output_paths_check(const sp_output_path *outputs, int output_count,
                                const sp_input_path *inputs, int input_count);

/* The path for an unconverged solution: run.unconverged.hdf for run.hdf, so that it does not
 * replace a converged one. The caller frees *out. Errors: SP_ERR_SYSTEM. */
sp_status sp_output_unconverged_path(const char *path, char **out);
