/* Probes: the inverse of an element's map, which rank evaluates, and the value. With the argument
 * `cuda` the space of the solution is on a GPU. */
#include "solver/config/config.h"
#include "solver/results/probe.h"

#include <float.h>

#include "mesh/locate.h"
#include "mesh/reference.h"
#include "tests/boxes.h"
#include "tests/deformed_box.h"
#include "tests/device.h"

enum { ORDER = 3, PLACES = 6, FAR_PLACES = 5 };

/* Reference points: within an element, on a face, on an edge, at a corner, and very close to a
 * face, where the element behind would also take a point outside the mesh. */
static const double places[PLACES][3] = {{0.3, -0.7, 0.95}, {-0.999, 0.1, 0.5},
                                         {1, 0.2, -0.4},    {0.6, -1, 1},
                                         {1, 1, 1},         {0.3, 0.99999, 0.4}};
enum { INTERIOR_PLACES = 2 };

static void map_point(const sp_hexes *hexes, sp_lid element, const double reference[3],
                      double point[3]) {
  const int n = hexes->map_order + 1;
  double lattice[SP_MAX_NQ], basis[3][SP_MAX_NQ];
  for (int i = 0; i < n; i++) lattice[i] = -1 + 2.0 * i / hexes->map_order;
  for (int d = 0; d < 3; d++) sp_interpolation_matrix(n, lattice, 1, &reference[d], basis[d]);
  const double *corner = &hexes->lattice[(size_t)element * (size_t)(n * n * n) * 3];
  for (int d = 0; d < 3; d++) point[d] = 0;
  for (int q = 0; q < n * n * n; q++)
    for (int d = 0; d < 3; d++)
      point[d] += basis[0][q % n] * basis[1][q / n % n] * basis[2][q / (n * n)] * corner[3 * q + d];
}

/* The element that contains the point or, if *outside, that it leaves by little; -1 if none. */
static sp_lid locate_near(const sp_hexes *hexes, const double point[3], double reference[3],
                          bool *outside) {
  sp_lid element;
  sp_locate_line(hexes, point, point, 1, &element, (double(*)[3])reference, outside);
  return element;
}

static sp_lid locate(const sp_hexes *hexes, const double point[3], double reference[3]) {
  bool outside;
  const sp_lid element = locate_near(hexes, point, reference, &outside);
  return outside ? -1 : element;
}

/* Newton's method ends at a step of 1e-12; the elements here are of size one and their maps have
 * condition numbers below 100. */
static void check_inverse(const deformed_box *box) {
  const sp_hexes *hexes = box->whole->hexes;
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int p = 0; p < PLACES; p++) {
      double point[3], back[3], reference[3];
      map_point(hexes, e, places[p], point);
      const sp_lid found = locate(hexes, point, reference);
      CHECK(p >= INTERIOR_PLACES || found == e, "place %d of element %d is found in %d", p, e,
            found);
      CHECK(found >= 0, "place %d of element %d is in none", p, e);
      if (found < 0) continue;
      map_point(hexes, found, reference, back);
      for (int d = 0; d < 3; d++) {
        CHECK_CLOSE(back[d], point[d], 1e-10);
        if (found == e) CHECK_CLOSE(reference[d], places[p][d], 1e-10);
      }
    }
}

/* Degree 3 is in the space of trilinear elements of order 3, degree 1 in the space of curved ones
 * of map order 3. */
static double polynomial(bool curved, const double p[3]) {
  const double linear = 0.3 + p[0] - 2 * p[1] + 0.5 * p[2];
  return curved ? linear : linear * linear * linear + p[0] * p[1] * p[2];
}

static sp_config *read_probes(int count, const double (*points)[3]) {
  const char **overrides = test_array((size_t)count + 1, sizeof *overrides);
  overrides[0] = "problem.forcing=1";
  for (int p = 0; p < count; p++)
    overrides[p + 1] =
        test_text("probe.p%d=%.17g %.17g %.17g", p, points[p][0], points[p][1], points[p][2]);
  sp_config *config;
  require(sp_config_read(MPI_COMM_WORLD, NULL, count + 1, overrides, &config));
  return config;
}

