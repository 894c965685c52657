#include "solver/results/resolution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/reference.h"
#include "mesh/tensor.h"

/* [Nq][Nq]: from values at GLL nodes to coefficients of Legendre polynomials: a_m = (m + 1/2) sum
 * of w_g P_m(x_g) u(x_g) over Gauss points. */
static void legendre_matrix(int order, double *matrix) {
  const int nq = order + 1;
  const sp_reference *reference = sp_reference_get(order);
  sp_rule rule;
  double interpolation[SP_MAX_NQ * SP_MAX_NQ];
  sp_rule_gl(nq, &rule);
  sp_interpolation_matrix(nq, reference->gll.nodes, nq, rule.nodes, interpolation);
  memset(matrix, 0, (size_t)(nq * nq) * sizeof *matrix);
  for (int g = 0; g < nq; g++) {
    double last = 0, now = 1;
    for (int m = 0; m < nq; m++) {
      for (int i = 0; i < nq; i++)
        matrix[m * nq + i] += (m + 0.5) * rule.weights[g] * now * interpolation[g * nq + i];
      const double next = ((2 * m + 1) * rule.nodes[g] * now - m * last) / (m + 1);
      last = now;
      now = next;
    }
  }
}

static double indicate_error(int order, const double *a) {
  const int nq = order + 1;
  double shells[SP_MAX_NQ] = {0};
  for (int k = 0; k < nq; k++)
    for (int j = 0; j < nq; j++)
      for (int i = 0; i < nq; i++, a++) {
        const int m = i > j ? (i > k ? i : k) : (j > k ? j : k);
        shells[m] += *a * *a / ((2 * i + 1) * (2 * j + 1) * (2 * k + 1));
      }
  if (order < 3) return sqrt(shells[order] / 15);
  const double last = shells[order] + shells[order - 1];
  const double before = shells[order - 2] + (order > 3 ? shells[order - 3] : 0);
  const double ratio = last < 0.8 * before ? last / before : 0.8;
  const double q = order > 3 ? ratio : ratio * ratio; /* a single shell is one order away */
  return sqrt(last * q / (1 - q));
}

sp_status sp_resolution_indicate(const sp_space *space, const double *x, double *indicator) {
  const int order = space->numbering->order, nq = order + 1;
  const size_t nodes = sp_element_nodes(order);
  double matrix[SP_MAX_NQ * SP_MAX_NQ], *nodal;
  SP_TRY(sp_allocate(2 * nodes, sizeof *nodal, "error indicator", &nodal));
  legendre_matrix(order, matrix);
  for (size_t e = 0; e < (size_t)space->mesh->hexes->count; e++) {
    sp_numbering_gather(space->numbering, (sp_lid)e, x, nodal);
    sp_tensor_apply(nq, nq, matrix, matrix, matrix, nodal, nodal + nodes);
    indicator[e] = indicate_error(order, nodal + nodes);
  }
  free(nodal);
  return SP_OK;
}

sp_resolution sp_resolution_find(const sp_mesh *mesh, const double *indicator, double limit) {
  const sp_hexes *hexes = mesh->hexes;
  sp_resolution out = {0};
  struct {
    double value;
    int rank;
  } worst = {-1, sp_comm_rank(mesh->comm)};
  int group = -1;
  for (sp_lid e = 0; e < hexes->count; e++) {
    out.coarse += indicator[e] > limit;
    if (!(indicator[e] > worst.value)) continue;
    worst.value = indicator[e];
    group = -1;
    for (int g = hexes->volume.group_count; g-- > 0;)
      if (sp_group_has(&hexes->volume.groups[g], hexes->volumes[e])) group = g;
  }
  MPI_Allreduce(MPI_IN_PLACE, &out.coarse, 1, MPI_INT64_T, MPI_SUM, mesh->comm);
  MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC, mesh->comm);
  MPI_Bcast(&group, 1, MPI_INT, worst.rank, mesh->comm);
  out.largest = worst.value;
  if (group >= 0) out.group = hexes->volume.groups[group].name;
  return out;
}
