#include "operators/schwarz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/columns.h"
#include "mesh/entity.h"
#include "mesh/reference.h"
#include "operators/column_factors.h"
#include "operators/intervals.h"

struct sp_schwarz {
  const sp_space *space;
  sp_columns *columns;
  sp_lid *interface;
  sp_device_schwarz *on_device;
};

/* ---- The boxes and their ends ---- */

/* The part of set-up that all elements share. */
typedef struct builder {
  const sp_operator_setup *setup;
  const sp_separable *boxes;
  int n;
  const sp_rule *gll;
  sp_intervals *intervals;
  const double *stiffness; /* D^T W D on [-1, 1] */
  sp_columns *columns;
  sp_lid *interface; /* [elements], the lower one of an element in a column, or -1 */
  /* Of columns: eigenvectors of the interior of [-1, 1] and their eigenvalues. */
  sp_column_modes modes;
  double interior[SP_MAX_NQ * SP_MAX_NQ], theta[SP_MAX_NQ], end_couplings[2 * SP_MAX_NQ];
  /* A face's nodes inside it, (n-2)^2, first those nearest to its corners: elements that share the
   * face see the same ones there, whatever the orientation. */
  int inside, nearest, nodes[SP_FACES][SP_MAX_NQ * SP_MAX_NQ];
  double face_weight; /* of the nodes inside a face of [-1, 1]^2 */
  /* L-vectors: at the nodes near corners of faces, the sums over the two elements of kappa times
   * the entries of K and M at the end of the direction across; and the setup's diagonal, over all
   * ranks. */
  double *end_stiffness, *end_mass, *diagonal;
} builder;

/* Arrays for the backend (sp_schwarz_setup), and scratch. */
typedef struct arrays {
  double *basis, *values, *weights, *conductances, *inverse, *ratio, *ring;
  double *sums;    /* an L-vector, the boxes' diagonal */
  double *lateral; /* per column, two bases and two sets of eigenvalues */
  double *room;    /* [4][length of a column] */
  unsigned char *alike;
} arrays;

static void choose_nodes(builder *b) {
  const int n = b->n, corner[2] = {1, n - 2};
  int order[SP_MAX_NQ * SP_MAX_NQ], face[SP_MAX_NQ * SP_MAX_NQ];
  b->inside = 0;
  for (int near = 1; near >= 0; near--) {
    for (int j = 1; j < n - 1; j++)
      for (int i = 1; i < n - 1; i++) {
        const bool is_near =
            (i == corner[0] || i == corner[1]) && (j == corner[0] || j == corner[1]);
        if (is_near == near) order[b->inside++] = j * n + i;
      }
    if (near) b->nearest = b->inside;
  }
  for (int f = 0; f < SP_FACES; f++) {
    sp_face_nodes(n - 1, f, face);
    for (int i = 0; i < b->inside; i++) b->nodes[f][i] = face[order[i]];
  }
  double sum = 0;
  for (int i = 1; i < n - 1; i++) sum += b->gll->weights[i];
  b->face_weight = sum * sum;
}

static const sp_lid *nodes_of(const builder *b, sp_lid e) {
  return &b->setup->space->numbering->nodes[(size_t)e * sp_grid_points(b->n)];
}

/* kappa times the entry of K or M at an end of an interval. */
static double own_stiffness(const builder *b, const sp_separable *box, int d) {
  return box->kappa * 2 / box->length[d] * b->stiffness[0];
}

static double own_mass(const builder *b, const sp_separable *box, int d) {
  return box->kappa * box->length[d] / 2 * b->gll->weights[0];
}

static void sum_ends(builder *b) {
  const sp_space *space = b->setup->space;
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++)
      for (int i = 0; i < b->nearest; i++) {
        const sp_lid dof = nodes_of(b, e)[b->nodes[f][i]];
        b->end_stiffness[dof] += own_stiffness(b, &b->boxes[e], f / 2);
        b->end_mass[dof] += own_mass(b, &b->boxes[e], f / 2);
      }
  sp_exchange_now(space->exchange, SP_SUM, b->end_stiffness);
  sp_exchange_now(space->exchange, SP_SUM, b->end_mass);
}

