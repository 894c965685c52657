#include "solver/null_space.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/errors.h"

static const double BALANCE = 1e-10;

bool sp_null_space_exists(const sp_problem *problem) {
  return problem->kind != SP_MASS && problem->lambda == 0 && !problem->has_dirichlet &&
         !problem->has_robin;
}

/* 1, or with `signs` either of 1 and -1 without a pattern, the same on all holders of a DOF. */
static void fill_vector(const sp_numbering *numbering, bool signs, double *host) {
  for (sp_lid i = 0; i < numbering->local; i++) {
    const uint64_t draw = (uint64_t)sp_numbering_global(numbering, i) * 0x9e3779b97f4a7c15u;
    host[i] = signs && (draw >> 63) ? -1 : 1;
  }
}

/* Sum and sum of squares of A v over all ranks. */
static sp_status apply_to(sp_operator *op, double *x, double *y, double *host, double sums[2]) {
  const size_t dofs = (size_t)op->dofs;
  SP_TRY(sp_agree(op->comm, op->backend->upload(op->device, dofs, host, x)));
  SP_TRY(sp_operator_apply(op, false, x, y));
  SP_TRY(sp_agree(op->comm, op->backend->download(op->device, dofs, y, host)));
  sums[0] = sums[1] = 0;
  for (sp_lid i = 0; i < op->owned; i++) {
    sums[0] += host[i];
    sums[1] += host[i] * host[i];
  }
  return sp_exchange_sum(op->exchange, 2, sums, 0, SP_OK);
}

sp_status sp_null_space_check_resolved(sp_operator *op, const sp_numbering *numbering, double *x,
                                       double *y, double *host) {
  double ones[2], signs[2];
  fill_vector(numbering, false, host);
  SP_TRY(apply_to(op, x, y, host, ones));
  fill_vector(numbering, true, host);
  SP_TRY(apply_to(op, x, y, host, signs));
  memset(host, 0, (size_t)op->dofs * sizeof *host);
  SP_TRY(sp_agree(op->comm, op->backend->upload(op->device, (size_t)op->dofs, host, x)));

  const double error = DBL_EPSILON * sqrt(signs[1]);
  if (ones[0] > 10 * error) return SP_OK;
  return sp_fail(
      SP_ERR_INPUT,
      "without a Dirichlet boundary lambda and alpha determine the mean of the solution, "
      "but they are too small for that: the sum of the operator's entries is %.3g, and "
      "rounding makes that uncertain by %.3g; make them zero, or larger",
      ones[0], error);
}

static size_t nodes_of(const sp_numbering *numbering) {
  const size_t nq = (size_t)numbering->order + 1;
  return nq * nq * nq;
}

static sp_lid find_root(sp_lid *parent, sp_lid i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

/* Join the DOFs of every element; the smallest one is the root. */
static void join_elements(const sp_mesh *mesh, const sp_numbering *numbering, sp_lid *parent) {
  const size_t nodes = nodes_of(numbering);
  for (sp_lid i = 0; i < numbering->local; i++) parent[i] = i;
  for (size_t e = 0; e < (size_t)mesh->hexes->count; e++)
    for (size_t n = 1; n < nodes; n++) {
      const sp_lid a = find_root(parent, numbering->nodes[e * nodes]);
      const sp_lid b = find_root(parent, numbering->nodes[e * nodes + n]);
      parent[a > b ? a : b] = a > b ? b : a;
    }
  for (sp_lid i = 0; i < numbering->local; i++) parent[i] = find_root(parent, i);
}

/* Spread the smallest global number through each component, across ranks until nothing changes. A
 * global number is exact as a double below 2^53. */
static void spread_labels(MPI_Comm comm, const sp_numbering *numbering, const sp_lid *root,
                          sp_exchange *exchange, double *label) {
  for (sp_lid i = 0; i < numbering->local; i++)
    label[i] = (double)sp_numbering_global(numbering, i);
  for (int changed = 1; changed;) {
    changed = 0;
    for (sp_lid i = 0; i < numbering->local; i++)
      if (label[i] < label[root[i]]) label[root[i]] = label[i];
    for (sp_lid i = 0; i < numbering->local; i++) {
      changed = changed || label[i] != label[root[i]];
      label[i] = label[root[i]];
    }
    sp_exchange_now(exchange, SP_MIN, label);
    MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_INT, MPI_MAX, comm);
  }
}

