/* Internal to mesh/gmsh/: a mesh as its file lists it. format2.c and format4.c read a .msh; for all
 * other files sdk.c calls the SDK. Each file calls only files to its right:
 *
 *     read | cells | sets | format2, format4, sdk, curve | cad | gaps | sweep | sweep_find | scan |
 *     model
 *
 * We read .msh files ourselves because the SDK loses information. In format 2 it puts an element
 * into all groups of its elementary tag, and many writers use one tag for the whole mesh. It trusts
 * the counts in the file. It keeps 32 bits of the numbers of nodes and elements, and only the last
 * item with a repeated number. It returns only one order per entity, and the name of only the first
 * of groups with the same name.
 *
 * All functions are Local. Errors are SP_ERR_INPUT with the path, or SP_ERR_SYSTEM for memory. */
#pragma once

#include <stdbool.h>

#include "io/names.h"
#include "mesh/gmsh/reader.h"
#include "mesh/hexes.h"

/* ---- scan.c: lines, words and binary numbers of a .msh ----
 * Failures have the path and, in an ASCII file, the line. */

enum { SP_EXCERPT = 44 };

/* Part of a file: the rest of a line or of the file. */
typedef struct sp_span {
  const char *at, *end;
} sp_span;

typedef struct sp_scan {
  const char *path;
  sp_span file, rest;
  size_t line;          /* of the line that was read last */
  double version;       /* before $MeshFormat the caller's */
  bool binary, swapped; /* swapped: written by a machine of the other byte order */
} sp_scan;

/* Map a file into memory; sp_scan_close removes the map. Errors: SP_ERR_INPUT. */
sp_status sp_scan_open(const char *path, sp_scan *s);
void sp_scan_close(sp_scan *s);

/* The next line, or the next nonblank line, without blanks at its ends; false at the end of the
 * file. */
bool sp_scan_line(sp_scan *s, sp_span *line);
bool sp_scan_filled_line(sp_scan *s, sp_span *line);

bool sp_span_begins(const sp_span *line, const char *word);

/* Take one word, an integer in [-INT_MAX, INT_MAX], `count` reals from the line; false if there are
 * none. */
bool sp_span_word(sp_span *line, sp_span *word);
bool sp_span_int(sp_span *line, int *value);
bool sp_span_reals(sp_span *line, int count, double *values);

/* The value of a word; false if it is no number. */
bool sp_span_real(const sp_span *word, double *value);

/* Take binary numbers; false if the file ends before. */
bool sp_scan_int(sp_scan *s, int *value);
bool sp_scan_long(sp_scan *s, long long *value);
bool sp_scan_reals(sp_scan *s, int count, double *values);

/* Read the section $MeshFormat: the version, the encoding, and the byte order of a binary file. */
sp_status sp_scan_format(sp_scan *s);

/* Fail: "expected X, found 'the start of the line'". */
sp_status sp_scan_unexpected(const sp_scan *s, const sp_span *found, const char *expected);

/* The start of a line, with unprintable characters replaced. Returns `out`. */
const char *sp_span_excerpt(const sp_span *line, char out[SP_EXCERPT]);

/* ":12", or nothing in a binary file, which has no lines. Returns `out`. */
const char *sp_scan_where(const sp_scan *s, size_t line, char out[24]);

/* ---- The model ---- */

/* A type of element, from the SDK's reference coordinates; no table is hard-coded. */
typedef struct sp_gmsh_type {
  char name[64];
  int dimension, corners, order, nodes;
  /* [nodes], each node's place in the lattice of (order+1)^3 nodes (mesh/divide.h); NULL for types
   * other than complete tetrahedra, prisms and hexahedra. */
  int *lattice;
} sp_gmsh_type;

/* A part of the geometry. In format 2, where elements of one entity may be in different groups, it
 * is the elements of one dimension and group; its tag is the group's number, 0 for none. */
