#include "operators/bars.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/columns.h"
#include "mesh/reference.h"
#include "operators/separable.h"

/* Least ratio of couplings across and along a bar, uprightness of an element that is not skew, and
 * share of the elements with bars. */
static const double THIN = 64, UPRIGHT = 0.5, ENOUGH = 0.25;

static bool is_constrained(const sp_operator_setup *setup, sp_lid dof) {
  return setup->constrained && setup->constrained[dof];
}

static const sp_lid *nodes_of(const sp_operator_setup *setup, sp_lid e) {
  const sp_numbering *numbering = setup->space->numbering;
  return &numbering->nodes[(size_t)e * sp_element_nodes(numbering->order)];
}

int sp_bars_direction(const sp_operator_setup *setup, sp_lid element) {
  const int n = setup->space->numbering->order + 1;
  const sp_lid *nodes = nodes_of(setup, element);
  for (int d = 0; d < 3 && n > 2; d++)
    for (int edge = 0; edge < 4; edge++)
      if (!is_constrained(setup, nodes[sp_edge_node(n, d, edge, 1)])) return d;
  return -1;
}

/* ---- Interpolation ---- */

/* Weights of an element's nodes at one of its nodes. */
typedef struct weights {
  int count;
  sp_lid dofs[8];
  double values[8];
} weights;

static void add_weight(const sp_operator_setup *setup, sp_lid dof, double value, weights *w) {
  if (value == 0 || is_constrained(setup, dof)) return;
  w->dofs[w->count] = dof;
  w->values[w->count++] = value;
}

/* Blend the edges in direction `along`; one that is not kept interpolates between its ends. */
static void weigh(const sp_operator_setup *setup, const sp_lid *nodes, int along, const int at[3],
                  weights *w) {
  const int n = setup->space->numbering->order + 1;
  const double *r = sp_reference_get(n - 1)->gll.nodes;
  const int i = at[along];
  const double t = (1 + r[i]) / 2,
               s[2] = {(1 + r[at[(along + 1) % 3]]) / 2, (1 + r[at[(along + 2) % 3]]) / 2};
  w->count = 0;
  for (int edge = 0; edge < 4; edge++) {
    const double blend = (edge & 1 ? s[0] : 1 - s[0]) * (edge & 2 ? s[1] : 1 - s[1]);
    if (!is_constrained(setup, nodes[sp_edge_node(n, along, edge, 1)])) {
      add_weight(setup, nodes[sp_edge_node(n, along, edge, i)], blend, w);
      continue;
    }
    add_weight(setup, nodes[sp_edge_node(n, along, edge, 0)], blend * (1 - t), w);
    add_weight(setup, nodes[sp_edge_node(n, along, edge, n - 1)], blend * t, w);
  }
}

/* The element and the node in it that give the row of each DOF. */
static sp_status find_sources(const sp_space *space, int64_t **out) {
  const size_t nodes = sp_element_nodes(space->numbering->order);
  const size_t count = nodes * (size_t)space->mesh->hexes->count;
  SP_TRY(sp_allocate(sp_space_dofs(space), sizeof **out, "bars", out));
  for (size_t i = count; i-- > 0;) (*out)[space->numbering->nodes[i]] = (int64_t)i;
  return SP_OK;
}

