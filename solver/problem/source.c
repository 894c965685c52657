#include "solver/problem/source.h"

#include <math.h>

#include "io/hash.h"
#include "io/threads.h"
#include "mesh/geometry.h"
#include "operators/counts.h"

enum { POINTS = SP_MAX_RULE * SP_MAX_RULE * SP_MAX_RULE };

typedef struct comparison {
  const sp_problem *problem;
  const sp_hexes *hexes;
  const sp_rule *own;
  sp_rule fine;
  const sp_source_sample *samples;
  double excess[SP_SOURCE_SAMPLES];
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

void sp_source_add(sp_source_samples *samples, const sp_hexes *hexes, sp_lid element,
                   double variation) {
  const uint64_t bits =
      sp_hash_fold(sp_hash((uint64_t)hexes->tags[element]), (uint64_t)hexes->octants[element]);
  const double priority = variation / ldexp((double)((bits >> 11) + 1), -53);
  sp_source_sample *heap = samples->heap;
  int at = 0;
  if (variation == 0) return;
  if (samples->count < SP_SOURCE_SAMPLES) {
    for (at = samples->count++; at > 0 && heap[(at - 1) / 2].priority > priority; at = (at - 1) / 2)
      heap[at] = heap[(at - 1) / 2];
  } else {
    samples->threshold = fmax(samples->threshold, fmin(priority, heap[0].priority));
    if (priority <= heap[0].priority) return;
    for (int child = 1; child < SP_SOURCE_SAMPLES; child = 2 * at + 1) {
      child += child + 1 < SP_SOURCE_SAMPLES && heap[child + 1].priority < heap[child].priority;
      if (heap[child].priority >= priority) break;
      heap[at] = heap[child];
      at = child;
    }
  }
  heap[at] = (sp_source_sample){priority, variation, element};
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

/* The estimate of the excess on this rank. */
static double estimate(const sp_source_samples *samples, const double *excess) {
  double sum = 0;
  for (int i = 0; i < samples->count; i++)
    sum += excess[i] * fmax(1, samples->threshold / samples->heap[i].variation);
  return sum;
}

sp_status sp_source_compare(const sp_problem *problem, const sp_space *space, double own,
                            double size, const sp_source_samples *samples,
                            sp_source_integral *out) {
  const int order = space->numbering->order;
  comparison c = {.problem = problem,
                  .hexes = space->mesh->hexes,
                  .own = sp_operator_rule(problem->kind, order),
                  .samples = samples->heap};
  const sp_loop loop = {.what = "source",
                        .count = (size_t)samples->count,
                        .chunk = 4,
                        .workspace_bytes = sizeof(workspace),
                        .context = &c,
                        .compute = compare_some};
  sp_rule_gl((order + 4) | 1, &c.fine);
  const sp_status status = sp_loop_run(&loop);
  double sums[3] = {own, size, estimate(samples, c.excess)};
  SP_TRY(sp_reduction_sum(space->platform->reduction, 3, sums, status));
  *out = (sp_source_integral){sums[0], sums[1], sums[2], c.fine.n};
  return SP_OK;
}
