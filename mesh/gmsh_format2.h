/* Files of gmsh's format 2 (2.0 to 2.2, ASCII or binary), read for what the SDK does not tell. The
 * SDK puts an element into all groups of its elementary tag, which many writers give to the whole
 * mesh; it believes the counts in the file; and of elements or nodes with the same number it keeps
 * the last. Here every element has the physical tag of its own, and counts and numbers are checked,
 * so that the SDK reads such a file only if it loses nothing. */
#ifndef SP_MESH_GMSH_FORMAT2_H
#define SP_MESH_GMSH_FORMAT2_H

#include <stdbool.h>
#include <stddef.h>

#include "io/error.h"

typedef struct sp_gmsh_element {
  int number;
  int physical; /* number of its group, 0 if it is in none */
  size_t place; /* in an ASCII file the line, in a binary one the index among elements; from 1 */
} sp_gmsh_element;

typedef struct sp_gmsh_format2 {
  size_t count;
  sp_gmsh_element *elements; /* [count], of all dimensions, in ascending order of their numbers */
  bool names_volume;         /* $PhysicalNames names a Physical Volume */
} sp_gmsh_format2;

/* The nodes of an element of this gmsh type, 0 if there is no such type. */
typedef int (*sp_gmsh_node_counter)(int type);

/* Read a file; *out is freed by sp_gmsh_format2_free, also after an error. Errors: SP_ERR_INPUT
 * with the line of an ASCII file, the index in a binary one: counts that differ from what is there,
 * a number that is used twice, anything that gmsh would skip. Local. */
sp_status sp_gmsh_format2_read(const char *path, sp_gmsh_node_counter nodes, sp_gmsh_format2 *out);

/* The same for the `size` bytes of a file; `path` is for messages. Local. */
sp_status sp_gmsh_format2_parse(const char *path, const char *bytes, size_t size,
                                sp_gmsh_node_counter nodes, sp_gmsh_format2 *out);

/* The physical tag of an element; false if the file has none of this number. Local. */
bool sp_gmsh_format2_physical(const sp_gmsh_format2 *format2, size_t number, int *physical);

void sp_gmsh_format2_free(sp_gmsh_format2 *format2);

#endif
