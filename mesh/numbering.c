#include "mesh/numbering.h"

#include <stdlib.h>
#include <string.h>

#include "io/threads.h"

static int entity_dofs(const sp_topology *topology, sp_lid entity, int order) {
  const int inner = order - 1;
  if (entity < topology->start[1]) return 1;
  return entity < topology->start[2] ? inner : inner * inner;
}

/* `vertices`: of the slot, from sp_periodic_vertices. */
static void number_edge(const sp_gid vertices[4], int slot, int order, sp_lid base, sp_lid *nodes) {
  const int nq = order + 1, stride[3] = {1, nq, nq * nq}, d = (slot - SP_EDGE_SLOT) / 4;
  int corners[4];
  sp_slot_corners(slot, corners);
  const int start = (int)sp_corner_node(order, corners[0]);
  const int flipped = vertices[0] > vertices[1];
  for (int p = 1; p < order; p++)
    nodes[start + p * stride[d]] = base + (flipped ? order - p : p) - 1;
}

/* True if corner a of a face comes before b. If the end of a contact has a vertex twice, the other
 * neighbour decides, because elements on either side number the face differently. */
static bool is_before(const sp_gid vertices[4], int a, int b) {
  if (vertices[a] != vertices[b]) return vertices[a] < vertices[b];
  return vertices[a ^ 1] + vertices[a ^ 2] < vertices[b ^ 1] + vertices[b ^ 2];
}

/* `on_face`: sp_face_nodes. */
static void number_face(const sp_gid vertices[4], const int *on_face, int order, sp_lid base,
                        sp_lid *nodes) {
  int origin = 0;
  for (int c = 1; c < 4; c++)
    if (is_before(vertices, c, origin)) origin = c;
  const int swapped = vertices[origin ^ 2] < vertices[origin ^ 1];
  for (int q = 1; q < order; q++)
    for (int p = 1; p < order; p++) {
      const int a = (origin & 1 ? order - p : p) - 1, b = (origin & 2 ? order - q : q) - 1;
      nodes[on_face[q * (order + 1) + p]] =
          base + (swapped ? a * (order - 1) + b : b * (order - 1) + a);
    }
}

/* Shared by the loop over elements. */
typedef struct nodes_loop {
  const sp_mesh *mesh;
  sp_numbering *numbering;
  const sp_lid *bases;
  int on_face[SP_FACES][SP_MAX_NQ * SP_MAX_NQ]; /* sp_face_nodes */
} nodes_loop;

/* At order 2, edges and faces have one DOF and no orientation. */
static void number_element(const nodes_loop *l, sp_lid e, sp_lid interior, sp_lid *nodes) {
  const sp_mesh *mesh = l->mesh;
  const int order = l->numbering->order, nq = order + 1;
  const sp_lid *slots = mesh->topology->slots[e], *bases = l->bases;
  sp_gid vertices[4] = {0};
  for (int c = 0; c < SP_CORNERS; c++) nodes[sp_corner_node(order, c)] = bases[slots[c]];
  for (int slot = SP_EDGE_SLOT; slot < SP_SLOTS && order > 1; slot++) {
    if (order > 2) sp_periodic_vertices(mesh->periodic, mesh->hexes->vertices[e], slot, vertices);
    if (slot < SP_FACE_SLOT)
      number_edge(vertices, slot, order, bases[slots[slot]], nodes);
    else
      number_face(vertices, l->on_face[slot - SP_FACE_SLOT], order, bases[slots[slot]], nodes);
  }
  for (int k = 1; k < order; k++)
    for (int j = 1; j < order; j++)
      for (int i = 1; i < order; i++) nodes[(k * nq + j) * nq + i] = interior++;
}

static bool is_copy(const sp_topology *topology, sp_lid entity, int rank) {
  const sp_lid sharer = topology->sharer_start[entity];
  return sharer < topology->sharer_start[entity + 1] && topology->sharers[sharer] < rank;
}

/* The next DOF as an sp_lid; 0 if it does not fit, which callers report. */
static sp_lid narrow(sp_gid next) {
  return next <= SP_LID_MAX ? (sp_lid)next : 0;
}

/* The first DOF of each entity, class by class. Entities of a kind, and so their DOFs, are in the
 * order in which elements first touch them. */
