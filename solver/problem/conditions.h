/* The kinds of boundary conditions, a row each. Flux conditions have the form
 *
 *     kappa du/dn = g - alpha u,    neumann alpha = 0,  source alpha = 0 and g = total / area
 *
 * The load, the diagonal of the operator, fluxes and the balance evaluate alpha and g and do not
 * test the kind of a condition. The other conditions change the space: dirichlet fixes u
 * (dirichlet.h), periodic joins two groups, contact inserts elements (both boundary.h). A new flux
 * condition is a row, with its `terms` in a file of its own or in conditions.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "io/error.h"

struct sp_boundary_entry;
struct sp_boundary_part;
struct sp_material;

/* Besides exterior faces of a group: faces between elements, volumes, the default. */
enum { SP_ON_INNER = 1, SP_ON_VOLUMES = 2, SP_ON_DEFAULT = 4 };
enum { SP_CONDITION_COEFFICIENTS = 2 };
enum { SP_CONDITIONS_SIZE = 128 }; /* of a list of their names */

typedef struct sp_condition_type {
  const char *name;
  const char *usage, *meaning; /* "robin ALPHA[, G]", "kappa du/dn + ALPHA u = G" */
  unsigned places;
  bool fixes_u; /* u = g */
  bool joins;   /* the two groups of a line are one surface */
  bool inserts; /* the line has elements of no thickness in the mesh, and a material */
  /* A line has all coefficients, which do not depend on t, then the data, which may, and which
   * follow from a solution if they are left out. Names for messages; NULL: none. */
  const char *coefficients[SP_CONDITION_COEFFICIENTS];
  const char *data;
  bool no_solution; /* data that are left out are 0, and do not follow from a solution */
  bool of_u;        /* alpha and g depend on u */
  bool takes_u;     /* they do if its formulas do */
  bool in_kelvin;   /* coefficients[1] is a temperature: in kelvin, or less an offset, the data */
  bool has_alpha;   /* alpha is not 0; then GLL quadrature at the nodes, else the operator's */
  bool by_area;     /* coefficients[0] is a total; terms use the area of the line's faces */
  /* Check the formulas of a line; NULL: nothing to check. Errors: SP_ERR_INPUT. Local. */
  sp_status (*check)(const struct sp_boundary_entry *);
  /* Fill alpha[n] and g[n], each unless NULL, near the solution u[n]; NULL: none is known. g
   * without data is left as it is. NULL: no flux condition. Errors: SP_ERR_INPUT with a point.
   * Local. */
  sp_status (*terms)(const struct sp_boundary_part *, size_t n, const double *xyz[3],
                     const double *u, double *alpha, double *g);
} sp_condition_type;

/* True if it is a part of the mesh, and so no condition of exterior faces. Local. */
static inline bool sp_condition_is_of_mesh(const sp_condition_type *type) {
  return type->joins || type->inserts;
}

/* Ends with a row without a name. */
extern const sp_condition_type sp_condition_types[];

/* Find a kind that is allowed at a place, 0 for any; NULL if there is none. Local. */
const sp_condition_type *sp_condition_find(const char *name, size_t length, unsigned place);

/* Write the names of the kinds at a place: "dirichlet, neumann or robin". Local. */
void sp_condition_list(unsigned place, size_t size, char *text);

/* Points of a face of an element, at most (SP_MAX_NQ + 1)^2. */
typedef struct sp_face_points {
  const struct sp_material *material; /* of the element, for data that follow from the solution */
  size_t n;
  const double **xyz;   /* [3], each [n] */
  const double *normal; /* [3][n], times the surface element */
} sp_face_points;

/* Fill alpha[n] and g[n] times the surface element at points of a face, each unless NULL, near the
 * solution u[n] (terms). Data that are
 * left out follow from the solution: g = kappa du/dn + alpha u. Errors: as terms. Local. */
sp_status sp_condition_evaluate(const struct sp_boundary_part *part, const sp_face_points *face,
                                const double *u, double *alpha, double *g);
