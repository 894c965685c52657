#include "solver/results/flux.h"

#include <stdlib.h>

#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "mesh/tensor.h"
#include "solver/problem/coefficients.h"

/* The arrays of one element; too large for the stack. */
typedef struct workspace {
  double nodal[SP_MAX_NODES], kappa[SP_MAX_NODES];
  double coordinates[3 * SP_MAX_NODES], inverse[9 * SP_MAX_NODES], jacobian[SP_MAX_NODES];
} workspace;

static sp_status average_element(const sp_problem *problem, const sp_space *space, sp_lid e,
                                 const double *x, workspace *w, double *const flux[3],
                                 double *weights) {
  const sp_material *material = sp_materials_of(&problem->materials, space->mesh->hexes, e);
  const sp_reference *reference = sp_reference_get(space->numbering->order);
  const int nq = reference->order + 1;
  const size_t nodes = sp_grid_points(nq);
  const sp_lid *dofs = sp_numbering_nodes(space->numbering, e);
  const double inside = sp_operator_rows[problem->kind].collocated ? 0 : SP_MATERIAL_INSIDE;
  double at[SP_MAX_NQ];
  for (int i = 0; i < nq; i++) at[i] = (1 - inside) * reference->gll.nodes[i];
  sp_numbering_gather(space->numbering, e, x, w->nodal);
  sp_geometry_inverse(space->mesh->hexes, e, nq, at, w->coordinates, w->inverse, w->jacobian);
  const double *xyz[3] = {w->coordinates, w->coordinates + nodes, w->coordinates + 2 * nodes};
  double *rows[9];
  for (size_t i = 0; i < 9; i++) rows[i] = &w->inverse[i * nodes];
  if (!sp_problem_interpolate_kappa(problem, space, e, nq, (const double *const[]){at, at, at},
                                    w->kappa))
    SP_TRY(sp_material_conduct(material, nodes, xyz, w->kappa, 3, rows));
  for (size_t n = 0; n < nodes; n++) {
    if (!(w->jacobian[n] > 0)) continue; /* on a collapsed edge the other elements give the value */
    weights[dofs[n]] += 1;
    for (size_t a = 0; a < 3; a++) {
      const double slope = sp_tensor_slope(nq, reference->differentiation, w->nodal, n, (int)a);
      for (size_t d = 0; d < 3; d++)
        flux[d][dofs[n]] += w->kappa[n] * w->inverse[(3 * a + d) * nodes + n] * slope;
    }
  }
  return SP_OK;
}

static sp_status average_elements(const sp_problem *problem, const sp_space *space, int material,
                                  const double *x, workspace *w, double *const flux[3],
                                  double *weights) {
  const sp_hexes *hexes = space->mesh->hexes;
  for (sp_lid e = 0; e < hexes->count; e++)
    if (problem->materials.of_volume[hexes->volumes[e]] == material)
      SP_TRY(average_element(problem, space, e, x, w, flux, weights));
  return SP_OK;
}

sp_status sp_flux_of_material(const sp_problem *problem, const sp_space *space, int material,
                              const double *x, double *const flux[3], double *weights) {
  const sp_lid local = space->numbering->local;
  for (sp_lid i = 0; i < local; i++) weights[i] = flux[0][i] = flux[1][i] = flux[2][i] = 0;
  workspace *w;
  sp_status status = sp_allocate(1, sizeof *w, "flux", &w);
  if (!status) status = average_elements(problem, space, material, x, w, flux, weights);
  free(w);
  SP_TRY(sp_agree(space->mesh->comm, status));
  sp_exchange_now(space->exchange, SP_SUM, weights);
  for (int d = 0; d < 3; d++) {
    sp_exchange_now(space->exchange, SP_SUM, flux[d]);
    for (sp_lid i = 0; i < local; i++)
      if (weights[i] > 0) flux[d][i] /= weights[i];
  }
  return SP_OK;
}
