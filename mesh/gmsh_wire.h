/* What sp_mesh_reader sends to the program that started it, through a pipe: a greeting as soon as
 * it runs, then one answer. Both ends are here, so that they agree; numbers travel as they are in
 * memory, since both are on one machine. Local. */
#ifndef SP_MESH_GMSH_WIRE_H
#define SP_MESH_GMSH_WIRE_H

#include "mesh/hexes.h"

enum { SP_GMSH_WIRE_FILE = 3 }; /* the descriptor of the pipe in the reader */

typedef struct sp_gmsh_wire {
  int file;
  bool writes, failed; /* failed: the other end is gone */
} sp_gmsh_wire;

/* The reader's side. `hexes` and `parts` (which may be NULL) are sent if `status` is SP_OK, else
 * the message of the failure. */
void sp_gmsh_send_greeting(sp_gmsh_wire *wire);
void sp_gmsh_send(sp_gmsh_wire *wire, sp_status status, sp_hexes *hexes, int *parts);
void sp_gmsh_send_text(sp_gmsh_wire *wire, const char *text);

/* False if the other end is gone, or speaks another version of this protocol. */
bool sp_gmsh_receive_greeting(sp_gmsh_wire *wire);

/* Take over the answer; with `parts` NULL none are expected. The caller destroys *hexes, also after
 * an error. SP_OK and wire->failed if the other end is gone. Errors: those that were sent, memory.
 */
sp_status sp_gmsh_receive(sp_gmsh_wire *wire, sp_hexes **hexes, int **parts);

/* The text that was sent, cut to `size` bytes with its end; "" if the other end is gone. */
void sp_gmsh_receive_text(sp_gmsh_wire *wire, char *text, size_t size);

#endif
