/* Hexahedra as plain arrays: readers and generators create them, ranks exchange them, and a mesh is
 * built from them. Connectivity comes from global vertex numbers only. Each element has its own
 * coordinates, so periodic and curved meshes need no special cases.
 *
 * Element e is the image of [-1, 1]^3 under the Lagrange map of degree g = map_order through the
 * points lattice[e][k][j][i], i, j, k = 0..g (equispaced; g = 1 is the trilinear map of the eight
 * corners). Corner c = a + 2 b + 4 c' has (r, s, t) = (2a - 1, 2b - 1, 2c' - 1); face f = 2 d +
 * side lies at side 0 or 1 of direction d:
 *
 *            6-------7          t
 *           /|      /|          |  s         faces: 0 r = -1   1 r = 1
 *          4-------5 |          | /                 2 s = -1   3 s = 1
 *          | 2-----|-3          |/                  4 t = -1   5 t = 1
 *          |/      |/           +---- r
 *          0-------1
 *
 * Surfaces are the parts into which a mesh divides its boundary, and surfaces between elements; a
 * group (gmsh: physical group) is a named set of surfaces. Volumes are the parts into which a mesh
 * divides its elements, and a volume group (gmsh: Physical Volume) is a named set of volumes. All
 * elements of a volume are in the same groups. Surfaces, volumes and groups are the same on all
 * ranks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/rendezvous.h"
#include "mesh/types.h"

enum {
  SP_CORNERS = 8,
  SP_FACES = 6,
  SP_SURFACE_INTERIOR = -1, /* between elements, on no surface */
  SP_SURFACE_UNNAMED = -2,  /* an exterior face that is on no surface */
  SP_SURFACE_INNER = -3     /* SP_SURFACE_INNER - s: between elements, on surface s */
};

/* The surface of a face, exterior or between elements; -1 for none. Local. */
static inline int sp_surface_of(int face) {
  return face >= 0 ? face : face <= SP_SURFACE_INNER ? SP_SURFACE_INNER - face : -1;
}

/* True for a face of only one element. Local. */
static inline bool sp_surface_is_exterior(int face) {
  return face >= 0 || face == SP_SURFACE_UNNAMED;
}

typedef struct sp_group {
  char *name; /* "" if the mesh gives only a number */
  int number; /* gmsh's physical tag */
  int part_count;
  int *parts;    /* [part_count], ascending: its surfaces or volumes */
  sp_gid listed; /* faces that the file lists in a group of surfaces ... */
  sp_gid lost;   /* ... and how many of these are faces of no element */
} sp_group;

/* The surfaces of a mesh with their groups, or its volumes with their groups. */
typedef struct sp_family {
  int count, group_count;
  sp_group *groups; /* [group_count] */
} sp_family;

/* Two different groups whose faces are copies of each other (mesh/periodic.h), as indices into
 * sp_hexes.surface.groups. */
typedef struct sp_periodic_pair {
  int groups[2];
} sp_periodic_pair;

/* Facts about a geometry from CAD, in its unit of length. */
typedef struct sp_hexes_cad {
  double extent[3]; /* of the box around it, in x, y and z */
  /* The body with the largest relative difference between the volumes of mesh and CAD kernel: its
   * name and both volumes. */
  char body[64];
  int pieces; /* of this body, if others divide it; the volumes are of one piece */
  double volume, kernel_volume;
  sp_gid curved, flattened; /* curved tetrahedra and prisms; how many leave the surface ... */
  double distance;          /* ... to avoid inversion, by at most this distance */
} sp_hexes_cad;

