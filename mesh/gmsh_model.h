/* What mesh/gmsh*.c share of the model that the SDK has open in this process, which is
 * sp_mesh_reader; of no use elsewhere. All functions are Local. */
#ifndef SP_MESH_GMSH_MODEL_H
#define SP_MESH_GMSH_MODEL_H

#include "mesh/gmsh_format2.h"
#include "mesh/hexes.h"

/* Read `path` with the SDK: *hexes, and if `parts` is not NULL the part of each element, of `size`
 * parts; with `parts` NULL the file is one of `size` files. */
sp_status sp_gmsh_read(const char *path, int size, sp_hexes **hexes, int **parts);

/* Version of the SDK, "4.8.4". */
const char *sp_gmsh_sdk_version(void);

/* Whether the SDK can read the file at all, and the version of a mesh's format: 0 for a geometry.
 * Errors: SP_ERR_INPUT with `path`. */
sp_status sp_gmsh_check_file(const char *path, double *version);

bool sp_gmsh_ends_with(const char *text, const char *end);

/* The SDK's answer for mesh/gmsh_format2.h. */
int sp_gmsh_type_nodes(int type);

/* Elements of one entity as the SDK returns them: by type. */
typedef struct sp_gmsh_block {
  int *types;
  size_t **tags, **nodes;
  size_t *tag_counts, *node_counts, type_count, unused;
} sp_gmsh_block;

/* Elements of an entity; *b is freed by sp_gmsh_block_free. Errors: SP_ERR_INPUT with `path`. */
sp_status sp_gmsh_block_get(const char *path, int dimension, int entity, sp_gmsh_block *b);
void sp_gmsh_block_free(sp_gmsh_block *b);

/* SP_ERR_INPUT: "PATH: gmsh could not WHAT", with the SDK's reason if it gives one. */
sp_status sp_gmsh_failed(const char *path, const char *what);

/* The nodes of the model in ascending order of their tags, which may have any gaps. */
typedef struct sp_gmsh_point {
  size_t tag;
  double xyz[3];
} sp_gmsh_point;

typedef struct sp_gmsh_points {
  size_t count;
  sp_gmsh_point *list; /* [count] */
} sp_gmsh_points;

/* Fill *points; sp_gmsh_points_free frees what it holds. Errors: SP_ERR_INPUT with `path`. */
sp_status sp_gmsh_points_read(const char *path, sp_gmsh_points *points);
void sp_gmsh_points_free(sp_gmsh_points *points);

/* The place of a node in the list, `count` if there is none with this tag. */
size_t sp_gmsh_points_find(const sp_gmsh_points *points, size_t tag);

/* The groups of dimension 3, and the volumes, which are sets of groups: an element is of the volume
 * with all the groups that it is in. In format 2 these are the groups of all lines that list the
 * element, in other formats those of its entity. */
typedef struct sp_gmsh_volumes {
  int *groups; /* pairs of dimension and number, group_count ints in all */
  size_t group_count;
  int count;
  bool **members; /* [count][group_count / 2], whether a volume is in a group */
  int *of_group;  /* [group_count / 2], the volume in this group alone, -1 if there is none yet */
  bool *set;      /* [group_count / 2], work space, false outside of the functions below */
} sp_gmsh_volumes;

/* List the groups in *v, which is zero before; there are no volumes yet. sp_gmsh_volumes_free frees
 * what it holds, also after a failure. Errors: SP_ERR_INPUT with `path`. */
sp_status sp_gmsh_volumes_read(const char *path, sp_gmsh_volumes *v);
void sp_gmsh_volumes_free(sp_gmsh_volumes *v);

/* The volume of an entity's elements, and that of elements in the group of this number, or in none.
 */
sp_status sp_gmsh_volumes_of_entity(const char *path, sp_gmsh_volumes *v, int entity, int *volume);
sp_status sp_gmsh_volumes_of_group(sp_gmsh_volumes *v, int number, int *volume);

/* *volume becomes the volume with the groups of both. */
sp_status sp_gmsh_volumes_unite(sp_gmsh_volumes *v, int other, int *volume);

