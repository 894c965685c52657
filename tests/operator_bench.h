/* Operators on a backend, for tests: vectors stay in host memory, and failures are counted as
 * failed checks. */
#pragma once

#include <float.h>
#include <stdlib.h>

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

/* Begin the test with the backend given by its first argument (tests/device.h), and the transport
 * given by the second (default auto). Collective over MPI_COMM_WORLD. */
static inline void bench_begin(int *argc, char ***argv, bench *b) {
  test_begin(argc, argv);
  *b = (bench){.comm = MPI_COMM_WORLD};
  device_open(*argc, *argv, &b->platform);
  b->backend = b->platform.backend;
  b->device = b->platform.device;
}

/* End the test with main's result. Collective over MPI_COMM_WORLD. */
static inline int bench_end(bench *b) {
  sp_platform_close(&b->platform);
  return check_end();
}

/* A bench of only this rank on the device of *b, which must be closed later. Local. */
static inline void bench_open_alone(const bench *b, bench *alone) {
  *alone = *b;
  alone->comm = alone->platform.comm = MPI_COMM_SELF;
  CHECK_OK(sp_reduction_create(MPI_COMM_SELF, &alone->platform.reduction));
}

static inline void bench_close_alone(bench *alone) {
  sp_reduction_destroy(&alone->platform.reduction);
}

/* Collective over b->comm. */
static inline sp_space *bench_space(const bench *b, const sp_mesh *mesh, int order) {
  sp_space *space = NULL;
  CHECK_OK(sp_space_create(&b->platform, mesh, order, &space));
  if (!space) MPI_Abort(MPI_COMM_WORLD, 1); /* nothing left to test */
  if (b->backend == sp_backend_cuda)
    device_check_exchange(sp_comm_size(b->comm), space->transport, b->platform.transport);
  return space;
}

/* Collective over the communicator of the setup's space. */
static inline sp_operator *bench_operator(const sp_operator_setup *setup) {
  sp_operator *op = NULL;
  CHECK_OK(sp_operator_create(setup, &op));
  if (!op) MPI_Abort(MPI_COMM_WORLD, 1);
  return op;
}

/* True if the backend has operators in this precision. Local. */
static inline bool bench_has(const bench *b, sp_precision precision) {
  return precision == SP_DOUBLE || b->backend->single_operators;
}

/* The machine epsilon of a precision. Local. */
static inline double bench_epsilon(sp_precision precision) {
  return precision == SP_SINGLE ? FLT_EPSILON : DBL_EPSILON;
}

/* A vector of a precision with values[count]. */
static inline sp_vector bench_upload_as(const bench *b, sp_precision precision, size_t count,
                                        const double *values) {
  sp_vector vector;
  CHECK_OK(sp_vector_create(&b->platform, precision, count, &vector));
  CHECK_OK(sp_vector_write(values, &vector));
  return vector;
}

static inline sp_vector bench_upload(const bench *b, size_t count, const double *values) {
  return bench_upload_as(b, SP_DOUBLE, count, values);
}

static inline void bench_download(const sp_vector *vector, double *values) {
  CHECK_OK(sp_vector_read(vector, values));
}

/* y = A x in the operator's precision, through the backend's memory, where y, another vector,
 * starts as rubbish. */
static inline void bench_apply(const bench *b, sp_operator *op, bool constrained, const double *x,
                               double *y) {
  const size_t n = (size_t)op->dofs;
  for (size_t i = 0; i < n; i++) y[i] = NAN;
  sp_vector on_x = bench_upload_as(b, op->precision, n, x);
  sp_vector on_y = bench_upload_as(b, op->precision, n, y);
  CHECK_OK(sp_operator_apply(op, constrained, &on_x, &on_y));
  bench_download(&on_y, y);
  sp_vector_destroy(&on_x);
  sp_vector_destroy(&on_y);
}

/* Both passes of CG from r, with beta = 0 and a step of -1: p = r and sum = r + A p. Returns p.Ap
 * as pass 1 has it. */
static inline double bench_passes(const bench *b, sp_operator *op, const double *r, double *sum) {
  const size_t n = (size_t)op->dofs;
  double *zero = (double *)calloc(n + 1, sizeof *zero), p_ap = NAN, rr, rz;
  CHECK(zero, "no memory");
  for (size_t i = 0; i < n; i++) sum[i] = NAN;
  sp_vector on_x = bench_upload(b, n, zero), on_r = bench_upload(b, n, r);
  sp_vector p = bench_upload(b, n, zero), ap = bench_upload(b, n, zero);
  sp_vector next_p = bench_upload(b, n, sum);
  sp_cg_vectors vectors = {.x = &on_x,
                           .r = &on_r,
                           .z = &on_r,
                           .p = &p,
                           .next_p = b->backend->two_directions ? &next_p : &p,
                           .ap = &ap};
  sp_pass_times times;
  CHECK_OK(sp_operator_direction(op, 0, &vectors, SP_OK, &p_ap, &times));
  CHECK_OK(sp_operator_update(op, -1, &vectors, &rr, &rz));
  bench_download(&on_r, sum);
  sp_vector_destroy(&on_x);
  sp_vector_destroy(&on_r);
  sp_vector_destroy(&p);
  sp_vector_destroy(&next_p);
  sp_vector_destroy(&ap);
  free(zero);
  return p_ap;
}
