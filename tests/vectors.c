/* A backend's vectors in double and single precision against plain loops. Lengths leave every
 * remainder; entries behind the end stay; a repetition gives the same bits; vectors are passed
 * twice where operators/backend.h allows it. On the host for every instruction set that the
 * processor has; with the argument `cuda` on a GPU. */
#include <float.h>
#include <stdint.h>

#include "io/threads.h"
#include "operators/host/device.h"
#include "tests/deformed_box.h"
#include "tests/operator_bench.h"

enum { BEHIND = 40, LONG = 100003 }; /* entries behind the end; the longest vector */

/* The operations under test: the backend's, or on the host the kernels of one instruction set. */
typedef struct subject {
  const bench *bench;
  const sp_host_vectors *host; /* NULL: the backend's */
  sp_precision precision;
  size_t n;
} subject;

static double rounded(const subject *s, double value) {
  return s->precision == SP_SINGLE ? (double)(float)value : value;
}

static size_t bytes_of(const subject *s) {
  return (s->n + BEHIND) * sizeof(double);
}

/* Random numbers of different sizes, and `behind` behind the end: on the host. */
static double *make(const subject *s, int seed, double behind) {
  double *numbers = test_array(s->n + BEHIND, sizeof *numbers);
  for (size_t i = 0; i < s->n + BEHIND; i++)
    numbers[i] = i >= s->n
                     ? behind
                     : rounded(s, ldexp(random_value(seed, (sp_gid)i), (int)(i * 5 % 17) - 8));
  return numbers;
}

static void *upload(const subject *s, const double *host) {
  return bench_upload_as(s->bench, s->precision, s->n + BEHIND, host).data;
}

/* Download into `host`, unless NULL, and destroy. */
static void take(const subject *s, void *vector, double *host) {
  AUTO_VALUE(sp_vector) from = {&s->bench->platform, s->precision, s->n + BEHIND, vector};
  if (host) bench_download(&from, host);
}

static void combine(const subject *s, int terms, const double *weights, const void *const *x,
                    void *y) {
  const bench *on = s->bench;
  if (s->host)
    s->host->combine[s->precision](s->n, terms, weights, x, y);
  else
    CHECK_OK(on->backend->combine(on->device, s->precision, s->n, terms, weights, x, y));
}

static void axpby(const subject *s, double a, const void *x, double b, void *y) {
  const double weights[] = {a, b};
  combine(s, b == 0 ? 1 : 2, weights, (const void *[]){x, y}, y);
}

static void multiply(const subject *s, const void *x, const void *y, void *z) {
  const bench *on = s->bench;
  if (s->host)
    s->host->multiply[s->precision](s->n, x, y, z);
  else
    CHECK_OK(on->backend->multiply(on->device, s->precision, s->n, x, y, z));
}

static double dot_product(const subject *s, const void *x, const void *y) {
  const bench *on = s->bench;
  double sum = NAN;
  if (s->host)
    sum = s->host->dot[s->precision](s->n, x, y);
  else
    CHECK_OK(on->backend->dot(on->device, s->precision, s->n, x, y, &sum));
  return sum;
}

static void correct(const subject *s, const sp_correction *step) {
  const bench *on = s->bench;
  if (s->host)
    s->host->correct[s->precision](s->n, step);
  else
    CHECK_OK(on->backend->correct(on->device, s->precision, s->n, step));
}

static const char *name_of(const subject *s) {
  return s->precision == SP_SINGLE ? "single" : "double";
}

/* Any bits are copied back unchanged; copying a part does not touch the rest, which is zero at
 * first, also in reused memory. */
