/* The flux through surfaces between elements: q = -kappa du/dn out of one of their sides,
 * integrated over faces, as solver/results/fluxes.h says. So the flow into a volume through such
 * surfaces and the boundary equals its absorption, and both sides agree. The flux leaves
 *
 *     the Physical Volume of the lowest number that has exactly one side of every face. So a
 *     surface around a volume counts out of it, and one between two volumes from the lower number
 *     to the higher;
 *     without such a volume, at each face, the volume of the lower number: the lowest of the
 *     Physical Volumes that have this side of the face and not the other. Elements in no Physical
 *     Volume come after all numbers.
 *
 * It is computed on that side, or on the other one if a line of [boundary] fixes u in the first
 * only. The side across a contact is the volume behind it; unless 1 / R is above the stiffness of
 * the elements beside it (fluxes.h), the contact itself gives its flux. */
#pragma once

#include "solver/results/fluxes.h"

/* Decide if a flux over the surfaces members[surface.count] crosses them. False, if they are
 * exterior or a line of [boundary] names them: then it is in the balance. `where` begins messages.
 * Errors: SP_ERR_INPUT for faces of both kinds, and, with the volumes, if the rule does not give
 * every face one side; SP_ERR_SYSTEM. Collective. */
sp_status sp_crossing_check(const char *where, const sp_problem *problem, const sp_mesh *mesh,
                            const bool *members, bool *crosses);

/* *flux = the flux, on all ranks, for the solution of `whole`, the fluxes of all elements, whose
 * scratch is used and whose noise grows; after sp_crossing_check has passed. Errors: SP_ERR_INPUT
 * of formulas, SP_ERR_SYSTEM. Collective. */
sp_status sp_crossing_flux(sp_fluxes *whole, const bool *members, double *flux);
