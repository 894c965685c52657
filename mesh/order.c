#include "mesh/topology.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "io/threads.h"

/* An element and its position on the curve: three times 21 bits. */
typedef struct record {
  uint64_t key;
  sp_lid element;
} record;

/* Sort by the highest bits of the keys into buckets, then each bucket by bytes from the lowest.
 * Threads share the buckets. */
enum { BUCKET_BITS = 11, BUCKETS = 1 << BUCKET_BITS, LOW_BITS = 63 - BUCKET_BITS, BYTE = 256 };

/* Of the centres of some elements, or of all. */
typedef struct bounds {
  double low[3], high[3];
} bounds;

static const bounds NOTHING = {{DBL_MAX, DBL_MAX, DBL_MAX}, {-DBL_MAX, -DBL_MAX, -DBL_MAX}};

typedef struct ordering {
  const sp_hexes *hexes;
  bounds all;
  record *records, *sorted;  /* [elements] */
  sp_lid *order;             /* [elements], the elements along the curve */
  size_t start[BUCKETS + 1]; /* of each bucket */
  size_t next[BUCKETS];      /* position of the next record of each bucket */
  bool ascending;            /* true if the keys ascend before sorting */
} ordering;

/* ---- Keys ---- */

static void centre_of(const sp_hexes *hexes, sp_lid e, double centre[3]) {
  const double middle = 0;
  if (hexes->map_order > 1) {
    sp_hexes_coordinates(hexes, e, 1, &middle, centre);
    return;
  }
  /* Halving is exact, so this gives the bits of sp_hexes_coordinates. */
  const double *p = sp_hexes_lattice(hexes, e);
  for (int d = 0; d < 3; d++) {
    double x[4];
    for (int c = 0; c < 4; c++) x[c] = 0.5 * p[3 * c + d] + 0.5 * p[3 * (c + 4) + d];
    const double low = 0.5 * x[0] + 0.5 * x[2], high = 0.5 * x[1] + 0.5 * x[3];
    centre[d] = 0.5 * low + 0.5 * high;
  }
}

static void widen_bounds(bounds *b, const double low[3], const double high[3]) {
  for (int d = 0; d < 3; d++) {
    if (low[d] < b->low[d]) b->low[d] = low[d];
    if (high[d] > b->high[d]) b->high[d] = high[d];
  }
}

static sp_status bound_some(void *ordering_, void *workspace, size_t begin, size_t end) {
  const ordering *o = ordering_;
  bounds *b = workspace;
  *b = NOTHING;
  for (size_t e = begin; e < end; e++) {
    double centre[3];
    centre_of(o->hexes, (sp_lid)e, centre);
    widen_bounds(b, centre, centre);
  }
  return SP_OK;
}

static void join_bounds(void *ordering_, void *workspace, size_t begin, size_t end) {
  (void)begin, (void)end;
  const bounds *b = workspace;
  widen_bounds(&((ordering *)ordering_)->all, b->low, b->high);
}

/* Put two zeros between any two of the lowest 21 bits. */
static uint64_t spread_bits(uint64_t bits) {
  bits = (bits | bits << 32) & 0x001f00000000ffff;
  bits = (bits | bits << 16) & 0x001f0000ff0000ff;
  bits = (bits | bits << 8) & 0x100f00f00f00f00f;
  bits = (bits | bits << 4) & 0x10c30c30c30c30c3;
  return (bits | bits << 2) & 0x1249249249249249;
}

static sp_status key_some(void *ordering_, void *workspace, size_t begin, size_t end) {
  (void)workspace;
  const ordering *o = ordering_;
  for (size_t e = begin; e < end; e++) {
    double centre[3];
    uint64_t key = 0;
    centre_of(o->hexes, (sp_lid)e, centre);
    for (int d = 0; d < 3; d++) {
      const double low = o->all.low[d], width = o->all.high[d] - low;
      const double t = width > 0 ? (centre[d] - low) / width : 0;
      key |= spread_bits((uint32_t)(t * 2097151.0)) << d;
    }
    o->records[e] = (record){key, (sp_lid)e};
  }
  return SP_OK;
}

/* Count the records of each bucket. */
static void count_some(void *ordering_, void *workspace, size_t begin, size_t end) {
  (void)workspace;
  ordering *o = ordering_;
  for (size_t e = begin; e < end; e++) {
    o->start[(o->records[e].key >> LOW_BITS) + 1]++;
    if (e > 0 && o->records[e - 1].key > o->records[e].key) o->ascending = false;
  }
}

/* ---- Sorting ---- */

