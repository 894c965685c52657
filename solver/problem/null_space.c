#include "solver/problem/null_space.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "mesh/components.h"
#include "mesh/reference.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/groups.h"
#include "solver/problem/load.h"

static const double BALANCE = 1e-10, EXPLAINED = 0.01;

/* Check if elements of component c are in a volume group. Collective. */
static bool is_in_group(const sp_null_space *null_space, const sp_mesh *mesh, int c,
                        const sp_group *group) {
  bool found = false;
  for (sp_lid e = 0; e < mesh->hexes->count && !found; e++)
    found = null_space->of_element[e] == c && sp_group_has(group, mesh->hexes->volumes[e]);
  MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_C_BOOL, MPI_LOR, mesh->comm);
  return found;
}

typedef struct part_name {
  char text[512];
} part_name;

/* Describe component c by its extent, size and volume groups; "" if it is the whole mesh.
 * Collective. */
static part_name name_part(const sp_null_space *null_space, const sp_mesh *mesh, int c) {
  const sp_hexes *hexes = mesh->hexes;
  double least[6] = {DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX}; /* of x and -x */
  part_name name = {""};
  sp_gid elements = 0;
  if (!null_space->of_parts) return name;
  for (sp_lid e = 0; e < hexes->count; e++) {
    if (null_space->of_element[e] != c) continue;
    const double *lattice = sp_hexes_lattice(hexes, e);
    for (size_t i = 0; i < 3 * sp_hexes_lattice_size(hexes); i++) {
      least[i % 3] = fmin(least[i % 3], lattice[i]);
      least[3 + i % 3] = fmin(least[3 + i % 3], -lattice[i]);
    }
    elements++;
  }
  MPI_Allreduce(MPI_IN_PLACE, least, 6, MPI_DOUBLE, MPI_MIN, mesh->comm);
  MPI_Allreduce(MPI_IN_PLACE, &elements, 1, SP_MPI_GID, MPI_SUM, mesh->comm);
  int used = snprintf(name.text, sizeof name.text, " on the connected part of %lld element%s",
                      (long long)elements, sp_plural(elements));
  for (int g = 0; g < hexes->volume.group_count && used < (int)sizeof name.text / 2; g++) {
    char group[100];
    if (is_in_group(null_space, mesh, c, &hexes->volume.groups[g]))
      used += snprintf(
          name.text + used, sizeof name.text - (size_t)used, " '%s'",
          sp_groups_list(&(sp_family){.group_count = 1, .groups = &hexes->volume.groups[g]}, NULL,
                         sizeof group, group));
  }
  snprintf(name.text + used, sizeof name.text - (size_t)used,
           " between (%.12g, %.12g, %.12g) and (%.12g, %.12g, %.12g)", least[0], least[1], least[2],
           0 - least[3], 0 - least[4], 0 - least[5]);
  return name;
}

/* Fill a vector with ones, or with `signs` with pseudorandom 1 and -1, the same on all ranks that
 * hold a DOF. */
static void fill_vector(const sp_numbering *numbering, bool signs, double *host) {
  for (sp_lid i = 0; i < numbering->local; i++) {
    const uint64_t draw = sp_hash((uint64_t)sp_numbering_global(numbering, i));
    host[i] = signs && (draw >> 63) ? -1 : 1;
  }
}

/* host = A host. */
static sp_status apply_to_host(sp_operator *op, sp_vector *x, sp_vector *y, double *host) {
  SP_TRY(sp_agree(op->comm, sp_vector_write(host, x)));
  SP_TRY(sp_agree(op->comm, sp_operator_apply(op, false, x, y)));
  return sp_agree(op->comm, sp_vector_read(y, host));
}