/* ---- Weights ---- */

/* The diagonal of a box with its natural ends, at its nodes. */
static void box_diagonal(const builder *b, const sp_separable *box, double *out) {
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

/* diagonal, an L-vector = the sum over elements; `element` is scratch, [n^3]. */
static void sum_boxes(const builder *b, double *element, double *diagonal) {
  const sp_space *space = b->setup->space;
  const size_t nodes = sp_grid_points(b->n);
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++) {
    box_diagonal(b, &b->boxes[e], element);
    for (size_t i = 0; i < nodes; i++) diagonal[nodes_of(b, e)[i]] += element[i];
  }
  sp_exchange_now(space->exchange, SP_SUM, diagonal);
}

/* Give an interface between two elements of a column to the lower one, with the shares of both. */
static void join_weights(const builder *b, double *weights) {
  const sp_columns *columns = b->columns;
  const size_t nodes = sp_grid_points(b->n);
  for (sp_lid c = 0; c < columns->count; c++) {
    const sp_lid first = columns->start[c], end = columns->start[c + 1];
    for (sp_lid low = first; low < end - !columns->closed[c]; low++) {
      const sp_lid high = low + 1 < end ? low + 1 : first;
      double *below = &weights[(size_t)columns->elements[low] * nodes];
      double *above = &weights[(size_t)columns->elements[high] * nodes];
      for (int k = 0; k < b->n; k++)
        for (int j = 0; j < b->n; j++) {
          double *shared = &above[sp_frame_node(&columns->frames[high], b->n, 0, j, k)];
          below[sp_frame_node(&columns->frames[low], b->n, b->n - 1, j, k)] += *shared;
          *shared = 0;
        }
    }
  }
}

/* weights[elements][n^3]: P_e W at the nodes of an element. Robin's part of the diagonal is divided
 * like the boxes'. */
static void fill_weights(const builder *b, const double *inverse, const double *diagonal,
                         double *weights) {
  const size_t nodes = sp_grid_points(b->n);
  const size_t count = (size_t)b->setup->space->mesh->hexes->count;
  for (size_t e = 0; e < count; e++) {
    double *own = &weights[e * nodes];
    box_diagonal(b, &b->boxes[e], own);
    for (size_t i = 0; i < nodes; i++) {
      const sp_lid dof = nodes_of(b, (sp_lid)e)[i];
      own[i] *= (1 + b->diagonal[dof] / diagonal[dof]) * inverse[dof];
    }
  }
  join_weights(b, weights);
  for (size_t i = 0; i < count * nodes; i++) weights[i] = sqrt(weights[i]);
}

/* ---- Ends ---- */

/* What acts at a face of an element, by kappa: the neighbour's entries of K and M, and Robin's
 * coefficient. */
typedef struct end {
  double stiffness, mass, robin;
  bool fixed; /* Dirichlet */
} end;

static end find_end(const builder *b, sp_lid e, int f) {
  const sp_separable *box = &b->boxes[e];
  const bool *constrained = b->setup->constrained;
  const int d = f / 2;
  const sp_lid *nodes = nodes_of(b, e), dof = nodes[b->nodes[f][0]];
  double diagonal = 0;
  for (int i = 0; i < b->inside && b->setup->diagonal_count > 0; i++)
    diagonal += b->diagonal[nodes[b->nodes[f][i]]];
  /* Without a neighbour rounding may leave a small value. */
  const double stiffness = b->end_stiffness[dof], mass = b->end_mass[dof];
  const double own = own_stiffness(b, box, d);
  const bool alone = stiffness - own <= 1e-14 * stiffness;
  const double area = b->face_weight * box->length[(d + 1) % 3] * box->length[(d + 2) % 3] / 4;
  return (end){.stiffness = alone ? 0 : (stiffness - own) / box->kappa,
               .mass = alone ? 0 : (mass - own_mass(b, box, d)) / box->kappa,
               .robin = diagonal > 0 ? diagonal / area / box->kappa : 0,
               .fixed = constrained && constrained[dof]};
}

/* ---- Elements that stand alone ---- */

