#include "mesh/box_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/coarsen.h"
#include "mesh/geometry.h"

enum { SAMPLE = 24 }; /* elements per direction, those at both ends included */

struct sp_box_parts {
  sp_box box;
  double width; /* of an element after all refinements, in those of the box */
  bool periodic[3];
  int elements[3];
  int *planes[3]; /* [elements[d] + 1], index of each plane in the refined box */
  int count;
  sp_brick *bricks;        /* [count] */
  int *start, *neighbours; /* of part p: neighbours[start[p]] to neighbours[start[p + 1] - 1] */
};

static int larger(int a, int b) {
  return a > b ? a : b;
}

static int smaller(int a, int b) {
  return a < b ? a : b;
}

/* ---- What bricks share ---- */

/* The last vertex of a range; both ends of a period are one vertex. */
static int end_of(const sp_box_parts *p, int d, const sp_brick *brick) {
  return brick->last[d] - (p->periodic[d] && brick->last[d] - brick->first[d] == p->elements[d]);
}

/* Common vertices in direction d. */
static int common_vertices(const sp_box_parts *p, int d, const sp_brick *a, const sp_brick *b) {
  const int period = p->elements[d], most = p->periodic[d] ? period : 0;
  int sum = 0;
  for (int shift = -most; shift <= most; shift += period)
    sum += larger(0, smaller(end_of(p, d, a), end_of(p, d, b) + shift) -
                         larger(a->first[d], b->first[d] + shift) + 1);
  return sum;
}

/* Common vertices, edges, faces and elements. */
static void count_common(const sp_box_parts *p, const sp_brick *a, const sp_brick *b,
                         double common[4]) {
  double v[3], e[3];
  for (int d = 0; d < 3; d++) {
    v[d] = common_vertices(p, d, a, b);
    e[d] = larger(0, smaller(a->last[d], b->last[d]) - larger(a->first[d], b->first[d]));
  }
  common[0] = v[0] * v[1] * v[2];
  common[1] = e[0] * v[1] * v[2] + v[0] * e[1] * v[2] + v[0] * v[1] * e[2];
  common[2] = v[0] * e[1] * e[2] + e[0] * v[1] * e[2] + e[0] * e[1] * v[2];
  common[3] = e[0] * e[1] * e[2];
}

void sp_box_parts_count(const sp_box_parts *p, int part, sp_census *out) {
  sp_brick own = {{0, 0, 0}, {p->elements[0], p->elements[1], p->elements[2]}};
  double common[4];
  if (part >= 0) own = p->bricks[part];
  count_common(p, &own, &own, common);
  *out = (sp_census){.elements = common[3], .local = {common[0], common[1], common[2]}};
  if (part < 0) return;
  out->neighbours = p->start[part + 1] - p->start[part];
  for (int n = p->start[part]; n < p->start[part + 1]; n++) {
    count_common(p, &own, &p->bricks[p->neighbours[n]], common);
    for (int kind = 0; kind < 3; kind++) out->shared[kind] += common[kind];
  }
}

/* ---- Creation ---- */

static bool touch(const sp_box_parts *p, int a, int b) {
  for (int d = 0; d < 3; d++)
    if (common_vertices(p, d, &p->bricks[a], &p->bricks[b]) == 0) return false;
  return a != b;
}

/* Bricks that touch still do so on coarser meshes, and no others. */
static sp_status find_neighbours(sp_box_parts *p) {
  size_t room = 32 * (size_t)p->count, used = 0;
  SP_TRY(sp_allocate((size_t)p->count + 1, sizeof *p->start, "parts", &p->start));
  SP_TRY(sp_allocate(room, sizeof *p->neighbours, "parts", &p->neighbours));
  for (int a = 0; a < p->count; a++) {
    for (int b = 0; b < p->count; b++) {
      if (!touch(p, a, b)) continue;
      if (used == room) {
        int *more;
        SP_TRY(sp_allocate(2 * room, sizeof *more, "parts", &more));
        memcpy(more, p->neighbours, room * sizeof *more);
        free(p->neighbours);
        p->neighbours = more;
        room *= 2;
      }
      p->neighbours[used++] = b;
    }
    p->start[a + 1] = (int)used;
  }
  return SP_OK;
}

static sp_status create(int refinements, sp_box_parts *p) {
  for (int d = 0; d < 3; d++) {
    p->elements[d] = p->box.elements[d] << refinements;
    SP_TRY(sp_allocate((size_t)p->elements[d] + 1, sizeof *p->planes[d], "parts", &p->planes[d]));
    for (int i = 0; i <= p->elements[d]; i++) p->planes[d][i] = i;
  }
  SP_TRY(sp_allocate((size_t)p->count, sizeof *p->bricks, "parts", &p->bricks));
  for (int r = 0; r < p->count; r++) {
    sp_brick *brick = &p->bricks[r];
    SP_TRY(sp_box_brick(&p->box, p->count, r, brick));
    for (int d = 0; d < 3; d++) {
      brick->first[d] <<= refinements;
      brick->last[d] <<= refinements;
    }
  }
  return find_neighbours(p);
}

