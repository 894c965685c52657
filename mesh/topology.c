#include "mesh/topology.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "mesh/entities.h"

static uint64_t hash(const sp_gid key[4]) {
  uint64_t h = 0;
  for (int c = 0; c < 4; c++) h = sp_hash_fold(h, (uint64_t)key[c]);
  return h;
}

static sp_status too_many_elements(const sp_topology *topology, sp_lid face) {
  sp_gid key[4];
  sp_topology_key(topology, face, key);
  return sp_fail(SP_ERR_INPUT,
                 "more than two hexahedra share the face with vertices %lld %lld %lld %lld: remove "
                 "duplicate or overlapping elements",
                 (long long)key[0] + 1, (long long)key[1] + 1, (long long)key[2] + 1,
                 (long long)key[3] + 1);
}

static sp_status overlapping(const sp_topology *topology, sp_lid entity) {
  sp_gid key[4];
  sp_topology_key(topology, entity, key);
  return sp_fail(SP_ERR_INPUT,
                 "hexahedra overlap at vertex %lld: remove duplicate or overlapping elements",
                 (long long)key[0] + 1);
}

static sp_status check_faces(const sp_topology *topology) {
  for (sp_lid i = topology->start[2]; i < topology->start[3]; i++)
    if (topology->touching[i] > 2) return too_many_elements(topology, i);
  return SP_OK;
}

/* ---- Entities of other ranks ---- */

/* A record for the directory, five sp_gid: the key of an entity, and the number of the sender's
 * elements that touch it. */
enum { RECORD = 5 };

/* A received record with its sender, to be sorted by key. */
typedef struct holding {
  const sp_gid *record;
  int rank;
} holding;