/* Replace zero eigenvalues. A box without neighbours, Dirichlet ends and mass term has one for
 * constants; it becomes a thousandth of the next ones. */
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
  if (least > 1e-6 * next) return;
  for (int i = 0; i < n; i++) values[i] += 1e-3 * next;
}

static bool stands_alone(const builder *b, sp_lid e) {
  return b->interface[e] < 0;
}

static sp_interval find_interval(const builder *b, sp_lid e, int d) {
  sp_interval line = {.length = b->boxes[e].length[d]};
  for (int side = 0; side < 2; side++) {
    const end found = find_end(b, e, 2 * d + side);
    line.stiffness[side] = found.stiffness + found.robin;
    line.mass[side] = found.mass;
    line.fixed[side] = found.fixed;
  }
  return line;
}

/* basis[elements][3][n][n] and values[elements][3][n]; the eigenvalue of (i, j, k) is kappa times
 * the sum of three, plus lambda. Elements in a row are often alike: alike[e] has bit d set if
 * interval d is that of the element before. */
static void solve_elements(builder *b, unsigned char *alike, double *basis, double *values) {
  const int n = b->n;
  const sp_lid count = b->setup->space->mesh->hexes->count;
  sp_interval last[3];
  for (sp_lid e = 0; e < count; e++)
    for (int d = 0; d < 3 && stands_alone(b, e); d++) {
      const size_t index = 3 * (size_t)e + (size_t)d;
      const sp_interval line = find_interval(b, e, d);
      if (e > 0 && stands_alone(b, e - 1) && memcmp(&line, &last[d], sizeof line) == 0)
        alike[e] |= (unsigned char)(1 << d);
      else
        sp_intervals_solve(b->intervals, &line, &basis[index * (size_t)(n * n)],
                           &values[index * (size_t)n]);
      last[d] = line;
    }
  sp_intervals_finish(b->intervals);
  for (sp_lid e = 0; e < count; e++)
    for (int d = 0; d < 3; d++) {
      double *own_basis = &basis[(3 * (size_t)e + (size_t)d) * (size_t)(n * n)];
      double *own_values = &values[(3 * (size_t)e + (size_t)d) * (size_t)n];
      if (!(alike[e] & 1 << d)) continue;
      memcpy(own_basis, own_basis - 3 * n * n, (size_t)(n * n) * sizeof *basis);
      memcpy(own_values, own_values - 3 * n, (size_t)n * sizeof *values);
    }
  /* In a loop of its own: those above copy, without kappa and lambda. */
  for (sp_lid e = 0; e < count; e++) {
    double *own = &values[3 * (size_t)e * (size_t)n];
    if (!stands_alone(b, e)) continue;
    for (int i = 0; i < 3 * n; i++) own[i] *= b->boxes[e].kappa;
    for (int i = 0; i < n; i++) own[i] += b->boxes[e].lambda;
    lift_constants(n, own);
  }
}

/* ---- Columns ---- */

/* K and M of [-1, 1] times a_d: the coupling of a box in direction d (mesh/columns.h). */
static double coupling(const sp_separable *box, int d) {
  return box->kappa * box->length[(d + 1) % 3] * box->length[(d + 2) % 3] / (2 * box->length[d]);
}

static sp_status find_columns(builder *b) {
  const sp_lid count = b->setup->space->mesh->hexes->count;
  double(*couplings)[3];
  SP_TRY(sp_allocate((size_t)count, sizeof *couplings, "Schwarz", &couplings));
  for (sp_lid e = 0; e < count; e++)
    for (int d = 0; d < 3; d++) couplings[e][d] = coupling(&b->boxes[e], d);
  sp_columns *columns;
  const sp_status status = sp_columns_create(b->setup->space->mesh->topology, couplings, &columns);
  free(couplings);
  SP_TRY(status);
  b->columns = columns;
  for (sp_lid e = 0; e < count; e++) b->interface[e] = -1;
  for (sp_lid c = 0; c < columns->count; c++)
    for (sp_lid i = columns->start[c]; i < columns->start[c + 1]; i++)
      b->interface[columns->elements[i]] = i + c;
  return SP_OK;
}