/* Facts about the file of the hexahedra, equal on all ranks; all 0 for a box. */
typedef struct sp_hexes_file {
  uint64_t hash; /* of all elements in the file: numbers, vertices and coordinates; the same for any
                    ranks, order and division into parts */
  sp_hexes_cad cad;
  sp_gid left_out; /* volume elements in no Physical Volume, which were not read */
  /* Tetrahedra, prisms and hexahedra that were divided (mesh/divide.h). */
  sp_gid divided[3];
  int contacts;          /* number of contacts, the last volumes (mesh/interlayer.h) */
  double thickness;      /* of the contacts' lattices */
  double read_seconds;   /* s; to read the file, or to mesh a geometry */
  double mesher_seconds; /* part of it: gmsh's mesh generation */
  double metis_seconds;  /* to divide the elements among ranks */
  sp_gid turned;         /* cells, all left-handed in the file, with swapped directions r and s */
  /* Counts of sp_touching_find (mesh/touching.h). */
  sp_gid coincident, misfits;
  int bodies;
  /* Names of Physical Points and of Physical Curves, each between newlines: only for messages. A
   * name that does not fit is left out. */
  char names[2][512];
} sp_hexes_file;

typedef struct sp_hexes {
  sp_lid count; /* elements on this rank */
  int map_order;
  double *lattice;                /* [count][(g+1)^3][3] */
  sp_gid (*vertices)[SP_CORNERS]; /* [count]; -1: no corner of a cell to divide (mesh/divide.h) */
  /* [count]; the surface of a face, or one of the negative values above. Before a mesh is made of
   * them, s or SP_SURFACE_INNER - s on surface s, else SP_SURFACE_INTERIOR or SP_SURFACE_UNNAMED.
   */
  int (*surfaces)[SP_FACES];
  sp_gid *tags; /* [count], number of the element in the file */
  /* [count], refinement path: one octal digit per refinement, the latest one lowest, after the
   * corner of a divided cell (mesh/divide.h); 0 without both. Tag and octants identify an element
   * on any number of ranks. Ten digits fit; sp_sizes_check refuses eleven. */
  int *octants;
  int refinements; /* digits in octants, without the corner's */
  /* Elements of the box per direction, which tags number from 1, x fastest; 0 for a file. Before
   * refinement, this rank has the elements with box_first[d] <= index[d] < box_end[d]. */
  int box[3], box_first[3], box_end[3];
  /* [count], elements of a finer mesh that form this one, by octant (mesh/coarsen.h), -1 for none;
   * NULL in a mesh that was not coarsened. */
  sp_lid (*children)[SP_CORNERS];
  int *volumes; /* [count], in [0, volume.count) */
  sp_family surface, volume;
  int pair_count;
  sp_periodic_pair *pairs; /* [pair_count], of a periodic mesh */
  sp_hexes_file file;
} sp_hexes;

/* Number of lattice points per element, (g+1)^3. Local. */
size_t sp_hexes_lattice_size(const sp_hexes *hexes);

/* The lattice points of one element, [g+1][g+1][g+1][3]. Local. */
const double *sp_hexes_lattice(const sp_hexes *hexes, sp_lid element);

/* The mean derivatives of the trilinear map of an element's corners, map[a][b] = d x_a / d r_b:
 * half the mean edge in direction b, over edges with both corners (vertex not -1). Returns their
 * determinant, an eighth of the volume of a parallelepiped. Local. */
double sp_hexes_mean_map(const sp_hexes *hexes, sp_lid element, double map[3][3]);

/* The shortest distance between two corners of an element. Local. */
double sp_hexes_shortest_distance(const sp_hexes *hexes, sp_lid element);

/* Allocate zeroed arrays for `count` elements. It has no surfaces, and one volume, in no group. The
 * caller destroys *out. Errors: SP_ERR_INPUT if `count` does not fit an sp_lid. Local. */
sp_status sp_hexes_create(sp_gid count, int map_order, sp_hexes **out);

/* NULL-safe; sets *hexes to NULL. Local. */
void sp_hexes_destroy(sp_hexes **hexes);

/* Reorder the elements: new element n is old element order[n], a permutation. Local. */
sp_status sp_hexes_permute(sp_hexes *hexes, const sp_lid *order);

