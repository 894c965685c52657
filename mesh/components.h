/* Connected components of the mesh, over all ranks. Two elements are in the same component if they
 * share a vertex, or if a chain of elements connects them in which each shares a vertex with the
 * next. Vertices that a periodic pair identifies count as one (mesh/topology.h). */
#pragma once

#include "mesh/topology.h"

typedef struct sp_components {
  int count;       /* over all ranks */
  int *of_element; /* [topology->elements], in [0, count); the same numbers on all ranks */
} sp_components;

/* The entities that connect elements; SP_BY_FACES: two elements that share a face are in the same
 * component, not two that share an edge or a vertex only. */
typedef enum sp_connection { SP_BY_VERTICES, SP_BY_FACES } sp_connection;

/* Each rank finds the components of its own elements, and all ranks gather the pairs of these that
 * meet at an entity. The number of collective calls does not depend on the shape of the components.
 * A rank may have no elements. The caller destroys *out. Errors: SP_ERR_INPUT for 2^31 or more
 * components or pairs. Collective over `comm`. */
sp_status sp_components_create(MPI_Comm comm, const sp_topology *topology, sp_connection by,
                               sp_components **out);

/* NULL-safe; sets *components to NULL. Local. */
void sp_components_destroy(sp_components **components);
