#include "operators/cuda/assembly.h"

#include <limits.h>

#include "io/threads.h"
#include "operators/cuda/copies.h"
#include "operators/space.h"

enum { WARP = 5, LANES = 1 << WARP, NOT_LISTED = -1 };

/* The array of edge nodes: `each` per element for `count` elements, or one per slot; the halo's
 * come first. */
typedef struct edge_nodes {
  size_t count, halo;
  int each;
  const sp_lid *dofs;                                       /* of slots, or NULL */
  const sp_numbering *numbering;                            /* of elements */
  unsigned short places[SP_MAX_NQ * SP_MAX_NQ * SP_MAX_NQ]; /* sp_cuda_node_order */
} edge_nodes;

static void describe_edge_nodes(const sp_operator_setup *setup, const sp_patches *patches,
                                edge_nodes *out) {
  const sp_numbering *numbering = setup->space->numbering;
  const sp_mesh *mesh = setup->space->mesh;
  if (patches) {
    *out = (edge_nodes){.count = patches->slots,
                        .halo = patches->halo < patches->count ? patches->list[patches->halo].slot
                                                               : patches->slots,
                        .each = 1,
                        .dofs = patches->slot_dofs};
    return;
  }
  *out = (edge_nodes){.count = (size_t)mesh->hexes->count,
                      .halo = (size_t)mesh->halo_elements,
                      .each = sp_cuda_edge_nodes(numbering->order),
                      .numbering = numbering};
  sp_cuda_node_order(numbering->order, out->places);
}

/* The DOF of edge node q of element or slot n, with index n * each + q. */
static inline sp_lid dof_of(const edge_nodes *nodes, size_t n, int q) {
  if (nodes->dofs) return nodes->dofs[n];
  const size_t nq = (size_t)nodes->numbering->order + 1;
  return nodes->numbering->nodes[n * nq * nq * nq + nodes->places[q]];
}

/* A list of targets during its construction, for DOFs in [first, end). */
typedef struct list {
  const edge_nodes *nodes;
  const bool *constrained; /* [DOFs], to be marked; NULL: none */
  const bool *skipped;     /* [DOFs] without entries; NULL: none */
  sp_lid first, end;
  const sp_lid *target; /* [end - first], 1 + target or 0; NULL: all DOFs, in their order */
  size_t targets;
  int group;       /* a group has 2^group targets */
  unsigned *count; /* [targets], contributions */
  unsigned *start, *entries;
} list;

static inline sp_lid target_of(const list *l, sp_lid dof) {
  if (dof < l->first || dof >= l->end || (l->skipped && l->skipped[dof])) return NOT_LISTED;
  return l->target ? l->target[dof - l->first] - 1 : dof - l->first;
}

static unsigned *entry_of(const list *l, size_t target, unsigned contribution) {
  const size_t group = target >> l->group, place = target - (group << l->group);
  return &l->entries[l->start[group] + ((size_t)contribution << l->group) + place];
}

/* Count the contributions; store them if there are `entries`, in arbitrary order, which
 * sort_entries makes definite. */
static void visit_nodes(void *context, size_t begin, size_t end) {
  list *l = context;
  const int each = l->nodes->each;
  for (size_t n = begin; n < end; n++)
    for (int q = 0; q < each; q++) {
      const sp_lid t = target_of(l, dof_of(l->nodes, n, q));
      if (t == NOT_LISTED) continue;
      const unsigned c = __atomic_fetch_add(&l->count[t], 1, __ATOMIC_RELAXED);
      if (l->entries) *entry_of(l, (size_t)t, c) = (unsigned)n * (unsigned)each + (unsigned)q;
    }
}

static void clear_entries(void *context, size_t begin, size_t end) {
  list *l = context;
  for (size_t n = begin; n < end; n++) l->entries[n] = SP_CUDA_ABSENT;
}