/* Sum per component the entries of A 1, and the squares of A v for random signs v. */
static sp_status sum_entries(const sp_null_space *null_space, sp_operator *op, sp_vector *x,
                             sp_vector *y, double *host, double (*sums)[2]) {
  for (int signs = 0; signs < 2; signs++) {
    fill_vector(op->space->numbering, signs, host);
    SP_TRY(apply_to_host(op, x, y, host));
    for (sp_lid i = 0; i < op->owned; i++)
      if (null_space->of_dof[i] >= 0)
        sums[null_space->of_dof[i]][signs] += signs ? host[i] * host[i] : host[i];
  }
  SP_TRY(
      sp_reduction_sum(op->space->platform->reduction, 2 * null_space->components, sums[0], SP_OK));
  memset(host, 0, (size_t)op->dofs * sizeof *host);
  return sp_agree(op->comm, sp_vector_write(host, x));
}

sp_status sp_null_space_weigh(sp_null_space *null_space, sp_operator *op, sp_vector *x,
                              sp_vector *y, double *host) {
  SP_OWNED double(*sums)[2] = NULL;
  const size_t components = (size_t)null_space->components;
  SP_TRY(sp_agree(op->comm, SP_ALLOCATE("component sums", SP_ARRAY(sums, components),
                                        SP_ARRAY(null_space->weight, components))));
  SP_TRY(sum_entries(null_space, op, x, y, host, sums));
  for (size_t c = 0; c < components; c++) {
    const double error = DBL_EPSILON * sqrt(sums[c][1]);
    null_space->weight[c] = sums[c][0];
    if (!(sums[c][0] > 10 * error))
      return sp_fail(SP_ERR_INPUT,
                     "without a Dirichlet boundary lambda, alpha and, in time, capacity / step "
                     "determine the mean of the solution, but%s they are too %s for that: the sum "
                     "of the operator's entries is %.3g, and rounding makes that uncertain by "
                     "%.3g; make them %s",
                     name_part(null_space, op->space->mesh, (int)c).text,
                     isfinite(error) ? "small" : "large", sums[c][0], error,
                     isfinite(error) ? "zero, or larger" : "smaller");
    null_space->magnification = fmax(null_space->magnification, sqrt(sums[c][1]) / sums[c][0]);
  }
  return SP_OK;
}

static sp_status allocate_sums(const sp_null_space *null_space, const sp_space *space, size_t size,
                               void *sums) {
  return sp_agree(space->mesh->comm,
                  sp_allocate((size_t)null_space->components, size, "component sums", sums));
}

sp_status sp_null_space_correct_means(const sp_null_space *null_space, const sp_space *space,
                                      const double *r, double *x) {
  const sp_numbering *numbering = space->numbering;
  SP_OWNED double *sums = NULL;
  SP_TRY(allocate_sums(null_space, space, sizeof *sums, &sums));
  for (sp_lid i = 0; i < numbering->owned; i++)
    if (null_space->of_dof[i] >= 0) sums[null_space->of_dof[i]] += r[i];
  SP_TRY(sp_reduction_sum(space->platform->reduction, null_space->components, sums, SP_OK));
  for (sp_lid i = 0; i < numbering->local; i++)
    if (null_space->of_dof[i] >= 0)
      x[i] += sums[null_space->of_dof[i]] / null_space->weight[null_space->of_dof[i]];
  return SP_OK;
}

/* Ways to determine the mean on a component. */
enum { BY_DIRICHLET, BY_COEFFICIENTS, WAYS };

/* determined[component][way], over all ranks; has_alpha, [local DOFs], may be NULL. Collective. */
static void find_determined(const sp_operator_setup *setup, const sp_components *components,
                            const bool *has_alpha, bool (*determined)[WAYS]) {
  const sp_space *space = setup->space;
  const size_t nodes = sp_element_nodes(space->numbering->order);
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++) {
    const sp_lid *dofs = sp_numbering_nodes(space->numbering, e);
    bool *here = determined[components->of_element[e]];
    for (size_t n = 0; n < nodes && !here[BY_DIRICHLET]; n++)
      here[BY_DIRICHLET] = setup->constrained[dofs[n]];
    if (here[BY_DIRICHLET]) continue; /* then coefficients do not matter */
    if (!here[BY_COEFFICIENTS]) here[BY_COEFFICIENTS] = sp_coefficients_have_lambda(setup, e);
    for (size_t n = 0; n < nodes && has_alpha && !here[BY_COEFFICIENTS]; n++)
      here[BY_COEFFICIENTS] = has_alpha[dofs[n]];
  }
  MPI_Allreduce(MPI_IN_PLACE, determined, WAYS * components->count, MPI_C_BOOL, MPI_LOR,
                space->mesh->comm);
}

