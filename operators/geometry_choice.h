/* The choice between stored and trilinear geometry, from facts known before the set-up. */
#pragma once

#include "io/error.h"
#include "operators/backend.h"
#include "operators/kinds.h"

typedef struct sp_geometry_facts {
  sp_operator_kind kind;
  int order;     /* N of the operator */
  int map_order; /* of the elements (mesh/hexes.h); 1: eight nodes, trilinear */
  bool affine;   /* true if all elements are parallelepipeds */
  /* coefficients: kappa is not 1, or lambda is not one constant (operators/factors.h); by_element:
   * both are constant in each element. */
  bool coefficients, by_element;
} sp_geometry_facts;

/* Return the facts of a setup. Local. */
sp_geometry_facts sp_geometry_facts_of(const sp_operator_setup *setup);

/* Choose the geometry: the requested one or, for SP_GEOMETRY_AUTO, the faster one on this backend
 * that is exact. *reason is a constant string for the user ("curved elements", ...). Errors:
 * SP_ERR_INPUT for trilinear geometry of curved elements or with coefficients that vary inside
 * elements. Local. */
sp_status sp_geometry_choose(const sp_backend *backend, const sp_geometry_facts *facts,
                             sp_geometry_kind request, sp_geometry_kind *out, const char **reason);
