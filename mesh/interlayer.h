/* Contacts: surfaces between elements across which u jumps. Their vertices are doubled. Each face
 * gets an element of zero thickness between its two elements, in a volume of its own. Its points
 * are the points of the face, its volume and integrals zero. Its factors are
 *
 *     G_tt = w 2 A / T,  all others 0,
 *
 * at points with the area A dr ds and weight w. T is the thickness of its lattice
 * (sp_hexes_file.thickness), used only in factors and refinement. With kappa = T / R, R being the
 * resistance, the operator is the integral of (u_1 - u_2)^2 / R over the surface: u is linear
 * across, at any order. Refinement divides a contact only along the surface.
 *
 * Contacts are the last sp_hexes_file.contacts volumes. Direction t of their elements runs across.
 */
#pragma once

#include "mesh/topology.h"

/* Insert the elements of contacts names[count], as errors call them: contact_of[surface.count] is
 * the contact of a surface, or -1. Elements are appended, each on the rank of an element beside it.
 * Where a contact ends inside a body, the vertex is not doubled: its elements have the same vertex
 * on both sides. Errors: SP_ERR_INPUT with a location, for exterior faces of a contact, and for an
 * element without a doubled vertex; SP_ERR_SYSTEM. Collective over `comm`. */
sp_status sp_interlayer_insert(MPI_Comm comm, sp_hexes *hexes, int count, const char *const *names,
                               const int *contact_of);

/* SP_ERR_INPUT with a location if two elements of contacts meet at an edge whose vertices are not
 * doubled: u would not jump there, inside the contact. Local. */
sp_status sp_interlayer_check(const sp_hexes *hexes, const sp_topology *topology);