/* Replace the array that `array` points to, `count` rows of `row` bytes, by a copy with its rows in
 * the new order, as above. Local. */
sp_status sp_permute_rows(void *array, size_t row, sp_lid count, const sp_lid *order);

/* Replace a family by `count` surfaces or volumes and `group_count` groups, which
 * sp_family_set_group fills. The elements' surfaces or volumes are unchanged. Local. */
sp_status sp_family_resize(sp_family *family, int count, int group_count);

/* Set name (copied) and number of group `g`, without parts. Local. */
sp_status sp_family_set_group(sp_family *family, int g, const char *name, int number);

/* Give a group one more part, of a higher index than it has. Local. */
sp_status sp_group_add(sp_group *group, int part);

/* True if the group has this part. Local. */
bool sp_group_has(const sp_group *group, int part);

/* Set the pairs of `to`, which has none, to copies. Local. */
sp_status sp_hexes_set_pairs(sp_hexes *to, int count, const sp_periodic_pair *pairs);

/* Replace the families and pairs of `to` by copies from `from`. Local. */
sp_status sp_hexes_copy_groups(const sp_hexes *from, sp_hexes *to);

/* True if the element is part of a contact. Local. */
static inline bool sp_hexes_is_contact(const sp_hexes *hexes, sp_lid element) {
  const int contacts = hexes->file.contacts;
  return contacts > 0 && hexes->volumes[element] >= hexes->volume.count - contacts;
}

/* The points of one element at the tensor grid of `nodes`, n in each direction: xyz[d][k][j][i],
 * [3][n^3]. A contact has the points of its face t = -1, with sp_hexes_map of its lattice. Local.
 */
void sp_hexes_coordinates(const sp_hexes *hexes, sp_lid element, int n, const double *nodes,
                          double *xyz);
void sp_hexes_map(const sp_hexes *hexes, sp_lid element, int n, const double *nodes, double *xyz);

/* ---- The vertices, edges and faces of one element ----
 * Slots of an element: 0..7 are its corners, 8..19 its edges, 20..25 its faces. Edge 8 + 4 d + q
 * runs along direction d. The low bit of q is the edge's side (0 or 1) in the lower of the other
 * two directions, the high bit its side in the higher one. Keys are equal in all elements and
 * ranks. All functions are Local. */

enum { SP_SLOTS = 26, SP_EDGE_SLOT = 8, SP_FACE_SLOT = 20 };

/* Corners of a slot in lexicographic order of (t, s, r); returns their number: 1, 2 or 4. */
int sp_slot_corners(int slot, int corners[4]);

/* Index of the node at a corner among the (order + 1)^3 nodes of an element. */
size_t sp_corner_node(int order, int corner);

/* Indices of the nodes on face f among the (order + 1)^3 nodes of an element, in the order of the
 * face's two directions, the lower one fastest: nodes[(order + 1)^2]. */
void sp_face_nodes(int order, int face, int *nodes);

/* The key of a vertex, edge or face: its `count` vertices (1, 2, 4) in ascending order, then -1s.
 */
void sp_entity_key(int count, const sp_gid *vertices, sp_gid key[4]);

/* -1, 0 or 1: the lexicographic order of keys. */
int sp_entity_compare(const sp_gid a[4], const sp_gid b[4]);

/* Two hashes of a key; unique in practice. */
sp_row_name sp_entity_name(const sp_gid key[4]);

/* Node i on an edge in direction `along` of an element with n nodes per direction. Bit 0 of `edge`
 * is the side in direction along + 1, bit 1 the side in along + 2, modulo 3. */
static inline size_t sp_edge_node(int n, int along, int edge, int i) {
  const size_t step[3] = {1, (size_t)n, (size_t)n * (size_t)n}, last = (size_t)n - 1;
  return (size_t)i * step[along] + (size_t)(edge & 1) * last * step[(along + 1) % 3] +
         (size_t)(edge >> 1) * last * step[(along + 2) % 3];
}