/* The common interval [-1, 1] of a column in lateral direction t = 1, 2: what the neighbours add is
 * the geometric mean over the elements that have one, by the element's own entries. */
static sp_interval find_lateral(const builder *b, sp_lid c, int t) {
  const sp_columns *columns = b->columns;
  const double length = columns->start[c + 1] - columns->start[c];
  sp_interval line = {.length = 2, .fixed = {1, 1}};
  for (int side = 0; side < 2; side++) {
    double neighbours = 0, stiffness = 0, mass = 0, robin = 0;
    for (sp_lid i = columns->start[c]; i < columns->start[c + 1]; i++) {
      const sp_lid e = columns->elements[i];
      const int d = columns->frames[i].axis[t];
      const end found = find_end(b, e, 2 * d + (side ^ columns->frames[i].flip[t]));
      const double half = b->boxes[e].length[d] / 2;
      robin += found.robin * half;
      if (!found.fixed) line.fixed[side] = 0;
      if (found.stiffness == 0) continue;
      neighbours++;
      stiffness += log(found.stiffness * half);
      mass += log(found.mass / half);
    }
    if (neighbours > 0) {
      line.stiffness[side] = exp(stiffness / neighbours);
      line.mass[side] = exp(mass / neighbours);
    }
    line.stiffness[side] += robin / length;
  }
  return line;
}

/* Fill the basis and the values of a column's elements: first the direction along the column, with
 * the unit vectors of the two ends and the eigenvectors of the interior. */
static void fill_column(const builder *b, const sp_column *column, sp_lid c,
                        const double *lateral_basis, double *basis, double *values) {
  const int n = b->n;
  const size_t area = (size_t)(n * n);
  for (int k = 0; k < column->length; k++) {
    const sp_lid e = b->columns->elements[b->columns->start[c] + k];
    double *own_basis = &basis[3 * (size_t)e * area];
    double *own = &values[3 * (size_t)e * (size_t)n];
    memcpy(own_basis, b->interior, area * sizeof *basis);
    own_basis[0] = own_basis[area - 1] = 1;
    memcpy(own_basis + area, lateral_basis, 2 * area * sizeof *basis);
    for (int i = 0; i < n; i++) {
      own[i] = column->kappa[k] * b->modes.theta[i] + column->reaction[k];
      for (int t = 0; t < 2; t++)
        own[(t + 1) * n + i] = column->lateral[t][k] * column->eigenvalues[t][i];
    }
  }
}

static void fill_modes(builder *b) {
  const int n = b->n;
  sp_intervals_solve(b->intervals, &(sp_interval){.length = 2, .fixed = {1, 1}}, b->interior,
                     b->theta);
  sp_intervals_finish(b->intervals);
  for (int side = 0; side < 2; side++)
    for (int j = 0; j < n; j++) {
      double sum = 0;
      for (int i = 1; i < n - 1; i++)
        sum += b->stiffness[side * (n - 1) * n + i] * b->interior[i * n + j];
      b->end_couplings[side * n + j] = sum;
    }
  b->modes = (sp_column_modes){
      .n = n, .theta = b->theta, .couplings = b->end_couplings, .end_weight = b->gll->weights[0]};
}

