#include "mesh/components.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "io/gather.h"
#include "io/threads.h"

/* State of the search on one rank. A name is a local component's number in the list of all
 * ranks' local components, rank after rank. */
typedef struct search {
  const sp_topology *topology;
  sp_lid *of_entity; /* [vertices], the local component of each */
  sp_gid local;      /* local components */
  sp_gid first;      /* name of the first of them */
  sp_gid total;      /* over all ranks */

  /* Vertices that other ranks hold too, once for each of these ranks: those of rank r from start[r]
   * on, in the same order on both sides, and the names of their components here and there. */
  int *count, *start; /* [ranks], [ranks + 1] */
  sp_gid *here, *there;

  sp_gid (*pairs)[2]; /* components that meet in a vertex, smaller name first */
  size_t pair_count;

  /* The names in the pairs of all ranks, ascending; to[n] is the least name that is connected. */
  sp_gid *names, *to;
  size_t name_count;
} search;

static void search_free(search *s) {
  SP_FREE(s->of_entity, s->count, s->start, s->here, s->there, s->pairs, s->names, s->to);
}

/* Vertices that are connected, as trees: parent[v] <= v, and a root is its own parent. Threads join
 * trees at the same time (Anderson and Woll, STOC 1991). In the end each tree is a component, and
 * its root is the least vertex. The order of joining does not matter. */
typedef struct forest {
  const sp_topology *topology;
  sp_lid *parent;
  const sp_lid *number; /* [vertices], of roots: the component */
  sp_lid *of_entity;    /* [vertices], out */
} forest;

static sp_lid parent_of(const sp_lid *parent, sp_lid v) {
  return __atomic_load_n(&parent[v], __ATOMIC_RELAXED);
}

/* Find the root, as far as other threads have joined trees, and shorten the path to it. */
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

