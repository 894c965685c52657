/* Meshes for tests of numberings, exchanges and operators: a deformed box whose elements have
 * random orientations, distributed over the ranks, and the same box as a whole on each rank. The
 * whole one gives each degree of freedom a number that does not depend on the ranks. */
#pragma once

#include "mesh/numbering.h"

typedef struct deformed_box {
  sp_mesh *mesh;           /* distributed */
  sp_numbering *numbering; /* of it */
  sp_mesh *whole;          /* on MPI_COMM_SELF */
  sp_numbering *whole_numbering;
  sp_lid *whole_element; /* [mesh->hexes->count], the same element in `whole` */
  sp_lid *whole_dof;     /* [numbering->local], the same DOF in `whole_numbering` */
  sp_lid conflicts;      /* nodes whose two numberings disagree; 0 expected */
  bool *mask;            /* [numbering->local], true on the faces x = 0 and z = 1 */
} deformed_box;

/* map_order 1: trilinear elements; higher: curved ones; 0: parallelepipeds, but if elements[0] > 4
 * trilinear ones at one end. Degree `order`. Aborts on errors. Collective over `comm`. */
void deformed_box_create(MPI_Comm comm, const int elements[3], int map_order, int order,
                         deformed_box *box);
void deformed_box_destroy(deformed_box *box);

/* A value in [-1, 1] for a DOF of the whole box, the same on all ranks; seeds give independent
 * ones. */
double random_value(int seed, sp_gid number);

/* The L-vector of random values: values[numbering->local]. */
void random_vector(const deformed_box *box, int seed, double *values);

/* a.b over owned DOFs of all ranks. Collective. */
double dot(const deformed_box *box, const double *a, const double *b);

/* Return the number of DOFs that do not have the same bits on all ranks that have them.
 * Collective. */
sp_lid count_different_bits(MPI_Comm comm, const deformed_box *box, const double *values);

/* Np, the number of nodes per element. */
size_t element_nodes(const deformed_box *box);

/* sp_allocate that aborts. */
void *test_allocate(size_t count, size_t size);
