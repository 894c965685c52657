/* What a case's outputs may be called. Local. */
#ifndef SP_IO_OUTPUT_PATHS_H
#define SP_IO_OUTPUT_PATHS_H

#include <stdbool.h>

#include "io/error.h"

typedef struct sp_output_path {
  const char *name;         /* of the key output.NAME */
  const char *path;         /* "" for none */
  const char *where;        /* the key was given, for messages; NULL for the default */
  bool may_replace_restart; /* the checkpoint that the case restarts from */
  bool has_unconverged;     /* also written as sp_output_unconverged_path */
} sp_output_path;

/* A file that the run reads. */
typedef struct sp_input_path {
  const char *what; /* "the mesh" */
  const char *path; /* NULL or "" for none */
  bool is_restart;
} sp_input_path;

/* Whether each output may be written: neither its file, nor the one for a solution that has not
 * converged, nor its lock (io/file_lock.h) may be an input, by whatever name or link, or belong to
 * another output; and what is there must be a regular file. Errors: SP_ERR_INPUT with the output's
 * `where` and path. */
sp_status sp_output_paths_check(const sp_output_path *outputs, int output_count,
                                const sp_input_path *inputs, int input_count);

/* Where an output goes whose solution has not converged: run.unconverged.hdf for run.hdf, so that
 * it does not replace a good one. The caller frees *out. */
sp_status sp_output_unconverged_path(const char *path, char **out);

#endif
