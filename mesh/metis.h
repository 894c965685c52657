/* Division of a mesh among ranks by METIS. */
#pragma once

#include "mesh/hexes.h"

/* Divide `hexes` into `size` parts with few faces between them: parts[hexes->count] becomes the
 * part of each element. An element's weight is its number of corners (vertex not -1).
 *
 * Columns (mesh/columns.h), found from the shapes of the elements, are not cut if no part becomes
 * empty or larger than twice the mean. Otherwise, in a mesh of few long columns, METIS divides
 * single elements.
 *
 * Errors: SP_ERR_INPUT for fewer elements than parts, or too many elements for METIS;
 * SP_ERR_SYSTEM. Local. */
sp_status sp_metis_divide(const sp_hexes *hexes, int size, int *parts);
