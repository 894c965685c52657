/* The order of a rank's elements: first the elements that touch other ranks, each part along a
 * Morton curve. */
#pragma once

#include "mesh/topology.h"

/* Reorder the elements along the Morton curve of their centres, in a grid of 2^21 cells per
 * direction over all centres of this rank. Elements in one cell keep their order. The result does
 * not depend on the number of threads. Local. */
sp_status sp_order_along_curve(sp_hexes *hexes);

/* Move the elements that share a vertex with another rank to the front; both parts keep their
 * order. *halo becomes the number of elements in front. `topology` follows. Local. */
sp_status sp_order_halo_first(sp_hexes *hexes, sp_topology *topology, sp_lid *halo);
