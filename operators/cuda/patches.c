#include "operators/cuda/patches.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "io/threads.h"
#include "operators/space.h"

enum {
  LANES = 32,
  MOST = SP_CUDA_PATCH * SP_CORNERS, /* vertices of a patch, and contributions */
  TABLE_BITS = 12,                   /* of a hash table for them */
  TABLE = 1 << TABLE_BITS,
  EMPTY = -1
};
_Static_assert((int)TABLE >= 2 * (int)MOST, "the table is at most half full");
_Static_assert((int)MOST == (int)SP_CUDA_NO_CORNER && MOST < 1 << 16, "a contribution has 16 bits");

typedef struct builder {
  const sp_operator_setup *setup;
  sp_patches *out;
  int *total; /* [dofs], corners of elements; 0 at DOFs that other ranks have too */
  int *first; /* [dofs], the first patch that has it */
} builder;

/* The vertices of one patch: work space. */
typedef struct vertices {
  int count, complete;
  int table[TABLE];  /* hash table: vertices, or EMPTY */
  int corner[MOST];  /* the first corner of a vertex, SP_CORNERS * element + corner */
  int corners[MOST]; /* how many it has */
  int number[MOST];  /* its number in the patch */
  int found[MOST]; /* [elements][SP_CORNERS], the vertex of each corner, before they are numbered */
} vertices;

static sp_lid dof_of(const builder *b, int corner) {
  return b->setup->space->numbering->nodes[corner];
}

static const double *point_of(const builder *b, int corner) {
  return sp_hexes_lattice(b->setup->space->mesh->hexes, corner / SP_CORNERS) +
         (ptrdiff_t)(3 * (corner % SP_CORNERS));
}

/* Across a period two points have one DOF: these are two vertices. */
static int find(const builder *b, vertices *v, int corner) {
  const sp_lid dof = dof_of(b, corner);
  const double *point = point_of(b, corner);
  unsigned at = (unsigned)dof * 2654435769u >> (32 - TABLE_BITS);
  for (; v->table[at] != EMPTY; at = (at + 1) % TABLE) {
    const int vertex = v->table[at];
    if (dof_of(b, v->corner[vertex]) != dof) continue;
    const double *other = point_of(b, v->corner[vertex]);
    if (point[0] == other[0] && point[1] == other[1] && point[2] == other[2]) return vertex;
  }
  v->table[at] = v->count;
  v->corner[v->count] = corner;
  v->corners[v->count] = 0;
  return v->count++;
}

/* Complete vertices first, the others by falling number of corners, so that those of a group have
 * about as many. */
static void number_vertices(const builder *b, vertices *v) {
  enum { BINS = 16 };
  int next[BINS + 1] = {0};
  int *bin = v->table; /* no longer needed */
  v->complete = 0;
  for (int n = 0; n < v->count; n++) {
    const bool complete = v->corners[n] == b->total[dof_of(b, v->corner[n])];
    const int many = v->corners[n] < BINS - 1 ? v->corners[n] : BINS - 1;
    v->complete += complete;
    bin[n] = complete ? 0 : BINS - many;
    next[bin[n] + 1]++;
  }
  for (int i = 0; i < BINS; i++) next[i + 1] += next[i];
  for (int n = 0; n < v->count; n++) v->number[n] = next[bin[n]]++;
}

static void find_vertices(const builder *b, const sp_cuda_patch *patch, vertices *v) {
  v->count = 0;
  memset(v->table, EMPTY, sizeof v->table);
  for (int n = 0; n < patch->elements * SP_CORNERS; n++) {
    v->found[n] = find(b, v, patch->element * SP_CORNERS + n);
    v->corners[v->found[n]]++;
  }
  number_vertices(b, v);
}

/* Words per vertex in each of its groups. */
static void count_words(const vertices *v, unsigned words[MOST / LANES]) {
  memset(words, 0, MOST / LANES * sizeof *words);
  for (int n = 0; n < v->count; n++) {
    unsigned *most = &words[v->number[n] / LANES];
    const unsigned mine = (unsigned)(v->corners[n] + 1) / 2;
    if (mine > *most) *most = mine;
  }
}

/* ---- Passes over all patches ---- */