sp_status sp_bars_interpolation(const sp_operator_setup *setup, sp_csr *out) {
  const sp_space *space = setup->space;
  const size_t dofs = sp_space_dofs(space), nodes = sp_element_nodes(space->numbering->order);
  const int n = space->numbering->order + 1;
  int64_t *source = NULL;
  *out = (sp_csr){.rows = (int)dofs, .columns = (int)dofs};
  sp_status status = sp_allocate(dofs + 1, sizeof *out->start, "bars", &out->start);
  if (!status) status = find_sources(space, &source);
  for (int pass = 0; pass < 2 && !status; pass++) {
    int entries = 0, along = -1;
    sp_lid element = -1;
    for (size_t i = 0; i < dofs && !status; i++) {
      const sp_lid e = (sp_lid)((size_t)source[i] / nodes);
      const int node = (int)((size_t)source[i] % nodes);
      weights w;
      if (e != element) along = sp_bars_direction(setup, e);
      element = e;
      weigh(setup, nodes_of(setup, e), along < 0 ? 0 : along,
            (const int[]){node % n, node / n % n, node / (n * n)}, &w);
      for (int k = 0; k < w.count && pass == 1; k++) {
        out->column[entries + k] = (int)w.dofs[k];
        out->values[entries + k] = w.values[k];
      }
      if (entries > INT_MAX - w.count)
        status = sp_fail(SP_ERR_INPUT,
                         "multigrid's interpolation along bars has more than %d "
                         "entries on a rank: use more ranks",
                         INT_MAX);
      else
        out->start[i + 1] = entries += w.count;
    }
    if (pass == 0 && !status)
      status = sp_allocate((size_t)entries, sizeof *out->column, "bars", &out->column);
    if (pass == 0 && !status)
      status = sp_allocate((size_t)entries, sizeof *out->values, "bars", &out->values);
  }
  free(source);
  return status;
}

/* ---- The system ---- */

/* votes[local DOFs] = the number of elements in which an edge's node is not on a bar along it.
 * Collective. */
static sp_status vote(const sp_system *fine, double *votes) {
  const sp_space *space = fine->space;
  const sp_hexes *hexes = space->mesh->hexes;
  const int n = space->numbering->order + 1;
  sp_separable *boxes = NULL;
  sp_status status = sp_allocate((size_t)hexes->count, sizeof *boxes, "bars", &boxes);
  if (!status) status = sp_separable_fill(&fine->setup, boxes);
  for (sp_lid e = 0; e < hexes->count && !status; e++) {
    const sp_lid *nodes = nodes_of(&fine->setup, e);
    double a[3];
    const bool upright = sp_columns_couple(hexes, e, a) >= UPRIGHT;
    for (int d = 0; d < 3; d++) a[d] = sp_separable_coupling(&boxes[e], d);
    for (int d = 0; d < 3; d++) {
      if (upright && fmin(a[(d + 1) % 3], a[(d + 2) % 3]) >= THIN * a[d]) continue;
      for (int i = 1; i < n - 1; i++)
        for (int edge = 0; edge < 4; edge++) votes[nodes[sp_edge_node(n, d, edge, i)]] += 1;
    }
  }
  free(boxes);
  SP_TRY(sp_agree(space->platform->comm, status));
  sp_exchange_now(space->exchange, SP_SUM, votes);
  return SP_OK;
}

/* Unconstrain the fine system's free DOFs that the subspace keeps. */
static void keep_nodes(const sp_system *fine, const double *votes, bool *constrained) {
  const int n = fine->space->numbering->order + 1;
  for (sp_lid e = 0; e < fine->space->mesh->hexes->count; e++) {
    const sp_lid *nodes = nodes_of(&fine->setup, e);
    for (int d = 0; d < 3; d++)
      for (int edge = 0; edge < 4; edge++)
        for (int i = 0; i < n; i++) {
          const sp_lid dof = nodes[sp_edge_node(n, d, edge, i)];
          constrained[dof] =
              constrained[dof] && (is_constrained(&fine->setup, dof) || votes[dof] > 0);
        }
  }
}

/* True if enough elements have edges that are kept. Collective. */
static bool are_enough(const sp_operator_setup *setup) {
  const sp_mesh *mesh = setup->space->mesh;
  sp_gid count = 0;
  for (sp_lid e = 0; e < mesh->hexes->count; e++) count += sp_bars_direction(setup, e) >= 0;
  MPI_Allreduce(MPI_IN_PLACE, &count, 1, SP_MPI_GID, MPI_SUM, mesh->comm);
  return (double)count >= ENOUGH * (double)mesh->global_elements;
}

static sp_status duplicate(size_t count, size_t size, const void *from, void **to) {
  *to = NULL;
  if (!from) return SP_OK;
  SP_TRY(sp_allocate(count, size, "bars", to));
  memcpy(*to, from, count * size);
  return SP_OK;
}