static void check_storage(const subject *s) {
  const bench *b = s->bench;
  const size_t total = s->n + BEHIND, size = sp_precision_bytes(s->precision);
  unsigned char *bits = test_array(3 * total, size), *got = bits + total * size,
                *want = got + total * size;
  void *vector = NULL, *other = NULL;
  for (size_t i = 0; i < total * size; i++) bits[i] = (unsigned char)(i * 131 % 251);
  for (int again = 0; again < 2; again++) {
    CHECK_OK(b->backend->vector_create(b->device, s->precision, total, &vector));
    CHECK_OK(b->backend->vector_create(b->device, s->precision, total, &other));
    for (int part = 0; part < 4; part++) {
      const size_t n = part == 0 ? 0 : part == 3 ? total : s->n;
      if (part == 2) {
        CHECK_OK(b->backend->copy(b->device, s->precision, n, vector, other));
      } else {
        CHECK_OK(b->backend->upload(b->device, s->precision, n, bits, vector));
      }
      memset(want, 0, total * size);
      memcpy(want, bits, n * size);
      memset(got, 1, total * size);
      CHECK_OK(
          b->backend->download(b->device, s->precision, total, part == 2 ? other : vector, got));
      CHECK(memcmp(got, want, total * size) == 0, "%s, %zu of %zu entries, part %d: other bits",
            name_of(s), n, total, part);
    }
    /* No more than requested. */
    memset(got, 1, total * size);
    CHECK_OK(b->backend->download(b->device, s->precision, s->n, vector, got));
    CHECK(memcmp(got, bits, s->n * size) == 0, "%s: the first %zu entries", name_of(s), s->n);
    for (size_t i = s->n * size; i < total * size; i++)
      CHECK(got[i] == 1, "%s: %zu entries are asked for, and byte %zu comes", name_of(s), s->n, i);
    CHECK_OK(b->backend->finish(b->device));
    b->backend->vector_destroy(b->device, &vector);
    b->backend->vector_destroy(b->device, &other);
    CHECK(!vector && !other, "destroyed");
  }
  b->backend->vector_destroy(b->device, &vector); /* NULL */
}

static void check_behind(const subject *s, const char *what, const double *numbers, double behind) {
  for (size_t i = s->n; i < s->n + BEHIND; i++)
    CHECK(numbers[i] == behind, "%s in %s: entry %zu behind the %zu is %g", what, name_of(s),
          i - s->n, s->n, numbers[i]);
}

/* True if `got` is a x + b y with a rounding of each product and of the sum, or with one product in
 * the sum unrounded. With b = 0 it is the product, rounded. */
static bool is_axpby(const subject *s, double got, double a, double x, double b, double y) {
  if (s->precision == SP_SINGLE) {
    const float fa = (float)a, fx = (float)x, fb = (float)b, fy = (float)y, f = (float)got;
    const volatile float ax = fa * fx, by = fb * fy;
    if (b == 0) return f == ax;
    return f == ax + by || f == fmaf(fa, fx, by) || f == fmaf(fb, fy, ax);
  }
  const volatile double ax = a * x, by = b * y;
  if (b == 0) return got == ax;
  return got == ax + by || got == fma(a, x, by) || got == fma(b, y, ax);
}

static void check_fill(const subject *s) {
  if (s->host) return; /* a call without a kernel of its own */
  double *got = make(s, 1, 7);
  size_t wrong = 0;
  void *x = upload(s, got);
  CHECK_OK(s->bench->backend->fill(s->bench->device, s->precision, s->n, 0.75, x));
  take(s, x, got);
  for (size_t i = 0; i < s->n; i++) wrong += got[i] != 0.75;
  CHECK(wrong == 0, "%s: %zu of %zu entries are not filled", name_of(s), wrong, s->n);
  check_behind(s, "fill", got, 7);
}

static void check_axpby(const subject *s) {
  /* Not 0.7 and -1.3, but floats near to them. */
  static const double factors[][2] = {{1, 1},  {0.7f, -1.3f}, {-1.3f, 1}, {1, 0.7f}, {0, -1.3f},
                                      {0, -1}, {0.7f, 0},     {1, 0},     {0, 0}};
  double *x = make(s, 1, NAN), *got = make(s, 0, 0), *again = make(s, 0, 0);
  void *device_x = upload(s, x);
  for (size_t f = 0; f < COUNT_OF(factors); f++) {
    const double a = factors[f][0], b = factors[f][1];
    double *y = make(s, 2, 7);
    for (size_t i = 0; i < s->n && b == 0; i++) y[i] = NAN; /* may hold anything */
    for (int time = 0; time < 2; time++) {
      void *device_y = upload(s, y);
      axpby(s, a, device_x, b, device_y);
      take(s, device_y, time == 0 ? got : again);
    }
    size_t wrong = 0;
    for (size_t i = 0; i < s->n; i++) wrong += !is_axpby(s, got[i], a, x[i], b, y[i]);
    CHECK(wrong == 0, "%s: %zu of %zu entries of %g x + %g y are wrong", name_of(s), wrong, s->n, a,
          b);
    CHECK(memcmp(got, again, bytes_of(s)) == 0, "%s: two runs of %g x + %g y differ", name_of(s), a,
          b);
    check_behind(s, "a x + b y", got, 7);
  }
  take(s, device_x, got);
  CHECK(memcmp(got, x, bytes_of(s)) == 0, "%s: x of a x + b y has changed", name_of(s));
}

