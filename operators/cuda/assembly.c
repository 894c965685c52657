#include "operators/cuda/assembly.h"

#include <stdlib.h>

#include "operators/space.h"

enum { LANES = 32, NOT_LISTED = -1 };

/* Called for every edge node of the mesh, in the order of the array of edge nodes: `dof` is the
 * node's DOF, `place` its index in that array. */
typedef void visitor(sp_lid dof, unsigned place, void *context);

static void visit_edge_nodes(const sp_numbering *numbering, size_t elements, visitor *visit,
                             void *context) {
  const int nq = numbering->order + 1, count = sp_cuda_edge_nodes(numbering->order);
  const size_t np = (size_t)(nq * nq * nq);
  unsigned short places[SP_MAX_NQ * SP_MAX_NQ * SP_MAX_NQ];
  unsigned place = 0;
  sp_cuda_node_order(numbering->order, places);
  for (size_t e = 0; e < elements; e++)
    for (int q = 0; q < count; q++) visit(numbering->nodes[e * np + places[q]], place++, context);
}

/* A list of targets while it is built. */
typedef struct list {
  const sp_lid *target; /* [dofs], target of each DOF or NOT_LISTED */
  unsigned *count;      /* [targets], contributions */
  unsigned *start, *entries;
} list;

static void count_entry(sp_lid dof, unsigned place, void *context) {
  list *l = context;
  (void)place;
  if (l->target[dof] != NOT_LISTED) l->count[l->target[dof]]++;
}

static void add_entry(sp_lid dof, unsigned place, void *context) {
  list *l = context;
  const sp_lid t = l->target[dof];
  if (t == NOT_LISTED) return;
  const unsigned flag = l->entries[l->start[t / LANES] + (unsigned)t % LANES] & SP_CUDA_CONSTRAINED;
  unsigned *entry = &l->entries[l->start[t / LANES] + LANES * l->count[t] + (unsigned)t % LANES];
  *entry = l->count[t]++ == 0 ? place | flag : place;
}

static sp_status fill(const sp_operator_setup *setup, size_t targets, list *l, sp_cuda_targets *out,
                      size_t *bytes) {
  const sp_numbering *numbering = setup->space->numbering;
  const size_t elements = (size_t)setup->space->mesh->hexes->count;
  const size_t groups = (targets + LANES - 1) / LANES;
  SP_TRY(sp_allocate(targets, sizeof *l->count, "assembly", &l->count));
  SP_TRY(sp_allocate(groups + 1, sizeof *l->start, "assembly", &l->start));
  visit_edge_nodes(numbering, elements, count_entry, l);
  unsigned entries = 0;
  for (size_t g = 0; g < groups; g++) {
    unsigned most = 1; /* the first entry holds a flag */
    for (size_t t = g * LANES; t < (g + 1) * LANES && t < targets; t++)
      most = l->count[t] > most ? l->count[t] : most;
    l->start[g] = entries;
    entries += most * LANES;
  }
  l->start[groups] = entries;
  SP_TRY(sp_allocate(entries, sizeof *l->entries, "assembly", &l->entries));
  for (size_t n = 0; n < entries; n++) l->entries[n] = SP_CUDA_ABSENT;
  for (size_t t = 0; t < targets; t++) l->count[t] = 0;
  for (sp_lid d = 0; d < numbering->local; d++)
    if (l->target[d] != NOT_LISTED && setup->constrained && setup->constrained[d])
      l->entries[l->start[l->target[d] / LANES] + (unsigned)l->target[d] % LANES] |=
          SP_CUDA_CONSTRAINED;
  visit_edge_nodes(numbering, elements, add_entry, l);
  out->count = (int)targets;
  *bytes += (groups + 1 + entries) * sizeof(unsigned);
  SP_TRY(sp_cuda_copy_of(l->start, groups + 1, sizeof(unsigned), "assembly", (void **)&out->start));
  return sp_cuda_copy_of(l->entries, entries, sizeof(unsigned), "assembly", (void **)&out->entries);
}

static sp_status make_list(const sp_operator_setup *setup, const sp_lid *target, size_t targets,
                           sp_cuda_targets *out, size_t *bytes) {
  list l = {.target = target};
  if (targets == 0) return SP_OK;
  const sp_status status = fill(setup, targets, &l, out, bytes);
  free(l.count);
  free(l.start);
  free(l.entries);
  return status;
}