static void join(sp_lid *parent, sp_lid a, sp_lid b) {
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

static sp_status plant_some(void *forest_, void *workspace, size_t begin, size_t end) {
  const forest *f = forest_;
  (void)workspace;
  for (size_t v = begin; v < end; v++) f->parent[v] = (sp_lid)v;
  return SP_OK;
}

static sp_status join_some(void *forest_, void *workspace, size_t begin, size_t end) {
  const forest *f = forest_;
  (void)workspace;
  for (size_t e = begin; e < end; e++)
    for (int c = 1; c < SP_CORNERS; c++)
      join(f->parent, f->topology->slots[e][0], f->topology->slots[e][c]);
  return SP_OK;
}

static sp_status name_some(void *forest_, void *workspace, size_t begin, size_t end) {
  const forest *f = forest_;
  (void)workspace;
  for (size_t v = begin; v < end; v++) f->of_entity[v] = f->number[find_root(f->parent, (sp_lid)v)];
  return SP_OK;
}

/* Join the vertices of each element, and number what is connected. */
static sp_status find_local(search *s) {
  const sp_topology *topology = s->topology;
  const size_t vertices = (size_t)topology->start[1];
  sp_lid *number = NULL;
  forest f = {.topology = topology};
  sp_status status = sp_allocate(vertices, sizeof *f.parent, "components", &f.parent);
  if (!status) status = sp_allocate(vertices, sizeof *number, "components", &number);
  if (!status) status = sp_allocate(vertices, sizeof *s->of_entity, "components", &s->of_entity);
  if (!status) status = sp_loop_over("components", vertices, 1, &f, plant_some);
  if (!status)
    status = sp_loop_over("components", (size_t)topology->elements, SP_CORNERS, &f, join_some);
  /* Vertices are in the order in which elements first touch them, and so are components. */
  for (size_t v = 0; v < vertices && !status; v++)
    if (f.parent[v] == (sp_lid)v) number[v] = (sp_lid)s->local++;
  f.number = number;
  f.of_entity = s->of_entity;
  if (!status) status = sp_loop_over("components", vertices, 1, &f, name_some);
  free(f.parent);
  free(number);
  return status;
}

typedef struct shared_vertex {
  sp_gid number;
  sp_lid entity;
} shared_vertex;

static int compare_vertices(const void *left, const void *right) {
  const shared_vertex *a = left, *b = right;
  return (a->number > b->number) - (a->number < b->number);
}

/* List the shared vertices by rank, sorted by vertex number: the same order on both sides. */
static sp_status list_shared(int size, search *s) {
  const sp_topology *topology = s->topology;
  const sp_lid *sharers = topology->sharer_start;
  shared_vertex *list;
  size_t vertices = 0;
  for (sp_lid i = 0; i < topology->start[1]; i++) vertices += sharers[i] < sharers[i + 1];
  SP_TRY(sp_allocate((size_t)size, sizeof *s->count, "components", &s->count));
  SP_TRY(sp_allocate((size_t)size + 1, sizeof *s->start, "components", &s->start));
  SP_TRY(sp_allocate(vertices, sizeof *list, "components", &list));
  vertices = 0;
  for (sp_lid i = 0; i < topology->start[1]; i++) {
    if (sharers[i] == sharers[i + 1]) continue;
    sp_gid key[4];
    sp_topology_key(topology, i, key);
    list[vertices++] = (shared_vertex){key[0], i};
    for (sp_lid n = sharers[i]; n < sharers[i + 1]; n++) s->count[topology->sharers[n]]++;
  }
  /* No overflow: sp_topology keeps its list of sharers to INT_MAX. */
  for (int r = 0; r < size; r++) s->start[r + 1] = s->start[r] + s->count[r];
  const size_t all = (size_t)s->start[size];
  sp_status status = sp_allocate(all, sizeof *s->here, "components", &s->here);
  if (!status) status = sp_allocate(all, sizeof *s->there, "components", &s->there);
  if (!status) {
    qsort(list, vertices, sizeof *list, compare_vertices);
    for (size_t v = 0; v < vertices; v++) {
      const sp_lid entity = list[v].entity;
      for (sp_lid n = sharers[entity]; n < sharers[entity + 1]; n++)
        s->here[s->start[topology->sharers[n]]++] = s->of_entity[entity];
    }
    memmove(s->start + 1, s->start, (size_t)size * sizeof *s->start);
    s->start[0] = 0;
  }
  free(list);
  return status;
}

static int compare_names(const void *left, const void *right) {
  const sp_gid a = *(const sp_gid *)left, b = *(const sp_gid *)right;
  return (a > b) - (a < b);
}

static int compare_pairs(const void *left, const void *right) {
  const sp_gid *a = left, *b = right;
  return a[0] != b[0] ? compare_names(a, b) : compare_names(a + 1, b + 1);
}

/* List the pairs: each once, on one of its two ranks. */
static sp_status list_pairs(int size, search *s) {
  const size_t all = (size_t)s->start[size];
  size_t count = 0;
  SP_TRY(sp_allocate(all, sizeof *s->pairs, "components", &s->pairs));
  for (size_t n = 0; n < all; n++) {
    if (s->here[n] > s->there[n]) continue;
    s->pairs[count][0] = s->here[n];
    s->pairs[count++][1] = s->there[n];
  }
  qsort(s->pairs, count, sizeof *s->pairs, compare_pairs);
  for (size_t n = 0; n < count; n++)
    if (n == 0 || compare_pairs(s->pairs[n], s->pairs[s->pair_count - 1]) != 0)
      memmove(s->pairs[s->pair_count++], s->pairs[n], sizeof *s->pairs);
  return SP_OK;
}

/* Replace the pairs by those of all ranks. */
static sp_status gather_pairs(MPI_Comm comm, search *s) {
  void *all;
  SP_TRY(sp_gather_records(comm, s->pairs, s->pair_count, sizeof *s->pairs,
                           "parts of the mesh that meet between ranks", &all, &s->pair_count));
  free(s->pairs);
  s->pairs = all;
  return SP_OK;
}

/* Place of `name` among the names in pairs, or -1. */
static ptrdiff_t place_of(const search *s, sp_gid name) {
  const sp_gid *found = bsearch(&name, s->names, s->name_count, sizeof name, compare_names);
  return found ? found - s->names : -1;
}

/* Solve the graph of local components, which all ranks have: the same result on all of them. */
static sp_status join_pairs(search *s) {
  const size_t ends = 2 * s->pair_count;
  ptrdiff_t *parent = NULL;
  SP_TRY(sp_allocate(ends, sizeof *s->names, "components", &s->names));
  if (ends > 0) memcpy(s->names, s->pairs, ends * sizeof *s->names);
  qsort(s->names, ends, sizeof *s->names, compare_names);
  for (size_t n = 0; n < ends; n++)
    if (n == 0 || s->names[n] != s->names[s->name_count - 1])
      s->names[s->name_count++] = s->names[n];
  SP_TRY(sp_allocate(s->name_count, sizeof *s->to, "components", &s->to));
  SP_TRY(sp_allocate(s->name_count, sizeof *parent, "components", &parent));
  for (size_t n = 0; n < s->name_count; n++) parent[n] = (ptrdiff_t)n;
  for (size_t p = 0; p < s->pair_count; p++) {
    ptrdiff_t end[2];
    for (int side = 0; side < 2; side++) {
      end[side] = place_of(s, s->pairs[p][side]);
      while (parent[end[side]] != end[side])
        end[side] = parent[end[side]] = parent[parent[end[side]]];
    }
    parent[end[0] > end[1] ? end[0] : end[1]] = end[0] > end[1] ? end[1] : end[0];
  }
  for (size_t n = 0; n < s->name_count; n++) {
    parent[n] = parent[parent[n]]; /* a parent is smaller, so it points to its root already */
    s->to[n] = s->names[parent[n]];
  }
  free(parent);
  return SP_OK;
}

/* Number components in the order of their least names; names that are not least are skipped. */
static sp_status number_elements(const search *s, sp_components *components) {
  const sp_topology *topology = s->topology;
  sp_gid *merged, *number = NULL;
  sp_status status = sp_allocate(s->name_count + 1, sizeof *merged, "components", &merged);
  if (!status) status = sp_allocate((size_t)s->local, sizeof *number, "components", &number);
  if (!status)
    status = sp_allocate((size_t)topology->elements, sizeof *components->of_element, "components",
                         &components->of_element);
  for (size_t n = 0; n < s->name_count && !status; n++)
    merged[n + 1] = merged[n] + (s->to[n] != s->names[n]);
  if (!status && s->total - merged[s->name_count] > INT_MAX)
    status = sp_fail(SP_ERR_INPUT, "the mesh has %lld parts that do not touch: too many",
                     (long long)(s->total - merged[s->name_count]));
  if (!status) {
    components->count = (int)(s->total - merged[s->name_count]);
    size_t before = 0; /* names in pairs below that of local component c */
    for (sp_gid c = 0; c < s->local; c++) {
      const sp_gid name = s->first + c;
      while (before < s->name_count && s->names[before] < name) before++;
      const bool paired = before < s->name_count && s->names[before] == name;
      number[c] =
          paired ? s->to[before] - merged[place_of(s, s->to[before])] : name - merged[before];
    }
    for (sp_lid e = 0; e < topology->elements; e++)
      components->of_element[e] = (int)number[s->of_entity[topology->slots[e][0]]];
  }
  free(merged);
  free(number);
  return status;
}

static sp_status find(MPI_Comm comm, search *s, sp_components *components) {
  int size;
  MPI_Comm_size(comm, &size);
  sp_status status = find_local(s);
  if (!status) status = list_shared(size, s);
  SP_TRY(sp_agree(comm, status));
  MPI_Scan(&s->local, &s->first, 1, SP_MPI_GID, MPI_SUM, comm);
  MPI_Allreduce(&s->local, &s->total, 1, SP_MPI_GID, MPI_SUM, comm);
  s->first -= s->local;
  for (int n = 0; n < s->start[size]; n++) s->here[n] += s->first;
  MPI_Alltoallv(s->here, s->count, s->start, SP_MPI_GID, s->there, s->count, s->start, SP_MPI_GID,
                comm);
  SP_TRY(sp_agree(comm, list_pairs(size, s)));
  SP_TRY(gather_pairs(comm, s));
  status = join_pairs(s);
  if (!status) status = number_elements(s, components);
  return sp_agree(comm, status);
}

sp_status sp_components_create(MPI_Comm comm, const sp_topology *topology, sp_components **out) {
  search s = {.topology = topology};
  *out = NULL;
  sp_components *components;
  sp_status status = sp_agree(comm, sp_allocate(1, sizeof *components, "components", &components));
  if (!status) status = find(comm, &s, components);
  search_free(&s);
  if (status)
    sp_components_destroy(&components);
  else
    *out = components;
  return status;
}

void sp_components_destroy(sp_components **components) {
  if (!*components) return;
  free((*components)->of_element);
  free(*components);
  *components = NULL;
}
