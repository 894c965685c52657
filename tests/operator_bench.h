/* Operators on a backend, for tests: vectors stay in host memory, and failures are counted as
 * failed checks. */
#ifndef SP_TESTS_OPERATOR_BENCH_H
#define SP_TESTS_OPERATOR_BENCH_H

#include <stdlib.h>
#include <string.h>

#include "operators/operator.h"
#include "tests/check.h"

typedef struct bench {
  MPI_Comm comm;
  const sp_backend *backend;
  sp_device *device;
  sp_transport exchange;
} bench;

enum { BENCH_SKIPPED = 77 }; /* CTest's SKIP_RETURN_CODE */

/* The exchange that the test's second argument names, as in backend.exchange; auto without one. */
static inline sp_transport bench_exchange(int argc, char **argv) {
  if (argc < 3) return SP_TRANSPORT_AUTO;
  for (sp_transport kind = SP_TRANSPORT_AUTO; kind <= SP_TRANSPORT_STAGED; kind++)
    if (strcmp(argv[2], sp_transport_name(kind)) == 0) return kind;
  CHECK(false, "'%s' is no exchange", argv[2]);
  return SP_TRANSPORT_AUTO;
}

/* Open the backend that the test's first argument names, host without one. False, with nothing
 * open, if this machine has no such device. */
static inline bool bench_open(int argc, char **argv, bench *b) {
  const bool cuda = argc > 1 && strcmp(argv[1], "cuda") == 0;
  *b = (bench){.comm = MPI_COMM_WORLD, .exchange = bench_exchange(argc, argv)};
  const sp_status status =
      sp_backend_open(b->comm, cuda ? SP_DEVICE_CUDA : SP_DEVICE_HOST, &b->backend, &b->device);
  if (status) printf("%s\n", sp_error_message());
  CHECK(cuda || status == SP_OK, "no host backend");
  return status == SP_OK;
}

static inline sp_operator *bench_operator(const bench *b, const sp_operator_setup *setup) {
  sp_operator_setup own = *setup;
  sp_operator *op = NULL;
  sp_exchange *exchange;
  own.exchange = b->exchange;
  CHECK(sp_exchange_create(b->comm, setup->numbering, &exchange) == SP_OK, "%s",
        sp_error_message());
  CHECK(sp_operator_create(b->backend, b->device, &own, &exchange, &op) == SP_OK, "%s",
        sp_error_message());
  if (!op) MPI_Abort(b->comm, 1); /* nothing is left to be tested */
  return op;
}

/* A vector in the backend's memory with a copy of values[count]. */
static inline double *bench_upload(const bench *b, size_t count, const double *values) {
  double *vector = NULL;
  CHECK(b->backend->vector_create(b->device, count, &vector) == SP_OK, "%s", sp_error_message());
  CHECK(b->backend->upload(b->device, count, values, vector) == SP_OK, "%s", sp_error_message());
  return vector;
}

static inline void bench_download(const bench *b, size_t count, const double *vector,
                                  double *values) {
  CHECK(b->backend->download(b->device, count, vector, values) == SP_OK, "%s", sp_error_message());
}

/* y = A x through the backend's memory, where y, another vector, starts as rubbish. */
static inline void bench_apply(const bench *b, sp_operator *op, bool constrained, const double *x,
                               double *y) {
  const size_t n = (size_t)op->dofs;
  for (size_t i = 0; i < n; i++) y[i] = NAN;
  double *device_x = bench_upload(b, n, x), *device_y = bench_upload(b, n, y);
  CHECK(sp_operator_apply(op, constrained, device_x, device_y) == SP_OK, "%s", sp_error_message());
  bench_download(b, n, device_y, y);
  b->backend->vector_destroy(b->device, &device_x);
  b->backend->vector_destroy(b->device, &device_y);
}

/* Both passes of CG from r, with beta = 0 and a step of -1: p = r and sum = r + A p. Returns p.Ap
 * as pass 1 has it. */
static inline double bench_passes(const bench *b, sp_operator *op, const double *r, double *sum) {
  const size_t n = (size_t)op->dofs;
  double *zero = (double *)calloc(n + 1, sizeof *zero), p_ap = NAN, rr, rz;
  CHECK(zero, "no memory");
  for (size_t i = 0; i < n; i++) sum[i] = NAN;
  sp_cg_vectors vectors = {.x = bench_upload(b, n, zero),
                           .r = bench_upload(b, n, r),
                           .p = bench_upload(b, n, zero),
                           .ap = bench_upload(b, n, zero)};
  vectors.next_p = b->backend->two_directions ? bench_upload(b, n, sum) : vectors.p;
  CHECK(sp_operator_direction(op, 0, &vectors, SP_OK, &p_ap) == SP_OK, "%s", sp_error_message());
  CHECK(sp_operator_update(op, -1, &vectors, &rr, &rz) == SP_OK, "%s", sp_error_message());
  bench_download(b, n, vectors.r, sum);
  if (vectors.next_p != vectors.p) b->backend->vector_destroy(b->device, &vectors.next_p);
  b->backend->vector_destroy(b->device, &vectors.x);
  b->backend->vector_destroy(b->device, &vectors.r);
  b->backend->vector_destroy(b->device, &vectors.p);
  b->backend->vector_destroy(b->device, &vectors.ap);
  free(zero);
  return p_ap;
}

#endif
