/* Our own check of gmsh's format 4 (4.0 and 4.1, ASCII or binary) before the SDK reads a file,
 * because the SDK trusts the counts in the file, and keeps 32 bits of the numbers of nodes and
 * elements. If a number is larger, this makes a copy of the file with smaller ones. */
#ifndef SP_MESH_GMSH_FORMAT4_H
#define SP_MESH_GMSH_FORMAT4_H

#include "mesh/gmsh_scan.h"

/* Numbers in the copy: i + 1 stands for list[i], which ascend. Without a copy count is 0. */
typedef struct sp_gmsh_numbers {
  size_t count;
  size_t *list; /* [count] */
} sp_gmsh_numbers;

typedef struct sp_gmsh_format4 {
  size_t counts[SP_GMSH_TYPES]; /* elements by type */
  sp_gmsh_numbers nodes, elements;
  /* NULL if no number is above INT_MAX. The copy has groups, nodes and elements only. */
  char *copy;
  size_t copy_size;
} sp_gmsh_format4;

/* Read the `size` bytes of a file; `path` is for messages. The caller frees *out with
 * sp_gmsh_format4_free, also after an error. Errors: SP_ERR_INPUT, with the line of an ASCII file:
 * a wrong count, a number outside the range that the file gives, an unknown type. Local. */
sp_status sp_gmsh_format4_parse(const char *path, const char *bytes, size_t size,
                                sp_gmsh_node_counter nodes, sp_gmsh_format4 *out);

/* The number in the file of the node or element that has this number in the SDK. Local. */
size_t sp_gmsh_number_in_file(const sp_gmsh_numbers *numbers, size_t number);

void sp_gmsh_format4_free(sp_gmsh_format4 *format4);

#endif
