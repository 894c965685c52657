#include "operators/schwarz/schwarz.h"

#include <math.h>
#include <string.h>

#include "io/threads.h"
#include "operators/schwarz/builder.h"
#include "operators/schwarz/junctions.h"
#include "operators/schwarz/sets.h"

struct sp_schwarz {
  const sp_space *space;
  sp_column_counts counts; /* over all ranks */
  sp_device_schwarz *on_device;
  sp_precision precision;
  sp_schwarz_builder builder; /* after creation only what sets and the backend need */
  double *junctions;          /* marks; NULL: none */
  sp_sets *sets;              /* NULL: none */
  sp_vector residual;         /* with sets */
  sp_vector sum;              /* S r with sets: z of a step may hold only sums of the backend */
};

/* ---- Weights ---- */

/* The diagonal of a box with its natural ends, at its nodes. */
static void box_diagonal(const sp_schwarz_builder *b, const sp_separable *box, double *out) {
  const int n = b->n;
  double k[3][SP_MAX_NQ], m[3][SP_MAX_NQ];
  for (int d = 0; d < 3; d++)
    for (int i = 0; i < n; i++) {
      k[d][i] = 2 / box->length[d] * b->stiffness[i * n + i];
      m[d][i] = box->length[d] / 2 * b->gll->weights[i];
    }
  for (int l = 0; l < n; l++)
    for (int j = 0; j < n; j++) {
      const double first = box->kappa * m[1][j] * m[2][l];
      const double others =
          box->kappa * (k[1][j] * m[2][l] + m[1][j] * k[2][l]) + box->lambda * m[1][j] * m[2][l];
      for (int i = 0; i < n; i++) out[(l * n + j) * n + i] = first * k[0][i] + others * m[0][i];
    }
}

static void fill_diagonals(void *builder, size_t begin, size_t end) {
  sp_schwarz_builder *b = builder;
  for (size_t e = begin; e < end; e++)
    box_diagonal(b, &b->boxes[e], &b->weights[e * sp_grid_points(b->n)]);
}

/* The diagonals of all boxes, in b->weights, and their sums. */
static sp_status sum_boxes(sp_schwarz_builder *b) {
  const sp_space *space = b->setup->space;
  const size_t nodes = sp_grid_points(b->n), count = (size_t)space->mesh->hexes->count;
  sp_status status = sp_loop_over("Schwarz", count, nodes, b, fill_diagonals);
  if (b->setup->diagonal_count > 0) sp_schwarz_add_robin(b);
  if (!status) status = sp_numbering_sum(space->numbering, count, b->weights, b->sums);
  sp_exchange_now(space->exchange, SP_SUM, b->sums);
  return status;
}

/* Replace the diagonals in weights[elements][n^3] by P_e W^2 at an element's nodes. */
static void divide_weights(void *builder, size_t begin, size_t end) {
  sp_schwarz_builder *b = builder;
  const sp_hexes *hexes = b->setup->space->mesh->hexes;
  const size_t nodes = sp_grid_points(b->n), face = nodes / (size_t)b->n;
  for (size_t e = begin; e < end; e++) {
    double *own = &b->weights[e * nodes];
    const sp_lid *dofs = sp_schwarz_nodes(b, (sp_lid)e);
    for (size_t i = 0; i < nodes; i++)
      own[i] *= b->inverse_diagonal[dofs[i]] * (b->sums[dofs[i]] / b->leveled[dofs[i]]);
    /* P_B must map constants across a contact to constants, also if its sides have a common DOF. */
    for (size_t i = 0; i < face && sp_hexes_is_contact(hexes, (sp_lid)e); i++) {
      if (dofs[i] != dofs[i + nodes - face]) continue;
      own[i] /= 2;
      own[i + nodes - face] /= 2;
    }
  }
}

static void take_roots(void *builder, size_t begin, size_t end) {
  sp_schwarz_builder *b = builder;
  const size_t nodes = sp_grid_points(b->n);
  for (size_t i = begin * nodes; i < end * nodes; i++) b->weights[i] = sqrt(b->weights[i]);
}

static sp_status fill_weights(sp_schwarz_builder *b) {
  const size_t nodes = sp_grid_points(b->n), count = (size_t)b->setup->space->mesh->hexes->count;
  SP_TRY(sp_loop_over("Schwarz", count, nodes, b, divide_weights));
  sp_schwarz_join_weights(b);
  return sp_loop_over("Schwarz", count, nodes, b, take_roots);
}

