#include "solver/problem/load.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "mesh/tensor.h"
#include "operators/counts.h"
#include "solver/problem/evaluate.h"
#include "solver/problem/linearize.h"

enum {
  POINTS = (SP_MAX_NQ + 1) * (SP_MAX_NQ + 1) * (SP_MAX_NQ + 1),
  BATCH = 512, /* points: few enough for the cache, enough to amortise a formula's overhead */
  FACE_POINTS = (SP_MAX_NQ + 1) * (SP_MAX_NQ + 1)
};

/* Data shared by all elements. */
typedef struct assembly {
  const sp_problem *problem;
  const sp_space *space;
  const bool *elements; /* NULL: all */
  const bool (*skipped)[SP_FACES];
  int order, surfaces; /* named surfaces, and one for the rest of the boundary */
  size_t chunk;        /* elements per call */
  double *load;
  sp_jacobian_range *range;
  sp_load_sums *sums;
  double *integrals; /* in place of the load, the sum of its entries per element; else NULL */
} assembly;

/* The arrays of a batch of elements or of a face, and the results of a chunk of elements. */
typedef struct workspace {
  sp_jacobian_range range;
  double source, size; /* integrals of f and |f| */
  double flux;         /* integral of g over a face */
  sp_forcing_difference forcing;
  double derived[POINTS]; /* f from the solution, beside a given one */
  double wj[POINTS], coordinates[3 * POINTS], own_coordinates[3 * BATCH];
  double f[POINTS];     /* the source term; on a face, the flux */
  double centre[BATCH]; /* f at the centres of a batch of elements */
  double laplacian[POINTS], lambda[POINTS], kappa[SP_TENSOR * POINTS];
  double gradient[3][POINTS], kappa_gradient[3][POINTS]; /* of a tensor the divergence */
  double normal[3 * FACE_POINTS], values[(SP_MAX_NQ + 1) * SP_MAX_NQ];
  sp_additions later;
  double results[]; /* given[surfaces]; variation[chunk]; load[chunk][nodes]; additions */
} workspace;

/* w->lambda = u0, or the last u, at the points of `count` elements. */
static void find_last(const assembly *s, const sp_material *material, size_t begin, size_t count,
                      workspace *w) {
  const sp_problem *problem = s->problem;
  const sp_last initial = {problem->initial, s->space->numbering};
  const sp_rule *rule = sp_operator_rule(problem->kind, s->order);
  const size_t points = sp_rule_points(rule);
  for (size_t i = 0; i < count; i++)
    sp_last_interpolate(material->reaction ? &problem->last : &initial, rule, (sp_lid)(begin + i),
                        w->laplacian, &w->lambda[i * points]);
}

/* f += s last wj at the points of an element, which sums leave out (linearize.h). */
static void add_slope(const assembly *s, size_t e, size_t points, const double *last,
                      const double *wj, double *f) {
  const double *slope = s->problem->slope_of_u;
  if (!slope || s->order != s->space->numbering->order) return;
  for (size_t p = 0; p < points; p++) f[p] += slope[e * points + p] * last[p] * wj[p];
}

/* w->f += capacity du/dt of the solution. */
static sp_status add_rate(const sp_material *material, size_t n, const double *xyz[3],
                          workspace *w) {
  double *const rate[3] = {w->kappa_gradient[0], w->kappa_gradient[1], w->kappa_gradient[2]};
  SP_TRY(sp_problem_evaluate(material->rate, n, xyz, NULL, w->laplacian, rate, NULL));
  SP_TRY(sp_material_shifted(material, 1, false, n, xyz, w->lambda));
  for (size_t p = 0; p < n; p++) w->f[p] += w->lambda[p] * rate[0][p];
  return SP_OK;
}