/* DOFs first + begin ... first + end - 1. */
static void mark_constrained(void *context, size_t begin, size_t end) {
  list *l = context;
  for (size_t n = begin; n < end; n++) {
    const sp_lid dof = l->first + (sp_lid)n;
    const sp_lid t = target_of(l, dof);
    /* A group without contributions has no entries. */
    if (l->constrained[dof] && t != NOT_LISTED &&
        l->start[t >> l->group] < l->start[(t >> l->group) + 1])
      *entry_of(l, (size_t)t, 0) |= SP_CUDA_CONSTRAINED;
  }
}

/* Sort by elements or slots: few entries, nearly in order. */
static void sort_entries(void *context, size_t begin, size_t end) {
  list *l = context;
  for (size_t t = begin; t < end; t++)
    for (unsigned c = 1; c < l->count[t]; c++) {
      const unsigned entry = *entry_of(l, t, c);
      unsigned to = c;
      for (; to > 0 && *entry_of(l, t, to - 1) > entry; to--)
        *entry_of(l, t, to) = *entry_of(l, t, to - 1);
      *entry_of(l, t, to) = entry;
    }
}

static sp_status fill_targets(list *l, sp_cuda_targets *out) {
  const size_t lanes = (size_t)1 << l->group;
  const size_t targets = l->targets, groups = (targets + lanes - 1) / lanes;
  const size_t count = l->nodes->count, each = (size_t)l->nodes->each;
  SP_TRY(SP_ALLOCATE("assembly", SP_ARRAY(l->count, targets), SP_ARRAY(l->start, groups + 1)));
  SP_TRY(sp_loop_over("assembly", count, each, l, visit_nodes));
  unsigned entries = 0;
  for (size_t g = 0; g < groups; g++) {
    unsigned most = 0;
    for (size_t t = g * lanes; t < (g + 1) * lanes && t < targets; t++) {
      most = l->count[t] > most ? l->count[t] : most;
      l->count[t] = 0;
    }
    l->start[g] = entries;
    entries += most * (unsigned)lanes;
  }
  l->start[groups] = entries;
  SP_TRY(sp_allocate(entries, sizeof *l->entries, "assembly", &l->entries));
  SP_TRY(sp_loop_over("assembly", entries, 1, l, clear_entries));
  SP_TRY(sp_loop_over("assembly", count, each, l, visit_nodes));
  SP_TRY(sp_loop_over("assembly", targets, LANES, l, sort_entries));
  if (l->constrained)
    SP_TRY(sp_loop_over("assembly", (size_t)(l->end - l->first), 1, l, mark_constrained));
  out->count = (int)targets;
  SP_TRY(sp_cuda_copy_of(l->start, groups + 1, sizeof(unsigned), "assembly", &out->start));
  return sp_cuda_copy_of(l->entries, entries, sizeof(unsigned), "assembly", &out->entries);
}

static sp_status make_list(list *l, sp_cuda_targets *out) {
  if (l->targets == 0) return SP_OK;
  const sp_status status = fill_targets(l, out);
  SP_FREE(l->count, l->start, l->entries);
  return status;
}

/* Work arrays of build_shared(). Targets are numbered from 1; 0: none. */
typedef struct workspace {
  edge_nodes halo;
  bool *on_edge, *is_shared;    /* [dofs]; is_shared: and on an edge */
  sp_lid *shared_target, *dofs; /* of the shared list: [dofs], [shared entries] */
} workspace;

/* Shared DOFs on edges and at vertices, each once; returns their number. */
static size_t list_shared(const sp_numbering *numbering, workspace *w) {
  size_t count = 0;
  for (sp_lid s = 0; s < numbering->shared_start[numbering->neighbours]; s++) {
    const sp_lid dof = numbering->shared[s];
    if (!w->on_edge[dof] || w->is_shared[dof]) continue;
    w->is_shared[dof] = true;
    w->dofs[count] = dof;
    w->shared_target[dof] = (sp_lid)++count;
  }
  return count;
}

