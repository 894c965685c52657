#include "mesh/box.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/blocks.h"

const char *const sp_map_names[] = {
    [SP_MAP_NONE] = "none", [SP_MAP_SINE] = "sine", [SP_MAP_KERSHAW] = "kershaw", NULL};

const char *const sp_step_names[] = {
    [SP_STEP_QUINTIC] = "quintic", [SP_STEP_LINEAR] = "linear", NULL};

const char *const sp_background_names[] = {
    [SP_BACKGROUND_FULL] = "full", [SP_BACKGROUND_EMPTY] = "empty", NULL};

static void deform_sine(double p[3]) {
  const double x = p[0], y = p[1], z = p[2];
  p[0] += 0.05 * sin(5.1 * y + 0.4) * sin(4.3 * z + 0.7);
  p[1] += 0.05 * sin(4.7 * z + 0.3) * sin(5.3 * x + 0.9);
  p[2] += 0.05 * sin(4.9 * x + 0.5) * sin(4.1 * y + 0.2);
}

/* Grades the unit interval towards 1: slope 2 - epsilon on the lower half, epsilon on the upper. */
static double grade_high(double epsilon, double y) {
  return y <= 0.5 ? (2 - epsilon) * y : 1 + epsilon * (y - 1);
}

static double grade_low(double epsilon, double y) {
  return 1 - grade_high(epsilon, 1 - y);
}

/* 0 for t <= 0, 1 for t >= 1; the quintic one is twice continuously differentiable in between. */
static double take_step(sp_step step, double t) {
  if (t <= 0) return 0;
  if (t >= 1) return 1;
  if (step == SP_STEP_LINEAR) return t;
  return t * t * t * (t * (6 * t - 15) + 10);
}

/* Weight of the grading towards the high end: rises over the second sixth of x, falls over the
 * third and fourth, and rises again over the fifth. */
static double kershaw_blend(sp_step step, double x) {
  return take_step(step, 6 * x - 1) - take_step(step, (6 * x - 2) / 2) + take_step(step, 6 * x - 4);
}

static void deform_kershaw(double epsilon, sp_step step, double p[3]) {
  const double blend = kershaw_blend(step, p[0]);
  for (int d = 1; d < 3; d++)
    p[d] = (1 - blend) * grade_low(epsilon, p[d]) + blend * grade_high(epsilon, p[d]);
}

void sp_box_deform(const sp_box *box, double point[3]) {
  if (box->map == SP_MAP_SINE) deform_sine(point);
  if (box->map == SP_MAP_KERSHAW) deform_kershaw(box->epsilon, box->step, point);
}

static sp_gid vertex_number(const sp_box *box, const int ijk[3]) {
  const sp_gid nx = (sp_gid)box->elements[0] + 1, ny = (sp_gid)box->elements[1] + 1;
  return ijk[0] + nx * (ijk[1] + ny * (sp_gid)ijk[2]);
}

/* The vertex with index[3] of the box, deformed. */
static void find_point(const sp_box *box, const int index[3], double point[3]) {
  for (int d = 0; d < 3; d++)
    point[d] = box->planes[d]
                   ? (box->planes[d][index[d]] - box->lower[d]) / (box->upper[d] - box->lower[d])
                   : (double)index[d] / box->elements[d];
  sp_box_deform(box, point);
  for (int d = 0; d < 3; d++)
    point[d] = box->planes[d] && box->map == SP_MAP_NONE
                   ? box->planes[d][index[d]]
                   : box->lower[d] + (box->upper[d] - box->lower[d]) * point[d];
}

/* ---- Elements ---- */

/* Shared by the loop over the layers of a brick. */
typedef struct filling {
  const sp_box *box;
  const sp_blocks *blocks;
  const sp_brick *brick;
  sp_hexes *hexes;
} filling;

static size_t brick_extent(const sp_brick *brick, int d) {
  return (size_t)(brick->last[d] - brick->first[d]);
}

/* Vertices of a plane of the third direction. */
static size_t plane_size(const sp_brick *brick) {
  return (brick_extent(brick, 0) + 1) * (brick_extent(brick, 1) + 1);
}

/* The place of vertex (i, j) in a plane [ny][nx][3] of a brick. */
static double *vertex_of(const sp_brick *brick, double *plane, int i, int j) {
  const size_t column = (size_t)(i - brick->first[0]), row = (size_t)(j - brick->first[1]);
  return &plane[3 * (row * (brick_extent(brick, 0) + 1) + column)];
}

static void fill_plane(const filling *f, int k, double *plane) {
  for (int j = f->brick->first[1]; j <= f->brick->last[1]; j++)
    for (int i = f->brick->first[0]; i <= f->brick->last[0]; i++)
      find_point(f->box, (const int[3]){i, j, k}, vertex_of(f->brick, plane, i, j));
}

/* `planes`: the vertices below and above the element. */
static void fill_element(const filling *f, const int ijk[3], double *const planes[2], sp_lid e) {
  const sp_box *box = f->box;
  sp_hexes *hexes = f->hexes;
  for (int c = 0; c < SP_CORNERS; c++) {
    const int corner[3] = {ijk[0] + (c & 1), ijk[1] + (c >> 1 & 1), ijk[2] + (c >> 2 & 1)};
    hexes->vertices[e][c] = vertex_number(box, corner);
    memcpy(&hexes->lattice[((size_t)e * SP_CORNERS + (size_t)c) * 3],
           vertex_of(f->brick, planes[c >> 2], corner[0], corner[1]), 3 * sizeof(double));
  }
  for (int q = 0; q < SP_FACES; q++) hexes->surfaces[e][q] = sp_blocks_surface(f->blocks, ijk, q);
  hexes->volumes[e] = sp_blocks_volume(f->blocks, ijk);
  hexes->tags[e] =
      1 + ijk[0] + (sp_gid)box->elements[0] * (ijk[1] + (sp_gid)box->elements[1] * (sp_gid)ijk[2]);
}

