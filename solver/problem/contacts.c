#include "solver/problem/contacts.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "io/hash.h"
#include "mesh/entity.h"
#include "mesh/reference.h"

/* Hashes of a face's corners that do not depend on their order. */
typedef struct face_name {
  uint64_t part[2];
} face_name;

/* Coordinates are counted from `origin` in units of `unit`. */
typedef struct grid {
  double origin[3], unit;
} grid;

typedef struct transfer {
  int ranks, *sent, *sent_start, *received, *received_start;
  face_name *mine, *theirs;
} transfer;

static void find_grid(const sp_problem *problem, const sp_mesh *mesh, grid *g) {
  /* An arbitrary unit, so that coordinates of regular meshes do not lie at rounding boundaries. */
  static const double UNIT = 0.7390851332151607e-8;
  const size_t points = sp_hexes_lattice_size(mesh->hexes);
  double least[6] = {DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX}; /* of x and -x */
  for (sp_lid n = 0; n < problem->outer_count; n++) {
    const double *lattice = sp_hexes_lattice(mesh->hexes, problem->outer[n]);
    for (size_t i = 0; i < 3 * points; i++) {
      least[i % 3] = fmin(least[i % 3], lattice[i]);
      least[3 + i % 3] = fmin(least[3 + i % 3], -lattice[i]);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, least, 6, MPI_DOUBLE, MPI_MIN, mesh->comm);
  g->unit = 0;
  for (int d = 0; d < 3; d++) {
    g->origin[d] = least[d];
    g->unit = fmax(g->unit, UNIT * (-least[3 + d] - least[d]));
  }
}

static face_name name_face(const grid *g, const sp_hexes *hexes, sp_lid e, int f) {
  const double *lattice = sp_hexes_lattice(hexes, e);
  face_name name = {{0, 0}};
  for (int c = 0; c < SP_CORNERS; c++) {
    if ((c >> f / 2 & 1) != f % 2) continue;
    const double *corner = &lattice[3 * sp_corner_node(hexes->map_order, c)];
    uint64_t hash = 0;
    for (int d = 0; d < 3; d++)
      hash = sp_hash_fold(hash, (uint64_t)floor((corner[d] - g->origin[d]) / g->unit + 0.5));
    name.part[0] += hash;
    name.part[1] += sp_hash(hash);
  }
  return name;
}

static int owner_of(const face_name *name, int ranks) {
  return (int)(name->part[0] % (uint64_t)ranks);
}

static int compare(const void *a_, const void *b_) {
  const face_name *a = a_, *b = b_;
  for (int p = 0; p < 2; p++)
    if (a->part[p] != b->part[p]) return a->part[p] < b->part[p] ? -1 : 1;
  return 0;
}

/* Name this rank's faces, sorted by the rank that compares them. */
static sp_status name_faces(const sp_problem *problem, const sp_hexes *hexes, const grid *g,
                            transfer *t) {
  const size_t most = SP_FACES * (size_t)problem->outer_count, ranks = (size_t)t->ranks;
  face_name *all = NULL;
  size_t count = 0;
  SP_TRY(sp_allocate(4 * ranks, sizeof *t->sent, "contacts", &t->sent));
  t->sent_start = t->sent + ranks;
  t->received = t->sent + 2 * ranks;
  t->received_start = t->sent + 3 * ranks;
  SP_TRY(sp_allocate(most, sizeof *t->mine, "contacts", &t->mine));
  SP_TRY(sp_allocate(most, sizeof *all, "contacts", &all));
  for (sp_lid n = 0; n < problem->outer_count; n++)
    for (int f = 0; f < SP_FACES; f++)
      if (sp_surface_is_exterior(hexes->surfaces[problem->outer[n]][f])) {
        all[count] = name_face(g, hexes, problem->outer[n], f);
        t->sent[owner_of(&all[count++], t->ranks)]++;
      }
  for (int r = 1; r < t->ranks; r++) t->sent_start[r] = t->sent_start[r - 1] + t->sent[r - 1];
  for (size_t i = 0; i < count; i++) t->mine[t->sent_start[owner_of(&all[i], t->ranks)]++] = all[i];
  for (int r = 0; r < t->ranks; r++) t->sent_start[r] -= t->sent[r];
  free(all);
  return SP_OK;
}

static sp_status allocate_theirs(transfer *t) {
  MPI_Count total = 0;
  for (int r = 0; r < t->ranks; r++) total += t->received[r];
  if (total > INT32_MAX) return sp_fail(SP_ERR_SYSTEM, "contacts: too many faces on a rank");
  for (int r = 1; r < t->ranks; r++)
    t->received_start[r] = t->received_start[r - 1] + t->received[r - 1];
  return sp_allocate((size_t)total, sizeof *t->theirs, "contacts", &t->theirs);
}

static sp_gid count_pairs(transfer *t) {
  const size_t count = (size_t)t->received_start[t->ranks - 1] + (size_t)t->received[t->ranks - 1];
  sp_gid pairs = 0;
  qsort(t->theirs, count, sizeof *t->theirs, compare);
  for (size_t i = 1; i < count; i++)
    if (compare(&t->theirs[i - 1], &t->theirs[i]) == 0) {
      pairs++;
      i++;
    }
  return pairs;
}

sp_status sp_problem_count_contacts(const sp_problem *problem, const sp_mesh *mesh, sp_gid *pairs) {
  transfer t = {0};
  grid g;
  *pairs = 0;
  MPI_Comm_size(mesh->comm, &t.ranks);
  find_grid(problem, mesh, &g);
  sp_status status = sp_agree(mesh->comm, name_faces(problem, mesh->hexes, &g, &t));
  if (!status) {
    MPI_Alltoall(t.sent, 1, MPI_INT, t.received, 1, MPI_INT, mesh->comm);
    status = sp_agree(mesh->comm, allocate_theirs(&t));
  }
  if (!status) {
    MPI_Datatype name;
    MPI_Type_contiguous(2, MPI_UINT64_T, &name);
    MPI_Type_commit(&name);
    MPI_Alltoallv(t.mine, t.sent, t.sent_start, name, t.theirs, t.received, t.received_start, name,
                  mesh->comm);
    MPI_Type_free(&name);
    *pairs = count_pairs(&t);
    MPI_Allreduce(MPI_IN_PLACE, pairs, 1, SP_MPI_GID, MPI_SUM, mesh->comm);
  }
  free(t.sent);
  free(t.mine);
  free(t.theirs);
  return status;
}
