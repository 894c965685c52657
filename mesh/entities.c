#include "mesh/entities.h"

#include <stdlib.h>
#include <string.h>

#include "io/threads.h"

/* ---- Edges and faces ---- */

/* Shared by the loops. Incidence 8 e + c is corner c of element e. The incidences of vertex v are
 * incidences[start[v]] up to incidences[start[v + 1]], ascending. */
typedef struct search {
  const sp_hexes *hexes;
  sp_topology *topology;
  sp_lid *start, *incidences;
  sp_lid most;         /* incidences of one vertex */
  bool alone;          /* there is one thread */
  size_t chunk;        /* of elements */
  sp_lid (*counts)[2]; /* [chunks + 1], edges and faces that elements of earlier chunks touch */
  sp_gid totals[2];
} search;

/* Parts of a corner: its edges are 0 to 2 by direction, its faces 3 to 5. */
enum { PARTS = 6, FACE_PART = 3, FIRST = -1 };

static int slot_of(int corner, int part) {
  if (part >= FACE_PART) return SP_FACE_SLOT + 2 * (part - FACE_PART) + (corner >> (part - 3) & 1);
  const int low = part == 0 ? 1 : 0, high = part == 2 ? 1 : 2;
  return SP_EDGE_SLOT + 4 * part + (corner >> low & 1) + 2 * (corner >> high & 1);
}

/* Steps from a corner to its neighbours on a face part. */
static const int face_steps[3][2] = {{2, 4}, {1, 4}, {1, 2}};

/* Order corners by vertex, then by number: contacts have some vertices twice. */
static bool corner_precedes(const sp_lid *slots, int a, int b) {
  return slots[a] < slots[b] || (slots[a] == slots[b] && a < b);
}

/* True if the corner is the home of a part. */
static bool is_home(const sp_lid *slots, int corner, int part) {
  if (part < FACE_PART) return corner_precedes(slots, corner, corner ^ 1 << part);
  const int *step = face_steps[part - FACE_PART];
  return corner_precedes(slots, corner, corner ^ step[0]) &&
         corner_precedes(slots, corner, corner ^ step[1]) &&
         corner_precedes(slots, corner, corner ^ step[0] ^ step[1]);
}

/* Set `others` to the other vertices of a part, ascending, padded with -1. */
static void find_others(const sp_lid *slots, int corner, int part, sp_lid others[3]) {
  if (part < FACE_PART) {
    others[0] = slots[corner ^ 1 << part];
    others[1] = others[2] = -1;
    return;
  }
  const int *step = face_steps[part - FACE_PART];
  sp_lid a = slots[corner ^ step[0]], b = slots[corner ^ step[1]];
  const sp_lid c = slots[corner ^ step[0] ^ step[1]];
  if (a > b) {
    const sp_lid swap = a;
    a = b;
    b = swap;
  }
  others[0] = a < c ? a : c;
  others[1] = a < c ? (b < c ? b : c) : a;
  others[2] = b > c ? b : c;
}

/* shared += change; returns the new value. Atomic only with several threads, since it takes several
 * times as long. */
static sp_lid change_by(const search *s, sp_lid change, sp_lid *shared) {
  return s->alone ? *shared += change : __atomic_add_fetch(shared, change, __ATOMIC_RELAXED);
}

static void count_incidences(void *search_, size_t begin, size_t end) {
  const search *s = search_;
  for (size_t e = begin; e < end; e++)
    for (int c = 0; c < SP_CORNERS; c++) change_by(s, 1, &s->start[s->topology->slots[e][c]]);
}

/* Fill each vertex's range from its end to its start, in any order. */
static void store_incidences(void *search_, size_t begin, size_t end) {
  const search *s = search_;
  for (size_t e = begin; e < end; e++)
    for (int c = 0; c < SP_CORNERS; c++) {
      sp_lid *next = &s->start[s->topology->slots[e][c]];
      s->incidences[change_by(s, -1, next)] = (sp_lid)(SP_CORNERS * e) + c;
    }
}

static void sort_incidences(void *search_, size_t begin, size_t end) {
  const search *s = search_;
  for (size_t v = begin; v < end; v++) {
    sp_lid *list = &s->incidences[s->start[v]];
    const sp_lid count = s->start[v + 1] - s->start[v];
    for (sp_lid n = 1; n < count; n++) {
      const sp_lid incidence = list[n];
      sp_lid to = n;
      for (; to > 0 && list[to - 1] > incidence; to--) list[to] = list[to - 1];
      list[to] = incidence;
    }
  }
}

