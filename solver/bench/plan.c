#include "solver/bench/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_wanted(const sp_bench_options *o, const sp_paper_kernel *kernel) {
  return o->problems[kernel->problem] && o->threads[kernel->threads] &&
         kernel->number <= SP_BENCH_MAX_KERNEL && o->kernels[kernel->number];
}

static bool wants_paper(const sp_bench_options *o) {
  bool any = false;
  for (int number = 1; number <= SP_BENCH_MAX_KERNEL; number++) any |= o->kernels[number];
  return any;
}

/* Check that the requested kernels exist. */
static sp_status check_kernels(const sp_bench_options *o, bool gpu) {
  int count;
  const sp_paper_kernel *kernels = sp_paper_kernels(&count);
  if (!wants_paper(o)) return SP_OK;
  if (count == 0)
    return sp_fail(SP_ERR_INPUT,
                   "--kernel: this program has none of the paper's kernels: build it with "
                   "-DSP_ENABLE_CUDA=ON -DSP_PAPER_KERNELS=ON, or use --kernel production");
  if (!gpu)
    return sp_fail(SP_ERR_INPUT, "--kernel: the paper's kernels need a GPU: use --device cuda on "
                                 "a machine that has one, or --kernel production");
  for (int number = 1; number <= SP_BENCH_MAX_KERNEL && !o->all_kernels; number++) {
    bool found = !o->kernels[number];
    for (int k = 0; k < count && !found; k++)
      found = kernels[k].number == number && is_wanted(o, &kernels[k]);
    if (!found)
      return sp_fail(SP_ERR_INPUT,
                     "--kernel: the ladders of these problems and threads have no kernel %d",
                     number);
  }
  return SP_OK;
}

/* Print the orders for which a ladder has no kernels. Called once per ladder, with its first
 * kernel. */
static void say_missing_orders(const sp_bench_options *o, const sp_paper_kernel *kernel,
                               sp_terminal *terminal) {
  char missing[128] = "";
  for (int order = 1; order <= SP_MAX_ORDER; order++)
    if (o->orders[order] && !kernel->order[order].launch)
      snprintf(missing + strlen(missing), sizeof missing - strlen(missing), " %d", order);
  if (missing[0])
    sp_terminal_print(terminal,
                      "%s, %dD: no kernels for N =%s (too many threads per block, or not built)\n",
                      sp_operator_name(kernel->problem), kernel->threads, missing);
}

static void say_all_missing_orders(const sp_bench_options *o, sp_terminal *terminal) {
  int count;
  const sp_paper_kernel *kernels = sp_paper_kernels(&count), *last = NULL;
  for (int k = 0; k < count; k++) {
    if (!is_wanted(o, &kernels[k])) continue;
    if (!last || last->problem != kernels[k].problem || last->threads != kernels[k].threads)
      say_missing_orders(o, &kernels[k], terminal);
    last = &kernels[k];
  }
}

/* Append *step for this order and mesh. */
static sp_status add_step(sp_bench_plan *plan, const sp_bench_options *o, const sp_bench_step *step,
                          int order, int64_t elements, bool warm_cache) {
  SP_TRY(sp_reserve((size_t)plan->count, 1, sizeof *step, "the plan's steps", &plan->steps));
  sp_bench_step *new = &plan->steps[plan->count++];
  *new = *step;
  sp_bench_row *key = &new->key;
  snprintf(key->what, sizeof key->what, "%s", sp_bench_what_name(step->what));
  snprintf(key->problem, sizeof key->problem, "%s", sp_operator_name(step->kind));
  snprintf(key->geometry, sizeof key->geometry, "%s", sp_geometry_kind_name(step->geometry));
  snprintf(key->precision, sizeof key->precision, "%s", sp_bench_precision_names[step->precision]);
  snprintf(key->map, sizeof key->map, "%s", sp_map_names[o->map]);
  if (step->kernel) {
    key->threads = step->kernel->threads;
    key->kernel = step->kernel->number;
  }
  key->order = order;
  key->elements = elements;
  key->warm_cache = warm_cache || sp_bench_what_is_warm(step->what);
  return SP_OK;
}

