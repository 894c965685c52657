#include "operators/schwarz/builder.h"

#include <math.h>
#include <string.h>

#include "io/threads.h"

/* ---- Columns and edges ---- */

static sp_status find_columns(sp_schwarz_builder *b) {
  const sp_lid count = b->setup->space->mesh->hexes->count;
  SP_OWNED double(*couplings)[3] = NULL;
  SP_TRY(sp_allocate((size_t)count, sizeof *couplings, "Schwarz", &couplings));
  for (sp_lid e = 0; e < count; e++)
    for (int d = 0; d < 3; d++) couplings[e][d] = sp_separable_coupling(&b->boxes[e], d);
  return sp_columns_create(b->setup->space->mesh->topology, couplings, &b->columns);
}

static sp_status find_edges(sp_schwarz_builder *b) {
  const sp_topology *t = b->setup->space->mesh->topology;
  enum { EDGES = SP_FACE_SLOT - SP_EDGE_SLOT };
  SP_TRY(SP_ALLOCATE("Schwarz", SP_ARRAY(b->edge_start, (size_t)t->entities + 2),
                     SP_ARRAY(b->edge_elements, EDGES * (size_t)t->elements)));
  sp_lid *next = b->edge_start + 1; /* later the start of the next edge */
  for (sp_lid e = 0; e < t->elements; e++)
    for (int s = SP_EDGE_SLOT; s < SP_FACE_SLOT; s++) next[t->slots[e][s] + 1]++;
  for (sp_lid i = 0; i < t->entities; i++) next[i + 1] += next[i];
  for (sp_lid e = 0; e < t->elements; e++)
    for (int s = SP_EDGE_SLOT; s < SP_FACE_SLOT; s++) b->edge_elements[next[t->slots[e][s]]++] = e;
  return SP_OK;
}

sp_status sp_schwarz_find_columns(sp_schwarz_builder *b) {
  SP_TRY(find_columns(b));
  SP_TRY(find_edges(b));
  for (sp_lid e = 0; e < b->setup->space->mesh->hexes->count; e++) b->interface[e] = -1;
  for (sp_lid c = 0; c < b->columns->count; c++)
    for (sp_lid i = b->columns->start[c]; i < b->columns->start[c + 1]; i++)
      b->interface[b->columns->elements[i]] = i + c;
  return SP_OK;
}

/* ---- Weights ---- */

/* The Robin term at a face, for an interval [-1, 1] across it. */
static double find_robin(const sp_schwarz_builder *b, sp_lid e, int f) {
  return sp_schwarz_find_end(b, e, f).robin * b->boxes[e].length[f / 2] / 2;
}

/* The mean over a column at a side of lateral direction t, with the energy of all elements. */
static double find_lateral_robin(const sp_schwarz_builder *b, sp_lid c, int t, int side) {
  const sp_columns *columns = b->columns;
  const sp_lid first = columns->start[c], end = columns->start[c + 1];
  double sum = 0, own = 0;
  for (sp_lid i = first; i < end && b->setup->diagonal_count > 0; i++) {
    const sp_lid e = columns->elements[i];
    const double coupling = sp_separable_coupling(&b->boxes[e], columns->frames[i].axis[t]);
    sum += coupling * find_robin(b, e, sp_frame_face(&columns->frames[i], t, side));
    own += coupling;
  }
  return sum > 0 ? sum / own : 0;
}

static void add_end(sp_schwarz_builder *b, sp_lid e, int f, double robin) {
  const double each = sp_separable_coupling(&b->boxes[e], f / 2) * robin, *w = b->gll->weights;
  const int n = b->n;
  double *diagonal = &b->weights[(size_t)e * sp_grid_points(n)];
  int nodes[SP_MAX_NQ * SP_MAX_NQ];
  if (robin == 0) return;
  sp_face_nodes(n - 1, f, nodes);
  for (int i = 0; i < n * n; i++) diagonal[nodes[i]] += each * w[i % n] * w[i / n];
}

