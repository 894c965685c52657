#include "solver/bench/peaks.h"

#include <math.h>

#include "operators/counts.h"
#include "operators/host/peak.h"
#include "solver/bench/options.h"
#include "solver/linear/cg.h"

enum { ENTRIES = 8 << 20 };

typedef struct stream {
  sp_vector x, *y;
} stream;

static sp_status call_axpby(const void *context, int turn) {
  const stream *s = context;
  (void)turn;
  return sp_vector_axpby(0.5, &s->x, 0.5, s->y);
}

sp_status sp_bench_peaks(const sp_bench_clock *clock, double *bandwidth, double *multiply_adds) {
  sp_vector y = {0};
  stream s = {.y = &y};
  sp_bench_row row = {.bytes = 3.0 * sizeof(double) * ENTRIES * sp_comm_size(clock->comm)};
  sp_status status = sp_vector_create(clock->platform, SP_DOUBLE, ENTRIES, &s.x);
  if (!status) status = sp_vector_create(clock->platform, SP_DOUBLE, ENTRIES, &y);
  status = sp_agree(clock->comm, status);
  if (!status) status = sp_bench_time(clock, call_axpby, &s, 0, &row);
  sp_vector_destroy(&s.x);
  sp_vector_destroy(&y);
  *bandwidth = row.gbytes_per_second * 1e9;
  MPI_Barrier(clock->comm);
  *multiply_adds = sp_host_multiply_add_rate(clock->platform->device);
  MPI_Allreduce(MPI_IN_PLACE, multiply_adds, 1, MPI_DOUBLE, MPI_SUM, clock->comm);
  return status;
}

double sp_bench_bound(const sp_bench_step *step, sp_bench_what what, int64_t dofs, double bandwidth,
                      double multiply_adds) {
  const sp_operator_kind kind = step->kind;
  const sp_geometry_kind geometry = step->geometry;
  const sp_precision precision = step->precision;
  const int order = (int)step->key.order;
  const double elements = (double)step->key.elements;
  const bool one_sweep = sp_cg_prefers_one_sweep(&sp_backend_host, kind, geometry, order);
  const sp_factor_kind factors = sp_factor_kind_of(geometry);
  const double bytes =
      what == SP_BENCH_UNASSEMBLED
          ? elements * sp_operator_bytes(kind, factors, precision, order)
          : sp_operator_bytes_assembled(kind, factors, precision, order, elements, (double)dofs) +
                (what == SP_BENCH_CG ? (one_sweep ? 64 - 16 : 80 - 16) * (double)dofs : 0);
  const double arithmetic =
      elements * sp_host_arithmetic(kind, geometry, order) / (precision == SP_SINGLE ? 2 : 1);
  return fmax(bytes / bandwidth, arithmetic / multiply_adds);
}
