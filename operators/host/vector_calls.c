#include "operators/host/device.h"

#include <string.h>

#include "io/team.h"
#include "operators/host/memory.h"

/* Least entries per thread. */
enum { ENTRIES_LEAST = 4096 };

/* One operation on entries [begin, begin + count), with vectors from entry `begin` on; each
 * operation uses some of the members. */
typedef struct call {
  void (*compute)(const struct call *part);
  const sp_host_vectors *kernels;
  sp_precision precision, to_precision; /* of x and y, and of z */
  size_t begin, count;
  const void *x, *y;
  void *z;
  int threads;
  double a;
  int terms;
  const double *weights;      /* [terms] */
  const void *const *terms_x; /* likewise, whole vectors */
  const sp_correction *step;
  const sp_cg_arrays *cg;
  sp_lid owned;
  double (*sums)[2]; /* [threads], or the thread's own */
} call;

/* The address of entry i of a vector; NULL stays NULL. */
static void *address_of_entry(const void *vector, sp_precision precision, size_t i) {
  return vector ? (char *)vector + i * sp_precision_bytes(precision) : NULL;
}

/* Round to cache lines, so that threads write to different ones. */
static void compute_share(void *context, int thread) {
  enum { LINE_ENTRIES = 16 };
  const call *c = context;
  const int64_t lines = (int64_t)(c->count / LINE_ENTRIES);
  const size_t begin = (size_t)sp_team_share(lines, thread, c->threads) * LINE_ENTRIES;
  const size_t end = thread + 1 == c->threads
                         ? c->count
                         : (size_t)sp_team_share(lines, thread + 1, c->threads) * LINE_ENTRIES;
  call part = *c;
  part.begin = begin;
  part.count = end - begin;
  part.x = address_of_entry(c->x, c->precision, begin);
  part.y = address_of_entry(c->y, c->precision, begin);
  part.z = address_of_entry(c->z, c->to_precision, begin);
  if (c->sums) part.sums = &c->sums[thread];
  c->compute(&part);
}

static sp_status run_call(call *c) {
  const size_t worth = c->count / ENTRIES_LEAST;
  c->threads = sp_team_size();
  if ((size_t)c->threads > worth) c->threads = worth > 0 ? (int)worth : 1;
  sp_team_run(c->threads, compute_share, c);
  return SP_OK;
}

static call make_call(const sp_device *device, void (*compute)(const call *),
                      sp_precision precision, size_t count, const void *x, void *z) {
  return (call){.compute = compute,
                .kernels = device->kernels->vectors,
                .precision = precision,
                .to_precision = precision,
                .count = count,
                .x = x,
                .z = z};
}

static void copy_entries(const call *c) {
  memcpy(c->z, c->x, c->count * sp_precision_bytes(c->precision));
}

sp_status sp_host_copy(sp_device *device, sp_precision precision, size_t count, const void *from,
                       void *to) {
  call c = make_call(device, copy_entries, precision, count, from, to);
  return run_call(&c);
}

static void fill_entries(const call *c) {
  for (size_t i = 0; i < c->count; i++) sp_host_store(c->precision, c->a, i, c->z);
}

sp_status sp_host_fill(sp_device *device, sp_precision precision, size_t count, double value,
                       void *vector) {
  call c = make_call(device, fill_entries, precision, count, NULL, vector);
  c.a = value;
  return run_call(&c);
}

static void combine_entries(const call *c) {
  const void *x[SP_TERMS_MOST];
  for (int k = 0; k < c->terms; k++) x[k] = address_of_entry(c->terms_x[k], c->precision, c->begin);
  c->kernels->combine[c->precision](c->count, c->terms, c->weights, x, c->z);
}

sp_status sp_host_combine(sp_device *device, sp_precision precision, size_t count, int terms,
                          const double *weights, const void *const *x, void *y) {
  call c = make_call(device, combine_entries, precision, count, NULL, y);
  c.terms = terms;
  c.weights = weights;
  c.terms_x = x;
  return run_call(&c);
}

