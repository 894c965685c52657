#include "operators/cuda/patches.h"

#include <stdlib.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/hexes.h"
#include "operators/factors.h"
#include "operators/space.h"

enum {
  LANES = 32,
  MAP = 24,       /* coefficients of a trilinear map */
  MOST_EACH = 27, /* nodes of an element */
  /* Most contributions to a patch; bounds its nodes. */
  MOST_1 = SP_CUDA_PATCH(1) * SP_CORNERS,
  MOST_2 = SP_CUDA_PATCH(2) * MOST_EACH,
  MOST = (int)MOST_1 > (int)MOST_2 ? (int)MOST_1 : (int)MOST_2,
  MOST_GROUPS = (MOST + LANES - 1) / LANES,
  TABLE_BITS = 13, /* of a hash table for nodes */
  TABLE = 1 << TABLE_BITS,
  EMPTY = -1
};
_Static_assert((int)TABLE >= 2 * (int)MOST, "the table is at most half full");
_Static_assert(SP_CUDA_PATCH_NONE(1) < 1 << 16 && SP_CUDA_PATCH_NONE(2) < 1 << 16,
               "a contribution has 16 bits");

typedef struct builder {
  const sp_operator_setup *setup;
  sp_patches *out;
  int *total; /* [dofs], nodes of elements; 0 at DOFs shared with other ranks */
  int *first; /* [dofs], the first patch with it */
} builder;

/* The nodes of one patch: work space. A contribution is each * element + node of its lattice. */
typedef struct patch_nodes {
  int count, complete;
  int table[TABLE]; /* hash table: nodes, or EMPTY */
  int origin[MOST]; /* the first contribution to a node, counted over all elements */
  int terms[MOST];  /* contributions to it */
  int number[MOST]; /* its number in the patch */
  int found[MOST];  /* [contribution of the patch], its node before numbering */
} patch_nodes;

static int first_of(const builder *b, const sp_cuda_patch *patch) {
  return patch->element * b->out->each;
}

static int contributions(const builder *b, const sp_cuda_patch *patch) {
  return patch->elements * b->out->each;
}

static sp_lid dof_of(const builder *b, int contribution) {
  return b->setup->space->numbering->nodes[contribution];
}

/* For order 1, where nodes are corners. */
static const double *point_of(const builder *b, int corner) {
  return sp_hexes_lattice(b->setup->space->mesh->hexes, corner / SP_CORNERS) +
         (ptrdiff_t)(3 * (corner % SP_CORNERS));
}

static bool is_node(const builder *b, int contribution, int other) {
  if (dof_of(b, contribution) != dof_of(b, other)) return false;
  if (b->out->order > 1) return true;
  const double *x = point_of(b, contribution), *y = point_of(b, other);
  return x[0] == y[0] && x[1] == y[1] && x[2] == y[2];
}

static int find_node(const builder *b, patch_nodes *v, int contribution) {
  unsigned at = (unsigned)dof_of(b, contribution) * 2654435769u >> (32 - TABLE_BITS);
  for (; v->table[at] != EMPTY; at = (at + 1) % TABLE)
    if (is_node(b, contribution, v->origin[v->table[at]])) return v->table[at];
  v->table[at] = v->count;
  v->origin[v->count] = contribution;
  v->terms[v->count] = 0;
  return v->count++;
}

/* Sort complete nodes first, then by decreasing number of contributions, so that nodes of a group
 * have similar counts. */
static void number_nodes(const builder *b, patch_nodes *v) {
  enum { BINS = 16 };
  int next[2 * BINS + 1] = {0};
  int *bin = v->table; /* no longer needed */
  v->complete = 0;
  for (int n = 0; n < v->count; n++) {
    const bool complete = v->terms[n] == b->total[dof_of(b, v->origin[n])];
    const int many = v->terms[n] < BINS ? v->terms[n] : BINS;
    v->complete += complete;
    bin[n] = (complete ? BINS : 2 * BINS) - many;
    next[bin[n] + 1]++;
  }
  for (int i = 0; i < 2 * BINS; i++) next[i + 1] += next[i];
  for (int n = 0; n < v->count; n++) v->number[n] = next[bin[n]]++;
}

static void find_nodes(const builder *b, const sp_cuda_patch *patch, patch_nodes *v) {
  v->count = 0;
  memset(v->table, EMPTY, sizeof v->table);
  for (int n = 0; n < contributions(b, patch); n++) {
    v->found[n] = find_node(b, v, first_of(b, patch) + n);
    v->terms[v->found[n]]++;
  }
  number_nodes(b, v);
}

/* Words per node in each of its groups. */
static void count_words(const patch_nodes *v, unsigned words[MOST_GROUPS]) {
  memset(words, 0, MOST_GROUPS * sizeof *words);
  for (int n = 0; n < v->count; n++) {
    unsigned *most = &words[v->number[n] / LANES];
    const unsigned mine = (unsigned)(v->terms[n] + 1) / 2;
    if (mine > *most) *most = mine;
  }
}

