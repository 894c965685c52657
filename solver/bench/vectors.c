#include "solver/bench/vectors.h"

#include <stdlib.h>

double sp_bench_round(sp_precision precision, double value) {
  return precision == SP_SINGLE ? (double)(float)value : value;
}

void *sp_bench_entry(sp_precision precision, void *vector, size_t index) {
  return (char *)vector + index * sp_precision_bytes(precision);
}

sp_status sp_bench_upload(const sp_backend *backend, sp_device *device, sp_precision precision,
                          size_t count, const double *values, void *vector) {
  if (precision == SP_DOUBLE) return backend->upload(device, SP_DOUBLE, count, values, vector);
  float *rounded;
  SP_TRY(sp_allocate(count, sizeof *rounded, "numbers in single precision", &rounded));
  for (size_t i = 0; i < count; i++) rounded[i] = (float)values[i];
  const sp_status status = backend->upload(device, SP_SINGLE, count, rounded, vector);
  free(rounded);
  return status;
}

sp_status sp_bench_download(const sp_backend *backend, sp_device *device, sp_precision precision,
                            size_t count, const void *vector, double *values) {
  if (precision == SP_DOUBLE) return backend->download(device, SP_DOUBLE, count, vector, values);
  float *rounded;
  SP_TRY(sp_allocate(count, sizeof *rounded, "numbers in single precision", &rounded));
  const sp_status status = backend->download(device, SP_SINGLE, count, vector, rounded);
  for (size_t i = 0; i < count && !status; i++) values[i] = rounded[i];
  free(rounded);
  return status;
}
