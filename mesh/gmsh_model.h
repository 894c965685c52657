/* Internal to mesh/gmsh*.c: access to the model that the SDK has open in this process, which must
 * be sp_mesh_reader. Each file calls only files to its right:
 *
 *     gmsh_read | gmsh_cells, gmsh_boundary | gmsh_partition, gmsh_volumes, gmsh_cad | gmsh_file |
 * gmsh_model
 *
 * All functions are Local. */
#ifndef SP_MESH_GMSH_MODEL_H
#define SP_MESH_GMSH_MODEL_H

#include "mesh/gmsh.h"
#include "mesh/gmsh_format2.h"
#include "mesh/gmsh_format4.h"
#include "mesh/hexes.h"

/* ---- gmsh_model.c ---- */

/* SP_ERR_INPUT: "PATH: gmsh could not WHAT", with the SDK's reason if it gives one. */
sp_status sp_gmsh_failed(const char *path, const char *what);

/* A type of element, from the SDK's reference coordinates; no table is hard-coded. */
typedef struct sp_gmsh_type {
  char name[64];
  int dimension, corners, order, nodes;
  /* [nodes], each node's place in the lattice of (order+1)^3 nodes (mesh/divide.h); NULL if this is
   * no tetrahedron, prism or hexahedron with all its nodes. */
  int *lattice;
} sp_gmsh_type;

/* Describe a type that exists. The caller frees out->lattice. Errors: SP_ERR_INPUT with `path`. */
sp_status sp_gmsh_type_get(const char *path, int type, sp_gmsh_type *out);

/* The number of nodes by the SDK, as an sp_gmsh_node_counter (mesh/gmsh_scan.h). */
int sp_gmsh_type_nodes(int type);

/* Data of a file before the SDK opens it, and counts of the elements that the SDK returned. */
typedef struct sp_gmsh_file {
  const char *path;
  double version;                 /* of a mesh's format, 0 for a geometry */
  sp_gmsh_format2 format2;        /* of a version from 2 on, below 3 */
  sp_gmsh_format4 format4;        /* of a version from 4 on */
  size_t returned[SP_GMSH_TYPES]; /* elements by type */
} sp_gmsh_file;

/* The elements of one entity, by type, as the SDK returns them. */
typedef struct sp_gmsh_block {
  int *types;
  size_t **tags, **nodes;
  size_t *tag_counts, *node_counts, type_count, unused;
} sp_gmsh_block;

/* Get the elements of an entity with the numbers of the file, and count them in file->returned. The
 * caller frees *b with sp_gmsh_block_free. Errors: SP_ERR_INPUT with the path. */
sp_status sp_gmsh_block_get(sp_gmsh_file *file, int dimension, int entity, sp_gmsh_block *b);
void sp_gmsh_block_free(sp_gmsh_block *b);

/* The nodes of the model in ascending order of their numbers in the file, which may have gaps. */
typedef struct sp_gmsh_point {
  size_t tag;
  double xyz[3];
} sp_gmsh_point;

typedef struct sp_gmsh_points {
  size_t count;
  sp_gmsh_point *list; /* [count] */
} sp_gmsh_points;

/* Fill *points; sp_gmsh_points_free frees what it holds. Errors: SP_ERR_INPUT with the path. */
sp_status sp_gmsh_points_read(const sp_gmsh_file *file, sp_gmsh_points *points);
void sp_gmsh_points_free(sp_gmsh_points *points);

/* The index in the list of the node with this tag, `count` if there is none. */
size_t sp_gmsh_points_find(const sp_gmsh_points *points, size_t tag);

/* ---- gmsh_file.c ---- */

bool sp_gmsh_ends_with(const char *text, const char *end);

/* Check the file, and read it with our own reader if it is a mesh. The caller calls
 * sp_gmsh_file_free, also after a failure. Errors: SP_ERR_INPUT with the path. */
sp_status sp_gmsh_file_read(const char *path, sp_gmsh_file *file);
void sp_gmsh_file_free(sp_gmsh_file *file);

/* The file's format2 or, in other formats, NULL. */
const sp_gmsh_format2 *sp_gmsh_file_format2(const sp_gmsh_file *file);

/* A copy of a group's name, "" if it has none. The caller frees it. */
sp_status sp_gmsh_group_name(const sp_gmsh_file *file, int dimension, int number, char **name);

/* Check that the SDK returned all elements of dimensions 2 and 3 that the file lists: if an
 * entity has several orders, it returns only one. Errors: SP_ERR_INPUT. */
sp_status sp_gmsh_file_check_returned(const sp_gmsh_file *file);

/* ---- gmsh_cad.c ---- */

/* Open and mesh a CAD file: see sp_gmsh_sizes (mesh/gmsh.h). Errors: SP_ERR_INPUT with the path. */
sp_status sp_gmsh_cad_mesh(const char *path, const sp_gmsh_sizes *sizes);

/* ---- gmsh_volumes.c ---- */

/* The groups of dimension 3, and the volumes. A volume is a set of groups: the elements of one
 * volume are in exactly these groups. In format 2 the groups of an element are those of all lines
 * that list it, in other formats those of its entity. */