static sp_status list_incidences(search *s) {
  const sp_topology *topology = s->topology;
  const size_t vertices = (size_t)topology->start[1], elements = (size_t)topology->elements;
  SP_TRY(SP_ALLOCATE("vertices", SP_ARRAY(s->start, vertices + 1),
                     SP_ARRAY(s->incidences, SP_CORNERS * elements)));
  SP_TRY(sp_loop_over("elements of vertices", elements, SP_CORNERS, s, count_incidences));
  sp_lid all = 0;
  for (size_t v = 0; v < vertices; v++) {
    if (s->start[v] > s->most) s->most = s->start[v];
    all += s->start[v];
    s->start[v] = all; /* for now the end of its range */
  }
  s->start[vertices] = all;
  SP_TRY(sp_loop_over("elements of vertices", elements, SP_CORNERS, s, store_incidences));
  return sp_loop_over("elements of vertices", vertices, SP_CORNERS, s, sort_incidences);
}

/* An edge or face at its home: its other vertices, and the code for its other incidences. */
typedef struct known {
  sp_lid others[3], code;
} known;

/* Mark the first incidence of each edge and face at vertices begin ... end - 1 by FIRST, and the
 * others by the code of the first: -2 - (PARTS n + part) for incidence n at the home. */
static sp_status compare_some(void *search_, void *list_, size_t begin, size_t end) {
  const search *s = search_;
  known *list = list_;
  for (size_t v = begin; v < end; v++) {
    const sp_lid first = s->start[v], count = s->start[v + 1] - first;
    int found[2] = {0, 0}; /* edges at the front of the list, faces behind 3 per incidence */
    for (sp_lid n = 0; n < count; n++) {
      const int corner = s->incidences[first + n] % SP_CORNERS;
      sp_lid *slots = s->topology->slots[s->incidences[first + n] / SP_CORNERS];
      for (int part = 0; part < PARTS; part++) {
        sp_lid others[3];
        if (!is_home(slots, corner, part)) continue;
        find_others(slots, corner, part, others);
        const int kind = part >= FACE_PART;
        known *entities = &list[kind ? 3 * (size_t)count : 0];
        int i = 0;
        while (i < found[kind] && memcmp(entities[i].others, others, sizeof others) != 0) i++;
        slots[slot_of(corner, part)] = i < found[kind] ? entities[i].code : FIRST;
        if (i < found[kind]) continue;
        memcpy(entities[i].others, others, sizeof others);
        entities[found[kind]++].code = -2 - (PARTS * n + part);
      }
    }
  }
  return SP_OK;
}

static sp_status count_some(void *search_, void *workspace, size_t begin, size_t end) {
  const search *s = search_;
  sp_lid *counts = workspace;
  counts[0] = counts[1] = 0;
  for (size_t e = begin; e < end; e++)
    for (int slot = SP_EDGE_SLOT; slot < SP_SLOTS; slot++)
      counts[slot >= SP_FACE_SLOT] += s->topology->slots[e][slot] == FIRST;
  return SP_OK;
}

static void add_counts(void *search_, void *workspace, size_t begin, size_t end) {
  (void)end;
  search *s = search_;
  const sp_lid *counts = workspace;
  for (int kind = 0; kind < 2; kind++) {
    s->counts[begin / s->chunk][kind] =
        s->totals[kind] <= SP_LID_MAX ? (sp_lid)s->totals[kind] : SP_LID_MAX;
    s->totals[kind] += counts[kind];
  }
}

/* Number the edges and faces first touched by elements begin ... end - 1. */
static void number_some(void *search_, size_t begin, size_t end) {
  const search *s = search_;
  sp_topology *topology = s->topology;
  const sp_lid *counts = s->counts[begin / s->chunk];
  sp_lid next[2] = {topology->start[1] + counts[0], topology->start[2] + counts[1]};
  for (size_t e = begin; e < end; e++)
    for (int slot = SP_EDGE_SLOT; slot < SP_SLOTS; slot++) {
      sp_lid *number = &topology->slots[e][slot];
      if (*number != FIRST) continue;
      *number = next[slot >= SP_FACE_SLOT]++;
      topology->first[*number] = (sp_lid)e;
    }
}

