#include "mesh/parts.h"

#include <stdlib.h>

#include "mesh/box_parts.h"
#include "mesh/coarsen.h"

static sp_status allocate(int count, int refinements, sp_parts **out) {
  *out = NULL;
  SP_TRY(sp_allocate(1, sizeof **out, "parts", out));
  **out = (sp_parts){.count = count, .refinements = refinements};
  return sp_allocate((size_t)count, sizeof *(*out)->of, "parts", &(*out)->of);
}

void sp_parts_destroy(sp_parts **parts) {
  if (!*parts) return;
  sp_box_parts_destroy(&(*parts)->box);
  free((*parts)->of);
  free(*parts);
  *parts = NULL;
}

/* ---- Boxes ---- */

static void count_box(sp_parts *parts) {
  sp_box_parts_count(parts->box, -1, &parts->all);
  for (int r = 0; r < parts->count; r++) sp_box_parts_count(parts->box, r, &parts->of[r]);
}

sp_status sp_parts_of_box(const sp_box *box, const bool periodic[3], int refinements, int count,
                          sp_parts **out) {
  sp_status status = allocate(count, 0, out);
  if (!status) status = sp_box_parts_create(box, periodic, refinements, count, &(*out)->box);
  if (!status)
    count_box(*out);
  else
    sp_parts_destroy(out);
  return status;
}

/* ---- Files ---- */

/* A part, and another one that shares a vertex with it. */
typedef struct pair {
  int part, other;
} pair;

static int compare_pairs(const void *left, const void *right) {
  const pair *a = left, *b = right;
  if (a->part != b->part) return a->part < b->part ? -1 : 1;
  return (a->other > b->other) - (a->other < b->other);
}

/* Entity i of a topology is in parts[start[i]] to parts[start[i + 1] - 1], which differ. */
typedef struct holders {
  sp_lid *start; /* [entities + 1] */
  int *parts;
} holders;

/* Find the holders on the ranks of the mesh. */
static sp_status find_ranks(const sp_mesh *mesh, holders *h) {
  const sp_topology *t = mesh->topology;
  const size_t entities = (size_t)t->entities;
  int rank;
  MPI_Comm_rank(mesh->comm, &rank);
  SP_TRY(sp_allocate(entities + 1, sizeof *h->start, "parts", &h->start));
  SP_TRY(sp_allocate(entities + (size_t)t->sharer_start[entities], sizeof *h->parts, "parts",
                     &h->parts));
  for (size_t i = 0, n = 0; i < entities; i++) {
    h->parts[n++] = rank;
    for (sp_lid s = t->sharer_start[i]; s < t->sharer_start[i + 1]; s++)
      h->parts[n++] = t->sharers[s];
    h->start[i + 1] = (sp_lid)n;
  }
  return SP_OK;
}

static int part_of(const sp_mesh *mesh, int count, sp_lid element) {
  return (int)((sp_gid)element * count / mesh->hexes->count);
}

/* Find the holders among `count` parts. Elements come part by part, so an entity that has a part
 * already has it last. */
static sp_status find_pieces(const sp_mesh *mesh, int count, holders *h) {
  const sp_topology *t = mesh->topology;
  const size_t entities = (size_t)t->entities, slots = (size_t)t->elements * SP_SLOTS;
  sp_lid *end;
  SP_TRY(sp_allocate(entities + 1, sizeof *h->start, "parts", &h->start));
  SP_TRY(sp_allocate(slots, sizeof *h->parts, "parts", &h->parts));
  SP_TRY(sp_allocate(entities, sizeof *end, "parts", &end));
  for (size_t s = 0; s < slots; s++) h->start[t->slots[s / SP_SLOTS][s % SP_SLOTS] + 1]++;
  for (size_t i = 0; i < entities; i++) {
    end[i] = h->start[i];
    h->start[i + 1] += h->start[i];
  }
  for (size_t s = 0; s < slots; s++) {
    const sp_lid i = t->slots[s / SP_SLOTS][s % SP_SLOTS];
    const int part = part_of(mesh, count, (sp_lid)(s / SP_SLOTS));
    if (end[i] == h->start[i] || h->parts[end[i] - 1] != part) h->parts[end[i]++] = part;
  }
  sp_lid n = 0;
  for (size_t i = 0; i < entities; i++) {
    const sp_lid first = h->start[i];
    h->start[i] = n;
    for (sp_lid s = first; s < end[i]; s++) h->parts[n++] = h->parts[s];
  }
  h->start[entities] = n;
  free(end);
  return SP_OK;
}

