/* Operators on a backend, for tests: vectors stay in host memory, and failures are counted as
 * failed checks. */
#ifndef SP_TESTS_OPERATOR_BENCH_H
#define SP_TESTS_OPERATOR_BENCH_H

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "operators/operator.h"
#include "tests/check.h"
#include "tests/device.h"

typedef struct bench {
  sp_platform platform; /* spaces point to it: a bench must not be moved or copied */
  /* Of the platform. */
  MPI_Comm comm;
  const sp_backend *backend;
  sp_device *device;
} bench;

/* Open the backend given by the test's first argument (tests/device.h), with the transport given by
 * the second (default auto). Collective over MPI_COMM_WORLD. */
static inline void bench_open(int argc, char **argv, bench *b) {
  *b = (bench){.comm = MPI_COMM_WORLD};
  device_open(argc, argv, &b->platform);
  b->backend = b->platform.backend;
  b->device = b->platform.device;
}

static inline void bench_close(bench *b) {
  sp_platform_close(&b->platform);
}

/* A bench of this rank alone on the device of *b, which must be closed later. Local. */
static inline void bench_open_alone(const bench *b, bench *alone) {
  *alone = *b;
  alone->comm = alone->platform.comm = MPI_COMM_SELF;
  CHECK(sp_reduction_create(MPI_COMM_SELF, &alone->platform.reduction) == SP_OK, "%s",
        sp_error_message());
}

static inline void bench_close_alone(bench *alone) {
  sp_reduction_destroy(&alone->platform.reduction);
}

/* Collective over b->comm. */
static inline sp_space *bench_space(const bench *b, const sp_mesh *mesh, int order) {
  sp_space *space = NULL;
  CHECK(sp_space_create(&b->platform, mesh, order, &space) == SP_OK, "%s", sp_error_message());
  if (!space) MPI_Abort(MPI_COMM_WORLD, 1); /* nothing left to test */
  int ranks;
  MPI_Comm_size(b->comm, &ranks);
  if (b->backend == sp_backend_cuda)
    device_check_exchange(ranks, space->transport, b->platform.transport);
  return space;
}

/* Collective over the communicator of the setup's space. */
static inline sp_operator *bench_operator(const sp_operator_setup *setup) {
  sp_operator *op = NULL;
  CHECK(sp_operator_create(setup, &op) == SP_OK, "%s", sp_error_message());
  if (!op) MPI_Abort(MPI_COMM_WORLD, 1);
  return op;
}

/* Whether the backend has operators in this precision. Local. */
static inline bool bench_has(const bench *b, sp_precision precision) {
  return precision == SP_DOUBLE || b->backend->single_operators;
}

/* The machine epsilon of a precision. Local. */
static inline double bench_epsilon(sp_precision precision) {
  return precision == SP_SINGLE ? FLT_EPSILON : DBL_EPSILON;
}

/* A vector in the backend's memory with a copy of values[count]. */
static inline double *bench_upload(const bench *b, size_t count, const double *values) {
  double *vector = NULL;
  CHECK(b->backend->vector_create(b->device, SP_DOUBLE, count, &vector) == SP_OK, "%s",
        sp_error_message());
  CHECK(b->backend->upload(b->device, SP_DOUBLE, count, values, vector) == SP_OK, "%s",
        sp_error_message());
  return vector;
}

static inline void bench_download(const bench *b, size_t count, const double *vector,
                                  double *values) {
  CHECK(b->backend->download(b->device, SP_DOUBLE, count, vector, values) == SP_OK, "%s",
        sp_error_message());
}

/* The same in either precision: values are rounded on the way up. */
static inline void *bench_upload_as(const bench *b, sp_precision precision, size_t count,
                                    const double *values) {
  if (precision == SP_DOUBLE) return bench_upload(b, count, values);
  float *vector = NULL, *rounded = (float *)calloc(count + 1, sizeof *rounded);
  CHECK(rounded, "no memory");
  for (size_t i = 0; i < count; i++) rounded[i] = (float)values[i];
  CHECK(b->backend->vector_create(b->device, SP_SINGLE, count, &vector) == SP_OK, "%s",
        sp_error_message());
  CHECK(b->backend->upload(b->device, SP_SINGLE, count, rounded, vector) == SP_OK, "%s",
        sp_error_message());
  free(rounded);
  return vector;
}

static inline void bench_download_as(const bench *b, sp_precision precision, size_t count,
                                     const void *vector, double *values) {
  if (precision == SP_DOUBLE) {
    bench_download(b, count, (const double *)vector, values);
    return;
  }
  float *rounded = (float *)calloc(count + 1, sizeof *rounded);
  CHECK(rounded, "no memory");
  CHECK(b->backend->download(b->device, SP_SINGLE, count, vector, rounded) == SP_OK, "%s",
        sp_error_message());
  for (size_t i = 0; i < count; i++) values[i] = rounded[i];
  free(rounded);
}

/* y = A x in the operator's precision, through the backend's memory, where y, another vector,
 * starts as rubbish. */
static inline void bench_apply(const bench *b, sp_operator *op, bool constrained, const double *x,
                               double *y) {
  const size_t n = (size_t)op->dofs;
  for (size_t i = 0; i < n; i++) y[i] = NAN;
  void *device_x = bench_upload_as(b, op->precision, n, x);
  void *device_y = bench_upload_as(b, op->precision, n, y);
  CHECK(sp_operator_apply(op, constrained, device_x, device_y) == SP_OK, "%s", sp_error_message());
  bench_download_as(b, op->precision, n, device_y, y);
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
  vectors.z = vectors.r;
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
