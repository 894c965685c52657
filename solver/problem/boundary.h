/* The groups that lines of [boundary] name, and the periodic pairs and contacts among them. */
#pragma once

#include "mesh/mesh.h"
#include "solver/problem/statement.h"

/* True if `name` means volumes: no surface group has this name or number, but a volume group has.
 * Local. */
bool sp_boundary_is_volume(const char *name, const sp_hexes *hexes);

/* Check that `name`, in the line `entry`, means a boundary group of the mesh, or volumes that the
 * line fixes. Errors: as sp_groups_check; SP_ERR_INPUT for volumes with another condition than
 * dirichlet. Local. */
sp_status sp_boundary_check_group(const sp_boundary_entry *entry, const char *name,
                                  const sp_hexes *hexes);

/* Refuse conditions without a meaning between elements on groups that have such faces; in a box
 * they apply to the exterior faces of a group, if it has any. Errors: SP_ERR_INPUT with the line.
 * Local.
 */
sp_status sp_boundary_check(const sp_statement *statement, const sp_mesh *mesh);

/* Identify the periodic groups of the case, after sp_boundary_check. Errors: SP_ERR_INPUT with the
 * line: unknown groups, a group paired with itself, a name that several groups have, and the errors
 * of sp_mesh_identify. After an error the mesh can only be destroyed. Collective over the mesh's
 * communicator. */
sp_status sp_boundary_identify(const sp_statement *statement, sp_mesh *mesh);

/* Insert the elements of the contacts of a case (mesh/interlayer.h); nothing without contacts.
 * Errors: SP_ERR_INPUT with the line, for groups that the mesh does not have, surfaces of two
 * contacts; as sp_interlayer_insert. Collective over `comm`. */
sp_status sp_boundary_insert_contacts(MPI_Comm comm, const sp_statement *statement,
                                      sp_hexes *hexes);