/* Shared DOFs on edges and at vertices, each once: target[dof] and dofs[target]. */
static size_t list_shared(const sp_numbering *numbering, const bool *on_edge, sp_lid *target,
                          sp_lid *dofs) {
  size_t count = 0;
  for (sp_lid s = 0; s < numbering->shared_start[numbering->neighbours]; s++) {
    const sp_lid dof = numbering->shared[s];
    if (!on_edge[dof] || target[dof] != NOT_LISTED) continue;
    target[dof] = (sp_lid)count;
    dofs[count++] = dof;
  }
  return count;
}

static void mark_edge(sp_lid dof, unsigned place, void *context) {
  bool *on_edge = context;
  (void)place;
  on_edge[dof] = true;
}

/* Work arrays of build(). */
typedef struct workspace {
  bool *on_edge;                /* [dofs] */
  sp_lid *shared_target, *dofs; /* of the shared list: [dofs], [shared entries] */
  sp_lid *own_target;           /* [dofs] */
} workspace;

static sp_status build(const sp_operator_setup *setup, workspace *w, sp_cuda_assembly *out) {
  const sp_numbering *numbering = setup->space->numbering;
  const size_t dofs = (size_t)numbering->local, elements = (size_t)setup->space->mesh->hexes->count;
  const size_t entries = (size_t)numbering->shared_start[numbering->neighbours];
  const sp_lid first = numbering->class_start[SP_EDGE_DOFS];
  out->first_face = numbering->class_start[SP_FACE_DOFS];
  out->first_edge = first;
  out->owned = numbering->owned;
  out->local = numbering->local;
  SP_TRY(sp_allocate(dofs, sizeof *w->on_edge, "assembly", &w->on_edge));
  SP_TRY(sp_allocate(dofs, sizeof *w->shared_target, "assembly", &w->shared_target));
  SP_TRY(sp_allocate(dofs, sizeof *w->own_target, "assembly", &w->own_target));
  SP_TRY(sp_allocate(entries, sizeof *w->dofs, "assembly", &w->dofs));
  if (entries > 0) visit_edge_nodes(numbering, elements, mark_edge, w->on_edge);
  for (size_t d = 0; d < dofs; d++) w->shared_target[d] = w->own_target[d] = NOT_LISTED;
  const size_t shared = list_shared(numbering, w->on_edge, w->shared_target, w->dofs);
  for (sp_lid d = first; d < numbering->owned; d++)
    if (w->shared_target[d] == NOT_LISTED) w->own_target[d] = d - first;
  out->bytes = shared * sizeof(int);
  SP_TRY(sp_cuda_copy_of(w->dofs, shared, sizeof(int), "assembly", (void **)&out->shared_dofs));
  SP_TRY(make_list(setup, w->shared_target, shared, &out->shared, &out->bytes));
  return make_list(setup, w->own_target, (size_t)(numbering->owned - first), &out->own,
                   &out->bytes);
}

sp_status sp_cuda_assembly_create(const sp_operator_setup *setup, sp_cuda_assembly *out) {
  workspace w = {0};
  *out = (sp_cuda_assembly){0};
  const sp_status status = build(setup, &w, out);
  free(w.on_edge);
  free(w.shared_target);
  free(w.own_target);
  free(w.dofs);
  return status;
}

/* Each edge node is an entry of one list; each shared DOF is listed at most once. */
double sp_cuda_assembly_predicted_bytes(int order, const sp_sizes *sizes) {
  const sp_cuda_assembly *a = NULL;
  return sizes->elements * sp_cuda_edge_nodes(order) * sizeof *a->own.entries +
         sizes->shared * sizeof *a->shared_dofs;
}

void sp_cuda_assembly_free(sp_cuda_assembly *assembly) {
  (void)cudaFree(assembly->own.start);
  (void)cudaFree(assembly->own.entries);
  (void)cudaFree(assembly->shared.start);
  (void)cudaFree(assembly->shared.entries);
  (void)cudaFree(assembly->shared_dofs);
  *assembly = (sp_cuda_assembly){0};
}