static void mark_edges(void *workspace_, size_t begin, size_t end) {
  const workspace *w = workspace_;
  for (size_t n = begin; n < end; n++)
    for (int q = 0; q < w->halo.each; q++)
      __atomic_store_n(&w->on_edge[dof_of(&w->halo, n, q)], true, __ATOMIC_RELAXED);
}

/* Find the target of each sent value, and the bits of shared DOFs. */
static sp_status mark_shared(const sp_numbering *numbering, const workspace *w,
                             sp_cuda_assembly *out) {
  const size_t entries = (size_t)numbering->shared_start[numbering->neighbours];
  const size_t words = (size_t)numbering->local / LANES + 1;
  SP_OWNED int *sent = NULL;
  SP_OWNED unsigned *waits = NULL;
  SP_TRY(SP_ALLOCATE("assembly", SP_ARRAY(sent, entries), SP_ARRAY(waits, words)));
  for (size_t s = 0; s < entries; s++) {
    const sp_lid dof = numbering->shared[s], target = w->shared_target[dof];
    sent[s] = target ? target - 1 : out->shared.count;
    waits[dof / LANES] |= 1u << dof % LANES;
  }
  SP_TRY(sp_cuda_copy_of(sent, entries, sizeof *sent, "assembly", &out->sent));
  return sp_cuda_copy_of(waits, words, sizeof *waits, "assembly", &out->waits);
}

/* The list of shared DOFs. */
static sp_status build_shared(const sp_operator_setup *setup, const edge_nodes *nodes, workspace *w,
                              sp_cuda_assembly *out) {
  const sp_numbering *numbering = setup->space->numbering;
  const size_t dofs = (size_t)numbering->local;
  const size_t entries = (size_t)numbering->shared_start[numbering->neighbours];
  w->halo = *nodes;
  w->halo.count = nodes->halo;
  SP_TRY(SP_ALLOCATE("assembly", SP_ARRAY(w->on_edge, dofs), SP_ARRAY(w->is_shared, dofs),
                     SP_ARRAY(w->shared_target, dofs), SP_ARRAY(w->dofs, entries)));
  SP_TRY(sp_loop_over("assembly", nodes->halo, (size_t)nodes->each, w, mark_edges));
  const size_t shared = list_shared(numbering, w);
  SP_TRY(sp_cuda_copy_of(w->dofs, shared, sizeof(int), "assembly", &out->shared_dofs));
  list l = {.nodes = &w->halo,
            .constrained = setup->constrained,
            .end = numbering->local,
            .target = w->shared_target,
            .targets = shared,
            .group = WARP};
  SP_TRY(make_list(&l, &out->shared));
  return mark_shared(numbering, w, out);
}

static sp_status build_lists(const sp_operator_setup *setup, const edge_nodes *nodes, workspace *w,
                             sp_cuda_assembly *out) {
  const sp_numbering *numbering = setup->space->numbering;
  out->first_face = numbering->class_start[SP_FACE_DOFS];
  out->first_edge = numbering->class_start[nodes->dofs ? SP_FACE_DOFS : SP_EDGE_DOFS];
  out->owned = numbering->owned;
  out->local = numbering->local;
  if (numbering->neighbours > 0) SP_TRY(build_shared(setup, nodes, w, out));
  list l = {.nodes = nodes,
            .constrained = setup->constrained,
            .skipped = w->is_shared,
            .first = out->first_edge,
            .end = out->owned,
            .targets = (size_t)(out->owned - out->first_edge),
            .group = WARP};
  return make_list(&l, &out->own);
}

sp_status sp_cuda_assembly_create(const sp_operator_setup *setup, const sp_patches *patches,
                                  sp_cuda_assembly *out) {
  workspace w = {0};
  edge_nodes nodes;
  *out = (sp_cuda_assembly){0};
  describe_edge_nodes(setup, patches, &nodes);
  const sp_status status = build_lists(setup, &nodes, &w, out);
  SP_FREE(w.on_edge, w.is_shared, w.shared_target, w.dofs);
  return status;
}