/* Sums of three and four terms, into another vector and into one of them. */
static void check_combine(const subject *s) {
  static const double weights[] = {0.7f, -1.3f, 2, -0.1f};
  const double epsilon = s->precision == SP_SINGLE ? FLT_EPSILON : DBL_EPSILON;
  double *x[SP_TERMS_MOST], *got = make(s, 0, 0);
  void *device_x[SP_TERMS_MOST];
  for (int terms = 3; terms <= SP_TERMS_MOST; terms++)
    for (int target = 0; target <= terms; target++) {
      for (int k = 0; k < terms; k++) device_x[k] = upload(s, x[k] = make(s, k + 1, 7));
      void *y = target < terms ? device_x[target] : upload(s, make(s, 9, 7));
      combine(s, terms, weights, (const void *const *)device_x, y);
      take(s, y, got);
      for (int k = 0; k < terms; k++)
        if (k != target) take(s, device_x[k], NULL);
      size_t wrong = 0;
      for (size_t i = 0; i < s->n; i++) {
        double sum = 0, size = 0;
        for (int k = 0; k < terms; k++)
          sum += weights[k] * x[k][i], size += fabs(weights[k] * x[k][i]);
        wrong += !(fabs(got[i] - sum) <= 4 * epsilon * size);
      }
      CHECK(wrong == 0, "%s: %zu of %zu sums of %d terms are wrong", name_of(s), wrong, s->n,
            terms);
      check_behind(s, "a sum of terms", got, 7);
    }
}

/* z = x y, also with vectors that are the same: the factors, or a factor and the product. A product
 * that is another vector may hold anything before. */
static void check_multiply(const subject *s) {
  static const struct {
    const char *name;
    int x, y, z; /* of three vectors */
  } calls[] = {{"z = x y", 0, 1, 2},
               {"z = x x", 0, 0, 2},
               {"x = x y", 0, 1, 0},
               {"y = x y", 0, 1, 1},
               {"x = x x", 0, 0, 0}};
  double *const host[3] = {make(s, 3, 7), make(s, 4, 7), make(s, 5, 7)};
  double *want = make(s, 0, 0), *got = make(s, 0, 0);
  for (size_t i = 0; i < s->n; i += 3) host[2][i] = NAN;
  for (size_t c = 0; c < COUNT_OF(calls); c++) {
    void *vectors[3];
    for (int v = 0; v < 3; v++) vectors[v] = upload(s, host[v]);
    multiply(s, vectors[calls[c].x], vectors[calls[c].y], vectors[calls[c].z]);
    for (int v = 0; v < 3; v++) {
      memcpy(want, host[v], bytes_of(s));
      for (size_t i = 0; i < s->n && v == calls[c].z; i++)
        want[i] = rounded(s, host[calls[c].x][i] * host[calls[c].y][i]); /* exact for floats */
      take(s, vectors[v], got);
      CHECK(memcmp(got, want, bytes_of(s)) == 0, "%s, n = %zu: vector %d of %s is wrong",
            name_of(s), s->n, v, calls[c].name);
    }
  }
}

/* The residual of a correction: t; or t - q, in a separate vector or in t. */
typedef enum residual_kind { GIVEN, APART, IN_PLACE, RESIDUAL_KINDS } residual_kind;
typedef enum scale_kind { OTHER, NONE, SAME, SCALE_KINDS } scale_kind; /* s: a vector, NULL, or t */