/* Give the other incidences the numbers of the first ones. */
static sp_status resolve_some(void *search_, void *workspace, size_t begin, size_t end) {
  (void)workspace;
  const search *s = search_;
  sp_topology *topology = s->topology;
  for (size_t v = begin; v < end; v++) {
    const sp_lid *incidences = &s->incidences[s->start[v]];
    const sp_lid count = s->start[v + 1] - s->start[v];
    topology->touching[v] = count;
    topology->first[v] = incidences[0] / SP_CORNERS;
    for (sp_lid n = 0; n < count; n++) {
      const int corner = incidences[n] % SP_CORNERS;
      sp_lid *slots = topology->slots[incidences[n] / SP_CORNERS];
      for (int part = 0; part < PARTS; part++) {
        if (!is_home(slots, corner, part)) continue;
        sp_lid *number = &slots[slot_of(corner, part)];
        if (*number < 0) {
          const sp_lid code = -2 - *number, first = incidences[code / PARTS];
          *number = topology->slots[first / SP_CORNERS][slot_of(first % SP_CORNERS, code % PARTS)];
        }
        topology->touching[*number]++;
      }
    }
  }
  return SP_OK;
}

static sp_status run_over_vertices(search *s, size_t workspace_bytes, sp_loop_compute *compute) {
  const size_t vertices = (size_t)s->topology->start[1];
  return sp_loop_sum("edges and faces", vertices, 32, s, workspace_bytes, compute, NULL);
}

static sp_status allocate_entities(search *s) {
  sp_topology *topology = s->topology;
  const sp_gid edges = topology->start[1] + s->totals[0], all = edges + s->totals[1];
  if (all > SP_LID_MAX)
    return sp_fail(SP_ERR_INPUT, "too many vertices, edges and faces on one rank: use more ranks");
  topology->start[2] = (sp_lid)edges;
  topology->start[3] = topology->entities = (sp_lid)all;
  return SP_ALLOCATE("entities", SP_ARRAY(topology->first, all), SP_ARRAY(topology->touching, all));
}

static sp_status find_edges_and_faces(search *s) {
  sp_topology *topology = s->topology;
  const size_t elements = (size_t)topology->elements;
  SP_TRY(list_incidences(s));
  SP_TRY(run_over_vertices(s, (size_t)s->most * PARTS * sizeof(known), compare_some));
  s->chunk = sp_loop_chunk(elements, SP_SLOTS);
  SP_TRY(sp_allocate(elements / s->chunk + 1, sizeof *s->counts, "entity counts", &s->counts));
  SP_TRY(sp_loop_run(&(sp_loop){.what = "entity counts",
                                .count = elements,
                                .chunk = s->chunk,
                                .workspace_bytes = 2 * sizeof(sp_lid),
                                .context = s,
                                .compute = count_some,
                                .commit = add_counts}));
  SP_TRY(allocate_entities(s));
  SP_TRY(sp_loop_over("entities", elements, SP_SLOTS, s, number_some));
  return run_over_vertices(s, 0, resolve_some);
}

sp_status sp_entities_find(const sp_hexes *hexes, sp_topology *topology) {
  search s = {.hexes = hexes, .topology = topology, .alone = sp_threads() == 1};
  if (hexes->count > SP_LID_MAX / SP_CORNERS)
    return sp_fail(SP_ERR_INPUT, "%d elements on one rank, at most %d are possible: use more ranks",
                   hexes->count, SP_LID_MAX / SP_CORNERS);
  topology->hexes = hexes;
  topology->elements = hexes->count;
  SP_TRY(sp_allocate((size_t)hexes->count, sizeof *topology->slots, "element entities",
                     &topology->slots));
  sp_status status = sp_vertices_number(hexes, topology->slots, &topology->start[1]);
  if (!status) status = find_edges_and_faces(&s);
  SP_FREE(s.start, s.incidences, s.counts);
  return status;
}

/* ---- Order ---- */

