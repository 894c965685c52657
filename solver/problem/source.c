#include "solver/problem/source.h"

#include <math.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "operators/counts.h"
#include "solver/problem/conditions.h"

enum { POINTS = SP_MAX_RULE * SP_MAX_RULE * SP_MAX_RULE };

/* An element, and how many it stands for. */
typedef struct sample {
  sp_lid element;
  double weight;
} sample;

typedef struct comparison {
  const sp_problem *problem;
  const sp_hexes *hexes;
  const sp_rule *own;
  sp_rule fine;
  sample samples[SP_SOURCE_MOST];
  int count;
  double excess[SP_SOURCE_MOST];
} comparison;

typedef struct workspace {
  double xyz[3 * POINTS], wj[POINTS], f[POINTS];
} workspace;

const sp_expression *sp_source_formula(const sp_problem *problem, const sp_material *material) {
  const bool is_mass = !sp_operator_rows[problem->kind].has_stiffness;
  const sp_expression *formula =
      material->forcing || !is_mass ? material->forcing : material->solution;
  if (!formula || formula->is_constant || formula->is_of_u) return NULL;
  return formula;
}

void sp_forcing_difference_join(MPI_Comm comm, sp_forcing_difference *difference) {
  struct {
    double size;
    int rank;
  } most = {difference->relative, sp_comm_rank(comm)};
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
  MPI_Bcast(difference, sizeof *difference / sizeof(double), MPI_DOUBLE, most.rank, comm);
}

/* Return the variation that one sample stands for: the elements with more have one each, the others
 * share the rest of the samples. */
static double find_portion(const double *variation, sp_lid elements) {
  double portion = INFINITY, next = INFINITY;
  do {
    double rest = 0;
    int whole = 0;
    portion = next;
    for (sp_lid e = 0; e < elements; e++)
      if (variation[e] > portion)
        whole++;
      else
        rest += variation[e];
    next = rest / (SP_SOURCE_MOST - whole);
  } while (next < portion);
  return portion;
}

/* Choose the elements to compare. The place within a portion changes from one to the next by the
 * golden section, so that no pattern of the mesh repeats in step with them. */
static void choose_samples(const double *variation, sp_lid elements, comparison *c) {
  static const double SECTION = 0.6180339887498949;
  const double portion = find_portion(variation, elements);
  double sum = 0, place = 0.5;
  int done = 0;
  for (sp_lid e = 0; e < elements && c->count < SP_SOURCE_MOST; e++) {
    const double v = variation[e];
    if (v > portion) {
      c->samples[c->count++] = (sample){e, 1};
    } else if (v > 0 && (sum += v) > (done + place) * portion) {
      c->samples[c->count++] = (sample){e, portion / v};
      done++;
      place = fmod(place + SECTION, 1);
    }
  }
}

static sp_status integrate(const comparison *c, sp_lid e, const sp_rule *rule, workspace *w,
                           double *integral) {
  const size_t n = sp_rule_points(rule);
  const sp_material *material = sp_materials_of(&c->problem->materials, c->hexes, e);
  *integral = NAN;
  const sp_status status = sp_geometry_volume(c->hexes, e, rule, w->xyz, w->wj);
  if (status == SP_ERR_INPUT) return SP_OK; /* |J| is checked at the operator's points only */
  SP_TRY(status);
  SP_TRY(sp_expression_evaluate(sp_source_formula(c->problem, material), n,
                                (const double *const[]){w->xyz, w->xyz + n, w->xyz + 2 * n}, NULL,
                                w->f, NULL, NULL));
  *integral = 0;
  for (size_t p = 0; p < n; p++) *integral += w->f[p] * w->wj[p];
  return SP_OK;
}

static sp_status compare_some(void *comparison_, void *workspace_, size_t begin, size_t end) {
  comparison *c = comparison_;
  for (size_t i = begin; i < end; i++) {
    double own, fine;
    SP_TRY(integrate(c, c->samples[i].element, c->own, workspace_, &own));
    SP_TRY(integrate(c, c->samples[i].element, &c->fine, workspace_, &fine));
    c->excess[i] = isfinite(fine - own) ? fine - own : 0;
  }
  return SP_OK;
}

sp_status sp_source_compare(const sp_problem *problem, const sp_space *space, double own,
                            double size, const double *variation, sp_source_integral *out) {
  const int order = space->numbering->order;
  comparison c = {.problem = problem,
                  .hexes = space->mesh->hexes,
                  .own = sp_operator_rule(problem->kind, order)};
  choose_samples(variation, c.hexes->count, &c);
  const sp_loop loop = {.what = "source",
                        .count = (size_t)c.count,
                        .chunk = 4,
                        .workspace_bytes = sizeof(workspace),
                        .context = &c,
                        .compute = compare_some};
  sp_rule_gl((order + 4) | 1, &c.fine);
  const sp_status status = sp_loop_run(&loop);
  double sums[3] = {own, size, 0};
  for (int i = 0; i < c.count; i++) sums[2] += c.samples[i].weight * c.excess[i];
  SP_TRY(sp_reduction_sum(space->platform->reduction, 3, sums, status));
  *out = (sp_source_integral){sums[0], sums[1], sums[2], c.fine.n};
  return SP_OK;
}