typedef struct sp_gmsh_entity {
  int dimension, tag;
  int group_count, *groups; /* numbers of its physical groups */
  /* True for additions of gmsh's partitioner: surfaces between parts, and ghosts, the elements of
   * neighbours in a split file. Their elements and groups are not used. */
  bool is_artificial;
  /* Of CAD: a plane face; the volume of a body, by the CAD kernel and of the mesh. */
  bool is_plane;
  double kernel_volume, volume;
} sp_gmsh_entity;

typedef struct sp_gmsh_element {
  size_t tag, first; /* number in the file; model->nodes[first ...] are its nodes */
  int type, entity;  /* gmsh's number of the type; index of the entity */
  int place;         /* the elementary tag, by which elements are ordered */
} sp_gmsh_element;

typedef struct sp_gmsh_point {
  size_t tag;
  double xyz[3];
} sp_gmsh_point;

/* A named group. Before format 2.1 files give no dimension: -1. */
typedef struct sp_gmsh_name {
  int dimension, number;
  char *text;
} sp_gmsh_name;

/* A side face of an extrusion: its curves in the sources and in the target. If faces that gmsh
 * meshes meet in the second curve, its mesh is gmsh's, a copy of the first one's. */
typedef struct sp_gmsh_side {
  int from, face, to;
  bool keeps_mesh;
} sp_gmsh_side;

/* A body from CAD that is an extrusion of plane faces, the sources, by `shift` to the face
 * `target`. */
typedef struct sp_gmsh_sweep {
  int volume, target;
  int layers; /* of prisms */
  double shift[3];
  size_t source_count, side_count;
  int *sources;        /* [source_count]; 0: the body is no extrusion */
  sp_gmsh_side *sides; /* [side_count] */
  bool chosen;         /* to be swept */
} sp_gmsh_sweep;

typedef struct sp_gmsh_model {
  const char *path;
  double version;                  /* of the format of a .msh, 0 for other files */
  bool lists_entities, has_blocks; /* sections of format 4 that were read: $Entities; others */
  size_t point_count, element_count, node_count, entity_count, name_count, part_count;
  sp_gmsh_point *points;     /* [point_count], ascending tags */
  sp_gmsh_element *elements; /* [element_count], by place and type */
  size_t *nodes;             /* [node_count], indices of points */
  sp_gmsh_entity *entities;  /* [entity_count] */
  size_t found;              /* index of the last entity found */
  sp_gmsh_name *names;       /* [name_count] */
  /* A partitioned mesh: the largest part number, and the parts that have elements. */
  int last_part;
  int *parts; /* [part_count] */
  double mesher_seconds;
  size_t sweep_count;
  sp_gmsh_sweep *sweeps; /* [sweep_count], the body behind a target before that one */
  sp_hexes_cad cad;
} sp_gmsh_model;

/* ---- model.c ---- */

/* "PATH: gmsh could not WHAT", with the SDK's reason if it gives one. */
sp_status sp_gmsh_failed(const char *path, const char *what);

/* The type with gmsh's number `type`; NULL if there is no such type. The SDK must run. */
const sp_gmsh_type *sp_gmsh_type_of(int type);

/* Append to the model. The caller fills an element's `nodes`. Numbers of points and nodes are the
 * file's until sp_gmsh_model_complete. */
sp_status sp_gmsh_add_point(sp_gmsh_model *m, size_t tag, const double xyz[3]);
sp_status sp_gmsh_add_element(sp_gmsh_model *m, const sp_gmsh_element *element, size_t **nodes);
sp_status sp_gmsh_add_entity(sp_gmsh_model *m, int dimension, int tag);
sp_status sp_gmsh_add_group(sp_gmsh_entity *entity, int number);
sp_status sp_gmsh_add_name(sp_gmsh_model *m, int dimension, int number, const char *text,
                           size_t length);

