#include "solver/problem/probe.h"

#include <float.h>
#include <stdlib.h>

#include "mesh/locate.h"
#include "mesh/reference.h"
#include "solver/problem/evaluate.h"

/* Print the bounding box of the mesh, so that the user sees which coordinate or unit is wrong. */
static sp_status outside(const sp_mesh *mesh, const sp_probe_entry *entry) {
  const sp_hexes *hexes = mesh->hexes;
  const size_t points = (size_t)hexes->count * sp_hexes_lattice_size(hexes);
  double low[3] = {DBL_MAX, DBL_MAX, DBL_MAX}, high[3] = {-DBL_MAX, -DBL_MAX, -DBL_MAX};
  for (size_t p = 0; p < 3 * points; p++) {
    const double x = hexes->lattice[p];
    if (x < low[p % 3]) low[p % 3] = x;
    if (x > high[p % 3]) high[p % 3] = x;
  }
  MPI_Allreduce(MPI_IN_PLACE, low, 3, MPI_DOUBLE, MPI_MIN, mesh->comm);
  MPI_Allreduce(MPI_IN_PLACE, high, 3, MPI_DOUBLE, MPI_MAX, mesh->comm);
  return sp_fail(SP_ERR_INPUT,
                 "%s: the point (%.12g, %.12g, %.12g) is outside the mesh, which lies between "
                 "(%.12g, %.12g, %.12g) and (%.12g, %.12g, %.12g)",
                 entry->where, entry->point[0], entry->point[1], entry->point[2], low[0], low[1],
                 low[2], high[0], high[1], high[2]);
}

sp_status sp_probes_create(const sp_config *config, const sp_mesh *mesh, sp_probes **out) {
  const int count = config->probes.count;
  int rank, size, *owners = NULL;
  MPI_Comm_rank(mesh->comm, &rank);
  MPI_Comm_size(mesh->comm, &size);
  *out = NULL;
  sp_probes *probes;
  sp_status status = sp_allocate(1, sizeof *probes, "probes", &probes);
  if (!status) status = sp_allocate((size_t)count, sizeof *probes->list, "probes", &probes->list);
  if (!status) status = sp_allocate((size_t)count, sizeof *owners, "probes", &owners);
  status = sp_agree(mesh->comm, status);
  if (!status) {
    probes->count = count;
    for (int p = 0; p < count; p++) {
      const sp_probe_entry *entry = &config->probes.entries[p];
      sp_probe *probe = &probes->list[p];
      *probe = (sp_probe){.name = entry->name, .point = entry->point};
      probe->element = sp_locate(mesh->hexes, entry->point, probe->reference);
      owners[p] = probe->element >= 0 ? rank : size;
    }
    MPI_Allreduce(MPI_IN_PLACE, owners, count, MPI_INT, MPI_MIN, mesh->comm);
    for (int p = 0; p < count && !status; p++) {
      if (owners[p] == size) status = outside(mesh, &config->probes.entries[p]);
      if (owners[p] != rank) probes->list[p].element = -1;
    }
  }
  free(owners);
  if (status)
    sp_probes_destroy(&probes);
  else
    *out = probes;
  return status;
}

void sp_probes_destroy(sp_probes **probes) {
  if (!*probes) return;
  free((*probes)->list);
  free(*probes);
  *probes = NULL;
}

static double interpolate(const sp_probe *probe, const sp_numbering *numbering, const double *x) {
  const int nq = numbering->order + 1;
  const double *gll = sp_reference_get(numbering->order)->gll.nodes;
  double basis[3][SP_MAX_NQ], sum = 0;
  for (int d = 0; d < 3; d++) sp_interpolation_matrix(nq, gll, 1, &probe->reference[d], basis[d]);
  const sp_lid *node =
      &numbering->nodes[(size_t)probe->element * sp_element_nodes(numbering->order)];
  for (int k = 0; k < nq; k++)
    for (int j = 0; j < nq; j++)
      for (int i = 0; i < nq; i++) sum += basis[0][i] * basis[1][j] * basis[2][k] * x[*node++];
  return sum;
}

sp_status sp_probes_evaluate(sp_probes *probes, const sp_problem *problem, const sp_space *space,
                             const double *x) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  sp_status status = SP_OK;
  for (int p = 0; p < probes->count; p++) {
    sp_probe *probe = &probes->list[p];
    double values[2] = {0, 0}; /* u_h and its error; zero on all other ranks */
    if (probe->element >= 0) {
      const double *point[3] = {&probe->point[0], &probe->point[1], &probe->point[2]};
      double exact = 0;
      values[0] = interpolate(probe, numbering, x);
      const sp_expression *solution =
          sp_materials_of(&problem->materials, mesh->hexes, probe->element)->solution;
      if (solution && !status) status = sp_problem_evaluate(solution, 1, point, &exact, NULL, NULL);
      values[1] = values[0] - exact;
    }
    MPI_Allreduce(MPI_IN_PLACE, values, 2, MPI_DOUBLE, MPI_SUM, mesh->comm);
    probe->value = values[0];
    probe->error = values[1];
  }
  return sp_agree(mesh->comm, status);
}
