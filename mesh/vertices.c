#include "mesh/topology.h"

#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "io/threads.h"

/* ---- Numbers in the order of the elements ---- */

typedef struct touch_loop {
  sp_touch *touch;
  void *context;
  size_t chunk;
  sp_gid (*before)[3], all[3]; /* [chunks], touched first by earlier chunks; by all */
} touch_loop;

static sp_status count_touched(void *loop_, void *counts, size_t begin, size_t end) {
  const touch_loop *l = loop_;
  memset(counts, 0, sizeof l->all);
  l->touch(l->context, false, counts, begin, end);
  return SP_OK;
}

static void add_touched(void *loop_, void *counts, size_t begin, size_t end) {
  (void)end;
  touch_loop *l = loop_;
  memcpy(l->before[begin / l->chunk], l->all, sizeof l->all);
  for (int kind = 0; kind < 3; kind++) l->all[kind] += ((const sp_gid *)counts)[kind];
}

static void number_touched(void *loop_, size_t begin, size_t end) {
  const touch_loop *l = loop_;
  l->touch(l->context, true, l->before[begin / l->chunk], begin, end);
}

sp_status sp_number_touched(size_t elements, sp_touch *touch, void *context, sp_gid counts[3]) {
  touch_loop l = {.touch = touch, .context = context, .chunk = sp_loop_chunk(elements, SP_SLOTS)};
  sp_status status =
      sp_allocate(elements / l.chunk + 1, sizeof *l.before, "entity counts", &l.before);
  if (!status)
    status = sp_loop_sum("entity counts", elements, SP_SLOTS, &l, sizeof l.all, count_touched,
                         add_touched);
  memcpy(counts, l.all, sizeof l.all);
  if (!status) status = sp_loop_over("entity numbers", elements, SP_SLOTS, &l, number_touched);
  free(l.before);
  return status;
}

/* ---- Numbers that lie close together ----
 * A table holds the first incidence of each vertex. Incidence 8 e + c is corner c of element e. */

typedef struct vertex_table {
  const sp_hexes *hexes;
  sp_lid (*slots)[SP_SLOTS];
  sp_gid range[2]; /* lowest and highest vertex number */
  sp_lid *first;   /* [highest - lowest + 1], -1: none */
} vertex_table;

static const sp_gid NOTHING[2] = {INT64_MAX, 0};

static void widen_range(sp_gid range[2], sp_gid vertex) {
  if (vertex < range[0]) range[0] = vertex;
  if (vertex > range[1]) range[1] = vertex;
}

static sp_status find_range(void *table, void *range, size_t begin, size_t end) {
  const vertex_table *t = table;
  sp_gid some[2] = {NOTHING[0], NOTHING[1]};
  for (size_t e = begin; e < end; e++)
    for (int c = 0; c < SP_CORNERS; c++) widen_range(some, t->hexes->vertices[e][c]);
  memcpy(range, some, sizeof some);
  return SP_OK;
}

static void join_ranges(void *table, void *range, size_t begin, size_t end) {
  (void)begin, (void)end;
  for (int n = 0; n < 2; n++) widen_range(((vertex_table *)table)->range, ((sp_gid *)range)[n]);
}

static sp_lid *first_of(const vertex_table *t, size_t e, int corner) {
  return &t->first[t->hexes->vertices[e][corner] - t->range[0]];
}

static void find_first(void *table, size_t begin, size_t end) {
  const vertex_table *t = table;
  for (size_t e = begin; e < end; e++)
    for (int c = 0; c < SP_CORNERS; c++) sp_lower(first_of(t, e, c), (sp_lid)(SP_CORNERS * e) + c);
}

static bool is_first(const vertex_table *t, size_t e, int corner) {
  return *first_of(t, e, corner) == (sp_lid)(SP_CORNERS * e) + corner;
}

static void touch_corners(void *table, bool assign, sp_gid next[3], size_t begin, size_t end) {
  const vertex_table *t = table;
  for (size_t e = begin; e < end; e++)
    for (int c = 0; c < SP_CORNERS; c++) {
      if (!is_first(t, e, c)) continue;
      const sp_gid n = next[0]++;
      if (assign) t->slots[e][c] = (sp_lid)n;
    }
}

