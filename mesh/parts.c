#include "mesh/parts.h"

#include <math.h>
#include <stdlib.h>

#include "mesh/geometry.h"

enum { SAMPLE = 24 }; /* elements per direction, those at both ends included */

/* The bricks of a box. */
typedef struct sp_boxes {
  sp_box box;
  double width; /* of an element after all refinements, in those of the box */
  bool periodic[3];
  int levels; /* coarser meshes that are left */
  int elements[3];
  int *planes[3]; /* [elements[d] + 1], index of each plane in the refined box */
  int count;
  sp_brick *bricks;        /* [count] */
  int *start, *neighbours; /* of part p: neighbours[start[p]] to neighbours[start[p + 1] - 1] */
} boxes;

static sp_status allocate(int count, int refinements, sp_parts **out) {
  *out = NULL;
  SP_TRY(sp_allocate(1, sizeof **out, "parts", out));
  **out = (sp_parts){.count = count, .refinements = refinements};
  return sp_allocate((size_t)count, sizeof *(*out)->of, "parts", &(*out)->of);
}

void sp_parts_destroy(sp_parts **parts) {
  if (!*parts) return;
  boxes *p = (*parts)->boxes;
  if (p) SP_FREE(p->planes[0], p->planes[1], p->planes[2], p->bricks, p->start, p->neighbours);
  SP_FREE(p, (*parts)->of, *parts);
  *parts = NULL;
}

/* ---- Common parts of bricks ---- */

static int larger(int a, int b) {
  return a > b ? a : b;
}

static int smaller(int a, int b) {
  return a < b ? a : b;
}

/* The last vertex of a range; both ends of a period are one vertex. */
static int end_of(const boxes *p, int d, const sp_brick *brick) {
  return brick->last[d] - (p->periodic[d] && brick->last[d] - brick->first[d] == p->elements[d]);
}

/* Common vertices in direction d. */
static int common_vertices(const boxes *p, int d, const sp_brick *a, const sp_brick *b) {
  const int period = p->elements[d], most = p->periodic[d] ? period : 0;
  int sum = 0;
  for (int shift = -most; shift <= most; shift += period)
    sum += larger(0, smaller(end_of(p, d, a), end_of(p, d, b) + shift) -
                         larger(a->first[d], b->first[d] + shift) + 1);
  return sum;
}