/* Fill w->f at points of one material: the forcing that follows from the solution. */
static sp_status derive_forcing(const sp_problem *problem, const sp_material *material, size_t n,
                                const double *xyz[3], workspace *w) {
  double *const gradient[3] = {w->gradient[0], w->gradient[1], w->gradient[2]};
  double *const kappa_gradient[3] = {w->kappa_gradient[0], w->kappa_gradient[1],
                                     w->kappa_gradient[2]};
  double *f = w->f;
  if (!sp_operator_rows[problem->kind].has_stiffness)
    return sp_problem_evaluate(material->solution, n, xyz, NULL, f, NULL, NULL);
  SP_TRY(sp_material_shifted(material, 0, true, n, xyz, w->lambda));
  if (material->tensor) {
    SP_TRY(sp_conductivity_evaluate(material->tensor, n, xyz, w->kappa, kappa_gradient));
    SP_TRY(sp_problem_evaluate(material->curvature, n, xyz, w->kappa, f, gradient, w->laplacian));
    for (size_t p = 0; p < n; p++) w->kappa[p] = 1; /* it is in the second derivatives */
  } else {
    SP_TRY(sp_material_kappa(material, n, xyz, w->kappa, kappa_gradient));
    SP_TRY(sp_problem_evaluate(material->solution, n, xyz, NULL, f, gradient, w->laplacian));
  }
  for (size_t p = 0; p < n; p++) {
    f[p] = w->lambda[p] * f[p] - w->kappa[p] * w->laplacian[p];
    for (int d = 0; d < 3; d++) f[p] -= kappa_gradient[d][p] * gradient[d][p];
  }
  return material->rate ? add_rate(material, n, xyz, w) : SP_OK;
}

/* True if a forcing is given beside a solution. At a jump a point on a face may have either value.
 */
static bool may_contradict(const assembly *s, const sp_material *material) {
  return s->sums && material->solution && material->forcing && !material->source &&
         !material->forcing->is_of_u && !sp_material_is_of_u(material) &&
         !(sp_operator_rows[s->problem->kind].collocated &&
           material->forcing->regularity == SP_JUMPS);
}

/* Compare w->f with w->derived at the points of elements. */
static void compare_forcing(const assembly *s, size_t count, size_t points, const double *xyz[3],
                            workspace *w) {
  const bool has_stiffness = sp_operator_rows[s->problem->kind].has_stiffness;
  for (size_t i = 0; i < count; i++) {
    double size = DBL_MIN, volume = 0, flux = 0, most = -1;
    size_t worst = i * points;
    for (size_t p = i * points; p < (i + 1) * points; p++) {
      const double x = w->gradient[0][p], y = w->gradient[1][p], z = w->gradient[2][p];
      const double difference = fabs(w->f[p] - w->derived[p]);
      size = fmax(size, fmax(fabs(w->f[p]), fabs(w->derived[p])));
      volume += w->wj[p];
      if (has_stiffness) flux = fmax(flux, w->kappa[p] * sqrt(x * x + y * y + z * z));
      if (difference > most) worst = p;
      most = fmax(most, difference);
    }
    const double relative = most / fmax(size, flux / cbrt(volume));
    if (relative > w->forcing.relative)
      w->forcing = (sp_forcing_difference){
          relative, w->f[worst], w->derived[worst], {xyz[0][worst], xyz[1][worst], xyz[2][worst]}};
  }
}

/* wj = weight times |J| at the points of an element. */
static void widen_range(const sp_rule *rule, const double *wj, sp_jacobian_range *range) {
  const int n = rule->n;
  for (int k = 0; k < n; k++)
    for (int j = 0; j < n; j++) {
      const double inverse = 1 / (rule->weights[j] * rule->weights[k]);
      for (int i = 0; i < n; i++) {
        const double jacobian = wj[(k * n + j) * n + i] * inverse / rule->weights[i];
        if (jacobian < range->smallest) range->smallest = jacobian;
        if (jacobian > range->largest) range->largest = jacobian;
      }
    }
}

/* The transposed interpolation from the rule's points to the nodes: the identity for collocation.
 */
static void project_to_nodes(const sp_problem *problem, int order, const double *points,
                             double *nodes) {
  const sp_reference *reference = sp_reference_get(order);
  const int nq = order + 1, m = sp_operator_rule(problem->kind, order)->n;
  const double *matrix = reference->interpolation;
  if (sp_operator_rows[problem->kind].collocated)
    for (size_t n = 0; n < sp_element_nodes(order); n++) nodes[n] = points[n];
  else
    sp_tensor_apply_transposed(m, nq, matrix, matrix, matrix, points, nodes);
}

/* Count the elements from `begin` on, before `end`, that are loaded together: of one material, at
 * most BATCH points. */