/* Six roundings on the way to x, each of half an epsilon, relative to the sizes of the terms. */
static void check_correction(const subject *s, scale_kind scales, residual_kind kind, double a,
                             bool first) {
  const double b = -1.3f, c = 0.7f;
  const double roundings = 3 * (s->precision == SP_SINGLE ? FLT_EPSILON : DBL_EPSILON);
  double *const scale = make(s, 8, NAN), *t = make(s, 9, NAN), *q = make(s, 12, NAN);
  double *const d = make(s, 10, 7), *x = make(s, 11, 7), *r = make(s, 13, 7);
  double *const got_d = make(s, 0, 0), *got_x = make(s, 0, 0), *got_r = make(s, 0, 0);
  double *const got_t = make(s, 0, 0);
  for (size_t i = 0; i < s->n && a == 0; i++) d[i] = NAN; /* may hold anything */
  for (size_t i = 0; i < s->n && first; i++) x[i] = NAN;
  void *on_scale = upload(s, scale), *on_t = upload(s, t), *on_q = upload(s, q);
  void *on_d = upload(s, d), *on_x = upload(s, x), *on_r = upload(s, r);
  correct(s, &(sp_correction){.a = a,
                              .b = b,
                              .c = c,
                              .first = first,
                              .s = scales == OTHER  ? on_scale
                                   : scales == SAME ? on_t
                                                    : NULL,
                              .t = on_t,
                              .q = kind == GIVEN ? NULL : on_q,
                              .r = kind == IN_PLACE ? on_t : on_r,
                              .d = on_d,
                              .x = on_x});
  take(s, on_d, got_d);
  take(s, on_x, got_x);
  take(s, on_r, got_r);
  take(s, on_t, got_t);
  take(s, on_scale, NULL);
  take(s, on_q, NULL);
  size_t wrong = 0;
  for (size_t i = 0; i < s->n; i++) {
    const double ti = t[i], qi = kind == GIVEN ? 0 : q[i], ri = ti - qi;
    const double si = scales == OTHER ? scale[i] : scales == SAME ? ti : 1;
    const double old_d = a == 0 ? 0 : a * d[i], part = b * si * ri;
    const double old_x = first ? 0 : x[i];
    const double sizes = fabs(ti) + fabs(qi), size = fabs(old_d) + fabs(b * si) * sizes;
    const double kept = kind == GIVEN ? r[i] : kind == APART ? got_r[i] : got_t[i];
    wrong += !(fabs(got_d[i] - (old_d + part)) <= roundings * size &&
               fabs(got_x[i] - (old_x + c * (old_d + part))) <=
                   roundings * (fabs(old_x) + fabs(c) * size) &&
               (kind == GIVEN || fabs(kept - ri) <= roundings * sizes));
  }
  CHECK(wrong == 0,
        "%s: %zu of %zu entries are wrong, s of kind %d, t of kind %d, a = %g, first = %d",
        name_of(s), wrong, s->n, scales, kind, a, first);
  check_behind(s, "a correction's d", got_d, 7);
  check_behind(s, "a correction's x", got_x, 7);
  check_behind(s, "a correction's r", got_r, 7);
  if (kind != IN_PLACE)
    CHECK(memcmp(got_t, t, bytes_of(s)) == 0, "%s: t of a correction has changed", name_of(s));
  if (kind != APART)
    CHECK(memcmp(got_r, r, bytes_of(s)) == 0, "%s: r of a correction has changed", name_of(s));
}

/* r = t - q alone. */
static void check_residual(const subject *s, bool in_place) {
  double *const t = make(s, 8, 5), *q = make(s, 9, NAN), *got = make(s, 0, 5);
  void *on_t = upload(s, t), *on_q = upload(s, q), *on_r = upload(s, got);
  correct(s, &(sp_correction){.t = on_t, .q = on_q, .r = in_place ? on_t : on_r});
  take(s, in_place ? on_t : on_r, got);
  size_t wrong = 0;
  for (size_t i = 0; i < s->n; i++) {
    const double want = t[i] - q[i];
    const double epsilon = s->precision == SP_SINGLE ? FLT_EPSILON : DBL_EPSILON;
    wrong += !(fabs(got[i] - want) <= epsilon * (fabs(t[i]) + fabs(q[i])));
  }
  CHECK(wrong == 0, "%s: %zu of %zu entries of a residual are wrong", name_of(s), wrong, s->n);
  check_behind(s, "a residual", got, 5);
  take(s, on_q, NULL);
  take(s, in_place ? on_r : on_t, NULL);
}

static void check_correct(const subject *s) {
  static const struct {
    double a;
    bool first;
  } steps[] = {{0, true}, {0, false}, {0.7f, false}, {-1.3f, true}};
  for (int scales = 0; scales < SCALE_KINDS; scales++)
    for (int kind = 0; kind < RESIDUAL_KINDS; kind++)
      for (size_t p = 0; p < COUNT_OF(steps); p++)
        if (!(scales == SAME && kind == IN_PLACE)) /* s must not be the output */
          check_correction(s, (scale_kind)scales, (residual_kind)kind, steps[p].a, steps[p].first);
  check_residual(s, false);
  check_residual(s, true);
}