sp_status sp_box_parts_create(const sp_box *box, const bool periodic[3], int refinements, int count,
                              sp_box_parts **out) {
  SP_TRY(sp_allocate(1, sizeof **out, "parts", out));
  **out = (sp_box_parts){.box = *box, .width = ldexp(1, -refinements), .count = count};
  memcpy((*out)->periodic, periodic, sizeof(*out)->periodic);
  const sp_status status = create(refinements, *out);
  if (status) sp_box_parts_destroy(out);
  return status;
}

void sp_box_parts_destroy(sp_box_parts **parts) {
  sp_box_parts *p = *parts;
  if (!p) return;
  for (int d = 0; d < 3; d++) free(p->planes[d]);
  SP_FREE(p->bricks, p->start, p->neighbours, p);
  *parts = NULL;
}

/* ---- Coarsening ---- */

/* Sample i of a direction: the index of an element. */
static int sampled(const sp_box_parts *p, int d, int i) {
  const int n = p->elements[d], most = smaller(n, SAMPLE);
  return most == 1 ? 0 : (int)((sp_gid)i * (n - 1) / (most - 1));
}

static void fill_corners(const sp_box_parts *p, const int element[3], double *point) {
  for (int c = 0; c < SP_CORNERS; c++, point += 3) {
    double at[3];
    for (int d = 0; d < 3; d++) at[d] = p->width * p->planes[d][element[d] + (c >> d & 1)];
    sp_box_point(&p->box, at, point);
  }
}

static sp_status make_sample(const sp_box_parts *p, sp_hexes **out) {
  int n[3];
  for (int d = 0; d < 3; d++) n[d] = smaller(p->elements[d], SAMPLE);
  SP_TRY(sp_hexes_create((sp_gid)n[0] * n[1] * n[2], 1, 0, 0, out));
  for (int e = 0; e < (*out)->count; e++) {
    const int element[3] = {sampled(p, 0, e % n[0]), sampled(p, 1, e / n[0] % n[1]),
                            sampled(p, 2, e / n[0] / n[1])};
    fill_corners(p, element, &(*out)->lattice[(size_t)e * SP_CORNERS * 3]);
  }
  return SP_OK;
}

/* Find the directions in which elements are strongly coupled, and if all elements are proper. */
static sp_status judge(const sp_box_parts *p, bool strong[3], bool *proper) {
  sp_mesh sample = {.comm = MPI_COMM_SELF};
  SP_TRY(make_sample(p, &sample.hexes));
  const sp_status status = sp_mesh_strong_directions(&sample, strong);
  *proper = true;
  for (sp_lid e = 0; e < sample.hexes->count; e++)
    *proper = *proper && sp_geometry_is_surely_proper(sample.hexes, e);
  sp_hexes_destroy(&sample.hexes);
  return status;
}

/* True if a brick begins at an index with this parity. */
static bool is_cut(const sp_box_parts *p, int d, int parity) {
  for (int r = 0; r < p->count; r++)
    if (p->bricks[r].first[d] > 0 && (p->bricks[r].first[d] & 1) == parity) return true;
  return false;
}

/* Join pairs of elements along direction d; the first pair begins at -shift. */
static void halve(sp_box_parts *p, int d, int shift) {
  const int n = (p->elements[d] - 1 + shift) / 2 + 1;
  int *planes = p->planes[d];
  for (int i = 1; i < n; i++) planes[i] = planes[2 * i - shift];
  planes[n] = planes[p->elements[d]];
  p->elements[d] = n;
  for (int r = 0; r < p->count; r++) {
    sp_brick *brick = &p->bricks[r];
    brick->first[d] = (brick->first[d] + shift) / 2;
    brick->last[d] = (brick->last[d] - 1 + shift) / 2 + 1;
  }
}

sp_status sp_box_parts_coarsen(sp_box_parts *p, bool *found) {
  bool strong[3], proper;
  *found = false;
  SP_TRY(judge(p, strong, &proper));
  for (int d = 0; d < 3; d++) {
    const int shift = is_cut(p, d, 1);
    if (!strong[d] || (shift && is_cut(p, d, 0)) || p->elements[d] <= 1 + shift) continue;
    halve(p, d, shift);
    *found = true;
  }
  if (*found) SP_TRY(judge(p, strong, &proper));
  *found = *found && proper;
  return SP_OK;
}
