#include "solver/bench/vectors.h"

sp_status sp_bench_repeat(size_t size, const double *values, sp_vector *all) {
  sp_vector first = sp_vector_part(all, 0, size);
  sp_status status = sp_vector_write(values, &first);
  for (size_t done = size; done < all->count && !status; done += size) {
    sp_vector next = sp_vector_part(all, done, all->count - done < size ? all->count - done : size);
    status = sp_vector_copy(&first, &next);
  }
  return status ? status : all->platform->backend->finish(all->platform->device);
}
