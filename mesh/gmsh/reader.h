/* The gmsh SDK in a process of its own, the program sp_mesh_reader. Damaged files and some
 * geometries crash the SDK, which must not end the run. Checking the file first is not enough: not
 * all causes are known, and a .geo is a program. A .msh is read there by our own reader
 * (mesh/gmsh/model.h). All memory is released when the process ends.
 *
 * posix_spawn starts it, because many network libraries do not survive a fork of a process that
 * uses MPI. The program is searched for relative to the running one: in the folder mesh/ of a build
 * tree, and the folder of `cmake --install`. It does not inherit the environment of MPI's launcher,
 * since gmsh may be built with MPI.
 *
 * It sends a greeting as soon as the SDK runs, then one answer, through a pipe. Numbers are sent as
 * in memory, since both processes run on one machine. All functions are Local. */
#pragma once

#include "mesh/gmsh/gmsh.h"

/* ---- child.c: the parent's side ---- */

/* Run sp_gmsh_read in the reader. The caller destroys *hexes and frees *parts. While it waits,
 * `terminal` shows a progress line; NULL: none. Errors: as sp_gmsh_read; SP_ERR_INPUT if the
 * process crashes, for example out of memory; SP_ERR_SYSTEM if it cannot be started. */
sp_status sp_gmsh_in_child(const char *path, const sp_gmsh_sizes *sizes, int size,
                           sp_terminal *terminal, sp_hexes **hexes, int **parts);

/* ---- wire.c: both sides ---- */

enum { SP_GMSH_WIRE_FILE = 3 }; /* the descriptor of the pipe in the reader */
enum { SP_GMSH_VERSION_SIZE = 32 };

typedef struct sp_gmsh_wire {
  int file;
  bool writes, failed; /* failed: the other end is gone */
} sp_gmsh_wire;

/* The reader's side. sp_gmsh_send sends `hexes` and `parts` (which may be NULL) if `status` is
 * SP_OK, else the message of the failure. */
void sp_gmsh_send_greeting(sp_gmsh_wire *wire, const char *version);
void sp_gmsh_send(sp_gmsh_wire *wire, sp_status status, sp_hexes *hexes, int *parts);

/* Receive the version of the SDK. False if the other end is gone, or has another version of this
 * protocol. */
bool sp_gmsh_receive_greeting(sp_gmsh_wire *wire, char version[SP_GMSH_VERSION_SIZE]);

/* Receive the answer; without parts if `parts` is NULL. The caller destroys *hexes, also after an
 * error. If the other end is gone, the result is SP_OK and wire->failed is true. Errors: as sent;
 * SP_ERR_SYSTEM for memory. */
sp_status sp_gmsh_receive(sp_gmsh_wire *wire, sp_hexes **hexes, int **parts);

/* ---- sdk.c, read.c: the reader's side ---- */

/* Start and end the SDK, which sp_gmsh_read needs. */
sp_status sp_gmsh_sdk_start(char version[SP_GMSH_VERSION_SIZE]);
void sp_gmsh_sdk_end(void);

/* Read `path`. If `parts` is not NULL, the file is the whole mesh, and (*parts)[e] is the part of
 * element e, of `size` parts. If `parts` is NULL, the file is one of `size` files. */
sp_status sp_gmsh_read(const char *path, const sp_gmsh_sizes *sizes, int size, sp_hexes **hexes,
                       int **parts);