/* Give `hexes` the volumes and volume groups. */
sp_status sp_gmsh_volumes_set_groups(const char *path, const sp_gmsh_volumes *v, sp_hexes *hexes);

/* The hexahedra of the model as node tags (from 1) in lattice order (mesh/hexes.h). */
typedef struct sp_gmsh_cells {
  int order;
  size_t count;
  size_t *nodes;   /* [count][(order+1)^3] */
  sp_gid *tags;    /* [count] */
  int *volumes;    /* [count] */
  sp_gid left_out; /* elements of dimension 3 in no physical volume, where there are such volumes */
} sp_gmsh_cells;

/* Fill *cells, which is zero before, from one of so many files, or with 0 the whole; one of several
 * may have none if it leaves out elements. Where the model has physical volumes, only their
 * elements are taken. Those that are listed several times are taken once. `format2` is NULL for
 * files of other formats; `geometry`: the file is no mesh. `volumes`, which has its groups, gets
 * the volumes. sp_gmsh_cells_free frees what it holds, also after a failure. Errors: SP_ERR_INPUT.
 */
sp_status sp_gmsh_cells_read(const char *path, const sp_gmsh_format2 *format2, bool geometry,
                             int files, sp_gmsh_volumes *volumes, sp_gmsh_cells *cells);
void sp_gmsh_cells_free(sp_gmsh_cells *cells);

/* SP_ERR_INPUT if a node of the hexahedra is not among `points`. */
sp_status sp_gmsh_cells_check(const char *path, const sp_gmsh_cells *cells,
                              const sp_gmsh_points *points);

/* A face that a physical group names: corner nodes in ascending order, and the surface. */
typedef struct sp_gmsh_face {
  size_t nodes[4];
  int surface;
} sp_gmsh_face;

/* The groups of dimension 2, their surfaces, and the faces of these in order of their nodes. A
 * surface is an entity of gmsh that belongs to a group, and in files of format 2, where faces of
 * one entity may have different groups, all faces of one group. Files may list a face several times
 * with different surfaces (in format 2 some writers do so for each group of a face): it has a
 * surface of its own then, which belongs to the groups of all. */
typedef struct sp_gmsh_boundary {
  int *groups; /* pairs of dimension and number, group_count ints in all */
  size_t group_count;
  int *numbers; /* [number_count], of the first surfaces: the entity, in format 2 the group */
  int number_count;
  int (*unions)[2]; /* surface number_count + u is in both surfaces unions[u], which come before */
  int union_count;
  sp_gmsh_face *faces;
  size_t face_count;
} sp_gmsh_boundary;

/* Fill *b, which is zero before; sp_gmsh_boundary_free frees what it holds, also after a failure.
 * Surfaces between the parts of a partitioned mesh are left out. `format2` is NULL for files of
 * other formats. Errors: SP_ERR_INPUT. */
sp_status sp_gmsh_boundary_read(const char *path, const sp_gmsh_format2 *format2,
                                sp_gmsh_boundary *b);
void sp_gmsh_boundary_free(sp_gmsh_boundary *b);

/* Names and members of the groups of `hexes`, which has room for them. */
sp_status sp_gmsh_boundary_set_groups(const char *path, const sp_gmsh_format2 *format2,
                                      const sp_gmsh_boundary *b, sp_hexes *hexes);

/* The surface of the face with these corner nodes, SP_SURFACE_INTERIOR if it has none. */
int sp_gmsh_boundary_find(const sp_gmsh_boundary *b, const size_t nodes[4]);

/* Whether nothing is missing of a mesh that gmsh has partitioned: the open model, all of whose
 * volumes are volumes[count], must be one of its parts, of which there are `files`, or with 0 files
 * the whole. Where parts meet, gmsh names all of them. Errors: SP_ERR_INPUT with the part that is
 * missing. */
sp_status sp_gmsh_check_complete(const char *path, int files, size_t count, const int *volumes);

/* Divide `hexes`, which were read from the open model, into `size` parts with METIS: parts[e] is
 * the part of element e. Another model takes the open one's place, so nothing is read afterwards.
 * Errors: SP_ERR_INPUT if there are fewer elements than parts. */
sp_status sp_gmsh_partition(const char *path, const sp_hexes *hexes, int size, int *parts);

#endif
