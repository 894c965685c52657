#include "mesh/components.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "io/rendezvous.h"
#include "io/threads.h"

/* State of the search on one rank. A name is a local component's number in the list of all
 * ranks' local components, rank after rank. */
typedef struct search {
  const sp_topology *topology;
  int slot, slots;   /* of the vertices or faces that connect elements; called vertices here */
  sp_lid begin, end; /* their entities */
  /* A union-find forest of vertices: parent[v] <= v, and a root is its own parent. Threads join
   * trees concurrently (Anderson and Woll, STOC 1991). In the end each tree is a component, its
   * root the least vertex, in any order of joins. */
  sp_lid *parent;    /* [vertices] */
  sp_lid *number;    /* [vertices], the component of a root */
  sp_lid *of_entity; /* [vertices], the local component of each */
  sp_gid local;      /* local components */
  sp_gid first;      /* name of the first of them */
  sp_gid total;      /* over all ranks */

  sp_gid (*pairs)[2]; /* components that meet in a vertex, smaller name first */
  size_t pair_count;
} search;

static sp_lid parent_of(const sp_lid *parent, sp_lid v) {
  return __atomic_load_n(&parent[v], __ATOMIC_RELAXED);
}

/* Find the present root, and shorten the path to it. */
static sp_lid find_root(sp_lid *parent, sp_lid v) {
  for (;;) {
    sp_lid up = parent_of(parent, v);
    if (up == v) return v;
    const sp_lid above = parent_of(parent, up);
    if (above != up)
      __atomic_compare_exchange_n(&parent[v], &up, above, false, __ATOMIC_RELAXED,
                                  __ATOMIC_RELAXED);
    v = above;
  }
}

