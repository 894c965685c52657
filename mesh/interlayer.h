/* Contacts: surfaces between elements across which u jumps. Their vertices are doubled, and between
 * the two elements of each face stands one of a volume of its own, which has no thickness: its
 * points, volume and integrals are those of the face. Only its factors are not zero:
 *
 *     G_tt = w 2 A / T,  all others 0,
 *
 * at points with the area A dr ds and weight w. T is the thickness of its lattice, which only
 * factors and refinement see: sp_hexes_file.thickness. With kappa = T / R, R being the resistance,
 * the operator is the integral of (u_1 - u_2)^2 / R over the surface: u is linear across, at any
 * order. Refinement divides a contact along the surface only.
 *
 * Contacts are the last sp_hexes_file.contacts volumes. Direction t of their elements runs across.
 */
#pragma once

#include "mesh/topology.h"

/* Insert the elements of contacts names[count], as errors call them: contact_of[surface.count] is
 * the contact that a surface is, or -1. Elements are appended, each on the rank of an element
 * beside it. A vertex whose elements meet around the contacts stays whole, so that a contact may
 * end inside a body: its elements there have the same vertices on both sides (mesh/entities.h).
 * Errors: SP_ERR_INPUT with a place, for faces of a contact that are exterior, and for an element
 * whose four vertices stay whole; SP_ERR_SYSTEM. Collective over `comm`. */
sp_status sp_interlayer_insert(MPI_Comm comm, sp_hexes *hexes, int count, const char *const *names,
                               const int *contact_of);

/* SP_ERR_INPUT with a place if two elements of contacts meet at an edge with whole vertices: both
 * sides would have one u there, inside of the contact. Local. */
sp_status sp_interlayer_check(const sp_hexes *hexes, const sp_topology *topology);

/* *branches = true if contacts branch or cross: at some edge two of their elements e that have
 * kappa[e * stride] > least meet without a common face there. Errors: SP_ERR_SYSTEM. Collective
 * over `comm`. */
sp_status sp_interlayer_find_branches(MPI_Comm comm, const sp_hexes *hexes,
                                      const sp_topology *topology, const double *kappa,
                                      size_t stride, double least, bool *branches);
