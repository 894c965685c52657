/* Global degrees of freedom of continuous elements of degree N: the map Z from L-vectors to
 * E-vectors and what ranks share.
 *
 * A degree of freedom belongs to a vertex, an edge, a face or an element's interior. On edges and
 * faces the order is canonical, from the end (or corner) with the smallest vertex number towards
 * the next smallest, so that all elements and ranks agree whatever their orientation.
 *
 * L-vectors hold one double a local DOF: first the DOFs that this rank owns, then copies of those
 * that lower ranks own (an entity belongs to the lowest rank that holds it):
 *
 *     | interiors | faces | edges | vertices | copies |
 *
 * Element e's interior starts at e (N-1)^3, lexicographic. Everything else stands, class by class,
 * in the order in which elements touch it first. The classes differ in how many elements share a
 * DOF: one, two, some, more. */
#ifndef SP_MESH_NUMBERING_H
#define SP_MESH_NUMBERING_H

#include "mesh/mesh.h"

typedef enum sp_dof_class {
  SP_INTERIORS,
  SP_FACE_DOFS,
  SP_EDGE_DOFS,
  SP_VERTEX_DOFS,
  SP_DOF_CLASSES
} sp_dof_class;

typedef struct sp_numbering {
  int order;           /* N */
  sp_lid owned, local; /* DOFs [0, owned) are owned, [owned, local) copies */
  sp_gid global;       /* over all ranks */
  sp_gid first;        /* global number of DOF 0; owned ones follow in order */
  sp_gid *copies;      /* [local - owned], global numbers of the copies */
  sp_lid *nodes;       /* [elements][Nq][Nq][Nq], local DOF of every element node */
  /* Owned DOFs of class c are [class_start[c], class_start[c + 1]); elements [0, e) touch exactly
   * those below touched[e][c]: [elements + 1]. */
  sp_lid class_start[SP_DOF_CLASSES + 1];
  sp_lid (*touched)[SP_DOF_CLASSES];

  /* DOFs shared with other ranks. Neighbour b shares shared[shared_start[b] .. shared_start[b +
   * 1]), listed in the same order on both sides. */
  int neighbours;
  int *neighbour_ranks; /* [neighbours], ascending */
  sp_lid *shared_start; /* [neighbours + 1] */
  sp_lid *shared;
} sp_numbering;

/* Number the DOFs of degree `order` on `mesh`. No rank ever holds more than its own part. Errors:
 * SP_ERR_INPUT if a rank's DOFs do not fit 32 bits. The caller destroys *out. Collective. */
sp_status sp_numbering_create(const sp_mesh *mesh, int order, sp_numbering **out);

/* Bytes that a numbering of these sizes holds on this rank, at most: which of the shared DOFs are
 * copies is not known before, so all are counted. Local. */
double sp_numbering_predicted_bytes(const sp_sizes *sizes, int order);

/* NULL-safe; sets *numbering to NULL. Local. */
void sp_numbering_destroy(sp_numbering **numbering);

/* Global number of a local DOF. Local. */
sp_gid sp_numbering_global(const sp_numbering *numbering, sp_lid dof);

#endif
