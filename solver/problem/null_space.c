#include "solver/problem/null_space.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "mesh/components.h"
#include "mesh/reference.h"
#include "solver/problem/errors.h"

static const double BALANCE = 1e-10;

bool sp_null_space_is_exact(const sp_coefficients *coefficients, const sp_robin *robin) {
  return coefficients->largest_lambda == 0 && !robin->anywhere;
}

/* 1, or with `signs` a pseudorandom 1 or -1, the same on all ranks that hold a DOF. */
static void fill_vector(const sp_numbering *numbering, bool signs, double *host) {
  for (sp_lid i = 0; i < numbering->local; i++) {
    const uint64_t draw = sp_hash((uint64_t)sp_numbering_global(numbering, i));
    host[i] = signs && (draw >> 63) ? -1 : 1;
  }
}

/* host = A host. */
static sp_status apply(sp_operator *op, double *x, double *y, double *host) {
  const size_t dofs = (size_t)op->dofs;
  SP_TRY(sp_agree(op->comm, op->backend->upload(op->device, SP_DOUBLE, dofs, host, x)));
  SP_TRY(sp_agree(op->comm, sp_operator_apply(op, false, x, y)));
  return sp_agree(op->comm, op->backend->download(op->device, SP_DOUBLE, dofs, y, host));
}

/* Sum `width` values per component over ranks. If one rank has failed, all fail. */
static sp_status sum_over_ranks(const sp_null_space *null_space, const sp_space *space, int width,
                                double *sums, sp_status status) {
  double none[3] = {0};
  for (int c = 0; c < null_space->components; c++)
    SP_TRY(sp_reduction_sum(space->platform->reduction, width, status ? none : &sums[c * width],
                            status));
  return SP_OK;
}

/* Per component: the sum of A 1, and the sum of the squares of A v for random signs v. */
static sp_status sum_entries(const sp_null_space *null_space, sp_operator *op, double *x, double *y,
                             double *host, double (*sums)[2]) {
  for (int signs = 0; signs < 2; signs++) {
    fill_vector(op->space->numbering, signs, host);
    SP_TRY(apply(op, x, y, host));
    for (sp_lid i = 0; i < op->owned; i++)
      if (null_space->of_dof[i] >= 0)
        sums[null_space->of_dof[i]][signs] += signs ? host[i] * host[i] : host[i];
  }
  SP_TRY(sum_over_ranks(null_space, op->space, 2, sums[0], SP_OK));
  memset(host, 0, (size_t)op->dofs * sizeof *host);
  return sp_agree(op->comm, op->backend->upload(op->device, SP_DOUBLE, (size_t)op->dofs, host, x));
}

sp_status sp_null_space_weigh(sp_null_space *null_space, sp_operator *op, double *x, double *y,
                              double *host) {
  double(*sums)[2];
  const size_t components = (size_t)null_space->components;
  sp_status status = sp_allocate(components, sizeof *sums, "component sums", &sums);
  if (!status)
    status =
        sp_allocate(components, sizeof *null_space->weight, "component sums", &null_space->weight);
  status = sp_agree(op->comm, status);
  if (!status) status = sum_entries(null_space, op, x, y, host, sums);
  for (size_t c = 0; c < components && !status; c++) {
    const double error = DBL_EPSILON * sqrt(sums[c][1]);
    null_space->weight[c] = sums[c][0];
    if (!(sums[c][0] > 10 * error))
      status = sp_fail(
          SP_ERR_INPUT,
          "without a Dirichlet boundary lambda and alpha determine the mean of the solution, "
          "but they are too small for that%s: the sum of the operator's entries is %.3g, and "
          "rounding makes that uncertain by %.3g; make them zero, or larger",
          null_space->of_parts ? " on one of the mesh's connected parts" : "", sums[c][0], error);
    else
      null_space->magnification = fmax(null_space->magnification, sqrt(sums[c][1]) / sums[c][0]);
  }
  free(sums);
  return status;
}

sp_status sp_null_space_correct_means(const sp_null_space *null_space, const sp_space *space,
                                      const double *r, double *x) {
  const sp_numbering *numbering = space->numbering;
  double *sums;
  sp_status status =
      sp_allocate((size_t)null_space->components, sizeof *sums, "component sums", &sums);
  for (sp_lid i = 0; i < numbering->owned && !status; i++)
    if (null_space->of_dof[i] >= 0) sums[null_space->of_dof[i]] += r[i];
  status = sum_over_ranks(null_space, space, 1, sums, status);
  for (sp_lid i = 0; i < numbering->local && !status; i++)
    if (null_space->of_dof[i] >= 0)
      x[i] += sums[null_space->of_dof[i]] / null_space->weight[null_space->of_dof[i]];
  free(sums);
  return status;
}

