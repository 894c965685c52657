/* The contacts of [boundary] in a mesh file. */
#ifndef SP_SOLVER_PROBLEM_CONTACT_LAYERS_H
#define SP_SOLVER_PROBLEM_CONTACT_LAYERS_H

#include "mesh/hexes.h"
#include "solver/case/config.h"

/* Insert the elements of the contacts of a case (mesh/interlayer.h); nothing without contacts.
 * Errors: SP_ERR_INPUT with the line, for groups that the mesh does not have, surfaces of two
 * contacts, and those of sp_interlayer_insert. Collective over `comm`. */
sp_status sp_contact_layers_insert(MPI_Comm comm, const sp_config *config, sp_hexes *hexes);

#endif
