#include "mesh/surfaces.h"

#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "io/rendezvous.h"

/* A face that another rank has, too, and its surface here, -1 for none. */
typedef struct row {
  sp_row_name name; /* hash of the key */
  sp_gid key[4], surface;
} row;

enum { ROW_WORDS = sizeof(row) / 8 };

static int compare(const void *left, const void *right) {
  const row *a = *(const row *const *)left, *b = *(const row *const *)right;
  return sp_entity_compare(a->key, b->key);
}

/* The answer is the surface of one of the two rows. */
static sp_status answer(MPI_Comm comm, size_t count, const int64_t *rows, int64_t *answers,
                        const void *context) {
  (void)context;
  const row *all = (const row *)rows, **sorted;
  SP_TRY(sp_agree(comm, sp_allocate(count, sizeof *sorted, "surfaces", &sorted)));
  for (size_t n = 0; n < count; n++) sorted[n] = &all[n];
  qsort(sorted, count, sizeof *sorted, compare);
  for (size_t n = 0; n < count; n++) {
    const row *own = sorted[n];
    sp_gid surface = own->surface;
    if (surface < 0 && n > 0 && compare(&sorted[n - 1], &own) == 0)
      surface = sorted[n - 1]->surface;
    if (surface < 0 && n + 1 < count && compare(&own, &sorted[n + 1]) == 0)
      surface = sorted[n + 1]->surface;
    answers[own - all] = surface;
  }
  free(sorted);
  return SP_OK;
}

static void list_faces(const sp_topology *t, sp_hexes *hexes, int64_t *count, row *rows,
                       int **surfaces) {
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      const sp_lid face = t->slots[e][SP_FACE_SLOT + f];
      if (t->sharer_start[face] == t->sharer_start[face + 1] || sp_hexes_is_contact(hexes, e))
        continue;
      row *own = &rows[*count];
      surfaces[(*count)++] = &hexes->surfaces[e][f];
      own->surface = sp_surface_of(hexes->surfaces[e][f]);
      sp_topology_key(t, face, own->key);
      for (int c = 0; c < 4; c++)
        own->name.part[0] =
            (int64_t)sp_hash_fold((uint64_t)own->name.part[0], (uint64_t)own->key[c]);
    }
}

sp_status sp_surfaces_share(MPI_Comm comm, const sp_topology *topology, sp_hexes *hexes) {
  const sp_topology *t = topology;
  const size_t most = (size_t)(t->sharer_start[t->start[3]] - t->sharer_start[t->start[2]]);
  row *rows;
  int **surfaces = NULL, size;
  int64_t *answers = NULL, count = 0;
  MPI_Comm_size(comm, &size);
  if (size == 1) return SP_OK;
  sp_status status = sp_allocate(most, sizeof *rows, "surfaces", &rows);
  if (!status) status = sp_allocate(most, sizeof *surfaces, "surfaces", &surfaces);
  if (!status) status = sp_allocate(most, sizeof *answers, "surfaces", &answers);
  status = sp_agree(comm, status);
  if (!status) {
    list_faces(t, hexes, &count, rows, surfaces);
    status = sp_rendezvous_answer(comm, count, ROW_WORDS, (const int64_t *)rows, 1, answers, answer,
                                  NULL);
  }
  for (int64_t n = 0; n < count && !status; n++)
    if (rows[n].surface < 0 && answers[n] >= 0) *surfaces[n] = (int)answers[n];
  SP_FREE(rows, surfaces, answers);
  return status;
}
