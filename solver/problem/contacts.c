#include "solver/problem/contacts.h"

#include <string.h>

#include "mesh/entity.h"

static bool is_exterior(const sp_hexes *hexes, const sp_outer_face *face) {
  return face->face < SP_FACES &&
         sp_surface_is_exterior(hexes->surfaces[face->element][face->face]);
}

void sp_problem_count_pinched(const sp_problem *problem, const sp_space *space, double *scratch,
                              sp_gid *edges) {
  const sp_numbering *numbering = space->numbering;
  const int order = numbering->order, nq = order + 1;
  const sp_lid first = numbering->class_start[SP_EDGE_DOFS];
  const sp_lid last = numbering->class_start[SP_VERTEX_DOFS];
  int nodes[SP_MAX_NQ * SP_MAX_NQ];
  memset(&scratch[first], 0, (size_t)(last - first) * sizeof *scratch);
  memset(&scratch[numbering->owned], 0,
         (size_t)(numbering->local - numbering->owned) * sizeof *scratch);
  const sp_outer_face *face = problem->faces;
  for (sp_lid n = 0; n < problem->face_count; n++, face++) {
    const sp_lid *dofs = sp_numbering_nodes(numbering, face->element);
    if (!is_exterior(space->mesh->hexes, face) || sp_outer_face_has(face, SP_DIRICHLET) ||
        sp_outer_face_has(face, SP_PERIODIC))
      continue;
    sp_face_nodes(order, face->face, nodes);
    for (int i = 1; i < order; i++) {
      const int at[4] = {i, order * nq + i, i * nq, i * nq + order};
      for (int side = 0; side < 4; side++) scratch[dofs[nodes[at[side]]]] += 1;
    }
  }
  sp_exchange_now(space->exchange, SP_SUM, scratch);
  *edges = 0;
  for (sp_lid i = first; i < last; i++) *edges += scratch[i] > 3;
  MPI_Allreduce(MPI_IN_PLACE, edges, 1, SP_MPI_GID, MPI_SUM, space->mesh->comm);
  if (order > 1) *edges /= order - 1;
}