/* ---- Elements in no column ---- */

/* Replace zero eigenvalues. A box without neighbours, Dirichlet ends and mass term has one, for
 * constants; it becomes a thousandth of the next one. The smallest eigenvalue of a stiff contact is
 * about R kappa / h of the next one: small, but not zero. */
static void lift_constants(int n, double *values) {
  double least = 0, next = 0;
  for (int d = 0; d < 3; d++) {
    double first = INFINITY, second = INFINITY;
    for (int i = 0; i < n; i++) {
      const double v = values[d * n + i];
      second = fmin(second, fmax(first, v));
      first = fmin(first, v);
    }
    least += first;
    next += second;
  }
  if (least > 1e-13 * next) return;
  for (int i = 0; i < n; i++) values[i] += 1e-3 * next;
}

static bool stands_alone(const sp_schwarz_builder *b, sp_lid e) {
  return b->interface[e] < 0;
}

static sp_interval find_interval(const sp_schwarz_builder *b, sp_lid e, int d) {
  sp_interval line = {.length = b->boxes[e].length[d]};
  for (int side = 0; side < 2; side++) {
    const sp_schwarz_end found = sp_schwarz_find_end(b, e, 2 * d + side);
    const double tie = sp_schwarz_tie(b, e, 2 * d + side, (d + 1) % 3) +
                       sp_schwarz_tie(b, e, 2 * d + side, (d + 2) % 3);
    const double area = b->boxes[e].length[(d + 1) % 3] * b->boxes[e].length[(d + 2) % 3];
    line.stiffness[side] =
        found.stiffness + found.robin + 2 * b->stiffness[0] * tie / (b->boxes[e].kappa * area);
    line.mass[side] = found.mass;
    line.fixed[side] = found.fixed;
  }
  return line;
}

/* basis[elements][3][n][n] and values[elements][3][n]; the eigenvalue of (i, j, k) is kappa times
 * the sum of three, plus lambda. Successive elements are often alike: bit d of alike[e] is set if
 * interval d equals the previous element's. */
static void diagonalize_some(const sp_schwarz_builder *b, sp_intervals *intervals, size_t begin,
                             size_t end) {
  const size_t n = (size_t)b->n;
  sp_interval last[3];
  for (size_t e = begin; e < end; e++) {
    const sp_lid element = (sp_lid)e;
    for (int d = 0; d < 3 && stands_alone(b, element); d++) {
      const size_t index = 3 * e + (size_t)d;
      sp_interval line = find_interval(b, element, d);
      if (e > begin && stands_alone(b, element - 1) && memcmp(&line, &last[d], sizeof line) == 0)
        b->alike[e] |= (unsigned char)(1 << d);
      else
        sp_intervals_solve(intervals, &line, &b->basis[index * n * n], &b->values[index * n]);
      last[d] = line;
    }
  }
  sp_intervals_finish(intervals);
  for (size_t e = begin; e < end; e++)
    for (size_t d = 0; d < 3; d++) {
      double *own_basis = &b->basis[(3 * e + d) * n * n];
      double *own_values = &b->values[(3 * e + d) * n];
      if (!(b->alike[e] & 1 << d)) continue;
      memcpy(own_basis, own_basis - 3 * n * n, n * n * sizeof *own_basis);
      memcpy(own_values, own_values - 3 * n, n * sizeof *own_values);
    }
  /* A separate loop, since the loops above copy values without kappa and lambda. */
  for (size_t e = begin; e < end; e++) {
    double *own = &b->values[3 * e * n];
    if (!stands_alone(b, (sp_lid)e)) continue;
    for (size_t i = 0; i < 3 * n; i++) own[i] *= b->boxes[e].kappa;
    for (size_t i = 0; i < n; i++) own[i] += b->boxes[e].lambda;
    lift_constants(b->n, own);
  }
}

static sp_status solve_some(void *builder, void *workspace, size_t begin, size_t end) {
  (void)workspace;
  const sp_schwarz_builder *b = builder;
  SP_AUTO(sp_intervals) intervals = NULL;
  SP_TRY(sp_intervals_create(b->n - 1, &intervals));
  diagonalize_some(b, intervals, begin, end);
  return SP_OK;
}

static sp_status solve_elements(sp_schwarz_builder *b) {
  enum { CHUNK = 512 }; /* elements; each chunk has its own intervals */
  return sp_loop_run(&(sp_loop){.what = "Schwarz",
                                .count = (size_t)b->setup->space->mesh->hexes->count,
                                .chunk = CHUNK,
                                .context = b,
                                .compute = solve_some});
}

