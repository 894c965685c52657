/* How large a refined mesh and its numbering will be on this rank, counted on the coarse mesh
 * before anything is allocated.
 *
 * r refinements divide an element into m^3, m = 2^r. The nodes of degree N there are those of
 * degree P = N m here, so that with V vertices, E edges, F faces and H elements of the coarse mesh
 *     DOFs = V + E (P - 1) + F (P - 1)^2 + H (P - 1)^3,
 * exactly, copies of other ranks' DOFs included. */
#ifndef SP_MESH_SIZES_H
#define SP_MESH_SIZES_H

#include "mesh/topology.h"

/* Doubles, because what is counted may be too many for any integer; exact up to 2^53. */
typedef struct sp_sizes {
  double elements;
  double entities; /* vertices, edges and faces */
  double dofs;     /* of the L-vector */
  double shared;   /* DOFs of the neighbours' lists, one for each rank that shares it */
  double sharers;  /* the same of vertices, edges and faces */
} sp_sizes;

/* Sizes after `refinements` of the mesh with this topology, at degree `order`. Local. */
void sp_sizes_count(const sp_topology *topology, int refinements, int order, sp_sizes *sizes);

/* SP_OK if this rank's counts fit sp_lid, else SP_ERR_INPUT with what does not: `where` heads the
 * message. Local. */
sp_status sp_sizes_check(const sp_sizes *sizes, const char *where);

#endif