static void join_trees(sp_lid *parent, sp_lid a, sp_lid b) {
  for (;;) {
    a = find_root(parent, a);
    b = find_root(parent, b);
    if (a == b) return;
    sp_lid high = a > b ? a : b;
    const sp_lid low = a > b ? b : a;
    if (__atomic_compare_exchange_n(&parent[high], &high, low, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
      return;
  }
}

static void plant_some(void *search_, size_t begin, size_t end) {
  const search *s = search_;
  for (size_t v = begin; v < end; v++) s->parent[v] = (sp_lid)v;
}

static void join_some(void *search_, size_t begin, size_t end) {
  const search *s = search_;
  for (size_t e = begin; e < end; e++) {
    const sp_lid *slots = &s->topology->slots[e][s->slot];
    for (int c = 1; c < s->slots; c++)
      join_trees(s->parent, slots[0] - s->begin, slots[c] - s->begin);
  }
}

static void name_some(void *search_, size_t begin, size_t end) {
  const search *s = search_;
  for (size_t v = begin; v < end; v++) s->of_entity[v] = s->number[find_root(s->parent, (sp_lid)v)];
}

/* Join the vertices of each element, and number the components. */
static sp_status find_local(search *s) {
  const sp_topology *topology = s->topology;
  const size_t vertices = (size_t)(s->end - s->begin);
  SP_TRY(SP_ALLOCATE("components", SP_ARRAY(s->parent, vertices), SP_ARRAY(s->number, vertices),
                     SP_ARRAY(s->of_entity, vertices)));
  SP_TRY(sp_loop_over("components", vertices, 1, s, plant_some));
  SP_TRY(sp_loop_over("components", (size_t)topology->elements, SP_CORNERS, s, join_some));
  /* Vertices are in the order in which elements first touch them, and so are components. */
  for (size_t v = 0; v < vertices; v++)
    if (s->parent[v] == (sp_lid)v) s->number[v] = (sp_lid)s->local++;
  return sp_loop_over("components", vertices, 1, s, name_some);
}

enum { COMPONENT = sizeof(sp_row_name) / 8, WORDS };

static int compare_rows(const void *left, const void *right) {
  const int64_t *a = *(const int64_t *const *)left, *b = *(const int64_t *const *)right;
  return (a[COMPONENT] > b[COMPONENT]) - (a[COMPONENT] < b[COMPONENT]);
}

/* Rows: a vertex and its component on each rank. The answer is the least component. */
static sp_status find_least(size_t count, const int64_t *const *rows, int64_t *const *answers,
                            const void *none) {
  (void)none;
  for (size_t n = 0; n < count; n++) *answers[n] = rows[0][COMPONENT];
  return SP_OK;
}

static int compare_pairs(const void *left, const void *right) {
  const sp_gid *a = left, *b = right;
  const int n = a[0] == b[0];
  return (a[n] > b[n]) - (a[n] < b[n]);
}

/* List once each pair of components with a common vertex on several ranks. */
static sp_status find_pairs(MPI_Comm comm, search *s) {
  const sp_topology *topology = s->topology;
  const sp_lid *sharers = topology->sharer_start;
  size_t vertices = 0;
  SP_OWNED int64_t *rows = NULL, *answers = NULL;
  for (sp_lid i = s->begin; i < s->end; i++) vertices += sharers[i] < sharers[i + 1];
  SP_TRY(sp_agree(comm, SP_ALLOCATE("components", SP_ARRAY(rows, WORDS * vertices),
                                    SP_ARRAY(answers, vertices), SP_ARRAY(s->pairs, vertices))));
  vertices = 0;
  for (sp_lid i = s->begin; i < s->end; i++) {
    sp_gid key[4];
    if (sharers[i] == sharers[i + 1]) continue;
    sp_topology_key(topology, i, key);
    const sp_row_name name = sp_entity_name(key);
    memcpy(&rows[WORDS * vertices], &name, sizeof name);
    rows[WORDS * vertices++ + COMPONENT] = s->first + s->of_entity[i - s->begin];
  }
  SP_TRY(sp_rendezvous_answer(comm, &(sp_questions){vertices, WORDS, 1, rows, answers},
                              compare_rows, find_least, NULL));
  for (size_t v = 0; v < vertices; v++) {
    s->pairs[v][0] = answers[v];
    s->pairs[v][1] = rows[WORDS * v + COMPONENT];
  }
  qsort(s->pairs, vertices, sizeof *s->pairs, compare_pairs);
  for (size_t v = 0; v < vertices; v++)
    if (s->pairs[v][0] != s->pairs[v][1] &&
        (s->pair_count == 0 || compare_pairs(s->pairs[v], s->pairs[s->pair_count - 1]) != 0))
      memmove(s->pairs[s->pair_count++], s->pairs[v], sizeof *s->pairs);
  return SP_OK;
}

/* Gather the pairs of all ranks. */
static sp_status gather_pairs(MPI_Comm comm, search *s) {
  SP_OWNED sp_gid(*mine)[2] = s->pairs;
  return sp_gather_records(comm, mine, s->pair_count, sizeof *mine,
                           "parts of the mesh that meet between ranks", &s->pairs, &s->pair_count);
}

/* Join the local components of all ranks, and number the results in the order of their least names;
 * the same on all ranks. */
static sp_status number_elements(const search *s, sp_components *components) {
  const sp_topology *topology = s->topology;
  sp_gid count = 0;
  SP_OWNED sp_gid *parent = NULL; /* a smaller name; later the component's number */
  SP_TRY(SP_ALLOCATE("components", SP_ARRAY(components->of_element, topology->elements),
                     SP_ARRAY(parent, s->total)));
  for (sp_gid n = 0; n < s->total; n++) parent[n] = n;
  for (size_t p = 0; p < s->pair_count; p++) {
    sp_gid end[2] = {s->pairs[p][0], s->pairs[p][1]};
    for (int side = 0; side < 2; side++)
      while (parent[end[side]] != end[side])
        end[side] = parent[end[side]] = parent[parent[end[side]]];
    parent[end[0] > end[1] ? end[0] : end[1]] = end[0] > end[1] ? end[1] : end[0];
  }
  for (sp_gid n = 0; n < s->total; n++) parent[n] = parent[n] == n ? count++ : parent[parent[n]];
  components->count = (int)count;
  for (sp_lid e = 0; e < topology->elements && count > 1; e++) /* otherwise all zero */
    components->of_element[e] =
        (int)parent[s->first + s->of_entity[topology->slots[e][s->slot] - s->begin]];
  if (count <= INT_MAX) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "the mesh has %lld parts that do not touch: too many",
                 (long long)count);
}

static sp_status find_components(MPI_Comm comm, search *s, sp_components *components) {
  SP_TRY(sp_agree(comm, find_local(s)));
  MPI_Scan(&s->local, &s->first, 1, SP_MPI_GID, MPI_SUM, comm);
  MPI_Allreduce(&s->local, &s->total, 1, SP_MPI_GID, MPI_SUM, comm);
  s->first -= s->local;
  SP_TRY(find_pairs(comm, s));
  SP_TRY(gather_pairs(comm, s));
  return sp_agree(comm, number_elements(s, components));
}

sp_status sp_components_create(MPI_Comm comm, const sp_topology *topology, sp_connection by,
                               sp_components **out) {
  const bool faces = by == SP_BY_FACES;
  search s = {.topology = topology,
              .slot = faces ? SP_FACE_SLOT : 0,
              .slots = faces ? SP_FACES : SP_CORNERS,
              .begin = faces ? topology->start[2] : 0,
              .end = topology->start[faces ? 3 : 1]};
  *out = NULL;
  sp_status status = sp_agree(comm, sp_allocate(1, sizeof **out, "components", out));
  if (!status) status = find_components(comm, &s, *out);
  SP_FREE(s.parent, s.number, s.of_entity, s.pairs);
  if (status) sp_components_destroy(out);
  return status;
}

void sp_components_destroy(sp_components **components) {
  if (!*components) return;
  SP_FREE((*components)->of_element, *components);
  *components = NULL;
}
