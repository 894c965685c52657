#include "mesh/surfaces.h"

#include <stdlib.h>
#include <string.h>

/* A face on its way to the other rank that has it. */
typedef struct record {
  sp_gid key[4];
  sp_gid surface;
} record;

/* A face of this rank that another rank has. */
typedef struct shared {
  sp_gid key[4];
  int *surface;
  int rank; /* the other one */
} shared;

/* Records by rank; counts and starts are in records. */
typedef struct exchange {
  int size, *sent, *sent_start, *received, *received_start;
  size_t count;
  shared *faces;
  record *mine, *theirs;
} exchange;

static int compare(const void *left, const void *right) {
  return sp_entity_compare(((const shared *)left)->key, ((const shared *)right)->key);
}

/* List the faces, ascending by key, and the records of those with a surface. */
static sp_status list_faces(const sp_topology *t, sp_hexes *hexes, exchange *x) {
  const size_t ranks = (size_t)x->size;
  SP_TRY(sp_allocate(4 * ranks, sizeof(int), "surfaces", &x->sent));
  x->sent_start = x->sent + ranks;
  x->received = x->sent + 2 * ranks;
  x->received_start = x->sent + 3 * ranks;
  const sp_lid shared_count = t->sharer_start[t->start[3]] - t->sharer_start[t->start[2]];
  SP_TRY(sp_allocate((size_t)shared_count, sizeof *x->faces, "surfaces", &x->faces));
  SP_TRY(sp_allocate((size_t)shared_count, sizeof *x->mine, "surfaces", &x->mine));
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      const sp_lid face = t->slots[e][SP_FACE_SLOT + f];
      if (t->sharer_start[face] == t->sharer_start[face + 1] || sp_hexes_is_contact(hexes, e))
        continue;
      shared own = {.surface = &hexes->surfaces[e][f], .rank = t->sharers[t->sharer_start[face]]};
      sp_topology_key(t, face, own.key);
      x->sent[own.rank] += sp_surface_of(*own.surface) >= 0;
      x->faces[x->count++] = own;
    }
  qsort(x->faces, x->count, sizeof *x->faces, compare);
  for (int r = 1; r < x->size; r++) x->sent_start[r] = x->sent_start[r - 1] + x->sent[r - 1];
  for (size_t i = 0; i < x->count; i++) {
    const int surface = sp_surface_of(*x->faces[i].surface);
    if (surface < 0) continue;
    record *r = &x->mine[x->sent_start[x->faces[i].rank]++];
    memcpy(r->key, x->faces[i].key, sizeof r->key);
    r->surface = surface;
  }
  for (int r = 0; r < x->size; r++) x->sent_start[r] -= x->sent[r];
  return SP_OK;
}

/* A face is received at most once, so that their number fits an int as that of shared faces does.
 */
static sp_status make_room(exchange *x) {
  for (int r = 1; r < x->size; r++)
    x->received_start[r] = x->received_start[r - 1] + x->received[r - 1];
  return sp_allocate((size_t)x->received_start[x->size - 1] + (size_t)x->received[x->size - 1],
                     sizeof *x->theirs, "surfaces", &x->theirs);
}

static void take(const exchange *x) {
  const int count = x->received_start[x->size - 1] + x->received[x->size - 1];
  for (int n = 0; n < count; n++) {
    shared key;
    memcpy(key.key, x->theirs[n].key, sizeof key.key);
    const shared *found = bsearch(&key, x->faces, x->count, sizeof key, compare);
    if (found && sp_surface_of(*found->surface) < 0) *found->surface = (int)x->theirs[n].surface;
  }
}

sp_status sp_surfaces_share(MPI_Comm comm, const sp_topology *topology, sp_hexes *hexes) {
  exchange x = {0};
  MPI_Comm_size(comm, &x.size);
  if (x.size == 1) return SP_OK;
  sp_status status = sp_agree(comm, list_faces(topology, hexes, &x));
  if (!status) {
    MPI_Alltoall(x.sent, 1, MPI_INT, x.received, 1, MPI_INT, comm);
    status = sp_agree(comm, make_room(&x));
  }
  if (!status) {
    MPI_Datatype type;
    MPI_Type_contiguous(5, SP_MPI_GID, &type);
    MPI_Type_commit(&type);
    MPI_Alltoallv(x.mine, x.sent, x.sent_start, type, x.theirs, x.received, x.received_start, type,
                  comm);
    MPI_Type_free(&type);
    take(&x);
  }
  SP_FREE(x.sent, x.faces, x.mine, x.theirs);
  return status;
}