/* Record a part that the file names, and that it has elements if `has_elements`. */
sp_status sp_gmsh_add_part(sp_gmsh_model *m, int part, bool has_elements);

/* Find the entity, or add it. */
sp_status sp_gmsh_find_entity(sp_gmsh_model *m, int dimension, int tag, int *index);

/* Sort points and elements, replace the nodes' numbers by indices of points, and drop elements of
 * dimensions 0 and 1 and of artificial entities. Refuses elements with missing nodes, and nodes
 * with one number and two positions. */
sp_status sp_gmsh_model_complete(sp_gmsh_model *m);
void sp_gmsh_model_free(sp_gmsh_model *m);

/* The name of a group, "" if it has none. Two groups may have one name. */
const char *sp_gmsh_group_name(const sp_gmsh_model *m, int dimension, int number);

/* The order of two size_t, for qsort. */
int sp_gmsh_compare_sizes(const void *left, const void *right);

/* ---- model.c: questions to the CAD kernel about an open geometry ---- */

/* The caller frees the list by gmshFree. */
typedef struct sp_gmsh_tags {
  int *list;
  size_t count;
} sp_gmsh_tags;

/* Pairs of dimension and tag of all entities of a dimension, or with -1 of all. */
sp_status sp_gmsh_list(const char *path, int dimension, sp_gmsh_tags *pairs);

/* The tags of the entities of the next higher or lower dimension at one. */
sp_gmsh_tags sp_gmsh_adjacent(int dimension, int tag, bool higher);

bool sp_gmsh_is_plane(int face);

/* Length, area or volume; NaN if it is unknown. */
double sp_gmsh_mass(int dimension, int tag);

/* points[count][3] of a curve. parameters[count] are shares of its range, from 0 to 1, and become
 * its parameters. False if the curve has none. */
bool sp_gmsh_sample_curve(int curve, size_t count, double *parameters, double *points);

/* ---- read.c, format2.c, format4.c ---- */

/* Read a file of format 2 (2.0 to 2.2) or 4 (4.0 and 4.1), ASCII or binary, into *m, which has only
 * its path. Errors name the line of an ASCII file or the index in a binary one: a wrong count, a
 * repeated number or one out of range, anything that gmsh would skip. */
sp_status sp_gmsh_read_sections(sp_scan *s, sp_gmsh_model *m);

/* Read one section, whose first line has been read. $PhysicalNames is text also in binary files,
 * and the same in both formats. */
sp_status sp_gmsh_read_names(sp_scan *s, sp_gmsh_model *m);
sp_status sp_gmsh_format2_nodes(sp_scan *s, bool parametric, sp_gmsh_model *m);
sp_status sp_gmsh_format2_elements(sp_scan *s, sp_gmsh_model *m);
sp_status sp_gmsh_format4_nodes(sp_scan *s, sp_gmsh_model *m);
sp_status sp_gmsh_format4_elements(sp_scan *s, sp_gmsh_model *m);
sp_status sp_gmsh_format4_entities(sp_scan *s, bool partitioned, sp_gmsh_model *m);

/* ---- sdk.c, cad.c ---- */

/* Read or mesh the file by the SDK. */
sp_status sp_gmsh_sdk_read(const sp_gmsh_sizes *sizes, sp_gmsh_model *m);

/* Mesh the open geometry by gmsh, and add the time. */
sp_status sp_gmsh_generate(sp_gmsh_model *m);

/* Open and mesh a CAD file: see sp_gmsh_sizes (mesh/gmsh/gmsh.h). */
sp_status sp_gmsh_cad_mesh(const sp_gmsh_sizes *sizes, sp_gmsh_model *m);

/* Fill is_plane and kernel_volume of the last entity. */
void sp_gmsh_cad_describe(sp_gmsh_model *m);

/* Fill m->cad of a complete model, after sp_gmsh_curve. */
void sp_gmsh_cad_compare(sp_gmsh_model *m);

