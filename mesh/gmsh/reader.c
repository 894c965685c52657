/* sp_mesh_reader: the process in which the gmsh SDK runs (mesh/gmsh/child.h). MPI is linked,
 * because io/error needs it, but never initialized.
 *
 *     sp_mesh_reader PARENT version
 *     sp_mesh_reader PARENT whole|part SIZE PATH LARGEST SMALLEST PER_CIRCLE
 *
 * PARENT is the process number of its parent. That process receives the answer through descriptor 3
 * (mesh/gmsh/wire.h). If it ends, this process also ends. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "mesh/gmsh/read.h"

int main(int argc, char **argv) {
  const bool version = argc == 3 && strcmp(argv[2], "version") == 0;
  const bool whole = argc == 8 && strcmp(argv[2], "whole") == 0;
  const bool part = argc == 8 && strcmp(argv[2], "part") == 0;
  if (!version && !whole && !part) {
    fprintf(stderr, "sp_mesh_reader: sp_solve starts this program to read meshes; do not run it "
                    "by hand\n");
    return 1;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != (pid_t)atol(argv[1])) return 1;
  sp_gmsh_wire wire = {.file = SP_GMSH_WIRE_FILE, .writes = true};
  sp_gmsh_send_greeting(&wire);
  if (version)
    sp_gmsh_send_text(&wire, sp_gmsh_sdk_version());
  else
    sp_gmsh_serve(&wire, whole, atoi(argv[3]), argv[4],
                  &(sp_gmsh_sizes){atof(argv[5]), atof(argv[6]), atof(argv[7])});
  _exit(wire.failed); /* frees all memory at once */
}
