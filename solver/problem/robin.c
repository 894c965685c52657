#include "solver/problem/robin.h"

#include "mesh/geometry.h"
#include "operators/system.h"

enum { FACE_NODES = SP_MAX_NQ * SP_MAX_NQ };

sp_status sp_robin_face(const sp_boundary_part *part, const sp_hexes *hexes, int order,
                        sp_lid element, int f, int *indices, double *values) {
  const sp_rule *gll = &sp_reference_get(order)->gll;
  const int n = gll->n * gll->n;
  double coordinates[3 * FACE_NODES], normal[3 * FACE_NODES];
  sp_geometry_face(hexes, element, f, gll, coordinates, normal);
  const double *xyz[3] = {coordinates, coordinates + n, coordinates + 2 * n};
  sp_face_nodes(order, f, indices);
  double u[FACE_NODES];
  const double *last = sp_boundary_last(part, order, element, f, u);
  const sp_face_points face = {.n = (size_t)n, .xyz = xyz, .normal = normal};
  return sp_condition_evaluate(part, &face, last, values, NULL);
}

sp_status sp_robin_flux(const sp_boundary_part *part, const sp_space *space, sp_lid element, int f,
                        const double *x, double *flux) {
  const int order = space->numbering->order;
  const sp_lid *nodes = sp_numbering_nodes(space->numbering, element);
  double values[FACE_NODES];
  int indices[FACE_NODES];
  SP_TRY(sp_robin_face(part, space->mesh->hexes, order, element, f, indices, values));
  for (int q = 0; q < (order + 1) * (order + 1); q++) *flux += values[q] * x[nodes[indices[q]]];
  return SP_OK;
}

static sp_status add_robin_faces(const sp_problem *problem, const sp_space *space, int finest,
                                 double *diagonal) {
  const int nq = space->numbering->order + 1, n = finest + 1;
  const sp_outer_face *face = problem->faces;
  double values[FACE_NODES];
  int indices[FACE_NODES];
  SP_OWNED double *shares = NULL;
  SP_TRY(sp_allocate(FACE_NODES, sizeof *shares, "Robin", &shares));
  sp_average_matrix(&sp_reference_get(nq - 1)->gll, &sp_reference_get(finest)->gll, shares);
  for (; face < problem->faces + problem->face_count; face++) {
    if (!sp_outer_face_type(face)->has_alpha) continue;
    const sp_lid *nodes = sp_numbering_nodes(space->numbering, face->element);
    SP_TRY(sp_robin_face(face->part, space->mesh->hexes, finest, face->element, face->face, indices,
                         values));
    sp_face_nodes(nq - 1, face->face, indices);
    for (int q = 0; q < nq * nq; q++)
      for (int p = 0; p < n * n; p++)
        diagonal[nodes[indices[q]]] +=
            shares[p % n * nq + q % nq] * shares[p / n * nq + q / nq] * values[p];
  }
  return SP_OK;
}

sp_status sp_problem_robin(const sp_problem *problem, int finest, sp_operator_setup *setup) {
  const sp_space *space = setup->space;
  if (!problem->has_robin) return SP_OK;
  SP_OWNED double *diagonal = NULL;
  sp_status status = sp_allocate(sp_space_dofs(space), sizeof *diagonal, "Robin", &diagonal);
  if (!status) status = add_robin_faces(problem, space, finest, diagonal);
  sp_lid *dofs = NULL;
  double *values = NULL;
  if (!status)
    status = sp_system_list_diagonal(sp_space_dofs(space), diagonal, &setup->diagonal_count, &dofs,
                                     &values);
  setup->diagonal_dofs = dofs;
  setup->diagonal_values = values;
  return sp_agree(space->mesh->comm, status);
}
