#include "solver/linear/hierarchy.h"

#include <math.h>
#include <stdlib.h>

#include "io/threads.h"
#include "solver/linear/lanczos.h"

/* Rows per call of a loop that does little per row: threads take turns to add its sum; and typical
 * entries of a row, for other loops. */
enum { CHUNK = 4096, ROW_ENTRIES = 27 };

static const double STRONG = 0.25, DOMINATED = 0.1, WEIGHT = 0.8, LEAST_DIAGONAL = 0.5;

/* ---- The largest eigenvalue of D^-1 A ---- */

/* Vectors and scalars of Lanczos' method (lanczos.h). */
typedef struct iteration {
  const sp_csr *matrix;
  const double *inverse;
  double *r, *p, *q; /* [rows] */
  double alpha, beta, sum;
} iteration;

static void add_sum(void *iteration_, void *sum, size_t begin, size_t end) {
  (void)begin, (void)end;
  iteration *it = iteration_;
  it->sum += *(const double *)sum;
}

/* r -= alpha q; sum r.D^-1 r. */
static sp_status update_some(void *iteration_, void *sum, size_t begin, size_t end) {
  const iteration *it = iteration_;
  double rz = 0;
  for (size_t i = begin; i < end; i++) {
    it->r[i] -= it->alpha * it->q[i];
    rz += it->inverse[i] * it->r[i] * it->r[i];
  }
  *(double *)sum = rz;
  return SP_OK;
}

/* p = D^-1 r + beta p. */
static sp_status direct_some(void *iteration_, void *none, size_t begin, size_t end) {
  (void)none;
  const iteration *it = iteration_;
  for (size_t i = begin; i < end; i++) it->p[i] = it->inverse[i] * it->r[i] + it->beta * it->p[i];
  return SP_OK;
}

/* q = A p; sum p.q. */
static sp_status multiply_some(void *iteration_, void *sum, size_t begin, size_t end) {
  const iteration *it = iteration_;
  const sp_csr *m = it->matrix;
  double pq = 0;
  for (size_t i = begin; i < end; i++) {
    double q = 0;
    for (int n = m->start[i]; n < m->start[i + 1]; n++) q += m->values[n] * it->p[m->column[n]];
    it->q[i] = q;
    pq += it->p[i] * q;
  }
  *(double *)sum = pq;
  return SP_OK;
}

static sp_status visit_rows(iteration *it, bool sums, sp_loop_compute *compute) {
  it->sum = 0;
  return sp_loop_run(&(sp_loop){.what = "algebraic multigrid",
                                .count = (size_t)it->matrix->rows,
                                .chunk = CHUNK,
                                .workspace_bytes = sizeof(double),
                                .context = it,
                                .compute = compute,
                                .commit = sums ? add_sum : NULL});
}

static sp_status iterate_power(iteration *it, double *bound) {
  sp_lanczos lanczos = {0};
  unsigned long long seed = 1;
  for (int i = 0; i < it->matrix->rows; i++) { /* values without a pattern: Knuth's congruences */
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    it->r[i] = (double)(seed >> 11) * 0x1p-52 - 1;
  }
  while (lanczos.steps < SP_LANCZOS_STEPS && lanczos.steps < it->matrix->rows) {
    SP_TRY(visit_rows(it, true, update_some));
    const double rz = it->sum;
    it->beta = sp_lanczos_beta(&lanczos, rz);
    SP_TRY(visit_rows(it, false, direct_some));
    SP_TRY(visit_rows(it, true, multiply_some));
    if (!(rz > 0 && it->sum > 0)) break; /* r is at rounding level */
    it->alpha = sp_lanczos_add(&lanczos, rz, it->sum);
  }
  *bound = sp_lanczos_bound(&lanczos);
  return SP_OK;
}