static sp_status assign_bases(const sp_mesh *mesh, sp_numbering *numbering, sp_lid *bases) {
  static const int kinds[SP_DOF_CLASSES] = {
      [SP_FACE_DOFS] = 2, [SP_EDGE_DOFS] = 1, [SP_VERTEX_DOFS] = 0};
  const sp_topology *topology = mesh->topology;
  const int order = numbering->order, inner = order - 1;
  const int dofs[3] = {1, inner, inner * inner};
  const int rank = sp_comm_rank(mesh->comm);
  sp_gid next = (sp_gid)topology->elements * inner * inner * inner;
  for (int c = SP_FACE_DOFS; c < SP_DOF_CLASSES; c++) {
    const int kind = kinds[c];
    numbering->class_start[c] = narrow(next);
    for (sp_lid i = topology->start[kind]; i < topology->start[kind + 1] && dofs[kind] > 0; i++) {
      if (is_copy(topology, i, rank)) continue;
      bases[i] = narrow(next);
      next += dofs[kind];
    }
  }
  numbering->class_start[SP_DOF_CLASSES] = numbering->owned = narrow(next);
  for (sp_lid i = 0; i < topology->entities && rank > 0; i++)
    if (is_copy(topology, i, rank)) bases[i] = -1;
  /* Only elements at the front touch entities of other ranks. */
  for (sp_lid e = 0; e < mesh->halo_elements && rank > 0; e++)
    for (int slot = 0; slot < SP_SLOTS; slot++) {
      const sp_lid entity = topology->slots[e][slot];
      if (bases[entity] >= 0) continue;
      bases[entity] = narrow(next);
      next += entity_dofs(topology, entity, order);
    }
  if (next > SP_LID_MAX)
    return sp_fail(SP_ERR_INPUT,
                   "more than %d degrees of freedom on rank %d: use more ranks or a lower order",
                   SP_LID_MAX, rank);
  numbering->local = (sp_lid)next;
  return SP_OK;
}

static int class_of_slot(int slot) {
  return slot < SP_EDGE_SLOT ? SP_VERTEX_DOFS : slot < SP_FACE_SLOT ? SP_EDGE_DOFS : SP_FACE_DOFS;
}

/* Number the nodes of elements begin ... end - 1, and find the end of their DOFs in each class. */
static sp_status number_element_nodes(void *loop_, void *workspace, size_t begin, size_t end) {
  (void)workspace;
  const nodes_loop *l = loop_;
  const sp_topology *topology = l->mesh->topology;
  sp_numbering *numbering = l->numbering;
  const int order = numbering->order, inner = order - 1, interior = inner * inner * inner;
  const int dofs[SP_DOF_CLASSES] = {interior, inner * inner, inner, 1};
  const int slots = order > 1 ? SP_SLOTS : SP_EDGE_SLOT;
  for (size_t e = begin; e < end; e++) {
    sp_lid *dof_ends = numbering->touched[e + 1];
    number_element(l, (sp_lid)e, (sp_lid)e * interior,
                   &numbering->nodes[e * sp_element_nodes(order)]);
    memcpy(dof_ends, numbering->class_start, sizeof *numbering->touched);
    dof_ends[SP_INTERIORS] = (sp_lid)(e + 1) * interior;
    for (int slot = 0; slot < slots; slot++) {
      const sp_lid base = l->bases[topology->slots[e][slot]];
      const int c = class_of_slot(slot);
      if (base < numbering->owned && base + dofs[c] > dof_ends[c]) dof_ends[c] = base + dofs[c];
    }
  }
  return SP_OK;
}

/* Include the DOFs that earlier elements touch. */
static void accumulate_touched(void *loop_, void *workspace, size_t begin, size_t end) {
  (void)workspace;
  const nodes_loop *l = loop_;
  for (size_t e = begin; e < end; e++) {
    const sp_lid *before = l->numbering->touched[e];
    sp_lid *touched = l->numbering->touched[e + 1];
    for (int c = 0; c < SP_DOF_CLASSES; c++)
      if (touched[c] < before[c]) touched[c] = before[c];
  }
}

static sp_status number_nodes(const sp_mesh *mesh, sp_numbering *numbering, sp_lid *bases) {
  const size_t elements = (size_t)mesh->hexes->count;
  const size_t np = sp_element_nodes(numbering->order);
  SP_TRY(
      sp_allocate(elements + 1, sizeof *numbering->touched, "first touches", &numbering->touched));
  SP_TRY(sp_allocate(elements, np * sizeof(sp_lid), "element nodes", &numbering->nodes));
  SP_TRY(assign_bases(mesh, numbering, bases));
  memcpy(numbering->touched[0], numbering->class_start, sizeof *numbering->touched);
  nodes_loop l = {.mesh = mesh, .numbering = numbering, .bases = bases};
  for (int f = 0; f < SP_FACES; f++) sp_face_nodes(numbering->order, f, l.on_face[f]);
  return sp_loop_sum("element nodes", elements, np, &l, 0, number_element_nodes,
                     accumulate_touched);
}