/* The probes of a configuration, evaluated for the polynomial and this kappa. */
static sp_probes *evaluate(const sp_platform *platform, const deformed_box *box,
                           const sp_config *config, bool curved, double kappa) {
  const sp_hexes *hexes = box->mesh->hexes;
  const size_t nodes = element_nodes(box);
  AUTO(sp_space) space = NULL;
  sp_probes *probes;
  double *x = test_array((size_t)box->numbering->local, sizeof *x);
  double *xyz = test_array(3 * nodes, sizeof *xyz);
  require(sp_space_create(platform, box->mesh, ORDER, &space));
  for (sp_lid e = 0; e < hexes->count; e++) {
    sp_hexes_coordinates(hexes, e, ORDER + 1, sp_reference_get(ORDER)->gll.nodes, xyz);
    for (size_t n = 0; n < nodes; n++)
      x[box->numbering->nodes[(size_t)e * nodes + n]] =
          polynomial(curved, (double[3]){xyz[n], xyz[nodes + n], xyz[2 * nodes + n]});
  }
  sp_material material = {.of[SP_KAPPA].value = kappa};
  const sp_problem problem = {
      .kind = SP_BP35, .materials = {.count = 1, .list = &material, .of_volume = (int[]){0}}};
  require(sp_probes_create(&config->wanted, box->mesh, &probes));
  CHECK_OK(sp_probes_evaluate(probes, &problem, space, x));
  return probes;
}

/* Points of all elements, on any rank, get the polynomial's value on all ranks, to a few hundred
 * roundings from Lagrange interpolation and the inverse map. */