/* ---- Set-up ---- */

static sp_status allocate_builder(sp_schwarz_builder *b) {
  const size_t dofs = sp_space_dofs(b->setup->space), n = (size_t)b->n;
  const size_t elements = (size_t)b->setup->space->mesh->hexes->count;
  SP_TRY(sp_intervals_create(b->n - 1, &b->intervals));
  b->stiffness = sp_intervals_stiffness(b->intervals);
  SP_TRY(sp_allocate(elements, sizeof *b->interface, "Schwarz", &b->interface));
  SP_TRY(sp_schwarz_find_columns(b));
  const size_t columns = (size_t)b->columns->count;
  const size_t placed = (size_t)b->columns->start[columns], modes = (placed + columns) * n * n;
  bool closed = false;
  for (size_t c = 0; c < columns; c++) closed = closed || b->columns->closed[c];
  SP_TRY(SP_ALLOCATE(
      "Schwarz", SP_ARRAY(b->end_stiffness, dofs), SP_ARRAY(b->end_mass, dofs),
      SP_ARRAY(b->diagonal, dofs), SP_ARRAY(b->sums, dofs), SP_ARRAY(b->edges, dofs),
      SP_ARRAY(b->placed, dofs), SP_ARRAY(b->leveled, dofs),
      SP_ARRAY(b->weights, elements * n * n * n), SP_ARRAY(b->basis, elements * 3 * n * n),
      SP_ARRAY(b->values, elements * 3 * n), SP_ARRAY(b->lateral, columns * 2 * (n * n + n)),
      SP_ARRAY(b->room, 4 * placed), SP_ARRAY(b->conductances, placed), SP_ARRAY(b->inverse, modes),
      SP_ARRAY(b->ratio, modes), SP_ARRAY(b->alike, elements)));
  return closed ? sp_allocate(modes, sizeof *b->ring, "Schwarz", &b->ring) : SP_OK;
}

/* Free what neither sets nor the backend need. */
static void free_scratch(sp_schwarz_builder *b) {
  SP_FREE(b->end_stiffness, b->end_mass, b->diagonal, b->edges, b->placed, b->leveled, b->weights,
          b->basis, b->values, b->lateral, b->room, b->conductances, b->inverse, b->ratio, b->ring,
          b->alike, b->edge_start, b->edge_elements);
  b->end_stiffness = b->end_mass = b->diagonal = b->edges = b->placed = b->leveled = NULL;
  b->weights = b->basis = b->values = b->lateral = b->room = b->conductances = NULL;
  b->inverse = b->ratio = b->ring = NULL;
  b->alike = NULL;
  b->edge_start = b->edge_elements = NULL;
}

/* All ranks do the exchanges, also after a failure. */
static sp_status fill_builder(sp_schwarz_builder *b) {
  const sp_operator_setup *setup = b->setup;
  for (sp_lid i = 0; i < setup->diagonal_count; i++)
    b->diagonal[setup->diagonal_dofs[i]] = setup->diagonal_values[i];
  sp_exchange_now(setup->space->exchange, SP_SUM, b->diagonal);
  sp_schwarz_sum_ends(b);
  sp_status status = sum_boxes(b);
  sp_schwarz_sum_edges(b);
  if (!status) status = sp_schwarz_raise(b);
  status = sp_first_failure(status, sp_schwarz_level(b));
  if (!status) status = fill_weights(b);
  if (!status) status = solve_elements(b);
  if (!status && b->columns->count > 0) sp_schwarz_solve_columns(b);
  return status;
}

