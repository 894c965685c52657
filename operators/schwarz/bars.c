#include "operators/schwarz/bars.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/columns.h"
#include "mesh/reference.h"

/* Least ratio of couplings across and along a bar, uprightness of a bar, and share of bars in the
 * elements. */
static const double THIN = 64, UPRIGHT = 0.5, ENOUGH = 0.25;

static bool is_constrained(const sp_operator_setup *setup, sp_lid dof) {
  return setup->constrained && setup->constrained[dof];
}

/* ---- Interpolation ---- */

/* An element, and a node of it, from which the row of a DOF is computed. */
typedef struct source {
  sp_lid element;
  int node;
} source;

/* Rows of P. */
typedef struct interpolation {
  const sp_operator_setup *setup;
  const sp_lid *dofs;    /* of the rows; NULL: all */
  const source *sources; /* [local DOFs] */
} interpolation;

/* No search for an existing entry: only periods of one element have a DOF twice, and two entries
 * are allowed. */
static void add_weight(const sp_operator_setup *setup, sp_lid dof, double value, sp_csr_row *row) {
  if (value != 0 && !is_constrained(setup, dof))
    row->entries[row->count++] = (sp_csr_entry){dof, value};
}

/* Blend the four edges along the bar; an edge that is not kept interpolates between its ends. */
static void sum_row(const void *interpolation_, int index, sp_csr_row *row) {
  const interpolation *p = interpolation_;
  const sp_operator_setup *setup = p->setup;
  const source from = p->sources[p->dofs ? p->dofs[index] : index];
  const sp_lid *nodes = sp_numbering_nodes(setup->space->numbering, from.element);
  const int n = setup->space->numbering->order + 1, node = from.node;
  const int kept = sp_system_bar_direction(setup, from.element);
  const int along = kept < 0 ? 0 : kept, at[3] = {node % n, node / n % n, node / (n * n)};
  const double *r = sp_reference_get(n - 1)->gll.nodes;
  const int i = at[along];
  const double t = (1 + r[i]) / 2,
               s[2] = {(1 + r[at[(along + 1) % 3]]) / 2, (1 + r[at[(along + 2) % 3]]) / 2};
  for (int edge = 0; edge < 4; edge++) {
    const double blend = (edge & 1 ? s[0] : 1 - s[0]) * (edge & 2 ? s[1] : 1 - s[1]);
    if (!is_constrained(setup, nodes[sp_edge_node(n, along, edge, 1)])) {
      add_weight(setup, nodes[sp_edge_node(n, along, edge, i)], blend, row);
      continue;
    }
    add_weight(setup, nodes[sp_edge_node(n, along, edge, 0)], blend * (1 - t), row);
    add_weight(setup, nodes[sp_edge_node(n, along, edge, n - 1)], blend * t, row);
  }
}

static sp_status make_rows(const sp_operator_setup *setup, int count, const sp_lid *dofs,
                           sp_csr *out) {
  enum { MOST = 8 }; /* entries of a row */
  const size_t local = sp_space_dofs(setup->space);
  const sp_numbering *numbering = setup->space->numbering;
  const int nodes = (int)sp_element_nodes(numbering->order);
  SP_OWNED source *sources = NULL;
  *out = (sp_csr){0};
  SP_TRY(sp_allocate(local, sizeof *sources, "bars", &sources));
  for (sp_lid e = setup->space->mesh->hexes->count; e-- > 0;)
    for (int i = 0; i < nodes; i++) sources[sp_numbering_nodes(numbering, e)[i]] = (source){e, i};
  return sp_csr_sum(count, (int)local, MOST, &(interpolation){setup, dofs, sources}, sum_row, out);
}

sp_status sp_bars_interpolation(const sp_operator_setup *setup, sp_csr *out) {
  return make_rows(setup, (int)sp_space_dofs(setup->space), NULL, out);
}

/* ---- The system ---- */

/* True if the element is a bar along d. */
static bool is_bar(const sp_mesh *mesh, const sp_separable *boxes, sp_lid e, int d) {
  double a[3];
  const bool upright = sp_columns_couple(mesh->hexes, e, a) >= UPRIGHT;
  for (int i = 0; i < 3; i++) a[i] = sp_separable_coupling(&boxes[e], i);
  return upright && fmin(a[(d + 1) % 3], a[(d + 2) % 3]) >= THIN * a[d];
}

/* Share of elements that are bars, from this rank's `count`; 0 if too small. Collective. */
static double find_share(const sp_mesh *mesh, sp_gid count) {
  MPI_Allreduce(MPI_IN_PLACE, &count, 1, SP_MPI_GID, MPI_SUM, mesh->comm);
  const double share = (double)count / (double)mesh->global_elements;
  return share >= ENOUGH ? share : 0;
}

