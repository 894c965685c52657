#include "solver/bench/check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "io/hash.h"
#include "operators/operator.h"

static sp_status apply(sp_operator *op, const sp_platform *host, const double *x, double *y) {
  sp_vector on_x = {0}, on_y = {0};
  const size_t n = (size_t)op->dofs;
  sp_status status = sp_vector_create(host, SP_DOUBLE, n, &on_x);
  if (!status) status = sp_vector_create(host, SP_DOUBLE, n, &on_y);
  if (!status) status = sp_vector_write(x, &on_x);
  status = sp_agree(host->comm, status);
  if (!status) status = sp_agree(host->comm, sp_operator_apply(op, false, &on_x, &on_y));
  if (!status) status = sp_agree(host->comm, sp_vector_read(&on_y, y));
  sp_vector_destroy(&on_x);
  sp_vector_destroy(&on_y);
  return status;
}

sp_status sp_bench_expected(const sp_bench_case *c, sp_operator_kind kind, const double *x,
                            double *y) {
  sp_platform host;
  sp_operator_setup setup = {.kind = kind,
                             .geometry = SP_GEOMETRY_STORED,
                             .precision = SP_DOUBLE,
                             .lambda = SP_BENCH_LAMBDA};
  sp_operator *op = NULL;
  SP_TRY(sp_platform_open(c->platform->comm, SP_DEVICE_HOST, SP_TRANSPORT_AUTO, &host));
  sp_space *space = NULL;
  sp_status status = sp_space_create(&host, c->mesh, c->order, &space);
  setup.space = space;
  if (!status) status = sp_operator_create(&setup, &op);
  if (!status) status = apply(op, &host, x, y);
  sp_operator_destroy(&op);
  sp_space_destroy(&space);
  sp_platform_close(&host);
  return status;
}

void sp_bench_gather(const sp_space *space, const double *x, double *q) {
  const size_t np = sp_element_nodes(space->numbering->order);
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++)
    sp_numbering_gather(space->numbering, e, x, &q[(size_t)e * np]);
}

sp_status sp_bench_compare_sum(const sp_space *space, const double *q, const double *y,
                               double *error) {
  const size_t count =
      (size_t)space->mesh->hexes->count * sp_element_nodes(space->numbering->order);
  MPI_Comm comm = space->platform->comm;
  SP_OWNED double *sum = NULL;
  SP_TRY(sp_agree(comm, sp_allocate(sp_space_dofs(space), sizeof *sum, "a result", &sum)));
  for (size_t i = 0; i < count; i++) sum[space->numbering->nodes[i]] += q[i];
  sp_exchange_now(space->exchange, SP_SUM, sum);
  *error = sp_bench_difference(comm, sp_space_dofs(space), sum, y);
  return SP_OK;
}

double sp_bench_difference(MPI_Comm comm, size_t count, const double *result,
                           const double *expected) {
  double most[2] = {0, 0}; /* difference, expected value */
  for (size_t i = 0; i < count; i++) {
    const double difference = fabs(result[i] - expected[i]);
    most[0] = fmax(most[0], isfinite(difference) ? difference : INFINITY);
    most[1] = fmax(most[1], fabs(expected[i]));
  }
  MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, comm);
  return most[0] > 0 ? most[0] / most[1] : 0;
}

double sp_bench_epsilon(sp_precision precision) {
  return precision == SP_SINGLE ? FLT_EPSILON : DBL_EPSILON;
}

double sp_bench_tolerance(int order, sp_precision precision) {
  return (16 * (order + 2) + 30) * sp_bench_epsilon(precision);
}

double sp_bench_random(sp_gid number) {
  return (double)(sp_hash((uint64_t)number) >> 11) * 0x1p-52 - 1;
}

sp_status sp_bench_repeat(size_t size, const double *values, sp_vector *all) {
  sp_vector first = sp_vector_part(all, 0, size);
  sp_status status = sp_vector_write(values, &first);
  for (size_t done = size; done < all->count && !status; done += size) {
    sp_vector next = sp_vector_part(all, done, all->count - done < size ? all->count - done : size);
    status = sp_vector_copy(&first, &next);
  }
  return status ? status : all->platform->backend->finish(all->platform->device);
}
