/* The protocol from sp_mesh_reader to its parent, through a pipe: a greeting as soon as it runs,
 * then one answer. Numbers are sent as in memory, since both processes run on one machine. All
 * functions are Local. */
#pragma once

#include "mesh/hexes.h"

enum { SP_GMSH_WIRE_FILE = 3 }; /* the descriptor of the pipe in the reader */

typedef struct sp_gmsh_wire {
  int file;
  bool writes, failed; /* failed: the other end is gone */
} sp_gmsh_wire;

/* The reader's side. sp_gmsh_send sends `hexes` and `parts` (which may be NULL) if `status` is
 * SP_OK, else the message of the failure. */
void sp_gmsh_send_greeting(sp_gmsh_wire *wire);
void sp_gmsh_send(sp_gmsh_wire *wire, sp_status status, sp_hexes *hexes, int *parts);
void sp_gmsh_send_text(sp_gmsh_wire *wire, const char *text);

/* False if the other end is gone, or has another version of this protocol. */
bool sp_gmsh_receive_greeting(sp_gmsh_wire *wire);

/* Receive the answer; without parts if `parts` is NULL. The caller destroys *hexes, also after an
 * error. If the other end is gone, the result is SP_OK and wire->failed is true. Errors: as sent;
 * SP_ERR_SYSTEM for memory. */
sp_status sp_gmsh_receive(sp_gmsh_wire *wire, sp_hexes **hexes, int **parts);

/* Receive a text into text[size], cut if it is longer; "" if the other end is gone. */
void sp_gmsh_receive_text(sp_gmsh_wire *wire, char *text, size_t size);
