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
} sp_output_path;

/* Outputs are written as PATH.tmp and renamed to PATH (io/hdf5_file.h): neither may hit an input,
 * another output, or anything but a regular file. case_file, mesh and restart may be NULL or "".
 * Errors: SP_ERR_INPUT with the output's `where` and path. */
sp_status sp_output_paths_check(const sp_output_path *outputs, int count, const char *case_file,
                                const char *mesh, const char *restart);

#endif