/* Solve column c with its lateral basis[2][n][n] and eigenvalues[2][n]; room[4][length]. */
static void solve_column(const builder *b, sp_lid c, const double *lateral_basis,
                         const double *eigenvalues, double *room, const arrays *a) {
  const sp_columns *columns = b->columns;
  const sp_lid first = columns->start[c];
  const int length = (int)(columns->start[c + 1] - first);
  double *kappa = room, *lateral[2] = {room + length, room + 2 * length};
  double *reaction = room + 3 * length;
  for (int k = 0; k < length; k++) {
    const sp_separable *box = &b->boxes[columns->elements[first + k]];
    const unsigned char *axis = columns->frames[first + k].axis;
    kappa[k] = coupling(box, axis[0]);
    for (int t = 0; t < 2; t++) lateral[t][k] = coupling(box, axis[t + 1]);
    reaction[k] = box->lambda * box->length[0] * box->length[1] * box->length[2] / 8;
    a->conductances[first + k] = kappa[k];
  }
  sp_column column = {.length = length,
                      .closed = columns->closed[c],
                      .kappa = kappa,
                      .lateral = {lateral[0], lateral[1]},
                      .reaction = reaction,
                      .eigenvalues = {eigenvalues, eigenvalues + b->n}};
  for (int side = 0; side < 2; side++) {
    const sp_lid i = side == 0 ? first : columns->start[c + 1] - 1, e = columns->elements[i];
    const sp_frame *frame = &columns->frames[i];
    const end found = find_end(b, e, 2 * frame->axis[0] + (side ^ frame->flip[0]));
    const double half = b->boxes[e].length[frame->axis[0]] / 2;
    column.stiffness[side] = (found.stiffness + found.robin) * half;
    column.mass[side] = found.mass / half;
    column.fixed[side] = found.fixed;
  }
  fill_column(b, &column, c, lateral_basis, a->basis, a->values);
  const size_t at = (size_t)(first + c) * (size_t)(b->n * b->n);
  sp_column_factorize(&b->modes, &column,
                      &(sp_column_factors){a->inverse + at, a->ratio + at, a->ring + at});
}

static void solve_columns(builder *b, const arrays *a) {
  const int n = b->n;
  const size_t area = (size_t)(n * n), each = 2 * (area + (size_t)n);
  fill_modes(b);
  for (sp_lid c = 0; c < b->columns->count; c++)
    for (int t = 0; t < 2; t++) {
      const sp_interval line = find_lateral(b, c, t + 1);
      double *own = &a->lateral[(size_t)c * each];
      sp_intervals_solve(b->intervals, &line, own + (size_t)t * area, own + 2 * area + t * n);
    }
  sp_intervals_finish(b->intervals);
  for (sp_lid c = 0; c < b->columns->count; c++) {
    const double *own = &a->lateral[(size_t)c * each];
    solve_column(b, c, own, own + 2 * area, a->room, a);
  }
}

/* ---- Set-up ---- */

static sp_status allocate(builder *b, arrays *a) {
  const size_t dofs = sp_space_dofs(b->setup->space), n = (size_t)b->n;
  const size_t elements = (size_t)b->setup->space->mesh->hexes->count;
  SP_TRY(sp_intervals_create(b->n - 1, &b->intervals));
  b->stiffness = sp_intervals_stiffness(b->intervals);
  SP_TRY(sp_allocate(elements, sizeof *b->interface, "Schwarz", &b->interface));
  SP_TRY(find_columns(b));
  const size_t columns = (size_t)b->columns->count;
  const size_t placed = (size_t)b->columns->start[columns], interfaces = placed + columns;
  SP_TRY(sp_allocate(dofs, sizeof(double), "Schwarz", &b->end_stiffness));
  SP_TRY(sp_allocate(dofs, sizeof(double), "Schwarz", &b->end_mass));
  SP_TRY(sp_allocate(dofs, sizeof(double), "Schwarz", &b->diagonal));
  SP_TRY(sp_allocate(dofs, sizeof(double), "Schwarz", &a->sums));
  SP_TRY(sp_allocate(elements, n * n * n * sizeof(double), "Schwarz", &a->weights));
  SP_TRY(sp_allocate(elements, sizeof *a->alike, "Schwarz", &a->alike));
  SP_TRY(sp_allocate(elements, 3 * n * n * sizeof(double), "Schwarz", &a->basis));
  SP_TRY(sp_allocate(elements, 3 * n * sizeof(double), "Schwarz", &a->values));
  SP_TRY(sp_allocate(columns, 2 * (n * n + n) * sizeof(double), "Schwarz", &a->lateral));
  SP_TRY(sp_allocate(placed, 4 * sizeof(double), "Schwarz", &a->room));
  SP_TRY(sp_allocate(placed, sizeof(double), "Schwarz", &a->conductances));
  SP_TRY(sp_allocate(interfaces, n * n * sizeof(double), "Schwarz", &a->inverse));
  SP_TRY(sp_allocate(interfaces, n * n * sizeof(double), "Schwarz", &a->ratio));
  return sp_allocate(interfaces, n * n * sizeof(double), "Schwarz", &a->ring);
}