void sp_schwarz_add_robin(sp_schwarz_builder *b) {
  const sp_columns *columns = b->columns;
  for (sp_lid e = 0; e < b->setup->space->mesh->hexes->count; e++)
    for (int f = 0; f < SP_FACES && b->interface[e] < 0; f++) add_end(b, e, f, find_robin(b, e, f));
  for (sp_lid c = 0; c < columns->count; c++)
    for (int side = 0; side < 2; side++) {
      const sp_lid first = columns->start[c], last = columns->start[c + 1] - 1;
      const sp_lid end = side == 0 ? first : last, e = columns->elements[end];
      const int f = sp_frame_face(&columns->frames[end], 0, side);
      if (!columns->closed[c]) add_end(b, e, f, find_robin(b, e, f));
      for (int t = 1; t < 3; t++) {
        const double robin = find_lateral_robin(b, c, t, side);
        for (sp_lid i = first; i <= last; i++)
          add_end(b, columns->elements[i], sp_frame_face(&columns->frames[i], t, side), robin);
      }
    }
}

void sp_schwarz_join_weights(sp_schwarz_builder *b) {
  const sp_columns *columns = b->columns;
  const size_t nodes = sp_grid_points(b->n);
  for (sp_lid c = 0; c < columns->count; c++) {
    const sp_lid first = columns->start[c], end = columns->start[c + 1];
    for (sp_lid low = first; low < end - !columns->closed[c]; low++) {
      const sp_lid high = low + 1 < end ? low + 1 : first;
      double *below = &b->weights[(size_t)columns->elements[low] * nodes];
      double *above = &b->weights[(size_t)columns->elements[high] * nodes];
      for (int k = 0; k < b->n; k++)
        for (int j = 0; j < b->n; j++) {
          double *shared = &above[sp_frame_node(&columns->frames[high], b->n, 0, j, k)];
          below[sp_frame_node(&columns->frames[low], b->n, b->n - 1, j, k)] += *shared;
          *shared = 0;
        }
    }
  }
}

/* ---- Elements that are strong in two directions ---- */

/* Factor of the shares of an element that is in no column and strong in two directions, for example
 * where two sheets cross. Each sheet is stiff across, so its diagonal is the larger one on their
 * common face. But only this element has all nodes of the cross-section, and weights that differ
 * between stiffly coupled nodes give its solution a large energy. So it takes all its nodes if it
 * is stiffer than its neighbours are towards it, and no softer than other elements at its edges.
 * The shares of columns are level already. tests/layers.c has crossing sheets. */
static double find_priority(const sp_schwarz_builder *b, sp_lid e) {
  const sp_separable *box = &b->boxes[e];
  double a[3], share = 1;
  for (int d = 0; d < 3; d++) a[d] = sp_separable_coupling(box, d);
  const int weak = a[0] <= a[1] && a[0] <= a[2] ? 0 : a[1] <= a[2] ? 1 : 2;
  const int first = (weak + 1) % 3, second = (weak + 2) % 3;
  double ratio = fmin(a[first], a[second]) / a[weak];
  if (b->interface[e] >= 0 || ratio <= 1) return 1;
  for (int f = 0; f < SP_FACES; f++) {
    const sp_schwarz_end end = sp_schwarz_find_end(b, e, f);
    if (f / 2 == weak) continue;
    if (end.fixed) return 1;
    const double own = 2 * b->stiffness[0] / box->length[f / 2];
    if (end.stiffness > 0) ratio = fmin(ratio, own / end.stiffness);
  }
  for (int i = 0; i < 4 && ratio > 1; i++) {
    const sp_schwarz_edge edge = sp_schwarz_find_edge(b, e, 2 * first + i % 2, 2 * second + i / 2);
    if (edge.in_column) return 1;
    share = fmin(share, edge.own / (edge.own + edge.others));
  }
  return fmax(1, ratio * share * ratio * share);
}