/* Give each DOF the component of any of its elements; they agree. */
static void fill_dofs(const sp_space *space, const int *of_element, int *of_dof) {
  const size_t nodes = sp_element_nodes(space->numbering->order);
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++)
    for (size_t n = 0; n < nodes; n++)
      of_dof[space->numbering->nodes[(size_t)e * nodes + n]] = of_element[e];
}

static sp_status keep_parts(const sp_space *space, const sp_components *components,
                            sp_constants *out) {
  int *of_dof;
  out->parts = components->count;
  if (components->count == 1) return SP_OK;
  SP_TRY(sp_allocate(sp_space_dofs(space), sizeof *of_dof, "parts", &of_dof));
  fill_dofs(space, components->of_element, of_dof);
  out->part_of_dof = of_dof;
  return SP_OK;
}

/* Choose the components without Dirichlet DOFs whose mean is, or is not, determined by the
 * coefficients. */
static sp_status choose_components(const sp_space *space, const sp_components *components,
                                   bool (*determined)[WAYS], bool by_coefficients,
                                   sp_null_space **out) {
  const size_t count = (size_t)components->count;
  SP_OWNED int *number = NULL;
  int chosen = 0;
  SP_TRY(sp_allocate(count, sizeof *number, "components", &number));
  for (size_t c = 0; c < count; c++)
    number[c] = !determined[c][BY_DIRICHLET] && determined[c][BY_COEFFICIENTS] == by_coefficients
                    ? chosen++
                    : -1;
  if (chosen == 0) return SP_OK;
  SP_TRY(sp_allocate(1, sizeof **out, "null space", out));
  SP_TRY(SP_ALLOCATE("components", SP_ARRAY((*out)->of_element, space->mesh->hexes->count),
                     SP_ARRAY((*out)->of_dof, sp_space_dofs(space))));
  (*out)->components = chosen;
  (*out)->of_parts = count > 1;
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++)
    (*out)->of_element[e] = number[components->of_element[e]];
  fill_dofs(space, (*out)->of_element, (*out)->of_dof);
  return SP_OK;
}

static sp_status mark_alpha(const sp_operator_setup *setup, bool **out) {
  if (setup->diagonal_count == 0) return SP_OK;
  SP_TRY(sp_allocate(sp_space_dofs(setup->space), sizeof **out, "Robin faces", out));
  for (sp_lid i = 0; i < setup->diagonal_count; i++) (*out)[setup->diagonal_dofs[i]] = true;
  return SP_OK;
}

sp_status sp_null_space_create(const sp_operator_setup *setup, sp_null_space **exact,
                               sp_null_space **weak, sp_constants *constants) {
  const sp_space *space = setup->space;
  const sp_mesh *mesh = space->mesh;
  SP_AUTO(sp_components) components = NULL;
  SP_OWNED bool(*determined)[WAYS] = NULL, *has_alpha = NULL;
  *exact = *weak = NULL;
  *constants = (sp_constants){0};
  SP_TRY(sp_components_create(mesh->comm, mesh->topology, SP_BY_VERTICES, &components));
  sp_status status =
      sp_allocate((size_t)components->count, sizeof *determined, "components", &determined);
  if (!status) status = mark_alpha(setup, &has_alpha);
  if (!status) status = keep_parts(space, components, constants);
  status = sp_agree(mesh->comm, status);
  if (!status) {
    find_determined(setup, components, has_alpha, determined);
    status = choose_components(space, components, determined, false, exact);
    if (!status) status = choose_components(space, components, determined, true, weak);
    status = sp_agree(mesh->comm, status);
  }
  if (status) sp_null_space_destroy(exact);
  if (status) sp_null_space_destroy(weak);
  return status;
}

