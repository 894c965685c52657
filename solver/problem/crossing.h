/* The flux through surfaces between elements, from one Physical Volume to another: q = -kappa du/dn
 * out of the side whose number is lower, integrated over faces, as solver/problem/fluxes.h says. So
 * what flows into a volume through such surfaces and the boundary is what it absorbs, and both
 * sides agree. Groups on both sides of all faces do not count. The side is that of the lower
 * number, unless a line of [boundary] fixes u in it. */
#pragma once

#include "solver/problem/fluxes.h"

/* Decide if a flux over the surfaces members[surface.count] crosses them. False, if they are
 * exterior or a line of [boundary] names them: then it is in the balance. `where` begins messages.
 * Errors: SP_ERR_INPUT for faces of both kinds, and for surfaces between elements that do not have
 * one Physical Volume on one side and another on the other, or on which one volume has the lower
 * number here and the higher there; SP_ERR_SYSTEM. Collective. */
sp_status sp_crossing_check(const char *where, const sp_problem *problem, const sp_mesh *mesh,
                            const bool *members, bool *crosses);

/* *flux = the flux, on all ranks, for the solution of `whole`, the fluxes of all elements, whose
 * scratch is used and whose noise grows; after sp_crossing_check has passed. Errors: those of
 * formulas, SP_ERR_SYSTEM. Collective. */
sp_status sp_crossing_flux(sp_fluxes *whole, const bool *members, double *flux);