static void raise_some(void *builder, size_t begin, size_t end) {
  const sp_schwarz_builder *b = builder;
  const size_t nodes = sp_grid_points(b->n);
  for (size_t e = begin; e < end; e++) {
    const double priority = find_priority(b, (sp_lid)e);
    for (size_t i = 0; i < nodes && priority > 1; i++) b->weights[e * nodes + i] *= priority;
  }
}

sp_status sp_schwarz_raise(sp_schwarz_builder *b) {
  const size_t count = (size_t)b->setup->space->mesh->hexes->count;
  return sp_loop_over("Schwarz", count, sp_grid_points(b->n), b, raise_some);
}

/* ---- Level weights along lines ---- */

/* A column is stiff along its lines, so weights that jump along a line would give its solution a
 * large energy. Levelling them saves many iterations: 7 instead of 91 on a plate of two layers,
 * kappa 1 above 10 in one half and 10 above 1 in the other. A column's shares r of the diagonal on
 * a line, one per element, become
 *
 *     r' = (D + G)^-1 D r
 *
 * with D the couplings across the line, of all its blocks, and G the Laplacian of SPREAD times the
 * column's couplings along it. So r' is r where the column is soft, and constant where it is stiff.
 * Contacts, and elements with a share below LEAST, keep r: a larger weight would make them act for
 * stiffer elements beside them. SPREAD is from iteration counts at orders 2 and 4, jumps of 10 to
 * 1000 and elements of aspect 15 and 150, which differ by at most a factor of 2.5 for SPREAD from
 * 0.03 to 1. */
static const double SPREAD = 0.1, LEAST = 1e-4;

static void level_line(const sp_schwarz_builder *b, sp_lid c, int j, int k) {
  static const double SAME = 1.01; /* ratio of shares */
  const sp_columns *columns = b->columns;
  const sp_hexes *hexes = b->setup->space->mesh->hexes;
  const sp_lid first = columns->start[c];
  const int n = b->n, length = columns->start[c + 1] - first;
  double *share = &b->room[4 * (size_t)first], *along = share + length;
  double *ratio = along + length, *leveled = ratio + length;
  double least = INFINITY, most = 0, rest = 0;
  for (int m = 0; m < length; m++) {
    const sp_lid e = columns->elements[first + m];
    const sp_frame *frame = &columns->frames[first + m];
    const size_t inside = sp_frame_node(frame, n, 1, j, k);
    share[m] = b->weights[(size_t)e * sp_grid_points(n) + inside] /
               b->sums[sp_schwarz_nodes(b, e)[inside]];
    along[m] = sp_separable_coupling(&b->boxes[e], frame->axis[0]) * SPREAD;
    least = fmin(least, share[m]);
    most = fmax(most, share[m]);
  }
  if (most < SAME * least) return;
  for (int m = 0; m < length; m++) {
    const sp_separable *box = &b->boxes[columns->elements[first + m]];
    const unsigned char *axis = columns->frames[first + m].axis;
    const double across = (j % (n - 1) == 0 ? sp_separable_coupling(box, axis[1]) : 0) +
                          (k % (n - 1) == 0 ? sp_separable_coupling(box, axis[2]) : 0);
    const double own = across / share[m];
    const double below = m > 0 ? 1 / (1 / along[m - 1] + 1 / along[m]) : 0;
    const double above = m + 1 < length ? 1 / (1 / along[m] + 1 / along[m + 1]) : 0;
    rest = own + below * rest; /* the row's sum after elimination, without cancellation */
    const double pivot = rest + above;
    const bool keeps = share[m] < LEAST || sp_hexes_is_contact(hexes, columns->elements[first + m]);
    leveled[m] = keeps ? share[m] : (across + (m > 0 ? below * leveled[m - 1] : 0)) / pivot;
    ratio[m] = keeps ? 0 : above / pivot;
    rest = keeps ? 1 : rest / pivot;
  }
  for (int m = length - 1; m >= 0; m--) {
    const sp_lid e = columns->elements[first + m];
    if (m + 1 < length) leveled[m] += ratio[m] * leveled[m + 1];
    for (int i = 0; i < n; i++)
      b->weights[(size_t)e * sp_grid_points(n) +
                 sp_frame_node(&columns->frames[first + m], n, i, j, k)] *= leveled[m] / share[m];
  }
}

