#include "solver/bench/paper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "operators/counts.h"
#include "solver/bench/check.h"

/* ---- Data ---- */

/* Elements spread evenly from first to last, so that blocks of all waves are checked. */
static void choose_elements(sp_bench_paper *p) {
  enum { CHECKED = sizeof p->checked / sizeof *p->checked };
  const sp_lid count = p->c->mesh->hexes->count;
  p->checked_count = 0;
  for (sp_lid n = 0; n < CHECKED; n++) {
    const sp_lid e = (sp_lid)((int64_t)(count - 1) * n / (CHECKED - 1));
    if (n == 0 || e != p->checked[p->checked_count - 1]) p->checked[p->checked_count++] = e;
  }
}

static sp_status make_expected(sp_bench_paper *p, const double *q) {
  const size_t np = sp_element_nodes(p->c->order);
  choose_elements(p);
  SP_TRY(
      sp_allocate((size_t)p->checked_count * np, sizeof *p->expected, "a reference", &p->expected));
  for (int n = 0; n < p->checked_count; n++)
    SP_TRY(sp_bench_reference(p->kind, p->c->order, SP_BENCH_LAMBDA, p->c->mesh->hexes,
                              p->checked[n], &q[(size_t)p->checked[n] * np],
                              &p->expected[(size_t)n * np]));
  return SP_OK;
}

/* Some operators need only the last of the seven factors. */
static sp_status write_factors(sp_bench_paper *p) {
  const double *all = p->c->factors;
  const size_t factors = (size_t)sp_operator_rows[p->kind].factors;
  if (factors == SP_FACTORS) return sp_bench_repeat(p->factor_size, all, &p->factors);
  const size_t count = (size_t)p->c->mesh->hexes->count, size = p->factor_size / count;
  const size_t whole = size / factors * SP_FACTORS;
  SP_OWNED double *taken = NULL;
  SP_TRY(sp_allocate(p->factor_size, sizeof *taken, "geometric factors", &taken));
  for (size_t e = 0; e < count; e++)
    memcpy(&taken[e * size], &all[(e + 1) * whole - size], size * sizeof *taken);
  return sp_bench_repeat(p->factor_size, taken, &p->factors);
}

static sp_status create_vectors(sp_bench_paper *p) {
  const sp_platform *platform = p->clock->platform;
  const size_t sets = (size_t)p->sets;
  SP_TRY(sp_vector_create(platform, SP_DOUBLE, sets * p->factor_size, &p->factors));
  SP_TRY(sp_vector_create(platform, SP_DOUBLE, sets * p->e_size, &p->q));
  SP_TRY(sp_vector_create(platform, SP_DOUBLE, sets * p->e_size, &p->aq));
  SP_TRY(write_factors(p));
  SP_OWNED double *q = NULL;
  SP_TRY(sp_allocate(p->e_size, sizeof *q, "random data", &q));
  for (size_t i = 0; i < p->e_size; i++) q[i] = sp_bench_random((sp_gid)i);
  SP_TRY(sp_bench_repeat(p->e_size, q, &p->q));
  return make_expected(p, q);
}

sp_status sp_bench_paper_create(const sp_bench_clock *clock, sp_bench_case *c,
                                sp_operator_kind kind, sp_bench_paper *paper) {
  *paper = (sp_bench_paper){.clock = clock, .c = c, .kind = kind};
  SP_TRY(sp_bench_case_factors(c, kind));
  const size_t count = (size_t)c->mesh->hexes->count,
               points = sp_rule_points(sp_operator_rule(kind, c->order));
  paper->e_size = count * sp_element_nodes(c->order);
  paper->factor_size = count * points * (size_t)sp_operator_rows[kind].factors;
  paper->sets =
      sp_bench_input_sets(clock, (double)(2 * paper->e_size + paper->factor_size) * sizeof(double));
  sp_status status = sp_paper_prepare(clock->platform->device, c->order);
  if (!status) status = create_vectors(paper);
  return sp_agree(clock->comm, status);
}

void sp_bench_paper_destroy(sp_bench_paper *paper) {
  if (!paper->clock) return;
  sp_vector_destroy(&paper->factors);
  sp_vector_destroy(&paper->q);
  sp_vector_destroy(&paper->aq);
  free(paper->expected);
  *paper = (sp_bench_paper){0};
}

/* ---- Kernels ---- */

typedef struct launch {
  const sp_bench_paper *paper;
  const sp_paper_instance *instance;
  sp_vector workspace;
} launch;

static sp_status call_kernel(const void *context, int turn) {
  const launch *l = context;
  const sp_bench_paper *p = l->paper;
  const size_t set = (size_t)(turn % p->sets);
  const sp_paper_arguments arguments = {.elements = p->c->mesh->hexes->count,
                                        .factors = (double *)p->factors.data + set * p->factor_size,
                                        .q = (double *)p->q.data + set * p->e_size,
                                        .aq = (double *)p->aq.data + set * p->e_size,
                                        .workspace = l->workspace.data,
                                        .lambda = SP_BENCH_LAMBDA};
  return l->instance->launch(p->clock->platform->device, &arguments);
}

/* *error = the largest difference over the checked elements, whose outputs are set to NaN before.
 */
