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

/* ---- vertices.c ---- */

/* Number the vertices of `hexes`, at most SP_LID_MAX / SP_CORNERS elements, in the order in which
 * elements first touch them: slots[e][c] becomes the number of corner c of element e, *vertices
 * their count. The work is linear in the elements. It runs on threads if the global numbers lie
 * close together. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_vertices_number(const sp_hexes *hexes, sp_lid (*slots)[SP_SLOTS], sp_lid *vertices);

/* Number the different ones of keys[elements][count] in the order in which they occur: the number
 * of keys[e][i] becomes slots[e][slot + i]. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_keys_number(size_t elements, int count, const sp_gid *keys, int slot,
                         sp_lid (*slots)[SP_SLOTS], sp_lid *different);
