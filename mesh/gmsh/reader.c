/* sp_mesh_reader. MPI is linked, because io/error needs it, but never initialized.
 *
 *     sp_mesh_reader PARENT                        only the greeting
 *     sp_mesh_reader PARENT whole|part SIZE PATH LARGEST SMALLEST PER_CIRCLE
 *
 * PARENT is the process number of its parent. If that process ends, this one also ends. */
#include "mesh/gmsh/reader.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* Blocked and ignored signals are inherited. */
static void reset_signals(void) {
  sigset_t none;
  sigemptyset(&none);
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

int main(int argc, char **argv) {
  char version[SP_GMSH_VERSION_SIZE];
  if (argc != 2 && argc != 8) {
    fprintf(stderr, "sp_mesh_reader: sp_solve starts this program to read meshes; do not run it "
                    "by hand\n");
    return 1;
  }
  reset_signals();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != (pid_t)atol(argv[1])) return 1;
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* crashes are expected */
  if (sp_gmsh_sdk_start(version)) return 1;
  sp_gmsh_wire wire = {.file = SP_GMSH_WIRE_FILE, .writes = true};
  sp_gmsh_send_greeting(&wire, version);
  if (argc == 8) {
    const bool whole = strcmp(argv[2], "whole") == 0;
    const sp_gmsh_sizes sizes = {atof(argv[5]), atof(argv[6]), atof(argv[7])};
    sp_hexes *hexes = NULL;
    int *parts = NULL;
    const sp_status status =
        sp_gmsh_read(argv[4], &sizes, atoi(argv[3]), &hexes, whole ? &parts : NULL);
    sp_gmsh_send(&wire, status, hexes, parts);
  }
  sp_gmsh_sdk_end();
  _exit(wire.failed); /* frees all memory at once */
}