/* Count what part `mine` has, or all parts if it is -1. */
static void count_entities(const sp_mesh *mesh, const holders *h, int mine, sp_parts *parts) {
  const sp_topology *t = mesh->topology;
  for (int kind = 0; kind < 3; kind++)
    for (sp_lid i = t->start[kind]; i < t->start[kind + 1]; i++)
      for (sp_lid n = h->start[i]; n < h->start[i + 1]; n++) {
        const sp_lid count = h->start[i + 1] - h->start[i];
        sp_census *of = &parts->of[h->parts[n]];
        if (mine >= 0 && h->parts[n] != mine) continue;
        of->local[kind] += 1;
        of->shared[kind] += count - 1;
        parts->all.local[kind] += 1.0 / count;
      }
}

/* Count the neighbours of all parts; those of a part share vertices with it. */
static sp_status count_neighbours(const sp_mesh *mesh, const holders *h, sp_parts *parts) {
  const sp_lid vertices = mesh->topology->start[1];
  size_t count = 0;
  pair *pairs;
  for (sp_lid i = 0; i < vertices; i++) {
    const size_t own = (size_t)(h->start[i + 1] - h->start[i]);
    count += own * (own - 1);
  }
  SP_TRY(sp_allocate(count, sizeof *pairs, "parts", &pairs));
  count = 0;
  for (sp_lid i = 0; i < vertices; i++)
    for (sp_lid a = h->start[i]; a < h->start[i + 1]; a++)
      for (sp_lid b = h->start[i]; b < h->start[i + 1]; b++)
        if (a != b) pairs[count++] = (pair){h->parts[a], h->parts[b]};
  if (count > 0) qsort(pairs, count, sizeof *pairs, compare_pairs);
  for (size_t n = 0; n < count; n++)
    if (n == 0 || compare_pairs(&pairs[n - 1], &pairs[n]) != 0)
      parts->of[pairs[n].part].neighbours += 1;
  free(pairs);
  return SP_OK;
}

/* `mine`: as above. */
static sp_status count_mesh(const sp_mesh *mesh, int mine, sp_parts *parts) {
  holders h = {0};
  sp_status status = mine >= 0 ? find_ranks(mesh, &h) : find_pieces(mesh, parts->count, &h);
  if (!status) {
    count_entities(mesh, &h, mine, parts);
    status = count_neighbours(mesh, &h, parts);
  }
  for (sp_lid e = 0; e < mesh->hexes->count; e++)
    parts->of[mine >= 0 ? mine : part_of(mesh, parts->count, e)].elements += 1;
  parts->all.elements = mesh->hexes->count;
  free(h.start);
  free(h.parts);
  return status;
}

/* Each rank has counted its own part. */
static void gather(const sp_mesh *mesh, sp_parts *parts) {
  enum { DOUBLES = sizeof(sp_census) / sizeof(double) };
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, parts->of, DOUBLES, MPI_DOUBLE, mesh->comm);
  MPI_Allreduce(MPI_IN_PLACE, &parts->all, DOUBLES, MPI_DOUBLE, MPI_SUM, mesh->comm);
}

sp_status sp_parts_of_mesh(const sp_mesh *mesh, int refinements, int count, sp_parts **out) {
  int rank, ranks;
  MPI_Comm_rank(mesh->comm, &rank);
  MPI_Comm_size(mesh->comm, &ranks);
  const bool real = count == ranks;
  sp_status status = allocate(count, refinements, out);
  if (!status && mesh->global_elements < count)
    status = sp_fail(SP_ERR_INPUT,
                     "%d ranks for a mesh of %lld elements: use at most one rank per element",
                     count, (long long)mesh->global_elements);
  if (!status) status = count_mesh(mesh, real ? rank : -1, *out);
  status = sp_agree(mesh->comm, status);
  if (!status && real) gather(mesh, *out);
  if (!status) (*out)->mesh = mesh;
  if (status) sp_parts_destroy(out);
  return status;
}

/* ---- Coarser meshes ---- */

sp_status sp_parts_coarsen(sp_parts *parts, bool *found) {
  bool strong[3];
  if (parts->box) {
    SP_TRY(sp_box_parts_coarsen(parts->box, found));
    if (*found) count_box(parts);
    return SP_OK;
  }
  *found = false;
  if (parts->refinements == 0) return SP_OK;
  SP_TRY(sp_mesh_strong_directions(parts->mesh, strong)); /* refinement hardly changes them */
  *found = strong[0] && strong[1] && strong[2];
  parts->refinements -= *found;
  return SP_OK;
}