/* Permute the sharers for a new order of the entities. */
static sp_status permute_sharers(sp_topology *topology, const sp_lid *order) {
  const sp_lid entities = topology->entities;
  sp_lid *start;
  int *sharers;
  const sp_status status = SP_ALLOCATE("sharers", SP_ARRAY(start, (size_t)entities + 1),
                                       SP_ARRAY(sharers, topology->sharer_start[entities]));
  for (sp_lid i = 0; i < entities && !status; i++) {
    const sp_lid from = topology->sharer_start[order[i]];
    const sp_lid count = topology->sharer_start[order[i] + 1] - from;
    if (count > 0)
      memcpy(&sharers[start[i]], &topology->sharers[from], (size_t)count * sizeof *sharers);
    start[i + 1] = start[i] + count;
  }
  if (status) {
    free(start);
    return status;
  }
  SP_FREE(topology->sharer_start, topology->sharers);
  topology->sharer_start = start;
  topology->sharers = sharers;
  return SP_OK;
}

static int kind_of_slot(int slot) {
  return slot < SP_EDGE_SLOT ? 0 : slot < SP_FACE_SLOT ? 1 : 2;
}

/* Shared by the loops over elements. */
typedef struct renumbering {
  sp_topology *topology;
  size_t chunk;
  sp_lid *first, *number;       /* [entities], first element, new number */
  sp_lid *order;                /* [new entities], old number */
  sp_lid (*counts)[3], next[3]; /* [chunks], the first number of a chunk by kind */
} renumbering;

/* Find the first element of each entity. */
static sp_status find_first(void *renumbering_, void *none, size_t begin, size_t end) {
  const renumbering *r = renumbering_;
  (void)none;
  for (size_t e = begin; e < end; e++)
    for (int slot = 0; slot < SP_SLOTS; slot++)
      sp_lower(&r->first[r->topology->slots[e][slot]], (sp_lid)e);
  return SP_OK;
}

/* True if this is the first slot of the first element of an entity; contacts have some entities
 * twice. */
static bool is_first(const renumbering *r, size_t e, int slot) {
  const sp_lid *slots = r->topology->slots[e];
  if (r->first[slots[slot]] != (sp_lid)e) return false;
  int before = 0;
  while (slots[before] != slots[slot]) before++;
  return before == slot;
}

static sp_status count_first(void *renumbering_, void *workspace, size_t begin, size_t end) {
  const renumbering *r = renumbering_;
  sp_lid *counts = workspace;
  memset(counts, 0, 3 * sizeof *counts);
  for (size_t e = begin; e < end; e++)
    for (int slot = 0; slot < SP_SLOTS; slot++) counts[kind_of_slot(slot)] += is_first(r, e, slot);
  return SP_OK;
}

static void add_first(void *renumbering_, void *workspace, size_t begin, size_t end) {
  renumbering *r = renumbering_;
  const sp_lid *counts = workspace;
  (void)end;
  memcpy(r->counts[begin / r->chunk], r->next, sizeof r->next);
  for (int kind = 0; kind < 3; kind++) r->next[kind] += counts[kind];
}

static sp_status number_first(void *renumbering_, void *none, size_t begin, size_t end) {
  const renumbering *r = renumbering_;
  sp_lid next[3];
  (void)none;
  memcpy(next, r->counts[begin / r->chunk], sizeof next);
  for (size_t e = begin; e < end; e++)
    for (int slot = 0; slot < SP_SLOTS; slot++) {
      if (!is_first(r, e, slot)) continue;
      const sp_lid entity = r->topology->slots[e][slot], n = next[kind_of_slot(slot)]++;
      r->number[entity] = n;
      r->order[n] = entity;
    }
  return SP_OK;
}

static sp_status number_slots(void *renumbering_, void *none, size_t begin, size_t end) {
  const renumbering *r = renumbering_;
  (void)none;
  for (size_t e = begin; e < end; e++)
    for (int slot = 0; slot < SP_SLOTS; slot++) {
      sp_lid *entity = &r->topology->slots[e][slot];
      *entity = r->number[*entity];
    }
  return SP_OK;
}

static sp_status visit_elements(renumbering *r, sp_loop_compute *compute, sp_loop_commit *commit) {
  return sp_loop_run(&(sp_loop){.what = "entity numbers",
                                .count = (size_t)r->topology->elements,
                                .chunk = r->chunk,
                                .workspace_bytes = sizeof r->next,
                                .context = r,
                                .compute = compute,
                                .commit = commit});
}

