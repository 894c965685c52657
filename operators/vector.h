/* Vectors in the memory of a backend. A `double *` is always host memory.
 *
 * Output vectors share no entry with other vectors of the call, except where the function allows
 * it. Functions are Local and queue their work (operators/backend.h, Order); create, write and read
 * wait for it. All vectors of a call have the same platform, precision and count if not stated
 * otherwise. Errors: SP_ERR_SYSTEM for memory or a failed device, possibly in earlier work. */
#pragma once

#include "operators/platform.h"

typedef struct sp_vector {
  const sp_platform *platform; /* borrowed */
  sp_precision precision;
  size_t count;
  void *data; /* [count], in the backend's memory; NULL: no vector */
} sp_vector;

/* out becomes a vector of `count` zeros. The caller destroys it, also after an error. */
sp_status sp_vector_create(const sp_platform *platform, sp_precision precision, size_t count,
                           sp_vector *out);

/* Zeroes *vector; safe for a zeroed struct. Queued work may still use the entries. */
void sp_vector_destroy(sp_vector *vector);

/* A view of `count` entries of *whole from `first` on; not to be destroyed. */
sp_vector sp_vector_part(const sp_vector *whole, size_t first, size_t count);

/* vector = host and host = vector, [count]; rounded in single precision. */
sp_status sp_vector_write(const double *host, sp_vector *vector);
sp_status sp_vector_read(const sp_vector *vector, double *host);

/* to = from, bit for bit. */
static inline sp_status sp_vector_copy(const sp_vector *from, sp_vector *to) {
  const sp_platform *p = to->platform;
  return p->backend->copy(p->device, to->precision, to->count, from->data, to->data);
}

/* to = scale from; their precisions may differ. */
static inline sp_status sp_vector_convert(double scale, const sp_vector *from, sp_vector *to) {
  const sp_platform *p = to->platform;
  return p->backend->convert(p->device, to->count, scale, from->precision, from->data,
                             to->precision, to->data);
}

/* Set every entry to `value`. */
static inline sp_status sp_vector_fill(double value, sp_vector *vector) {
  const sp_platform *p = vector->platform;
  return p->backend->fill(p->device, vector->precision, vector->count, value, vector->data);
}

/* y = the sum of weights[k] x[k], k < terms, from 1 to SP_TERMS_MOST; y may be one of x. */
sp_status sp_vector_combine(int terms, const double *weights, const sp_vector *const *x,
                            sp_vector *y);

/* y = a x + b y; with b = 0, y may hold anything before. */
sp_status sp_vector_axpby(double a, const sp_vector *x, double b, sp_vector *y);

/* z = x y, entry by entry. z may be x or y, or both. */
static inline sp_status sp_vector_multiply(const sp_vector *x, const sp_vector *y, sp_vector *z) {
  const sp_platform *p = z->platform;
  return p->backend->multiply(p->device, z->precision, z->count, x->data, y->data, z->data);
}

/* A step of Chebyshev's iteration: sp_correction (operators/backend.h), of vectors. */
typedef struct sp_smoothing {
  double a, b, c;
  bool first;
  const sp_vector *s, *t, *q;
  sp_vector *r, *d, *x;
} sp_smoothing;

/* Convert the step for a backend's table. */
sp_correction sp_smoothing_correction(const sp_smoothing *step);

/* Do the step; q may be NULL. */
static inline sp_status sp_vector_correct(const sp_smoothing *step) {
  const sp_vector *any = step->t;
  const sp_correction raw = sp_smoothing_correction(step);
  return any->platform->backend->correct(any->platform->device, any->precision, any->count, &raw);
}
