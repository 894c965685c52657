#include "mesh/surfaces.h"

#include <stdlib.h>

#include "io/hash.h"
#include "io/rendezvous.h"

/* A face that another rank has, too. */
typedef struct row {
  sp_row_name name; /* hash of the key */
  sp_gid key[4], value;
} row;

enum { ROW_WORDS = sizeof(row) / 8 };

static int compare(const void *left, const void *right) {
  const row *a = *(const row *const *)left, *b = *(const row *const *)right;
  return sp_entity_compare(a->key, b->key);
}

/* The answer is the value of the other row of the face, -1 if none has arrived. */
static sp_status answer(MPI_Comm comm, size_t count, const int64_t *rows, int64_t *answers,
                        const void *context) {
  (void)context;
  const row *all = (const row *)rows, **sorted;
  SP_TRY(sp_agree(comm, sp_allocate(count, sizeof *sorted, "surfaces", &sorted)));
  for (size_t n = 0; n < count; n++) {
    sorted[n] = &all[n];
    answers[n] = -1;
  }
  qsort(sorted, count, sizeof *sorted, compare);
  for (size_t n = 1; n < count; n++) {
    if (compare(&sorted[n - 1], &sorted[n]) != 0) continue;
    answers[sorted[n - 1] - all] = sorted[n]->value;
    answers[sorted[n] - all] = sorted[n - 1]->value;
  }
  free(sorted);
  return SP_OK;
}

static bool is_shared(const sp_topology *t, sp_lid e, int f) {
  const sp_lid face = t->slots[e][SP_FACE_SLOT + f];
  return t->sharer_start[face] < t->sharer_start[face + 1] && !sp_hexes_is_contact(t->hexes, e);
}

static void fill_row(const sp_topology *t, sp_lid face, int value, row *out) {
  out->value = value;
  sp_topology_key(t, face, out->key);
  for (int c = 0; c < 4; c++)
    out->name.part[0] = (int64_t)sp_hash_fold((uint64_t)out->name.part[0], (uint64_t)out->key[c]);
}

sp_status sp_surfaces_swap(MPI_Comm comm, const sp_topology *t, int (*values)[SP_FACES]) {
  const size_t most = (size_t)(t->sharer_start[t->start[3]] - t->sharer_start[t->start[2]]);
  row *rows;
  int64_t *answers = NULL, count = 0;
  sp_status status = sp_allocate(most, sizeof *rows, "surfaces", &rows);
  if (!status) status = sp_allocate(most, sizeof *answers, "surfaces", &answers);
  status = sp_agree(comm, status);
  for (sp_lid e = 0; e < t->elements && !status; e++)
    for (int f = 0; f < SP_FACES; f++)
      if (is_shared(t, e, f))
        fill_row(t, t->slots[e][SP_FACE_SLOT + f], values[e][f], &rows[count++]);
  if (!status)
    status = sp_rendezvous_answer(comm, count, ROW_WORDS, (const int64_t *)rows, 1, answers, answer,
                                  NULL);
  count = 0;
  for (sp_lid e = 0; e < t->elements && !status; e++)
    for (int f = 0; f < SP_FACES; f++)
      values[e][f] = is_shared(t, e, f) ? (int)answers[count++] : -1;
  SP_FREE(rows, answers);
  return status;
}

sp_status sp_surfaces_share(MPI_Comm comm, const sp_topology *topology, sp_hexes *hexes) {
  const size_t faces = SP_FACES * (size_t)hexes->count;
  int(*there)[SP_FACES];
  if (sp_comm_size(comm) == 1) return SP_OK;
  SP_TRY(sp_agree(comm, sp_allocate((size_t)hexes->count, sizeof *there, "surfaces", &there)));
  for (size_t i = 0; i < faces; i++)
    there[i / SP_FACES][i % SP_FACES] = sp_surface_of(hexes->surfaces[i / SP_FACES][i % SP_FACES]);
  const sp_status status = sp_surfaces_swap(comm, topology, there);
  for (size_t i = 0; i < faces && !status; i++) {
    int *surface = &hexes->surfaces[i / SP_FACES][i % SP_FACES];
    if (sp_surface_of(*surface) < 0 && there[i / SP_FACES][i % SP_FACES] >= 0)
      *surface = there[i / SP_FACES][i % SP_FACES];
  }
  free(there);
  return status;
}
