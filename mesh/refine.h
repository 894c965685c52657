/* Uniform refinement, and the sizes of a refined mesh. */
#pragma once

#include "mesh/mesh.h"

/* Replace *mesh by its uniform refinement: each element becomes eight, the images of the octants of
 * its reference cube, on the same rank, and a contact four. A periodic mesh stays periodic. The
 * coarse and the refined mesh are nested. After an error *mesh is NULL. Collective. */
sp_status sp_mesh_refine(sp_mesh **mesh);

/* Refine likewise, but keep `coarse`. The caller destroys *out, which is NULL after an error.
 * Collective. */
sp_status sp_mesh_refined(const sp_mesh *coarse, sp_mesh **out);

/* The sizes of a refined mesh and of its numbering on this rank, computed from the coarse mesh.
 *
 * r refinements divide an element into m^3, m = 2^r. The refined mesh at degree N has as many nodes
 * as the coarse one at degree P = N m. With V vertices, E edges, F faces and H elements of the
 * coarse mesh, exactly and including copies of DOFs of other ranks,
 *     DOFs = V + E (P - 1) + F (P - 1)^2 + H (P - 1)^3. */

/* Doubles, because counts may exceed any integer type; exact up to 2^53. */
typedef struct sp_sizes {
  double elements;
  double entities; /* vertices, edges and faces */
  double dofs;     /* length of the L-vector */
  double owned;    /* each DOF counted as 1 over the number of ranks that have it */
  double shared;   /* shared DOFs, counted once per other rank that has them */
} sp_sizes;

/* Count this rank's part, which has this topology, after `refinements` refinements at degree
 * `order`. Local. */
void sp_sizes_count(const sp_topology *topology, int refinements, int order, sp_sizes *sizes);

/* Check that this rank's counts fit sp_lid. Errors: SP_ERR_INPUT with the count; `where` begins the
 * message. Local. */
sp_status sp_sizes_check(const sp_sizes *sizes, const char *where);