static size_t batch_size(const assembly *s, size_t points, size_t begin, size_t end) {
  const sp_materials *materials = &s->problem->materials;
  const sp_hexes *hexes = s->space->mesh->hexes;
  const sp_material *material = sp_materials_of(materials, hexes, (sp_lid)begin);
  size_t count = 1;
  while (begin + count < end && (count + 1) * points <= BATCH &&
         (!s->elements || s->elements[begin + count]) &&
         sp_materials_of(materials, hexes, (sp_lid)(begin + count)) == material)
    count++;
  return count;
}

/* w->centre = f at the centres of a batch of elements: the means of the eight innermost points,
 * exact for trilinear elements. Only if the rule has no point there. */
static sp_status evaluate_centres(const sp_expression *formula, int rule_points, size_t count,
                                  workspace *w) {
  const size_t m = (size_t)rule_points, points = sp_grid_points(rule_points), n = count * points;
  const size_t innermost = (m / 2 - 1) * (m * m + m + 1);
  double *const xyz[3] = {w->own_coordinates, w->own_coordinates + count,
                          w->own_coordinates + 2 * count};
  for (size_t d = 0; d < 3; d++)
    for (size_t i = 0; i < count; i++) {
      const double *x = &w->coordinates[d * n + i * points + innermost];
      xyz[d][i] = (x[0] + x[1] + x[m] + x[m + 1] + x[m * m] + x[m * m + 1] + x[m * m + m] +
                   x[m * m + m + 1]) /
                  8;
    }
  return sp_expression_evaluate(formula, count, (const double *const *)xyz, NULL, w->centre, NULL,
                                NULL);
}

/* Multiply f by wj at the points of an element, add to the integrals, and return the variation
 * (solver/problem/source.h). *integral = the integral of f. */
static double integrate_element(size_t points, const double *wj, double centre, double *f,
                                workspace *w, double *integral) {
  double low = f[0], high = f[0], volume = 0, source = 0, size = 0;
  if (centre < low && centre >= -DBL_MAX) low = centre;
  if (centre > high && centre <= DBL_MAX) high = centre;
  for (size_t p = 0; p < points; p++) {
    low = f[p] < low ? f[p] : low;
    high = f[p] > high ? f[p] : high;
    f[p] *= wj[p];
    volume += wj[p];
    source += f[p];
    size += fabs(f[p]);
  }
  *integral = source;
  w->source += source;
  w->size += size;
  return (high - low) * volume;
}

/* load[element][n] = the integral of f times the basis function n of the element, for the `count`
 * elements of a batch. */
static sp_status load_volumes(const assembly *s, size_t begin, size_t count, workspace *w,
                              double *variation, double *load) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const sp_rule *rule = sp_operator_rule(s->problem->kind, s->order);
  const size_t points = sp_rule_points(rule), n = count * points;
  const double *xyz[3] = {w->coordinates, w->coordinates + n, w->coordinates + 2 * n};
  for (size_t i = 0; i < count; i++) {
    double *own = count == 1 ? w->coordinates : w->own_coordinates;
    SP_TRY(sp_geometry_volume(hexes, (sp_lid)(begin + i), rule, own, &w->wj[i * points]));
    if (!sp_hexes_is_contact(hexes, (sp_lid)(begin + i)))
      widen_range(rule, &w->wj[i * points], &w->range);
    for (size_t d = 0; d < 3 && count > 1; d++)
      memcpy(&w->coordinates[d * n + i * points], &own[d * points], points * sizeof *own);
  }
  const sp_material *material = sp_materials_of(&s->problem->materials, hexes, (sp_lid)begin);
  sp_status derived = SP_ERR_INPUT; /* a solution that is singular at a point is not compared */
  if (!material->forcing || may_contradict(s, material))
    derived = derive_forcing(s->problem, material, n, xyz, w);
  if (material->forcing) {
    if (!derived) memcpy(w->derived, w->f, n * sizeof *w->f);
    if (material->forcing->is_of_u) find_last(s, material, begin, count, w);
    SP_TRY(sp_problem_evaluate(material->forcing, n, xyz,
                               material->forcing->is_of_u ? w->lambda : NULL, w->f, NULL, NULL));
    if (!derived) compare_forcing(s, count, points, xyz, w);
  } else {
    SP_TRY(derived);
  }
  const sp_expression *formula = sp_source_formula(s->problem, material);
  const bool at_centre = s->sums && formula && rule->n % 2 == 0;
  if (at_centre) SP_TRY(evaluate_centres(formula, rule->n, count, w));
  for (size_t i = 0; i < count; i++) {
    double *f = &w->f[i * points], source;
    const double all = integrate_element(points, &w->wj[i * points],
                                         at_centre ? w->centre[i] : f[0], f, w, &source);
    if (s->sums && s->sums->sources) s->sums->sources[begin + i] = source;
    variation[i] = formula ? all : 0;
    if (material->reaction)
      add_slope(s, begin + i, points, &w->lambda[i * points], &w->wj[i * points], f);
    project_to_nodes(s->problem, s->order, f, &load[i * sp_element_nodes(s->order)]);
  }
  return SP_OK;
}

