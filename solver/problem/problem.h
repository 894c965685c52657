/* The problem that a case states:
 *
 *     -div(kappa grad u) + lambda u = f  in the domain,
 *     u = g_D  or  kappa du/dn = g_N  or  kappa du/dn + alpha u = g_R  on parts of its boundary
 *
 * or, for the mass problem, u = f in the sense of L2 projection. kappa, lambda and f belong to each
 * element's material. f is its forcing, or follows from its solution. Boundary data without a
 * formula also follow from the solution, by exact differentiation. Solution and kappa du/dn are
 * taken to be continuous between materials (solver/problem/interfaces.h measures the jumps). */
#pragma once

#include "mesh/mesh.h"
#include "mesh/numbering.h"
#include "operators/kinds.h"
#include "operators/space.h"
#include "solver/problem/materials.h"
#include "solver/problem/statement.h"

/* The solution that conditions which depend on u are linearized at: an L-vector on the host. */
typedef struct sp_last {
  const double *values; /* borrowed, NULL: none */
  const sp_numbering *numbering;
} sp_last;

/* One line of [boundary], or the default: a condition and its formulas. A periodic line covers both
 * of its groups. The resistance of a contact is in a material. */
typedef struct sp_boundary_part {
  const char *group; /* its name, owned by the statement or the mesh */
  const sp_condition_type *type;
  const sp_expression *coefficients[SP_CONDITION_COEFFICIENTS]; /* owned by the statement */
  const sp_expression *formula; /* data, likewise; NULL: none, or derived from the solution */
  double area; /* if type->by_area, of its faces with the operator's quadrature; a face between
                  elements counts half from each side */
  bool of_u;   /* alpha or g depend on u */
  const sp_last *last; /* the problem's */
} sp_boundary_part;

/* A face of a part, or one of the six and then, as face SP_FACES, the whole of an element that a
 * line fixes. */
typedef struct sp_outer_face {
  sp_lid element;
  int face;
  bool is_fixed;                /* a line fixes the element */
  const sp_boundary_part *part; /* of the face, or that line; NULL: none */
} sp_outer_face;

typedef struct sp_problem {
  sp_operator_kind kind;
  sp_materials materials;
  int part_count;
  sp_boundary_part *parts; /* in the order of the case; the last one is the default */
  int *part_of_surface;    /* [surface.count], index into parts */
  int *part_of_volume;     /* [volume.count], the line that fixes u in all elements, or -1 */
  bool *groups_by_default; /* [group_count]: the default claims some of its exterior faces */
  bool has_dirichlet;      /* a face or a volume has a Dirichlet condition */
  bool has_robin;          /* a face has a condition with alpha */
  bool of_u;               /* a condition, kappa, lambda, capacity or forcing depends on u */
  bool is_picard;          /* Newton's method is not used for all of it, other than conditions */
  sp_last last;            /* for such, by sp_problem_linearize */
  /* Owned: the arrays below, if they depend on u; else NULL. */
  double *arrays_of_u[SP_COEFFICIENTS];
  double *slope_of_u;    /* of forcings of u: s (linearize.h), by which lambda has grown */
  const double *initial; /* u0 of forcings, at the DOFs of the space; borrowed, NULL: none */
  const double *extra;   /* added to the load, likewise (solver/problem/load.h) */
  /* In time du/dt = shift u - history (sp_materials_shift), at the DOFs of the space; borrowed,
   * NULL: 0. */
  const double *history;
  /* In place of the formulas, except of contacts: at the points of the operator's rule, [elements]
   * [points]; borrowed, NULL: none. Not together with an exact solution. */
  const double *arrays[SP_COEFFICIENTS];
  sp_lid face_count;
  sp_outer_face *faces; /* [face_count], of this rank: element by element, face by face */
  sp_lid *first_face;   /* [elements + 1], the first of each element; NULL for the mass problem */
} sp_problem;

/* Give every element a material and every exterior face a condition. `statement` must outlive *out,
 * which the caller destroys. Errors: as sp_materials_create and sp_materials_count; SP_ERR_INPUT
 * for a default without data, for groups that are empty or not in the mesh (its groups are listed),
 * and for faces and volumes that two lines claim. Collective. */
sp_status sp_problem_create(const sp_statement *statement, const sp_mesh *mesh, sp_problem **out);

/* NULL-safe; sets *problem to NULL. Local. */
void sp_problem_destroy(sp_problem **problem);

/* Return the part, in [0, part_count), that face f of an element belongs to; -1 for a face between
 * elements, unless a line names its surface: dirichlet, source or contact. A periodic face
 * belongs to the part of its line. Local. */
int sp_problem_face_part(const sp_problem *problem, const sp_hexes *hexes, sp_lid element,
                         int face);

/* Return u[n n], the last solution at the nodes of face f of an element; NULL if there is none of
 * that order or the part does not depend on u. Local. */
const double *sp_boundary_last(const sp_boundary_part *part, int order, sp_lid element, int f,
                               double *u);

/* Return the kind of condition of a face, or one without any property if it has none or is a whole
 * element. Local. */
static inline const sp_condition_type *sp_outer_face_type(const sp_outer_face *face) {
  static const sp_condition_type none;
  return face->face < SP_FACES && face->part ? face->part->type : &none;
}

/* Return the part that fixes u in an element; -1 if none does. Local. */
int sp_problem_volume_part(const sp_problem *problem, const sp_hexes *hexes, sp_lid element);

/* *edges = the number of edges with four exterior faces or more that are neither Dirichlet nor
 * periodic, over all ranks; 0 at order 1. Parts of the mesh touch there that share its DOFs. The
 * flow through an edge falls only with the logarithm of the element size. scratch[local DOFs].
 * Collective. */
void sp_problem_count_pinched(const sp_problem *problem, const sp_space *space, double *scratch,
                              sp_gid *edges);
