#include "solver/run/vectors.h"

#include <math.h>

#include "io/threads.h"

typedef struct vectors {
  const double *x;
  double *y;
  double largest;
} vectors;

static sp_status add_some(void *vectors_, void *none, size_t begin, size_t end) {
  (void)none;
  const vectors *v = vectors_;
  for (size_t i = begin; i < end; i++) v->y[i] += v->x[i];
  return SP_OK;
}

sp_status sp_vectors_add(size_t count, const double *x, double *y) {
  vectors v = {.x = x, .y = y};
  return sp_loop_over("vectors", count, 1, &v, add_some);
}

static sp_status find_largest(void *vectors_, void *workspace, size_t begin, size_t end) {
  const vectors *v = vectors_;
  double largest = 0;
  for (size_t i = begin; i < end; i++)
    if (fabs(v->x[i]) > largest) largest = fabs(v->x[i]);
  *(double *)workspace = largest;
  return SP_OK;
}

static void join_largest(void *vectors_, void *workspace, size_t begin, size_t end) {
  (void)begin, (void)end;
  vectors *v = vectors_;
  v->largest = fmax(v->largest, *(const double *)workspace);
}

sp_status sp_vectors_largest(size_t count, const double *x, double *largest) {
  vectors v = {.x = x};
  const sp_status status =
      sp_loop_sum("vectors", count, 1, &v, sizeof(double), find_largest, join_largest);
  *largest = v.largest;
  return status;
}