/* Add the integral of the flux times each basis function; *given is the surface's sum. */
static sp_status load_face(const assembly *s, sp_lid e, int f, const sp_boundary_part *part,
                           workspace *w, double *load, double *given) {
  const sp_mesh *mesh = s->space->mesh;
  const int nq = s->order + 1;
  const sp_rule *gll = &sp_reference_get(s->order)->gll;
  const sp_rule *rule = part->type->has_alpha ? gll : sp_operator_rule(s->problem->kind, s->order);
  const int m = rule->n, points = m * m;
  const double *values = w->values, *flux = w->f;
  int indices[FACE_POINTS];
  sp_geometry_face(mesh->hexes, e, f, rule, w->coordinates, w->normal);
  const double *xyz[3] = {w->coordinates, w->coordinates + points, w->coordinates + 2 * points};
  const sp_face_points face = {sp_materials_of(&s->problem->materials, mesh->hexes, e),
                               (size_t)points, xyz, w->normal};
  const double *last = sp_boundary_last(part, s->order, e, f, w->gradient[0]);
  SP_TRY(sp_condition_evaluate(part, &face, last, NULL, w->f));
  /* A face between elements counts half from each side. */
  const double share = sp_surface_is_exterior(mesh->hexes->surfaces[e][f]) ? 1 : 0.5;
  w->flux = 0;
  for (int q = 0; q < points; q++) {
    *given += w->f[q] *= share;
    w->flux += w->f[q];
  }
  sp_interpolation_matrix(nq, gll->nodes, m, rule->nodes, w->values);
  sp_face_nodes(s->order, f, indices);
  for (int j = 0; j < nq; j++)
    for (int i = 0; i < nq; i++) {
      double integral = 0;
      for (int b = 0; b < m; b++)
        for (int a = 0; a < m; a++)
          integral += values[a * nq + i] * values[b * nq + j] * flux[b * m + a];
      load[indices[j * nq + i]] += integral;
    }
  return SP_OK;
}

/* Add the flux through the faces of an element. */
static sp_status load_faces(const assembly *s, sp_lid e, workspace *w, double *load,
                            double *given) {
  const bool(*left_out)[SP_FACES] = s->sums ? s->sums->left_out : NULL;
  const sp_problem *problem = s->problem;
  const sp_lid *first = problem->first_face;
  if (!first) return SP_OK;
  for (sp_lid n = first[e]; n < first[e + 1]; n++) {
    const sp_outer_face *face = &problem->faces[n];
    const int f = face->face;
    if (!sp_outer_face_type(face)->terms || (s->skipped && s->skipped[e][f])) continue;
    const int named = sp_surface_of(s->space->mesh->hexes->surfaces[e][f]);
    double none = 0, *sum = &given[named >= 0 ? named : s->surfaces - 1];
    if (left_out && left_out[e][f]) sum = &none;
    SP_TRY(load_face(s, e, f, face->part, w, load, sum));
    if (s->sums && s->sums->fluxes) s->sums->fluxes[n] = w->flux;
  }
  return SP_OK;
}

