/* The vertices, edges and faces of this rank's elements: the part of a topology that needs no other
 * rank. Used by mesh/topology.h. */
#pragma once

#include "mesh/topology.h"

/* Number the entities of `hexes`, whose elements each have eight different vertices, but
 * for contacts (mesh/interlayer.h): fills
 * `hexes`, `elements`, `start`, `entities`, `slots`, `first` and `touching` of a zeroed topology.
 *
 * Vertices are numbered in the order in which elements first touch them. Edges and faces are
 * compared only with those of the same home, the vertex with the lowest number. So
 * the work is linear in the elements, and threads share the vertices. The result does not depend
 * on the number of threads. Errors: SP_ERR_INPUT for too many entities. Local. */
sp_status sp_entities_find(const sp_hexes *hexes, sp_topology *topology);

/* Replace the entities that `periodic` identifies by one, with the key of the representative. Call
 * it before the sharers are known. Local. */
sp_status sp_entities_identify(const sp_periodic *periodic, sp_topology *topology);

/* Restore the order of the entities (mesh/topology.h) after the elements were reordered. Local. */
sp_status sp_entities_renumber(sp_topology *topology);
