/* The paper's kernels (operators/paper/paper.h). */
#include <string.h>

#include "mesh/geometry.h"
#include "operators/counts.h"
#include "solver/bench/bench.h"

/* Some operators need only the last of the seven factors. */
static sp_status create_factors(sp_bench *b) {
  const sp_rule *rule = sp_operator_rule(b->made.problem, b->made.order);
  const size_t points = sp_rule_points(rule), elements = (size_t)b->mesh->hexes->count;
  const size_t count = (size_t)sp_operator_rows[b->made.problem].factors * points;
  SP_OWNED double *all = NULL, *values = NULL;
  SP_TRY(SP_ALLOCATE("geometric factors", SP_ARRAY(all, SP_FACTORS * points),
                     SP_ARRAY(values, elements * count)));
  for (size_t e = 0; e < elements; e++) {
    SP_TRY(sp_geometry_factors(b->mesh->hexes, (sp_lid)e, rule, all));
    memcpy(&values[e * count], &all[SP_FACTORS * points - count], count * sizeof *values);
  }
  SP_TRY(sp_vector_create(b->platform, SP_DOUBLE, (size_t)b->sets * elements * count, &b->factors));
  for (int n = 0; n < b->sets; n++) {
    sp_vector set = sp_vector_part(&b->factors, (size_t)n * elements * count, elements * count);
    SP_TRY(sp_vector_write(values, &set));
  }
  return SP_OK;
}

static sp_status create_workspace(sp_bench *b, const sp_paper_kernel *kernel) {
  const size_t bytes = kernel->workspace(b->made.order, b->mesh->hexes->count);
  if (bytes == 0) return SP_OK;
  return sp_vector_create(b->platform, SP_DOUBLE, (bytes + sizeof(double) - 1) / sizeof(double),
                          &b->workspace);
}

sp_status sp_bench_paper_create(sp_bench *b, sp_bench_row *row) {
  sp_status status = sp_paper_prepare(b->platform->device, row->order);
  if (!status) status = create_factors(b);
  if (!status) status = create_workspace(b, row->paper);
  if (!status) status = row->paper->order[row->order].resources(&row->resources);
  return sp_agree(b->platform->comm, status);
}

sp_status sp_bench_paper_call(const sp_bench *b, int turn) {
  const size_t set = (size_t)(turn % b->sets), factors = b->factors.count / (size_t)b->sets;
  const sp_paper_arguments arguments = {.elements = b->mesh->hexes->count,
                                        .factors = (double *)b->factors.data + set * factors,
                                        .q = (double *)b->from.data + set * b->size,
                                        .aq = (double *)b->to.data + set * b->size,
                                        .workspace = b->workspace.data,
                                        .lambda = SP_BENCH_LAMBDA};
  return b->made.paper->order[b->made.order].launch(b->platform->device, &arguments);
}
