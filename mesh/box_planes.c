#include "mesh/box.h"

#include <math.h>
#include <stdlib.h>

/* Relative to the box: planes this close are one; elements this much larger are not divided. */
static const double SAME = 1e-9;

static const double MOST = 1e7; /* elements in one direction */

/* Planes of one direction, ascending. */
typedef struct grid {
  int count;
  double *planes;
} grid;

static void grid_destroy(grid *g) {
  free(g->planes);
}

static sp_status grid_add(double plane, grid *g) {
  SP_TRY(sp_reserve((size_t)g->count, 1, sizeof plane, "planes of the box", &g->planes));
  g->planes[g->count++] = plane;
  return SP_OK;
}

static int compare_planes(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

/* The sides of the box and, inside it, of its regions. */
static sp_status find_sides(const sp_box *box, int d, grid *out) {
  SP_AUTO_VALUE(grid) all = {0};
  const double lower = box->lower[d], upper = box->upper[d], same = SAME * (upper - lower);
  for (int r = 0; r < box->region_count; r++) {
    SP_TRY(grid_add(box->regions[r].lower[d], &all));
    SP_TRY(grid_add(box->regions[r].upper[d], &all));
  }
  if (all.count > 0) qsort(all.planes, (size_t)all.count, sizeof *all.planes, compare_planes);
  SP_TRY(grid_add(lower, out));
  for (int i = 0; i < all.count; i++)
    if (all.planes[i] > out->planes[out->count - 1] + same && all.planes[i] < upper - same)
      SP_TRY(grid_add(all.planes[i], out));
  return grid_add(upper, out);
}

/* Divide all intervals equally, each into parts[interval] or, with NULL, so that none is larger
 * than `largest`. */
static sp_status divide_intervals(const grid *from, const int *parts, double largest, grid *to) {
  SP_TRY(grid_add(from->planes[0], to));
  for (int i = 0; i + 1 < from->count; i++) {
    const double low = from->planes[i], width = from->planes[i + 1] - low;
    const int count = parts ? parts[i] : (int)fmax(1, ceil(width / largest * (1 - SAME)));
    for (int n = 1; n < count; n++) SP_TRY(grid_add(low + width * n / count, to));
    SP_TRY(grid_add(from->planes[i + 1], to));
  }
  return SP_OK;
}

static double width_of(const grid *g, int i) {
  return i < 0 || i + 1 >= g->count ? INFINITY : g->planes[i + 1] - g->planes[i];
}

/* Halve elements larger than twice a neighbour, once; *done if there are none. */
static sp_status halve_elements(double smallest, grid *g, bool *done) {
  SP_OWNED int *parts = NULL;
  SP_AUTO_VALUE(grid) finer = {0};
  *done = true;
  SP_TRY(sp_allocate((size_t)g->count, sizeof *parts, "planes of the box", &parts));
  for (int i = 0; i + 1 < g->count; i++) {
    const double width = width_of(g, i);
    const double beside = fmin(width_of(g, i - 1), width_of(g, i + 1));
    const bool large = width > (2 + SAME) * beside && width >= 2 * smallest;
    parts[i] = 1 + large;
    *done = *done && !large;
  }
  if (*done) return SP_OK;
  SP_TRY(divide_intervals(g, parts, 0, &finer));
  const grid old = *g;
  *g = finer;
  finer = old;
  return SP_OK;
}

static sp_status divide_direction(const char *where, const sp_box_sizes *sizes, int d,
                                  sp_box *box) {
  SP_AUTO_VALUE(grid) sides = {0}, all = {0};
  const double length = box->upper[d] - box->lower[d];
  if (length / sizes->largest > MOST)
    return sp_fail(SP_ERR_INPUT, "%s: expected at least %.3g, found %.12g: %.3g elements in %c",
                   where, length / MOST, sizes->largest, length / sizes->largest, "xyz"[d]);
  SP_TRY(find_sides(box, d, &sides));
  SP_TRY(divide_intervals(&sides, NULL, sizes->largest, &all));
  for (bool done = !sizes->grading; !done;) SP_TRY(halve_elements(sizes->smallest, &all, &done));
  box->elements[d] = all.count - 1;
  box->planes[d] = all.planes;
  all.planes = NULL;
  return SP_OK;
}

sp_status sp_box_divide(const char *where, const sp_box_sizes *sizes, sp_box *box) {
  for (int d = 0; d < 3; d++) SP_TRY(divide_direction(where, sizes, d, box));
  return SP_OK;
}

/* ---- Planes of any box ---- */

double sp_box_plane(const sp_box *box, int d, int index) {
  if (box->planes[d]) return box->planes[d][index];
  return box->lower[d] + (box->upper[d] - box->lower[d]) * ((double)index / box->elements[d]);
}

double sp_box_index(const sp_box *box, int d, double point) {
  const double *planes = box->planes[d];
  const int n = box->elements[d];
  if (!planes) return n * ((point - box->lower[d]) / (box->upper[d] - box->lower[d]));
  int low = 0, high = n;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    *(planes[middle] <= point ? &low : &high) = middle;
  }
  return low + (point - planes[low]) / (planes[high] - planes[low]);
}