static void check_values(const sp_platform *platform, const deformed_box *box, bool curved) {
  ARRAYS_OF_SCOPE;
  const sp_hexes *whole = box->whole->hexes;
  const int count = whole->count * PLACES;
  double(*points)[3] = test_array((size_t)count, sizeof *points);
  for (int p = 0; p < count; p++) map_point(whole, p / PLACES, places[p % PLACES], points[p]);
  AUTO(sp_config) config = read_probes(count, (const double(*)[3])points);
  AUTO(sp_probes) probes = evaluate(platform, box, config, curved, 1);
  int answers = 0;
  for (int p = 0; p < count; p++) {
    CHECK_CLOSE(probes->list[p].value, polynomial(curved, points[p]), 1e-10);
    answers += probes->list[p].element >= 0;
  }
  MPI_Allreduce(MPI_IN_PLACE, &answers, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(answers == count, "%d ranks answer for %d probes", answers, count);
}

/* Samples of a line that begins inside and ends outside: values and fluxes of a linear u, which
 * both kinds of elements reproduce, and NaN outside, the same on all ranks. Each sample is in the
 * element that a search for its point finds. */
static void check_line(const sp_platform *platform, const deformed_box *box) {
  enum { SAMPLES = 41 };
  static const double slope[3] = {1, -2, 0.5};
  const sp_hexes *hexes = box->mesh->hexes;
  double a[3], b[3];
  map_point(box->whole->hexes, 0, places[0], a);
  map_point(box->whole->hexes, box->whole->hexes->count - 1, (double[3]){1, 1, 1}, b);
  for (int d = 0; d < 3; d++) b[d] += b[d] - a[d];
  AUTO(sp_config) config = NULL;
  const char *line = test_text("line.out=%.17g %.17g %.17g, %.17g %.17g %.17g, %d", a[0], a[1],
                               a[2], b[0], b[1], b[2], SAMPLES);
  require(sp_config_read(MPI_COMM_WORLD, NULL, 2, TEXTS("problem.forcing=1", line), &config));
  AUTO(sp_probes) probes = evaluate(platform, box, config, true, 3);
  int outside = 0;
  CHECK(probes->count == 0 && probes->all == SAMPLES, "%d samples", probes->all);
  for (int i = 0; i < probes->all; i++) {
    const sp_probe *sample = &probes->list[i];
    double reference[3];
    const sp_lid element = locate(hexes, sample->point, reference);
    outside += sample->outside;
    CHECK(sample->element < 0 || sample->element == element, "sample %d: %d instead of %d", i,
          sample->element, element);
    CHECK(!sample->outside || (element < 0 && isnan(sample->value) && isnan(sample->flux[0])),
          "sample %d is outside", i);
    CHECK(sample->outside || fabs(sample->value - polynomial(true, sample->point)) < 1e-10,
          "sample %d: %g", i, sample->value);
    for (int d = 0; d < 3 && !sample->outside; d++)
      CHECK_CLOSE(sample->flux[d], -3 * slope[d], 1e-9);
  }
  CHECK(!probes->list[0].outside && outside >= SAMPLES / 3 && outside < SAMPLES - 1, "%d outside",
        outside);
  CHECK_CLOSE(probes->list[SAMPLES - 1].distance,
              hypot(hypot(b[0] - a[0], b[1] - a[1]), b[2] - a[2]), 1e-12);
}

static void check_outside(const deformed_box *box) {
  const double points[][3] = {{0.5, 0.5, 0.5}, {1e3, 0.5, 0.5}};
  AUTO(sp_config) config = read_probes(2, points);
  sp_probes *probes;
  CHECK(sp_probes_create(&config->wanted, box->mesh, &probes) == SP_ERR_INPUT && !probes,
        "a point far away is found");
  CHECK(strstr(sp_error_message(), "probe.p1=") && strstr(sp_error_message(), "outside the mesh"),
        "%s", sp_error_message());
}

/* Points at known distances from exterior faces, along the normals. The elements are about 0.4 wide
 * and the faces have radii of curvature of some 0.4. The search ends at steps of 1e-10. */
static void check_nearest(const deformed_box *box) {
  const sp_hexes *hexes = box->whole->hexes;
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      const int b = f / 2, side = 2 * (f % 2) - 1;
      double reference[3] = {0.3, -0.2, 0.1}, foot[3], point[3], c[3][3], normal[3];
      double nearest[3], distance, size = 0, outward = 0;
      if (!sp_surface_is_exterior(hexes->surfaces[e][f])) continue;
      reference[b] = side;
      map_point(hexes, e, reference, foot);
      sp_locate_map(hexes, e, reference, nearest, c);
      for (int d = 0; d < 3; d++) CHECK_CLOSE(nearest[d], foot[d], 1e-12);
      const double *s = c[(b + 1) % 3], *t = c[(b + 2) % 3];
      for (int d = 0; d < 3; d++) {
        normal[d] = s[(d + 1) % 3] * t[(d + 2) % 3] - s[(d + 2) % 3] * t[(d + 1) % 3];
        size = hypot(size, normal[d]);
        outward += side * normal[d] * c[b][d];
      }
      for (double height = 1e-6; height < 5e-2; height *= 10) {
        for (int d = 0; d < 3; d++)
          point[d] = foot[d] + copysign(height / size, outward) * normal[d];
        const sp_lid found = sp_locate_nearest(hexes, point, nearest, &distance);
        CHECK(found == e, "%g from face %d of %d: %d is nearest", height, f, e, found);
        CHECK_CLOSE(distance, height, 1e-9);
        for (int d = 0; d < 3; d++) CHECK_CLOSE(nearest[d], foot[d], 1e-7);
      }
    }
}

static void roll_up(double point[3]) {
  const double radius = point[0], angle = acos(0) * point[1];
  point[0] = radius * cos(angle);
  point[1] = radius * sin(angle);
}

/* A quarter of a tube with 6 elements of order 3 around. Between its nodes the outer surface is up
 * to R h^4 / 1944 = 2.7e-7 from the circle, h = 15 degrees. */
static void check_tube(const sp_platform *platform) {
  enum { ANGLES = 46 };
  static const double R = 0.11;
  const sp_box shape = {.lower = {0.085, 0, 0}, .upper = {R, 1, 0.02}, .elements = {3, 6, 1}};
  double points[ANGLES][3];
  sp_hexes *hexes = box_hexes(MPI_COMM_WORLD, &shape, 0);
  AUTO_VALUE(deformed_box) box = {0};
  curve_elements(3, roll_up, &hexes);
  require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &box.mesh));
  require(sp_numbering_create(box.mesh, ORDER, &box.numbering));
  for (int a = 0; a < ANGLES; a++) {
    memcpy(points[a], (double[3]){R, a / (ANGLES - 1.0), 0.01}, sizeof points[a]);
    roll_up(points[a]);
  }
  AUTO(sp_config) config = read_probes(ANGLES, (const double(*)[3])points);
  AUTO(sp_probes) probes = evaluate(platform, &box, config, true, 1);
  for (int a = 0; a < ANGLES; a++) {
    CHECK(!probes->list[a].outside, "%d degrees are outside", 2 * a);
    CHECK_CLOSE(probes->list[a].value, polynomial(true, points[a]), 2.3 * 2.7e-7);
  }
  AUTO(sp_config) beyond = read_probes(1, (const double[][3]){{0.07, 0.09, 0.05}});
  sp_probes *none;
  const sp_status status = sp_probes_create(&beyond->wanted, box.mesh, &none);
  check_refusal("a point beyond the tube", status,
                TEXTS("(0.07, 0.09, 0.05) is 0.0303 from the nearest", ", 0.02) in element 12"));
}

