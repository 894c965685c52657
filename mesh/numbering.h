/* Global degrees of freedom of continuous elements of degree N: the map Z from L-vectors to
 * E-vectors, and which DOFs ranks share.
 *
 * A degree of freedom belongs to a vertex, an edge, a face or the interior of an element. On edges
 * and faces the order is canonical, equal in all elements and ranks. It starts at the end (or
 * corner) with the smallest vertex number. On a face it runs fastest towards the adjacent corner
 * with the smaller number.
 *
 * L-vectors hold one double per local DOF: first the DOFs that this rank owns, then copies of DOFs
 * that lower ranks own (an entity belongs to the lowest rank that has it):
 *
 *     | interiors | faces | edges | vertices | copies |
 *
 * The interior of element e starts at e (N-1)^3, in lexicographic order. The other DOFs follow
 * class by class, in the order in which elements first touch them. The classes differ in the number
 * of elements that share a DOF: one for interiors, two for faces, more for edges and vertices. */
#pragma once

#include "mesh/mesh.h"
#include "mesh/reference.h"

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
  /* The owned DOFs of class c are [class_start[c], class_start[c + 1]). Of these, elements [0, e)
   * touch exactly the DOFs below touched[e][c]; [elements + 1]. */
  sp_lid class_start[SP_DOF_CLASSES + 1];
  sp_lid (*touched)[SP_DOF_CLASSES];

  /* DOFs shared with neighbour b: shared[shared_start[b]] up to shared[shared_start[b + 1] - 1], in
   * the same order on both ranks. */
  int neighbours;
  int *neighbour_ranks; /* [neighbours], ascending */
  sp_lid *shared_start; /* [neighbours + 1] */
  sp_lid *shared;
} sp_numbering;

/* Number the DOFs of degree `order` on `mesh`. Each rank holds only its own part. Errors:
 * SP_ERR_INPUT if a rank's DOFs do not fit 32 bits. The caller destroys *out. Collective. */
sp_status sp_numbering_create(const sp_mesh *mesh, int order, sp_numbering **out);

/* Find only the shared DOFs of degree 1, the vertices of mesh->topology, without `nodes` and global
 * numbers. The caller destroys *out. Collective. */
sp_status sp_numbering_create_vertices(const sp_mesh *mesh, sp_numbering **out);

/* Exchange one record of `size` bytes per shared DOF with the neighbours, in the order of `shared`;
 * requests[2 neighbours] is work space. Collective. */
void sp_numbering_swap(MPI_Comm comm, const sp_numbering *numbering, size_t bytes, const void *sent,
                       void *received, MPI_Request *requests);

/* NULL-safe; sets *numbering to NULL. Local. */
void sp_numbering_destroy(sp_numbering **numbering);

/* The local DOFs of an element's nodes, and values[Nq][Nq][Nq] = x there. Local. */
static inline const sp_lid *sp_numbering_nodes(const sp_numbering *numbering, sp_lid element) {
  return &numbering->nodes[(size_t)element * sp_element_nodes(numbering->order)];
}

static inline void sp_numbering_gather(const sp_numbering *numbering, sp_lid element,
                                       const double *x, double *values) {
  const sp_lid *nodes = sp_numbering_nodes(numbering, element);
  const size_t count = sp_element_nodes(numbering->order);
  for (size_t n = 0; n < count; n++) values[n] = x[nodes[n]];
}

/* Global number of a local DOF. Local. */
sp_gid sp_numbering_global(const sp_numbering *numbering, sp_lid dof);

/* Sums over elements in a loop (io/threads.h) over chunks of elements. A chunk's computation adds
 * directly at owned DOFs that no earlier element has, and defers the other additions to its commit.
 * So sums have the order of the elements, and the serial commits are short. */
typedef struct sp_additions {
  size_t count;
  double *values;
  sp_lid *dofs;
} sp_additions;

/* Bytes of memory for `most` additions. Local. */
static inline size_t sp_additions_bytes(size_t most) {
  return most * (sizeof(double) + sizeof(sp_lid));
}

/* An empty list in memory[sp_additions_bytes(most)]. Local. */
void sp_additions_begin(size_t most, void *memory, sp_additions *out);

/* x += values[Nq][Nq][Nq] at the nodes of an element of the chunk that begins at element `begin`.
 * Local. */
void sp_numbering_add(const sp_numbering *numbering, size_t begin, sp_lid element,
                      const double *values, double *x, sp_additions *later);

/* Do the deferred additions. Local. */
void sp_additions_finish(const sp_additions *later, double *x);

/* x += Z^T values[elements][Nq][Nq][Nq] on threads, without the sum over ranks. Errors:
 * SP_ERR_SYSTEM. Local. */
sp_status sp_numbering_sum(const sp_numbering *numbering, size_t elements, const double *values,
                           double *x);
