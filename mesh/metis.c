#include "mesh/partition.h"

#include <math.h>
#include <metis.h>
#include <string.h>

#include "mesh/columns.h"
#include "mesh/divide.h"

/* Columns are not cut if the largest part is at most this many times the mean. */
static const double LARGEST = 2;

/* The graph of pieces to divide. */
typedef struct graph {
  idx_t count, *sizes;       /* [count] */
  idx_t *start, *neighbours; /* of piece p: neighbours[start[p]] to neighbours[start[p + 1] - 1] */
  idx_t *weights;            /* like neighbours, the number of common faces; NULL: all are 1 */
} graph;

static void graph_destroy(graph *g) {
  SP_FREE(g->sizes, g->start, g->neighbours, g->weights);
}

static sp_status check_metis(int code) {
  if (code == METIS_OK) return SP_OK;
  return sp_fail(SP_ERR_SYSTEM, "METIS cannot divide the mesh: %s",
                 code == METIS_ERROR_MEMORY ? "out of memory" : "error in its input");
}

/* ---- Elements that share faces ---- */

/* Number the faces of `elements`, also missing ones, by hashes of their vertices. */
static sp_status number_faces(const sp_hexes *hexes, sp_topology *elements) {
  const size_t count = (size_t)hexes->count;
  SP_OWNED sp_gid(*keys)[SP_FACES] = NULL;
  int corners[SP_CELL_SHAPES][SP_FACES][4], corner_count[SP_CELL_SHAPES][SP_FACES];
  SP_TRY(sp_allocate(count, sizeof *keys, "parts", &keys));
  for (sp_cell_shape shape = 0; shape < SP_CELL_SHAPES; shape++)
    for (int f = 0; f < SP_FACES; f++)
      corner_count[shape][f] = sp_cell_face(shape, f, corners[shape][f]);
  for (size_t e = 0; e < count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      const sp_cell_shape shape = sp_cell_shape_of(hexes->vertices[e]);
      const int n = corner_count[shape][f];
      sp_gid of_face[4], key[4];
      for (int c = 0; c < n; c++) of_face[c] = hexes->vertices[e][corners[shape][f][c]];
      sp_entity_key(n, of_face, key);
      keys[e][f] = n > 0 ? sp_entity_name(key).part[0] : -1 - (sp_gid)(SP_FACES * e) - f;
    }
  return sp_keys_number(count, SP_FACES, *keys, SP_FACE_SLOT, elements->slots, &elements->entities);
}

/* Fill the graph of elements that share faces. */
static sp_status connect_elements(const sp_hexes *hexes, const sp_topology *elements, graph *g) {
  const size_t count = (size_t)hexes->count;
  SP_OWNED sp_lid(*across)[SP_FACES] = NULL;
  g->count = hexes->count;
  SP_TRY(SP_ALLOCATE("parts", SP_ARRAY(g->sizes, count), SP_ARRAY(g->start, count + 1),
                     SP_ARRAY(g->neighbours, SP_FACES * count), SP_ARRAY(across, count)));
  SP_TRY(sp_columns_neighbours(elements, across));
  for (size_t e = 0; e < count; e++) {
    for (int c = 0; c < SP_CORNERS; c++) g->sizes[e] += hexes->vertices[e][c] >= 0;
    g->start[e + 1] = g->start[e];
    for (int f = 0; f < SP_FACES; f++)
      if (across[e][f] >= 0) g->neighbours[g->start[e + 1]++] = across[e][f] / SP_FACES;
  }
  return SP_OK;
}

/* ---- Columns ---- */

static sp_status find_columns(const sp_hexes *hexes, const sp_topology *elements,
                              sp_columns **columns) {
  SP_OWNED double(*couplings)[3] = NULL;
  SP_TRY(sp_allocate((size_t)hexes->count, sizeof *couplings, "parts", &couplings));
  for (sp_lid e = 0; e < hexes->count; e++) (void)sp_columns_couple(hexes, e, couplings[e]);
  return sp_columns_create(elements, couplings, columns);
}

/* Make a piece of each column, and one of each other element: piece[elements]. `columns` may be
 * NULL. */
static idx_t number_pieces(const sp_columns *columns, idx_t elements, idx_t *piece) {
  idx_t count = columns ? columns->count : 0;
  for (idx_t e = 0; e < elements; e++) piece[e] = -1;
  for (sp_lid c = 0; c < count; c++)
    for (sp_lid n = columns->start[c]; n < columns->start[c + 1]; n++)
      piece[columns->elements[n]] = c;
  for (idx_t e = 0; e < elements; e++)
    if (piece[e] < 0) piece[e] = count++;
  return count;
}

/* Sort the elements by piece: piece p has order[start[p]] up to order[start[p + 1] - 1]. */
static void sort_by_piece(const graph *pieces, idx_t elements, const idx_t *piece, idx_t *start,
                          idx_t *order) {
  for (idx_t e = 0; e < elements; e++) start[piece[e] + 1]++;
  for (idx_t p = 0; p < pieces->count; p++) start[p + 1] += start[p];
  for (idx_t e = elements; e-- > 0;) order[--start[piece[e] + 1]] = e;
  memmove(start, start + 1, (size_t)pieces->count * sizeof *start);
  start[pieces->count] = elements;
}

/* `met`: work space, [pieces], all -1. met[v] is the last edge to piece v; below `first` it is an
 * earlier piece's. */