/* A point counts as outside beyond 1e-8 of half an element's width, not closer. */
static void check_edge(void) {
  AUTO(sp_hexes) hexes = NULL;
  double reference[3];
  CHECK_OK(sp_hexes_create(1, 1, &hexes));
  for (int c = 0; c < SP_CORNERS; c++)
    for (int d = 0; d < 3; d++) hexes->lattice[3 * c + d] = 2 * (c >> d & 1) - 1;
  CHECK(locate(hexes, (double[3]){1 + 5e-9, 0, 0}, reference) == 0 && reference[0] == 1,
        "rounding puts a point on the boundary outside");
  CHECK(locate(hexes, (double[3]){0, -1 - 2e-8, 0}, reference) == -1, "outside, but found");
  bool outside = false;
  CHECK(locate_near(hexes, (double[3]){0.5, -1 - 1.9e-4, 0}, reference, &outside) == 0 && outside &&
            fabs(reference[0] - 0.5) < 1e-12 && reference[1] == -1,
        "less than 1e-4 of the width outside, but not moved to the surface");
  CHECK(locate_near(hexes, (double[3]){0.5, -1 - 2.1e-4, 0}, reference, &outside) == -1 && outside,
        "more than 1e-4 of the width outside, but found");
  CHECK(locate(hexes, (double[3]){0, NAN, 0}, reference) == -1, "NaN is found");
}

/* The same points far from the origin, where coordinates are rounded to DBL_EPSILON * offset: the
 * reference point moves by a hundred times that at most. */
static void check_far(const deformed_box *box) {
  sp_hexes *hexes = box->whole->hexes;
  const size_t numbers = 3 * sp_hexes_lattice_size(hexes) * (size_t)hexes->count;
  double *near = test_array(numbers, sizeof *near);
  memcpy(near, hexes->lattice, numbers * sizeof *near);
  for (double offset = 1e4; offset < 2e9; offset *= 10)
    for (sp_lid e = 0; e < hexes->count; e++)
      for (int p = 0; p < FAR_PLACES; p++) {
        double point[3], reference[3];
        memcpy(hexes->lattice, near, numbers * sizeof *near);
        map_point(hexes, e, places[p], point);
        for (size_t n = 0; n < numbers; n++) hexes->lattice[n] += n % 3 == 1 ? -offset : offset;
        for (int d = 0; d < 3; d++) point[d] += d == 1 ? -offset : offset;
        const sp_lid found = locate(hexes, point, reference);
        CHECK(found >= 0, "place %d of element %d at %g is in none", p, e, offset);
        CHECK(p >= INTERIOR_PLACES || found == e, "place %d of element %d at %g is in %d", p, e,
              offset, found);
        for (int d = 0; d < 3 && found == e; d++)
          CHECK_CLOSE(reference[d], places[p][d], 1e-10 + 100 * DBL_EPSILON * offset);
      }
  memcpy(hexes->lattice, near, numbers * sizeof *near);
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  sp_platform platform;
  device_open(argc, argv, &platform);
  for (int map_order = 1; map_order <= 3; map_order += 2) {
    AUTO_VALUE(deformed_box) box = {0};
    deformed_box_create(MPI_COMM_WORLD, (const int[3]){3, 2, 4}, map_order, ORDER, &box);
    check_inverse(&box);
    check_values(&platform, &box, map_order > 1);
    check_line(&platform, &box);
    check_outside(&box);
    check_far(&box);
    check_nearest(&box);
  }
  check_edge();
  check_tube(&platform);
  sp_platform_close(&platform);
  return check_end();
}