/* ---- Passes over all patches ---- */

static void visit_some(void *builder_, size_t begin, size_t end) {
  builder *b = builder_;
  for (size_t p = begin; p < end; p++) {
    const sp_cuda_patch *patch = &b->out->list[p];
    for (int n = 0; n < contributions(b, patch); n++) {
      const sp_lid dof = dof_of(b, first_of(b, patch) + n);
      __atomic_fetch_add(&b->total[dof], 1, __ATOMIC_RELAXED);
      sp_lower(&b->first[dof], (int)p);
    }
  }
}

static void write_pairs(const builder *b, const sp_cuda_patch *patch, const patch_nodes *v) {
  const int each = b->out->each, words = b->out->element_words;
  unsigned *pairs = &b->out->pairs[(size_t)patch->element * (size_t)words];
  for (int e = 0; e < patch->elements; e++)
    for (int w = 0; w < words; w++) {
      const int q = 2 * w;
      unsigned pair = (unsigned)v->number[v->found[e * each + q]];
      if (q + 1 < each) pair |= (unsigned)v->number[v->found[e * each + q + 1]] << 16;
      pairs[w * patch->elements + e] = pair;
    }
}

/* Number the nodes, and count the contents of the patch. */
static sp_status count_some(void *builder_, void *workspace, size_t begin, size_t end) {
  builder *b = builder_;
  patch_nodes *v = workspace;
  for (size_t p = begin; p < end; p++) {
    sp_cuda_patch *patch = &b->out->list[p];
    unsigned words[MOST_GROUPS];
    find_nodes(b, patch, v);
    count_words(v, words);
    write_pairs(b, patch, v);
    patch->nodes = v->count;
    patch->complete = v->complete;
    patch->words = 0;
    for (int g = 0; g < (v->count + LANES - 1) / LANES; g++) patch->words += (int)words[g] * LANES;
  }
  return SP_OK;
}

/* Recover the results of find_nodes() from the patch's pairs, with nodes by number. */
static void recall_nodes(const builder *b, const sp_cuda_patch *patch, patch_nodes *v) {
  v->count = patch->nodes;
  v->complete = patch->complete;
  for (int n = 0; n < v->count; n++) {
    v->number[n] = n;
    v->terms[n] = 0;
  }
  for (int n = 0; n < contributions(b, patch); n++) {
    const int node = sp_patches_node(b->out, patch, n / b->out->each, n % b->out->each);
    v->found[n] = node;
    if (v->terms[node]++ == 0) v->origin[node] = first_of(b, patch) + n;
  }
}

static void write_nodes(const builder *b, const sp_cuda_patch *patch, int p, const patch_nodes *v) {
  sp_patches *out = b->out;
  const bool *constrained = b->setup->constrained;
  for (int n = 0; n < v->count; n++) {
    const sp_lid dof = dof_of(b, v->origin[n]);
    unsigned code = (unsigned)dof;
    /* True only in the DOF's first patch, and there only at the first node with it. */
    if (__atomic_load_n(&b->first[dof], __ATOMIC_RELAXED) == p) {
      code |= SP_CUDA_FIRST;
      __atomic_store_n(&b->first[dof], -1, __ATOMIC_RELAXED);
    }
    if (constrained && constrained[dof]) code |= SP_CUDA_CONSTRAINED;
    out->codes[patch->node + (unsigned)n] = code;
    if (n >= v->complete) out->slot_dofs[patch->slot + (unsigned)(n - v->complete)] = dof;
  }
}

static void write_points(const builder *b, const sp_cuda_patch *patch, const patch_nodes *v) {
  double *points = &b->out->geometry[3 * (size_t)patch->node];
  for (int n = 0; n < v->count; n++)
    for (int d = 0; d < 3; d++) points[d * v->count + n] = point_of(b, v->origin[n])[d];
}

static void write_maps(const builder *b, const sp_cuda_patch *patch) {
  double *maps = &b->out->geometry[MAP * (size_t)patch->element];
  const bool scaled = sp_operator_map_kind(b->setup) == SP_FACTORS_SCALED;
  for (int e = 0; e < patch->elements; e++) {
    double map[MAP];
    sp_operator_trilinear(b->setup, patch->element + e, map);
    if (scaled) map[1] /= map[0];
    for (int m = 0; m < MAP; m++) maps[m * patch->elements + e] = map[m];
  }
}

static void write_entries(const builder *b, const sp_cuda_patch *patch, patch_nodes *v) {
  sp_patches *out = b->out;
  const unsigned none = (unsigned)SP_CUDA_PATCH_NONE(out->order);
  unsigned words[MOST_GROUPS], at = patch->word;
  int *next = v->table; /* contributions to each node so far */
  count_words(v, words);
  for (int g = 0; g < (v->count + LANES - 1) / LANES; g++) {
    out->start[patch->group + (unsigned)g] = at;
    at += words[g] * LANES;
  }
  for (unsigned w = patch->word; w < at; w++) out->entries[w] = none | none << 16;
  memset(next, 0, (size_t)v->count * sizeof *next);
  for (int n = 0; n < contributions(b, patch); n++) {
    const int node = v->found[n], c = next[node]++;
    const unsigned start = out->start[patch->group + (unsigned)(node / LANES)];
    unsigned *word = &out->entries[start + (unsigned)(LANES * (c / 2) + node % LANES)];
    const unsigned entry = (unsigned)(n / out->each * out->results + n % out->each);
    const int shift = c % 2 * 16;
    *word = (*word & ~(0xffffu << shift)) | entry << shift;
  }
}

