#include "mesh/gmsh_child.h"

#include <stdio.h>
#include <unistd.h>

#include "mesh/gmsh_spawn.h"

sp_status sp_gmsh_in_child(const char *path, int size, sp_hexes **hexes, int **parts) {
  char parent[24], sizes[24], cause[64];
  sp_gmsh_process process;
  *hexes = NULL;
  snprintf(parent, sizeof parent, "%ld", (long)getpid());
  snprintf(sizes, sizeof sizes, "%d", size);
  const char *const arguments[] = {parent, parts ? "whole" : "part", sizes, path, NULL};
  SP_TRY(sp_gmsh_start(arguments, &process));
  const bool greeted = sp_gmsh_receive_greeting(&process.wire);
  sp_status status = greeted ? sp_gmsh_receive(&process.wire, hexes, parts) : SP_OK;
  const bool failed = process.wire.failed;
  sp_gmsh_finish(&process, cause, sizeof cause);
  if (!greeted)
    status = sp_gmsh_unusable(cause);
  else if (!status && failed)
    status = sp_fail(SP_ERR_INPUT,
                     "%s: gmsh crashed while it read this file (%s): it is damaged, or larger than "
                     "the memory; write it anew",
                     path, cause);
  if (status) sp_hexes_destroy(hexes);
  return status;
}
