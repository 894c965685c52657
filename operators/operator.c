#include "operators/operator.h"

#include <stdlib.h>

#include "operators/counts.h"
#include "operators/factors.h"

static void count_work(const sp_operator_setup *setup, sp_operator *op) {
  const double elements = setup->mesh->hexes->count;
  double work[2] = {elements * sp_operator_flops(setup->kind, op->order),
                    sp_operator_bytes_assembled(setup->kind, setup->geometry, op->order, elements,
                                                setup->numbering->local)};
  MPI_Allreduce(MPI_IN_PLACE, work, 2, MPI_DOUBLE, MPI_SUM, op->comm);
  op->flops = work[0];
  op->bytes = work[1];
}

sp_status sp_operator_create(const sp_backend *backend, sp_device *device,
                             const sp_operator_setup *setup, sp_exchange **exchange,
                             sp_operator **out) {
  MPI_Comm comm = setup->mesh->comm;
  *out = NULL;
  sp_operator *op;
  sp_status status = sp_allocate(1, sizeof *op, "operator", &op);
  if (status) {
    sp_exchange_destroy(exchange);
  } else {
    *op = (sp_operator){.comm = comm,
                        .backend = backend,
                        .device = device,
                        .exchange = *exchange,
                        .kind = setup->kind,
                        .geometry = setup->geometry,
                        .order = setup->numbering->order,
                        .owned = setup->numbering->owned,
                        .dofs = setup->numbering->local,
                        .global_dofs = setup->numbering->global};
    *exchange = NULL;
    status = backend->operator_create(device, setup, &op->local);
  }
  status = sp_agree(comm, status);
  if (!status) {
    op->exchanged = "MPI";
    const sp_exchange_plan plan = sp_exchange_plan_of(op->exchange);
    if (backend->connect)
      status = backend->connect(op->local, comm, &plan, &op->iterates, &op->exchanged);
  }
  if (status) {
    sp_operator_destroy(&op);
    return status;
  }
  count_work(setup, op);
  *out = op;
  return SP_OK;
}

void sp_operator_destroy(sp_operator **op) {
  if (!*op) return;
  (*op)->backend->operator_destroy(&(*op)->local);
  sp_exchange_destroy(&(*op)->exchange);
  free(*op);
  *op = NULL;
}

/* Between the two parts of an application the shared values travel. A rank whose backend fails
 * sends what it has: the others must not wait for it, and the failure is agreed on afterwards. */
static sp_status begin_exchange(sp_operator *op, const double *y, bool *by_mpi) {
  double *sent = NULL, *received;
  *by_mpi = true;
  if (!op->backend->pack) {
    sp_exchange_begin(op->exchange, y);
    return SP_OK;
  }
  const sp_status status = op->backend->pack(op->local, y, &sent, &received);
  *by_mpi = sent != NULL;
  if (*by_mpi) sp_exchange_begin_packed(op->exchange, sent, received);
  return status;
}

static sp_status end_exchange(sp_operator *op, bool by_mpi, double *y) {
  if (!op->backend->pack) {
    sp_exchange_end(op->exchange, SP_SUM, y);
    return SP_OK;
  }
  if (by_mpi) sp_exchange_end_packed(op->exchange);
  return op->backend->unpack(op->local, y);
}

static sp_status first_failure(sp_status a, sp_status b) {
  return a ? a : b;
}

sp_status sp_operator_apply(sp_operator *op, bool constrained, const double *x, double *y) {
  bool by_mpi;
  sp_status status = op->backend->apply(op->local, SP_HALO, constrained, x, y);
  status = first_failure(status, begin_exchange(op, y, &by_mpi));
  status = first_failure(status, op->backend->apply(op->local, SP_INNER, constrained, x, y));
  status = first_failure(status, end_exchange(op, by_mpi, y));
  return sp_agree(op->comm, status);
}

sp_status sp_operator_direction(sp_operator *op, double beta, sp_cg_vectors *vectors,
                                sp_status status, double *p_ap) {
  double sums[2];
  bool by_mpi;
  const double start = MPI_Wtime();
  status = first_failure(status, op->backend->direction(op->local, SP_HALO, beta, vectors));
  status = first_failure(status, begin_exchange(op, vectors->ap, &by_mpi));
  status = first_failure(status, op->backend->direction(op->local, SP_INNER, beta, vectors));
  status = first_failure(status, end_exchange(op, by_mpi, vectors->ap));
  double *const direction = vectors->next_p;
  vectors->next_p = vectors->p;
  vectors->p = direction;
  op->seconds = MPI_Wtime() - start;
  status = first_failure(status, op->backend->sums(op->local, sums));
  SP_TRY(sp_exchange_sum(op->exchange, 1, sums, op->seconds, status));
  *p_ap = sums[0];
  return SP_OK;
}

sp_status sp_operator_update(sp_operator *op, double alpha, const sp_cg_vectors *vectors,
                             double *rr, double *rz) {
  double sums[2];
  sp_status status = op->backend->update(op->local, alpha, vectors);
  status = first_failure(status, op->backend->sums(op->local, sums));
  SP_TRY(sp_exchange_sum(op->exchange, 2, sums, op->seconds, status));
  *rr = sums[0];
  *rz = sums[1];
  return SP_OK;
}

sp_status sp_operator_choose_geometry(const sp_backend *backend, const sp_operator_setup *setup,
                                      sp_geometry_kind wish, sp_geometry_kind *out,
                                      const char **reason) {
  const int map_order = setup->mesh->hexes->map_order;
  const bool curved = map_order > 1, coefficients = sp_operator_has_coefficients(setup);
  if (wish == SP_GEOMETRY_TRILINEAR && curved)
    return sp_fail(
        SP_ERR_INPUT,
        "discretization.geometry = trilinear is exact for eight-node elements only; this "
        "mesh has elements of order %d: use stored or auto",
        map_order);
  if (wish == SP_GEOMETRY_TRILINEAR && coefficients)
    return sp_fail(SP_ERR_INPUT,
                   "discretization.geometry = trilinear recomputes factors from corners, which "
                   "cannot hold a kappa other than 1 or a lambda that varies: use stored or auto");
  *out = wish;
  *reason = "as the case asks";
  if (wish != SP_GEOMETRY_AUTO) return SP_OK;
  *out = SP_GEOMETRY_STORED;
  if (coefficients) {
    *reason = "coefficients at the quadrature points";
  } else if (curved) {
    *reason = "curved elements";
  } else {
    *out = backend->faster_geometry(setup->kind, setup->numbering->order);
    *reason = "the faster one on this device";
  }
  return SP_OK;
}
