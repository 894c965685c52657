#include "solver/problem/source.h"

#include <math.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "operators/counts.h"
#include "solver/problem/conditions.h"
#include "solver/problem/evaluate.h"

enum { OWN, SIZE, EXCESS, SUMS };

/* An element, and the number of elements that it represents. */
typedef struct sample {
  sp_lid element;
  double weight;
} sample;

/* Of elements, f, or without samples of faces, g and alpha. */
typedef struct comparison {
  const sp_problem *problem;
  const sp_hexes *hexes;
  const sp_rule *own, *gll;
  sp_rule fine;
  const sample *samples;
  double sums[SP_FACE_DATA][SUMS];
} comparison;

typedef struct workspace {
  sp_sample at;
  double data[SP_FACE_DATA][SP_MAX_RULE * SP_MAX_RULE * SP_MAX_RULE];
  double sums[SP_FACE_DATA][SUMS];
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

/* Return the variation that one sample represents. Elements with more have a sample each; the
 * others share the remaining samples. */
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
static int choose_samples(const double *variation, sp_lid elements,
                          sample samples[SP_SOURCE_MOST]) {
  static const double SECTION = 0.6180339887498949;
  const double portion = find_portion(variation, elements);
  double sum = 0, place = 0.5;
  int count = 0, done = 0;
  for (sp_lid e = 0; e < elements && count < SP_SOURCE_MOST; e++) {
    const double v = variation[e];
    if (v > portion) {
      samples[count++] = (sample){e, 1};
    } else if (v > 0 && (sum += v) > (done + place) * portion) {
      samples[count++] = (sample){e, portion / v};
      done++;
      place = fmod(place + SECTION, 1);
    }
  }
  return count;
}

/* True if alpha or g of a face have a formula of x, y and z. */
static bool has_varying_data(const sp_outer_face *face) {
  if (!sp_outer_face_type(face)->terms || face->part->of_u) return false;
  bool some = face->part->formula && !face->part->formula->is_constant;
  for (int k = 0; k < SP_CONDITION_COEFFICIENTS; k++) {
    const sp_expression *formula = face->part->coefficients[k];
    some = some || (formula && !formula->is_constant);
  }
  return some;
}

/* Integrate the data of an element, or of a face unless that is NULL, and their absolute values.
 * Errors: SP_ERR_INPUT if they, or an element's |J|, are no numbers at a point. */
static sp_status integrate_data(const comparison *c, sp_lid e, const sp_outer_face *face,
                                const sp_rule *rule, workspace *w,
                                double integrals[SP_FACE_DATA][2]) {
  const sp_material *material = sp_materials_of(&c->problem->materials, c->hexes, e);
  const double *xyz[] = {w->at.xyz, NULL, NULL};
  const size_t n = (size_t)rule->n;
  memset(integrals, 0, SP_FACE_DATA * sizeof *integrals);
  SP_TRY(sp_geometry_sample(c->hexes, e, face ? face->face : -1, rule, &w->at));
  for (int d = 1; d < 3; d++) xyz[d] = xyz[d - 1] + w->at.count;
  for (int d = 0; d < SP_FACE_DATA; d++) memset(w->data[d], 0, w->at.count * sizeof *w->data[d]);
  if (!face)
    SP_TRY(sp_problem_evaluate(sp_source_formula(c->problem, material), w->at.count, xyz, NULL,
                               w->data[0], NULL, NULL));
  for (size_t row = 0; row < w->at.count && face; row += n)
    SP_TRY(face->part->type->terms(face->part, n,
                                   (const double *[]){xyz[0] + row, xyz[1] + row, xyz[2] + row},
                                   NULL, &w->data[1][row], &w->data[0][row]));
  for (int d = 0; d < SP_FACE_DATA; d++)
    for (size_t p = 0; p < w->at.count; p++) {
      integrals[d][0] += w->data[d][p] * w->at.weight[p];
      integrals[d][1] += fabs(w->data[d][p]) * w->at.weight[p];
    }
  return SP_OK;
}

static sp_status compare_quadratures(void *comparison_, void *workspace_, size_t begin,
                                     size_t end) {
  const comparison *c = comparison_;
  workspace *w = workspace_;
  memset(w->sums, 0, sizeof w->sums);
  for (size_t k = begin; k < end; k++) {
    const sp_outer_face *face = c->samples ? NULL : &c->problem->faces[k];
    const sp_lid e = face ? face->element : c->samples[k].element;
    const double weight = face ? 1 : c->samples[k].weight;
    double own[SP_FACE_DATA][2], fine[SP_FACE_DATA][2];
    if (face && !has_varying_data(face)) continue;
    const sp_rule *rule = face && face->part->type->has_alpha ? c->gll : c->own;
    sp_status status = integrate_data(c, e, face, rule, w, own);
    if (!status) status = integrate_data(c, e, face, &c->fine, w, fine);
    if (status == SP_ERR_INPUT) continue; /* not compared */
    SP_TRY(status);
    for (int d = 0; d < SP_FACE_DATA; d++) {
      w->sums[d][OWN] += weight * own[d][0];
      w->sums[d][SIZE] += weight * own[d][1];
      w->sums[d][EXCESS] += weight * (fine[d][0] - own[d][0]);
    }
  }
  return SP_OK;
}

static void join_sums(void *comparison_, void *workspace_, size_t begin, size_t end) {
  (void)begin, (void)end;
  comparison *c = comparison_;
  const workspace *w = workspace_;
  for (int i = 0; i < SP_FACE_DATA * SUMS; i++) (&c->sums[0][0])[i] += (&w->sums[0][0])[i];
}

/* Compare the first `count` samples, or faces, of this rank. */
static sp_status compare_rules(const sp_problem *problem, const sp_space *space,
                               const sample *samples, size_t count, comparison *c) {
  const int order = space->numbering->order;
  *c = (comparison){.problem = problem,
                    .hexes = space->mesh->hexes,
                    .own = sp_operator_rule(problem->kind, order),
                    .gll = &sp_reference_get(order)->gll,
                    .samples = samples};
  sp_rule_gl((order + 4) | 1, &c->fine);
  return sp_loop_sum("source", count, sp_rule_points(&c->fine), c, sizeof(workspace),
                     compare_quadratures, join_sums);
}

sp_status sp_source_compare(const sp_problem *problem, const sp_space *space, double own,
                            double size, const double *variation, sp_source_integral *out) {
  sample samples[SP_SOURCE_MOST];
  comparison c;
  const int count = choose_samples(variation, space->mesh->hexes->count, samples);
  const sp_status status = compare_rules(problem, space, samples, (size_t)count, &c);
  double sums[SUMS] = {own, size, c.sums[0][EXCESS]};
  SP_TRY(sp_reduction_sum(space->platform->reduction, SUMS, sums, status));
  *out = (sp_source_integral){sums[OWN], sums[SIZE], sums[EXCESS], c.fine.n};
  return SP_OK;
}

sp_status sp_source_compare_faces(const sp_problem *problem, const sp_space *space,
                                  sp_source_integral out[SP_FACE_DATA]) {
  comparison c;
  const sp_status status = compare_rules(problem, space, NULL, (size_t)problem->face_count, &c);
  SP_TRY(sp_reduction_sum(space->platform->reduction, SP_FACE_DATA * SUMS, *c.sums, status));
  for (int d = 0; d < SP_FACE_DATA; d++)
    out[d] = (sp_source_integral){c.sums[d][OWN], c.sums[d][SIZE], c.sums[d][EXCESS], c.fine.n};
  return SP_OK;
}