static sp_status write_some(void *builder_, void *workspace, size_t begin, size_t end) {
  builder *b = builder_;
  patch_nodes *v = workspace;
  for (size_t p = begin; p < end; p++) {
    const sp_cuda_patch *patch = &b->out->list[p];
    recall_nodes(b, patch, v);
    write_nodes(b, patch, (int)p, v);
    if (b->out->order == 1)
      write_points(b, patch, v);
    else
      write_maps(b, patch);
    write_entries(b, patch, v);
  }
  return SP_OK;
}

static sp_status visit_patches(builder *b, sp_loop_compute *compute) {
  const size_t count = (size_t)b->out->count;
  return sp_loop_run(&(sp_loop){.what = "patches",
                                .count = count,
                                .chunk = sp_loop_chunk(count, MOST),
                                .workspace_bytes = sizeof(patch_nodes),
                                .context = b,
                                .compute = compute});
}

static void cut_patches(int first, int end, sp_patches *out) {
  const int most = SP_CUDA_PATCH(out->order);
  for (; first < end; first += most)
    out->list[out->count++] =
        (sp_cuda_patch){.element = first, .elements = end - first < most ? end - first : most};
}

static void add_up(sp_patches *out) {
  for (int p = 0; p < out->count; p++) {
    sp_cuda_patch *patch = &out->list[p];
    patch->node = (unsigned)out->nodes;
    patch->slot = (unsigned)out->slots;
    patch->group = (unsigned)out->groups;
    patch->word = (unsigned)out->words;
    out->nodes += (size_t)patch->nodes;
    out->slots += (size_t)(patch->nodes - patch->complete);
    out->groups += (size_t)(patch->nodes + LANES - 1) / LANES;
    out->words += (size_t)patch->words;
    if (patch->nodes > out->most_nodes) out->most_nodes = patch->nodes;
    if (patch->words > out->most_words) out->most_words = patch->words;
  }
}

static sp_status build_patches(builder *b) {
  const sp_space *space = b->setup->space;
  const sp_numbering *numbering = space->numbering;
  const int elements = space->mesh->hexes->count, halo = space->mesh->halo_elements;
  const size_t dofs = (size_t)numbering->local;
  sp_patches *out = b->out;
  /* One more, because the halo may end inside a patch. */
  SP_TRY(SP_ALLOCATE("patches", SP_ARRAY(out->list, elements / SP_CUDA_PATCH(out->order) + 2),
                     SP_ARRAY(out->pairs, (size_t)elements * (size_t)out->element_words),
                     SP_ARRAY(b->total, dofs), SP_ARRAY(b->first, dofs)));
  cut_patches(0, halo, out);
  out->halo = out->count;
  cut_patches(halo, elements, out);
  sp_loop_set(dofs * sizeof *b->first, -1, b->first);
  SP_TRY(sp_loop_over("patches", (size_t)out->count, MOST, b, visit_some));
  for (sp_lid s = 0; s < numbering->shared_start[numbering->neighbours]; s++)
    b->total[numbering->shared[s]] = 0;
  SP_TRY(visit_patches(b, count_some));
  add_up(out);
  out->geometry_count = out->order == 1 ? 3 * out->nodes : MAP * (size_t)elements;
  SP_TRY(SP_ALLOCATE("patches", SP_ARRAY(out->codes, out->nodes),
                     SP_ARRAY(out->geometry, out->geometry_count),
                     SP_ARRAY(out->slot_dofs, out->slots), SP_ARRAY(out->start, out->groups + 1),
                     SP_ARRAY(out->entries, out->words)));
  out->start[out->groups] = (unsigned)out->words;
  return visit_patches(b, write_some);
}

sp_status sp_patches_create(const sp_operator_setup *setup, sp_patches *out) {
  builder b = {.setup = setup, .out = out};
  const int order = setup->space->numbering->order, each = (order + 1) * (order + 1) * (order + 1);
  *out = (sp_patches){.order = order,
                      .each = each,
                      .results = SP_CUDA_PATCH_RESULTS(order),
                      .element_words = (each + 1) / 2};
  const sp_status status = build_patches(&b);
  SP_FREE(b.total, b.first);
  return status;
}

void sp_patches_free(sp_patches *patches) {
  SP_FREE(patches->list, patches->codes, patches->geometry, patches->pairs, patches->start,
          patches->entries, patches->slot_dofs);
  *patches = (sp_patches){0};
}
