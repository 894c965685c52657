#include "mesh/box.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/threads.h"

const char *const sp_map_names[] = {
    [SP_MAP_NONE] = "none", [SP_MAP_SINE] = "sine", [SP_MAP_KERSHAW] = "kershaw", NULL};

const char *const sp_step_names[] = {
    [SP_STEP_QUINTIC] = "quintic", [SP_STEP_LINEAR] = "linear", NULL};

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
  switch (box->map) {
  case SP_MAP_NONE:
    break;
  case SP_MAP_SINE:
    deform_sine(point);
    break;
  case SP_MAP_KERSHAW:
    deform_kershaw(box->epsilon, box->step, point);
    break;
  }
}

static sp_gid vertex_number(const sp_box *box, const int ijk[3]) {
  const sp_gid nx = (sp_gid)box->elements[0] + 1, ny = (sp_gid)box->elements[1] + 1;
  return ijk[0] + nx * (ijk[1] + ny * (sp_gid)ijk[2]);
}

/* The point of the box at index[3] elements from its lower corner, deformed. */
static void find_point(const sp_box *box, const double index[3], double point[3]) {
  for (int d = 0; d < 3; d++) point[d] = index[d] / box->elements[d];
  sp_box_deform(box, point);
  for (int d = 0; d < 3; d++) point[d] = box->lower[d] + (box->upper[d] - box->lower[d]) * point[d];
}

/* ---- Regions: volume r + 1 has the elements of region r, volume 0 the rest ---- */

/* Elements with indices first[d] <= index[d] < last[d]. */
typedef struct range {
  int first[3], last[3];
} range;

static double plane_coordinate(const sp_box *box, int d, double index) {
  return box->lower[d] + (box->upper[d] - box->lower[d]) * (index / box->elements[d]);
}

/* The index of the grid's plane at `point`, or of the box's side if `point` is outside. */
static sp_status find_plane(const sp_box *box, const sp_box_region *region, int d, double point,
                            int *index) {
  static const double TOLERANCE = 1e-3; /* in widths of an element */
  const int n = box->elements[d];
  const double at = n * ((point - box->lower[d]) / (box->upper[d] - box->lower[d]));
  const double nearest = fmin(fmax(round(at), 0), n);
  *index = (int)nearest;
  if (at <= 0 || at >= n || fabs(at - nearest) <= TOLERANCE) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: the plane %c = %.10g cuts through elements: a region has whole elements; the "
                 "nearest planes between elements are %c = %.10g and %.10g",
                 region->where, "xyz"[d], point, "xyz"[d], plane_coordinate(box, d, floor(at)),
                 plane_coordinate(box, d, ceil(at)));
}

static sp_status find_range(const sp_box *box, const sp_box_region *region, range *out) {
  for (int d = 0; d < 3; d++) {
    SP_TRY(find_plane(box, region, d, region->lower[d], &out->first[d]));
    SP_TRY(find_plane(box, region, d, region->upper[d], &out->last[d]));
    if (out->first[d] < out->last[d]) continue;
    const char name = (char)('x' + d);
    return sp_fail(SP_ERR_INPUT,
                   "%s: no element of the box is between %c = %.12g and %.12g; the box goes from "
                   "%.12g to %.12g",
                   region->where, name, region->lower[d], region->upper[d], box->lower[d],
                   box->upper[d]);
  }
  return SP_OK;
}

/* The groups. */
static sp_status make_regions(const sp_box *box, sp_hexes *hexes) {
  SP_TRY(sp_family_resize(&hexes->volume, box->region_count + 1, box->region_count));
  for (int r = 0; r < box->region_count; r++) {
    SP_TRY(sp_family_set_group(&hexes->volume, r, box->regions[r].name, r + 1));
    SP_TRY(sp_group_add(&hexes->volume.groups[r], r + 1));
  }
  return SP_OK;
}