static int compare_labels(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Number the components: each has exactly one owned DOF that is its own label. */
static sp_status number_components(MPI_Comm comm, const sp_numbering *numbering,
                                   const double *label, sp_null_space *null_space) {
  int size, mine = 0, *counts = NULL;
  MPI_Comm_size(comm, &size);
  double *all = NULL;
  for (sp_lid i = 0; i < numbering->owned; i++)
    mine += label[i] == (double)sp_numbering_global(numbering, i);
  MPI_Allreduce(&mine, &null_space->components, 1, MPI_INT, MPI_SUM, comm);
  const size_t components = (size_t)null_space->components;
  double *found = NULL;
  sp_status status = sp_allocate(2 * (size_t)size, sizeof *counts, "components", &counts);
  if (!status) status = sp_allocate(components, sizeof *all, "components", &all);
  if (!status) status = sp_allocate((size_t)mine, sizeof *found, "components", &found);
  status = sp_agree(comm, status);
  if (!status) {
    int *starts = counts + size, n = 0;
    for (sp_lid i = 0; i < numbering->owned; i++)
      if (label[i] == (double)sp_numbering_global(numbering, i)) found[n++] = label[i];
    MPI_Allgather(&mine, 1, MPI_INT, counts, 1, MPI_INT, comm);
    for (int r = 1; r < size; r++) starts[r] = starts[r - 1] + counts[r - 1];
    MPI_Allgatherv(found, mine, MPI_DOUBLE, all, counts, starts, MPI_DOUBLE, comm);
    qsort(all, components, sizeof *all, compare_labels);
    for (sp_lid i = 0; i < numbering->local; i++) {
      const double *place = bsearch(&label[i], all, components, sizeof *all, compare_labels);
      null_space->of_dof[i] = (int)(place - all);
    }
  }
  free(counts);
  free(all);
  free(found);
  return status;
}

sp_status sp_null_space_create(const sp_mesh *mesh, const sp_numbering *numbering,
                               sp_exchange *exchange, sp_null_space **out) {
  const size_t dofs = (size_t)numbering->local;
  sp_null_space *null_space = NULL;
  sp_lid *root = NULL;
  double *label = NULL;
  *out = NULL;
  sp_status status = sp_allocate(1, sizeof *null_space, "null space", &null_space);
  if (!status)
    status = sp_allocate(dofs, sizeof *null_space->of_dof, "components", &null_space->of_dof);
  if (!status) status = sp_allocate(dofs, sizeof *root, "components", &root);
  if (!status) status = sp_allocate(dofs, sizeof *label, "components", &label);
  status = sp_agree(mesh->comm, status);
  if (!status) {
    join_elements(mesh, numbering, root);
    spread_labels(mesh->comm, numbering, root, exchange, label);
    status = number_components(mesh->comm, numbering, label, null_space);
  }
  free(root);
  free(label);
  if (status)
    sp_null_space_destroy(&null_space);
  else
    *out = null_space;
  return status;
}

void sp_null_space_destroy(sp_null_space **null_space) {
  if (!*null_space) return;
  free((*null_space)->of_dof);
  free(*null_space);
  *null_space = NULL;
}

sp_status sp_null_space_project(const sp_null_space *null_space, const sp_numbering *numbering,
                                sp_exchange *exchange, bool must_balance, double *b,
                                double *imbalance) {
  *imbalance = 0;
  for (int c = 0; c < null_space->components; c++) {
    double sums[3] = {0, 0, 0}; /* of b, of |b|, of 1 */
    for (sp_lid i = 0; i < numbering->owned; i++)
      if (null_space->of_dof[i] == c) {
        sums[0] += b[i];
        sums[1] += fabs(b[i]);
        sums[2] += 1;
      }
    SP_TRY(sp_exchange_sum(exchange, 3, sums, 0, SP_OK));
    const double ratio = sums[1] > 0 ? fabs(sums[0]) / sums[1] : 0;
    if (ratio > *imbalance) *imbalance = ratio;
    for (sp_lid i = 0; i < numbering->local; i++)
      if (null_space->of_dof[i] == c) b[i] -= sums[0] / sums[2];
    if (must_balance && ratio > BALANCE)
      return sp_fail(SP_ERR_INPUT,
                     "the right-hand side of this pure Neumann problem is not compatible: forcing "
                     "and fluxes add up to %.6g, which is %.3g of their total; it must vanish to "
                     "%.0e, or set problem.lambda > 0 or a Dirichlet boundary",
                     sums[0], ratio, BALANCE);
  }
  return SP_OK;
}

sp_status sp_null_space_match_means(const sp_null_space *null_space, const sp_problem *problem,
                                    const sp_mesh *mesh, const sp_numbering *numbering,
                                    sp_exchange *exchange, double *x) {
  const size_t nodes = nodes_of(numbering), elements = (size_t)mesh->hexes->count;
  double(*sums)[2] = NULL, (*integrals)[2] = NULL; /* of u_h - u and of 1: components, elements */
  sp_status status =
      sp_allocate((size_t)null_space->components, sizeof *sums, "component means", &sums);
  if (!status) status = sp_allocate(elements, sizeof *integrals, "element means", &integrals);
  if (!status) status = sp_errors_integrate(problem, mesh, numbering, x, integrals);
  status = sp_agree(mesh->comm, status);
  if (!status)
    for (size_t e = 0; e < elements; e++)
      for (int i = 0; i < 2; i++)
        sums[null_space->of_dof[numbering->nodes[e * nodes]]][i] += integrals[e][i];
  for (int c = 0; c < null_space->components && !status; c++)
    status = sp_exchange_sum(exchange, 2, sums[c], 0, SP_OK);
  for (sp_lid i = 0; i < numbering->local && !status; i++) {
    const double *sum = sums[null_space->of_dof[i]];
    x[i] -= sum[0] / sum[1];
  }
  free(sums);
  free(integrals);
  return status;
}
