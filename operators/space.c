#include "operators/space.h"

#include <float.h>
#include <stdlib.h>

#include "io/threads.h"

static sp_status build_space(int order, sp_space *space) {
  const sp_platform *p = space->platform;
  SP_TRY(sp_numbering_create(space->mesh, order, &space->numbering));
  SP_TRY(sp_exchange_create(p->comm, space->numbering, &space->exchange));
  return p->backend->space_create(p->device, p->comm, space->exchange, p->transport,
                                  &space->on_device, &space->transport, &space->resident);
}

sp_status sp_space_create(const sp_platform *platform, const sp_mesh *mesh, int order,
                          sp_space **out) {
  *out = NULL;
  SP_AUTO(sp_space) space = NULL;
  SP_TRY(sp_agree(platform->comm, sp_allocate(1, sizeof *space, "space", &space)));
  space->platform = platform;
  space->mesh = mesh;
  SP_TRY(build_space(order, space));
  *out = space;
  space = NULL;
  return SP_OK;
}

void sp_space_destroy(sp_space **space) {
  if (!*space) return;
  (*space)->platform->backend->space_destroy(&(*space)->on_device);
  sp_exchange_destroy(&(*space)->exchange);
  sp_numbering_destroy(&(*space)->numbering);
  free(*space);
  *space = NULL;
}

/* ---- Torn spaces ---- */

/* A space while it is torn. Copy k of a DOF belongs to the k-th lowest key of its elements. */
typedef struct tear {
  const sp_space *whole;
  const int *keys;
  sp_numbering *torn;
  bool *mixed;   /* [elements]: may share a vertex with elements of other keys */
  sp_lid *start; /* [local + 1]: the copies of DOF i begin at start[i] */
} tear;

static void tear_destroy(tear *t) {
  SP_FREE(t->mixed, t->start);
}

static int key_of(const tear *t, sp_lid e) {
  return t->keys[t->whole->mesh->hexes->volumes[e]];
}

/* Mark the elements at a vertex of several keys, or beside another rank. */
static sp_status find_mixed(const tear *t) {
  const sp_topology *topology = t->whole->mesh->topology;
  SP_OWNED int *keys = NULL; /* of vertices: key + 1, or -1 for several */
  SP_TRY(sp_allocate((size_t)topology->start[1], sizeof *keys, "sets of elements", &keys));
  for (sp_lid e = 0; e < topology->elements; e++)
    for (int c = 0; c < SP_CORNERS; c++) {
      int *key = &keys[topology->slots[e][c]];
      *key = *key == 0 || *key == key_of(t, e) + 1 ? key_of(t, e) + 1 : -1;
    }
  for (sp_lid e = 0; e < topology->elements; e++) {
    t->mixed[e] = e < t->whole->mesh->halo_elements;
    for (int c = 0; c < SP_CORNERS; c++)
      t->mixed[e] = t->mixed[e] || keys[topology->slots[e][c]] < 0;
  }
  return SP_OK;
}

/* torn->nodes = k of each node, start[i + 1] = number of copies of DOF i. */
static sp_status find_copies(tear *t) {
  const sp_numbering *whole = t->whole->numbering;
  const size_t nodes = sp_element_nodes(whole->order);
  SP_OWNED double *key = NULL, *next = NULL;
  SP_TRY(sp_agree(t->whole->mesh->comm, SP_ALLOCATE("sets of elements", SP_ARRAY(key, whole->local),
                                                    SP_ARRAY(next, whole->local))));
  for (sp_lid i = 0; i < whole->local; i++) key[i] = -1;
  bool more = true;
  for (int k = 0; more; k++) {
    for (sp_lid i = 0; i < whole->local; i++) next[i] = DBL_MAX;
    for (sp_lid e = 0; e < t->whole->mesh->hexes->count; e++)
      for (size_t n = 0; n < nodes && t->mixed[e]; n++) {
        const sp_lid i = sp_numbering_nodes(whole, e)[n];
        if (key_of(t, e) > key[i] && key_of(t, e) < next[i]) next[i] = key_of(t, e);
      }
    sp_exchange_now(t->whole->exchange, SP_MIN, next);
    for (sp_lid e = 0; e < t->whole->mesh->hexes->count; e++)
      for (size_t n = 0; n < nodes && t->mixed[e]; n++)
        if (next[sp_numbering_nodes(whole, e)[n]] == key_of(t, e))
          t->torn->nodes[(size_t)e * nodes + n] = k;
    more = false;
    for (sp_lid i = 0; i < whole->local; i++) {
      more = more || next[i] < DBL_MAX;
      t->start[i + 1] += next[i] < DBL_MAX || k == 0;
      key[i] = next[i];
    }
    MPI_Allreduce(MPI_IN_PLACE, &more, 1, MPI_C_BOOL, MPI_LOR, t->whole->mesh->comm);
  }
  return SP_OK;
}