static void multiply_entries(const call *c) {
  c->kernels->multiply[c->precision](c->count, c->x, c->y, c->z);
}

sp_status sp_host_multiply(sp_device *device, sp_precision precision, size_t count, const void *x,
                           const void *y, void *z) {
  call c = make_call(device, multiply_entries, precision, count, x, z);
  c.y = y;
  return run_call(&c);
}

static void dot_entries(const call *c) {
  c->sums[0][0] = c->kernels->dot[c->precision](c->count, c->x, c->y);
}

sp_status sp_host_dot(sp_device *device, sp_precision precision, size_t count, const void *x,
                      const void *y, double *sum) {
  double sums[SP_TEAM_MAX][2];
  call c = make_call(device, dot_entries, precision, count, x, NULL);
  c.y = y;
  c.sums = sums;
  SP_TRY(run_call(&c));
  *sum = sums[0][0];
  for (int t = 1; t < c.threads; t++) *sum += sums[t][0];
  return SP_OK;
}

static void convert_entries(const call *c) {
  c->kernels->convert[c->precision][c->to_precision](c->count, c->a, c->x, c->z);
}

sp_status sp_host_convert(sp_device *device, size_t count, double scale,
                          sp_precision from_precision, const void *from, sp_precision to_precision,
                          void *to) {
  call c = make_call(device, convert_entries, from_precision, count, from, to);
  c.to_precision = to_precision;
  c.a = scale;
  return run_call(&c);
}

static void correct_entries(const call *c) {
  const sp_precision precision = c->precision;
  sp_correction step = *c->step;
  step.s = address_of_entry(step.s, precision, c->begin);
  step.q = address_of_entry(step.q, precision, c->begin);
  step.t = address_of_entry(step.t, precision, c->begin);
  step.r = address_of_entry(step.r, precision, c->begin);
  step.d = address_of_entry(step.d, precision, c->begin);
  step.x = address_of_entry(step.x, precision, c->begin);
  c->kernels->correct[precision](c->count, &step);
}

sp_status sp_host_correct(sp_device *device, sp_precision precision, size_t count,
                          const sp_correction *step) {
  call c = make_call(device, correct_entries, precision, count, NULL, NULL);
  c.step = step;
  return run_call(&c);
}

static void update_entries(const call *c) {
  const sp_cg_arrays *v = c->cg;
  const sp_lid begin = (sp_lid)c->begin, end = begin + (sp_lid)c->count;
  const sp_lid owned = c->owned < begin ? begin : c->owned < end ? c->owned : end;
  sp_host_cg cg = {.alpha = c->a,
                   .inverse_diagonal = v->inverse_diagonal,
                   .x = v->x,
                   .r = v->r,
                   .p = v->p,
                   .ap = v->ap,
                   .owned = c->owned};
  c->kernels->update(&cg, 1, &(sp_host_run){begin, owned});
  c->kernels->update(&cg, 1, &(sp_host_run){owned, end});
  const double *const sums[] = {cg.sums[SP_CG_RR],
                                cg.sums[v->inverse_diagonal ? SP_CG_RZ : SP_CG_RR]};
  for (int s = 0; s < 2; s++) {
    c->sums[0][s] = 0;
    for (int lane = 0; lane < SP_HOST_DOUBLES; lane++) c->sums[0][s] += sums[s][lane];
  }
}

void sp_host_update(const sp_host_vectors *kernels, sp_lid owned, sp_lid local, double alpha,
                    const sp_cg_arrays *vectors, double sums[2]) {
  double parts[SP_TEAM_MAX][2];
  call c = {.compute = update_entries,
            .count = (size_t)local,
            .kernels = kernels,
            .a = alpha,
            .cg = vectors,
            .owned = owned,
            .sums = parts};
  (void)run_call(&c);
  memcpy(sums, parts[0], sizeof parts[0]);
  for (int t = 1; t < c.threads; t++)
    for (int s = 0; s < 2; s++) sums[s] += parts[t][s];
}