/* Common vertices, edges, faces and elements. */
static void count_common(const boxes *p, const sp_brick *a, const sp_brick *b, double common[4]) {
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

/* Count a brick and what it shares with `neighbours`. */
static void count_brick(const boxes *p, const sp_brick *own, int count, const int *neighbours,
                        sp_census *out) {
  double common[4];
  count_common(p, own, own, common);
  *out = (sp_census){
      .elements = common[3], .local = {common[0], common[1], common[2]}, .neighbours = count};
  for (int n = 0; n < count; n++) {
    count_common(p, own, &p->bricks[neighbours[n]], common);
    for (int kind = 0; kind < 3; kind++) out->shared[kind] += common[kind];
  }
}

static void count_boxes(sp_parts *parts) {
  const boxes *p = parts->boxes;
  const sp_brick all = {{0, 0, 0}, {p->elements[0], p->elements[1], p->elements[2]}};
  count_brick(p, &all, 0, NULL, &parts->all);
  for (int r = 0; r < p->count; r++)
    count_brick(p, &p->bricks[r], p->start[r + 1] - p->start[r], &p->neighbours[p->start[r]],
                &parts->of[r]);
}

/* ---- Bricks ---- */

static bool touch(const boxes *p, int a, int b) {
  for (int d = 0; d < 3; d++)
    if (common_vertices(p, d, &p->bricks[a], &p->bricks[b]) == 0) return false;
  return a != b;
}

/* Bricks that touch still do so on coarser meshes, and no others. */
static sp_status find_neighbours(boxes *p) {
  SP_TRY(sp_allocate((size_t)p->count + 1, sizeof *p->start, "parts", &p->start));
  for (int a = 0; a < p->count; a++) {
    p->start[a + 1] = p->start[a];
    for (int b = 0; b < p->count; b++) p->start[a + 1] += touch(p, a, b);
  }
  SP_TRY(sp_allocate((size_t)p->start[p->count], sizeof(int), "parts", &p->neighbours));
  for (int a = 0, n = 0; a < p->count; a++)
    for (int b = 0; b < p->count; b++)
      if (touch(p, a, b)) p->neighbours[n++] = b;
  return SP_OK;
}

static sp_status make_bricks(int refinements, boxes *p) {
  for (int d = 0; d < 3; d++) {
    p->elements[d] = p->box.elements[d] << refinements;
    SP_TRY(sp_allocate((size_t)p->elements[d] + 1, sizeof(int), "parts", &p->planes[d]));
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

sp_status sp_parts_of_box(const sp_box *box, const bool periodic[3], int refinements, int levels,
                          int count, sp_parts **out) {
  boxes *p = NULL;
  sp_status status = allocate(count, 0, out);
  if (!status) status = sp_allocate(1, sizeof *p, "parts", &p);
  if (!status) {
    *p = (boxes){.box = *box,
                 .width = ldexp(1, -refinements),
                 .periodic = {periodic[0], periodic[1], periodic[2]},
                 .levels = levels,
                 .count = count};
    (*out)->boxes = p;
    status = make_bricks(refinements, p);
  }
  if (!status)
    count_boxes(*out);
  else
    sp_parts_destroy(out);
  return status;
}

/* ---- Coarser boxes ---- */

/* Sample i of a direction: the index of an element. */
static int sampled(const boxes *p, int d, int i) {
  const int n = p->elements[d], most = smaller(n, SAMPLE);
  return most == 1 ? 0 : (int)((sp_gid)i * (n - 1) / (most - 1));
}

static void fill_corners(const boxes *p, const int element[3], double *point) {
  for (int c = 0; c < SP_CORNERS; c++, point += 3) {
    double at[3];
    for (int d = 0; d < 3; d++) at[d] = p->width * p->planes[d][element[d] + (c >> d & 1)];
    sp_box_point(&p->box, at, point);
  }
}

static sp_status make_sample(const boxes *p, sp_hexes **out) {
  int n[3];
  for (int d = 0; d < 3; d++) n[d] = smaller(p->elements[d], SAMPLE);
  SP_TRY(sp_hexes_create((sp_gid)n[0] * n[1] * n[2], 1, out));
  for (int e = 0; e < (*out)->count; e++) {
    const int element[3] = {sampled(p, 0, e % n[0]), sampled(p, 1, e / n[0] % n[1]),
                            sampled(p, 2, e / n[0] / n[1])};
    fill_corners(p, element, &(*out)->lattice[(size_t)e * SP_CORNERS * 3]);
    for (int c = 0; c < SP_CORNERS; c++) (*out)->vertices[e][c] = c;
  }
  return SP_OK;
}

/* Find out if all elements are proper, and the directions in which they are strongly coupled. */
static sp_status judge(const boxes *p, bool strong[3], bool *proper) {
  sp_mesh_shape shape = {.upright = 0};
  SP_AUTO(sp_hexes) sample = NULL;
  SP_TRY(make_sample(p, &sample));
  *proper = true;
  for (sp_lid e = 0; *proper && e < sample->count; e++)
    *proper = sp_geometry_is_surely_proper(sample, e);
  if (*proper) SP_TRY(sp_mesh_shape_find(MPI_COMM_SELF, sample, &shape));
  sp_mesh_strong_directions(&shape, strong);
  return SP_OK;
}

/* True if a brick begins at an index with this parity. */
static bool is_cut(const boxes *p, int d, int parity) {
  for (int r = 0; r < p->count; r++)
    if (p->bricks[r].first[d] > 0 && (p->bricks[r].first[d] & 1) == parity) return true;
  return false;
}

/* Join pairs of elements along direction d; the first pair begins at -shift. */
static void halve(boxes *p, int d, int shift) {
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

static sp_status coarsen_boxes(boxes *p, bool *found) {
  bool strong[3], proper;
  if (p->levels-- == 0) return SP_OK;
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

/* ---- The ranks of a mesh ---- */

static int compare_ranks(const void *left, const void *right) {
  const int a = *(const int *)left, b = *(const int *)right;
  return (a > b) - (a < b);
}

/* Count this rank's part; its neighbours are those that share vertices with it. */
static sp_status count_own(const sp_mesh *mesh, sp_census *own, sp_census *all) {
  const sp_topology *t = mesh->topology;
  const size_t count = (size_t)t->sharer_start[t->start[1]];
  SP_OWNED int *ranks = NULL;
  own->elements = all->elements = t->elements;
  for (int kind = 0; kind < 3; kind++)
    for (sp_lid i = t->start[kind]; i < t->start[kind + 1]; i++) {
      const double sharers = t->sharer_start[i + 1] - t->sharer_start[i];
      own->local[kind] += 1;
      own->shared[kind] += sharers;
      all->local[kind] += 1 / (1 + sharers);
    }
  SP_TRY(sp_allocate(count, sizeof *ranks, "parts", &ranks));
  for (size_t n = 0; n < count; n++) ranks[n] = t->sharers[n];
  if (count > 0) qsort(ranks, count, sizeof *ranks, compare_ranks);
  for (size_t n = 0; n < count; n++) own->neighbours += n == 0 || ranks[n] != ranks[n - 1];
  return SP_OK;
}

sp_status sp_parts_of_mesh(const sp_mesh *mesh, int refinements, sp_parts **out) {
  enum { DOUBLES = sizeof(sp_census) / sizeof(double) };
  const int rank = sp_comm_rank(mesh->comm), ranks = sp_comm_size(mesh->comm);
  sp_status status = allocate(ranks, refinements, out);
  if (!status) status = count_own(mesh, &(*out)->of[rank], &(*out)->all);
  status = sp_agree(mesh->comm, status);
  if (status) {
    sp_parts_destroy(out);
    return status;
  }
  (*out)->mesh = mesh;
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, (*out)->of, DOUBLES, MPI_DOUBLE, mesh->comm);
  MPI_Allreduce(MPI_IN_PLACE, &(*out)->all, DOUBLES, MPI_DOUBLE, MPI_SUM, mesh->comm);
  return SP_OK;
}

/* ---- Either ---- */

sp_status sp_parts_coarsen(sp_parts *parts, bool *found) {
  bool strong[3];
  *found = false;
  if (parts->boxes) {
    SP_TRY(coarsen_boxes(parts->boxes, found));
    if (*found) count_boxes(parts);
    return SP_OK;
  }
  if (parts->refinements == 0 || parts->mesh->hexes->file.contacts > 0) return SP_OK;
  sp_mesh_strong_directions(&parts->mesh->shape, strong); /* refinement hardly changes them */
  *found = strong[0] && strong[1] && strong[2];
  parts->refinements -= *found;
  return SP_OK;
}
