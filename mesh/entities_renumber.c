#include <stdlib.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/entities.h"

/* Replace the sharers by those of entities in a new order. */
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

/* True if the element is the first of the entity in a slot, and this is its first slot: contacts
 * have some entities twice. */
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
static sp_status renumber(sp_topology *t, const sp_lid counts[3]) {
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
  return renumber(topology, (const sp_lid[]){start[1], start[2] - start[1], start[3] - start[2]});
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
  return renumber(topology, counts);
}
