#include "mesh/surfaces.h"

#include <string.h>

#include "io/rendezvous.h"

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
