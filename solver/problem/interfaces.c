#include "solver/problem/interfaces.h"

#include <float.h>
#include <math.h>

#include "mesh/geometry.h"
#include "solver/problem/evaluate.h"

enum { FACE_NODES = SP_MAX_NQ * SP_MAX_NQ };

/* L-vectors, over the elements at a node: the least u, the least -u, and the sums over their faces
 * of the outward kappa du/dn times area, and of the area. */
enum { LOW, HIGH, FLUX, AREA, VECTORS };

/* The vectors, and the values on one face; too large for the stack. */
typedef struct workspace {
  double *vectors[VECTORS];
  sp_sample at;
  double u[FACE_NODES], gradient[3][FACE_NODES], kappa[FACE_NODES];
} workspace;

/* Add the sizes on a face and, if it is `examined`, its values to the vectors. */
static sp_status add_jump_face(const sp_problem *problem, const sp_space *space, sp_lid e, int f,
                               bool examined, workspace *w, sp_interface_jumps *jumps) {
  const sp_hexes *hexes = space->mesh->hexes;
  const sp_numbering *numbering = space->numbering;
  const sp_material *material = sp_materials_of(&problem->materials, hexes, e);
  const sp_rule *gll = &sp_reference_get(numbering->order)->gll;
  const sp_lid *dofs = sp_numbering_nodes(numbering, e);
  const bool has_flux = sp_operator_rows[problem->kind].has_stiffness;
  double *const gradient[3] = {w->gradient[0], w->gradient[1], w->gradient[2]};
  int indices[FACE_NODES];
  SP_TRY(sp_geometry_sample(hexes, e, f, gll, &w->at));
  const size_t n = w->at.count;
  const double *xyz[3] = {w->at.xyz, w->at.xyz + n, w->at.xyz + 2 * n};
  SP_TRY(sp_problem_evaluate(material->solution, n, xyz, NULL, w->u, gradient, NULL));
  SP_TRY(sp_material_conduct(material, n, xyz, w->kappa, 1, gradient));
  sp_face_nodes(numbering->order, f, indices);
  for (size_t q = 0; q < n; q++) {
    const sp_lid dof = dofs[indices[q]];
    double flux = 0;
    for (size_t d = 0; d < 3 && has_flux; d++)
      flux += w->kappa[q] * gradient[d][q] * w->at.normal[d * n + q];
    const double area = w->at.weight[q];
    jumps->solution_size = fmax(jumps->solution_size, fabs(w->u[q]));
    jumps->flux_size = fmax(jumps->flux_size, fabs(flux) / area);
    if (!examined) continue;
    w->vectors[LOW][dof] = fmin(w->vectors[LOW][dof], w->u[q]);
    w->vectors[HIGH][dof] = fmin(w->vectors[HIGH][dof], -w->u[q]);
    w->vectors[FLUX][dof] += flux;
    w->vectors[AREA][dof] += area;
  }
  return SP_OK;
}

static sp_status add_jump_faces(const sp_problem *problem, const sp_space *space, workspace *w,
                                sp_interface_jumps *jumps) {
  const sp_hexes *hexes = space->mesh->hexes;
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES && !sp_hexes_is_contact(hexes, e); f++) {
      const int part = sp_problem_face_part(problem, hexes, e, f);
      const bool periodic = part >= 0 && problem->parts[part].type->joins;
      const bool contact = part >= 0 && problem->parts[part].type->inserts;
      const bool inside = !sp_surface_is_exterior(hexes->surfaces[e][f]) && !contact;
      const bool examined = periodic || (inside && problem->materials.count > 1);
      /* Exterior faces are left out: derivatives of u may be infinite there. */
      if (examined || inside) SP_TRY(add_jump_face(problem, space, e, f, examined, w, jumps));
    }
  return SP_OK;
}

static void measure_jumps(const sp_space *space, const workspace *w, sp_interface_jumps *jumps) {
  for (int v = 0; v < VECTORS; v++)
    sp_exchange_now(space->exchange, v < FLUX ? SP_MIN : SP_SUM, w->vectors[v]);
  for (sp_lid i = 0; i < space->numbering->local; i++) {
    if (w->vectors[AREA][i] == 0) continue; /* not on a face between elements */
    jumps->solution = fmax(jumps->solution, -w->vectors[HIGH][i] - w->vectors[LOW][i]);
    jumps->flux = fmax(jumps->flux, 2 * fabs(w->vectors[FLUX][i]) / w->vectors[AREA][i]);
  }
  double all[4] = {jumps->solution, jumps->flux, jumps->solution_size, jumps->flux_size};
  MPI_Allreduce(MPI_IN_PLACE, all, 4, MPI_DOUBLE, MPI_MAX, space->mesh->comm);
  *jumps = (sp_interface_jumps){all[0], all[1], all[2], all[3], jumps->periodic};
}

sp_status sp_problem_jumps(const sp_problem *problem, const sp_space *space,
                           sp_interface_jumps *out) {
  const size_t dofs = sp_space_dofs(space);
  SP_OWNED workspace *w = NULL;
  SP_OWNED double *vectors = NULL;
  *out = (sp_interface_jumps){0};
  for (int p = 0; p < problem->part_count; p++)
    out->periodic = out->periodic || problem->parts[p].type->joins;
  if ((problem->materials.count == 1 && !out->periodic) ||
      !sp_materials_have_solution(&problem->materials) || problem->materials.are_of_u)
    return SP_OK;
  sp_status status = SP_ALLOCATE("interfaces", SP_ARRAY(w, 1), SP_ARRAY(vectors, VECTORS * dofs));
  for (size_t v = 0; v < VECTORS && !status; v++) w->vectors[v] = vectors + v * dofs;
  for (size_t i = 0; i < dofs && !status; i++) w->vectors[LOW][i] = w->vectors[HIGH][i] = DBL_MAX;
  if (!status) status = add_jump_faces(problem, space, w, out);
  SP_TRY(sp_agree(space->mesh->comm, status));
  measure_jumps(space, w, out);
  return SP_OK;
}
