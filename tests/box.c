/* Boxes: maps of the unit cube, the elements of each rank, and the partition into bricks. */
#include "mesh/box.h"

#include <float.h>

#include "mesh/blocks.h"
#include "mesh/geometry.h"
#include "mesh/partition.h"
#include "tests/boxes.h"

static const double EPSILON = DBL_EPSILON;

static void check_sine(void) {
  for (int n = 0; n < 125; n++) {
    const double x = n % 5 / 4.0, y = n / 5 % 5 / 4.0, z = n / 25 / 4.0;
    const double expected[3] = {x + 0.05 * sin(5.1 * y + 0.4) * sin(4.3 * z + 0.7),
                                y + 0.05 * sin(4.7 * z + 0.3) * sin(5.3 * x + 0.9),
                                z + 0.05 * sin(4.9 * x + 0.5) * sin(4.1 * y + 0.2)};
    double point[3] = {x, y, z};
    sp_box_deform(&(sp_box){.map = SP_MAP_SINE}, point);
    for (int d = 0; d < 3; d++) CHECK_CLOSE(point[d], expected[d], EPSILON);
  }
}

static sp_step step;

static double kershaw(double epsilon, double x, double y, double z, int d) {
  double point[3] = {x, y, z};
  sp_box_deform(&(sp_box){.map = SP_MAP_KERSHAW, .epsilon = epsilon, .step = step}, point);
  return point[d];
}

static void check_kershaw(double epsilon) {
  enum { STEPS = 24 };
  for (int i = 0; i <= STEPS; i++) {
    const double x = (double)i / STEPS;
    for (int j = 0; j <= STEPS; j++) {
      const double y = (double)j / STEPS;
      CHECK(kershaw(epsilon, x, y, 0.4, 0) == x, "x moves to %g", kershaw(epsilon, x, y, 0.4, 0));
      /* y and z are mapped in the same way and independently. */
      CHECK(kershaw(epsilon, x, y, 0.4, 1) == kershaw(epsilon, x, 0.7, y, 2), "y and z at %g", y);
      CHECK(kershaw(epsilon, x, y, 0.4, 1) == kershaw(epsilon, x, y, 0.9, 1), "z moves y at %g", y);
      if (j > 0) {
        const double slope =
            (kershaw(epsilon, x, y, 0, 1) - kershaw(epsilon, x, y - 1.0 / STEPS, 0, 1)) * STEPS;
        /* Slopes are between epsilon and 2 - epsilon; the difference amplifies rounding STEPS
         * times. */
        CHECK(slope >= epsilon - 4 * STEPS * EPSILON && slope <= 2 - epsilon + 4 * STEPS * EPSILON,
              "slope %g at (%g, %g) for epsilon %g", slope, x, y, epsilon);
      }
      /* The half turn about the axis x = y = 1/2 maps the mesh to itself. */
      CHECK_CLOSE(kershaw(epsilon, 1 - x, 1 - y, 0.5, 1), 1 - kershaw(epsilon, x, y, 0.5, 1),
                  8 * EPSILON);
    }
    CHECK_CLOSE(kershaw(epsilon, x, 0, 0.5, 1), 0, 2 * EPSILON);
    CHECK_CLOSE(kershaw(epsilon, x, 1, 0.5, 1), 1, 2 * EPSILON);
  }
  /* The two ends are graded in opposite directions: half of the cells have epsilon / 2 of the
   * length. */
  CHECK_CLOSE(kershaw(epsilon, 0, 0.5, 0, 1), epsilon / 2, 2 * EPSILON);
  CHECK_CLOSE(kershaw(epsilon, 1, 0.5, 0, 1), 1 - epsilon / 2, 2 * EPSILON);
}

