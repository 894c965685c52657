#include "operators/schwarz/builder.h"

#include <math.h>

/* Slot of the edge between two faces. */
static int edge_between(int f, int g) {
  const int low = f < g ? f : g, high = f < g ? g : f, d = 3 - f / 2 - g / 2;
  return SP_EDGE_SLOT + 4 * d + (low & 1) + 2 * (high & 1);
}

static bool has_face(const sp_lid *slots, int count, const sp_lid *faces) {
  for (int f = SP_FACE_SLOT; f < SP_SLOTS; f++)
    for (int i = 0; i < count; i++)
      if (slots[f] == faces[i]) return true;
  return false;
}

/* The energy of a value of 1 along an edge in direction d of an element, by K_00 w_j. */
static double edge_energy(const sp_schwarz_builder *b, const double a[3], int d) {
  return (a[(d + 1) % 3] + a[(d + 2) % 3]) * b->gll->weights[0];
}

static double box_edge_energy(const sp_schwarz_builder *b, sp_lid e, int d) {
  const sp_separable *box = &b->boxes[e];
  return edge_energy(b,
                     (const double[]){sp_separable_coupling(box, 0), sp_separable_coupling(box, 1),
                                      sp_separable_coupling(box, 2)},
                     d);
}

void sp_schwarz_sum_edges(sp_schwarz_builder *b) {
  const sp_space *space = b->setup->space;
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++)
    for (int d = 0; d < 3; d++)
      for (int edge = 0; edge < 4; edge++)
        for (int i = 1; i < b->n - 1; i++) {
          const sp_lid dof = sp_schwarz_nodes(b, e)[sp_edge_node(b->n, d, edge, i)];
          b->edges[dof] += box_edge_energy(b, e, d);
          b->placed[dof] += b->interface[e] >= 0;
        }
  sp_exchange_now(space->exchange, SP_SUM, b->edges);
  sp_exchange_now(space->exchange, SP_SUM, b->placed);
}

/* The energy in the neighbour over face f. It is computed from its entries at the end and the
 * element's lengths along the face. */
static double neighbour_energy(const sp_schwarz_builder *b, sp_lid e, int f, int d) {
  const sp_schwarz_end end = sp_schwarz_find_end(b, e, f);
  const sp_separable *box = &b->boxes[e];
  const int third = 3 - d - f / 2;
  const double *l = box->length, mean = end.mass / b->gll->weights[0] * box->kappa;
  double a[3];
  a[f / 2] = end.stiffness / b->stiffness[0] * box->kappa * l[d] * l[third] / 4;
  a[d] = mean * l[third] / l[d];
  a[third] = mean * l[d] / l[third];
  return edge_energy(b, a, d);
}

/* Sum the energy in all elements that touch the edge but have none of the faces. */
static double tie_at(const sp_schwarz_builder *b, sp_lid edge, int face_count,
                     const sp_lid *faces) {
  const sp_topology *topology = b->setup->space->mesh->topology;
  double sum = 0;
  for (sp_lid i = b->edge_start[edge]; i < b->edge_start[edge + 1]; i++) {
    const sp_lid e = b->edge_elements[i], *slots = topology->slots[e];
    if (has_face(slots, face_count, faces)) continue;
    int slot = SP_EDGE_SLOT;
    while (slots[slot] != edge) slot++;
    sum += box_edge_energy(b, e, (slot - SP_EDGE_SLOT) / 4);
  }
  return sum;
}

/* The energy in the neighbour over face f if it is on another rank, else 0. */
static double remote_energy(const sp_schwarz_builder *b, sp_lid e, int f, int d) {
  const sp_topology *t = b->setup->space->mesh->topology;
  const sp_lid face = t->slots[e][SP_FACE_SLOT + f];
  return t->sharer_start[face] == t->sharer_start[face + 1] ? 0 : neighbour_energy(b, e, f, d);
}

/* The energy of ties in elements of other ranks, without `excluded`, the energy of their elements
 * that have the faces. It is inexact, so a small difference is no tie. */
static double remote_tie_at(const sp_schwarz_builder *b, sp_lid edge, sp_lid dof, double excluded) {
  const sp_topology *t = b->setup->space->mesh->topology;
  if (t->sharer_start[edge] == t->sharer_start[edge + 1]) return 0;
  const double all = b->edges[dof], others = all - tie_at(b, edge, 0, NULL) - excluded;
  return others > fmax(0.02 * excluded, 1e-10 * all) ? others : 0;
}

/* The lateral face of an element in a column, and its face at the lower or upper end. */
typedef struct corner {
  sp_lid element;
  int lateral, end;
} corner;

static corner corner_of(const sp_columns *columns, sp_lid i, int t, int side, int end) {
  const sp_frame *frame = &columns->frames[i];
  return (corner){columns->elements[i], sp_frame_face(frame, t, side),
                  sp_frame_face(frame, 0, end)};
}

/* A node inside the edge of a corner. */
static int edge_node(const sp_schwarz_builder *b, const corner *c) {
  int index[3] = {1, 1, 1};
  index[c->lateral / 2] = c->lateral % 2 * (b->n - 1);
  index[c->end / 2] = c->end % 2 * (b->n - 1);
  return (index[2] * b->n + index[1]) * b->n + index[0];
}

/* True if the edge of a corner is fixed, but neither of its faces is. */
static bool is_fixed_by_edge(const sp_schwarz_builder *b, const corner *c) {
  if (!b->setup->constrained) return false;
  return b->setup->constrained[sp_schwarz_nodes(b, c->element)[edge_node(b, c)]] &&
         !sp_schwarz_find_end(b, c->element, c->lateral).fixed &&
         !sp_schwarz_find_end(b, c->element, c->end).fixed;
}