/* Number the entities in slots anew, in the order in which elements touch them. */
static sp_status renumber_slots(renumbering *r) {
  const size_t elements = (size_t)r->topology->elements;
  r->chunk = sp_loop_chunk(elements, SP_SLOTS);
  SP_TRY(sp_allocate(elements / r->chunk + 1, sizeof *r->counts, "entity numbers", &r->counts));
  sp_loop_set((size_t)r->topology->entities * sizeof *r->first, -1, r->first);
  SP_TRY(visit_elements(r, find_first, NULL));
  SP_TRY(visit_elements(r, count_first, add_first));
  SP_TRY(visit_elements(r, number_first, NULL));
  return visit_elements(r, number_slots, NULL);
}

/* `counts`: entities of each kind in slots. */
static sp_status renumber_entities(sp_topology *t, const sp_lid counts[3]) {
  const sp_lid start[4] = {0, counts[0], counts[0] + counts[1], counts[0] + counts[1] + counts[2]};
  const size_t entities = (size_t)t->entities;
  renumbering r = {.topology = t, .first = t->first, .next = {start[0], start[1], start[2]}};
  sp_status status =
      SP_ALLOCATE("entity numbers", SP_ARRAY(r.number, entities), SP_ARRAY(r.order, start[3]));
  if (!status) status = renumber_slots(&r);
  if (!status) {
    memcpy(t->start, start, sizeof start);
    t->entities = start[3];
    status = sp_permute_rows(&t->first, sizeof *t->first, start[3], r.order);
  }
  if (!status) status = sp_permute_rows(&t->touching, sizeof *t->touching, start[3], r.order);
  if (!status && t->sharer_start) status = permute_sharers(t, r.order);
  SP_FREE(r.number, r.order, r.counts);
  return status;
}

sp_status sp_entities_renumber(sp_topology *topology) {
  const sp_lid *start = topology->start;
  return renumber_entities(topology,
                           (const sp_lid[]){start[1], start[2] - start[1], start[3] - start[2]});
}

/* ---- Periodic entities ---- */

typedef struct image {
  sp_gid key[4]; /* of the representative */
  sp_lid entity;
} image;

static int compare_images(const void *left, const void *right) {
  const image *a = left, *b = right;
  const int order = sp_entity_compare(a->key, b->key);
  return order ? order : (a->entity > b->entity) - (a->entity < b->entity);
}

/* The entities that may have another representative, with its key. */
static sp_status list_images(const sp_periodic *periodic, const sp_topology *topology, image **list,
                             size_t *count) {
  for (int pass = 0; pass < 2; pass++) {
    *count = 0;
    for (sp_lid i = 0; i < topology->entities; i++) {
      const int corners = i < topology->start[1] ? 1 : i < topology->start[2] ? 2 : 4;
      sp_gid own[4], vertices[4];
      sp_topology_key(topology, i, own);
      if (!sp_periodic_image(periodic, corners, own, vertices)) continue;
      if (pass) {
        sp_entity_key(corners, vertices, (*list)[*count].key);
        (*list)[*count].entity = i;
      }
      ++*count;
    }
    if (!pass) SP_TRY(sp_allocate(*count, sizeof **list, "periodic entities", list));
  }
  qsort(*list, *count, sizeof **list, compare_images);
  return SP_OK;
}

sp_status sp_entities_identify(const sp_periodic *periodic, sp_topology *topology) {
  SP_OWNED image *list = NULL;
  SP_OWNED sp_lid *to = NULL;
  size_t count = 0;
  sp_lid counts[3];
  SP_TRY(list_images(periodic, topology, &list, &count));
  SP_TRY(sp_allocate((size_t)topology->entities, sizeof *to, "periodic entities", &to));
  for (int kind = 0; kind < 3; kind++)
    counts[kind] = topology->start[kind + 1] - topology->start[kind];
  for (sp_lid i = 0; i < topology->entities; i++) to[i] = i;
  for (size_t n = 0; n < count; n++) {
    const sp_lid i = list[n].entity;
    if (n == 0 || sp_entity_compare(list[n - 1].key, list[n].key) != 0) continue;
    to[i] = to[list[n - 1].entity];
    topology->touching[to[i]] += topology->touching[i];
    counts[i < topology->start[1] ? 0 : i < topology->start[2] ? 1 : 2]--;
  }
  for (sp_lid e = 0; e < topology->elements; e++)
    for (int slot = 0; slot < SP_SLOTS; slot++)
      topology->slots[e][slot] = to[topology->slots[e][slot]];
  return renumber_entities(topology, counts);
}