sp_status sp_schwarz_create(const sp_operator *op, const sp_operator_setup *setup,
                            const sp_separable *boxes, const double *inverse, sp_schwarz **out) {
  const sp_space *space = setup->space;
  const sp_platform *platform = space->platform;
  SP_AUTO(sp_schwarz) schwarz = NULL;
  *out = NULL;
  sp_status status = sp_allocate(1, sizeof *schwarz, "Schwarz", &schwarz);
  SP_TRY(sp_agree(platform->comm, status));
  sp_schwarz_builder *b = &schwarz->builder;
  schwarz->space = space;
  schwarz->precision = op->precision;
  b->setup = setup;
  b->boxes = boxes;
  b->inverse_diagonal = inverse;
  b->n = space->numbering->order + 1;
  b->gll = &sp_reference_get(b->n - 1)->gll;
  sp_schwarz_choose_nodes(b);
  SP_TRY(sp_agree(platform->comm, allocate_builder(b)));
  SP_TRY(sp_agree(platform->comm, fill_builder(b)));
  SP_TRY(sp_junctions_mark(space, &schwarz->junctions));
  if (schwarz->junctions) SP_TRY(sp_schwarz_correct(schwarz, NULL));
  sp_gid counts[2] = {b->columns->count, b->columns->start[b->columns->count]};
  MPI_Allreduce(MPI_IN_PLACE, counts, 2, SP_MPI_GID, MPI_SUM, platform->comm);
  schwarz->counts = (sp_column_counts){counts[0], counts[1]};
  const sp_schwarz_setup on_device = {.space = space,
                                      .local = op->local,
                                      .precision = op->precision,
                                      .basis = b->basis,
                                      .values = b->values,
                                      .weights = b->weights,
                                      .columns = b->columns,
                                      .interface = b->interface,
                                      .conductances = b->conductances,
                                      .end_couplings = b->end_couplings,
                                      .inverse = b->inverse,
                                      .ratio = b->ratio,
                                      .ring = b->ring};
  status = platform->backend->schwarz_create(platform->device, &on_device, &schwarz->on_device);
  free_scratch(b);
  SP_TRY(sp_agree(platform->comm, status));
  *out = schwarz;
  schwarz = NULL;
  return SP_OK;
}

sp_column_counts sp_schwarz_columns(const sp_schwarz *schwarz) {
  return schwarz->counts;
}

void sp_schwarz_destroy(sp_schwarz **schwarz) {
  sp_schwarz *s = *schwarz;
  if (!s) return;
  if (s->on_device) s->space->platform->backend->schwarz_destroy(&s->on_device);
  free_scratch(&s->builder);
  sp_intervals_destroy(&s->builder.intervals);
  sp_columns_destroy(&s->builder.columns);
  sp_sets_destroy(&s->sets);
  sp_vector_destroy(&s->residual);
  sp_vector_destroy(&s->sum);
  SP_FREE(s->builder.interface, s->builder.sums, s->junctions, s);
  *schwarz = NULL;
}

static sp_status create_vectors(sp_schwarz *s) {
  sp_status status = SP_OK;
  if (!s->residual.data) status = sp_space_vector(s->space, s->precision, &s->residual);
  if (!status && !s->sum.data) status = sp_space_vector(s->space, s->precision, &s->sum);
  return status;
}

sp_status sp_schwarz_correct(sp_schwarz *s, const double *marks) {
  const MPI_Comm comm = s->space->platform->comm;
  const size_t dofs = sp_space_dofs(s->space);
  SP_OWNED double *all = NULL;
  sp_sets_destroy(&s->sets);
  sp_status status = sp_allocate(dofs, sizeof *all, "Schwarz", &all);
  SP_TRY(sp_agree(comm, status ? status : create_vectors(s)));
  for (size_t i = 0; i < dofs; i++)
    all[i] = (marks ? marks[i] : 0) + (s->junctions ? s->junctions[i] : 0);
  return sp_sets_create(&s->builder, all, s->precision, &s->sets);
}

sp_status sp_schwarz_apply(sp_schwarz *s, const sp_vector *r, sp_vector *z) {
  const sp_backend *backend = s->space->platform->backend;
  if (!s->sets) return backend->schwarz_apply(s->on_device, r->data, z->data);
  sp_status status = sp_sets_begin(s->sets, r, &s->residual);
  status =
      sp_first_failure(status, backend->schwarz_apply(s->on_device, s->residual.data, z->data));
  return sp_first_failure(status, sp_sets_finish(s->sets, z));
}

sp_status sp_schwarz_step(sp_schwarz *schwarz, const sp_vector *r, sp_vector *z,
                          const sp_smoothing *step) {
  const sp_backend *backend = schwarz->space->platform->backend;
  sp_smoothing own = *step;
  if (schwarz->sets) own.t = z = &schwarz->sum;
  if (backend->schwarz_step && !schwarz->sets) {
    const sp_correction correction = sp_smoothing_correction(step);
    return backend->schwarz_step(schwarz->on_device, r->data, z->data, &correction);
  }
  const sp_status status = sp_schwarz_apply(schwarz, r, z);
  return sp_first_failure(status, sp_vector_correct(&own));
}
