#include "operators/transfer.h"

#include <stdlib.h>

#include "io/threads.h"
#include "mesh/coarsen.h"
#include "mesh/reference.h"

enum { PATCH = 27 }; /* nodes of degree 2 of a coarse element */

typedef struct listing {
  const sp_hexes *parents;
  const sp_numbering *numbering; /* of the fine space */
  sp_lid *nodes;
} listing;

static void list_some(void *listing_, size_t begin, size_t end) {
  const listing *l = listing_;
  for (size_t e = begin; e < end; e++) {
    sp_lid *nodes = &l->nodes[e * PATCH];
    sp_coarse_nodes(l->parents, (sp_lid)e, nodes);
    for (int n = 0; n < PATCH; n++)
      nodes[n] = nodes[n] < 0 ? l->numbering->local : l->numbering->nodes[nodes[n]];
  }
}

sp_status sp_transfer_nodes(const sp_space *fine, const sp_space *coarse, sp_lid **out) {
  const sp_hexes *parents = coarse->mesh->hexes;
  const size_t count = (size_t)parents->count;
  SP_TRY(sp_allocate(count * PATCH, sizeof **out, "transfer", out));
  listing l = {parents, fine->numbering, *out};
  return sp_loop_over("transfer", count, PATCH, &l, list_some);
}

/* One over the number of coarse elements that share each fine DOF, zero where it is constrained. */
static void make_weights(const sp_transfer_setup *setup, const bool *constrained, double *weights) {
  const sp_numbering *numbering = setup->fine->numbering;
  const size_t elements = (size_t)setup->coarse->mesh->hexes->count;
  const size_t count = elements * (setup->nodes ? PATCH : sp_element_nodes(numbering->order));
  const sp_lid *nodes = setup->nodes ? setup->nodes : numbering->nodes;
  for (size_t n = 0; n < count; n++)
    if (nodes[n] < numbering->local) weights[nodes[n]] += 1;
  sp_exchange_now(setup->fine->exchange, SP_SUM, weights);
  for (sp_lid i = 0; i < numbering->local; i++)
    weights[i] = constrained && constrained[i] ? 0 : 1 / weights[i];
}

sp_status sp_transfer_create(const sp_operator *op, const sp_space *coarse,
                             const bool *fine_constrained, const bool *coarse_constrained,
                             bool exact_copies, sp_transfer **out) {
  const sp_space *fine = op->space;
  const sp_platform *platform = fine->platform;
  const bool weighted = platform->backend->weighted_transfer;
  SP_AUTO(sp_transfer) transfer = NULL;
  SP_OWNED double *weights = NULL;
  SP_OWNED sp_lid *nodes = NULL;
  *out = NULL;
  sp_status status = sp_allocate(1, sizeof *transfer, "transfer", &transfer);
  if (!status && weighted)
    status = sp_allocate(sp_space_dofs(fine), sizeof *weights, "transfer weights", &weights);
  if (!status && coarse->mesh != fine->mesh) status = sp_transfer_nodes(fine, coarse, &nodes);
  SP_TRY(sp_agree(platform->comm, status));
  transfer->fine = fine;
  sp_transfer_setup setup = {.fine = fine,
                             .coarse = coarse,
                             .nodes = nodes,
                             .local = op->local,
                             .precision = op->precision,
                             .fine_constrained = fine_constrained,
                             .coarse_constrained = coarse_constrained,
                             .exact_copies = exact_copies};
  if (weighted) make_weights(&setup, fine_constrained, weights);
  setup.weights = weights;
  status = platform->backend->transfer_create(platform->device, &setup, &transfer->on_device);
  SP_TRY(sp_agree(platform->comm, status));
  *out = transfer;
  transfer = NULL;
  return SP_OK;
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