static sp_status copy_coefficients(const sp_system *fine, sp_operator_setup *setup) {
  const sp_operator_setup *from = &fine->setup;
  const size_t elements = (size_t)fine->space->mesh->hexes->count;
  const size_t values =
      elements * (from->by_element ? 1 : sp_element_nodes(fine->space->numbering->order));
  SP_TRY(duplicate(values * (from->is_tensor ? 6 : 1), sizeof *from->kappa, from->kappa,
                   (void **)&setup->kappa));
  return duplicate(values, sizeof *from->kappa, from->lambda_values,
                   (void **)&setup->lambda_values);
}

/* The setup's diagonal = P^T times the fine one. */
static sp_status restrict_diagonal(const sp_operator_setup *fine, sp_operator_setup *setup) {
  const size_t dofs = sp_space_dofs(fine->space);
  sp_csr p = {0};
  double *sums = NULL, *values = NULL;
  sp_lid *list = NULL, count = 0;
  if (fine->diagonal_count == 0) return SP_OK;
  sp_status status = sp_bars_interpolation(setup, &p);
  if (!status) status = sp_allocate(dofs, sizeof *sums, "bars", &sums);
  for (sp_lid k = 0; k < fine->diagonal_count && !status; k++) {
    const sp_lid dof = fine->diagonal_dofs[k];
    for (int i = p.start[dof]; i < p.start[dof + 1]; i++)
      sums[p.column[i]] += p.values[i] * fine->diagonal_values[k];
  }
  if (!status) status = sp_allocate(dofs, sizeof *list, "bars", &list);
  if (!status) status = sp_allocate(dofs, sizeof *values, "bars", &values);
  for (size_t i = 0; i < dofs && !status; i++)
    if (sums[i] != 0) {
      list[count] = (sp_lid)i;
      values[count++] = sums[i];
    }
  free(sums);
  free(p.start);
  free(p.column);
  free(p.values);
  setup->diagonal_count = count;
  setup->diagonal_dofs = list;
  setup->diagonal_values = values;
  return status;
}

static sp_status copy_constants(const sp_system *fine, const bool *constrained, sp_constants *out) {
  const size_t dofs = sp_space_dofs(fine->space);
  int *of_dof;
  *out = (sp_constants){.components = fine->constants.components};
  if (out->components == 0) return SP_OK;
  SP_TRY(sp_allocate(dofs, sizeof *of_dof, "components", &of_dof));
  for (size_t i = 0; i < dofs; i++) of_dof[i] = constrained[i] ? -1 : fine->constants.of_dof[i];
  out->of_dof = of_dof;
  return SP_OK;
}

/* Fill the parts that differ from the fine system; without them if there are too few bars. */
static sp_status fill(const sp_system *fine, bool *enough, sp_operator_setup *setup,
                      sp_constants *constants) {
  const MPI_Comm comm = fine->space->platform->comm;
  const size_t dofs = sp_space_dofs(fine->space);
  double *votes = NULL;
  bool *constrained = NULL;
  sp_status status = sp_allocate(dofs, sizeof *votes, "bars", &votes);
  if (!status) status = sp_allocate(dofs, sizeof *constrained, "bars", &constrained);
  setup->constrained = constrained;
  status = sp_agree(comm, status);
  if (!status) status = vote(fine, votes);
  if (!status) {
    memset(constrained, true, dofs);
    keep_nodes(fine, votes, constrained);
    *enough = are_enough(setup);
  }
  free(votes);
  if (status || !*enough) return status;
  status = copy_coefficients(fine, setup);
  if (!status) status = restrict_diagonal(&fine->setup, setup);
  if (!status) status = copy_constants(fine, constrained, constants);
  return sp_agree(comm, status);
}

sp_status sp_bars_create(const sp_system *fine, sp_system **out) {
  sp_operator_setup setup = fine->setup;
  sp_constants constants = {0};
  bool enough = false;
  setup.kappa = setup.lambda_values = setup.diagonal_values = NULL;
  setup.diagonal_dofs = NULL;
  setup.diagonal_count = 0;
  setup.alike = NULL;
  const sp_status status = fill(fine, &enough, &setup, &constants);
  const sp_status made = sp_system_create(&setup, NULL, &constants, out);
  if (status || made || !enough) sp_system_destroy(out);
  return sp_first_failure(status, made);
}
