#include "operators/operator.h"

#include <stdlib.h>

#include "operators/counts.h"
#include "operators/factors.h"

static void count_work(const sp_operator_setup *setup, sp_operator *op) {
  const double elements = setup->space->mesh->hexes->count;
  double work[2] = {elements * sp_operator_flops(setup->kind, op->order),
                    sp_operator_bytes_assembled(setup->kind, sp_operator_factor_kind(setup),
                                                setup->precision, op->order, elements, op->dofs)};
  MPI_Allreduce(MPI_IN_PLACE, work, 2, MPI_DOUBLE, MPI_SUM, op->comm);
  op->flops = work[0];
  op->bytes = work[1];
}

sp_status sp_operator_create(const sp_operator_setup *setup, sp_operator **out) {
  const sp_space *space = setup->space;
  const sp_platform *platform = space->platform;
  *out = NULL;
  SP_AUTO(sp_operator) op = NULL;
  sp_status status = sp_allocate(1, sizeof *op, "operator", &op);
  if (!status) {
    *op = (sp_operator){.space = space,
                        .comm = platform->comm,
                        .backend = platform->backend,
                        .device = platform->device,
                        .reduction = platform->reduction,
                        .kind = setup->kind,
                        .geometry = setup->geometry,
                        .precision = setup->precision,
                        .order = space->numbering->order,
                        .owned = space->numbering->owned,
                        .dofs = space->numbering->local,
                        .global_dofs = space->numbering->global,
                        .iterates = platform->backend->iterate && space->resident &&
                                    setup->precision == SP_DOUBLE,
                        .sweeps = platform->backend->sweep && setup->one_sweep};
    if (setup->precision != SP_DOUBLE && !op->backend->single_operators)
      status = sp_fail(SP_ERR_INPUT, "the %s backend has no operators in single precision",
                       op->backend->name);
    if (setup->rounded && !op->backend->rounded_factors)
      status = sp_fail(SP_ERR_INPUT, "the %s backend has no operators with rounded factors",
                       op->backend->name);
    if (!status) status = op->backend->operator_create(op->device, setup, &op->local);
  }
  SP_TRY(sp_agree(platform->comm, status));
  count_work(setup, op);
  *out = op;
  op = NULL;
  return SP_OK;
}

void sp_operator_destroy(sp_operator **op) {
  if (!*op) return;
  (*op)->backend->operator_destroy(&(*op)->local);
  free(*op);
  *op = NULL;
}

sp_status sp_operator_apply(sp_operator *op, bool constrained, const sp_vector *x, sp_vector *y) {
  return op->backend->apply(op->local, constrained, x->data, y->data);
}

sp_status sp_operator_apply_step(sp_operator *op, const sp_vector *x, sp_vector *q,
                                 const sp_smoothing *step) {
  if (op->backend->apply_step) {
    const sp_correction correction = sp_smoothing_correction(step);
    return op->backend->apply_step(op->local, x->data, q->data, &correction);
  }
  const sp_status status = sp_operator_apply(op, true, x, q);
  return sp_first_failure(status, sp_vector_correct(step));
}

static sp_cg_arrays arrays_of(const sp_cg_vectors *v) {
  return (sp_cg_arrays){.x = v->x->data,
                        .r = v->r->data,
                        .z = v->z->data,
                        .p = v->p->data,
                        .next_p = v->next_p->data,
                        .ap = v->ap->data,
                        .inverse_diagonal = v->inverse_diagonal ? v->inverse_diagonal->data : NULL};
}

static void swap_directions(sp_cg_vectors *vectors) {
  sp_vector *const direction = vectors->next_p;
  vectors->next_p = vectors->p;
  vectors->p = direction;
}

/* Check the precision, with the same result on all ranks, so collective calls may follow. */
static sp_status check_passes(const sp_operator *op) {
  if (op->precision == SP_DOUBLE) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "conjugate gradients need an operator in double precision");
}

sp_status sp_operator_direction(sp_operator *op, double beta, sp_cg_vectors *vectors,
                                sp_status status, double *p_ap, sp_pass_times *times) {
  double sums[2] = {0};
  SP_TRY(check_passes(op));
  const double waited = sp_exchange_waited(op->space->exchange);
  const double start = MPI_Wtime();
  const sp_cg_arrays arrays = arrays_of(vectors);
  status = sp_first_failure(status, op->backend->direction(op->local, beta, &arrays));
  swap_directions(vectors);
  status = sp_first_failure(status, op->backend->sums(op->local, sums)); /* waits for the device */
  *times = (sp_pass_times){.matvec = MPI_Wtime() - start,
                           .waited = sp_exchange_waited(op->space->exchange) - waited};
  SP_TRY(sp_reduction_sum(op->reduction, 1, sums, status));
  *p_ap = sums[0];
  return SP_OK;
}

sp_status sp_operator_update(sp_operator *op, double alpha, const sp_cg_vectors *vectors,
                             double *rr, double *rz) {
  double sums[2] = {0};
  SP_TRY(check_passes(op));
  const sp_cg_arrays arrays = arrays_of(vectors);
  sp_status status = op->backend->update(op->local, alpha, &arrays);
  status = sp_first_failure(status, op->backend->sums(op->local, sums));
  SP_TRY(sp_reduction_sum(op->reduction, 2, sums, status));
  *rr = sums[0];
  *rz = sums[1];
  return SP_OK;
}

sp_status sp_operator_sweep(sp_operator *op, double alpha, double beta,
                            const sp_cg_vectors *vectors, sp_status status, double sums[SP_CG_SUMS],
                            sp_pass_times *times) {
  const double waited = sp_exchange_waited(op->space->exchange);
  const double start = MPI_Wtime();
  const sp_cg_arrays arrays = arrays_of(vectors);
  *times = (sp_pass_times){0};
  status = sp_first_failure(
      status, op->backend->sweep(op->local, alpha, beta, &arrays, sums, &times->updating));
  times->matvec = MPI_Wtime() - start - times->updating;
  times->waited = sp_exchange_waited(op->space->exchange) - waited;
  return sp_reduction_sum(op->reduction, SP_CG_SUMS, sums, status);
}

sp_status sp_operator_dot(sp_operator *op, const sp_vector *x, const sp_vector *y, sp_status status,
                          double *sum) {
  double mine = 0;
  status = sp_first_failure(status, op->backend->dot(op->device, op->precision, (size_t)op->owned,
                                                     x->data, y->data, &mine));
  SP_TRY(sp_reduction_sum(op->reduction, 1, &mine, status));
  *sum = mine;
  return SP_OK;
}

sp_status sp_operator_iterate(sp_operator *op, sp_cg_vectors *vectors, const sp_cg_state *state,
                              int count, sp_cg_record *records, int *done) {
  sp_cg_arrays arrays = arrays_of(vectors);
  const sp_status status = op->backend->iterate(op->local, &arrays, state, count, records, done);
  if (arrays.p != vectors->p->data) swap_directions(vectors);
  return status;
}
