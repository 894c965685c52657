#include "mesh/topology.h"

#include <stdlib.h>
#include <string.h>

#include "io/threads.h"

/* 0 for a vertex, 1 for an edge, 2 for a face. */
static int kind_of_slot(int slot) {
  return slot < SP_EDGE_SLOT ? 0 : slot < SP_FACE_SLOT ? 1 : 2;
}

/* ---- Edges and faces ---- */

/* Shared by the loops. Incidence 8 e + c is corner c of element e. The incidences of vertex v are
 * incidences[start[v]] up to incidences[start[v + 1]], ascending. */
typedef struct search {
  const sp_hexes *hexes;
  sp_topology *topology;
  sp_lid *start, *incidences;
  sp_lid most; /* incidences of one vertex */
  bool alone;  /* there is one thread */
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

/* Number the edges and faces that elements touch first, both from 0. */
static void touch_slots(void *search_, bool assign, sp_gid next[3], size_t begin, size_t end) {
  const search *s = search_;
  for (size_t e = begin; e < end; e++)
    for (int slot = SP_EDGE_SLOT; slot < SP_SLOTS; slot++) {
      sp_lid *number = &s->topology->slots[e][slot];
      if (*number != FIRST) continue;
      const sp_gid n = next[kind_of_slot(slot)]++;
      if (assign) *number = (sp_lid)n;
    }
}

/* Let edges and faces follow the vertices, and give the other incidences the numbers of the first
 * ones. */
static void resolve_some(void *search_, size_t begin, size_t end) {
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
        } else {
          *number += topology->start[part >= FACE_PART ? 2 : 1];
          topology->first[*number] = incidences[n] / SP_CORNERS;
        }
        topology->touching[*number]++;
      }
    }
  }
}

/* `counts`: edges and faces. */
static sp_status allocate_entities(const sp_gid counts[3], sp_topology *topology) {
  const sp_gid edges = topology->start[1] + counts[1], all = edges + counts[2];
  if (all > SP_LID_MAX)
    return sp_fail(SP_ERR_INPUT, "too many vertices, edges and faces on one rank: use more ranks");
  topology->start[2] = (sp_lid)edges;
  topology->start[3] = topology->entities = (sp_lid)all;
  return SP_ALLOCATE("entities", SP_ARRAY(topology->first, all), SP_ARRAY(topology->touching, all));
}

static sp_status find_edges_and_faces(search *s) {
  const size_t elements = (size_t)s->topology->elements, vertices = (size_t)s->topology->start[1];
  sp_gid counts[3];
  SP_TRY(list_incidences(s));
  SP_TRY(sp_loop_sum("edges and faces", vertices, 32, s, (size_t)s->most * PARTS * sizeof(known),
                     compare_some, NULL));
  SP_TRY(sp_number_touched(elements, touch_slots, s, counts));
  SP_TRY(allocate_entities(counts, s->topology));
  return sp_loop_over("edges and faces", vertices, 32, s, resolve_some);
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
  SP_FREE(s.start, s.incidences);
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

/* Shared by the loops over elements. */
typedef struct renumbering {
  sp_topology *topology;
  const sp_lid *start;    /* [4], new */
  sp_lid *first, *number; /* [entities], first element, new number */
  sp_lid *order;          /* [new entities], old number */
} renumbering;

/* Find the first element of each entity. */
static void find_first(void *renumbering_, size_t begin, size_t end) {
  const renumbering *r = renumbering_;
  for (size_t e = begin; e < end; e++)
    for (int slot = 0; slot < SP_SLOTS; slot++)
      sp_lower(&r->first[r->topology->slots[e][slot]], (sp_lid)e);
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

static void touch_entities(void *renumbering_, bool assign, sp_gid next[3], size_t begin,
                           size_t end) {
  const renumbering *r = renumbering_;
  for (size_t e = begin; e < end; e++)
    for (int slot = 0; slot < SP_SLOTS; slot++) {
      if (!is_first(r, e, slot)) continue;
      const int kind = kind_of_slot(slot);
      const sp_lid entity = r->topology->slots[e][slot], n = r->start[kind] + (sp_lid)next[kind]++;
      if (!assign) continue;
      r->number[entity] = n;
      r->order[n] = entity;
    }
}

static void number_slots(void *renumbering_, size_t begin, size_t end) {
  const renumbering *r = renumbering_;
  for (size_t e = begin; e < end; e++)
    for (int slot = 0; slot < SP_SLOTS; slot++) {
      sp_lid *entity = &r->topology->slots[e][slot];
      *entity = r->number[*entity];
    }
}

/* Number the entities in slots anew, in the order in which elements touch them. */
static sp_status renumber_slots(renumbering *r) {
  const size_t elements = (size_t)r->topology->elements;
  sp_gid counts[3];
  sp_loop_set((size_t)r->topology->entities * sizeof *r->first, -1, r->first);
  SP_TRY(sp_loop_over("entity numbers", elements, SP_SLOTS, r, find_first));
  SP_TRY(sp_number_touched(elements, touch_entities, r, counts));
  return sp_loop_over("entity numbers", elements, SP_SLOTS, r, number_slots);
}

/* `counts`: entities of each kind in slots. */
static sp_status renumber_entities(sp_topology *t, const sp_lid counts[3]) {
  const sp_lid start[4] = {0, counts[0], counts[0] + counts[1], counts[0] + counts[1] + counts[2]};
  renumbering r = {.topology = t, .start = start, .first = t->first};
  sp_status status =
      SP_ALLOCATE("entity numbers", SP_ARRAY(r.number, t->entities), SP_ARRAY(r.order, start[3]));
  if (!status) status = renumber_slots(&r);
  if (!status) {
    memcpy(t->start, start, sizeof start);
    t->entities = start[3];
    status = sp_permute_rows(&t->first, sizeof *t->first, start[3], r.order);
  }
  if (!status) status = sp_permute_rows(&t->touching, sizeof *t->touching, start[3], r.order);
  if (!status && t->sharer_start) status = permute_sharers(t, r.order);
  SP_FREE(r.number, r.order);
  return status;
}

sp_status sp_topology_permute(sp_topology *topology, const sp_lid *order) {
  const sp_lid *start = topology->start;
  SP_TRY(sp_permute_rows(&topology->slots, sizeof *topology->slots, topology->elements, order));
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
  for (sp_lid i = 0; i < topology->entities; i++) {
    const int corners = i < topology->start[1] ? 1 : i < topology->start[2] ? 2 : 4;
    sp_gid own[4], vertices[4];
    sp_topology_key(topology, i, own);
    if (!sp_periodic_image(periodic, corners, own, vertices)) continue;
    SP_TRY(sp_reserve(*count, 1, sizeof **list, "periodic entities", list));
    image *added = &(*list)[(*count)++];
    sp_entity_key(corners, vertices, added->key);
    added->entity = i;
  }
  if (*count > 0) qsort(*list, *count, sizeof **list, compare_images);
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
