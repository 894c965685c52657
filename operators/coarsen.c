
#include "io/threads.h"
#include "operators/counts.h"
#include "operators/factors.h"
#include "operators/system.h"
#include "operators/transfer.h"

enum { PATCH = 27 };

/* Arrays of the coarse system; NULL if the fine one has none. */
typedef struct arrays {
  bool *constrained;
  int *of_dof;
  double *kappa, *lambda;
  sp_lid count, *dofs; /* of the Robin diagonal */
  double *diagonal;
} arrays;

/* The node of degree 2 at a corner. */
static int corner_of_patch(int corner) {
  return 2 * (corner & 1) + 6 * (corner >> 1 & 1) + 18 * (corner >> 2);
}

/* Shared by the loops over coarse elements. */
typedef struct coarsening {
  const sp_system *fine;
  const sp_space *space;
  const sp_lid *nodes; /* sp_transfer_nodes */
  const arrays *arrays;
  size_t components, points; /* of kappa and lambda in a fine element */
} coarsening;

/* Coarse vertices are fine vertices. Elements write the same value to a common vertex. */
static void inject_dofs(const coarsening *c, size_t e) {
  const arrays *a = c->arrays;
  for (int q = 0; q < SP_CORNERS; q++) {
    const sp_lid from = c->nodes[e * PATCH + (size_t)corner_of_patch(q)];
    const sp_lid to = c->space->numbering->nodes[e * SP_CORNERS + (size_t)q];
    if (a->constrained)
      __atomic_store_n(&a->constrained[to], c->fine->setup.constrained[from], __ATOMIC_RELAXED);
    if (a->of_dof)
      __atomic_store_n(&a->of_dof[to], c->fine->constants.of_dof[from], __ATOMIC_RELAXED);
  }
}

/* means[components] of coarse element e = means of values[elements][components][points] over its
 * children, weighted by volume. */
static void average_children(const coarsening *s, size_t e, size_t components, const double *values,
                             double *means) {
  const sp_lid *children = s->space->mesh->hexes->children[e];
  for (size_t i = 0; i < components; i++) {
    double sum = 0, volume = 0, map[3][3];
    for (int c = 0; c < SP_CORNERS; c++) {
      if (children[c] < 0) continue;
      const double weight =
          sp_hexes_mean_map(s->fine->space->mesh->hexes, children[c], map) / (double)s->points;
      volume += weight * (double)s->points;
      const double *own = &values[((size_t)children[c] * components + i) * s->points];
      for (size_t p = 0; p < s->points; p++) sum += weight * own[p];
    }
    means[i] = sum / volume;
  }
}

static void fill_some(void *coarsening_, size_t begin, size_t end) {
  const coarsening *c = coarsening_;
  const sp_operator_setup *setup = &c->fine->setup;
  const arrays *a = c->arrays;
  for (size_t e = begin; e < end; e++) {
    inject_dofs(c, e);
    if (a->kappa) average_children(c, e, c->components, setup->kappa, &a->kappa[e * c->components]);
    if (a->lambda) average_children(c, e, 1, setup->lambda_values, &a->lambda[e]);
  }
}

/* total = P^T diagonal, each rank's own part. `shares`: number of this rank's coarse elements per
 * DOF. */
static void restrict_diagonal(const sp_space *space, const sp_lid *nodes, const double *diagonal,
                              const double *shares, double *total) {
  const size_t count = (size_t)space->mesh->hexes->count;
  for (size_t n = 0; n < count * PATCH; n++) {
    const sp_lid dof = nodes[n];
    if (!(diagonal[dof] > 0)) continue;
    const size_t at = n % PATCH;
    const double t[3] = {0.5 * (double)(at % 3), 0.5 * (double)(at / 3 % 3),
                         0.5 * (double)(at / 9)};
    for (int c = 0; c < SP_CORNERS; c++) {
      double weight = diagonal[dof] / shares[dof];
      for (int d = 0; d < 3; d++) weight *= c >> d & 1 ? t[d] : 1 - t[d];
      total[space->numbering->nodes[n / PATCH * SP_CORNERS + (size_t)c]] += weight;
    }
  }
}