static sp_status clear_some(void *builder_, void *none, size_t begin, size_t end) {
  (void)none;
  builder *b = builder_;
  for (size_t d = begin; d < end; d++) b->first[d] = INT_MAX;
  return SP_OK;
}

static void lower(int *first, int value) {
  int before = __atomic_load_n(first, __ATOMIC_RELAXED);
  while (value < before && !__atomic_compare_exchange_n(first, &before, value, true,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
}

static sp_status visit_some(void *builder_, void *none, size_t begin, size_t end) {
  (void)none;
  builder *b = builder_;
  for (size_t p = begin; p < end; p++) {
    const sp_cuda_patch *patch = &b->out->list[p];
    for (int n = 0; n < patch->elements * SP_CORNERS; n++) {
      const sp_lid dof = dof_of(b, patch->element * SP_CORNERS + n);
      __atomic_fetch_add(&b->total[dof], 1, __ATOMIC_RELAXED);
      lower(&b->first[dof], (int)p);
    }
  }
  return SP_OK;
}

/* Number the vertices, and count what the patch has. */
static sp_status count_some(void *builder_, void *workspace, size_t begin, size_t end) {
  builder *b = builder_;
  vertices *v = workspace;
  for (size_t p = begin; p < end; p++) {
    sp_cuda_patch *patch = &b->out->list[p];
    unsigned words[MOST / LANES];
    find_vertices(b, patch, v);
    count_words(v, words);
    patch->vertices = v->count;
    patch->complete = v->complete;
    for (int n = 0; n < patch->elements * SP_CORNERS; n++)
      b->out->corners[patch->element + n / SP_CORNERS][n % SP_CORNERS] =
          (unsigned short)v->number[v->found[n]];
    patch->words = 0;
    for (int g = 0; g < (v->count + LANES - 1) / LANES; g++) patch->words += (int)words[g] * LANES;
  }
  return SP_OK;
}

static void write_vertices(const builder *b, const sp_cuda_patch *patch, int p, const vertices *v) {
  sp_patches *out = b->out;
  const bool *constrained = b->setup->constrained;
  for (int m = 0; m < v->count; m++) {
    const int n = v->number[m];
    const sp_lid dof = dof_of(b, v->corner[m]);
    const double *point = point_of(b, v->corner[m]);
    const size_t at = (size_t)patch->vertex + (size_t)n;
    unsigned code = (unsigned)dof;
    /* Only this patch finds its number there; a second vertex with this DOF does not. */
    if (__atomic_load_n(&b->first[dof], __ATOMIC_RELAXED) == p) {
      code |= SP_CUDA_FIRST;
      __atomic_store_n(&b->first[dof], -1, __ATOMIC_RELAXED);
    }
    if (constrained && constrained[dof]) code |= SP_CUDA_CONSTRAINED;
    out->codes[at] = code;
    for (int d = 0; d < 3; d++)
      out->points[3 * (size_t)patch->vertex + (size_t)(d * v->count + n)] = point[d];
    if (n >= v->complete) out->slot_dofs[patch->slot + (unsigned)(n - v->complete)] = dof;
  }
}

static void write_entries(const builder *b, const sp_cuda_patch *patch, vertices *v) {
  sp_patches *out = b->out;
  unsigned words[MOST / LANES], at = patch->word;
  int *next = v->table; /* no longer needed: contributions of each vertex so far */
  count_words(v, words);
  for (int g = 0; g < (v->count + LANES - 1) / LANES; g++) {
    out->start[patch->group + (unsigned)g] = at;
    at += words[g] * LANES;
  }
  for (unsigned w = patch->word; w < at; w++)
    out->entries[w] = SP_CUDA_NO_CORNER | (unsigned)SP_CUDA_NO_CORNER << 16;
  memset(next, 0, (size_t)v->count * sizeof *next);
  for (int n = 0; n < patch->elements * SP_CORNERS; n++) {
    const int vertex = v->found[n], number = v->number[vertex], c = next[vertex]++;
    const unsigned start = out->start[patch->group + (unsigned)(number / LANES)];
    unsigned *word = &out->entries[start + (unsigned)(LANES * (c / 2) + number % LANES)];
    const unsigned entry = (unsigned)(n % SP_CORNERS * SP_CUDA_PATCH + n / SP_CORNERS);
    const int shift = c % 2 * 16;
    *word = (*word & ~(0xffffu << shift)) | entry << shift;
  }
}

static sp_status write_some(void *builder_, void *workspace, size_t begin, size_t end) {
  builder *b = builder_;
  vertices *v = workspace;
  for (size_t p = begin; p < end; p++) {
    const sp_cuda_patch *patch = &b->out->list[p];
    find_vertices(b, patch, v);
    write_vertices(b, patch, (int)p, v);
    write_entries(b, patch, v);
  }
  return SP_OK;
}

static sp_status visit_patches(builder *b, sp_status (*compute)(void *, void *, size_t, size_t)) {
  const size_t count = (size_t)b->out->count;
  return sp_loop_run(&(sp_loop){.what = "patches",
                                .count = count,
                                .chunk = sp_loop_chunk(count, MOST),
                                .workspace_bytes = sizeof(vertices),
                                .context = b,
                                .compute = compute});
}

static void cut(int first, int end, sp_patches *out) {
  for (; first < end; first += SP_CUDA_PATCH)
    out->list[out->count++] = (sp_cuda_patch){
        .element = first, .elements = end - first < SP_CUDA_PATCH ? end - first : SP_CUDA_PATCH};
}

static void add_up(sp_patches *out) {
  for (int p = 0; p < out->count; p++) {
    sp_cuda_patch *patch = &out->list[p];
    patch->vertex = (unsigned)out->vertices;
    patch->slot = (unsigned)out->slots;
    patch->group = (unsigned)out->groups;
    patch->word = (unsigned)out->words;
    out->vertices += (size_t)patch->vertices;
    out->slots += (size_t)(patch->vertices - patch->complete);
    out->groups += (size_t)(patch->vertices + LANES - 1) / LANES;
    out->words += (size_t)patch->words;
    if (patch->vertices > out->most_vertices) out->most_vertices = patch->vertices;
    if (patch->words > out->most_words) out->most_words = patch->words;
  }
}

static sp_status build(builder *b) {
  const sp_space *space = b->setup->space;
  const sp_numbering *numbering = space->numbering;
  const int elements = space->mesh->hexes->count, halo = space->mesh->halo_elements;
  const size_t dofs = (size_t)numbering->local;
  sp_patches *out = b->out;
  SP_TRY(sp_allocate((size_t)sp_cuda_patch_count(elements) + 1, sizeof *out->list, "patches",
                     &out->list));
  SP_TRY(sp_allocate((size_t)elements, sizeof *out->corners, "patches", &out->corners));
  SP_TRY(sp_allocate(dofs, sizeof *b->total, "patches", &b->total));
  SP_TRY(sp_allocate(dofs, sizeof *b->first, "patches", &b->first));
  cut(0, halo, out);
  out->halo = out->count;
  cut(halo, elements, out);
  SP_TRY(sp_loop_over("patches", dofs, 1, b, clear_some));
  SP_TRY(sp_loop_over("patches", (size_t)out->count, MOST, b, visit_some));
  for (sp_lid s = 0; s < numbering->shared_start[numbering->neighbours]; s++)
    b->total[numbering->shared[s]] = 0;
  SP_TRY(visit_patches(b, count_some));
  add_up(out);
  SP_TRY(sp_allocate(out->vertices, sizeof *out->codes, "patches", &out->codes));
  SP_TRY(sp_allocate(3 * out->vertices, sizeof *out->points, "patches", &out->points));
  SP_TRY(sp_allocate(out->slots, sizeof *out->slot_dofs, "patches", &out->slot_dofs));
  SP_TRY(sp_allocate(out->groups + 1, sizeof *out->start, "patches", &out->start));
  SP_TRY(sp_allocate(out->words, sizeof *out->entries, "patches", &out->entries));
  out->start[out->groups] = (unsigned)out->words;
  return visit_patches(b, write_some);
}

sp_status sp_patches_create(const sp_operator_setup *setup, sp_patches *out) {
  builder b = {.setup = setup, .out = out};
  *out = (sp_patches){0};
  const sp_status status = build(&b);
  free(b.total);
  free(b.first);
  return status;
}

void sp_patches_free(sp_patches *patches) {
  free(patches->list);
  free(patches->codes);
  free(patches->points);
  free(patches->corners);
  free(patches->start);
  free(patches->entries);
  free(patches->slot_dofs);
  *patches = (sp_patches){0};
}
