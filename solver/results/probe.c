#include "solver/results/probe.h"

#include <math.h>
#include <string.h>

#include "mesh/locate.h"
#include "mesh/reference.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/evaluate.h"

/* ---- Places ---- */

/* Name the nearest point of the mesh, to show which coordinate or unit is wrong. */
static sp_status fail_outside(const sp_mesh *mesh, const char *where, const char *what,
                              const double point[3]) {
  double nearest[3] = {INFINITY, INFINITY, INFINITY}, own, distance;
  const sp_lid found = sp_locate_nearest(mesh->hexes, point, nearest, &own);
  MPI_Allreduce(&own, &distance, 1, MPI_DOUBLE, MPI_MIN, mesh->comm);
  const sp_gid tag = found >= 0 && own <= distance ? mesh->hexes->tags[found] : INT64_MAX;
  sp_gid element;
  MPI_Allreduce(&tag, &element, 1, SP_MPI_GID, MPI_MIN, mesh->comm);
  for (int d = 0; d < 3 && tag != element; d++) nearest[d] = INFINITY;
  MPI_Allreduce(MPI_IN_PLACE, nearest, 3, MPI_DOUBLE, MPI_MIN, mesh->comm);
  return sp_fail(
      SP_ERR_INPUT,
      "%s: the %s is outside the mesh: (%.12g, %.12g, %.12g) is %.3g from the nearest point "
      "of the mesh, (%.7g, %.7g, %.7g) in element %lld",
      where, what, point[0], point[1], point[2], distance, nearest[0], nearest[1], nearest[2],
      (long long)element);
}

/* Place n samples from a to b in the elements of this rank. */
static sp_status locate_samples(const sp_mesh *mesh, const char *name, const double a[3],
                                const double b[3], int n, sp_probe *list) {
  sp_lid *elements = NULL;
  double(*references)[3] = NULL;
  bool *outside = NULL;
  sp_status status =
      SP_ALLOCATE("probes", SP_ARRAY(elements, n), SP_ARRAY(references, n), SP_ARRAY(outside, n));
  if (!status) sp_locate_line(mesh->hexes, a, b, n, elements, references, outside);
  for (int i = 0; i < n && !status; i++) {
    list[i] = (sp_probe){.name = name, .element = elements[i], .outside = outside[i]};
    sp_locate_sample(a, b, n, i, list[i].point);
    memcpy(list[i].reference, references[i], sizeof references[i]);
    for (int d = 0; d < 3; d++) list[i].distance = hypot(list[i].distance, list[i].point[d] - a[d]);
  }
  SP_FREE(elements, references, outside);
  return status;
}

static sp_status locate_all(const sp_wanted *wanted, const sp_mesh *mesh, sp_probes *probes) {
  sp_probe *next = probes->list;
  for (int p = 0; p < probes->count; p++) {
    const sp_probe_entry *entry = &wanted->probes.entries[p];
    SP_TRY(locate_samples(mesh, entry->name, entry->point, entry->point, 1, next++));
  }
  for (int l = 0; l < wanted->lines.count; l++) {
    const sp_line_entry *entry = &wanted->lines.entries[l];
    SP_TRY(locate_samples(mesh, entry->name, entry->ends[0], entry->ends[1], entry->samples, next));
    next += entry->samples;
  }
  return SP_OK;
}

/* Numbers that order the elements with a point, or just beside one, on any number of ranks;
 * INT64_MAX without one. */
static sp_gid key_of_point(const sp_mesh *mesh, const sp_probe *probe, int key) {
  const sp_lid e = probe->element;
  if (e < 0) return INT64_MAX;
  if (key == 0) return probe->outside;
  if (key == 3) return sp_comm_rank(mesh->comm);
  return key == 1 ? mesh->hexes->tags[e] : mesh->hexes->octants[e];
}

/* Leave each point to one element. */
static void find_owners(const sp_mesh *mesh, sp_probes *probes, sp_gid *least) {
  for (int key = 0; key < 4; key++) {
    for (int p = 0; p < probes->all; p++) least[p] = key_of_point(mesh, &probes->list[p], key);
    MPI_Allreduce(MPI_IN_PLACE, least, probes->all, SP_MPI_GID, MPI_MIN, mesh->comm);
    for (int p = 0; p < probes->all; p++) {
      if (key_of_point(mesh, &probes->list[p], key) != least[p]) probes->list[p].element = -1;
      if (key > 0) probes->list[p].outside = least[p] == INT64_MAX;
    }
  }
}

static sp_status check_inside(const sp_wanted *wanted, const sp_mesh *mesh,
                              const sp_probes *probes) {
  const sp_probe *next = &probes->list[probes->count];
  for (int p = 0; p < probes->count; p++)
    if (probes->list[p].outside)
      return fail_outside(mesh, wanted->probes.entries[p].where, "point", probes->list[p].point);
  for (int l = 0; l < wanted->lines.count; l++) {
    const sp_line_entry *entry = &wanted->lines.entries[l];
    bool inside = false;
    for (int i = 0; i < entry->samples; i++) inside = !next++->outside || inside;
    if (!inside) return fail_outside(mesh, entry->where, "line", entry->ends[0]);
  }
  return SP_OK;
}

