/* Division of a mesh among ranks by METIS. */
#pragma once

#include "mesh/hexes.h"

/* Divide `hexes` into `size` parts with few faces between them: parts[hexes->count] becomes the
 * part of each element. A corner with vertex -1 is missing; an element counts as many times as it
 * has corners.
 *
 * Columns (mesh/columns.h) stay whole if then no part is empty and none has more than twice the
 * mean size; they are found from the shapes of the elements. Otherwise, in a mesh of few and long
 * columns, METIS divides single elements.
 *
 * Errors: SP_ERR_INPUT for fewer elements than parts, or too many elements for METIS;
 * SP_ERR_SYSTEM. Local. */
sp_status sp_metis_divide(const sp_hexes *hexes, int size, int *parts);