static void check_maps(void) {
  double point[3] = {0.1, 0.7, 0.35};
  sp_box_deform(&(sp_box){.map = SP_MAP_NONE}, point);
  CHECK(point[0] == 0.1 && point[1] == 0.7 && point[2] == 0.35, "map none moves a point");
  check_sine();
  for (step = SP_STEP_QUINTIC; step <= SP_STEP_LINEAR; step++) {
    check_kershaw(1);
    check_kershaw(0.3);
    check_kershaw(0.05);
    check_kershaw(1e-6);
  }
  /* Halfway between the gradings, and a quarter on the way, where the steps differ. */
  step = SP_STEP_LINEAR;
  CHECK_CLOSE(kershaw(0.3, 0.25, 0.5, 0, 1), 0.5, 2 * EPSILON);
  CHECK_CLOSE(kershaw(0.3, 1.25 / 6, 0.5, 0, 1), 0.75 * 0.15 + 0.25 * 0.85, 2 * EPSILON);
  for (int n = 0; n < 125; n++) {
    const double p[3] = {n % 5 / 4.0, n / 5 % 5 / 4.0, n / 25 / 4.0};
    for (int d = 0; d < 3; d++) CHECK_CLOSE(kershaw(1, p[0], p[1], p[2], d), p[d], 2 * EPSILON);
  }
}

static sp_gid brick_size(const sp_brick *brick) {
  sp_gid size = 1;
  for (int d = 0; d < 3; d++) size *= brick->last[d] - brick->first[d];
  return size;
}

/* Every element is in exactly one brick; returns the size of the largest brick. */
static sp_gid check_bricks(const int elements[3], int size) {
  const int total = elements[0] * elements[1] * elements[2];
  char *seen = test_array((size_t)total, 1);
  sp_gid largest = 0;
  int wrong = 0;
  for (int rank = 0; rank < size; rank++) {
    sp_brick brick;
    CHECK_OK(sp_partition_brick(elements, size, rank, &brick));
    for (int d = 0; d < 3; d++)
      CHECK(0 <= brick.first[d] && brick.first[d] < brick.last[d] && brick.last[d] <= elements[d],
            "%d x %d x %d over %d: rank %d has [%d, %d) in direction %d", elements[0], elements[1],
            elements[2], size, rank, brick.first[d], brick.last[d], d);
    largest = brick_size(&brick) > largest ? brick_size(&brick) : largest;
    for (int k = brick.first[2]; k < brick.last[2]; k++)
      for (int j = brick.first[1]; j < brick.last[1]; j++)
        for (int i = brick.first[0]; i < brick.last[0]; i++)
          wrong += seen[i + elements[0] * (j + elements[1] * k)]++ != 0;
  }
  for (int e = 0; e < total; e++) wrong += seen[e] != 1;
  CHECK(wrong == 0, "%d x %d x %d over %d: %d elements in no brick or in two", elements[0],
        elements[1], elements[2], size, wrong);
  return largest;
}

static void check_partitions(void) {
  static const int shapes[][3] = {{1, 1, 1},  {1, 1, 64}, {7, 1, 1},    {3, 5, 7},    {4, 4, 4},
                                  {2, 2, 17}, {6, 6, 6},  {13, 2, 3},   {8, 8, 8},    {1, 9, 9},
                                  {5, 5, 5},  {3, 3, 3},  {10, 11, 12}, {16, 16, 16}, {12, 4, 4}};
  for (size_t s = 0; s < COUNT_OF(shapes); s++) {
    const int *n = shapes[s], total = n[0] * n[1] * n[2];
    for (int size = 1; size <= 64 && size <= total; size++) {
      const sp_gid largest = check_bricks(n, size);
      const double ideal = (double)total / size;
      /* Cuts are between layers: with 63 ranks for 64 elements one rank has two. */
      CHECK((double)largest < 2 * ideal, "%d x %d x %d over %d: %lld elements against %g", n[0],
            n[1], n[2], size, (long long)largest, ideal);
    }
    /* One rank per element, and one rank too many. */
    if (total > 64) CHECK(check_bricks(n, total) == 1, "%d ranks for as many elements", total);
    sp_brick brick;
    CHECK_FAILS(sp_partition_brick(n, total + 1, 0, &brick), SP_ERR_INPUT, "ranks for a mesh of");
  }
}

/* Many ranks get a grid of bricks. Cuts are at multiples of `unit`, so that coarser meshes may join
 * elements, and no side is longer than 1.03 of the mean. */