static sp_status find_bound(sp_hierarchy_level *l) {
  const size_t rows = (size_t)l->matrix.rows;
  SP_OWNED double *r = NULL;
  SP_TRY(sp_allocate(3 * rows, sizeof *r, "algebraic multigrid", &r));
  iteration it = {.matrix = &l->matrix,
                  .inverse = l->inverse_diagonal,
                  .r = r,
                  .p = r + rows,
                  .q = r + 2 * rows};
  return iterate_power(&it, &l->bound);
}

/* ---- Coarsening ---- */

typedef struct coarsening {
  sp_hierarchy_level *level;
  double *largest; /* [rows], m_i; zero if the row is dominated */
  sp_csr smoother; /* I - 0.8 D^-1 A_F */
  int *aggregate;  /* [rows], or -1 */
  int aggregates;
} coarsening;

static void coarsening_destroy(coarsening *c) {
  sp_csr_destroy(&c->smoother);
  SP_FREE(c->largest, c->aggregate);
}

/* The inverse diagonal and m_i. */
static void measure_some(void *coarsening_, size_t begin, size_t end) {
  const coarsening *c = coarsening_;
  const sp_csr *m = &c->level->matrix;
  for (size_t i = begin; i < end; i++) {
    double sum = 0, largest = 0, diagonal = 0;
    for (int n = m->start[i]; n < m->start[i + 1]; n++) {
      const double a = m->values[n];
      if (m->column[n] == (int)i) diagonal = a;
      if (a < 0) sum -= a;
      if (-a > largest) largest = -a;
    }
    c->level->inverse_diagonal[i] = 1 / diagonal;
    c->largest[i] = sum < DOMINATED * diagonal ? 0 : largest;
  }
}

/* A row of the smoother. */
static void smooth_row(const void *coarsening_, int i, sp_csr_row *row) {
  const coarsening *c = coarsening_;
  const sp_csr *m = &c->level->matrix;
  const double limit = STRONG * STRONG * c->largest[i];
  double strong = 0, all = 0;
  for (int n = m->start[i]; n < m->start[i + 1]; n++) {
    const double a = m->values[n], other = c->largest[m->column[n]];
    all += a;
    if (!(a < 0 && limit * other > 0 && a * a >= limit * other)) continue;
    sp_csr_row_add(row, m->column[n], -a);
    strong -= a;
  }
  const double diagonal = strong + fmax(all, 0);
  const double scale = WEIGHT / fmax(diagonal, LEAST_DIAGONAL / c->level->inverse_diagonal[i]);
  for (int n = 0; n < row->count; n++) row->entries[n].value *= scale;
  sp_csr_row_add(row, i, 1 - scale * diagonal);
}

/* Make aggregates of rows whose strong neighbours are in none, in the order of rows. */
static void aggregate_neighbours(coarsening *c) {
  const sp_csr *s = &c->smoother;
  for (int i = 0; i < s->rows; i++) c->aggregate[i] = -1;
  for (int i = 0; i < s->rows; i++) {
    const int first = s->start[i], last = s->start[i + 1];
    int n = first;
    while (n < last && c->aggregate[s->column[n]] < 0) n++;
    if (n < last || last - first == 1) continue;
    for (n = first; n < last; n++) c->aggregate[s->column[n]] = c->aggregates;
    c->aggregates++;
  }
}

/* Return the aggregate of the neighbour with the largest value * sign in row i, or -1. */
static int strongest_aggregate(const coarsening *c, const sp_csr *m, int i, double sign) {
  double largest = 0;
  int found = -1;
  for (int n = m->start[i]; n < m->start[i + 1]; n++) {
    const int j = m->column[n];
    if (j == i || c->aggregate[j] < 0 || !(sign * m->values[n] > largest)) continue;
    largest = sign * m->values[n];
    found = c->aggregate[j];
  }
  return found;
}

/* Let the other rows join: first the rows with strong neighbours, all at the same time, then the
 * rest along the largest negative entry of the matrix. */