static sp_status compare(const launch *l, double *result, double *error) {
  const sp_bench_paper *p = l->paper;
  const size_t np = sp_element_nodes(p->c->order);
  sp_vector checked[sizeof p->checked / sizeof *p->checked];
  for (size_t i = 0; i < np; i++) result[i] = NAN;
  for (int n = 0; n < p->checked_count; n++) {
    checked[n] = sp_vector_part(&p->aq, (size_t)p->checked[n] * np, np);
    SP_TRY(sp_vector_write(result, &checked[n]));
  }
  SP_TRY(call_kernel(l, 0));
  *error = 0;
  for (int n = 0; n < p->checked_count; n++) {
    SP_TRY(sp_vector_read(&checked[n], result));
    *error = fmax(*error, sp_bench_difference(np, result, &p->expected[(size_t)n * np]));
  }
  return SP_OK;
}

static sp_status check(const launch *l, const sp_paper_kernel *kernel, double *error) {
  const sp_bench_paper *p = l->paper;
  SP_OWNED double *result = NULL;
  SP_TRY(sp_allocate(sp_element_nodes(p->c->order), sizeof *result, "a result", &result));
  SP_TRY(compare(l, result, error));
  const double tolerance = sp_bench_tolerance(p->c->order, SP_DOUBLE);
  if (*error <= tolerance) return SP_OK;
  return sp_fail(SP_ERR_SYSTEM,
                 "wrong result: %s %dD kernel %d at N = %d differs from the reference by %.3g, at "
                 "most %.3g is rounding",
                 sp_operator_names[p->kind], kernel->threads, kernel->number, p->c->order, *error,
                 tolerance);
}

static sp_status prepare(const sp_paper_kernel *kernel, launch *l, sp_bench_row *row) {
  const sp_bench_paper *p = l->paper;
  sp_paper_resources resources;
  const size_t bytes = kernel->workspace(p->c->order, p->c->mesh->hexes->count);
  if (bytes > 0)
    SP_TRY(sp_vector_create(p->clock->platform, SP_DOUBLE,
                            (bytes + sizeof(double) - 1) / sizeof(double), &l->workspace));
  SP_TRY(check(l, kernel, &row->error));
  SP_TRY(l->instance->resources(&resources));
  row->registers = resources.registers;
  row->shared_bytes = resources.shared_bytes;
  row->local_bytes = resources.local_bytes;
  row->block_threads = resources.threads;
  row->shared_traffic = (int)sp_paper_shared_bytes(kernel, p->c->order);
  return SP_OK;
}

static void count_work(const sp_bench_case *c, sp_operator_kind kind, sp_precision precision,
                       sp_bench_row *row) {
  const double elements = (double)c->elements;
  row->dofs = c->elements * (sp_gid)sp_element_nodes(c->order);
  row->flops = elements * sp_operator_flops(kind, c->order);
  row->bytes = elements * sp_operator_bytes(kind, SP_FACTORS_STORED, precision, c->order);
}

sp_status sp_bench_paper_time(const sp_bench_paper *paper, const sp_paper_kernel *kernel,
                              sp_bench_row *row) {
  launch l = {.paper = paper, .instance = &kernel->order[paper->c->order]};
  count_work(paper->c, paper->kind, SP_DOUBLE, row);
  row->sets = paper->sets;
  sp_status status = sp_agree(paper->clock->comm, prepare(kernel, &l, row));
  if (!status) status = sp_bench_time(paper->clock, call_kernel, &l, 0, row);
  sp_vector_destroy(&l.workspace);
  return status;
}

/* ---- Copies ---- */

typedef struct copies {
  int sets;
  size_t size; /* doubles per copy */
  sp_vector from, to;
} copies;

static sp_status call_copy(const void *context, int turn) {
  const copies *c = context;
  const size_t offset = (size_t)(turn % c->sets) * c->size;
  const sp_vector from = sp_vector_part(&c->from, offset, c->size);
  sp_vector to = sp_vector_part(&c->to, offset, c->size);
  return sp_vector_copy(&from, &to);
}

/* Fill the source with random numbers, since zeros may be copied faster: one block, repeated. */
static sp_status fill_source(copies *all) {
  const size_t count = all->from.count, block = count < (1 << 20) ? count : 1 << 20;
  SP_OWNED double *values = NULL;
  SP_TRY(sp_allocate(block, sizeof *values, "random data", &values));
  for (size_t i = 0; i < block; i++) values[i] = sp_bench_random((sp_gid)i);
  return sp_bench_repeat(block, values, &all->from);
}

sp_status sp_bench_copy_time(const sp_bench_clock *clock, const sp_bench_case *c,
                             sp_operator_kind kind, sp_precision precision, sp_bench_row *row) {
  enum { CALLS = 10 }; /* as in the paper */
  const double bytes = sp_operator_bytes(kind, SP_FACTORS_STORED, precision, c->order) / 2;
  copies all = {0};
  all.size = (size_t)(c->mesh->hexes->count * bytes / sizeof(double));
  all.sets = sp_bench_input_sets(clock, 2 * sizeof(double) * (double)all.size);
  count_work(c, kind, precision, row);
  row->sets = all.sets;
  const size_t count = (size_t)all.sets * all.size;
  sp_status status = sp_vector_create(clock->platform, SP_DOUBLE, count, &all.from);
  if (!status) status = sp_vector_create(clock->platform, SP_DOUBLE, count, &all.to);
  if (!status) status = fill_source(&all);
  status = sp_agree(clock->comm, status);
  if (!status) status = sp_bench_time(clock, call_copy, &all, CALLS, row);
  sp_vector_destroy(&all.from);
  sp_vector_destroy(&all.to);
  return status;
}