static void number_some(void *tear_, size_t begin, size_t end) {
  const tear *t = tear_;
  const sp_lid *dofs = t->whole->numbering->nodes;
  for (size_t n = begin; n < end; n++) t->torn->nodes[n] += t->start[dofs[n]];
}

/* Number the copies, and list the shared ones in the order of their DOFs. */
static sp_status number_copies(const tear *t, sp_lid **from) {
  const sp_numbering *whole = t->whole->numbering;
  sp_numbering *torn = t->torn;
  const size_t elements = (size_t)t->whole->mesh->hexes->count;
  sp_gid count = 0;
  size_t shared = 0;
  for (sp_lid i = 0; i < whole->local; i++) count += t->start[i + 1];
  if (count > SP_LID_MAX)
    return sp_fail(SP_ERR_SYSTEM, "too many degrees of freedom: use more ranks");
  for (sp_lid i = 0; i < whole->local; i++) t->start[i + 1] += t->start[i];
  torn->local = t->start[whole->local];
  torn->owned = t->start[whole->owned];
  for (int c = 0; c <= SP_DOF_CLASSES; c++) torn->class_start[c] = t->start[whole->class_start[c]];
  SP_TRY(sp_loop_over("numbering", elements * sp_element_nodes(whole->order), 1, (void *)t,
                      number_some));
  const sp_lid *end = &whole->shared[whole->shared_start[whole->neighbours]];
  for (const sp_lid *i = whole->shared; i < end; i++)
    shared += (size_t)(t->start[*i + 1] - t->start[*i]);
  SP_TRY(SP_ALLOCATE("numbering", SP_ARRAY(*from, torn->local), SP_ARRAY(torn->shared, shared)));
  for (sp_lid i = 0; i < whole->local; i++)
    for (sp_lid copy = t->start[i]; copy < t->start[i + 1]; copy++) (*from)[copy] = i;
  for (size_t e = 0; e <= elements; e++)
    for (int c = 0; c < SP_DOF_CLASSES; c++) torn->touched[e][c] = t->start[whole->touched[e][c]];
  sp_lid *next = torn->shared;
  for (int b = 0; b < whole->neighbours; b++) {
    torn->neighbour_ranks[b] = whole->neighbour_ranks[b];
    for (sp_lid s = whole->shared_start[b]; s < whole->shared_start[b + 1]; s++)
      for (sp_lid copy = t->start[whole->shared[s]]; copy < t->start[whole->shared[s] + 1]; copy++)
        *next++ = copy;
    torn->shared_start[b + 1] = (sp_lid)(next - torn->shared);
  }
  return SP_OK;
}

sp_status sp_torn_create(const sp_space *whole, const int *keys, sp_torn *out) {
  const sp_numbering *numbering = whole->numbering;
  const size_t elements = (size_t)whole->mesh->hexes->count;
  const size_t nodes = elements * sp_element_nodes(numbering->order);
  MPI_Comm comm = whole->mesh->comm;
  SP_AUTO_VALUE(tear) t = {.whole = whole, .keys = keys};
  *out = (sp_torn){.space = {.platform = whole->platform, .mesh = whole->mesh}};
  sp_status status = sp_allocate(1, sizeof *t.torn, "numbering", &out->space.numbering);
  t.torn = out->space.numbering;
  if (!status) t.torn->order = numbering->order;
  if (!status) t.torn->neighbours = numbering->neighbours;
  if (!status)
    status = SP_ALLOCATE("numbering", SP_ARRAY(t.mixed, elements),
                         SP_ARRAY(t.start, (size_t)numbering->local + 1),
                         SP_ARRAY(t.torn->nodes, nodes), SP_ARRAY(t.torn->touched, elements + 1),
                         SP_ARRAY(t.torn->neighbour_ranks, numbering->neighbours),
                         SP_ARRAY(t.torn->shared_start, (size_t)numbering->neighbours + 1));
  if (!status) status = find_mixed(&t);
  SP_TRY(sp_agree(comm, status));
  SP_TRY(find_copies(&t));
  SP_TRY(sp_agree(comm, number_copies(&t, &out->from)));
  return sp_exchange_create(comm, out->space.numbering, &out->space.exchange);
}

void sp_torn_free(sp_torn *torn) {
  sp_exchange_destroy(&torn->space.exchange);
  sp_numbering_destroy(&torn->space.numbering);
  free(torn->from);
  *torn = (sp_torn){0};
}
