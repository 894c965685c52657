/* A mesh of a few elements, described by the bytes of a fuzzer: a box of cubes at first, and then a
 * list of changes. Most sequences of bytes give a mesh that is nearly valid, which is the difficult
 * case; a file of random bytes would be refused at its first line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mesh/mesh.h"

enum {
  SKETCH_POINTS = 48,
  SKETCH_ELEMENTS = 12,
  SKETCH_FACES = 24,
  SKETCH_SURFACES = 4,
  SKETCH_NODES = 27
};

typedef struct sketch_element {
  int type;   /* gmsh's; 0: a hexahedron of the box's order */
  int volume; /* 1, 2 or 3 */
  uint64_t tag;
  int nodes[SKETCH_NODES]; /* points in lattice order */
} sketch_element;

typedef struct sketch_face {
  int surface, nodes[4];
} sketch_face;

typedef struct sketch {
  int order; /* of all elements, 1 or 2 */
  int point_count, element_count, face_count;
  double points[SKETCH_POINTS][3];
  uint64_t tags[SKETCH_POINTS];
  sketch_element elements[SKETCH_ELEMENTS];
  sketch_face faces[SKETCH_FACES];
  unsigned groups[SKETCH_SURFACES]; /* bit g: the surface is in group g + 1 */
  bool split;                       /* written as a part of a mesh */
  int periodic[2];                  /* groups to identify, if they differ */
} sketch;

/* Local. */
void sketch_make(const uint8_t *data, size_t size, sketch *s);

/* The point at a corner of an element (mesh/hexes.h). Local. */
int sketch_corner(const sketch *s, int element, int corner);

/* Append face `face` of an element to a surface, if there is room. Local. */
void sketch_add_face(sketch *s, int element, int face, int surface);

/* Check the properties of elements that the program accepts. The mesh is made, or refused with a
 * message. If it is made, its numbering is one-to-one, elements meet point by point where they
 * share DOFs, and the refined mesh has eight times the elements and the same volume. Takes over
 * *hexes. */
void sketch_check(const sketch *s, sp_hexes **hexes);