static void deal_out(ordering *o, size_t count) {
  for (int b = 0; b < BUCKETS; b++) o->start[b + 1] += o->start[b];
  memcpy(o->next, o->start, sizeof o->next);
  for (size_t n = 0; n < count; n++)
    o->sorted[o->next[o->records[n].key >> LOW_BITS]++] = o->records[n];
}

/* Sort `from` by the lowest LOW_BITS bits of the keys; `to` is work space. */
static void sort_bucket(size_t count, record *from, record *to) {
  record *const result = from;
  for (int shift = 0; shift < LOW_BITS; shift += 8) {
    size_t next[BYTE + 1] = {0};
    for (size_t n = 0; n < count; n++) next[(from[n].key >> shift & (BYTE - 1)) + 1]++;
    for (int b = 0; b < BYTE; b++) next[b + 1] += next[b];
    for (size_t n = 0; n < count; n++) to[next[from[n].key >> shift & (BYTE - 1)]++] = from[n];
    record *const swap = from;
    from = to;
    to = swap;
  }
  if (from != result) memcpy(result, from, count * sizeof *result);
}

static void sort_some(void *ordering_, size_t begin, size_t end) {
  const ordering *o = ordering_;
  for (size_t b = begin; b < end; b++) {
    const size_t first = o->start[b], count = o->start[b + 1] - first;
    if (count > 1) sort_bucket(count, &o->sorted[first], &o->records[first]);
    for (size_t n = first; n < first + count; n++) o->order[n] = o->sorted[n].element;
  }
}

static sp_status find_order(ordering *o, size_t count) {
  o->all = NOTHING;
  o->ascending = true;
  SP_TRY(sp_loop_sum("element centres", count, 24, o, sizeof(bounds), bound_some, join_bounds));
  SP_TRY(sp_loop_sum("element order", count, 24, o, 0, key_some, count_some));
  if (o->ascending) return SP_OK;
  SP_TRY(SP_ALLOCATE("element order", SP_ARRAY(o->sorted, count), SP_ARRAY(o->order, count)));
  deal_out(o, count);
  return sp_loop_run(&(sp_loop){
      .what = "element order", .count = BUCKETS, .chunk = 1, .context = o, .visit = sort_some});
}

sp_status sp_order_along_curve(sp_hexes *hexes) {
  const size_t count = (size_t)hexes->count;
  ordering *o;
  SP_TRY(sp_allocate(1, sizeof *o, "element order", &o));
  o->hexes = hexes;
  sp_status status = sp_allocate(count, sizeof *o->records, "element order", &o->records);
  if (!status) status = find_order(o, count);
  sp_lid *order = o->order; /* NULL if the elements are in order */
  SP_FREE(o->records, o->sorted, o);
  if (!status && order) status = sp_hexes_permute(hexes, order);
  free(order);
  return status;
}

/* ---- Halo ---- */

typedef struct choice {
  const sp_topology *topology;
  bool *chosen; /* [elements], touches another rank */
} choice;

static void choose_some(void *choice_, size_t begin, size_t end) {
  const choice *c = choice_;
  const sp_lid *sharers = c->topology->sharer_start;
  for (size_t e = begin; e < end; e++)
    for (int corner = 0; corner < SP_CORNERS && !c->chosen[e]; corner++) {
      const sp_lid vertex = c->topology->slots[e][corner];
      c->chosen[e] = sharers[vertex] < sharers[vertex + 1];
    }
}

/* Fill order[count]: chosen elements first. */
static sp_status move_chosen_first(const sp_topology *topology, size_t count, sp_lid *order,
                                   sp_lid *halo) {
  choice c = {.topology = topology};
  sp_lid before = 0;
  SP_OWNED bool *chosen = NULL;
  SP_TRY(sp_allocate(count, sizeof *chosen, "element order", &chosen));
  c.chosen = chosen;
  SP_TRY(sp_loop_over("element order", count, SP_CORNERS, &c, choose_some));
  for (size_t e = 0; e < count; e++) *halo += chosen[e];
  for (size_t e = 0; e < count; e++)
    order[chosen[e] ? before++ : *halo + (sp_lid)e - before] = (sp_lid)e;
  return SP_OK;
}

sp_status sp_order_halo_first(sp_hexes *hexes, sp_topology *topology, sp_lid *halo) {
  const size_t count = (size_t)hexes->count;
  SP_OWNED sp_lid *order = NULL;
  *halo = 0;
  if (topology->sharer_start[topology->entities] == 0) return SP_OK;
  SP_TRY(sp_allocate(count, sizeof *order, "element order", &order));
  SP_TRY(move_chosen_first(topology, count, order, halo));
  SP_TRY(sp_hexes_permute(hexes, order));
  return sp_topology_permute(topology, order);
}