static void level_some(void *builder, size_t begin, size_t end) {
  const sp_schwarz_builder *b = builder;
  const int last = b->n - 1;
  for (size_t c = begin; c < end; c++)
    for (int k = 0; k <= last; k++)
      for (int j = 0; j <= last; j += k % last == 0 ? 1 : last) level_line(b, (sp_lid)c, j, k);
}

sp_status sp_schwarz_level(sp_schwarz_builder *b) {
  const sp_space *space = b->setup->space;
  const size_t nodes = sp_grid_points(b->n), count = (size_t)space->mesh->hexes->count;
  sp_status status = SP_OK;
  if (b->setup->kappa)
    status = sp_loop_over("Schwarz", (size_t)b->columns->count, nodes, b, level_some);
  const sp_status summed = sp_numbering_sum(space->numbering, count, b->weights, b->leveled);
  sp_exchange_now(space->exchange, SP_SUM, b->leveled);
  return sp_first_failure(status, summed);
}

/* ---- Solution ---- */

/* The terms at a side of lateral direction t of the column's element i, for an interval [-1, 1]. */
static sp_schwarz_end find_lateral_end(const sp_schwarz_builder *b, sp_lid i, int t, int side) {
  const sp_lid e = b->columns->elements[i];
  const sp_frame *frame = &b->columns->frames[i];
  sp_schwarz_end end = sp_schwarz_find_end(b, e, sp_frame_face(frame, t, side));
  const double half = b->boxes[e].length[frame->axis[t]] / 2;
  end.stiffness *= half;
  end.mass /= half;
  return end;
}

/* The common interval [-1, 1] of a column in lateral direction t = 1, 2, by the elements' own
 * entries. Neighbours add the geometric mean over the elements that have one, but at least half
 * their energy for the vector that is 1 along the column. A neighbour stiffer than the element's
 * coupling along the column holds only that element. So its contribution is limited to that
 * coupling, or to the least contribution to any element. */
static sp_interval find_lateral(const sp_schwarz_builder *b, sp_lid c, int t) {
  const sp_columns *columns = b->columns;
  const sp_lid first = columns->start[c], last = columns->start[c + 1];
  sp_interval line = {.length = 2, .fixed = {1, 1}};
  for (int side = 0; side < 2; side++) {
    double neighbours = 0, stiffness = 0, mass = 0, own = 0, energy = 0, least = INFINITY;
    for (sp_lid i = first; i < last; i++)
      least = fmin(least, find_lateral_end(b, i, t, side).stiffness);
    for (sp_lid i = first; i < last; i++) {
      const sp_schwarz_end end = find_lateral_end(b, i, t, side);
      const sp_separable *box = &b->boxes[columns->elements[i]];
      const double coupling = sp_separable_coupling(box, columns->frames[i].axis[t]);
      const double along = sp_separable_coupling(box, columns->frames[i].axis[0]);
      own += coupling;
      if (!end.fixed) line.fixed[side] = 0;
      if (end.stiffness == 0) continue;
      const double most = fmax(b->stiffness[0] * along / coupling, least);
      const double limited = fmin(end.stiffness, most);
      neighbours++;
      energy += coupling * limited;
      stiffness += log(limited);
      mass += log(end.mass * limited / end.stiffness);
    }
    if (neighbours > 0) {
      line.stiffness[side] = fmax(exp(stiffness / neighbours), energy / (2 * own));
      line.mass[side] = exp(mass / neighbours);
    }
    line.stiffness[side] += find_lateral_robin(b, c, t, side);
    line.stiffness[side] += b->stiffness[0] * sp_schwarz_sum_ties(b, c, t, side) / (2 * own);
  }
  return line;
}

/* Fill the basis and the values of a column's elements: first the direction along the column, with
 * the unit vectors of the two ends and the eigenvectors of the interior. */