/* lowest[local DOFs]: the lowest factor * component of the elements that share an owned DOF. */
static void find_lowest(const sp_space *space, const int *of_element, int factor, double *lowest) {
  const size_t nodes = sp_element_nodes(space->numbering->order);
  for (sp_lid i = 0; i < space->numbering->local; i++) lowest[i] = INFINITY;
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++)
    for (size_t n = 0; n < nodes; n++) {
      double *low = &lowest[space->numbering->nodes[(size_t)e * nodes + n]];
      *low = fmin(*low, factor * of_element[e]);
    }
  sp_exchange_now(space->exchange, SP_MIN, lowest);
}

/* has_way_out[body]: a condition or lambda determines the mean there. Collective. */
static void find_ways_out(const sp_problem *problem, const sp_mesh *mesh,
                          const sp_components *bodies, bool *has_way_out) {
  for (sp_lid e = 0; e < mesh->hexes->count; e++) {
    const sp_material *material = sp_materials_of(&problem->materials, mesh->hexes, e);
    if (material->of[SP_LAMBDA].value > 0 || material->of[SP_LAMBDA].formula || material->reaction)
      has_way_out[bodies->of_element[e]] = true;
  }
  for (sp_lid n = 0; n < problem->face_count; n++) {
    const sp_outer_face *face = &problem->faces[n];
    if (face->is_fixed || sp_outer_face_type(face)->fixes_u || sp_outer_face_type(face)->has_alpha)
      has_way_out[bodies->of_element[face->element]] = true;
  }
  MPI_Allreduce(MPI_IN_PLACE, has_way_out, bodies->count, MPI_C_BOOL, MPI_LOR, mesh->comm);
}

/* Count the free DOFs that bodies share, and sum b and |b| over the other DOFs of each body. */
static sp_status sum_bodies(const sp_space *space, const sp_components *bodies,
                            const bool *constrained, const double *b, double (*sums)[2],
                            sp_gid *tied) {
  SP_OWNED double *low = NULL, *high = NULL;
  const size_t dofs = sp_space_dofs(space);
  SP_TRY(sp_agree(space->mesh->comm,
                  SP_ALLOCATE("bodies", SP_ARRAY(low, dofs), SP_ARRAY(high, dofs))));
  find_lowest(space, bodies->of_element, 1, low);
  find_lowest(space, bodies->of_element, -1, high);
  *tied = 0;
  for (sp_lid i = 0; i < space->numbering->owned; i++) {
    double *sum = sums[(int)low[i]];
    if (low[i] < -high[i]) {
      *tied += !constrained[i];
      continue;
    }
    sum[0] += b[i];
    sum[1] += fabs(b[i]);
  }
  MPI_Allreduce(MPI_IN_PLACE, tied, 1, SP_MPI_GID, MPI_SUM, space->mesh->comm);
  return sp_reduction_sum(space->platform->reduction, 2 * bodies->count, sums[0], SP_OK);
}