/* Give the elements of a brick, which have volume 0, that of region r. */
static sp_status fill_region(const sp_box *box, const sp_brick *brick, int r, sp_hexes *hexes) {
  range own;
  sp_lid stride[3] = {1};
  SP_TRY(find_range(box, &box->regions[r], &own));
  for (int d = 0; d < 3; d++) {
    if (own.first[d] < brick->first[d]) own.first[d] = brick->first[d];
    if (own.last[d] > brick->last[d]) own.last[d] = brick->last[d];
    if (d > 0) stride[d] = stride[d - 1] * (brick->last[d - 1] - brick->first[d - 1]);
  }
  for (int k = own.first[2]; k < own.last[2]; k++)
    for (int j = own.first[1]; j < own.last[1]; j++)
      for (int i = own.first[0]; i < own.last[0]; i++) {
        int *volume = &hexes->volumes[(i - brick->first[0]) + stride[1] * (j - brick->first[1]) +
                                      stride[2] * (k - brick->first[2])];
        if (*volume > 0)
          return sp_fail(SP_ERR_INPUT,
                         "%s: it overlaps the region '%s': an element can be in one region only",
                         box->regions[r].where, box->regions[*volume - 1].name);
        *volume = r + 1;
      }
  return SP_OK;
}

/* ---- Elements ---- */

/* The vertices of a brick in two neighbouring planes of the third direction, [2][ny][nx][3], so
 * that each is computed only once. */
typedef struct planes {
  const sp_box *box;
  const sp_brick *brick;
  int nx, ny;
  double *points;
} planes;

/* The point of vertex (i, j) in the lower plane or the upper one. */
static double *vertex_of(const planes *p, int upper, int i, int j) {
  const size_t column = (size_t)(i - p->brick->first[0]), row = (size_t)(j - p->brick->first[1]);
  return &p->points[(((size_t)upper * (size_t)p->ny + row) * (size_t)p->nx + column) * 3];
}

/* Fill the upper plane. */
static void fill_plane(const planes *p, int k) {
  for (int j = p->brick->first[1]; j <= p->brick->last[1]; j++)
    for (int i = p->brick->first[0]; i <= p->brick->last[0]; i++)
      find_point(p->box, (const double[3]){i, j, k}, vertex_of(p, 1, i, j));
}

/* Make the upper plane the lower one. */
static void shift_planes(const planes *p) {
  const size_t size = (size_t)p->nx * (size_t)p->ny * 3;
  memcpy(p->points, p->points + size, size * sizeof *p->points);
}

static void fill_element(const planes *p, const int ijk[3], sp_hexes *hexes, sp_lid e) {
  const sp_box *box = p->box;
  for (int c = 0; c < SP_CORNERS; c++) {
    const int corner[3] = {ijk[0] + (c & 1), ijk[1] + (c >> 1 & 1), ijk[2] + (c >> 2 & 1)};
    hexes->vertices[e][c] = vertex_number(box, corner);
    memcpy(&hexes->lattice[((size_t)e * SP_CORNERS + (size_t)c) * 3],
           vertex_of(p, c >> 2, corner[0], corner[1]), 3 * sizeof(double));
  }
  for (int d = 0; d < 3; d++) {
    hexes->surfaces[e][2 * d] = ijk[d] == 0 ? 2 * d : SP_SURFACE_INTERIOR;
    hexes->surfaces[e][2 * d + 1] =
        ijk[d] == box->elements[d] - 1 ? 2 * d + 1 : SP_SURFACE_INTERIOR;
  }
  hexes->tags[e] =
      1 + ijk[0] + (sp_gid)box->elements[0] * (ijk[1] + (sp_gid)box->elements[1] * (sp_gid)ijk[2]);
}

/* Shared by the loop over the layers of a brick. */
typedef struct filling {
  const sp_box *box;
  const sp_brick *brick;
  sp_hexes *hexes;
} filling;

static size_t brick_extent(const sp_brick *brick, int d) {
  return (size_t)(brick->last[d] - brick->first[d]);
}

