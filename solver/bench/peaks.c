#include "solver/bench/peaks.h"

#include <math.h>
#include <string.h>

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
  int ranks;
  MPI_Comm_size(clock->comm, &ranks);
  sp_bench_row row = {.bytes = 3.0 * sizeof(double) * ENTRIES * ranks};
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

double sp_bench_bound(const sp_bench_row *row, double bandwidth, double multiply_adds) {
  sp_operator_kind kind = SP_MASS;
  while (strcmp(sp_operator_name(kind), row->problem) != 0) kind++;
  const bool trilinear = strcmp(row->geometry, sp_geometry_kind_name(SP_GEOMETRY_TRILINEAR)) == 0;
  const sp_geometry_kind geometry = trilinear ? SP_GEOMETRY_TRILINEAR : SP_GEOMETRY_STORED;
  const bool single = strcmp(row->precision, sp_bench_precision_names[SP_SINGLE]) == 0;
  const sp_precision precision = single ? SP_SINGLE : SP_DOUBLE;
  const bool cg = strcmp(row->what, sp_bench_what_name(SP_BENCH_CG)) == 0;
  const bool local = strcmp(row->what, sp_bench_what_name(SP_BENCH_UNASSEMBLED)) == 0;
  const int order = (int)row->order;
  const double elements = (double)row->elements, dofs = (double)row->dofs;
  const bool one_sweep = sp_cg_prefers_one_sweep(&sp_backend_host, kind, geometry, order);
  const sp_factor_kind factors = sp_factor_kind_of(geometry);
  const double bytes =
      local ? elements * sp_operator_bytes(kind, factors, precision, order)
            : sp_operator_bytes_assembled(kind, factors, precision, order, elements, dofs) +
                  (cg ? (one_sweep ? 64 - 16 : 80 - 16) * dofs : 0);
  const double arithmetic = elements * sp_host_arithmetic(kind, geometry, order) / (single ? 2 : 1);
  return fmax(bytes / bandwidth, arithmetic / multiply_adds);
}