static sp_status load_elements(void *context, void *workspace_, size_t begin, size_t end) {
  const assembly *s = context;
  workspace *w = workspace_;
  const size_t points = sp_rule_points(sp_operator_rule(s->problem->kind, s->order));
  double *given = w->results, *variation = given + s->surfaces, *load = variation + s->chunk;
  w->range = (sp_jacobian_range){DBL_MAX, 0};
  w->source = w->size = w->forcing.relative = 0;
  const size_t nodes = sp_element_nodes(s->order), most = s->chunk * nodes;
  sp_additions_begin(most, load + most, &w->later);
  for (size_t i = 0; i < (size_t)s->surfaces + s->chunk; i++) given[i] = 0;
  for (size_t k = begin; k < end;) {
    if (s->elements && !s->elements[k]) {
      variation[k++ - begin] = 0;
      memset(load, 0, nodes * sizeof *load);
      load += nodes;
      continue;
    }
    const size_t batch_end = k + batch_size(s, points, k, end);
    SP_TRY(load_volumes(s, k, batch_end - k, w, &variation[k - begin], load));
    for (; k < batch_end; k++, load += nodes) {
      SP_TRY(load_faces(s, (sp_lid)k, w, load, given));
      if (!s->integrals)
        sp_numbering_add(s->space->numbering, begin, (sp_lid)k, load, s->load, &w->later);
      for (size_t n = 0; n < nodes && s->integrals; n++) s->integrals[k] += load[n];
    }
  }
  return SP_OK;
}

static void commit_loads(void *context, void *workspace_, size_t begin, size_t end) {
  const assembly *s = context;
  const workspace *w = workspace_;
  const double *given = w->results, *variation = given + s->surfaces;
  sp_additions_finish(&w->later, s->load);
  s->range->smallest = fmin(s->range->smallest, w->range.smallest);
  s->range->largest = fmax(s->range->largest, w->range.largest);
  if (!s->sums) return;
  s->sums->source += w->source;
  s->sums->size += w->size;
  if (w->forcing.relative > s->sums->forcing.relative) s->sums->forcing = w->forcing;
  for (int i = 0; i < s->surfaces; i++) s->sums->given[i] += given[i];
  for (size_t e = begin; e < end && s->sums->variation; e++)
    s->sums->variation[e] = variation[e - begin];
}

/* Run the loop over elements, with the rules of s->order. Collective. */
static sp_status assemble_load(assembly *s) {
  const sp_mesh *mesh = s->space->mesh;
  *s->range = (sp_jacobian_range){DBL_MAX, 0};
  const size_t nodes = sp_element_nodes(s->order), count = (size_t)mesh->hexes->count;
  s->surfaces = mesh->hexes->surface.count + 1;
  s->chunk = sp_loop_chunk(count, nodes);
  const sp_loop loop = {.what = "load vector",
                        .count = count,
                        .chunk = s->chunk,
                        .workspace_bytes =
                            sizeof(workspace) + sp_additions_bytes(s->chunk * nodes) +
                            ((size_t)s->surfaces + s->chunk * (nodes + 1)) * sizeof(double),
                        .context = s,
                        .compute = load_elements,
                        .commit = commit_loads};
  return sp_agree(mesh->comm, sp_loop_run(&loop));
}

sp_status sp_problem_integrals(const sp_problem *problem, const sp_space *space, int order,
                               double *integrals) {
  sp_jacobian_range range;
  assembly s = {
      .problem = problem, .space = space, .order = order, .range = &range, .integrals = integrals};
  return assemble_load(&s);
}

void sp_load_sums_add(const sp_space *space, const double *values, sp_load_sums *sums) {
  for (sp_lid i = 0; i < space->numbering->owned; i++) {
    sums->source += values[i];
    sums->size += fabs(values[i]);
  }
}

sp_status sp_problem_load(const sp_problem *problem, const sp_space *space, const bool *elements,
                          const bool (*skipped)[SP_FACES], double *load, sp_jacobian_range *range,
                          sp_load_sums *sums) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  assembly s = {.problem = problem,
                .space = space,
                .elements = elements,
                .skipped = skipped,
                .order = numbering->order,
                .load = load,
                .range = range,
                .sums = sums};
  sp_loop_set((size_t)numbering->local * sizeof *load, 0, load);
  SP_TRY(assemble_load(&s));
  MPI_Allreduce(MPI_IN_PLACE, &range->smallest, 1, MPI_DOUBLE, MPI_MIN, mesh->comm);
  MPI_Allreduce(MPI_IN_PLACE, &range->largest, 1, MPI_DOUBLE, MPI_MAX, mesh->comm);
  sp_exchange_now(space->exchange, SP_SUM, load);
  if (elements || !problem->extra) return SP_OK;
  for (sp_lid i = 0; i < numbering->local; i++) load[i] += problem->extra[i];
  if (sums) sp_load_sums_add(space, problem->extra, sums);
  return SP_OK;
}
