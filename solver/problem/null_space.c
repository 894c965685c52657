#include "solver/problem/null_space.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/problem/errors.h"

static const double BALANCE = 1e-10;

bool sp_null_space_is_exact(const sp_coefficients *coefficients, const sp_robin *robin) {
  return coefficients->largest_lambda == 0 && !robin->anywhere;
}

/* 1, or with `signs` either of 1 and -1 without a pattern, the same on all holders of a DOF. */
static void fill_vector(const sp_numbering *numbering, bool signs, double *host) {
  for (sp_lid i = 0; i < numbering->local; i++) {
    const uint64_t draw = (uint64_t)sp_numbering_global(numbering, i) * 0x9e3779b97f4a7c15u;
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

/* Sum `width` values of every component over ranks. A rank that has failed, and has none, makes all
 * of them fail. */
static sp_status sum_over_ranks(const sp_null_space *null_space, const sp_space *space, int width,
                                double *sums, sp_status status) {
  double none[3] = {0};
  for (int c = 0; c < null_space->components; c++)
    SP_TRY(sp_reduction_sum(space->platform->reduction, width, status ? none : &sums[c * width],
                            status));
  return SP_OK;
}

/* By component: the sums of A 1, and of the squares of A v for random signs v. */
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

static size_t nodes_of(const sp_numbering *numbering) {
  const size_t nq = (size_t)numbering->order + 1;
  return nq * nq * nq;
}

static sp_lid find_root(sp_lid *parent, sp_lid i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

/* Join the DOFs of every element; the smallest one is the root. */
static void join_elements(const sp_space *space, sp_lid *parent) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
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

/* The label of a component with Dirichlet DOFs, below all global numbers. */
static const double DETERMINED = -1;

/* Spread the smallest global number, or that there is a Dirichlet DOF, through each component,
 * across ranks until nothing changes. A global number is exact as a double below 2^53. */
static void spread_labels(MPI_Comm comm, const sp_numbering *numbering, const sp_lid *root,
                          const bool *constrained, sp_exchange *exchange, double *label) {
  for (sp_lid i = 0; i < numbering->local; i++)
    label[i] = constrained[i] ? DETERMINED : (double)sp_numbering_global(numbering, i);
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

/* Number the components: each has exactly one owned DOF that is its own label, but for those with
 * Dirichlet DOFs, which have none. */
static sp_status number_components(MPI_Comm comm, const sp_numbering *numbering,
                                   const double *label, sp_null_space *null_space) {
  int size, mine = 0, determined = 0, *counts = NULL;
  MPI_Comm_size(comm, &size);
  double *all = NULL;
  for (sp_lid i = 0; i < numbering->owned; i++)
    mine += label[i] == (double)sp_numbering_global(numbering, i);
  for (sp_lid i = 0; i < numbering->owned; i++) determined |= label[i] == DETERMINED;
  MPI_Allreduce(&mine, &null_space->components, 1, MPI_INT, MPI_SUM, comm);
  MPI_Allreduce(MPI_IN_PLACE, &determined, 1, MPI_INT, MPI_MAX, comm);
  null_space->of_parts = determined || null_space->components > 1;
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
      null_space->of_dof[i] = place ? (int)(place - all) : -1;
    }
  }
  free(counts);
  free(all);
  free(found);
  return status;
}

sp_status sp_null_space_create(const sp_space *space, const bool *constrained,
                               sp_null_space **out) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
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
    join_elements(space, root);
    spread_labels(mesh->comm, numbering, root, constrained, space->exchange, label);
    status = number_components(mesh->comm, numbering, label, null_space);
  }
  free(root);
  free(label);
  if (status || null_space->components == 0)
    sp_null_space_destroy(&null_space);
  else
    *out = null_space;
  return status;
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
  const size_t nodes = nodes_of(numbering), elements = (size_t)mesh->hexes->count;
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
