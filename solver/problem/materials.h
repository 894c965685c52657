/* The formulas of capacity du/dt - div(kappa grad u) + lambda u = f by volume groups of the mesh.
 * Every element has one material, whose formulas are evaluated at all points of the element, also
 * on the faces. So a kappa that jumps between two materials has two values on the face between
 * them. The mass problem has no coefficients: kappa = 1 and lambda = 0. */
#pragma once

#include "mesh/mesh.h"
#include "solver/problem/conductivity.h"

typedef enum sp_coefficient { SP_KAPPA, SP_LAMBDA, SP_CAPACITY, SP_COEFFICIENTS } sp_coefficient;

typedef struct sp_material_coefficient {
  const sp_expression *formula; /* owned by the statement; NULL if constant */
  double value;                 /* of a constant */
} sp_material_coefficient;

/* One section [material NAME], completed from [problem]; or [problem] itself. */
typedef struct sp_material {
  const char *name; /* of the group, NULL for [problem]; owned by the statement or the mesh */
  bool is_contact;  /* of a line of [boundary], `name` then; kappa is T / R of mesh/interlayer.h;
                       with a formula of R, the formula is R and the value is T */
  sp_material_coefficient of[SP_COEFFICIENTS];
  double shift; /* sp_materials_shift's */
  /* Formulas are owned by the statement. */
  const sp_conductivity *tensor;           /* in place of kappa; NULL if kappa is a scalar */
  const sp_expression *solution, *forcing; /* NULL if not given */
  const sp_expression *curvature;          /* the solution, for K : grad grad u with the tensor */
  const sp_expression *rate;               /* the solution, for du/dt; NULL if that is 0 */
  const sp_expression *reaction;           /* the forcing, for its derivative by u, or NULL */
  const sp_formula *source; /* in place of a forcing; NULL if not given: the integral of f over all
                               elements with this source */
  sp_expression *density;   /* the forcing that it gives, and 0 of a contact; owned, else NULL */
  sp_gid elements;          /* over all ranks; 0 for a contact */
} sp_material;

typedef struct sp_materials {
  int count;
  sp_material *list; /* [count]; the last one, [material default] or [problem], has the elements of
                        all volumes that no section names */
  int *of_volume;    /* [volume.count], index into list */
  /* Properties of contacts and of materials with elements, by sp_materials_count. */
  bool have_kappa;      /* kappa is not 1 everywhere: the operator needs an array of it */
  bool have_tensor;     /* kappa is a tensor somewhere */
  bool have_reaction;   /* a forcing depends on u */
  bool are_of_u;        /* a coefficient depends on u */
  bool capacity_varies; /* it is not constant in each material */
} sp_materials;

/* Give each volume of `hexes` its material. `statement` must outlive *out, which sp_materials_free
 * releases, also after a failure. Errors: SP_ERR_INPUT for groups that the mesh does not have, and
 * for a volume that two sections name. Local. */
sp_status sp_materials_create(const sp_statement *statement, const sp_hexes *hexes,
                              sp_materials *out);
void sp_materials_free(sp_materials *materials);

/* Count the elements of each material. A source becomes a constant forcing, its total divided by
 * the measure of its elements with the operator's quadrature, so that the load has that total on
 * any mesh. Errors: SP_ERR_INPUT for a section or a source without elements, for elements with
 * neither solution nor forcing, and for a solution in a part of the mesh only. Collective. */
sp_status sp_materials_count(const sp_statement *statement, const sp_mesh *mesh,
                             sp_materials *materials);

/* From now on lambda of the operator is lambda + shift capacity, as in an implicit step of a scheme
 * in time; 0: none. Local. */
void sp_materials_shift(sp_materials *materials, double shift);

/* The material of an element. Local. */
const sp_material *sp_materials_of(const sp_materials *materials, const sp_hexes *hexes,
                                   sp_lid element);

/* True if the operator needs an array of lambda: it is not one constant. Local. */
bool sp_materials_have_lambda(const sp_materials *materials);

/* True if kappa and lambda are constant in each material, and so in each element, and no element is
 * a contact. Local. */
bool sp_materials_are_constant(const sp_materials *materials);

/* True if a coefficient of a material depends on u: one, or any. Local. */
static inline bool sp_coefficient_is_of_u(const sp_material *material, sp_coefficient which) {
  return material->of[which].formula && material->of[which].formula->is_of_u;
}
bool sp_material_is_of_u(const sp_material *material);

/* Return the constant lambda of all elements if sp_materials_have_lambda is false. Local. */
double sp_materials_lambda(const sp_materials *materials);

/* True if there is an exact solution. Local. */
bool sp_materials_have_solution(const sp_materials *materials);

/* Return the first formula of kappa that is less regular than `least`; NULL if there is none.
 * Local. */
const sp_expression *sp_material_rough_kappa(const sp_material *material, sp_regularity least);

/* Operators with points inside elements see a formula of kappa that jumps between elements from
 * each side. Fluxes at a point on a face take kappa this share of an element inside it. */
#define SP_MATERIAL_INSIDE 1e-10

/* Compute values at the n points (xyz[0][p], xyz[1][p], xyz[2][p]); all arrays are [n] or [6][n].
 * Errors: SP_ERR_INPUT with a point at which kappa is not positive (definite), lambda is negative,
 * or one of them is not finite. Local.
 *
 * conduct makes vectors w of v, such that factor w = kappa v: for a scalar, factor = kappa and w =
 * v stays as it is; for a tensor, factor = 1. Vector i has the components vectors[3 i + d]. */
sp_status sp_material_conduct(const sp_material *material, size_t n, const double *xyz[3],
                              double *factor, int count, double *const vectors[]);

/* kappa as a tensor, k[6][n]: xx, yy, zz, xy, xz, yz. */
sp_status sp_material_tensor(const sp_material *material, size_t n, const double *xyz[3],
                             double *k);

/* value = kappa, which is a scalar; `gradient` may be NULL. */
sp_status sp_material_kappa(const sp_material *material, size_t n, const double *xyz[3],
                            double *value, double *const gradient[3]);

/* value = lambda + shift capacity, with the given shift: 0 for lambda, material->shift for the
 * operator; without lambda only shift capacity. */
sp_status sp_material_shifted(const sp_material *material, double shift, bool with_lambda, size_t n,
                              const double *xyz[3], double *value);
