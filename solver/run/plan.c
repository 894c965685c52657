#include "solver/run/plan.h"

#include <math.h>
#include <stdlib.h>

#include "operators/bars.h"
#include "operators/geometry_choice.h"

/* Data shared by the levels below the first. */
typedef struct outline {
  sp_geometry_facts facts;
  sp_geometry_kind geometry;
  sp_parts *parts;
} outline;

/* Count level `index`, of order `order`. */
static sp_status count_level(const sp_parts *parts, int index, int order, sp_plan *plan) {
  sp_sizes_of(&parts->all, parts->refinements, order, &plan->all[index]);
  SP_TRY(sp_allocate((size_t)parts->count, sizeof(sp_sizes), "a plan", &plan->parts[index]));
  for (int r = 0; r < parts->count; r++)
    sp_sizes_of(&parts->of[r], parts->refinements, order, &plan->parts[index][r]);
  return SP_OK;
}

/* Add level `index`. */
static sp_status add_level(const outline *o, int index, bool coarser, sp_plan *plan) {
  sp_memory_case *c = &plan->memory;
  sp_memory_level *l = &c->levels[index];
  sp_geometry_facts facts = o->facts;
  const char *reason;
  facts.order = c->multigrid.orders[index];
  facts.by_element = facts.by_element || coarser;
  *l = (sp_memory_level){
      .kind = facts.kind, .order = facts.order, .affine = facts.affine, .coarser = coarser};
  SP_TRY(count_level(o->parts, index, facts.order, plan));
  return sp_geometry_choose(c->backend, &facts, o->geometry, &l->geometry, &reason);
}

/* Add levels as sp_levels_create does. */
static sp_status add_levels(outline *o, sp_plan *plan) {
  sp_memory_case *c = &plan->memory;
  sp_multigrid_options *options = &c->multigrid;
  const int orders = options->levels, smoothed = sp_multigrid_smoothed(options);
  const bool is_tensor = c->levels[0].is_tensor;
  bool found;
  for (int i = 1; i < smoothed; i++) SP_TRY(add_level(o, i, false, plan));
  options->levels = smoothed;
  while (sp_multigrid_wants_mesh(options, c->backend, o->facts.kind, is_tensor,
                                 plan->all[options->levels - 1].dofs)) {
    SP_TRY(sp_parts_coarsen(o->parts, &found));
    if (!found) break;
    options->orders[options->levels] = 1;
    SP_TRY(add_level(o, options->levels++, true, plan));
  }
  if (options->levels >= orders) return SP_OK;
  options->levels = orders;
  return add_level(o, orders - 1, false, plan);
}

/* Add the level of bars instead, with sizes of the whole order. Its rows are the vertices, and N -
 * 1 nodes on every edge along bars. A box of as many elements in all directions has cbrt(elements /
 * vertices) such edges per vertex. */
static sp_status add_bars(const outline *o, sp_plan *plan) {
  sp_memory_case *c = &plan->memory;
  sp_sizes s;
  c->multigrid.levels = 2;
  c->multigrid.orders[1] = 1;
  c->levels[1] = c->levels[0];
  sp_sizes_of(&o->parts->all, o->parts->refinements, 1, &s);
  c->rows = s.dofs * (1 + (o->facts.order - 1) * c->bars * cbrt(s.elements / s.dofs));
  return count_level(o->parts, 1, o->facts.order, plan);
}

/* Describe multigrid: its options, and operator, geometry and sizes of its levels. */
static sp_status describe_levels(const sp_config *config, const sp_precondition_facts *facts,
                                 const sp_mesh *mesh, sp_parts *parts, sp_plan *plan) {
  sp_multigrid_options *options = &plan->memory.multigrid;
  outline o = {facts->op, config->discretization.geometry, parts};
  o.facts.kind = sp_operator_rows[facts->op.kind].has_stiffness ? SP_BP35 : SP_MASS;
  sp_precondition_options(config, facts->op.order, options);
  SP_TRY(sp_multigrid_check(facts->op.order, options));
  if (options->smoother == SP_SMOOTHER_AUTO && plan->memory.levels[0].is_tensor)
    options->smoother = SP_SMOOTHER_SCHWARZ;
  sp_multigrid_decide(facts->backend, &mesh->shape, options); /* refined, it hardly changes */
  if (sp_multigrid_allows_bars(options, facts->op.kind) && config->solver.orders.count < 2 &&
      !plan->memory.levels[0].is_tensor)
    plan->memory.bars = sp_bars_share(mesh);
  if (plan->memory.bars > 0) return add_bars(&o, plan);
  SP_TRY(add_levels(&o, plan));
  plan->memory.rows = plan->all[options->levels - 1].dofs;
  return SP_OK;
}