static int compare_holdings(const void *left, const void *right) {
  const holding *a = left, *b = right;
  const int order = sp_entity_compare(a->record, b->record);
  return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

/* Buffers of one exchange with the directory. Counts and starts, per rank, are in records for what
 * is asked and received, in ints for answers and replies. */
typedef struct directory {
  bool *boundary;     /* [entities], those that another rank may have */
  sp_lid *candidates; /* entities asked about, in the order of the records */
  sp_gid *asked, *received;
  holding *holdings;
  int *asked_count, *asked_start, *received_count, *received_start;
  int *answer, *answer_count, *answer_start;
  int *reply, *reply_count, *reply_start;
} directory;

static void directory_free(directory *d) {
  SP_FREE(d->boundary, d->candidates, d->asked, d->received, d->holdings, d->asked_count, d->answer,
          d->reply);
}

static sp_status starts_from_counts(int size, const int *count, int *start) {
  sp_gid total = 0;
  for (int r = 0; r <= size; r++) {
    if (total > INT_MAX)
      return sp_fail(SP_ERR_INPUT,
                     "too many vertices, edges and faces between ranks: use more ranks");
    start[r] = (int)total;
    if (r < size) total += count[r];
  }
  return SP_OK;
}

/* True if a slot of an element lies on its face `face`. */
static bool lies_on(int slot, int face) {
  int corners[4], face_corners[4], inside = 0;
  const int n = sp_slot_corners(slot, corners);
  sp_slot_corners(face, face_corners);
  for (int c = 0; c < n; c++)
    for (int f = 0; f < 4; f++) inside += corners[c] == face_corners[f];
  return inside == n;
}

/* Entities that another rank may have lie on faces that only one local element touches. */
static void mark_boundary(const sp_topology *topology, bool *marked) {
  for (sp_lid e = 0; e < topology->elements; e++)
    for (int face = SP_FACE_SLOT; face < SP_SLOTS; face++) {
      if (topology->touching[topology->slots[e][face]] != 1) continue;
      for (int slot = 0; slot < SP_SLOTS; slot++)
        if (lies_on(slot, face)) marked[topology->slots[e][slot]] = true;
    }
}

/* If elements overlap, an element on another rank may touch a face between two local elements. Then
 * that rank has all four vertices of the face. Either all are on the local boundary, or one is
 * inside, which no other rank should have: ask about such faces and about all vertices. */
static void mark_suspects(const sp_topology *topology, const bool *boundary, bool *marked) {
  for (sp_lid e = 0; e < topology->elements; e++) {
    const sp_lid *slots = topology->slots[e];
    for (int c = 0; c < SP_EDGE_SLOT; c++) marked[slots[c]] = true;
    for (int face = SP_FACE_SLOT; face < SP_SLOTS; face++) {
      int corners[4];
      bool all = true;
      sp_slot_corners(face, corners);
      for (int c = 0; c < 4; c++) all = all && boundary[slots[corners[c]]];
      if (all) marked[slots[face]] = true;
    }
  }
}

/* Mark the entities to ask the directory about, and write a record for each, by rank. A box and the
 * children of a mesh that was checked have no suspects. */
static sp_status choose_candidates(int size, const sp_hexes *hexes, const sp_topology *topology,
                                   directory *d) {
  const size_t ranks = (size_t)size + 1, entities = (size_t)topology->entities;
  bool *marked;
  SP_TRY(sp_allocate(8 * ranks, sizeof(int), "rank counts", &d->asked_count));
  d->asked_start = d->asked_count + ranks;
  d->received_count = d->asked_start + ranks;
  d->received_start = d->received_count + ranks;
  d->answer_count = d->received_start + ranks;
  d->answer_start = d->answer_count + ranks;
  d->reply_count = d->answer_start + ranks;
  d->reply_start = d->reply_count + ranks;
  SP_TRY(sp_allocate(entities, sizeof *d->boundary, "boundary", &d->boundary));
  SP_TRY(sp_allocate(entities, sizeof *marked, "candidates", &marked));
  mark_boundary(topology, d->boundary);
  memcpy(marked, d->boundary, entities * sizeof *marked);
  if (hexes->box[0] == 0 && hexes->refinements == 0) mark_suspects(topology, d->boundary, marked);
  size_t count = 0;
  for (size_t i = 0; i < entities; i++) {
    if (!marked[i]) continue;
    sp_gid key[4];
    sp_topology_key(topology, (sp_lid)i, key);
    count++;
    d->asked_count[hash(key) % (uint64_t)size]++;
  }
  sp_status status = starts_from_counts(size, d->asked_count, d->asked_start);
  if (!status) status = sp_allocate(count, sizeof *d->candidates, "candidates", &d->candidates);
  if (!status) status = sp_allocate(count, RECORD * sizeof *d->asked, "directory", &d->asked);
  if (!status) {
    for (sp_lid i = 0; i < topology->entities; i++) {
      if (!marked[i]) continue;
      sp_gid key[4];
      sp_topology_key(topology, i, key);
      const int row = d->asked_start[hash(key) % (uint64_t)size]++;
      d->candidates[row] = i;
      sp_gid *asked = &d->asked[(size_t)row * RECORD];
      memcpy(asked, key, sizeof key);
      asked[4] = topology->touching[i];
    }
    status = starts_from_counts(size, d->asked_count, d->asked_start);
  }
  free(marked);
  return status;
}

/* The answer to a record is the number of other ranks that have the entity and then these ranks, or
 * only -1 for a face that more than two elements touch. */
static sp_status answer_records(int size, directory *d) {
  const int total = d->received_start[size];
  SP_TRY(sp_allocate((size_t)total, sizeof *d->holdings, "directory", &d->holdings));
  int *position; /* of each received record in the sorted order */
  SP_TRY(sp_allocate((size_t)total, sizeof *position, "directory", &position));
  for (int r = 0; r < size; r++)
    for (int n = d->received_start[r]; n < d->received_start[r + 1]; n++)
      d->holdings[n] = (holding){&d->received[(size_t)n * RECORD], r};
  qsort(d->holdings, (size_t)total, sizeof *d->holdings, compare_holdings);
  for (int n = 0; n < total; n++) position[(d->holdings[n].record - d->received) / RECORD] = n;

  /* Two passes: the first counts, the second writes. */
  sp_status status = SP_OK;
  for (int pass = 0; pass < 2 && !status; pass++) {
    size_t written = 0;
    for (int r = 0; r < size; r++) {
      const size_t begin = written;
      for (int n = d->received_start[r]; n < d->received_start[r + 1]; n++) {
        const sp_gid *key = &d->received[(size_t)n * RECORD];
        int first = position[n], last = position[n] + 1;
        while (first > 0 && !memcmp(d->holdings[first - 1].record, key, 4 * sizeof *key)) first--;
        while (last < total && !memcmp(d->holdings[last].record, key, 4 * sizeof *key)) last++;
        sp_gid touching = 0;
        for (int h = first; h < last; h++) touching += d->holdings[h].record[4];
        const bool broken = key[3] >= 0 && touching > 2;
        const int others = broken ? -1 : last - first - 1;
        if (pass) d->answer[written] = others;
        written++;
        for (int h = first; h < last && others > 0; h++) {
          if (d->holdings[h].rank == r) continue;
          if (pass) d->answer[written] = d->holdings[h].rank;
          written++;
        }
      }
      d->answer_count[r] = (int)(written - begin);
    }
    if (pass) continue;
    status = starts_from_counts(size, d->answer_count, d->answer_start);
    if (!status) status = sp_allocate(written, sizeof(int), "directory", &d->answer);
  }
  free(position);
  return status;
}

static sp_status store_replies(int size, const directory *d, sp_topology *topology) {
  const sp_lid entities = topology->entities;
  const int asked = d->asked_start[size];
  SP_TRY(sp_allocate((size_t)entities + 1, sizeof(sp_lid), "sharers", &topology->sharer_start));
  const int *reply = d->reply;
  for (int n = 0; n < asked; n++) {
    if (*reply < 0) return too_many_elements(topology, d->candidates[n]);
    if (*reply > 0 && !d->boundary[d->candidates[n]])
      return overlapping(topology, d->candidates[n]);
    topology->sharer_start[d->candidates[n] + 1] = *reply;
    reply += *reply + 1;
  }
  for (sp_lid i = 0; i < entities; i++) topology->sharer_start[i + 1] += topology->sharer_start[i];
  SP_TRY(sp_allocate((size_t)topology->sharer_start[entities], sizeof(int), "sharers",
                     &topology->sharers));
  reply = d->reply;
  for (int n = 0; n < asked; n++) {
    const int others = *reply++;
    memcpy(&topology->sharers[topology->sharer_start[d->candidates[n]]], reply,
           (size_t)others * sizeof *reply);
    reply += others;
  }
  return SP_OK;
}

static sp_status find_sharers(MPI_Comm comm, const sp_hexes *hexes, sp_topology *topology,
                              directory *d) {
  int size;
  MPI_Comm_size(comm, &size);
  if (size == 1) {
    SP_TRY(sp_allocate((size_t)topology->entities + 1, sizeof(sp_lid), "sharers",
                       &topology->sharer_start));
    return sp_allocate(0, sizeof(int), "sharers", &topology->sharers);
  }
  SP_TRY(sp_agree(comm, choose_candidates(size, hexes, topology, d)));

  MPI_Datatype record;
  MPI_Type_contiguous(RECORD, SP_MPI_GID, &record);
  MPI_Type_commit(&record);
  MPI_Alltoall(d->asked_count, 1, MPI_INT, d->received_count, 1, MPI_INT, comm);
  sp_status status = starts_from_counts(size, d->received_count, d->received_start);
  if (!status)
    status = sp_allocate((size_t)d->received_start[size], RECORD * sizeof(sp_gid), "directory",
                         &d->received);
  status = sp_agree(comm, status);
  if (!status)
    MPI_Alltoallv(d->asked, d->asked_count, d->asked_start, record, d->received, d->received_count,
                  d->received_start, record, comm);
  MPI_Type_free(&record);
  if (status) return status;

  SP_TRY(sp_agree(comm, answer_records(size, d)));
  MPI_Alltoall(d->answer_count, 1, MPI_INT, d->reply_count, 1, MPI_INT, comm);
  status = starts_from_counts(size, d->reply_count, d->reply_start);
  if (!status)
    status = sp_allocate((size_t)d->reply_start[size], sizeof *d->reply, "directory", &d->reply);
  SP_TRY(sp_agree(comm, status));
  MPI_Alltoallv(d->answer, d->answer_count, d->answer_start, MPI_INT, d->reply, d->reply_count,
                d->reply_start, MPI_INT, comm);
  return sp_agree(comm, store_replies(size, d, topology));
}

sp_status sp_topology_create(MPI_Comm comm, const sp_hexes *hexes, const sp_periodic *periodic,
                             sp_topology **out) {
  *out = NULL;
  sp_topology *topology = NULL;
  sp_status status = sp_allocate(1, sizeof *topology, "topology", &topology);
  if (!status) status = sp_entities_find(hexes, topology);
  if (!status && periodic) status = sp_entities_identify(periodic, topology);
  if (!status) topology->periodic = periodic;
  if (!status) status = check_faces(topology);
  status = sp_agree(comm, status);

  directory d = {0};
  if (!status) status = find_sharers(comm, hexes, topology, &d);
  directory_free(&d);
  if (status)
    sp_topology_destroy(&topology);
  else
    *out = topology;
  return status;
}

void sp_topology_destroy(sp_topology **topology) {
  if (!*topology) return;
  SP_FREE((*topology)->slots, (*topology)->first, (*topology)->touching, (*topology)->sharer_start,
          (*topology)->sharers, *topology);
  *topology = NULL;
}

bool sp_topology_is_exterior(const sp_topology *topology, sp_lid face_entity) {
  return topology->touching[face_entity] == 1 &&
         topology->sharer_start[face_entity] == topology->sharer_start[face_entity + 1];
}

sp_status sp_topology_permute(sp_topology *topology, const sp_lid *order) {
  SP_TRY(sp_permute_rows(&topology->slots, sizeof *topology->slots, topology->elements, order));
  return sp_entities_renumber(topology);
}