static void join_aggregates(coarsening *c) {
  const int rows = c->smoother.rows;
  int *const of = c->aggregate;
  for (int i = 0; i < rows; i++)
    if (of[i] < 0) of[i] = -2 - strongest_aggregate(c, &c->smoother, i, 1);
  for (int i = 0; i < rows; i++)
    if (of[i] < 0) of[i] = -2 - of[i];
  for (int i = 0; i < rows; i++)
    if (of[i] < 0 && c->largest[i] > 0) of[i] = strongest_aggregate(c, &c->level->matrix, i, -1);
}

/* A row of P: the smoother's, with aggregates as columns. */
static void interpolate_row(const void *coarsening_, int i, sp_csr_row *row) {
  const coarsening *c = coarsening_;
  for (int n = c->smoother.start[i]; n < c->smoother.start[i + 1]; n++) {
    const int aggregate = c->aggregate[c->smoother.column[n]];
    if (aggregate >= 0) sp_csr_row_add(row, aggregate, c->smoother.values[n]);
  }
}

/* Find the aggregates, and P if there are any. */
static sp_status find_aggregates(coarsening *c) {
  sp_hierarchy_level *l = c->level;
  const int rows = l->matrix.rows;
  SP_TRY(sp_csr_sum(rows, rows, (size_t)sp_csr_longest(&l->matrix), c, smooth_row, &c->smoother));
  aggregate_neighbours(c);
  join_aggregates(c);
  if (c->aggregates == 0) return SP_OK;
  const size_t most = (size_t)sp_csr_longest(&c->smoother);
  return sp_csr_sum(rows, c->aggregates, most, c, interpolate_row, &l->interpolation);
}

/* Prepare the smoother of a level, and the transfer to the next one if it has more than `direct`
 * rows that need one. */
static sp_status prepare_level(sp_hierarchy_level *l, int direct) {
  const size_t rows = (size_t)l->matrix.rows;
  SP_AUTO_VALUE(coarsening) c = {.level = l};
  SP_TRY(SP_ALLOCATE("algebraic multigrid", SP_ARRAY(l->inverse_diagonal, rows),
                     SP_ARRAY(c.largest, rows), SP_ARRAY(c.aggregate, rows)));
  SP_TRY(sp_loop_over("algebraic multigrid", rows, ROW_ENTRIES, &c, measure_some));
  SP_TRY(find_bound(l));
  return l->matrix.rows > direct ? find_aggregates(&c) : SP_OK;
}

/* *coarse = P^T A P. */
static sp_status project_matrix(sp_hierarchy_level *l, sp_csr *coarse) {
  SP_AUTO_VALUE(sp_csr) product = {0};
  SP_TRY(sp_csr_transpose(&l->interpolation, &l->restriction));
  SP_TRY(sp_csr_product(&l->matrix, &l->interpolation, &product));
  return sp_csr_product(&l->restriction, &product, coarse);
}

sp_status sp_hierarchy_create(const sp_csr *matrix, int direct, sp_hierarchy *out) {
  *out = (sp_hierarchy){.level[0].matrix = *matrix};
  for (;;) {
    sp_hierarchy_level *l = &out->level[out->levels++];
    SP_TRY(prepare_level(l, out->levels < SP_HIERARCHY_MOST ? direct : l->matrix.rows));
    if (l->interpolation.rows == 0) return SP_OK;
    SP_TRY(project_matrix(l, &l[1].matrix));
  }
}

void sp_hierarchy_destroy(sp_hierarchy *hierarchy) {
  for (int i = 0; i < SP_HIERARCHY_MOST; i++) {
    sp_hierarchy_level *l = &hierarchy->level[i];
    if (i > 0) sp_csr_destroy(&l->matrix);
    sp_csr_destroy(&l->interpolation);
    sp_csr_destroy(&l->restriction);
    free(l->inverse_diagonal);
  }
  *hierarchy = (sp_hierarchy){0};
}