sp_status sp_null_space_check_ties(const sp_problem *problem, const sp_space *space,
                                   const bool *constrained, const double *b, sp_gid *tied) {
  /* The DOFs that bodies share carry a part of b that belongs to several bodies. */
  static const double UNBALANCED = 0.1;
  const sp_mesh *mesh = space->mesh;
  const sp_hexes_file *file = &mesh->hexes->file;
  SP_AUTO(sp_components) bodies = NULL;
  SP_OWNED double(*sums)[2] = NULL;
  SP_OWNED bool *has_way_out = NULL;
  SP_TRY(sp_components_create(mesh->comm, mesh->topology, SP_BY_FACES, &bodies));
  SP_TRY(sp_agree(mesh->comm, SP_ALLOCATE("bodies", SP_ARRAY(sums, bodies->count),
                                          SP_ARRAY(has_way_out, bodies->count))));
  find_ways_out(problem, mesh, bodies, has_way_out);
  SP_TRY(sum_bodies(space, bodies, constrained, b, sums, tied));
  for (int body = 0; body < bodies->count; body++) {
    if (has_way_out[body] || fabs(sums[body][0]) <= UNBALANCED * sums[body][1]) continue;
    const sp_null_space named = {.of_parts = true, .of_element = bodies->of_element};
    const part_name part = name_part(&named, mesh, body);
    return sp_fail(SP_ERR_INPUT,
                   "forcing and fluxes%s have no way out but nodes or edges, where it touches "
                   "others without a common face, so the solution would depend on the mesh (%lld "
                   "exterior faces lie on others with other corners, %lld pairs coincide): join "
                   "them (gmsh: Coherence or BooleanFragments; no hexahedra on tetrahedra), or set "
                   "problem.lambda > 0 or a "
                   "Dirichlet boundary there",
                   part.text, (long long)file->misfits, (long long)file->coincident);
  }
  return SP_OK;
}

sp_status sp_null_space_constants(const sp_null_space *null_space, const sp_space *space,
                                  sp_constants *out) {
  int *of_dof;
  if (!null_space) return SP_OK;
  const sp_status status = sp_allocate(sp_space_dofs(space), sizeof *of_dof, "components", &of_dof);
  out->of_dof = of_dof;
  SP_TRY(sp_agree(space->mesh->comm, status));
  out->components = null_space->components;
  fill_dofs(space, null_space->of_element, of_dof);
  return SP_OK;
}

void sp_null_space_destroy(sp_null_space **null_space) {
  if (!*null_space) return;
  SP_FREE((*null_space)->of_element, (*null_space)->of_dof, (*null_space)->weight, *null_space);
  *null_space = NULL;
}

static sp_status fail_unbalanced(const part_name *part, bool of_u, double sum, double ratio) {
  return sp_fail(SP_ERR_INPUT,
                 "the right-hand side of this pure Neumann problem is not compatible: forcing and "
                 "fluxes%s add up to %.6g, relative %.3g; that must be below %.0e, or set "
                 "problem.lambda > 0 or a Dirichlet boundary there%s",
                 part->text, sum, ratio, BALANCE,
                 of_u ? "; u is problem.initial here, or 0: begin where conditions or the forcing "
                        "depend on u, as radiation does from a few hundred kelvin on"
                      : "");
}

/* Set given[component] = true if a forcing or a condition's formula gives data there. */
static void find_given(const sp_null_space *null_space, const sp_problem *problem,
                       const sp_hexes *hexes, bool *given) {
  for (sp_lid e = 0; e < hexes->count; e++)
    if (null_space->of_element[e] >= 0 && sp_materials_of(&problem->materials, hexes, e)->forcing)
      given[null_space->of_element[e]] = true;
  for (sp_lid n = 0; n < problem->face_count; n++) {
    const sp_outer_face *face = &problem->faces[n];
    const int component = null_space->of_element[face->element];
    if (component >= 0 && face->part && face->part->formula) given[component] = true;
  }
}

/* Sum b, |b| and 1 per component. */
static sp_status sum_vector(const sp_null_space *null_space, const sp_space *space, const double *b,
                            double (*sums)[3]) {
  for (sp_lid i = 0; i < space->numbering->owned; i++) {
    if (null_space->of_dof[i] < 0) continue;
    double *sum = sums[null_space->of_dof[i]];
    sum[0] += b[i];
    sum[1] += fabs(b[i]);
    sum[2] += 1;
  }
  return sp_reduction_sum(space->platform->reduction, 3 * null_space->components, sums[0], SP_OK);
}