/* ---- Faces ---- */

enum { FACE_POINTS = SP_MAX_RULE * SP_MAX_RULE, OWN = 0, SIZE, EXCESS, SUMS };

typedef struct face_comparison {
  const sp_problem *problem;
  const sp_hexes *hexes;
  const sp_rule *own, *gll;
  sp_rule fine;
  double sums[SP_FACE_DATA][SUMS];
} face_comparison;

typedef struct face_workspace {
  double xyz[3 * FACE_POINTS], normal[3 * FACE_POINTS], alpha[SP_MAX_RULE], g[SP_MAX_RULE];
  double sums[SP_FACE_DATA][SUMS];
} face_workspace;

/* Integrate g and alpha, and their absolute values, over a face; false if they are not finite at a
 * point. */
static bool integrate_face(const face_comparison *c, const sp_outer_face *face, const sp_rule *rule,
                           face_workspace *w, double integrals[SP_FACE_DATA][2]) {
  const int n = rule->n, all = n * n;
  memset(integrals, 0, SP_FACE_DATA * sizeof *integrals);
  memset(w->g, 0, sizeof w->g);
  sp_geometry_face(c->hexes, face->element, face->face, rule, w->xyz, w->normal);
  for (int row = 0; row < all; row += n) {
    const double *xyz[] = {w->xyz + row, w->xyz + all + row, w->xyz + 2 * all + row};
    if (face->part->type->terms(face->part, (size_t)n, xyz, NULL, w->alpha, w->g)) return false;
    for (int p = 0; p < n; p++) {
      const double area = sp_geometry_area(w->normal, all, row + p);
      const double data[SP_FACE_DATA] = {w->g[p], w->alpha[p]};
      for (int d = 0; d < SP_FACE_DATA; d++) {
        integrals[d][0] += data[d] * area;
        integrals[d][1] += fabs(data[d]) * area;
      }
    }
  }
  return true;
}

/* True if alpha or g of a face have a formula of x, y and z. */
static bool has_varying_data(const sp_outer_face *face) {
  if (!sp_outer_face_has(face, SP_FLUX) || face->part->of_u) return false;
  bool some = face->part->formula && !face->part->formula->is_constant;
  for (int k = 0; k < SP_CONDITION_COEFFICIENTS; k++) {
    const sp_expression *formula = face->part->coefficients[k];
    some = some || (formula && !formula->is_constant);
  }
  return some;
}

static sp_status compare_faces(void *comparison_, void *workspace_, size_t begin, size_t end) {
  const face_comparison *c = comparison_;
  face_workspace *w = workspace_;
  memset(w->sums, 0, sizeof w->sums);
  for (size_t k = begin; k < end; k++) {
    const sp_outer_face *face = &c->problem->faces[k];
    double own[SP_FACE_DATA][2], fine[SP_FACE_DATA][2];
    if (!has_varying_data(face)) continue;
    if (!integrate_face(c, face, face->part->type->has_alpha ? c->gll : c->own, w, own) ||
        !integrate_face(c, face, &c->fine, w, fine))
      continue;
    for (int d = 0; d < SP_FACE_DATA; d++) {
      w->sums[d][OWN] += own[d][0];
      w->sums[d][SIZE] += own[d][1];
      w->sums[d][EXCESS] += fine[d][0] - own[d][0];
    }
  }
  return SP_OK;
}

static void join_faces(void *comparison_, void *workspace_, size_t begin, size_t end) {
  (void)begin, (void)end;
  face_comparison *c = comparison_;
  const face_workspace *w = workspace_;
  for (int i = 0; i < SP_FACE_DATA * SUMS; i++) (&c->sums[0][0])[i] += (&w->sums[0][0])[i];
}

sp_status sp_source_compare_faces(const sp_problem *problem, const sp_space *space,
                                  sp_source_integral out[SP_FACE_DATA]) {
  const int order = space->numbering->order;
  face_comparison c = {.problem = problem,
                       .hexes = space->mesh->hexes,
                       .own = sp_operator_rule(problem->kind, order),
                       .gll = &sp_reference_get(order)->gll};
  sp_rule_gl((order + 4) | 1, &c.fine);
  const sp_status status = sp_loop_sum("boundary", (size_t)problem->face_count, 1, &c,
                                       sizeof(face_workspace), compare_faces, join_faces);
  SP_TRY(sp_reduction_sum(space->platform->reduction, SP_FACE_DATA * SUMS, *c.sums, status));
  for (int d = 0; d < SP_FACE_DATA; d++)
    out[d] = (sp_source_integral){c.sums[d][OWN], c.sums[d][SIZE], c.sums[d][EXCESS], c.fine.n};
  return SP_OK;
}