/* An entity that another rank has too. */
typedef struct shared_entity {
  int rank;
  sp_lid entity;
  sp_gid key[4];
} shared_entity;

/* Order by rank, then by key: the same order on both ranks. */
static int compare_shared(const void *left, const void *right) {
  const shared_entity *a = left, *b = right;
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  return sp_entity_compare(a->key, b->key);
}

/* List the shared DOFs by neighbour. If `bases` is NULL, DOFs are vertices (order 1). */
static sp_status list_shared(const sp_topology *topology, const sp_lid *bases,
                             sp_numbering *numbering) {
  const sp_lid *start = topology->sharer_start;
  const size_t count = (size_t)start[topology->entities];
  SP_OWNED shared_entity *list = NULL;
  sp_gid dofs = 0;
  SP_TRY(SP_ALLOCATE("shared entities", SP_ARRAY(list, count),
                     SP_ARRAY(numbering->neighbour_ranks, count),
                     SP_ARRAY(numbering->shared_start, count + 1)));
  for (sp_lid i = 0; i < topology->entities; i++) {
    if (start[i] == start[i + 1]) continue;
    shared_entity shared = {.entity = i};
    sp_topology_key(topology, i, shared.key);
    for (sp_lid n = start[i]; n < start[i + 1]; n++) {
      shared.rank = topology->sharers[n];
      list[n] = shared;
      dofs += entity_dofs(topology, i, numbering->order);
    }
  }
  qsort(list, count, sizeof *list, compare_shared);
  SP_TRY(sp_allocate((size_t)dofs, sizeof(sp_lid), "shared DOFs", &numbering->shared));
  sp_lid next = 0;
  for (size_t n = 0; n < count; n++) {
    const sp_lid entity = list[n].entity, base = bases ? bases[entity] : entity;
    if (n == 0 || list[n].rank != list[n - 1].rank)
      numbering->neighbour_ranks[numbering->neighbours++] = list[n].rank;
    for (int i = 0; i < entity_dofs(topology, entity, numbering->order); i++)
      numbering->shared[next++] = base + i;
    numbering->shared_start[numbering->neighbours] = next;
  }
  return SP_OK;
}

void sp_numbering_swap(MPI_Comm comm, const sp_numbering *numbering, size_t bytes, const void *sent,
                       void *received, MPI_Request *requests) {
  MPI_Datatype record;
  MPI_Type_contiguous((int)bytes, MPI_BYTE, &record);
  MPI_Type_commit(&record);
  for (int b = 0; b < numbering->neighbours; b++) {
    const sp_lid begin = numbering->shared_start[b], n = numbering->shared_start[b + 1] - begin;
    const size_t first = (size_t)begin * bytes;
    const int rank = numbering->neighbour_ranks[b];
    MPI_Irecv((char *)received + first, n, record, rank, 0, comm, &requests[2 * b]);
    MPI_Isend((const char *)sent + first, n, record, rank, 0, comm, &requests[2 * b + 1]);
  }
  MPI_Waitall(2 * numbering->neighbours, requests, MPI_STATUSES_IGNORE);
  MPI_Type_free(&record);
}

/* Global numbers: rank after rank; owners send them to the ranks with copies. */
static sp_status number_globally(MPI_Comm comm, sp_numbering *numbering) {
  const sp_gid owned = numbering->owned;
  const size_t shared = (size_t)numbering->shared_start[numbering->neighbours];
  MPI_Scan(&owned, &numbering->first, 1, SP_MPI_GID, MPI_SUM, comm);
  numbering->first -= owned;
  MPI_Allreduce(&owned, &numbering->global, 1, SP_MPI_GID, MPI_SUM, comm);

  SP_OWNED sp_gid *sent = NULL, *received = NULL;
  SP_OWNED MPI_Request *requests = NULL;
  SP_TRY(sp_agree(comm, SP_ALLOCATE("copies", SP_ARRAY(numbering->copies, numbering->local - owned),
                                    SP_ARRAY(sent, shared), SP_ARRAY(received, shared),
                                    SP_ARRAY(requests, 2 * (size_t)numbering->neighbours))));
  for (size_t i = 0; i < shared; i++) {
    const sp_lid dof = numbering->shared[i];
    sent[i] = dof < owned ? numbering->first + dof : -1;
  }
  sp_numbering_swap(comm, numbering, sizeof *sent, sent, received, requests);
  for (size_t i = 0; i < shared; i++) {
    const sp_lid dof = numbering->shared[i];
    if (dof >= owned && received[i] >= 0) numbering->copies[dof - owned] = received[i];
  }
  return SP_OK;
}

