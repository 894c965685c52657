#include "operators/schwarz/junctions.h"

#include "mesh/topology.h"

static bool is_contact(const sp_space *space, sp_lid e) {
  return sp_hexes_is_contact(space->mesh->hexes, e);
}

/* The DOF at k across contact e and i along the edge of its lateral face. */
static sp_lid rim_dof(const sp_space *space, sp_lid e, int face, int i, int k) {
  const int n = space->numbering->order + 1;
  int index[3] = {i, i, k};
  index[face / 2] = face % 2 * (n - 1);
  return sp_numbering_nodes(space->numbering, e)[(index[2] * n + index[1]) * n + index[0]];
}

/* Add the number of lateral faces of contacts at each edge: more than one at junctions. A contact
 * that ends inside a body has no face there. */
static void count_faces(const sp_space *space, sp_lid e, double *marks) {
  const sp_topology *t = space->mesh->topology;
  const int last = space->numbering->order;
  for (int face = 0; face < 4; face++) {
    const double share = sp_topology_is_exterior(t, t->slots[e][SP_FACE_SLOT + face]) ? 1 : 0.5;
    for (int i = 1; i < last; i++) {
      const sp_lid low = rim_dof(space, e, face, i, 0), high = rim_dof(space, e, face, i, last);
      if (low == high) continue;
      marks[low] += share;
      marks[high] += share;
    }
  }
}

/* Mark the lines across contact e that have a marked DOF, and all of a lateral face whose edge is
 * marked. Returns true if there are new ones. */
static bool spread_marks(const sp_space *space, sp_lid e, double *marks) {
  const int n = space->numbering->order + 1;
  bool found = false;
  for (int face = 0; face < 4; face++) {
    const bool whole = marks[rim_dof(space, e, face, 1, 0)] > 0;
    for (int i = 0; i < n; i++) {
      int marked = 0;
      for (int k = 0; k < n; k++) marked += marks[rim_dof(space, e, face, i, k)] > 0;
      if (marked == n || (marked == 0 && !whole)) continue;
      for (int k = 0; k < n; k++) marks[rim_dof(space, e, face, i, k)] = 1;
      found = true;
    }
  }
  return found;
}

/* *marks = NULL without contacts. Collective. */
static sp_status mark_edges(const sp_space *space, double **marks) {
  static const double BETWEEN = 1.25; /* one face and two */
  const size_t dofs = sp_space_dofs(space);
  *marks = NULL;
  if (space->mesh->hexes->file.contacts == 0) return SP_OK;
  SP_TRY(sp_agree(space->platform->comm, sp_allocate(dofs, sizeof **marks, "junctions", marks)));
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++)
    if (is_contact(space, e)) count_faces(space, e, *marks);
  sp_exchange_now(space->exchange, SP_SUM, *marks);
  for (size_t i = 0; i < dofs; i++) (*marks)[i] = (*marks)[i] > BETWEEN;
  return SP_OK;
}

sp_status sp_junctions_exist(const sp_space *space, bool *exist) {
  SP_OWNED double *marks = NULL;
  *exist = false;
  SP_TRY(mark_edges(space, &marks));
  if (!marks) return SP_OK;
  for (sp_lid i = 0; i < space->numbering->owned; i++) *exist = *exist || marks[i] > 0;
  MPI_Allreduce(MPI_IN_PLACE, exist, 1, MPI_C_BOOL, MPI_LOR, space->platform->comm);
  return SP_OK;
}

sp_status sp_junctions_mark(const sp_space *space, double **marks) {
  SP_TRY(mark_edges(space, marks));
  for (bool found = *marks; found;) {
    found = false;
    for (sp_lid e = 0; e < space->mesh->hexes->count; e++)
      if (is_contact(space, e)) found = spread_marks(space, e, *marks) || found;
    MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_C_BOOL, MPI_LOR, space->platform->comm);
    sp_exchange_now(space->exchange, SP_SUM, *marks);
  }
  return SP_OK;
}
