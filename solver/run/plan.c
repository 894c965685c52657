#include "solver/run/plan.h"

#include <math.h>

#include "operators/bars.h"
#include "operators/geometry_choice.h"

/* Data shared by the levels. */
typedef struct outline {
  sp_geometry_facts facts;
  sp_geometry_kind geometry;
  sp_census own, all;
  int refinements;
  double share; /* of the elements of a box that its coarser mesh has */
} outline;

/* Sizes of this rank's part, or of the whole, at an order. */
static sp_sizes sizes_at(const outline *o, const sp_census *census, int order) {
  sp_sizes s;
  sp_sizes_of(census, o->refinements, order, &s);
  s.elements *= o->share;
  s.entities *= o->share;
  s.dofs *= o->share;
  s.shared *= pow(o->share, 2.0 / 3);
  s.sharers *= pow(o->share, 2.0 / 3);
  return s;
}

/* Add level `index`. */
static sp_status add_level(const outline *o, int index, bool coarser, sp_memory_case *c) {
  sp_memory_level *l = &c->levels[index];
  sp_geometry_facts facts = o->facts;
  const char *reason;
  facts.order = c->multigrid.orders[index];
  facts.by_element = facts.by_element || coarser;
  *l = (sp_memory_level){.kind = facts.kind,
                         .order = facts.order,
                         .affine = facts.affine,
                         .coarser = coarser,
                         .sizes = sizes_at(o, &o->own, facts.order)};
  c->rows = sizes_at(o, &o->all, facts.order).dofs;
  return sp_geometry_choose(c->backend, &facts, o->geometry, &l->geometry, &reason);
}

/* Go to the next coarser mesh; false if there is none. */
static bool coarsen(outline *o, const sp_config *config, const sp_mesh *mesh) {
  bool strong[3]; /* refinement hardly changes them */
  const bool is_box = config->mesh.shape != SP_SHAPE_FILE;
  sp_mesh_strong_directions(&mesh->shape, strong);
  const int halved = strong[0] + strong[1] + strong[2];
  if (mesh->hexes->file.contacts > 0) return false;
  if (halved == 3 && o->refinements > 0) {
    o->refinements--;
    return true;
  }
  if (!is_box || halved == 0 || o->share * o->own.elements < 8) return false;
  o->share = ldexp(o->share, -halved);
  return true;
}

/* Add levels as sp_levels_create does. */
static sp_status add_levels(outline *o, const sp_config *config, const sp_mesh *mesh,
                            sp_memory_case *c) {
  sp_multigrid_options *options = &c->multigrid;
  const int orders = options->levels, smoothed = sp_multigrid_smoothed(options);
  for (int i = 1; i < smoothed; i++) SP_TRY(add_level(o, i, false, c));
  options->levels = smoothed;
  while (sp_multigrid_wants_mesh(options, c->backend, o->facts.kind, c->levels[0].is_tensor,
                                 c->rows) &&
         coarsen(o, config, mesh)) {
    options->orders[options->levels] = 1;
    SP_TRY(add_level(o, options->levels++, true, c));
  }
  if (options->levels >= orders) return SP_OK;
  options->levels = orders;
  return add_level(o, orders - 1, false, c);
}

/* Add the level of bars instead, with sizes of the whole order. Its rows are the vertices, and N -
 * 1 nodes on every edge along bars. A box of as many elements in all directions has cbrt(elements /
 * vertices) such edges per vertex. */
static void add_bars(const outline *o, sp_memory_case *c) {
  const sp_sizes s = sizes_at(o, &o->all, 1);
  c->multigrid.levels = 2;
  c->multigrid.orders[1] = 1;
  c->levels[1] = c->levels[0];
  c->rows = s.dofs * (1 + (o->facts.order - 1) * c->bars * cbrt(s.elements / s.dofs));
}

sp_status sp_plan_levels(const sp_config *config, const sp_precondition_facts *facts,
                         const sp_mesh *mesh, sp_memory_case *c) {
  sp_multigrid_options *options = &c->multigrid;
  outline o = {.facts = facts->op,
               .geometry = config->discretization.geometry,
               .refinements = config->mesh.refine,
               .share = 1};
  sp_census_take(mesh->comm, mesh->topology, &o.own, &o.all);
  c->ranks = sp_comm_size(mesh->comm);
  c->is_first = sp_comm_rank(mesh->comm) == 0;
  c->levels[0].sizes = sizes_at(&o, &o.own, facts->op.order);
  c->rows = sizes_at(&o, &o.all, facts->op.order).dofs;
  if (c->preconditioner != SP_PRECONDITIONER_MULTIGRID) return SP_OK;
  o.facts.kind = sp_operator_rows[facts->op.kind].has_stiffness ? SP_BP35 : SP_MASS;
  sp_precondition_options(config, facts->op.order, options);
  SP_TRY(sp_multigrid_check(facts->op.order, options));
  if (options->smoother == SP_SMOOTHER_AUTO && c->levels[0].is_tensor)
    options->smoother = SP_SMOOTHER_SCHWARZ;
  sp_multigrid_decide(facts->backend, &mesh->shape, options); /* refined, it hardly changes */
  if (sp_multigrid_allows_bars(options, facts->op.kind) && config->solver.orders.count < 2 &&
      !c->levels[0].is_tensor)
    c->bars = sp_bars_share(mesh);
  if (c->bars == 0) return add_levels(&o, config, mesh, c);
  add_bars(&o, c);
  return SP_OK;
}