static void build_quotient_graph(const graph *g, const idx_t *piece, const idx_t *start,
                                 const idx_t *order, idx_t *met, graph *pieces) {
  idx_t used = 0;
  for (idx_t p = 0; p < pieces->count; p++) {
    const idx_t first = pieces->start[p] = used;
    for (idx_t n = start[p]; n < start[p + 1]; n++) {
      const idx_t element = order[n];
      pieces->sizes[p] += g->sizes[element];
      for (idx_t m = g->start[element]; m < g->start[element + 1]; m++) {
        const idx_t other = piece[g->neighbours[m]];
        if (other == p) continue;
        if (met[other] < first) {
          met[other] = used;
          pieces->neighbours[used++] = other;
        }
        pieces->weights[met[other]]++;
      }
    }
  }
  pieces->start[pieces->count] = used;
}

static sp_status contract_graph(const graph *g, const sp_columns *columns, idx_t *piece,
                                graph *pieces) {
  SP_OWNED idx_t *start = NULL, *order = NULL, *edge = NULL;
  pieces->count = number_pieces(columns, g->count, piece);
  const size_t count = (size_t)pieces->count, edges = (size_t)g->start[g->count];
  SP_TRY(SP_ALLOCATE("parts", SP_ARRAY(pieces->sizes, count), SP_ARRAY(pieces->start, count + 1),
                     SP_ARRAY(pieces->neighbours, edges), SP_ARRAY(pieces->weights, edges),
                     SP_ARRAY(start, count + 1), SP_ARRAY(order, g->count), SP_ARRAY(edge, count)));
  for (size_t p = 0; p < count; p++) edge[p] = -1;
  sort_by_piece(pieces, g->count, piece, start, order);
  build_quotient_graph(g, piece, start, order, edge, pieces);
  return SP_OK;
}

/* ---- Division ---- */

/* Find part[count]. *largest = largest part over the mean; infinite if a part is empty. */
static sp_status divide_graph(graph *g, int size, idx_t *part, double *largest) {
  SP_OWNED idx_t *sums = NULL;
  idx_t constraints = 1, parts = size, cut;
  double all = 0;
  *largest = INFINITY;
  if (g->count < size) return SP_OK;
  SP_TRY(sp_allocate((size_t)size, sizeof *sums, "parts", &sums));
  SP_TRY(check_metis(METIS_PartGraphRecursive(&g->count, &constraints, g->start, g->neighbours,
                                              g->sizes, NULL, g->weights, &parts, NULL, NULL, NULL,
                                              &cut, part)));
  for (idx_t p = 0; p < g->count; p++) sums[part[p]] += g->sizes[p];
  idx_t least = IDX_MAX, most = 0;
  for (int r = 0; r < size; r++) {
    if (sums[r] < least) least = sums[r];
    if (sums[r] > most) most = sums[r];
    all += (double)sums[r];
  }
  if (least > 0) *largest = (double)most * size / all;
  return SP_OK;
}

/* Set `parts`, by columns or, if `columns` is NULL, by elements. */
static sp_status divide_pieces(const graph *g, const sp_columns *columns, int size, int *parts,
                               double *largest) {
  SP_AUTO_VALUE(graph) pieces = {0};
  SP_OWNED idx_t *piece = NULL, *part = NULL;
  SP_TRY(sp_allocate((size_t)g->count, sizeof *piece, "parts", &piece));
  SP_TRY(contract_graph(g, columns, piece, &pieces));
  SP_TRY(sp_allocate((size_t)pieces.count, sizeof *part, "parts", &part));
  SP_TRY(divide_graph(&pieces, size, part, largest));
  for (idx_t e = 0; e < g->count; e++) parts[e] = (int)part[piece[e]];
  return SP_OK;
}

/* `elements` has allocated slots. */
static sp_status divide_elements(const sp_hexes *hexes, sp_topology *elements, graph *g, int size,
                                 int *parts) {
  SP_AUTO(sp_columns) columns = NULL;
  double largest = INFINITY;
  sp_lid vertices;
  SP_TRY(sp_vertices_number(hexes, elements->slots, &vertices));
  SP_TRY(number_faces(hexes, elements));
  SP_TRY(connect_elements(hexes, elements, g));
  SP_TRY(find_columns(hexes, elements, &columns));
  if (columns->count > 0) SP_TRY(divide_pieces(g, columns, size, parts, &largest));
  return largest > LARGEST ? divide_pieces(g, NULL, size, parts, &largest) : SP_OK;
}

sp_status sp_metis_divide(const sp_hexes *hexes, int size, int *parts) {
  const sp_lid count = hexes->count;
  SP_OWNED sp_lid(*slots)[SP_SLOTS] = NULL;
  SP_AUTO_VALUE(graph) g = {0};
  for (sp_lid e = 0; e < count; e++) parts[e] = 0;
  if (size == 1) return SP_OK;
  if (count < size) return sp_partition_fail(size, count);
  if (count > SP_LID_MAX / SP_SLOTS)
    return sp_fail(SP_ERR_INPUT,
                   "%d elements in one file, at most %d can be divided: split the mesh", count,
                   SP_LID_MAX / SP_SLOTS);
  SP_TRY(sp_allocate((size_t)count, sizeof *slots, "parts", &slots));
  sp_topology elements = {.elements = count, .slots = slots};
  return divide_elements(hexes, &elements, &g, size, parts);
}
