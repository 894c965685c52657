#include "solver/problem/contacts.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "io/rendezvous.h"
#include "mesh/entity.h"

/* Coordinates are counted from `origin` in units of `unit`. */
typedef struct grid {
  double origin[3], unit;
} grid;

static void find_grid(const sp_problem *problem, const sp_mesh *mesh, grid *g) {
  /* An arbitrary unit, so that coordinates of regular meshes do not lie at rounding boundaries. */
  static const double UNIT = 0.7390851332151607e-8;
  const size_t points = sp_hexes_lattice_size(mesh->hexes);
  double least[6] = {DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX}; /* of x and -x */
  for (sp_lid n = 0; n < problem->face_count; n++) {
    const double *lattice = sp_hexes_lattice(mesh->hexes, problem->faces[n].element);
    for (size_t i = 0; i < 3 * points; i++) {
      least[i % 3] = fmin(least[i % 3], lattice[i]);
      least[3 + i % 3] = fmin(least[3 + i % 3], -lattice[i]);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, least, 6, MPI_DOUBLE, MPI_MIN, mesh->comm);
  g->unit = 0;
  for (int d = 0; d < 3; d++) {
    g->origin[d] = least[d];
    g->unit = fmax(g->unit, UNIT * (-least[3 + d] - least[d]));
  }
}

/* Hashes of a face's corners that do not depend on their order. */
static sp_row_name name_face(const grid *g, const sp_hexes *hexes, sp_lid e, int f) {
  const double *lattice = sp_hexes_lattice(hexes, e);
  uint64_t parts[2] = {0, 0};
  for (int c = 0; c < SP_CORNERS; c++) {
    if ((c >> f / 2 & 1) != f % 2) continue;
    const double *corner = &lattice[3 * sp_corner_node(hexes->map_order, c)];
    uint64_t hash = 0;
    for (int d = 0; d < 3; d++)
      hash = sp_hash_fold(hash, (uint64_t)floor((corner[d] - g->origin[d]) / g->unit + 0.5));
    parts[0] += hash;
    parts[1] += sp_hash(hash);
  }
  return (sp_row_name){{(int64_t)parts[0], (int64_t)parts[1]}};
}

static bool is_exterior(const sp_hexes *hexes, const sp_outer_face *face) {
  return face->face < SP_FACES &&
         sp_surface_is_exterior(hexes->surfaces[face->element][face->face]);
}

sp_status sp_problem_count_contacts(const sp_problem *problem, const sp_mesh *mesh, sp_gid *pairs) {
  const size_t most = (size_t)problem->face_count;
  const sp_hexes *hexes = mesh->hexes;
  sp_row_name *names;
  int64_t *numbers = NULL, count = 0, different = 0;
  grid g;
  find_grid(problem, mesh, &g);
  sp_status status = SP_ALLOCATE("contacts", SP_ARRAY(names, most), SP_ARRAY(numbers, most));
  status = sp_agree(mesh->comm, status);
  const sp_outer_face *face = problem->faces;
  for (sp_lid n = 0; n < problem->face_count && !status; n++, face++)
    if (is_exterior(hexes, face)) names[count++] = name_face(&g, hexes, face->element, face->face);
  if (!status) status = sp_rendezvous_number(mesh->comm, count, names, numbers);
  for (int64_t n = 0; n < count && !status; n++)
    if (numbers[n] >= different) different = numbers[n] + 1;
  SP_FREE(names, numbers);
  SP_TRY(status);
  MPI_Allreduce(MPI_IN_PLACE, &different, 1, MPI_INT64_T, MPI_MAX, mesh->comm);
  MPI_Allreduce(&count, pairs, 1, SP_MPI_GID, MPI_SUM, mesh->comm);
  *pairs -= different;
  return SP_OK;
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
