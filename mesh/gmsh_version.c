#include <stdio.h>
#include <unistd.h>

#include "mesh/gmsh.h"
#include "mesh/gmsh_spawn.h"

const char *sp_gmsh_version(void) {
  static char version[1024];
  char parent[24], cause[64];
  sp_gmsh_process process;
  snprintf(parent, sizeof parent, "%ld", (long)getpid());
  const char *const arguments[] = {parent, "version", NULL};
  sp_status status = sp_gmsh_start(arguments, &process);
  if (!status) {
    const bool greeted = sp_gmsh_receive_greeting(&process.wire);
    if (greeted) sp_gmsh_receive_text(&process.wire, version, sizeof version);
    sp_gmsh_finish(&process, cause, sizeof cause);
    if (!greeted) status = sp_gmsh_unusable(cause);
  }
  if (status) snprintf(version, sizeof version, "unknown: %s", sp_error_message());
  return version;
}