/* Layers begin ... end - 1 of the third direction; `points`: two planes of vertices. */
static sp_status fill_layers(void *filling_, void *points, size_t begin, size_t end) {
  const filling *f = filling_;
  const sp_brick *brick = f->brick;
  const planes p = {.box = f->box,
                    .brick = brick,
                    .nx = (int)brick_extent(brick, 0) + 1,
                    .ny = (int)brick_extent(brick, 1) + 1,
                    .points = points};
  const int first = brick->first[2] + (int)begin, last = brick->first[2] + (int)end;
  sp_lid e = (sp_lid)(begin * brick_extent(brick, 0) * brick_extent(brick, 1));
  fill_plane(&p, first);
  for (int k = first; k < last; k++) {
    shift_planes(&p);
    fill_plane(&p, k + 1);
    for (int j = brick->first[1]; j < brick->last[1]; j++)
      for (int i = brick->first[0]; i < brick->last[0]; i++) {
        const int ijk[3] = {i, j, k};
        fill_element(&p, ijk, f->hexes, e++);
      }
  }
  return SP_OK;
}

/* Two chunks compute their common plane of vertices: with chunks of eight layers an eighth more
 * work. */
static sp_status fill_elements(const sp_box *box, const sp_brick *brick, sp_hexes *hexes) {
  filling f = {box, brick, hexes};
  return sp_loop_run(&(sp_loop){.what = "planes of vertices",
                                .count = brick_extent(brick, 2),
                                .chunk = 8,
                                .workspace_bytes = (brick_extent(brick, 0) + 1) *
                                                   (brick_extent(brick, 1) + 1) * 6 *
                                                   sizeof(double),
                                .context = &f,
                                .compute = fill_layers});
}

/* Find the brick without cutting strongly coupled directions (mesh/columns.h), strongest first, if
 * the other directions have enough elements for the ranks. */
static sp_status find_brick(const sp_box *box, int size, int rank, sp_brick *brick) {
  int units[3]; /* elements, or columns of them, per direction */
  double width[3], widest = 0, narrowest = INFINITY, count = 1;
  for (int d = 0; d < 3; d++) {
    units[d] = box->elements[d];
    count *= units[d];
    width[d] = (box->upper[d] - box->lower[d]) / units[d];
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
  SP_TRY(sp_partition_brick(units, size, rank, brick));
  for (int d = 0; d < 3; d++)
    if (isinf(width[d])) brick->last[d] = box->elements[d];
  return SP_OK;
}

static sp_status make_brick(MPI_Comm comm, const sp_box *box, sp_hexes **out) {
  const int rank = sp_comm_rank(comm), size = sp_comm_size(comm);
  sp_brick brick;
  SP_TRY(find_brick(box, size, rank, &brick));
  double count = 1; /* the product of three ints may overflow an integer */
  for (int d = 0; d < 3; d++) count *= brick.last[d] - brick.first[d];
  SP_TRY(sp_hexes_create(count < 9e15 ? (sp_gid)count : INT64_MAX, 1, out));
  sp_hexes *hexes = *out;
  memcpy(hexes->box, box->elements, sizeof hexes->box);
  memcpy(hexes->box_first, brick.first, sizeof hexes->box_first);
  memcpy(hexes->box_end, brick.last, sizeof hexes->box_end);

  static const char *const names[SP_FACES] = {"xmin", "xmax", "ymin", "ymax", "zmin", "zmax"};
  SP_TRY(sp_family_resize(&hexes->surface, SP_FACES, SP_FACES));
  for (int g = 0; g < SP_FACES; g++) {
    SP_TRY(sp_family_set_group(&hexes->surface, g, names[g], g + 1));
    SP_TRY(sp_group_add(&hexes->surface.groups[g], g));
  }
  SP_TRY(make_regions(box, hexes));
  for (int r = 0; r < box->region_count; r++) SP_TRY(fill_region(box, &brick, r, hexes));
  return fill_elements(box, &brick, hexes);
}

sp_status sp_box_hexes(MPI_Comm comm, const sp_box *box, sp_hexes **out) {
  *out = NULL;
  const sp_status status = sp_agree(comm, make_brick(comm, box, out));
  if (status) sp_hexes_destroy(out);
  return status;
}
