#include "mesh/blocks.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* ---- Ranges of regions ---- */

/* The index of the grid's plane at `point`, or of the box's side if `point` is outside. */
static sp_status find_plane(const sp_box *box, const sp_box_region *region, int d, double point,
                            int *index) {
  static const double TOLERANCE = 1e-3; /* in widths of an element */
  const int n = box->elements[d];
  const double at = sp_box_index(box, d, point), nearest = fmin(fmax(round(at), 0), n);
  *index = (int)nearest;
  if (at <= 0 || at >= n || fabs(at - nearest) <= TOLERANCE) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: the plane %c = %.10g cuts through elements: a region has whole elements; the "
                 "nearest planes between elements are %c = %.10g and %.10g; or give mesh.size "
                 "instead of mesh.elements",
                 region->where, "xyz"[d], point, "xyz"[d], sp_box_plane(box, d, (int)floor(at)),
                 sp_box_plane(box, d, (int)ceil(at)));
}

static sp_status find_range(const sp_box *box, const sp_box_region *region, sp_brick *out) {
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

/* ---- Blocks ---- */

/* The blocks of a direction begin at the planes of regions. */
static sp_status divide_direction(int d, sp_blocks *b) {
  SP_OWNED bool *begins = NULL;
  const int elements = b->box->elements[d];
  SP_TRY(sp_allocate((size_t)elements + 1, sizeof *begins, "blocks of the box", &begins));
  begins[0] = true;
  for (int r = 0; r < b->box->region_count; r++)
    begins[b->ranges[r].first[d]] = begins[b->ranges[r].last[d]] = true;
  for (int i = 0; i < elements; i++) b->count[d] += begins[i];
  SP_TRY(SP_ALLOCATE("blocks of the box", SP_ARRAY(b->first[d], b->count[d] + 1),
                     SP_ARRAY(b->of_element[d], elements)));
  for (int i = 0, block = -1; i < elements; i++) {
    if (begins[i]) b->first[d][++block] = i;
    b->of_element[d][i] = block;
  }
  b->first[d][b->count[d]] = elements;
  return SP_OK;
}

static int *owner_of(const sp_blocks *b, const int at[3]) {
  return &b->owner[at[0] + b->count[0] * (at[1] + b->count[1] * at[2])];
}

/* True for a block without elements, and outside of the box. */
static bool is_hole(const sp_blocks *b, int owner) {
  if (owner > 0) return b->box->regions[owner - 1].empty;
  return owner < 0 || b->box->background == SP_BACKGROUND_EMPTY;
}

/* Give the blocks to their regions. */
static sp_status claim_blocks(sp_blocks *b) {
  SP_OWNED bool *has = NULL; /* [1 + regions] */
  const sp_box *box = b->box;
  const size_t blocks = (size_t)b->count[0] * (size_t)b->count[1] * (size_t)b->count[2];
  if (blocks > SP_LID_MAX / 8)
    return sp_fail(SP_ERR_INPUT,
                   "the sides of %d regions divide the box into %zu blocks, expected "
                   "at most %d: use fewer different planes",
                   box->region_count, blocks, SP_LID_MAX / 8);
  SP_TRY(SP_ALLOCATE("blocks of the box", SP_ARRAY(b->owner, blocks),
                     SP_ARRAY(has, box->region_count + 1)));
  for (int r = 0; r < box->region_count; r++) {
    const sp_brick *own = &b->ranges[r];
    int at[3], first[3];
    for (int d = 0; d < 3; d++) first[d] = b->of_element[d][own->first[d]];
    for (at[2] = first[2]; b->first[2][at[2]] < own->last[2]; at[2]++)
      for (at[1] = first[1]; b->first[1][at[1]] < own->last[1]; at[1]++)
        for (at[0] = first[0]; b->first[0][at[0]] < own->last[0]; at[0]++) *owner_of(b, at) = r + 1;
  }
  for (size_t n = 0; n < blocks; n++) {
    has[b->owner[n]] = true;
    b->has_holes = b->has_holes || is_hole(b, b->owner[n]);
  }
  for (int r = 0; r < box->region_count; r++)
    if (!has[r + 1])
      return sp_fail(SP_ERR_INPUT, "%s: it has no elements: regions after it cover it",
                     box->regions[r].where);
  return SP_OK;
}

sp_status sp_blocks_find(const sp_box *box, sp_blocks *b) {
  *b = (sp_blocks){.box = box};
  SP_TRY(sp_allocate((size_t)box->region_count, sizeof *b->ranges, "regions", &b->ranges));
  for (int r = 0; r < box->region_count; r++)
    SP_TRY(find_range(box, &box->regions[r], &b->ranges[r]));
  for (int d = 0; d < 3; d++) SP_TRY(divide_direction(d, b));
  return claim_blocks(b);
}

void sp_blocks_free(sp_blocks *b) {
  for (int d = 0; d < 3; d++) SP_FREE(b->first[d], b->of_element[d]);
  SP_FREE(b->ranges, b->owner);
}

int sp_blocks_volume(const sp_blocks *b, const int ijk[3]) {
  int at[3];
  for (int d = 0; d < 3; d++) at[d] = b->of_element[d][ijk[d]];
  const int owner = *owner_of(b, at);
  return is_hole(b, owner) ? -1 : owner;
}

/* ---- Surfaces and groups ---- */

/* The blocks and their ends in direction d. */
static void side_extents(const sp_blocks *b, int d, int extent[3]) {
  for (int c = 0; c < 3; c++) extent[c] = b->count[c] + (c == d);
}

/* The group of a block's side, or -1: a group of the region if the region ends there, or of the
 * box. */
static int group_of(const sp_blocks *b, int owner, int d, int side, int plane) {
  if (owner < 0) return 2 * d + 1 - side;
  if (owner == 0) return -1;
  const sp_brick *own = &b->ranges[owner - 1];
  return (side ? own->last : own->first)[d] == plane ? SP_FACES * owner + 2 * d + side : -1;
}

/* The groups of the sides between block at[] and the one below it in direction d: the lower one's
 * and the upper one's, or -1. False if there is none. */
static bool find_groups(const sp_blocks *b, int d, const int at[3], int groups[2]) {
  int below[3] = {at[0], at[1], at[2]};
  below[d]--;
  const int upper = at[d] < b->count[d] ? *owner_of(b, at) : -1;
  const int lower = at[d] > 0 ? *owner_of(b, below) : -1;
  if (lower == upper || (is_hole(b, lower) && is_hole(b, upper))) return false;
  groups[0] = group_of(b, lower, d, 1, b->first[d][at[d]]);
  groups[1] = group_of(b, upper, d, 0, b->first[d][at[d]]);
  return groups[0] >= 0 || groups[1] >= 0;
}

/* The number of the lower side of block at[] in direction d; all sides count, with or without a
 * group. */
static int side_number(const sp_blocks *b, int d, const int at[3]) {
  int extent[3], number = 0;
  for (int c = 0; c < d; c++) {
    side_extents(b, c, extent);
    number += extent[0] * extent[1] * extent[2];
  }
  side_extents(b, d, extent);
  return number + at[0] + extent[0] * (at[1] + extent[1] * at[2]);
}

int sp_blocks_surface(const sp_blocks *b, const int ijk[3], int face) {
  const int d = face / 2, plane = ijk[d] + face % 2;
  int at[3], groups[2];
  for (int c = 0; c < 3; c++) at[c] = b->of_element[c][ijk[c]];
  at[d] += face % 2;
  if (b->first[d][at[d]] != plane || !find_groups(b, d, at, groups)) return -1;
  return side_number(b, d, at);
}

static sp_status name_volumes(const sp_box *box, sp_family *family) {
  SP_TRY(sp_family_resize(family, box->region_count + 1, box->region_count));
  family->group_count = 0;
  for (int r = 0; r < box->region_count; r++) {
    if (box->regions[r].empty) continue;
    const int g = family->group_count++;
    SP_TRY(sp_family_set_group(family, g, box->regions[r].name, r + 1));
    SP_TRY(sp_group_add(&family->groups[g], r + 1));
  }
  return SP_OK;
}

/* Name a side of the box, or of region r. */
static sp_status name_side(const sp_box *box, int g, sp_family *family) {
  static const char *const sides[SP_FACES] = {"xmin", "xmax", "ymin", "ymax", "zmin", "zmax"};
  const int r = g / SP_FACES - 1;
  SP_OWNED char *name = NULL;
  SP_TRY(sp_format(&name, "%s%s%s", r < 0 ? "" : box->regions[r].name, r < 0 ? "" : ".",
                   sides[g % SP_FACES]));
  return sp_family_set_group(family, g, name, g + 1);
}

/* Give the sides of blocks in direction d to their groups. */
static sp_status fill_groups(const sp_blocks *b, int d, sp_family *family) {
  int at[3], extent[3], groups[2];
  side_extents(b, d, extent);
  for (at[2] = 0; at[2] < extent[2]; at[2]++)
    for (at[1] = 0; at[1] < extent[1]; at[1]++)
      for (at[0] = 0; at[0] < extent[0]; at[0]++)
        for (int n = 0; n < 2 && find_groups(b, d, at, groups); n++)
          if (groups[n] >= 0)
            SP_TRY(sp_group_add(&family->groups[groups[n]], side_number(b, d, at)));
  return SP_OK;
}

sp_status sp_blocks_name(const sp_blocks *b, sp_hexes *hexes) {
  sp_family *family = &hexes->surface;
  const int count = SP_FACES * (b->box->region_count + 1);
  int used = 0;
  SP_TRY(name_volumes(b->box, &hexes->volume));
  SP_TRY(sp_family_resize(family, side_number(b, 3, (const int[3]){0}), count));
  for (int d = 0; d < 3; d++) SP_TRY(fill_groups(b, d, family));
  for (int g = 0; g < count; g++)
    if (family->groups[g].part_count > 0) SP_TRY(name_side(b->box, g, family));
  for (int g = 0; g < count; g++)
    if (family->groups[g].part_count > 0) family->groups[used++] = family->groups[g];
  family->group_count = used;
  return SP_OK;
}

/* ---- Bricks ---- */

/* The elements of block `at` that are in a brick, in direction d. */
static int overlap(const sp_blocks *b, const sp_brick *brick, int d, int at) {
  const int first = b->first[d][at], last = b->first[d][at + 1];
  const int low = first > brick->first[d] ? first : brick->first[d];
  const int high = last < brick->last[d] ? last : brick->last[d];
  return high > low ? high - low : 0;
}

sp_gid sp_blocks_elements(const sp_blocks *b, const sp_brick *brick) {
  sp_gid count = 0;
  int at[3];
  for (at[2] = 0; at[2] < b->count[2]; at[2]++)
    for (at[1] = 0; at[1] < b->count[1]; at[1]++) {
      const sp_gid area = (sp_gid)overlap(b, brick, 2, at[2]) * overlap(b, brick, 1, at[1]);
      for (at[0] = 0; at[0] < b->count[0] && area > 0; at[0]++)
        if (!is_hole(b, *owner_of(b, at))) count += area * overlap(b, brick, 0, at[0]);
    }
  return count;
}

/* The elements of a brick below a plane of direction d. */
static sp_gid count_below(const sp_blocks *b, const sp_brick *brick, int d, int plane) {
  sp_brick part = *brick;
  part.last[d] = plane;
  return sp_blocks_elements(b, &part);
}

/* Remove layers without elements at the sides of a brick that has `count` elements. */
static void trim_brick(const sp_blocks *b, sp_gid count, sp_brick *brick) {
  for (int d = 0; d < 3; d++) {
    while (count_below(b, brick, d, brick->last[d] - 1) == count) brick->last[d]--;
    while (count_below(b, brick, d, brick->first[d] + 1) == 0) brick->first[d]++;
  }
}

/* The longest direction, of those to be cut if one has two layers. */
static int choose_direction(const sp_brick *brick, const bool keep[3]) {
  int best = 0, longest = 0;
  for (int d = 0; d < 3; d++) {
    const int layers = brick->last[d] - brick->first[d];
    const int length = layers > 1 ? layers + (keep[d] ? 0 : INT_MAX / 2) : 0;
    if (length <= longest) continue;
    best = d;
    longest = length;
  }
  return best;
}

sp_status sp_blocks_brick(const sp_blocks *b, const bool keep[3], int size, int rank,
                          sp_brick *brick) {
  *brick = (sp_brick){.last = {b->box->elements[0], b->box->elements[1], b->box->elements[2]}};
  sp_gid count = sp_blocks_elements(b, brick);
  if (count < size || count == 0) return sp_partition_fail(size, (double)count);
  while (size > 1) {
    trim_brick(b, count, brick);
    const int d = choose_direction(brick, keep);
    int cut = brick->first[d] + 1, last = brick->last[d] - 1;
    while (cut < last && count_below(b, brick, d, cut) * size < count * (size / 2)) cut++;
    /* Divide the ranks in proportion, at most one per element. */
    const sp_gid below = count_below(b, brick, d, cut);
    const double share = round((double)size * (double)below / (double)count);
    const double least = fmax(1, (double)(size - (count - below)));
    const int low = (int)fmax(least, fmin(share, fmin(size - 1, (double)below)));
    const bool upper = rank >= low;
    (upper ? brick->first : brick->last)[d] = cut;
    rank -= upper ? low : 0;
    size = upper ? size - low : low;
    count = upper ? count - below : below;
  }
  return SP_OK;
}
