/* The solution as VTKHDF: an UnstructuredGrid of Lagrange hexahedra (VTK cell type 72), version [1,
 * 0], one piece per rank. ParaView 5.11 opens it if the name ends in .hdf. Elements of a piece
 * share points; pieces do not, so a point on the boundary between two ranks is in both pieces.
 *
 * A series has the states of a run over time, of one mesh: version [2, 0], with the group Steps.
 * ParaView 5.12 and VTK 9.3 show their times. Coordinates and elements are written once, values of
 * points per state. The group /restart is not for VTK: kept values of the last state. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/error.h"

/* VTK's order of the (N+1)^3 points of a Lagrange hexahedron of degree N = `order`: lattice[p] = i
 * + (N+1) (j + (N+1) k) is the lattice index of VTK's point p. Corners come first, then edges,
 * faces and the interior; the vertical edges are numbered as in VTK 9.1 and later. Local. */
void sp_vtk_hexahedron_order(int order, int *lattice);

/* One field of points or of elements; in a series, the elements' are the same in all states. */
typedef struct sp_field_values {
  const char *name;
  const void *values; /* [points or elements][columns]: int64_t or double */
  bool of_elements, integers;
  int columns;      /* 1, or 3 for a vector */
  bool kept;        /* of points, in a series: in /restart */
  const char *unit; /* attribute "units"; NULL or "": none */
} sp_field_values;

/* Kept values have places for two states, used in turn, so the last state stays intact. */
enum { SP_FIELD_KEPT_STATES = 2 };

/* The time of a state, and how a run continues from it. */
typedef struct sp_field_state {
  double time;
  int64_t known; /* solutions: this one and the kept ones */
  double length; /* the time between two of them */
} sp_field_state;

/* Field of a rank. All ranks have the same order, fields and texts. Everything is borrowed. */
typedef struct sp_field_data {
  int order;                /* N */
  int64_t elements, points; /* on this rank, 0 or more */
  /* [elements][(N+1)^3], i fastest: the point, from 0, at each index of an element's equispaced
   * lattice of degree N. The order is lexicographic, not VTK's. */
  const int32_t *nodes;
  const double *coordinates; /* [points][3] */
  const char *unit;          /* of these, as above */
  int value_count;
  const sp_field_values *values; /* [value_count] */
  int text_count;                /* 0: no texts in the file */
  const char *text_name;
  const char *const *texts; /* [text_count], VTK's field data: belongs to no point or cell */
} sp_field_data;

/* Write `path`, which appears whole or not at all; `states` is 0 and `state` NULL. Or add a state
 * to the series `path`, which has `states` states, written by this function for the same data
 * except values of points. The first one replaces `path`. The others are written behind it: a
 * reader finds all states before, at any moment, and also after an error or a kill. Collective over
 * `comm`; all ranks return the same status. Errors: SP_ERR_SYSTEM "cannot write field PATH:
 * reason". */
sp_status sp_field_file_write(MPI_Comm comm, const char *path, const sp_field_data *data,
                              int64_t states, const sp_field_state *state);