static sp_status coarsen_diagonal(const sp_system *fine, const sp_space *space, const sp_lid *nodes,
                                  arrays *a) {
  const sp_operator_setup *setup = &fine->setup;
  const size_t dofs = sp_space_dofs(fine->space) + 1, coarse_dofs = sp_space_dofs(space);
  const size_t count = PATCH * (size_t)space->mesh->hexes->count;
  SP_OWNED double *diagonal = NULL, *shares = NULL, *total = NULL;
  SP_TRY(SP_ALLOCATE("Robin", SP_ARRAY(diagonal, dofs), SP_ARRAY(shares, dofs),
                     SP_ARRAY(total, coarse_dofs)));
  for (sp_lid i = 0; i < setup->diagonal_count; i++)
    diagonal[setup->diagonal_dofs[i]] = setup->diagonal_values[i];
  for (size_t n = 0; n < count; n++) shares[nodes[n]] += 1;
  restrict_diagonal(space, nodes, diagonal, shares, total);
  return sp_system_list_diagonal(coarse_dofs, total, &a->count, &a->dofs, &a->diagonal);
}

static sp_status fill_arrays(const sp_system *fine, const sp_space *space, arrays *a) {
  const sp_operator_setup *setup = &fine->setup;
  const size_t elements = (size_t)space->mesh->hexes->count, dofs = sp_space_dofs(space);
  const size_t components = setup->is_tensor ? 6 : 1;
  const size_t points = setup->by_element ? 1 : sp_rule_points(sp_operator_rule(setup->kind, 1));
  SP_OWNED sp_lid *nodes = NULL;
  SP_TRY(sp_transfer_nodes(fine->space, space, &nodes));
  if (setup->constrained)
    SP_TRY(sp_allocate(dofs, sizeof *a->constrained, "Dirichlet mask", &a->constrained));
  if (fine->constants.components > 0)
    SP_TRY(sp_allocate(dofs, sizeof *a->of_dof, "components", &a->of_dof));
  if (setup->kappa)
    SP_TRY(sp_allocate(elements * components, sizeof *a->kappa, "kappa", &a->kappa));
  if (setup->lambda_values) SP_TRY(sp_allocate(elements, sizeof *a->lambda, "lambda", &a->lambda));
  coarsening c = {fine, space, nodes, a, components, points};
  SP_TRY(sp_loop_over("coarser level", elements, PATCH, &c, fill_some));
  return setup->diagonal_count > 0 ? coarsen_diagonal(fine, space, nodes, a) : SP_OK;
}

static sp_status create_system(const sp_system *fine, sp_geometry_kind geometry, sp_space *space,
                               sp_system **out) {
  const bool has_stiffness = sp_operator_rows[fine->setup.kind].has_stiffness;
  arrays a = {0};
  const char *reason;
  sp_status status = fill_arrays(fine, space, &a);
  sp_operator_setup setup = {.space = space,
                             .kind = has_stiffness ? SP_BP35 : SP_MASS,
                             .lambda = fine->setup.lambda,
                             .constrained = a.constrained,
                             .kappa = a.kappa,
                             .lambda_values = a.lambda,
                             .by_element = true,
                             .is_tensor = fine->setup.is_tensor,
                             .diagonal_count = a.count,
                             .diagonal_dofs = a.dofs,
                             .diagonal_values = a.diagonal};
  const sp_constants constants = {.components = fine->constants.components, .of_dof = a.of_dof};
  const sp_geometry_facts facts = sp_geometry_facts_of(&setup);
  if (!status)
    status =
        sp_geometry_choose(space->platform->backend, &facts, geometry, &setup.geometry, &reason);
  status = sp_agree(space->platform->comm, status);
  const sp_status made = sp_system_create(&setup, space, &constants, out);
  if (!status) return made;
  sp_system_destroy(out);
  return status;
}

sp_status sp_system_coarsen(const sp_system *fine, sp_geometry_kind geometry, sp_mesh **mesh,
                            sp_system **out) {
  sp_space *space;
  *out = NULL;
  sp_status status = sp_space_create(fine->space->platform, *mesh, 1, &space);
  if (!status) status = create_system(fine, geometry, space, out);
  if (status)
    sp_mesh_destroy(mesh);
  else
    (*out)->own_mesh = *mesh;
  *mesh = NULL;
  return status;
}
