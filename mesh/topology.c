#include "mesh/topology.h"

#include <limits.h>
#include <string.h>

#include "io/threads.h"

static sp_status too_many_elements(const sp_topology *topology, sp_lid face) {
  sp_gid key[4];
  sp_topology_key(topology, face, key);
  return sp_fail(SP_ERR_INPUT,
                 "more than two hexahedra share the face with vertices %lld %lld %lld %lld: remove "
                 "duplicate or overlapping elements",
                 (long long)key[0] + 1, (long long)key[1] + 1, (long long)key[2] + 1,
                 (long long)key[3] + 1);
}

static sp_status fail_overlapping(const sp_topology *topology, sp_lid entity) {
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

/* A request about an entity of this rank: first for the number of its other ranks, then for each of
 * them. */
typedef struct question {
  sp_row_name name;
  int64_t touching; /* number of this rank's elements that touch a face */
  int64_t rank, nth;
} question;

enum { QUESTION_WORDS = sizeof(question) / 8, TOO_MANY = -1 };

static question question_about(const sp_topology *topology, sp_lid entity, int rank, int nth) {
  sp_gid key[4];
  sp_topology_key(topology, entity, key);
  return (question){.name = sp_entity_name(key),
                    .touching = entity < topology->start[2] ? 0 : topology->touching[entity],
                    .rank = rank,
                    .nth = nth};
}

/* Order by `nth`, then by rank. */
static int compare_questions(const void *left, const void *right) {
  const question *a = *(const question *const *)left, *b = *(const question *const *)right;
  if (a->nth != b->nth) return a->nth < b->nth ? -1 : 1;
  return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Answer the requests about one entity: the number of other ranks, TOO_MANY for a face of more than
 * two elements, or with `ranks` the requested rank. */
static sp_status answer_questions(size_t count, const int64_t *const *rows, int64_t *const *answers,
                                  const void *ranks) {
  const question *const *list = (const question *const *)rows;
  size_t holders = 0;
  int64_t touching = 0;
  for (; holders < count && list[holders]->nth == 0; holders++) touching += list[holders]->touching;
  for (size_t i = 0; i < count; i++) {
    size_t at = (size_t)list[i]->nth;
    for (size_t h = 0; h <= at && ranks; h++) at += list[h]->rank == list[i]->rank;
    *answers[i] = ranks ? list[at]->rank : touching > 2 ? TOO_MANY : (int64_t)holders - 1;
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

/* Shared by the loops over elements. */
typedef struct marking {
  const sp_topology *topology;
  bool *boundary, *asked; /* [entities] */
} marking;

static void set_flag(bool *flag) {
  __atomic_store_n(flag, true, __ATOMIC_RELAXED);
}

/* Entities of other ranks lie on faces that only one local element touches. */
static void mark_boundary(void *marking_, size_t begin, size_t end) {
  const marking *m = marking_;
  for (size_t e = begin; e < end; e++) {
    const sp_lid *slots = m->topology->slots[e];
    for (int face = SP_FACE_SLOT; face < SP_SLOTS; face++) {
      if (m->topology->touching[slots[face]] != 1) continue;
      for (int slot = 0; slot < SP_SLOTS; slot++)
        if (lies_on(slot, face)) set_flag(&m->boundary[slots[slot]]);
    }
  }
}

/* If elements overlap, another rank may have a face between two local elements, and all its four
 * vertices. Either these are all on the local boundary, or one is inside, which no other rank
 * should have. So request such faces and all vertices. */
static void mark_suspects(void *marking_, size_t begin, size_t end) {
  const marking *m = marking_;
  for (size_t e = begin; e < end; e++) {
    const sp_lid *slots = m->topology->slots[e];
    for (int c = 0; c < SP_EDGE_SLOT; c++) set_flag(&m->asked[slots[c]]);
    for (int face = SP_FACE_SLOT; face < SP_SLOTS; face++) {
      int corners[4];
      bool all = true;
      sp_slot_corners(face, corners);
      for (int c = 0; c < 4; c++) all = all && m->boundary[slots[corners[c]]];
      if (all) set_flag(&m->asked[slots[face]]);
    }
  }
}

/* Mark the entities on the local boundary, and all entities to request. A box and the children of a
 * checked mesh have no suspects. */
static sp_status mark_entities(const sp_hexes *hexes, const sp_topology *topology, bool **boundary,
                               bool **asked) {
  const size_t entities = (size_t)topology->entities, elements = (size_t)topology->elements;
  SP_TRY(
      SP_ALLOCATE("entities of ranks", SP_ARRAY(*boundary, entities), SP_ARRAY(*asked, entities)));
  marking m = {topology, *boundary, *asked};
  SP_TRY(sp_loop_over("entities of ranks", elements, SP_SLOTS, &m, mark_boundary));
  memcpy(*asked, *boundary, entities * sizeof **asked);
  if (hexes->box[0] > 0 || hexes->refinements > 0) return SP_OK;
  return sp_loop_over("entities of ranks", elements, SP_SLOTS, &m, mark_suspects);
}

/* Fill sharer_start from the numbers of sharers. Collective. */
static sp_status count_sharers(MPI_Comm comm, int rank, const bool *boundary, const bool *asked,
                               sp_topology *topology) {
  const sp_lid entities = topology->entities;
  sp_lid *start = topology->sharer_start;
  SP_OWNED question *questions = NULL;
  SP_OWNED int64_t *answers = NULL;
  int64_t total = 0;
  size_t count = 0;
  for (sp_lid i = 0; i < entities; i++) count += asked[i];
  SP_TRY(sp_agree(comm, SP_ALLOCATE("entities of ranks", SP_ARRAY(questions, count),
                                    SP_ARRAY(answers, count))));
  count = 0;
  for (sp_lid i = 0; i < entities; i++)
    if (asked[i]) questions[count++] = question_about(topology, i, rank, 0);
  SP_TRY(sp_rendezvous_answer(
      comm, &(sp_questions){count, QUESTION_WORDS, 1, (const int64_t *)questions, answers},
      compare_questions, answer_questions, NULL));
  sp_status status = SP_OK;
  count = 0;
  for (sp_lid i = 0; i < entities && !status; i++) {
    const int64_t others = asked[i] ? answers[count++] : 0;
    if (others == TOO_MANY) status = too_many_elements(topology, i);
    if (others > 0 && !boundary[i]) status = fail_overlapping(topology, i);
    total += others;
    start[i + 1] = total < INT_MAX ? (sp_lid)total : INT_MAX;
  }
  if (!status && total >= INT_MAX)
    status =
        sp_fail(SP_ERR_INPUT, "too many vertices, edges and faces between ranks: use more ranks");
  return sp_agree(comm, status);
}

/* Fill the sharers. Collective. */
static sp_status name_sharers(MPI_Comm comm, int rank, sp_topology *topology) {
  static const bool ranks = true;
  const sp_lid *start = topology->sharer_start;
  const size_t count = (size_t)start[topology->entities];
  SP_OWNED question *questions = NULL;
  SP_OWNED int64_t *answers = NULL;
  SP_TRY(sp_agree(comm, SP_ALLOCATE("sharers", SP_ARRAY(topology->sharers, count),
                                    SP_ARRAY(answers, count), SP_ARRAY(questions, count))));
  for (sp_lid i = 0; i < topology->entities; i++)
    for (sp_lid n = start[i]; n < start[i + 1]; n++)
      questions[n] = question_about(topology, i, rank, n - start[i]);
  SP_TRY(sp_rendezvous_answer(
      comm, &(sp_questions){count, QUESTION_WORDS, 1, (const int64_t *)questions, answers},
      compare_questions, answer_questions, &ranks));
  for (size_t n = 0; n < count; n++) topology->sharers[n] = (int)answers[n];
  return SP_OK;
}

static sp_status find_sharers(MPI_Comm comm, const sp_hexes *hexes, sp_topology *topology) {
  SP_OWNED bool *boundary = NULL, *asked = NULL;
  const int rank = sp_comm_rank(comm), size = sp_comm_size(comm);
  sp_status status = sp_allocate((size_t)topology->entities + 1, sizeof(sp_lid), "sharers",
                                 &topology->sharer_start);
  if (size == 1)
    return status ? status : sp_allocate(0, sizeof(int), "sharers", &topology->sharers);
  if (!status) status = mark_entities(hexes, topology, &boundary, &asked);
  SP_TRY(sp_agree(comm, status));
  SP_TRY(count_sharers(comm, rank, boundary, asked, topology));
  return name_sharers(comm, rank, topology);
}

sp_status sp_topology_create(MPI_Comm comm, const sp_hexes *hexes, const sp_periodic *periodic,
                             sp_topology **out) {
  *out = NULL;
  SP_AUTO(sp_topology) topology = NULL;
  sp_status status = sp_allocate(1, sizeof *topology, "topology", &topology);
  if (!status) status = sp_entities_find(hexes, topology);
  if (!status && periodic) status = sp_entities_identify(periodic, topology);
  if (!status) topology->periodic = periodic;
  if (!status) status = check_faces(topology);
  SP_TRY(sp_agree(comm, status));
  SP_TRY(find_sharers(comm, hexes, topology));
  *out = topology;
  topology = NULL;
  return SP_OK;
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

/* ---- Surfaces ---- */

/* A face that is also on another rank. */
typedef struct row {
  sp_row_name name;
  int64_t value;
} row;

enum { ROW_WORDS = sizeof(row) / 8 };

/* The answer is the value of the face's other row, -1 if there is none. */
static sp_status answer_faces(size_t count, const int64_t *const *rows, int64_t *const *answers,
                              const void *none) {
  (void)none;
  for (size_t n = 0; n < count; n++)
    *answers[n] = count == 2 ? ((const row *)rows[1 - n])->value : -1;
  return SP_OK;
}

static bool is_shared(const sp_topology *t, sp_lid e, int f) {
  const sp_lid face = t->slots[e][SP_FACE_SLOT + f];
  return t->sharer_start[face] < t->sharer_start[face + 1];
}

sp_status sp_surfaces_swap(MPI_Comm comm, const sp_topology *t, sp_lid halo,
                           int (*values)[SP_FACES]) {
  const size_t most = (size_t)(t->sharer_start[t->start[3]] - t->sharer_start[t->start[2]]);
  SP_OWNED row *rows = NULL;
  SP_OWNED int64_t *answers = NULL;
  int64_t count = 0;
  SP_TRY(sp_agree(comm, SP_ALLOCATE("surfaces", SP_ARRAY(rows, most), SP_ARRAY(answers, most))));
  for (sp_lid e = 0; e < halo; e++)
    for (int f = 0; f < SP_FACES; f++)
      if (is_shared(t, e, f)) {
        sp_gid key[4];
        sp_topology_key(t, t->slots[e][SP_FACE_SLOT + f], key);
        rows[count++] = (row){sp_entity_name(key), values[e][f]};
      }
  const sp_questions questions = {(size_t)count, ROW_WORDS, 1, (const int64_t *)rows, answers};
  SP_TRY(sp_rendezvous_answer(comm, &questions, NULL, answer_faces, NULL));
  count = 0;
  for (sp_lid e = 0; e < halo; e++)
    for (int f = 0; f < SP_FACES; f++)
      values[e][f] = is_shared(t, e, f) ? (int)answers[count++] : -1;
  return SP_OK;
}

sp_status sp_surfaces_share(MPI_Comm comm, const sp_topology *topology, sp_lid halo,
                            sp_hexes *hexes) {
  SP_OWNED int(*there)[SP_FACES] = NULL;
  if (sp_comm_size(comm) == 1) return SP_OK;
  SP_TRY(sp_agree(comm, sp_allocate((size_t)halo, sizeof *there, "surfaces", &there)));
  for (sp_lid e = 0; e < halo; e++)
    for (int f = 0; f < SP_FACES; f++) there[e][f] = sp_surface_of(hexes->surfaces[e][f]);
  SP_TRY(sp_surfaces_swap(comm, topology, halo, there));
  for (sp_lid e = 0; e < halo; e++)
    for (int f = 0; f < SP_FACES && !sp_hexes_is_contact(hexes, e); f++) {
      int *surface = &hexes->surfaces[e][f];
      if (sp_surface_of(*surface) < 0 && there[e][f] >= 0) *surface = there[e][f];
    }
  return SP_OK;
}

sp_status sp_surfaces_across(MPI_Comm comm, const sp_topology *t, sp_lid halo,
                             int (*values)[SP_FACES]) {
  const sp_lid first = t->start[2];
  SP_OWNED sp_gid *sums = NULL; /* of both sides */
  SP_OWNED int(*there)[SP_FACES] = NULL;
  SP_TRY(sp_agree(
      comm, SP_ALLOCATE("surfaces", SP_ARRAY(sums, t->start[3] - first), SP_ARRAY(there, halo))));
  if (halo > 0) memcpy(there, values, (size_t)halo * sizeof *there);
  SP_TRY(sp_surfaces_swap(comm, t, halo, there));
  for (sp_lid e = 0; e < t->elements; e++)
    for (int f = 0; f < SP_FACES; f++) sums[t->slots[e][SP_FACE_SLOT + f] - first] += values[e][f];
  for (sp_lid e = 0; e < t->elements; e++)
    for (int f = 0; f < SP_FACES; f++) {
      const sp_lid face = t->slots[e][SP_FACE_SLOT + f];
      values[e][f] = t->touching[face] == 2 ? (int)(sums[face - first] - values[e][f])
                     : e < halo             ? there[e][f]
                                            : -1;
    }
  return SP_OK;
}
