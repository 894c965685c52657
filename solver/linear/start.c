#include "solver/linear/start.h"

#include <math.h>
#include <stdlib.h>

#include "mesh/components.h"
#include "mesh/reference.h"

sp_status sp_parts_create(const sp_space *space, const int *null_of_dof, sp_parts *parts) {
  const sp_numbering *numbering = space->numbering;
  const size_t nodes = sp_element_nodes(numbering->order);
  const size_t count = (size_t)space->mesh->hexes->count;
  sp_components *components;
  SP_TRY(sp_components_create(space->mesh->comm, space->mesh->topology, &components));
  *parts = (sp_parts){.count = components->count};
  sp_status status = SP_OK;
  if (components->count > 1 || null_of_dof)
    status = sp_allocate(sp_space_dofs(space), sizeof *parts->of_dof, "parts", &parts->of_dof);
  if (!status && parts->of_dof) {
    for (size_t n = 0; n < count * nodes; n++)
      parts->of_dof[numbering->nodes[n]] = components->of_element[n / nodes];
    for (sp_lid i = 0; i < numbering->local && null_of_dof; i++)
      if (null_of_dof[i] >= 0) parts->of_dof[i] = -1;
  }
  sp_components_destroy(&components);
  return sp_agree(space->mesh->comm, status);
}

void sp_parts_free(sp_parts *parts) {
  free(parts->of_dof);
  parts->of_dof = NULL;
}

/* 1 on the free DOFs that get a constant. */
static sp_status upload_ones(const sp_operator *op, const sp_parts *parts, const bool *constrained,
                             double *host, double *ones) {
  for (sp_lid i = 0; i < op->dofs; i++)
    host[i] = constrained[i] || (parts->of_dof && parts->of_dof[i] < 0) ? 0 : 1;
  return op->backend->upload(op->device, SP_DOUBLE, (size_t)op->dofs, host, ones);
}

/* A constant that is not finite, or of a part without free DOFs, is left out. */
static double constant(const double sums[2]) {
  const double c = sums[0] / sums[1];
  return sums[1] > 0 && isfinite(c) ? c : 0;
}

/* x = c x for one part; y = A x before. */
static sp_status scale_one(sp_operator *op, const double *b, double *x, const double *y,
                           double *weight) {
  double sums[2];
  SP_TRY(sp_operator_dot(op, b, x, SP_OK, &sums[0]));
  SP_TRY(sp_operator_dot(op, x, y, SP_OK, &sums[1]));
  *weight = sums[1];
  return sp_agree(op->comm, op->backend->axpby(op->device, SP_DOUBLE, (size_t)op->dofs, 0, y,
                                               constant(sums), x));
}

/* Add what is in `from` on free DOFs to the parts' sums. */
static sp_status add_to_sums(const sp_operator *op, const sp_parts *parts, const bool *constrained,
                             const double *from, int which, double *host, double (*sums)[2]) {
  SP_TRY(op->backend->download(op->device, SP_DOUBLE, (size_t)op->dofs, from, host));
  for (sp_lid i = 0; i < op->owned; i++)
    if (!constrained[i] && parts->of_dof[i] >= 0) sums[parts->of_dof[i]][which] += host[i];
  return SP_OK;
}

static sp_status scale_parts(sp_operator *op, const sp_parts *parts, const bool *constrained,
                             const double *b, double *x, const double *y, double *host,
                             double (*sums)[2], double *weight) {
  sp_status status = add_to_sums(op, parts, constrained, b, 0, host, sums);
  if (!status) status = add_to_sums(op, parts, constrained, y, 1, host, sums);
  SP_TRY(sp_agree(op->comm, status));
  *weight = 0;
  for (int k = 0; k < parts->count; k++) {
    SP_TRY(sp_reduction_sum(op->reduction, 2, sums[k], SP_OK));
    *weight += sums[k][1];
  }
  for (sp_lid i = 0; i < op->dofs; i++)
    host[i] = constrained[i] || parts->of_dof[i] < 0 ? 0 : constant(sums[parts->of_dof[i]]);
  return sp_agree(op->comm, op->backend->upload(op->device, SP_DOUBLE, (size_t)op->dofs, host, x));
}

static sp_status set_constants(sp_operator *op, const sp_parts *parts, const bool *constrained,
                               const double *b, double *x, double *y, double *host,
                               double *weight) {
  double(*sums)[2] = NULL;
  sp_status status = upload_ones(op, parts, constrained, host, x);
  if (!status && parts->of_dof)
    status = sp_allocate((size_t)parts->count, sizeof *sums, "sums of parts", &sums);
  status = sp_agree(op->comm, status);
  if (!status) status = sp_agree(op->comm, sp_operator_apply(op, true, x, y));
  if (!status)
    status = parts->of_dof ? scale_parts(op, parts, constrained, b, x, y, host, sums, weight)
                           : scale_one(op, b, x, y, weight);
  free(sums);
  return status;
}

/* One step of steepest descent in the norm of the diagonal. */
static sp_status descend(sp_operator *op, const double *inverse_diagonal, const double *b,
                         double *x, double *y, double *z) {
  const sp_backend *backend = op->backend;
  sp_device *device = op->device;
  const size_t dofs = (size_t)op->dofs;
  double rz, zaz;
  sp_status status = sp_operator_apply(op, true, x, y);
  if (!status) status = backend->axpby(device, SP_DOUBLE, dofs, 1, b, -1, y);
  if (!status) status = backend->multiply(device, SP_DOUBLE, dofs, inverse_diagonal, y, z);
  SP_TRY(sp_operator_dot(op, y, z, status, &rz));
  status = sp_operator_apply(op, true, z, y);
  SP_TRY(sp_operator_dot(op, z, y, status, &zaz));
  const double step = rz / zaz;
  if (!(zaz > 0) || !isfinite(step)) return SP_OK; /* nothing to do, or for CG to report */
  return sp_agree(op->comm, backend->axpby(device, SP_DOUBLE, dofs, step, z, 1, x));
}

sp_status sp_start_find(sp_operator *op, const sp_parts *parts, const bool *constrained,
                        const double *inverse_diagonal, const double *b, double *x, double *y,
                        double *z, double *host, double *weight) {
  SP_TRY(set_constants(op, parts, constrained, b, x, y, host, weight));
  return inverse_diagonal ? descend(op, inverse_diagonal, b, x, y, z) : SP_OK;
}

sp_status sp_start_energy(sp_operator *op, const double *x, double *start, double *y,
                          double *energy) {
  const size_t dofs = (size_t)op->dofs;
  sp_status status = op->backend->axpby(op->device, SP_DOUBLE, dofs, 1, x, -1, start);
  if (!status) status = sp_operator_apply(op, true, start, y);
  return sp_operator_dot(op, start, y, status, energy);
}