/* ---- sweep_find.c, sweep.c ---- */

/* Choose the bodies of an open geometry that are swept, m->sweeps, and exclude them from gmsh's
 * meshing. `size`: of elements. */
sp_status sp_gmsh_sweeps_find(sp_gmsh_model *m, const sp_gmsh_tags *bodies, double size);

/* True for a target, a side, or a curve of a target without a mesh of its own. */
bool sp_gmsh_is_swept(const sp_gmsh_model *m, int dimension, int tag);

/* Fill the chosen bodies of a complete model with prisms, and add the volumes of these bodies. */
sp_status sp_gmsh_sweep_bodies(sp_gmsh_model *m);

/* ---- gaps.c ---- */

/* Set sizes along the curves of an open geometry: the gaps between the curves of a face, at most
 * `size`. Faces of swept bodies are left out. */
sp_status sp_gmsh_gaps(const sp_gmsh_model *m, const sp_gmsh_tags *faces, double size);

/* ---- curve.c ---- */

/* Make all curved tetrahedra of a complete model from CAD valid: bend edges inside; if that is not
 * enough, take sides off the surface, which m->cad counts. Adds the volumes of the bodies. */
sp_status sp_gmsh_curve(sp_gmsh_model *m);

/* ---- sets.c ---- */

/* The groups of one dimension, and sets of them: the volumes and surfaces of mesh/hexes.h, whose
 * elements or faces are in exactly the groups of a set. */
typedef struct sp_gmsh_set {
  int count, *groups; /* ascending indices into sp_gmsh_sets.groups */
} sp_gmsh_set;

typedef struct sp_gmsh_sets {
  int dimension;
  size_t group_count;
  int *groups; /* [group_count], ascending numbers */
  int count;
  sp_gmsh_set *list; /* [count] */
  sp_names names;    /* of sets: their groups as bytes */
  int *wanted;       /* scratch: the groups of two sets */
} sp_gmsh_sets;

/* List the groups; no sets exist yet. The caller calls sp_gmsh_sets_free, also after a failure. */
sp_status sp_gmsh_sets_create(const sp_gmsh_model *m, int dimension, sp_gmsh_sets *sets);
void sp_gmsh_sets_free(sp_gmsh_sets *sets);

/* Find or add the set of an entity's groups. */
sp_status sp_gmsh_sets_find(sp_gmsh_sets *sets, const sp_gmsh_entity *entity, int *set);

/* Replace *set by the set with the groups of *set and of `other`. */
sp_status sp_gmsh_sets_unite(sp_gmsh_sets *sets, int other, int *set);

/* Replace a family of hexahedra by the groups and sets. */
sp_status sp_gmsh_sets_copy(const sp_gmsh_model *m, const sp_gmsh_sets *sets, sp_family *to);

/* ---- cells.c ---- */

/* Cells in lattice order (mesh/divide.h). */
typedef struct sp_gmsh_cells {
  int order;
  size_t count;
  size_t *nodes;   /* [count][(order+1)^3], index of the point plus 1; 0 for no node */
  sp_gid *tags;    /* [count] */
  int *volumes;    /* [count] */
  sp_gid left_out; /* elements of dimension 3 outside all physical volumes, if there are any */
} sp_gmsh_cells;

/* Fill *cells, which must be zero. `files` is the number of files of a split mesh, 0 if it is not
 * split; the file of a split mesh may have no hexahedra if it leaves out elements. No part of a
 * mesh that gmsh has partitioned may be missing. If the model has physical volumes, only their
 * elements are used. Repeated elements are used once. `volumes` gains the volumes. The caller calls
 * sp_gmsh_cells_free, also after a failure. */
sp_status sp_gmsh_cells_read(const sp_gmsh_model *m, int files, sp_gmsh_sets *volumes,
                             sp_gmsh_cells *cells);
void sp_gmsh_cells_free(sp_gmsh_cells *cells);
