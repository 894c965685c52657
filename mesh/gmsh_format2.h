/* Our own reader of gmsh's format 2 (2.0 to 2.2, ASCII or binary), because the SDK loses
 * information: it puts an element into all groups of its elementary tag, and many writers give the
 * whole mesh one elementary tag; it trusts the counts in the file; of elements or nodes with the
 * same number it keeps the last one; of groups with the same name it names the first one. This
 * reader gives each element its own physical tag, keeps all names, and checks counts and numbers.
 * The SDK reads a file only after this check. */
#ifndef SP_MESH_GMSH_FORMAT2_H
#define SP_MESH_GMSH_FORMAT2_H

#include <stdbool.h>
#include <stddef.h>

#include "io/error.h"
#include "mesh/gmsh_scan.h"

typedef struct sp_gmsh_element {
  int number;
  int physical; /* number of its group, 0 if it is in none */
  size_t place; /* from 1: the line of an ASCII file, the index of the element in a binary one */
} sp_gmsh_element;

/* A line of $PhysicalNames. */
typedef struct sp_gmsh_name {
  int dimension, number; /* before format 2.1 files give no dimension: -1 */
  char *name;
} sp_gmsh_name;

typedef struct sp_gmsh_format2 {
  size_t count;
  sp_gmsh_element *elements; /* [count], of all dimensions, in ascending order of their numbers */
  size_t counts[SP_GMSH_TYPES]; /* elements by type */
  size_t name_count;
  sp_gmsh_name *names; /* [name_count] */
  /* A partitioned mesh: the largest part that is named, and the parts that have elements. */
  int part_count;
  bool *has_part; /* [part_room] */
  int part_room;
} sp_gmsh_format2;

/* Read the `size` bytes of a file; `path` is for messages. The caller frees *out with
 * sp_gmsh_format2_free, also after an error. Errors: SP_ERR_INPUT, with the line of an ASCII file
 * or the index in a binary one: a wrong count, a number that is used twice, anything that gmsh
 * would skip. Local. */
sp_status sp_gmsh_format2_parse(const char *path, const char *bytes, size_t size,
                                sp_gmsh_node_counter nodes, sp_gmsh_format2 *out);

/* The name of a group, "" if it has none. Two groups may have one name. Local. */
const char *sp_gmsh_format2_name(const sp_gmsh_format2 *format2, int dimension, int number);

/* The physical tag of the element with this number; false if the file has no such element. Local.
 */
bool sp_gmsh_format2_physical(const sp_gmsh_format2 *format2, size_t number, int *physical);

void sp_gmsh_format2_free(sp_gmsh_format2 *format2);

#endif