static double find_bars(const sp_mesh *mesh, const sp_separable *boxes) {
  sp_gid count = 0;
  for (sp_lid e = 0; e < mesh->hexes->count; e++)
    for (int d = 0; d < 3; d++) count += is_bar(mesh, boxes, e, d);
  return find_share(mesh, count);
}

/* votes[local DOFs] = the number of elements in which an edge's node is not on a bar along it.
 * Collective. */
static void count_votes(const sp_system *fine, double *votes) {
  const sp_space *space = fine->space;
  const int n = space->numbering->order + 1;
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++) {
    const sp_lid *nodes = sp_numbering_nodes(space->numbering, e);
    for (int d = 0; d < 3; d++)
      for (int edge = 0; edge < 4 && !is_bar(space->mesh, fine->boxes, e, d); edge++)
        for (int i = 1; i < n - 1; i++) votes[nodes[sp_edge_node(n, d, edge, i)]] += 1;
  }
  sp_exchange_now(space->exchange, SP_SUM, votes);
}

/* Unconstrain the fine system's free DOFs that the subspace keeps. */
static void keep_nodes(const sp_system *fine, const double *votes, bool *constrained) {
  const int n = fine->space->numbering->order + 1;
  for (sp_lid e = 0; e < fine->space->mesh->hexes->count; e++) {
    const sp_lid *nodes = sp_numbering_nodes(fine->space->numbering, e);
    for (int d = 0; d < 3; d++)
      for (int edge = 0; edge < 4; edge++)
        for (int i = 0; i < n; i++) {
          const sp_lid dof = nodes[sp_edge_node(n, d, edge, i)];
          constrained[dof] =
              constrained[dof] && (is_constrained(&fine->setup, dof) || votes[dof] > 0);
        }
  }
}

/* The setup's diagonal = P^T times the fine one. */
static sp_status restrict_diagonal(const sp_operator_setup *fine, sp_operator_setup *setup) {
  const size_t dofs = sp_space_dofs(fine->space);
  SP_AUTO_VALUE(sp_csr) p = {0};
  SP_OWNED double *sums = NULL;
  sp_lid *list;
  double *values;
  if (fine->diagonal_count == 0) return SP_OK;
  SP_TRY(make_rows(setup, fine->diagonal_count, fine->diagonal_dofs, &p));
  SP_TRY(sp_allocate(dofs, sizeof *sums, "bars", &sums));
  for (sp_lid k = 0; k < fine->diagonal_count; k++)
    for (int i = p.start[k]; i < p.start[k + 1]; i++)
      sums[p.column[i]] += p.values[i] * fine->diagonal_values[k];
  const sp_status status =
      sp_system_list_diagonal(dofs, sums, &setup->diagonal_count, &list, &values);
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

/* Fill the parts that differ from the fine system; *enough = false, without them, if bars are too
 * few. */
static sp_status fill_setup(const sp_system *fine, bool *enough, sp_operator_setup *setup,
                            sp_constants *constants) {
  const MPI_Comm comm = fine->space->platform->comm;
  const sp_mesh *mesh = fine->space->mesh;
  const size_t dofs = sp_space_dofs(fine->space);
  double *votes, *kappa, *lambda;
  bool *constrained;
  sp_status status = SP_ALLOCATE("bars", SP_ARRAY(votes, dofs), SP_ARRAY(constrained, dofs));
  setup->constrained = constrained;
  status = sp_agree(comm, status);
  if (!status) {
    sp_gid kept = 0;
    count_votes(fine, votes);
    memset(constrained, true, dofs);
    keep_nodes(fine, votes, constrained);
    for (sp_lid e = 0; e < mesh->hexes->count; e++) kept += sp_system_bar_direction(setup, e) >= 0;
    *enough = find_share(mesh, kept) > 0;
  }
  free(votes);
  if (status || !*enough) return status;
  status = sp_system_average(&fine->setup, &sp_reference_get(1)->gll, setup, &kappa, &lambda);
  setup->kappa = kappa;
  setup->lambda_values = lambda;
  if (!status) status = restrict_diagonal(&fine->setup, setup);
  if (!status) status = copy_constants(fine, constrained, constants);
  return sp_agree(comm, status);
}

sp_status sp_bars_create(sp_system *fine, sp_system **out) {
  sp_operator_setup setup = fine->setup;
  sp_constants constants = {0};
  bool enough = false;
  *out = NULL;
  SP_TRY(sp_system_find_boxes(fine));
  if (find_bars(fine->space->mesh, fine->boxes) == 0) return SP_OK;
  setup.kappa = setup.lambda_values = setup.diagonal_values = NULL;
  setup.diagonal_dofs = NULL;
  setup.diagonal_count = 0;
  setup.alike = NULL;
  const sp_status status = fill_setup(fine, &enough, &setup, &constants);
  const sp_status made = sp_system_create(&setup, NULL, &constants, out);
  if (status || made || !enough) sp_system_destroy(out);
  return sp_first_failure(status, made);
}