static void fill_column(const sp_schwarz_builder *b, const sp_column *column, sp_lid c,
                        const double *lateral_basis) {
  const int n = b->n;
  const size_t area = (size_t)(n * n);
  for (int k = 0; k < column->length; k++) {
    const sp_lid e = b->columns->elements[b->columns->start[c] + k];
    double *own_basis = &b->basis[3 * (size_t)e * area];
    double *own = &b->values[3 * (size_t)e * (size_t)n];
    memcpy(own_basis, b->interior, area * sizeof *own_basis);
    own_basis[0] = own_basis[area - 1] = 1;
    memcpy(own_basis + area, lateral_basis, 2 * area * sizeof *own_basis);
    for (int i = 0; i < n; i++) {
      own[i] = column->kappa[k] * b->modes.theta[i] + column->reaction[k];
      for (int t = 0; t < 2; t++)
        own[(t + 1) * n + i] = column->lateral[t][k] * column->eigenvalues[t][i];
    }
  }
}

static void fill_modes(sp_schwarz_builder *b) {
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

/* Solve column c with its lateral basis[2][n][n] and eigenvalues[2][n]. */
static void solve_column(const sp_schwarz_builder *b, sp_lid c, const double *lateral_basis,
                         const double *eigenvalues) {
  const sp_columns *columns = b->columns;
  const sp_lid first = columns->start[c];
  const int length = (int)(columns->start[c + 1] - first);
  double *kappa = b->room, *lateral[2] = {kappa + length, kappa + 2 * length};
  double *reaction = kappa + 3 * length;
  for (int k = 0; k < length; k++) {
    const sp_separable *box = &b->boxes[columns->elements[first + k]];
    const unsigned char *axis = columns->frames[first + k].axis;
    kappa[k] = sp_separable_coupling(box, axis[0]);
    for (int t = 0; t < 2; t++) lateral[t][k] = sp_separable_coupling(box, axis[t + 1]);
    reaction[k] = box->lambda * box->length[0] * box->length[1] * box->length[2] / 8;
    b->conductances[first + k] = kappa[k];
  }
  sp_column column = {.length = length,
                      .closed = columns->closed[c],
                      .kappa = kappa,
                      .lateral = {lateral[0], lateral[1]},
                      .reaction = reaction,
                      .eigenvalues = {eigenvalues, eigenvalues + b->n}};
  const size_t at = (size_t)(first + c) * (size_t)(b->n * b->n);
  for (int side = 0; side < 2; side++) {
    const sp_lid i = side == 0 ? first : columns->start[c + 1] - 1, e = columns->elements[i];
    const sp_frame *frame = &columns->frames[i];
    const sp_schwarz_end found = sp_schwarz_find_end(b, e, sp_frame_face(frame, 0, side));
    const double half = b->boxes[e].length[frame->axis[0]] / 2;
    column.stiffness[side] = (found.stiffness + found.robin) * half;
    column.mass[side] = found.mass / half;
    column.fixed[side] = found.fixed;
  }
  fill_column(b, &column, c, lateral_basis);
  sp_column_factorize(
      &b->modes, &column,
      &(sp_column_factors){b->inverse + at, b->ratio + at, column.closed ? b->ring + at : NULL});
}

void sp_schwarz_solve_columns(sp_schwarz_builder *b) {
  const int n = b->n;
  const size_t area = (size_t)(n * n), each = 2 * (area + (size_t)n);
  fill_modes(b);
  for (sp_lid c = 0; c < b->columns->count; c++) {
    for (int t = 0; t < 2; t++) {
      sp_interval line = find_lateral(b, c, t + 1);
      double *own = &b->lateral[(size_t)c * each];
      sp_intervals_solve(b->intervals, &line, own + (size_t)t * area, own + 2 * area + t * n);
    }
  }
  sp_intervals_finish(b->intervals);
  for (sp_lid c = 0; c < b->columns->count; c++) {
    const double *own = &b->lateral[(size_t)c * each];
    solve_column(b, c, own, own + 2 * area);
  }
}