static void check_grid(int elements, int parts, int unit) {
  const int n[3] = {elements, elements, elements}, size = parts * parts * parts;
  for (int rank = 0; rank < size; rank++) {
    sp_brick brick;
    CHECK_OK(sp_partition_brick(n, size, rank, &brick));
    for (int d = 0; d < 3; d++) {
      const int side = brick.last[d] - brick.first[d];
      CHECK(brick.first[d] % unit == 0 && side > 0 && side * parts <= 1.03 * elements,
            "%d^3 over %d: rank %d has [%d, %d) in direction %d", elements, size, rank,
            brick.first[d], brick.last[d], d);
    }
  }
}

/* Powers of two divide evenly; larger boxes are closer to the mean. */
static void check_balance(void) {
  check_grid(480, 10, 16);
  check_grid(1020, 10, 8);
  check_grid(1039, 33, 1); /* cuts at multiples of 32 would leave a brick empty */
  for (int size = 1; size <= 64; size *= 2)
    CHECK(check_bricks((const int[3]){16, 8, 32}, size) == 4096 / size, "over %d", size);
  for (int size = 1; size <= 64; size++)
    CHECK((double)check_bricks((const int[3]){64, 64, 64}, size) < 1.15 * 64 * 64 * 64 / size,
          "64 x 64 x 64 over %d", size);
}