/* Number the components without Dirichlet DOFs, and give each DOF that of its elements. */
static sp_status number_dofs(const sp_mesh *mesh, const sp_numbering *numbering,
                             const bool *constrained, const sp_components *components,
                             sp_null_space *null_space) {
  const size_t nodes = sp_element_nodes(numbering->order), elements = (size_t)mesh->hexes->count;
  bool *determined;
  int *number = NULL;
  sp_status status =
      sp_allocate((size_t)components->count, sizeof *determined, "components", &determined);
  if (!status)
    status = sp_allocate((size_t)components->count, sizeof *number, "components", &number);
  status = sp_agree(mesh->comm, status);
  if (!status) {
    for (size_t e = 0; e < elements; e++) {
      bool *here = &determined[components->of_element[e]];
      for (size_t n = 0; n < nodes && !*here; n++)
        *here = constrained[numbering->nodes[e * nodes + n]];
    }
    MPI_Allreduce(MPI_IN_PLACE, determined, components->count, MPI_C_BOOL, MPI_LOR, mesh->comm);
    for (int c = 0; c < components->count; c++)
      number[c] = determined[c] ? -1 : null_space->components++;
    null_space->of_parts = components->count > 1;
    for (size_t e = 0; e < elements && null_space->components > 0; e++)
      for (size_t n = 0; n < nodes; n++)
        null_space->of_dof[numbering->nodes[e * nodes + n]] = number[components->of_element[e]];
  }
  free(determined);
  free(number);
  return status;
}

sp_status sp_null_space_create(const sp_space *space, const bool *constrained,
                               sp_null_space **out) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  sp_null_space *null_space = NULL;
  sp_components *components = NULL;
  *out = NULL;
  sp_status status = sp_allocate(1, sizeof *null_space, "null space", &null_space);
  if (!status)
    status = sp_allocate((size_t)numbering->local, sizeof *null_space->of_dof, "components",
                         &null_space->of_dof);
  status = sp_agree(mesh->comm, status);
  if (!status) status = sp_components_create(mesh->comm, mesh->topology, &components);
  if (!status) status = number_dofs(mesh, numbering, constrained, components, null_space);
  sp_components_destroy(&components);
  if (status || null_space->components == 0)
    sp_null_space_destroy(&null_space);
  else
    *out = null_space;
  return status;
}

double sp_null_space_predicted_bytes(double dofs) {
  const sp_null_space *n = NULL;
  return sizeof *n + dofs * sizeof *n->of_dof;
}

void sp_null_space_destroy(sp_null_space **null_space) {
  if (!*null_space) return;
  free((*null_space)->of_dof);
  free((*null_space)->weight);
  free(*null_space);
  *null_space = NULL;
}

static sp_status unbalanced(const sp_null_space *null_space, double sum, double ratio) {
  return sp_fail(SP_ERR_INPUT,
                 "the right-hand side of this pure Neumann problem is not compatible: forcing "
                 "and fluxes%s add up to %.6g, which is %.3g of their total; it must vanish to "
                 "%.0e, or set problem.lambda > 0 or a Dirichlet boundary there",
                 null_space->of_parts ? " on one of the mesh's connected parts" : "", sum, ratio,
                 BALANCE);
}

sp_status sp_null_space_project(const sp_null_space *null_space, const sp_space *space,
                                bool must_balance, double *b, double *imbalance) {
  const sp_numbering *numbering = space->numbering;
  double(*sums)[3]; /* of b, of |b|, of 1 */
  const size_t components = (size_t)null_space->components;
  *imbalance = 0;
  sp_status status = sp_allocate(components, sizeof *sums, "component sums", &sums);
  for (sp_lid i = 0; i < numbering->owned && !status; i++) {
    if (null_space->of_dof[i] < 0) continue;
    double *sum = sums[null_space->of_dof[i]];
    sum[0] += b[i];
    sum[1] += fabs(b[i]);
    sum[2] += 1;
  }
  status = sum_over_ranks(null_space, space, 3, sums ? sums[0] : NULL, status);
  for (size_t c = 0; c < components && !status; c++) {
    const double ratio = sums[c][1] > 0 ? fabs(sums[c][0]) / sums[c][1] : 0;
    if (must_balance && ratio > BALANCE) status = unbalanced(null_space, sums[c][0], ratio);
    *imbalance = fmax(*imbalance, ratio);
  }
  for (sp_lid i = 0; i < numbering->local && !status; i++) {
    if (null_space->of_dof[i] < 0) continue;
    const double *sum = sums[null_space->of_dof[i]];
    b[i] -= sum[0] / sum[2];
  }
  free(sums);
  return status;
}

sp_status sp_null_space_match_means(const sp_null_space *null_space, const sp_problem *problem,
                                    const sp_space *space, double *x) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  const size_t nodes = sp_element_nodes(numbering->order), elements = (size_t)mesh->hexes->count;
  double(*sums)[2] = NULL, (*integrals)[2] = NULL; /* of u_h - u and of 1: components, elements */
  sp_status status =
      sp_allocate((size_t)null_space->components, sizeof *sums, "component means", &sums);
  if (!status) status = sp_allocate(elements, sizeof *integrals, "element means", &integrals);
  if (!status) status = sp_errors_integrate(problem, space, x, integrals);
  status = sp_agree(mesh->comm, status);
  if (!status)
    for (size_t e = 0; e < elements; e++) {
      const int component = null_space->of_dof[numbering->nodes[e * nodes]];
      for (int i = 0; i < 2 && component >= 0; i++) sums[component][i] += integrals[e][i];
    }
  if (!status) status = sum_over_ranks(null_space, space, 2, sums[0], SP_OK);
  for (sp_lid i = 0; i < numbering->local && !status; i++) {
    if (null_space->of_dof[i] < 0) continue;
    const double *sum = sums[null_space->of_dof[i]];
    x[i] -= sum[0] / sum[1];
  }
  free(sums);
  free(integrals);
  return status;
}
