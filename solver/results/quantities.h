/* The quantities of [result]: numbers over the domain, a volume group or a surface group. With v
 * the solution u_h, or a formula of u_h and of x, y and z:
 *
 *     integral of v,   average = integral of v / size,   norm = (integral of v^2)^1/2,
 *     minimum and maximum of u over the elements' polynomials (solver/results/extremum.h), or of a
 *     formula at the nodes, and the place,
 *     flux = integral of -kappa du/dn (solver/results/balance.h, crossing.h),
 *     resistance = (average of u over one group - average over another) / heat. Its size is the
 *     heat of a source or a result, if it names one or both groups are volumes; else the heat out
 *     of the second group or, if only the first is a surface, into the first. Through a surface
 *     between elements heat flows from the higher average to the lower one. The value is NaN if no
 *     heat flows or, without sources, both averages are equal.
 *     formula of probes and earlier results, without a size,
 *     size = integral of 1: a volume or an area
 *
 * with N + 4 Gauss points per direction. */
#pragma once

#include "operators/space.h"
#include "solver/problem/problem.h"
#include "solver/results/balance.h"
#include "solver/results/probe.h"
#include "solver/results/wanted.h"

typedef struct sp_quantity {
  const char *name, *group; /* owned by sp_wanted or the mesh; group is NULL for the domain */
  const sp_result_type *type;
  const sp_expression *formula; /* v as a function of u; NULL: u itself */
  bool on_surface;
  bool crosses;        /* a flux between elements (solver/results/crossing.h) */
  const char *other;   /* of a pair, the second group */
  int parts;           /* of a pair: index of its parts */
  const char *heat_of; /* of a pair: source or result that it is divided by, if not a flux */
  int by_result;       /* that result, or -1 */
  bool *members;       /* [surface.count], else [volume.count]; NULL: all volumes except contacts */
  double value, size;  /* on all ranks; value is NaN if v is not finite at a point */
  double place[3]; /* the place of the minimum or maximum, or of a v that is not finite; the lowest
                      rank's if several have one */
} sp_quantity;

typedef struct sp_quantities {
  int count, all;
  /* [all]: `count` results in the order of the case; the minimum and maximum of u; from `materials`
   * on, minimum, average and maximum of each of material_count materials (0 if there is only one);
   * the parts of resistances. */
  sp_quantity *list;
  int materials, material_count;
  /* [volume.count]: whose rows have its elements, in [0, material_count). */
  int *material_of_volume;
  double tolerance; /* the solver's */
} sp_quantities;

/* True if the face f of an element, or the element, belongs to the quantity. Local. */
static inline bool sp_quantity_has_face(const sp_quantity *q, const sp_hexes *hexes, sp_lid e,
                                        int f) {
  const int surface = sp_surface_of(hexes->surfaces[e][f]);
  return q->on_surface && surface >= 0 && q->members[surface];
}
static inline bool sp_quantity_has_element(const sp_quantity *q, const sp_hexes *hexes, sp_lid e) {
  return !q->on_surface &&
         (q->members ? q->members[hexes->volumes[e]] : !sp_hexes_is_contact(hexes, e));
}

/* True if the two averages of a resistance differ by more than rounding. Local. */
bool sp_quantities_differ(const sp_quantities *quantities, const sp_quantity *resistance);

/* The unit of its value; of a formula it is not known. Local. */
sp_dimension sp_quantity_dimension(const sp_quantity *q);

/* Check that the groups of [result] exist, before anything is refined. Errors: SP_ERR_INPUT with
 * the line: groups that the mesh does not have (its groups are listed) or that may be a surface or
 * a volume; a flux through a volume; a resistance without a boundary group. Local; the same on all
 * ranks. */
sp_status sp_quantities_check(const sp_wanted *wanted, const sp_mesh *mesh);

/* Find the groups, after sp_quantities_check has passed. `tolerance` is the solver's. The input
 * must outlive *out, which the caller destroys. Errors: SP_ERR_INPUT for groups without elements or
 * faces, and for fluxes through periodic faces; as sp_crossing_check. Collective. */
sp_status sp_quantities_create(const sp_wanted *wanted, const sp_mesh *mesh,
                               const sp_problem *problem, double tolerance, sp_quantities **out);

/* NULL-safe; sets *quantities to NULL. Local. */
void sp_quantities_destroy(sp_quantities **quantities);

/* The heat that an evaluated result of a pair is divided by, "out of lid", in text[size], which is
 * returned; "" for others. Local. */
const char *sp_quantities_heat(const sp_quantities *quantities, const sp_quantity *q, size_t size,
                               char *text);

/* The value of a formula of results, with scope->values[] set: first the probes', then the
 * results'. Local. */
double sp_quantities_formula(const sp_expression *formula);

/* Fill value, size and place for the host L-vector x and its balance, which may be empty if no
 * result is a flux; the noise of its fluxes grows. The values of `scope` are set to the evaluated
 * probes and results. Errors: SP_ERR_SYSTEM; no error for formulas that are not finite. Collective.
 */
sp_status sp_quantities_evaluate(sp_quantities *quantities, const sp_space *space,
                                 sp_balance *balance, const sp_scope *scope,
                                 const sp_probes *probes, const double *x);

/* Check the result of sp_quantities_evaluate. Errors: SP_ERR_INPUT with the line, and a point, for
 * the first formula that is not finite; not for a formula of results if one of them is not finite.
 * Local; the same on all ranks. */
sp_status sp_quantities_check_finite(const sp_quantities *quantities);