static void subtract_means(const sp_null_space *null_space, sp_lid local, double (*sums)[3],
                           double *b) {
  for (sp_lid i = 0; i < local; i++) {
    if (null_space->of_dof[i] < 0) continue;
    const double *sum = sums[null_space->of_dof[i]];
    b[i] -= sum[0] / sum[2];
  }
}

sp_status sp_null_space_remove(const sp_null_space *null_space, const sp_space *space, double *b) {
  SP_OWNED double(*sums)[3] = NULL;
  SP_TRY(allocate_sums(null_space, space, sizeof *sums, &sums));
  SP_TRY(sum_vector(null_space, space, b, sums));
  subtract_means(null_space, space->numbering->local, sums, b);
  return SP_OK;
}

/* finer[component] = the sum of b by the quadrature of another order, with the extra load. */
static sp_status sum_finer(const sp_null_space *null_space, const sp_problem *problem,
                           const sp_space *space, int order, double *finer) {
  const size_t elements = (size_t)space->mesh->hexes->count;
  SP_OWNED double *integrals = NULL;
  SP_TRY(sp_agree(space->mesh->comm,
                  sp_allocate(elements, sizeof *integrals, "integrals", &integrals)));
  SP_TRY(sp_problem_integrals(problem, space, order, integrals));
  for (size_t e = 0; e < elements; e++)
    if (null_space->of_element[e] >= 0) finer[null_space->of_element[e]] += integrals[e];
  for (sp_lid i = 0; i < space->numbering->owned && problem->extra; i++)
    if (null_space->of_dof[i] >= 0) finer[null_space->of_dof[i]] += problem->extra[i];
  return sp_reduction_sum(space->platform->reduction, null_space->components, finer, SP_OK);
}

sp_status sp_null_space_project(const sp_null_space *null_space, const sp_problem *problem,
                                const sp_space *space, double *b, sp_defect *defect) {
  const sp_numbering *numbering = space->numbering;
  const MPI_Comm comm = space->mesh->comm;
  const size_t components = (size_t)null_space->components;
  SP_OWNED double(*sums)[3] = NULL, *finer = NULL; /* sums of b, of |b|, of 1 */
  SP_OWNED bool *given = NULL;
  *defect = (sp_defect){0};
  SP_TRY(sp_agree(comm, SP_ALLOCATE("component sums", SP_ARRAY(sums, components),
                                    SP_ARRAY(finer, components), SP_ARRAY(given, components))));
  find_given(null_space, problem, space->mesh->hexes, given);
  for (size_t c = 0; c < components && problem->extra; c++) given[c] = true;
  MPI_Allreduce(MPI_IN_PLACE, given, null_space->components, MPI_C_BOOL, MPI_LOR, comm);
  SP_TRY(sum_vector(null_space, space, b, sums));
  for (size_t c = 0; c < components; c++) {
    const double ratio = sums[c][1] > 0 ? fabs(sums[c][0]) / sums[c][1] : 0;
    defect->largest = fmax(defect->largest, ratio);
    if (!given[c] || ratio <= BALANCE) continue;
    if (defect->order == 0) {
      defect->order = numbering->order + 4 < SP_MAX_ORDER ? numbering->order + 4 : SP_MAX_ORDER;
      SP_TRY(sum_finer(null_space, problem, space, defect->order, finer));
    }
    if (!(fabs(finer[c]) <= EXPLAINED * fabs(sums[c][0]))) {
      const part_name part = name_part(null_space, space->mesh, (int)c);
      return fail_unbalanced(&part, problem->of_u, sums[c][0], ratio);
    }
    defect->accepted = fmax(defect->accepted, ratio);
    defect->finer = fmax(defect->finer, fabs(finer[c]) / sums[c][1]);
  }
  subtract_means(null_space, numbering->local, sums, b);
  return SP_OK;
}