sp_status sp_probes_create(const sp_wanted *wanted, const sp_mesh *mesh, sp_probes **out) {
  SP_OWNED sp_gid *least = NULL;
  int all = wanted->probes.count;
  for (int l = 0; l < wanted->lines.count; l++) all += wanted->lines.entries[l].samples;
  SP_AUTO(sp_probes) probes = NULL;
  *out = NULL;
  sp_status status = sp_allocate(1, sizeof *probes, "probes", &probes);
  if (!status) status = SP_ALLOCATE("probes", SP_ARRAY(probes->list, all), SP_ARRAY(least, all));
  if (!status) {
    probes->count = wanted->probes.count;
    probes->all = all;
    status = locate_all(wanted, mesh, probes);
  }
  SP_TRY(sp_agree(mesh->comm, status));
  find_owners(mesh, probes, least);
  SP_TRY(check_inside(wanted, mesh, probes));
  *out = probes;
  probes = NULL;
  return SP_OK;
}

void sp_probes_destroy(sp_probes **probes) {
  if (!*probes) return;
  SP_FREE((*probes)->list, *probes);
  *probes = NULL;
}

/* ---- Values ---- */

/* Compute u_h and its gradient at a probe, where the map has the columns c. */
static double interpolate_at_probe(const sp_probe *probe, const sp_space *space, const double *x,
                                   double c[3][3], double gradient[3]) {
  const int order = space->numbering->order, nq = order + 1;
  const double *gll = sp_reference_get(order)->gll.nodes;
  double value[3][SP_MAX_NQ], slope[3][SP_MAX_NQ], slopes[3] = {0, 0, 0}, sum = 0;
  for (int d = 0; d < 3; d++) {
    sp_interpolation_matrix(nq, gll, 1, &probe->reference[d], value[d]);
    sp_derivative_matrix(nq, gll, 1, &probe->reference[d], slope[d]);
    gradient[d] = 0;
  }
  const sp_lid *node = sp_numbering_nodes(space->numbering, probe->element);
  for (int k = 0; k < nq; k++)
    for (int j = 0; j < nq; j++)
      for (int i = 0; i < nq; i++) {
        const double u = x[*node++];
        sum += value[0][i] * value[1][j] * value[2][k] * u;
        slopes[0] += slope[0][i] * value[1][j] * value[2][k] * u;
        slopes[1] += value[0][i] * slope[1][j] * value[2][k] * u;
        slopes[2] += value[0][i] * value[1][j] * slope[2][k] * u;
      }
  /* Rows of J^-1 are cross products of the columns of J over its determinant. */
  double determinant = 0;
  for (int b = 0; b < 3; b++)
    for (int d = 0; d < 3; d++) {
      const double *left = c[(b + 1) % 3], *right = c[(b + 2) % 3];
      const int y = (d + 1) % 3, z = (d + 2) % 3;
      const double cross = left[y] * right[z] - left[z] * right[y];
      gradient[d] += slopes[b] * cross;
      if (b == 0) determinant += c[0][d] * cross;
    }
  for (int d = 0; d < 3; d++) gradient[d] /= determinant;
  return sum;
}

/* Fill values with u_h, its error and q. */
static sp_status evaluate_probe(const sp_probe *probe, const sp_problem *problem,
                                const sp_space *space, const double *x, double values[5]) {
  const sp_material *material =
      sp_materials_of(&problem->materials, space->mesh->hexes, probe->element);
  const double *point[3] = {&probe->point[0], &probe->point[1], &probe->point[2]};
  double *q = values + 2, exact = 0, factor = 0, c[3][3], at[3], inner[3];
  const double *inside[3] = {&inner[0], &inner[1], &inner[2]};
  sp_locate_map(space->mesh->hexes, probe->element, probe->reference, at, c);
  values[0] = interpolate_at_probe(probe, space, x, c, q);
  if (material->solution)
    SP_TRY(sp_problem_evaluate(material->solution, 1, point, NULL, &exact, NULL, NULL));
  values[1] = values[0] - exact;
  for (int d = 0; d < 3; d++) {
    inner[d] = probe->point[d];
    for (int b = 0; b < 3 && !sp_operator_rows[problem->kind].collocated; b++)
      inner[d] -= SP_MATERIAL_INSIDE * probe->reference[b] * c[b][d];
  }
  const double *r = probe->reference, *const nodes[3] = {&r[0], &r[1], &r[2]};
  if (sp_operator_rows[problem->kind].has_stiffness &&
      !sp_problem_interpolate_kappa(problem, space, probe->element, 1, nodes, &factor))
    SP_TRY(sp_material_conduct(material, 1, inside, &factor, 1,
                               (double *const[]){&q[0], &q[1], &q[2]}));
  for (int d = 0; d < 3; d++) q[d] *= -factor;
  return SP_OK;
}

sp_status sp_probes_evaluate(sp_probes *probes, const sp_problem *problem, const sp_space *space,
                             const double *x) {
  SP_OWNED double(*values)[5] = NULL; /* zeros on all ranks but one */
  SP_TRY(sp_agree(space->mesh->comm,
                  sp_allocate((size_t)probes->all, sizeof *values, "probes", &values)));
  sp_status status = SP_OK;
  for (int p = 0; p < probes->all; p++)
    if (probes->list[p].element >= 0 && !status)
      status = evaluate_probe(&probes->list[p], problem, space, x, values[p]);
  MPI_Allreduce(MPI_IN_PLACE, values, 5 * probes->all, MPI_DOUBLE, MPI_SUM, space->mesh->comm);
  for (int p = 0; p < probes->all; p++) {
    sp_probe *probe = &probes->list[p];
    const double missing = probe->outside ? NAN : 0;
    probe->value = values[p][0] + missing;
    probe->error = values[p][1] + missing;
    for (int d = 0; d < 3; d++) probe->flux[d] = values[p][2 + d] + missing;
  }
  return sp_agree(space->mesh->comm, status);
}