/* Return the contribution of a tie below the column's element i. The tie holds each element in
 * series with the coupling along the column between them, because the column may bend. It counts
 * as for the element that it holds least. A block that is held too much leaves errors. One that is
 * held too little corrects them too much, and the smoother finds that (solver/linear/chebyshev.c).
 */
static double spread_tie(const sp_schwarz_builder *b, sp_lid c, sp_lid i, double tie) {
  const sp_columns *columns = b->columns;
  const sp_lid first = columns->start[c], count = columns->start[c + 1] - first, below = i - first;
  double most = 0;
  if (tie == 0) return 0;
  for (int up = 0; up < 2; up++) {
    const sp_lid open = up ? count - below : below, half = (count + up) / 2;
    const sp_lid reach = columns->closed[c] ? half : open;
    double resistance = 1 / tie;
    for (sp_lid step = 0; step < reach; step++) {
      const sp_lid at = first + (up ? below + step : below + count - 1 - step) % count;
      const double along =
          sp_separable_coupling(&b->boxes[columns->elements[at]], columns->frames[at].axis[0]);
      resistance += 1 / (along * b->gll->weights[0]);
    }
    most = fmax(most, resistance);
  }
  return 1 / most;
}

double sp_schwarz_sum_ties(const sp_schwarz_builder *b, sp_lid c, int t, int side) {
  const sp_columns *columns = b->columns;
  const sp_topology *topology = b->setup->space->mesh->topology;
  const sp_lid first = columns->start[c], last = columns->start[c + 1] - 1;
  double sum = 0;
  for (sp_lid i = first; i <= last + !columns->closed[c]; i++) {
    const bool bottom = i == first && !columns->closed[c], top = i > last;
    sp_lid faces[4], edge = -1, dof = -1;
    double excluded = 0;
    int count = 0;
    for (int end = 0; end < 2; end++) {
      if (end == 0 ? top : bottom) continue;
      const sp_lid own = end == 0 ? i : i == first ? last : i - 1;
      const corner at = corner_of(columns, own, t, side, end);
      const sp_lid *slots = topology->slots[at.element];
      faces[count++] = slots[SP_FACE_SLOT + at.lateral];
      faces[count++] = slots[SP_FACE_SLOT + at.end];
      const int d = 3 - at.lateral / 2 - at.end / 2;
      edge = slots[edge_between(at.lateral, at.end)];
      dof = sp_schwarz_nodes(b, at.element)[edge_node(b, &at)];
      excluded += remote_energy(b, at.element, at.lateral, d);
      excluded += remote_energy(b, at.element, at.end, d);
    }
    const double tie = tie_at(b, edge, count, faces) + remote_tie_at(b, edge, dof, excluded);
    sum += spread_tie(b, c, i, tie);
    if (!top) {
      const corner at = corner_of(columns, i, t, side, 0);
      sum += sp_schwarz_tie(b, at.element, at.lateral, at.end / 2);
    }
  }
  return sum;
}

sp_schwarz_edge sp_schwarz_find_edge(const sp_schwarz_builder *b, sp_lid e, int f, int g) {
  const int d = 3 - f / 2 - g / 2;
  const sp_lid dof = sp_schwarz_nodes(b, e)[edge_node(b, &(corner){e, f, g})];
  const double all = b->edges[dof];
  sp_schwarz_edge edge = {.in_column = b->placed[dof] > 0,
                          .own = box_edge_energy(b, e, d),
                          .beside = {neighbour_energy(b, e, f, d), neighbour_energy(b, e, g, d)}};
  const double others = all - edge.own - edge.beside[0] - edge.beside[1];
  edge.others = others > 1e-10 * all ? others : 0;
  return edge;
}

/* The energy at an edge that the block has already: products of the entries at both faces' ends. */
static double product_at(const sp_schwarz_builder *b, sp_lid e, int f, int g) {
  const sp_schwarz_end at_f = sp_schwarz_find_end(b, e, f), at_g = sp_schwarz_find_end(b, e, g);
  const sp_separable *box = &b->boxes[e];
  return box->kappa * (at_f.stiffness * at_g.mass + at_f.mass * at_g.stiffness) *
         box->length[3 - f / 2 - g / 2] / (2 * b->stiffness[0]);
}

double sp_schwarz_tie(const sp_schwarz_builder *b, sp_lid e, int f, int d) {
  /* The fraction of the element's own energy; 0.1 and 1 take slightly more iterations. */
  static const double HELD = 0.3;
  const int third = 3 - d - f / 2;
  const bool contact = sp_hexes_is_contact(b->setup->space->mesh->hexes, e);
  double sum = 0, fixed = 0;
  for (int side = 0; side < 2 && !contact; side++) {
    const int g = 2 * third + side;
    fixed += is_fixed_by_edge(b, &(corner){e, f, g});
    if (!b->setup->kappa) continue;
    const sp_schwarz_edge at = sp_schwarz_find_edge(b, e, f, g);
    if (at.others == 0 || at.beside[0] == 0) continue;
    const double tie = 1 / (1 / at.others + 1 / (HELD * at.own)) - product_at(b, e, f, g);
    sum += fmax(tie, 0) * at.beside[0] / (at.beside[0] + at.beside[1]);
  }
  /* The energy of lines of length 2 and mass 2, fixed at one or both ends: 2 (fixed pi / 4)^2. */
  const double along = sp_separable_coupling(&b->boxes[e], third) * b->gll->weights[0];
  sum += 1.2337 * fixed * fixed * along / b->stiffness[0];
  return sum;
}
