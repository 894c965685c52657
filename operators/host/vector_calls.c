#include "operators/host/vector_calls.h"

#include <string.h>

#include "io/team.h"
#include "operators/host/device.h"

/* Least entries per thread that are worth waking it. */
enum { ENTRIES_LEAST = 4096 };

/* Arguments of one operation on `count` entries; each operation uses some of them. */
typedef struct call {
  void (*compute)(const struct call *, size_t begin, size_t end, int thread);
  int threads;
  size_t count;
  const sp_host_vectors *kernels;
  sp_precision precision, to_precision;
  double a, b;
  const void *x, *y;
  void *z;
  const sp_correction *step;
  const sp_cg_arrays *cg;
  size_t owned;
  double (*sums)[2]; /* [threads] */
} call;

/* Round to multiples of a cache line, so that threads write to different ones. */
static void compute_share(void *context, int thread) {
  enum { LINE_ENTRIES = 16 };
  const call *c = context;
  const int64_t lines = (int64_t)(c->count / LINE_ENTRIES);
  const size_t begin = (size_t)sp_team_share(lines, thread, c->threads) * LINE_ENTRIES;
  const size_t end = thread + 1 == c->threads
                         ? c->count
                         : (size_t)sp_team_share(lines, thread + 1, c->threads) * LINE_ENTRIES;
  c->compute(c, begin, end, thread);
}

static void run(call *c) {
  const size_t worth = c->count / ENTRIES_LEAST;
  c->threads = sp_team_size();
  if ((size_t)c->threads > worth) c->threads = worth > 0 ? (int)worth : 1;
  sp_team_run(c->threads, compute_share, c);
}

/* Entry i of a vector that a call reads or writes; NULL stays NULL. */
static const void *entry(const void *vector, sp_precision precision, size_t i) {
  return vector ? (const char *)vector + i * sp_precision_bytes(precision) : NULL;
}

static void *target(void *vector, sp_precision precision, size_t i) {
  return vector ? (char *)vector + i * sp_precision_bytes(precision) : NULL;
}

static void copy(const call *c, size_t begin, size_t end, int thread) {
  (void)thread;
  memcpy(target(c->z, c->precision, begin), entry(c->x, c->precision, begin),
         (end - begin) * sp_precision_bytes(c->precision));
}

sp_status sp_host_copy(sp_device *device, sp_precision precision, size_t count, const void *from,
                       void *to) {
  (void)device;
  run(&(call){.compute = copy, .count = count, .precision = precision, .x = from, .z = to});
  return SP_OK;
}

static void axpby(const call *c, size_t begin, size_t end, int thread) {
  (void)thread;
  c->kernels->axpby[c->precision](end - begin, c->a, entry(c->x, c->precision, begin), c->b,
                                  target(c->z, c->precision, begin));
}

sp_status sp_host_axpby(sp_device *device, sp_precision precision, size_t count, double a,
                        const void *x, double b, void *y) {
  run(&(call){.compute = axpby,
              .count = count,
              .kernels = device->kernels->vectors,
              .precision = precision,
              .a = a,
              .b = b,
              .x = x,
              .z = y});
  return SP_OK;
}

static void multiply(const call *c, size_t begin, size_t end, int thread) {
  (void)thread;
  c->kernels->multiply[c->precision](end - begin, entry(c->x, c->precision, begin),
                                     entry(c->y, c->precision, begin),
                                     target(c->z, c->precision, begin));
}

sp_status sp_host_multiply(sp_device *device, sp_precision precision, size_t count, const void *x,
                           const void *y, void *z) {
  run(&(call){.compute = multiply,
              .count = count,
              .kernels = device->kernels->vectors,
              .precision = precision,
              .x = x,
              .y = y,
              .z = z});
  return SP_OK;
}

static void dot(const call *c, size_t begin, size_t end, int thread) {
  c->sums[thread][0] = c->kernels->dot[c->precision](end - begin, entry(c->x, c->precision, begin),
                                                     entry(c->y, c->precision, begin));
}

sp_status sp_host_dot(sp_device *device, sp_precision precision, size_t count, const void *x,
                      const void *y, double *sum) {
  double sums[SP_TEAM_MAX][2];
  call c = {.compute = dot,
            .count = count,
            .kernels = device->kernels->vectors,
            .precision = precision,
            .x = x,
            .y = y,
            .sums = sums};
  run(&c);
  *sum = sums[0][0];
  for (int t = 1; t < c.threads; t++) *sum += sums[t][0];
  return SP_OK;
}

static void convert(const call *c, size_t begin, size_t end, int thread) {
  (void)thread;
  c->kernels->convert[c->precision][c->to_precision](
      end - begin, c->a, entry(c->x, c->precision, begin), target(c->z, c->to_precision, begin));
}

sp_status sp_host_convert(sp_device *device, size_t count, double scale,
                          sp_precision from_precision, const void *from, sp_precision to_precision,
                          void *to) {
  run(&(call){.compute = convert,
              .count = count,
              .kernels = device->kernels->vectors,
              .precision = from_precision,
              .to_precision = to_precision,
              .a = scale,
              .x = from,
              .z = to});
  return SP_OK;
}

static void correct(const call *c, size_t begin, size_t end, int thread) {
  (void)thread;
  const sp_precision precision = c->precision;
  sp_correction step = *c->step;
  step.s = entry(step.s, precision, begin);
  step.q = entry(step.q, precision, begin);
  step.t = entry(step.t, precision, begin);
  step.r = target(step.r, precision, begin);
  step.d = target(step.d, precision, begin);
  step.x = target(step.x, precision, begin);
  c->kernels->correct[precision](end - begin, &step);
}

sp_status sp_host_correct(sp_device *device, sp_precision precision, size_t count,
                          const sp_correction *step) {
  run(&(call){.compute = correct,
              .count = count,
              .kernels = device->kernels->vectors,
              .precision = precision,
              .step = step});
  return SP_OK;
}

static void update(const call *c, size_t begin, size_t end, int thread) {
  const sp_cg_arrays *v = c->cg;
  const size_t owned = c->owned < begin ? begin : c->owned < end ? c->owned : end;
  c->kernels->update((sp_lid)(owned - begin), (sp_lid)(end - begin), c->a, v->p + begin,
                     v->ap + begin, v->inverse_diagonal ? v->inverse_diagonal + begin : NULL,
                     v->x + begin, v->r + begin, c->sums[thread]);
}

void sp_host_update(const sp_host_vectors *kernels, sp_lid owned, sp_lid local, double alpha,
                    const sp_cg_arrays *vectors, double sums[2]) {
  double parts[SP_TEAM_MAX][2];
  call c = {.compute = update,
            .count = (size_t)local,
            .kernels = kernels,
            .a = alpha,
            .cg = vectors,
            .owned = (size_t)owned,
            .sums = parts};
  run(&c);
  memcpy(sums, parts[0], sizeof parts[0]);
  for (int t = 1; t < c.threads; t++)
    for (int s = 0; s < 2; s++) sums[s] += parts[t][s];
}
