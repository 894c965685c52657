/* Vectors in the memory of a backend. A `double *` is always host memory.
 *
 * A vector that is written shares no entry with the others of the call, except where the function
 * allows it. Functions are Local and queue their work (operators/backend.h, Order), except create,
 * write and read, which return when it is done. Where a call takes several vectors, they have one
 * platform, precision and count, unless it says otherwise. Errors: SP_ERR_SYSTEM for memory or a
 * failed device, which may be that of earlier work. */
#pragma once

#include "operators/platform.h"

typedef struct sp_vector {
  const sp_platform *platform; /* borrowed */
  sp_precision precision;
  size_t count;
  void *data; /* [count], in the backend's memory; NULL: no vector */
} sp_vector;

/* *out becomes a vector of `count` zeros, or after an error one that may be destroyed. The caller
 * destroys it. */
sp_status sp_vector_create(const sp_platform *platform, sp_precision precision, size_t count,
                           sp_vector *out);

/* Safe for a zeroed struct, which *vector becomes. Queued work may still use the entries. */
void sp_vector_destroy(sp_vector *vector);

/* `count` entries of *whole from `first` on: a view, which is not destroyed. */
sp_vector sp_vector_part(const sp_vector *whole, size_t first, size_t count);

/* vector = host and host = vector, [count]; in single precision entries are rounded on the way. */
sp_status sp_vector_write(const double *host, sp_vector *vector);
sp_status sp_vector_read(const sp_vector *vector, double *host);

/* to = from, bit for bit. */
sp_status sp_vector_copy(const sp_vector *from, sp_vector *to);

/* to = scale from; their precisions may differ. */
sp_status sp_vector_convert(double scale, const sp_vector *from, sp_vector *to);

/* Set every entry to `value`. */
sp_status sp_vector_fill(double value, sp_vector *vector);

/* y = a x + b y; with b = 0, y may hold anything before. */
sp_status sp_vector_axpby(double a, const sp_vector *x, double b, sp_vector *y);

/* z = x y, entry by entry. z may be x or y, or both. */
sp_status sp_vector_multiply(const sp_vector *x, const sp_vector *y, sp_vector *z);

/* A step of Chebyshev's iteration: sp_correction (operators/backend.h), of vectors. */
typedef struct sp_smoothing {
  double a, b, c;
  bool first;
  const sp_vector *s, *t, *q;
  sp_vector *r, *d, *x;
} sp_smoothing;

/* Take the step, without q or with one that is known. */
sp_status sp_vector_correct(const sp_smoothing *step);

/* The step for a backend's table. */
sp_correction sp_smoothing_correction(const sp_smoothing *step);