/* The volume from Jacobians, and the elements by tag: each on exactly one rank. */
static void check_box(const sp_box *box, double volume, double tolerance) {
  const int *n = box->elements;
  AUTO(sp_hexes) hexes = NULL;
  CHECK_OK(sp_box_hexes(MPI_COMM_WORLD, box, &hexes));
  if (!hexes) return;
  CHECK(hexes->count > 0 && hexes->map_order == 1, "%d elements", hexes->count);

  /* Counts, and sums of tags and of vertex numbers, which are known in closed form. */
  sp_gid sums[3 + SP_FACES] = {hexes->count}, all[3 + SP_FACES];
  double local = 0, total, face_area[SP_FACES] = {0}, area[SP_FACES];
  sp_rule rule;
  sp_rule_gl(2, &rule); /* exact: |J| of a trilinear map has degree 2 in each direction */
  for (sp_lid e = 0; e < hexes->count; e++) {
    double factors[SP_FACTORS * 8], xyz[12], normal[12];
    sums[1] += hexes->tags[e];
    for (int c = 0; c < SP_CORNERS; c++) sums[2] += hexes->vertices[e][c];
    CHECK_OK(sp_geometry_factors(hexes, e, &rule, factors));
    for (int q = 0; q < 8; q++) local += factors[SP_G_WJ * 8 + q];
    for (int f = 0; f < SP_FACES; f++) {
      const int surface = hexes->surfaces[e][f];
      if (surface == SP_SURFACE_INTERIOR) continue;
      CHECK(surface == f, "face %d has surface %d", f, surface);
      sums[3 + f]++;
      sp_geometry_face(hexes, e, f, &rule, xyz, normal);
      for (int q = 0; q < 4; q++) face_area[f] += (f % 2 ? 1 : -1) * normal[f / 2 * 4 + q];
      if (box->map == SP_MAP_SINE) continue;
      for (int q = 0; q < 4; q++)
        CHECK_CLOSE(xyz[f / 2 * 4 + q], f % 2 ? box->upper[f / 2] : box->lower[f / 2],
                    16 * EPSILON);
    }
  }
  MPI_Allreduce(sums, all, 3 + SP_FACES, SP_MPI_GID, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&local, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(face_area, area, SP_FACES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const sp_gid elements = (sp_gid)n[0] * n[1] * n[2];
  const sp_gid vertices = (sp_gid)(n[0] + 1) * (n[1] + 1) * (n[2] + 1);
  CHECK(all[0] == elements, "%lld elements", (long long)all[0]);
  CHECK(all[1] == elements * (elements + 1) / 2, "tags sum to %lld", (long long)all[1]);
  /* By symmetry about the centre the mean vertex number of all corners is (vertices - 1) / 2. */
  CHECK(all[2] == 4 * elements * (vertices - 1), "vertices sum to %lld", (long long)all[2]);
  CHECK_CLOSE(total, volume, tolerance);
  for (int f = 0; f < SP_FACES; f++) {
    CHECK(all[3 + f] == elements / n[f / 2], "%lld faces on side %d", (long long)all[3 + f], f);
    if (box->map == SP_MAP_SINE) continue;
    const double side = volume / (box->upper[f / 2] - box->lower[f / 2]);
    CHECK_CLOSE(area[f], side, tolerance);
  }

  static const char *const names[] = {"xmin", "xmax", "ymin", "ymax", "zmin", "zmax"};
  CHECK(hexes->surface.group_count == 6 && hexes->surface.count == 6, "%d groups",
        hexes->surface.group_count);
  for (int g = 0; g < hexes->surface.group_count; g++) {
    CHECK_TEXT(hexes->surface.groups[g].name, names[g]);
    CHECK(hexes->surface.groups[g].number == g + 1, "group %d has number %d", g,
          hexes->surface.groups[g].number);
    for (int s = 0; s < hexes->surface.count; s++)
      CHECK(sp_group_has(&hexes->surface.groups[g], s) == (s == g), "group %d, surface %d", g, s);
  }
}

/* The sum of up to 1000 element volumes, each with a relative error of about 100 EPSILON. */
static void check_boxes(void) {
  sp_box box = {{5, 4, 3},       {0, 0, 0}, {1, 1, 1}, SP_MAP_NONE,        0.3,
                SP_STEP_QUINTIC, 0,         NULL,      SP_BACKGROUND_FULL, {NULL}};
  check_box(&box, 1, 100 * EPSILON);
  box.map = SP_MAP_KERSHAW;
  check_box(&box, 1, 100 * EPSILON);
  box =
      (sp_box){{12, 6, 4}, {-1, 2, 0.5}, {1, 5, 1},          SP_MAP_KERSHAW, 0.05, SP_STEP_QUINTIC,
               0,          NULL,         SP_BACKGROUND_FULL, {NULL}};
  check_box(&box, 3, 300 * EPSILON);
  /* The sine map also moves the sides: compare with a mesh four times as fine. The sides of
   * trilinear elements have an error of up to h^2 / 8 times the curvature, 0.05 * 5.3^2, on a
   * surface of 10: at h = 1/6 that is 0.05 in volume, of either sign. */
  box = (sp_box){{6, 6, 6},       {0, 0, 0}, {2, 1, 1}, SP_MAP_SINE,        0.3,
                 SP_STEP_QUINTIC, 0,         NULL,      SP_BACKGROUND_FULL, {NULL}};
  sp_hexes *fine;
  const sp_box finer = {{24, 24, 24},    {0, 0, 0}, {2, 1, 1}, SP_MAP_SINE,        0.3,
                        SP_STEP_QUINTIC, 0,         NULL,      SP_BACKGROUND_FULL, {NULL}};
  CHECK_OK(sp_box_hexes(MPI_COMM_SELF, &finer, &fine));
  double volume = 0, factors[SP_FACTORS * 8];
  sp_rule rule;
  sp_rule_gl(2, &rule);
  for (sp_lid e = 0; fine && e < fine->count; e++) {
    CHECK_OK(sp_geometry_factors(fine, e, &rule, factors));
    for (int q = 0; q < 8; q++) volume += factors[SP_G_WJ * 8 + q];
  }
  sp_hexes_destroy(&fine);
  CHECK(fabs(volume - 2) > 1e-3, "the sine map preserves the volume: %g", volume);
  check_box(&box, volume, 0.02);
}

/* Elements of a deformed box by volume; the element's tag gives its place in the grid. */
static void check_regions(void) {
  static const sp_box_region regions[] = {
      {.name = "low", .where = "w", .lower = {-9, 0, 0}, .upper = {1, 1, 2}},
      /* The planes of thirds, rounded. */
      {.name = "b", .where = "w", .lower = {1, 0.3333, 0.5}, .upper = {1.5, 0.66667, 1}}};
  const sp_box box = {.elements = {4, 3, 2},
                      .upper = {2, 1, 1},
                      .map = SP_MAP_SINE,
                      .region_count = 2,
                      .regions = regions};
  AUTO(sp_hexes) hexes = NULL;
  CHECK_OK(sp_box_hexes(MPI_COMM_WORLD, &box, &hexes));
  if (!hexes) return;
  CHECK(hexes->volume.group_count == 2 && hexes->volume.count == 3, "%d groups of %d volumes",
        hexes->volume.group_count, hexes->volume.count);
  for (int g = 0; g < hexes->volume.group_count; g++)
    CHECK(strcmp(hexes->volume.groups[g].name, regions[g].name) == 0 &&
              hexes->volume.groups[g].number == g + 1,
          "'%s'", hexes->volume.groups[g].name);
  for (sp_lid e = 0; e < hexes->count; e++) {
    const int n = (int)hexes->tags[e] - 1, i = n % 4, j = n / 4 % 3, k = n / 12;
    const bool expected[2] = {i < 2, i == 2 && j == 1 && k == 1};
    for (int g = 0; g < 2; g++)
      CHECK(sp_group_has(&hexes->volume.groups[g], hexes->volumes[e]) == expected[g],
            "element (%d, %d, %d) and group %d", i, j, k, g);
  }
}

static void check_wrong_regions(void) {
  static const struct {
    sp_box_region second;
    const char *message;
  } cases[] = {
      {{.lower = {1.2, 0, 0}, .upper = {2, 1, 1}},
       "case.ini:7: the plane x = 1.2 cuts through elements: a region has whole elements; the "
       "nearest planes between elements are x = 1 and 1.5; or give mesh.size instead of "
       "mesh.elements"},
      {{.lower = {1, 0, 0}, .upper = {2, 0.6, 1}},
       "case.ini:7: the plane y = 0.6 cuts through elements: a region has whole elements; the "
       "nearest planes between elements are y = 0.3333333333 and 0.6666666667; or give mesh.size "
       "instead of mesh.elements"},
      {{.lower = {1, 0, 1}, .upper = {2, 1, 2}},
       "case.ini:7: no element of the box is between z = 1 and 2; the box goes from 0 to 1"},
      {{.lower = {-1, 0, 0}, .upper = {2, 1, 1}},
       "case.ini:3: it has no elements: regions after it cover it"},
  };
  for (size_t c = 0; c < COUNT_OF(cases); c++) {
    sp_box_region regions[2] = {{.name = "low", .where = "case.ini:3", .upper = {1, 1, 1}},
                                cases[c].second};
    regions[1].name = "high";
    regions[1].where = "case.ini:7";
    const sp_box box = {
        .elements = {4, 3, 2}, .upper = {2, 1, 1}, .region_count = 2, .regions = regions};
    AUTO(sp_hexes) hexes = NULL;
    CHECK(sp_box_hexes(MPI_COMM_WORLD, &box, &hexes) == SP_ERR_INPUT && !hexes, "case %zu", c);
    CHECK_TEXT(sp_error_message(), cases[c].message);
  }
}

/* The planes of a direction with a thin layer, by size and grading. */
static void check_planes(void) {
  static const sp_box_region regions[] = {
      {.name = "film", .where = "w", .lower = {-1, 0, 0.5}, .upper = {3, 1, 0.51}},
      {.name = "same", .where = "w", .lower = {0.1 + 0.2, 0, 0}, .upper = {1, 1, 0.51 + 1e-12}},
      {.name = "edge", .where = "w", .lower = {0.3, 0, 0}, .upper = {0.9999999999, 1, 1}}};
  static const struct {
    sp_box_sizes sizes;
    int elements[3];
    double least; /* width of an element */
  } cases[] = {{{0.25, 0, 0}, {2 + 3, 4, 2 + 1 + 2}, 0.01},
               {{2, 0, 0}, {2, 1, 3}, 0.01},
               {{0.25, 0, 1}, {5, 4, 2 * 6 + 1}, 0.245 / 16},
               {{0.25, 0.05, 1}, {5, 4, 2 * 4 + 1}, 0.245 / 4}};
  for (size_t c = 0; c < COUNT_OF(cases); c++) {
    sp_box box = {.upper = {1, 1, 1}, .region_count = 3, .regions = regions};
    CHECK_OK(sp_box_divide("w", &cases[c].sizes, &box));
    for (int d = 0; d < 3; d++) {
      const double *at = box.planes[d];
      CHECK(box.elements[d] == cases[c].elements[d], "case %zu: %d elements in direction %d", c,
            box.elements[d], d);
      CHECK(at[0] == 0 && at[box.elements[d]] == 1, "case %zu: from %g to %g", c, at[0],
            at[box.elements[d]]);
      for (int i = 0; i < box.elements[d]; i++) {
        const double width = at[i + 1] - at[i], last = i > 0 ? at[i] - at[i - 1] : width;
        CHECK(width > 0 && width <= cases[c].sizes.largest * (1 + 1e-9), "width %g", width);
        if (cases[c].sizes.grading && cases[c].sizes.smallest == 0)
          CHECK(width <= 2.000001 * last && last <= 2.000001 * width, "widths %g, %g", last, width);
        if (d == 2 && at[i] != 0.5)
          CHECK(width > (1 - 1e-9) * fmin(cases[c].least, 0.25), "case %zu: width %g", c, width);
      }
      CHECK_CLOSE(sp_box_index(&box, d, sp_box_plane(&box, d, box.elements[d] / 2)),
                  box.elements[d] / 2, 0);
      free(box.planes[d]);
    }
  }
  sp_box box = {.upper = {1, 1, 1}};
  CHECK_FAILS(sp_box_divide("case.ini:2: mesh.size", &(sp_box_sizes){.largest = 1e-8}, &box),
              SP_ERR_INPUT, "case.ini:2: mesh.size: expected at least 1e-07, found 1e-08");
}

/* The measure of the elements of a volume group, or of the faces of a surface group; faces between
 * elements count once. */
static double measure_group(const sp_hexes *hexes, const char *name) {
  double sum = 0, total;
  sp_rule rule;
  sp_rule_gl(2, &rule);
  for (sp_lid e = 0; e < hexes->count; e++) {
    double xyz[24], values[24];
    CHECK_OK(sp_geometry_volume(hexes, e, &rule, xyz, values));
    for (int g = 0; g < hexes->volume.group_count; g++)
      for (int q = 0; q < 8 && strcmp(hexes->volume.groups[g].name, name) == 0; q++)
        if (sp_group_has(&hexes->volume.groups[g], hexes->volumes[e])) sum += values[q];
    for (int f = 0; f < SP_FACES; f++) {
      const int side = hexes->surfaces[e][f];
      sp_geometry_face(hexes, e, f, &rule, xyz, values);
      for (int g = 0; g < hexes->surface.group_count && sp_surface_of(side) >= 0; g++)
        for (int q = 0; q < 4 && strcmp(hexes->surface.groups[g].name, name) == 0; q++)
          if (sp_group_has(&hexes->surface.groups[g], sp_surface_of(side)))
            sum += fabs(values[f / 2 * 4 + q]) * (sp_surface_is_exterior(side) ? 1 : 0.5);
    }
  }
  MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return total;
}

/* A U with a hole: a mesh on any ranks, with about the same elements each, whose groups have exact
 * measures, and no surface is exterior and inside. */
static void check_holes(void) {
  static const sp_box_region regions[] = {
      {.name = "u", .where = "w", .upper = {3, 1, 2}},
      {.name = "gap", .where = "w", .lower = {1, -1, 0.5}, .upper = {2, 2, 5}, .empty = 1},
      {.name = "core", .where = "w", .lower = {2.25, 0.25, 1}, .upper = {2.75, 0.75, 1.5}}};
  static const struct {
    const char *group;
    double measure;
  } groups[] = {{"u", 6 - 1.5 - 0.125}, {"core", 0.125},   {"core.xmin", 0.25}, {"core.zmax", 0.25},
                {"gap.zmin", 1},        {"gap.xmin", 1.5}, {"zmax", 2},         {"zmin", 3},
                {"u.zmax", 2},          {"ymin", 6 - 1.5}};
  const sp_box_sizes sizes = {.largest = 0.2, .grading = 1};
  sp_box box = {.upper = {3, 1, 2}, .region_count = 3, .regions = regions};
  CHECK_OK(sp_box_divide("w", &sizes, &box));
  AUTO(sp_mesh) mesh = box_mesh(MPI_COMM_WORLD, &box, 0);
  const sp_hexes *hexes = mesh->hexes;
  CHECK(hexes->box[0] == 0 && mesh->unnamed_faces == 0, "%lld faces in no group",
        (long long)mesh->unnamed_faces);
  CHECK((double)hexes->count * world_size < 1.5 * (double)mesh->global_elements,
        "%d of %lld elements on one of %d ranks", hexes->count, (long long)mesh->global_elements,
        world_size);
  for (size_t g = 0; g < COUNT_OF(groups); g++)
    CHECK_CLOSE(measure_group(hexes, groups[g].group), groups[g].measure, 1e-12);
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++)
      CHECK(hexes->surfaces[e][f] < 0 || !mesh->buried[hexes->surfaces[e][f]],
            "a surface with both kinds of faces");
  for (int g = 0; g < hexes->volume.group_count; g++)
    CHECK_TEXT(hexes->volume.groups[g].name, g == 0 ? "u" : "core");
  for (int d = 0; d < 3; d++) free(box.planes[d]);
}

/* Every element of a box with holes is in one brick, on up to as many ranks as elements. */
static void check_holed_bricks(void) {
  static const sp_box_region regions[] = {
      {.name = "a", .where = "w", .upper = {2, 1, 1}},
      {.name = "b", .where = "w", .lower = {4, 2, 1}, .upper = {5, 5, 5}},
      {.name = "c", .where = "w", .lower = {2, 0, 0}, .upper = {5, 1, 1}}};
  const sp_box box = {.elements = {5, 5, 5},
                      .upper = {5, 5, 5},
                      .region_count = 3,
                      .regions = regions,
                      .background = SP_BACKGROUND_EMPTY};
  const bool keep[2][3] = {{false, false, false}, {true, false, true}};
  enum { ELEMENTS = 5 + 3 * 4 };
  sp_blocks blocks;
  CHECK_OK(sp_blocks_find(&box, &blocks));
  for (int size = 1; size <= ELEMENTS; size++)
    for (int k = 0; k < 2; k++) {
      sp_gid sum = 0;
      for (int rank = 0; rank < size; rank++) {
        sp_brick brick;
        CHECK_OK(sp_blocks_brick(&blocks, keep[k], size, rank, &brick));
        const sp_gid count = sp_blocks_elements(&blocks, &brick);
        CHECK(count > 0 && (double)count <= 2.5 * ELEMENTS / size, "%d ranks: %lld elements", size,
              (long long)count);
        sum += count;
      }
      CHECK(sum == ELEMENTS, "%d ranks have %lld elements", size, (long long)sum);
    }
  sp_brick brick;
  CHECK_FAILS(sp_blocks_brick(&blocks, keep[0], ELEMENTS + 1, 0, &brick), SP_ERR_INPUT,
              "18 ranks for a mesh of 17 elements");
  sp_blocks_free(&blocks);
}

static void check_too_many_ranks(void) {
  const sp_box box = {.elements = {1, 1, 1}, .upper = {1, 1, 1}};
  sp_hexes *hexes;
  if (world_size == 1) return;
  CHECK_FAILS(sp_box_hexes(MPI_COMM_WORLD, &box, &hexes), SP_ERR_INPUT,
              "ranks for a mesh of 1 element:");
  CHECK(hexes == NULL, "elements after a failure");
}

/* Sheared boxes: the columns of J are (1, 0, 0), (a, 1, 0) and (0, 0, 1) times lengths. */
static void check_quality(void) {
  const double a = 0.75;
  const sp_box box = {.elements = {3, 2, 4}, .upper = {3, 1, 1}};
  for (int sheared = 0; sheared < 2; sheared++) {
    sp_hexes *hexes = box_hexes(MPI_COMM_WORLD, &box, 0);
    AUTO(sp_mesh) mesh = NULL;
    for (size_t p = 0; p < SP_CORNERS * (size_t)hexes->count && sheared; p++)
      hexes->lattice[3 * p] += a * hexes->lattice[3 * p + 1];
    require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh));
    CHECK_CLOSE(mesh->shape.quality, sheared ? 1 / sqrt(1 + a * a) : 1, 100 * DBL_EPSILON);
  }
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  check_maps();
  check_partitions();
  check_balance();
  check_boxes();
  check_quality();
  check_regions();
  check_wrong_regions();
  check_planes();
  check_holes();
  check_holed_bricks();
  check_too_many_ranks();
  return check_end();
}