sp_status sp_plan_levels(const sp_config *config, const sp_precondition_facts *facts,
                         const sp_mesh *mesh, sp_parts *parts, sp_plan *plan) {
  plan->ranks = plan->memory.ranks = parts->count;
  SP_TRY(count_level(parts, 0, facts->op.order, plan));
  if (plan->memory.preconditioner != SP_PRECONDITIONER_MULTIGRID) return SP_OK;
  return describe_levels(config, facts, mesh, parts, plan);
}

void sp_plan_free(sp_plan *plan) {
  for (int i = 0; i < SP_MULTIGRID_MOST; i++) free(plan->parts[i]);
  *plan = (sp_plan){0};
}

void sp_plan_choose(sp_plan *plan, int rank) {
  for (int i = 0; i < SP_MULTIGRID_MOST && plan->parts[i]; i++)
    plan->memory.levels[i].sizes = plan->parts[i][rank];
  plan->memory.is_first = rank == 0;
}

/* ---- The table ---- */

/* Maxima over ranks. */
typedef struct most {
  double dofs, neighbours;
  sp_traffic sent;
} most;

/* The share of DOFs that are rows of a level. */
static double share_of_rows(const sp_plan *plan, int index) {
  return index == 1 && plan->memory.bars > 0 ? plan->memory.rows / plan->all[1].dofs : 1;
}

static most find_most(const sp_plan *plan, int index) {
  const sp_memory_case *c = &plan->memory;
  const sp_multigrid_options *options = &c->multigrid;
  const bool solved = index + 1 == options->levels && options->coarse != SP_COARSE_CHEBYSHEV;
  const sp_precision precision = options->precision == SP_CYCLE_SINGLE ? SP_SINGLE : SP_DOUBLE;
  most m = {0};
  for (int r = 0; r < plan->ranks; r++) {
    const sp_sizes *p = &plan->parts[index][r];
    sp_traffic t = sp_multigrid_traffic(options, index, p->neighbours, p->shared);
    if (solved) {
      const sp_traffic more = sp_coarse_traffic(sp_memory_place(c), precision, plan->ranks, c->rows,
                                                p->neighbours, p->shared);
      t.messages += more.messages;
      t.bytes += more.bytes;
    }
    m.dofs = fmax(m.dofs, p->dofs * share_of_rows(plan, index));
    m.neighbours = fmax(m.neighbours, p->neighbours);
    m.sent.messages = fmax(m.sent.messages, t.messages);
    m.sent.bytes = fmax(m.sent.bytes, t.bytes);
  }
  return m;
}

void sp_plan_print(const sp_plan *plan, sp_terminal *t) {
  static const char *const places[] = {
      [SP_COARSE_EVERYWHERE] = "; every rank solves the last level",
      [SP_COARSE_ONE_RANK] = "; rank 0 solves the last level, and what it scatters is not counted",
      [SP_COARSE_HYPRE] = "; what hypre sends on the last level is not counted"};
  const sp_memory_case *c = &plan->memory;
  const sp_multigrid_options *options = &c->multigrid;
  sp_traffic sum = {0};
  if (c->preconditioner != SP_PRECONDITIONER_MULTIGRID) return;
  sp_terminal_print(t, "\n  %-16s %12s %14s %12s %12s %10s %10s\n", "multigrid level", "elements",
                    "DOFs", "on a rank", "neighbours", "messages", "sent [kB]");
  for (int i = 0; i < options->levels; i++) {
    const most m = find_most(plan, i);
    sum.messages += m.sent.messages;
    sum.bytes += m.sent.bytes;
    sp_terminal_print(t, "  order %-10d %12.0f %14.0f %12.0f %12.0f %10.0f %10.1f\n",
                      options->orders[i], plan->all[i].elements,
                      plan->all[i].dofs * share_of_rows(plan, i), m.dofs, m.neighbours,
                      m.sent.messages, 1e-3 * m.sent.bytes);
  }
  sp_terminal_print(t, "  %-16s %12s %14s %12s %12s %10.0f %10.1f\n", "sum", "", "", "", "",
                    sum.messages, 1e-3 * sum.bytes);
  sp_terminal_print(
      t, "  per cycle, on the rank with the most%s\n",
      options->coarse == SP_COARSE_CHEBYSHEV || plan->ranks == 1 ? "" : places[sp_memory_place(c)]);
}