static void number_others(void *table, size_t begin, size_t end) {
  const vertex_table *t = table;
  for (size_t e = begin; e < end; e++)
    for (int c = 0; c < SP_CORNERS; c++) {
      const sp_lid first = *first_of(t, e, c);
      if (!is_first(t, e, c)) t->slots[e][c] = t->slots[first / SP_CORNERS][first % SP_CORNERS];
    }
}

static sp_status number_by_table(vertex_table *t, size_t size, sp_lid *vertices) {
  const size_t elements = (size_t)t->hexes->count;
  SP_OWNED sp_lid *first = NULL;
  sp_gid counts[3];
  SP_TRY(sp_allocate(size, sizeof *first, "vertices", &first));
  t->first = first;
  sp_loop_set(size * sizeof *first, -1, first);
  SP_TRY(sp_loop_over("vertices", elements, SP_CORNERS, t, find_first));
  SP_TRY(sp_number_touched(elements, touch_corners, t, counts));
  *vertices = (sp_lid)counts[0];
  return sp_loop_over("vertices", elements, SP_CORNERS, t, number_others);
}

/* ---- Numbers elsewhere ---- */

/* Hash table with open addressing and linear probing. Eight successive keys have successive cells,
 * because neighbours in space often have such vertices. */
typedef struct cell {
  sp_gid key;
  sp_lid number; /* + 1; 0: the cell is free */
} cell;

typedef struct lookup {
  cell *cells;
  size_t mask;
} lookup;

static cell *find_cell(const lookup *l, sp_gid key) {
  const uint64_t v = (uint64_t)key;
  size_t c = (size_t)(sp_hash_fold(0, v >> 3) << 3 | (v & 7)) & l->mask;
  while (l->cells[c].number && l->cells[c].key != key) c = (c + 1) & l->mask;
  return &l->cells[c];
}

static sp_status allocate_cells(size_t count, lookup *l) {
  l->mask = count - 1;
  return sp_allocate(count, sizeof *l->cells, "vertices", &l->cells);
}

/* Double the cells. */
static sp_status grow_cells(lookup *l) {
  cell *old = l->cells;
  const size_t count = l->mask + 1;
  SP_TRY(allocate_cells(2 * count, l));
  for (size_t c = 0; c < count; c++)
    if (old[c].number) *find_cell(l, old[c].key) = old[c];
  free(old);
  return SP_OK;
}

/* At most half of the cells are used. */
sp_status sp_keys_number(size_t elements, int count, const sp_gid *keys, int slot,
                         sp_lid (*slots)[SP_SLOTS], sp_lid *different) {
  lookup l = {0};
  size_t cells = 64;
  *different = 0;
  while (cells < 2 * elements) cells *= 2;
  sp_status status = allocate_cells(cells, &l);
  for (size_t e = 0; e < elements && !status; e++, keys += count) {
    if (2 * ((size_t)*different + (size_t)count) > l.mask + 1) status = grow_cells(&l);
    for (int i = 0; i < count && !status; i++) {
      cell *found = find_cell(&l, keys[i]);
      found->key = keys[i];
      if (found->number == 0) found->number = ++*different;
      slots[e][slot + i] = found->number - 1;
    }
  }
  free(l.cells);
  return status;
}

/* ---- Both ---- */

/* Numbers per element up to which a table is faster. Coarser meshes keep the numbers of the finer
 * ones: a box has one, eight and 64 numbers per element of its first three levels. */
enum { SPARSE = 64 };

sp_status sp_vertices_number(const sp_hexes *hexes, sp_lid (*slots)[SP_SLOTS], sp_lid *vertices) {
  const size_t elements = (size_t)hexes->count;
  vertex_table table = {.hexes = hexes, .slots = slots, .range = {NOTHING[0], NOTHING[1]}};
  *vertices = 0;
  if (elements == 0) return SP_OK;
  SP_TRY(sp_loop_sum("vertices", elements, SP_CORNERS, &table, sizeof table.range, find_range,
                     join_ranges));
  const uint64_t size = (uint64_t)(table.range[1] - table.range[0]) + 1;
  if (size > SPARSE * (uint64_t)elements)
    return sp_keys_number(elements, SP_CORNERS, *hexes->vertices, 0, slots, vertices);
  return number_by_table(&table, (size_t)size, vertices);
}
