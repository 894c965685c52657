/* The program sp_mesh_reader as a child process. It is started by posix_spawn, because many network
 * libraries do not survive a fork of a process that uses MPI. All functions are Local. */
#ifndef SP_MESH_GMSH_SPAWN_H
#define SP_MESH_GMSH_SPAWN_H

#include <stddef.h>
#include <sys/types.h>

#include "mesh/gmsh_wire.h"

typedef struct sp_gmsh_process {
  pid_t id;
  sp_gmsh_wire wire; /* what the process sends */
} sp_gmsh_process;

/* Start the reader with arguments argv[1], argv[2] ... up to NULL; the caller calls sp_gmsh_finish.
 * The program is searched for relative to the running one: in the folder mesh/ of a build tree, and
 * where `cmake --install` puts it. The process inherits only the pipe and /dev/null. It does not
 * inherit the variables by which MPI's launchers make a process a rank, since gmsh may be built
 * with MPI. Errors: SP_ERR_SYSTEM if the program is missing or cannot be started; do not call
 * sp_gmsh_finish then. */
sp_status sp_gmsh_start(const char *const *arguments, sp_gmsh_process *process);

/* Close the pipe and wait until the process ends. cause[size] says how: "Segmentation fault", "exit
 * code 3". */
void sp_gmsh_finish(sp_gmsh_process *process, char *cause, size_t size);

/* Report a process that ended without a greeting or sent a wrong one. Returns SP_ERR_SYSTEM. */
sp_status sp_gmsh_unusable(const char *cause);

#endif