static void release(builder *b, arrays *a) {
  sp_intervals_destroy(&b->intervals);
  free(b->end_stiffness);
  free(b->end_mass);
  free(b->diagonal);
  free(a->weights);
  free(a->sums);
  free(a->alike);
  free(a->basis);
  free(a->values);
  free(a->lateral);
  free(a->room);
  free(a->conductances);
  free(a->inverse);
  free(a->ratio);
  free(a->ring);
}

static void fill(builder *b, const double *inverse, arrays *a) {
  const sp_operator_setup *setup = b->setup;
  for (sp_lid i = 0; i < setup->diagonal_count; i++)
    b->diagonal[setup->diagonal_dofs[i]] = setup->diagonal_values[i];
  sp_exchange_now(setup->space->exchange, SP_SUM, b->diagonal);
  sum_ends(b);
  sum_boxes(b, a->weights, a->sums);
  fill_weights(b, inverse, a->sums, a->weights);
  solve_elements(b, a->alike, a->basis, a->values);
  if (b->columns->count > 0) solve_columns(b, a);
}

sp_status sp_schwarz_create(const sp_operator *op, const sp_operator_setup *setup,
                            const sp_separable *boxes, const double *inverse, sp_schwarz **out) {
  const sp_space *space = setup->space;
  const sp_platform *platform = space->platform;
  const int n = space->numbering->order + 1;
  arrays a = {0};
  builder *b = NULL;
  sp_schwarz *schwarz = NULL;
  *out = NULL;
  sp_status status = sp_allocate(1, sizeof *schwarz, "Schwarz", &schwarz);
  if (!status) status = sp_allocate(1, sizeof *b, "Schwarz", &b);
  if (!status) {
    b->setup = setup;
    b->boxes = boxes;
    b->n = n;
    b->gll = &sp_reference_get(n - 1)->gll;
    choose_nodes(b);
    status = allocate(b, &a);
  }
  status = sp_agree(platform->comm, status);
  if (b) {
    schwarz->columns = b->columns;
    schwarz->interface = b->interface;
  }
  if (!status) {
    fill(b, inverse, &a);
    schwarz->space = space;
    const sp_schwarz_setup on_device = {.space = space,
                                        .local = op->local,
                                        .precision = op->precision,
                                        .basis = a.basis,
                                        .values = a.values,
                                        .weights = a.weights,
                                        .columns = b->columns,
                                        .interface = b->interface,
                                        .conductances = a.conductances,
                                        .end_couplings = b->end_couplings,
                                        .inverse = a.inverse,
                                        .ratio = a.ratio,
                                        .ring = a.ring};
    status = platform->backend->schwarz_create(platform->device, &on_device, &schwarz->on_device);
    status = sp_agree(platform->comm, status);
  }
  if (b) release(b, &a);
  free(b);
  if (status)
    sp_schwarz_destroy(&schwarz);
  else
    *out = schwarz;
  return status;
}

void sp_schwarz_destroy(sp_schwarz **schwarz) {
  if (!*schwarz) return;
  if ((*schwarz)->on_device)
    (*schwarz)->space->platform->backend->schwarz_destroy(&(*schwarz)->on_device);
  sp_columns_destroy(&(*schwarz)->columns);
  free((*schwarz)->interface);
  free(*schwarz);
  *schwarz = NULL;
}

sp_status sp_schwarz_apply(sp_schwarz *schwarz, const sp_vector *r, sp_vector *z) {
  return schwarz->space->platform->backend->schwarz_apply(schwarz->on_device, r->data, z->data);
}

sp_status sp_schwarz_step(sp_schwarz *schwarz, const sp_vector *r, sp_vector *z,
                          const sp_smoothing *step) {
  const sp_backend *backend = schwarz->space->platform->backend;
  if (backend->schwarz_step) {
    const sp_correction correction = sp_smoothing_correction(step);
    return backend->schwarz_step(schwarz->on_device, r->data, z->data, &correction);
  }
  const sp_status status = sp_schwarz_apply(schwarz, r, z);
  return sp_first_failure(status, sp_vector_correct(step));
}
