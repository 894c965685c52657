/* Connected components of the mesh, over all ranks. Two elements are in the same component if a
 * chain of elements connects them in which each shares a vertex with the next. Vertices that a
 * periodic pair identifies count as one (mesh/topology.h). */
#pragma once

#include "mesh/topology.h"

typedef struct sp_components {
  int count;       /* over all ranks */
  int *of_element; /* [topology->elements], in [0, count); the same numbers on all ranks */
} sp_components;

/* The entities that connect elements; SP_BY_FACES: only a common face connects two elements, not a
 * common edge or vertex. */
typedef enum sp_connection { SP_BY_VERTICES, SP_BY_FACES } sp_connection;

/* Each rank finds the components of its own elements; then all ranks gather the pairs with a common
 * entity. The number of collective calls does not depend on the shape of the components. A rank may
 * have no elements. The caller destroys *out. Errors: SP_ERR_INPUT for 2^31 or more components or
 * pairs. Collective over `comm`. */
sp_status sp_components_create(MPI_Comm comm, const sp_topology *topology, sp_connection by,
                               sp_components **out);

/* NULL-safe; sets *components to NULL. Local. */
void sp_components_destroy(sp_components **components);
