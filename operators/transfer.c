#include "operators/transfer.h"

#include <stdlib.h>

/* One over the number of elements that share each fine DOF, zero where it is constrained. */
static void make_weights(const sp_space *fine, const bool *constrained, double *weights) {
  const sp_numbering *numbering = fine->numbering;
  const size_t nq = (size_t)numbering->order + 1;
  const size_t nodes = (size_t)fine->mesh->hexes->count * nq * nq * nq;
  for (size_t n = 0; n < nodes; n++) weights[numbering->nodes[n]] += 1;
  sp_exchange_now(fine->exchange, SP_SUM, weights);
  for (sp_lid i = 0; i < numbering->local; i++)
    weights[i] = constrained && constrained[i] ? 0 : 1 / weights[i];
}

sp_status sp_transfer_create(const sp_operator *op, const sp_space *coarse,
                             const bool *fine_constrained, const bool *coarse_constrained,
                             sp_transfer **out) {
  const sp_space *fine = op->space;
  const sp_platform *platform = fine->platform;
  const bool weighted = platform->backend->weighted_transfer;
  sp_transfer *transfer = NULL;
  double *weights = NULL;
  *out = NULL;
  sp_status status = sp_allocate(1, sizeof *transfer, "transfer", &transfer);
  if (!status && weighted)
    status = sp_allocate(sp_space_dofs(fine), sizeof *weights, "transfer weights", &weights);
  status = sp_agree(platform->comm, status);
  if (!status) {
    *transfer = (sp_transfer){.fine = fine, .coarse = coarse};
    if (weighted) make_weights(fine, fine_constrained, weights);
    const sp_transfer_setup setup = {.fine = fine,
                                     .coarse = coarse,
                                     .local = op->local,
                                     .precision = op->precision,
                                     .weights = weights,
                                     .coarse_constrained = coarse_constrained};
    status = platform->backend->transfer_create(platform->device, &setup, &transfer->on_device);
    status = sp_agree(platform->comm, status);
  }
  free(weights);
  if (status)
    sp_transfer_destroy(&transfer);
  else
    *out = transfer;
  return status;
}

void sp_transfer_destroy(sp_transfer **transfer) {
  if (!*transfer) return;
  if ((*transfer)->on_device)
    (*transfer)->fine->platform->backend->transfer_destroy(&(*transfer)->on_device);
  free(*transfer);
  *transfer = NULL;
}

sp_status sp_transfer_prolong(sp_transfer *transfer, const sp_vector *coarse, sp_vector *fine) {
  return transfer->fine->platform->backend->prolong(transfer->on_device, coarse->data, fine->data);
}

sp_status sp_transfer_restrict(sp_transfer *transfer, const sp_vector *fine, sp_vector *coarse) {
  return transfer->fine->platform->backend->restrict_residual(transfer->on_device, fine->data,
                                                              coarse->data);
}
