#include "solver/bench/paper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "operators/counts.h"
#include "solver/bench/check.h"

/* ---- Data ---- */

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

static sp_status create_vectors(sp_bench_paper *p, const double *x) {
  const sp_platform *platform = p->clock->platform;
  const size_t sets = (size_t)p->sets;
  SP_TRY(sp_vector_create(platform, SP_DOUBLE, sets * p->factor_size, &p->factors));
  SP_TRY(sp_vector_create(platform, SP_DOUBLE, sets * p->e_size, &p->q));
  SP_TRY(sp_vector_create(platform, SP_DOUBLE, sets * p->e_size, &p->aq));
  SP_TRY(write_factors(p));
  SP_OWNED double *q = NULL;
  SP_TRY(sp_allocate(p->e_size, sizeof *q, "random data", &q));
  sp_bench_gather(p->c->space, x, q);
  return sp_bench_repeat(p->e_size, q, &p->q);
}

sp_status sp_bench_paper_create(const sp_bench_clock *clock, sp_bench_case *c,
                                sp_operator_kind kind, sp_bench_paper *paper) {
  *paper = (sp_bench_paper){.clock = clock, .c = c, .kind = kind};
  SP_OWNED double *x = NULL;
  SP_TRY(sp_bench_case_factors(c, kind));
  SP_TRY(sp_bench_case_space(c));
  const size_t count = (size_t)c->mesh->hexes->count,
               points = sp_rule_points(sp_operator_rule(kind, c->order));
  paper->e_size = count * sp_element_nodes(c->order);
  paper->factor_size = count * points * (size_t)sp_operator_rows[kind].factors;
  paper->sets =
      sp_bench_input_sets(clock, (double)(2 * paper->e_size + paper->factor_size) * sizeof(double));
  const size_t dofs = sp_space_dofs(c->space);
  sp_status status = SP_ALLOCATE("random data", SP_ARRAY(x, dofs), SP_ARRAY(paper->expected, dofs));
  for (size_t i = 0; i < dofs && !status; i++)
    x[i] = sp_bench_random(sp_numbering_global(c->space->numbering, (sp_lid)i));
  if (!status) status = sp_paper_prepare(clock->platform->device, c->order);
  if (!status) status = create_vectors(paper, x);
  SP_TRY(sp_agree(clock->comm, status));
  return sp_bench_expected(c, kind, x, paper->expected);
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

/* Launch the kernel once, on NaN, and fill result[elements][Np]. */
static sp_status launch_once(const launch *l, double *result) {
  const sp_bench_paper *p = l->paper;
  sp_vector first = sp_vector_part(&p->aq, 0, p->e_size);
  for (size_t i = 0; i < p->e_size; i++) result[i] = NAN;
  SP_TRY(sp_vector_write(result, &first));
  SP_TRY(call_kernel(l, 0));
  return sp_vector_read(&first, result);
}

static sp_status check(const launch *l, const sp_paper_kernel *kernel, double *error) {
  const sp_bench_paper *p = l->paper;
  SP_OWNED double *result = NULL;
  sp_status status = sp_allocate(p->e_size, sizeof *result, "a result", &result);
  if (!status) status = launch_once(l, result);
  SP_TRY(sp_agree(p->clock->comm, status));
  SP_TRY(sp_bench_compare_sum(p->c->space, result, p->expected, error));
  const double tolerance = sp_bench_tolerance(p->c->order, SP_DOUBLE);
  if (*error <= tolerance) return SP_OK;
  return sp_fail(SP_ERR_SYSTEM,
                 "wrong result: %s %dD kernel %d at N = %d differs from the reference by %.3g, at "
                 "most %.3g is rounding",
                 sp_operator_names[p->kind], kernel->threads, kernel->number, p->c->order, *error,
                 tolerance);
}

/* Make the work space, and describe the kernel. */
static sp_status prepare(const sp_paper_kernel *kernel, launch *l, sp_bench_row *row) {
  const sp_bench_paper *p = l->paper;
  sp_paper_resources resources;
  const size_t bytes = kernel->workspace(p->c->order, p->c->mesh->hexes->count);
  if (bytes > 0)
    SP_TRY(sp_vector_create(p->clock->platform, SP_DOUBLE,
                            (bytes + sizeof(double) - 1) / sizeof(double), &l->workspace));
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
  if (!status) status = check(&l, kernel, &row->error);
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
