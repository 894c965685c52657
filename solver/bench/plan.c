#include "solver/bench/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Check that there are kernels of the paper. */
static sp_status check_kernels(bool gpu) {
  int count;
  sp_paper_kernels(&count);
  if (count == 0)
    return sp_fail(SP_ERR_INPUT,
                   "--kernel: this program has none of the paper's kernels: build it with "
                   "-DSP_ENABLE_CUDA=ON -DSP_PAPER_KERNELS=ON, or use --kernel production");
  if (gpu) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "--kernel: the paper's kernels need a GPU: use --device cuda on a "
                               "machine that has one, or --kernel production");
}

/* Append a step: `key` and the kernel, NULL for a copy or the program's own. */
static sp_status add_step(sp_bench_plan *plan, const sp_paper_kernel *kernel, sp_bench_row key) {
  SP_TRY(sp_reserve((size_t)plan->count, 1, sizeof *plan->steps, "the plan's steps", &plan->steps));
  if (kernel) {
    key.threads = kernel->threads;
    key.kernel = kernel->number;
  }
  if (key.what == SP_BENCH_CG) key.warm_cache = 1;
  plan->steps[plan->count++] = (sp_bench_step){kernel, key};
  return SP_OK;
}

static sp_status add_problem(sp_bench_plan *plan, const sp_bench_options *o, sp_bench_row key) {
  int count;
  const sp_paper_kernel *kernels = sp_paper_kernels(&count);
  key.what = SP_BENCH_COPY;
  key.geometry = SP_GEOMETRY_STORED;
  if (o->measure[SP_BENCH_UNASSEMBLED]) SP_TRY(add_step(plan, NULL, key));
  key.what = SP_BENCH_UNASSEMBLED;
  for (int k = 0; k < count && o->paper && o->measure[key.what] && key.precision == SP_DOUBLE; k++)
    if (kernels[k].problem == key.problem && kernels[k].order[key.order].launch)
      SP_TRY(add_step(plan, &kernels[k], key));
  for (int g = SP_GEOMETRY_STORED; g <= SP_GEOMETRY_TRILINEAR; g++)
    for (int what = SP_BENCH_UNASSEMBLED; what < SP_BENCH_WHATS && o->geometries[g]; what++) {
      if (!o->measure[what] || (what == SP_BENCH_CG && key.precision != SP_DOUBLE)) continue;
      key.geometry = (sp_geometry_kind)g;
      key.what = (sp_bench_what)what;
      SP_TRY(add_step(plan, NULL, key));
    }
  return SP_OK;
}

/* Operators with the same quadrature points are adjacent, because they share the factors. */
static sp_status add_order(sp_bench_plan *plan, const sp_bench_options *o, sp_bench_row key) {
  for (int collocated = 0; collocated < 2; collocated++)
    for (key.problem = 0; key.problem < SP_OPERATORS; key.problem++)
      for (key.precision = SP_DOUBLE; key.precision < SP_PRECISIONS; key.precision++)
        if (o->problems[key.problem] && o->precisions[key.precision] &&
            sp_operator_rows[key.problem].collocated == collocated)
          SP_TRY(add_problem(plan, o, key));
  return SP_OK;
}

/* Return the number of elements of a cube with about `dofs` degrees of freedom. */
static int64_t elements_for_dofs(double dofs, int order) {
  const int64_t side = (int64_t)fmax(1, round(cbrt(dofs) / order));
  return side * side * side;
}

sp_status sp_bench_plan_make(const sp_bench_options *options, const sp_bench_target *target,
                             sp_bench_plan *plan) {
  *plan = (sp_bench_plan){0};
  if (options->paper) SP_TRY(check_kernels(target->gpu));
  if (options->precisions[SP_SINGLE] && !target->single_operators)
    return sp_fail(SP_ERR_INPUT, "--precision: this device has no operators in single precision: "
                                 "use --precision double");
  const int meshes = options->mesh_count > 0 ? options->mesh_count : 1;
  for (int m = 0; m < meshes; m++)
    for (int order = 1; order <= SP_MAX_ORDER; order++) {
      if (!options->orders[order]) continue;
      const int64_t elements =
          options->mesh_count > 0 ? options->elements[m] : elements_for_dofs(options->dofs, order);
      const sp_bench_row key = {
          .order = order, .elements = elements, .warm_cache = target->warm_cache};
      SP_TRY(add_order(plan, options, key));
    }
  bool any = false; /* a study needs more than copies */
  for (int s = 0; s < plan->count; s++) any |= plan->steps[s].key.what != SP_BENCH_COPY;
  if (!any)
    return sp_fail(SP_ERR_INPUT, "nothing to measure: no kernel matches the problems, "
                                 "orders, precisions and measurements requested");
  return SP_OK;
}

void sp_bench_plan_destroy(sp_bench_plan *plan) {
  free(plan->steps);
  *plan = (sp_bench_plan){0};
}

void sp_bench_step_describe(const sp_bench_step *step, size_t size, char *text) {
  char kernel[64];
  const sp_bench_row *key = &step->key;
  const char *precision = key->precision == SP_SINGLE ? ", single precision" : "";
  if (step->kernel)
    snprintf(kernel, sizeof kernel, "%dD kernel %d", key->threads, key->kernel);
  else if (key->what == SP_BENCH_COPY)
    snprintf(kernel, sizeof kernel, "copy%s", precision);
  else
    snprintf(kernel, sizeof kernel, "%s, %s%s", sp_geometry_names[key->geometry],
             sp_bench_what_names[key->what], precision);
  snprintf(text, size, "%s %s, N = %d, %lld elements", sp_operator_names[key->problem], kernel,
           key->order, (long long)key->elements);
}
