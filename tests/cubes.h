/* Meshes of scattered cubes that meet in faces, edges, vertices or not at all, on random ranks, and
 * their connected components by a plain search. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>

#include "mesh/hexes.h"

enum { CUBES_SIDE = 5, CUBES_MOST = CUBES_SIDE * CUBES_SIDE * CUBES_SIDE };

typedef struct cubes {
  int count;                 /* on all ranks; cube n has the tag n + 1 */
  int place[CUBES_MOST][3];  /* position in the lattice of CUBES_SIDE^3 */
  int rank[CUBES_MOST];      /* rank that has the cube */
  int component[CUBES_MOST]; /* numbered from 0 in the order of the cubes */
  int components;
} cubes;

static inline uint64_t cubes_draw(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* Two cubes have a vertex in common. */
static inline bool cubes_touch(const int a[3], const int b[3]) {
  bool touch = true;
  for (int d = 0; d < 3; d++) touch = touch && abs(a[d] - b[d]) <= 1;
  return touch;
}

/* Each lattice position has a cube with probability `percent`, on one of the first `ranks` ranks.
 */
static inline void cubes_choose(uint64_t seed, int percent, int ranks, cubes *all) {
  *all = (cubes){0};
  for (int place = 0; place < CUBES_MOST; place++) {
    if ((int)(cubes_draw(&seed) % 100) >= percent) continue;
    const int n = all->count++;
    all->place[n][0] = place % CUBES_SIDE;
    all->place[n][1] = place / CUBES_SIDE % CUBES_SIDE;
    all->place[n][2] = place / (CUBES_SIDE * CUBES_SIDE);
    all->rank[n] = (int)(cubes_draw(&seed) % (uint64_t)ranks);
    all->component[n] = -1;
  }
  int waiting[CUBES_MOST];
  for (int first = 0; first < all->count; first++) {
    if (all->component[first] >= 0) continue;
    int length = 1;
    waiting[0] = first;
    all->component[first] = all->components;
    while (length > 0) {
      const int from = waiting[--length];
      for (int to = 0; to < all->count; to++) {
        if (all->component[to] >= 0 || !cubes_touch(all->place[from], all->place[to])) continue;
        all->component[to] = all->components;
        waiting[length++] = to;
      }
    }
    all->components++;
  }
}

/* The cubes of `rank` as elements; the caller destroys *out. */
static inline sp_status cubes_hexes(const cubes *all, int rank, sp_hexes **out) {
  sp_gid mine = 0;
  for (int n = 0; n < all->count; n++) mine += all->rank[n] == rank;
  SP_TRY(sp_hexes_create(mine, 1, out));
  sp_lid e = 0;
  for (int n = 0; n < all->count; n++) {
    if (all->rank[n] != rank) continue;
    for (int c = 0; c < SP_CORNERS; c++) {
      int corner[3];
      for (int d = 0; d < 3; d++) {
        corner[d] = all->place[n][d] + (c >> d & 1);
        (*out)->lattice[((size_t)e * SP_CORNERS + (size_t)c) * 3 + (size_t)d] = corner[d];
      }
      (*out)->vertices[e][c] =
          corner[0] + (CUBES_SIDE + 1) * (corner[1] + (CUBES_SIDE + 1) * corner[2]);
    }
    for (int f = 0; f < SP_FACES; f++) (*out)->surfaces[e][f] = SP_SURFACE_INTERIOR;
    (*out)->tags[e++] = n + 1;
  }
  return SP_OK;
}

/* True if `found`, a number for each local element, is the same partition as the components of
 * `all`, with the same numbers in [0, components) on all ranks. Collective over `comm`. */
static inline bool cubes_agree(MPI_Comm comm, const cubes *all, const sp_hexes *hexes,
                               const int *found) {
  int of_cube[CUBES_MOST], number[CUBES_MOST], owner[CUBES_MOST];
  for (int n = 0; n < all->count; n++) of_cube[n] = owner[n] = number[n] = -1;
  for (sp_lid e = 0; e < hexes->count; e++) of_cube[hexes->tags[e] - 1] = found[e];
  MPI_Allreduce(MPI_IN_PLACE, of_cube, all->count, MPI_INT, MPI_MAX, comm);
  bool same = true;
  for (int n = 0; n < all->count; n++) {
    const int mine = of_cube[n], expected = all->component[n];
    if (mine < 0 || mine >= all->components) return false;
    if (number[expected] < 0) number[expected] = mine;
    if (owner[mine] < 0) owner[mine] = expected;
    same = same && number[expected] == mine && owner[mine] == expected;
  }
  return same;
}