static sp_status add_problem(sp_bench_plan *plan, const sp_bench_options *o, sp_operator_kind kind,
                             sp_precision precision, int order, int64_t elements, bool warm_cache) {
  int count;
  const sp_paper_kernel *kernels = sp_paper_kernels(&count);
  sp_bench_step step = {.kind = kind, .geometry = SP_GEOMETRY_STORED, .precision = precision};
  if (o->measure[SP_BENCH_UNASSEMBLED])
    SP_TRY(add_step(plan, o, &step, order, elements, warm_cache));
  step.what = SP_BENCH_UNASSEMBLED;
  for (int k = 0; k < count && o->measure[step.what] && precision == SP_DOUBLE; k++) {
    if (kernels[k].problem != kind || !is_wanted(o, &kernels[k])) continue;
    if (!kernels[k].order[order].launch) continue;
    step.kernel = &kernels[k];
    SP_TRY(add_step(plan, o, &step, order, elements, warm_cache));
  }
  step.kernel = NULL;
  for (int g = SP_GEOMETRY_STORED; g <= SP_GEOMETRY_TRILINEAR && o->kernels[SP_BENCH_PRODUCTION];
       g++)
    for (int what = SP_BENCH_UNASSEMBLED; what < SP_BENCH_WHATS && o->geometries[g]; what++) {
      if (!o->measure[what] || (what == SP_BENCH_CG && precision != SP_DOUBLE)) continue;
      step.geometry = (sp_geometry_kind)g;
      step.what = (sp_bench_what)what;
      SP_TRY(add_step(plan, o, &step, order, elements, warm_cache));
    }
  return SP_OK;
}

/* Operators with the same quadrature points are adjacent, because they share the factors. */
static sp_status add_order(sp_bench_plan *plan, const sp_bench_options *o, int order,
                           int64_t elements, bool warm_cache) {
  for (int collocated = 0; collocated < 2; collocated++)
    for (sp_operator_kind kind = 0; kind < SP_OPERATORS; kind++) {
      if (!o->problems[kind] || sp_operator_rows[kind].collocated != collocated) continue;
      for (sp_precision p = SP_DOUBLE; p < SP_PRECISIONS; p++)
        if (o->precisions[p]) SP_TRY(add_problem(plan, o, kind, p, order, elements, warm_cache));
    }
  return SP_OK;
}

/* Return the number of elements of a cube with about `dofs` degrees of freedom. */
static int64_t elements_for_dofs(double dofs, int order) {
  const int64_t side = (int64_t)fmax(1, round(cbrt(dofs) / order));
  return side * side * side;
}

sp_status sp_bench_plan_make(const sp_bench_options *options, const sp_bench_target *target,
                             sp_terminal *terminal, sp_bench_plan *plan) {
  *plan = (sp_bench_plan){0};
  SP_TRY(check_kernels(options, target->gpu));
  if (options->precisions[SP_SINGLE] && !target->single_operators)
    return sp_fail(SP_ERR_INPUT, "--precision: this device has no operators in single precision: "
                                 "use --precision double");
  const int meshes = options->mesh_count > 0 ? options->mesh_count : 1;
  for (int m = 0; m < meshes; m++)
    for (int order = 1; order <= SP_MAX_ORDER; order++) {
      if (!options->orders[order]) continue;
      const int64_t elements =
          options->mesh_count > 0 ? options->elements[m] : elements_for_dofs(options->dofs, order);
      SP_TRY(add_order(plan, options, order, elements, target->warm_cache));
    }
  bool any = false; /* a study needs more than copies */
  for (int s = 0; s < plan->count; s++) any |= plan->steps[s].what != SP_BENCH_COPY;
  if (!any)
    return sp_fail(SP_ERR_INPUT, "nothing to measure: no kernel matches the problems, threads, "
                                 "orders, precisions and measurements requested");
  say_all_missing_orders(options, terminal);
  return SP_OK;
}

void sp_bench_plan_destroy(sp_bench_plan *plan) {
  free(plan->steps);
  *plan = (sp_bench_plan){0};
}

void sp_bench_step_describe(const sp_bench_step *step, size_t size, char *text) {
  char kernel[64];
  const char *precision = step->precision == SP_SINGLE ? ", single precision" : "";
  if (step->kernel)
    snprintf(kernel, sizeof kernel, "%dD kernel %d", step->kernel->threads, step->kernel->number);
  else if (step->what == SP_BENCH_COPY)
    snprintf(kernel, sizeof kernel, "copy%s", precision);
  else
    snprintf(kernel, sizeof kernel, "%s, %s%s", step->key.geometry, step->key.what, precision);
  snprintf(text, size, "%s %s, N = %d, %lld elements", step->key.problem, kernel,
           (int)step->key.order, (long long)step->key.elements);
}
