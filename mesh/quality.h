/* Quality of elements. */
#ifndef SP_MESH_QUALITY_H
#define SP_MESH_QUALITY_H

#include "mesh/mesh.h"

/* The smallest scaled Jacobian of all elements: |J| at a corner, divided by the lengths of the
 * columns of J. It is 1 for boxes and near 0 at flat corners. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_mesh_quality(const sp_mesh *mesh, double *quality);

#endif