typedef struct sp_gmsh_volumes {
  int *groups; /* pairs of dimension and number, group_count ints in all */
  size_t group_count;
  int count;
  bool **members; /* [count][group_count / 2], true if the volume is in the group */
  int *of_group;  /* [group_count / 2], the volume in this group only, -1 if none exists yet */
  bool *set;      /* [group_count / 2], work space, all false between calls */
} sp_gmsh_volumes;

/* List the groups in *v, which must be zero; no volumes exist yet. The caller calls
 * sp_gmsh_volumes_free, also after a failure. Errors: SP_ERR_INPUT with `path`. */
sp_status sp_gmsh_volumes_read(const char *path, sp_gmsh_volumes *v);
void sp_gmsh_volumes_free(sp_gmsh_volumes *v);

/* Find the volume of an entity's elements; the volume of the elements that are in this group only,
 * or in no group if no group has this number. */
sp_status sp_gmsh_volumes_of_entity(const char *path, sp_gmsh_volumes *v, int entity, int *volume);
sp_status sp_gmsh_volumes_of_group(sp_gmsh_volumes *v, int number, int *volume);

/* Replace *volume by the volume with the groups of *volume and of `other`. */
sp_status sp_gmsh_volumes_unite(sp_gmsh_volumes *v, int other, int *volume);

/* Copy volumes and volume groups to `hexes`. */
sp_status sp_gmsh_volumes_set_groups(const sp_gmsh_file *file, const sp_gmsh_volumes *v,
                                     sp_hexes *hexes);

/* ---- gmsh_cells.c ---- */

/* The cells of the model as node tags (from 1) in lattice order; 0 where a tetrahedron or prism has
 * no node (mesh/divide.h). */
typedef struct sp_gmsh_cells {
  int order;
  size_t count;
  size_t *nodes;   /* [count][(order+1)^3] */
  sp_gid *tags;    /* [count] */
  int *volumes;    /* [count] */
  sp_gid left_out; /* elements of dimension 3 outside all physical volumes, if there are any */
} sp_gmsh_cells;

/* Fill *cells, which must be zero. `files` is the number of files of a split mesh, 0 if it is not
 * split; the file of a split mesh may have no hexahedra if it leaves out elements. If the model has
 * physical volumes, only their elements are taken. An element that is listed several times is taken
 * once. `volumes` holds the groups and gains the volumes. The caller calls sp_gmsh_cells_free, also
 * after a failure. Errors: SP_ERR_INPUT. */
sp_status sp_gmsh_cells_read(sp_gmsh_file *file, int files, sp_gmsh_volumes *volumes,
                             sp_gmsh_cells *cells);
void sp_gmsh_cells_free(sp_gmsh_cells *cells);

/* SP_ERR_INPUT if a node of the hexahedra is not among `points`. */
sp_status sp_gmsh_cells_check(const char *path, const sp_gmsh_cells *cells,
                              const sp_gmsh_points *points);

/* ---- gmsh_boundary.c ---- */

/* A face in a physical group: its corner nodes in ascending order, 0 before those of a triangle,
 * and its surface. */
typedef struct sp_gmsh_face {
  size_t nodes[4];
  int surface;
} sp_gmsh_face;

/* The groups of dimension 2, their surfaces, and the faces of these, sorted by their nodes. A
 * surface is an entity of gmsh that belongs to a group. In format 2, where faces of one entity may
 * be in different groups, a surface is all faces of one group. A file may list a face several times
 * with different surfaces; in format 2 some writers list it once per group. Such a face has a
 * surface of its own, which belongs to the groups of all of them. */
typedef struct sp_gmsh_boundary {
  int *groups; /* pairs of dimension and number, group_count ints in all */
  size_t group_count;
  int *numbers; /* [number_count], of the first surfaces: the entity, in format 2 the group */
  int number_count;
  int (*unions)[2]; /* surface number_count + u has the groups of both surfaces unions[u] */
  int union_count;
  sp_gmsh_face *faces;
  size_t face_count;
} sp_gmsh_boundary;

/* Fill *b, which must be zero. The caller calls sp_gmsh_boundary_free, also after a failure.
 * Surfaces between the parts of a partitioned mesh are left out. Errors: SP_ERR_INPUT. */
sp_status sp_gmsh_boundary_read(sp_gmsh_file *file, sp_gmsh_boundary *b);
void sp_gmsh_boundary_free(sp_gmsh_boundary *b);

/* Set names and members of the groups of `hexes`, which has room for them. */
sp_status sp_gmsh_boundary_set_groups(const sp_gmsh_file *file, const sp_gmsh_boundary *b,
                                      sp_hexes *hexes);

/* The surface of the face with these corner nodes, one of them 0 for a triangle;
 * SP_SURFACE_INTERIOR if it has none. */
int sp_gmsh_boundary_find(const sp_gmsh_boundary *b, const size_t nodes[4]);

/* ---- gmsh_partition.c ---- */

/* Check that no part of a mesh that gmsh has partitioned is missing. volumes[count] are all volumes
 * of the open model, which must be one of `files` parts, or the whole mesh if `files` is 0. At an
 * interface gmsh names all parts that meet there. Errors: SP_ERR_INPUT with the missing part. */
sp_status sp_gmsh_check_complete(const sp_gmsh_file *file, int files, size_t count,
                                 const int *volumes);

#endif