sp_status sp_numbering_create(const sp_mesh *mesh, int order, sp_numbering **out) {
  *out = NULL;
  SP_AUTO(sp_numbering) numbering = NULL;
  SP_OWNED sp_lid *bases = NULL;
  sp_status status =
      SP_ALLOCATE("numbering", SP_ARRAY(numbering, 1), SP_ARRAY(bases, mesh->topology->entities));
  if (!status) {
    numbering->order = order;
    status = number_nodes(mesh, numbering, bases);
  }
  if (!status) status = list_shared(mesh->topology, bases, numbering);
  SP_TRY(sp_agree(mesh->comm, status));
  SP_TRY(number_globally(mesh->comm, numbering));
  *out = numbering;
  numbering = NULL;
  return SP_OK;
}

sp_status sp_numbering_create_vertices(const sp_mesh *mesh, sp_numbering **out) {
  sp_status status = sp_allocate(1, sizeof **out, "numbering", out);
  if (!status) {
    (*out)->order = 1;
    (*out)->local = mesh->topology->start[1];
    status = list_shared(mesh->topology, NULL, *out);
  }
  status = sp_agree(mesh->comm, status);
  if (status) sp_numbering_destroy(out);
  return status;
}

void sp_numbering_destroy(sp_numbering **numbering) {
  if (!*numbering) return;
  SP_FREE((*numbering)->copies, (*numbering)->nodes, (*numbering)->touched,
          (*numbering)->neighbour_ranks, (*numbering)->shared_start, (*numbering)->shared,
          *numbering);
  *numbering = NULL;
}

sp_gid sp_numbering_global(const sp_numbering *numbering, sp_lid dof) {
  return dof < numbering->owned ? numbering->first + dof
                                : numbering->copies[dof - numbering->owned];
}

/* True for an owned DOF at or beyond `touched`, which no earlier element has. */
static bool is_new(const sp_numbering *numbering, const sp_lid touched[SP_DOF_CLASSES],
                   sp_lid dof) {
  int c = SP_DOF_CLASSES - 1;
  while (dof < numbering->class_start[c]) c--;
  return dof < numbering->owned && dof >= touched[c];
}

void sp_additions_begin(size_t most, void *memory, sp_additions *out) {
  *out = (sp_additions){.values = memory, .dofs = (sp_lid *)((double *)memory + most)};
}

void sp_numbering_add(const sp_numbering *numbering, size_t begin, sp_lid element,
                      const double *values, double *x, sp_additions *later) {
  const int n = numbering->order, nq = n + 1;
  const sp_lid *dofs = sp_numbering_nodes(numbering, element);
  const sp_lid *touched = numbering->touched[begin];
  for (int k = 0; k <= n; k++)
    for (int j = 0; j <= n; j++, dofs += nq, values += nq) {
      const bool inside = k > 0 && k < n && j > 0 && j < n;
      for (int i = 0; i <= n; i++)
        if ((inside && i > 0 && i < n) || is_new(numbering, touched, dofs[i])) {
          x[dofs[i]] += values[i];
        } else {
          later->dofs[later->count] = dofs[i];
          later->values[later->count++] = values[i];
        }
    }
}

void sp_additions_finish(const sp_additions *later, double *x) {
  for (size_t i = 0; i < later->count; i++) x[later->dofs[i]] += later->values[i];
}

/* Data shared by all elements. */
typedef struct total {
  const sp_numbering *numbering;
  const double *values;
  double *x;
} total;

/* The deferred additions of a chunk of elements. */
typedef struct chunk {
  sp_additions later;
  double memory[];
} chunk;

static sp_status add_some(void *total_, void *chunk_, size_t begin, size_t end) {
  const total *t = total_;
  chunk *c = chunk_;
  const size_t nodes = sp_element_nodes(t->numbering->order);
  sp_additions_begin((end - begin) * nodes, c->memory, &c->later);
  for (size_t e = begin; e < end; e++)
    sp_numbering_add(t->numbering, begin, (sp_lid)e, &t->values[e * nodes], t->x, &c->later);
  return SP_OK;
}

static void finish_some(void *total_, void *chunk_, size_t begin, size_t end) {
  (void)begin, (void)end;
  sp_additions_finish(&((const chunk *)chunk_)->later, ((const total *)total_)->x);
}

sp_status sp_numbering_sum(const sp_numbering *numbering, size_t elements, const double *values,
                           double *x) {
  const size_t nodes = sp_element_nodes(numbering->order), size = sp_loop_chunk(elements, nodes);
  return sp_loop_sum("a sum over elements", elements, nodes, &(total){numbering, values, x},
                     sizeof(chunk) + sp_additions_bytes(size * nodes), add_some, finish_some);
}