void sp_cuda_assembly_free(sp_cuda_assembly *assembly) {
  SP_CUDA_FREE(assembly->own.start, assembly->own.entries, assembly->shared.start,
               assembly->shared.entries, assembly->shared_dofs, assembly->sent, assembly->waits);
  *assembly = (sp_cuda_assembly){0};
}

/* ---- All nodes of the elements ---- */

sp_status sp_cuda_gather_create(const sp_space *space, const bool *zero, sp_cuda_targets *out) {
  const sp_numbering *numbering = space->numbering;
  const size_t nq = (size_t)numbering->order + 1;
  const size_t count = (size_t)space->mesh->hexes->count * nq * nq * nq;
  const edge_nodes nodes = {.count = count, .each = 1, .dofs = numbering->nodes};
  list l = {.nodes = &nodes,
            .skipped = zero,
            .end = numbering->local,
            .targets = (size_t)numbering->local};
  if (count > INT_MAX)
    return sp_fail(SP_ERR_INPUT, "%zu element nodes of order %d on one GPU: use more ranks", count,
                   numbering->order);
  return make_list(&l, out);
}

/* Codes of nodes during their construction. Node q of element e is number e * each + q. */
typedef struct node_codes {
  const sp_lid *dofs; /* [elements][all], lexicographic */
  const bool *constrained;
  sp_lid local;
  size_t all, each;
  unsigned short places[SP_MAX_NQ * SP_MAX_NQ * SP_MAX_NQ]; /* sp_cuda_node_order */
  sp_lid *first;                                            /* [local], the lowest node of each */
  unsigned *codes;                                          /* [elements][each] */
} node_codes;

static sp_lid dof_of_node(const node_codes *c, size_t n) {
  return c->dofs[n / c->each * c->all + c->places[n % c->each]];
}

static void find_first(void *context, size_t begin, size_t end) {
  const node_codes *c = context;
  for (size_t n = begin * c->each; n < end * c->each; n++) {
    const sp_lid dof = dof_of_node(c, n);
    if (dof < c->local) sp_lower(&c->first[dof], (sp_lid)n);
  }
}

static void write_codes(void *context, size_t begin, size_t end) {
  const node_codes *c = context;
  for (size_t n = begin * c->each; n < end * c->each; n++) {
    const sp_lid dof = dof_of_node(c, n);
    if (dof < c->local)
      c->codes[n] = (unsigned)dof | (c->first[dof] == (sp_lid)n ? SP_CUDA_FIRST : 0u) |
                    (c->constrained && c->constrained[dof] ? SP_CUDA_CONSTRAINED : 0u);
  }
}

static sp_status make_codes(size_t elements, node_codes *c, unsigned **out) {
  const size_t count = elements * c->each, dofs = (size_t)c->local;
  SP_TRY(SP_ALLOCATE("element nodes", SP_ARRAY(c->codes, count), SP_ARRAY(c->first, dofs)));
  sp_loop_set(dofs * sizeof *c->first, -1, c->first);
  SP_TRY(sp_loop_over("element nodes", elements, c->each, c, find_first));
  SP_TRY(sp_loop_over("element nodes", elements, c->each, c, write_codes));
  return sp_cuda_copy_of(c->codes, count, sizeof *c->codes, "element nodes", out);
}

sp_status sp_cuda_codes_create(int order, size_t elements, int each, const sp_lid *dofs,
                               sp_lid local, const bool *constrained, unsigned **out) {
  const size_t nq = (size_t)order + 1;
  node_codes c = {.dofs = dofs,
                  .constrained = constrained,
                  .local = local,
                  .all = nq * nq * nq,
                  .each = (size_t)each};
  *out = NULL;
  sp_cuda_node_order(order, c.places);
  const sp_status status = make_codes(elements, &c, out);
  SP_FREE(c.codes, c.first);
  return status;
}