/* Layers begin ... end - 1 of the third direction. `points`: two planes of vertices, so that each
 * vertex is computed only once. */
static sp_status fill_layers(void *filling_, void *points, size_t begin, size_t end) {
  const filling *f = filling_;
  const sp_brick *brick = f->brick;
  const size_t size = 3 * plane_size(brick);
  double *const planes[2] = {points, (double *)points + size};
  const int first = brick->first[2] + (int)begin, last = brick->first[2] + (int)end;
  sp_brick before = *brick;
  before.last[2] = first;
  sp_lid e = (sp_lid)sp_blocks_elements(f->blocks, &before);
  fill_plane(f, first, planes[1]);
  for (int k = first; k < last; k++) {
    memcpy(planes[0], planes[1], size * sizeof(double));
    fill_plane(f, k + 1, planes[1]);
    for (int j = brick->first[1]; j < brick->last[1]; j++)
      for (int i = brick->first[0]; i < brick->last[0]; i++) {
        const int ijk[3] = {i, j, k};
        if (sp_blocks_volume(f->blocks, ijk) >= 0) fill_element(f, ijk, planes, e++);
      }
  }
  return SP_OK;
}

/* Two chunks compute their common plane of vertices: with chunks of eight layers an eighth more
 * work. */
static sp_status fill_elements(const sp_box *box, const sp_blocks *blocks, const sp_brick *brick,
                               sp_hexes *hexes) {
  filling f = {box, blocks, brick, hexes};
  return sp_loop_run(&(sp_loop){.what = "planes of vertices",
                                .count = brick_extent(brick, 2),
                                .chunk = 8,
                                .workspace_bytes = plane_size(brick) * 6 * sizeof(double),
                                .context = &f,
                                .compute = fill_layers});
}

/* The width of the narrowest element in a direction. */
static double narrowest_width(const sp_box *box, int d) {
  double least = (box->upper[d] - box->lower[d]) / box->elements[d];
  for (int i = 0; i < box->elements[d] && box->planes[d]; i++)
    least = fmin(least, box->planes[d][i + 1] - box->planes[d][i]);
  return least;
}

/* Find the brick without cutting strongly coupled directions (mesh/columns.h), strongest first, if
 * the other directions have enough elements for the ranks. */
static sp_status find_brick(const sp_box *box, const sp_blocks *blocks, int size, int rank,
                            sp_brick *brick) {
  int units[3]; /* elements, or columns of them, per direction */
  double width[3], widest = 0, narrowest = INFINITY, count = 1;
  for (int d = 0; d < 3; d++) {
    units[d] = box->elements[d];
    count *= units[d];
    width[d] = narrowest_width(box, d);
    widest = fmax(widest, width[d]);
    narrowest = fmin(narrowest, width[d]);
  }
  /* The coupling in direction d is proportional to width[d]^-2. */
  for (int n = 0; n < 2 && widest >= 2 * narrowest; n++) {
    int d = 0;
    for (int c = 1; c < 3; c++)
      if (width[c] < width[d]) d = c;
    if (width[d] * width[d] > 2 * narrowest * narrowest || count / units[d] < size) break;
    count /= units[d];
    units[d] = 1;
    width[d] = INFINITY;
  }
  if (blocks->has_holes) {
    const bool keep[3] = {isinf(width[0]), isinf(width[1]), isinf(width[2])};
    return sp_blocks_brick(blocks, keep, size, rank, brick);
  }
  SP_TRY(sp_partition_brick(units, size, rank, brick));
  for (int d = 0; d < 3; d++)
    if (isinf(width[d])) brick->last[d] = box->elements[d];
  return SP_OK;
}

static sp_status make_brick(MPI_Comm comm, const sp_box *box, const sp_blocks *blocks,
                            sp_hexes **out) {
  sp_brick brick;
  SP_TRY(find_brick(box, blocks, sp_comm_size(comm), sp_comm_rank(comm), &brick));
  double count = 1; /* the product of three ints may overflow an integer */
  for (int d = 0; d < 3; d++) count *= brick.last[d] - brick.first[d];
  SP_TRY(sp_hexes_create(count < 9e15 ? sp_blocks_elements(blocks, &brick) : INT64_MAX, 1, out));
  sp_hexes *hexes = *out;
  if (!blocks->has_holes) {
    memcpy(hexes->box, box->elements, sizeof hexes->box);
    memcpy(hexes->box_first, brick.first, sizeof hexes->box_first);
    memcpy(hexes->box_end, brick.last, sizeof hexes->box_end);
  }
  SP_TRY(sp_blocks_name(blocks, hexes));
  return fill_elements(box, blocks, &brick, hexes);
}

sp_status sp_box_hexes(MPI_Comm comm, const sp_box *box, sp_hexes **out) {
  sp_blocks blocks;
  *out = NULL;
  sp_status status = sp_blocks_find(box, &blocks);
  if (!status) status = make_brick(comm, box, &blocks, out);
  sp_blocks_free(&blocks);
  status = sp_agree(comm, status);
  if (status) sp_hexes_destroy(out);
  return status;
}
