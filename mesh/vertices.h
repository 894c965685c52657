/* Local numbers of vertices, and of others with keys. */
#pragma once

#include "mesh/topology.h"

/* Number the vertices of `hexes`, at most SP_LID_MAX / SP_CORNERS elements, in the order in which
 * elements first touch them: slots[e][c] becomes the number of corner c of element e, *vertices
 * their count. The work is linear in the elements. It runs on threads if the global numbers lie
 * close together. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_vertices_number(const sp_hexes *hexes, sp_lid (*slots)[SP_SLOTS], sp_lid *vertices);

/* Number the different ones of keys[elements][count] in the order in which they occur:
 * slots[e][slot
 * + i] becomes the number of keys[e][i]. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_keys_number(size_t elements, int count, const sp_gid *keys, int slot,
                         sp_lid (*slots)[SP_SLOTS], sp_lid *different);