/* No memory has room for this; the pointer becomes NULL. */
static void check_too_large(const bench *b) {
  for (sp_precision precision = SP_DOUBLE; precision < SP_PRECISIONS; precision++) {
    void *vector = &precision;
    CHECK(b->backend->vector_create(b->device, precision, SIZE_MAX / 4, &vector) == SP_ERR_SYSTEM &&
              !vector,
          "a vector of 2^62 numbers");
    CHECK(strstr(sp_error_message(), "out of memory"), "%s", sp_error_message());
  }
}

/* n terms in any order, each product rounded, are off by n / 2 epsilons of the sum of absolute
 * values; the other half is for the sum here. Floats are also added in double precision. */
static void check_dot(const subject *s) {
  enum { TIMES = 10 };
  double *x = make(s, 6, NAN), *y = make(s, 7, NAN);
  long double want = 0;
  double scale = 0, first = NAN;
  for (size_t i = 0; i < s->n; i++) {
    want += (long double)x[i] * (long double)y[i];
    scale += fabs(x[i] * y[i]);
  }
  for (int time = 0; time < TIMES; time++) {
    void *device_x = upload(s, x), *device_y = upload(s, y);
    const double sum = dot_product(s, device_x, device_y);
    if (time == 0) first = sum;
    CHECK_CLOSE(sum, (double)want, (double)s->n * DBL_EPSILON * scale);
    CHECK(memcmp(&sum, &first, sizeof sum) == 0, "%s, n = %zu: %.17g, the first time %.17g",
          name_of(s), s->n, sum, first);
    /* A square: no term cancels another. */
    void *device_copy = upload(s, x);
    const double square = dot_product(s, device_x, device_x);
    const double product = dot_product(s, device_x, device_copy);
    CHECK(s->n == 0 ? square == 0 : square > 0, "%s, n = %zu: x.x = %g", name_of(s), s->n, square);
    CHECK(square == product, "%s, n = %zu: x.x = %.17g, and with a copy of x %.17g", name_of(s),
          s->n, square, product);
    take(s, device_copy, NULL);
    take(s, device_x, NULL);
    take(s, device_y, NULL);
  }
}

static void check_operations(const bench *b, const sp_host_vectors *host) {
  for (sp_precision precision = SP_DOUBLE; precision < SP_PRECISIONS; precision++)
    for (size_t n = 0; n <= LONG; n = n < 40 ? n + 1 : n == 40 ? LONG : n + 1) {
      const subject s = {.bench = b, .host = host, .precision = precision, .n = n};
      ARRAYS_OF_SCOPE;
      check_fill(&s);
      check_axpby(&s);
      check_combine(&s);
      check_multiply(&s);
      check_correct(&s);
      check_dot(&s);
      if (!host) check_storage(&s);
    }
}

/* Large arrays, whose copies threads may share, to the device and back: every number arrives, and
 * none behind the end changes. */
static void check_large_copies(const bench *b) {
  enum { COUNT = 2600007 };
  const subject s = {.bench = b, .precision = SP_DOUBLE, .n = COUNT};
  double *values = make(&s, 1, -1), *back = make(&s, 2, -2);
  void *vector = NULL;
  sp_threads_set(3);
  CHECK(!b->backend->vector_create(b->device, SP_DOUBLE, COUNT, &vector), "%s", sp_error_message());
  CHECK(!b->backend->upload(b->device, SP_DOUBLE, COUNT, values, vector), "%s", sp_error_message());
  CHECK(!b->backend->download(b->device, SP_DOUBLE, COUNT, vector, back), "%s", sp_error_message());
  sp_threads_set(1);
  CHECK(memcmp(values, back, COUNT * sizeof *values) == 0, "large copies");
  for (int i = 0; i < BEHIND; i++) CHECK(back[COUNT + i] == -2, "behind the end");
  b->backend->vector_destroy(b->device, &vector);
}

int main(int argc, char **argv) {
  bench b;
  bench_begin(&argc, &argv, &b);
  check_operations(&b, NULL);
  check_too_large(&b);
  check_large_copies(&b);
  if (b.backend == &sp_backend_host) {
    const sp_host_kernels *usable[SP_HOST_KERNEL_SETS];
    const int count = sp_host_usable_kernels(usable);
    for (int k = 0; k < count; k++) check_operations(&b, usable[k]->vectors);
  }
  return bench_end(&b);
}
