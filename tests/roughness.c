/* Smooth maps of all degrees are not called rough, in any position and orientation, whether well or
 * barely resolved. Maps with nodes scattered as by some versions of gmsh are called rough. */
#include "mesh/roughness.h"

#include "mesh/gmsh.h"
#include "tests/boxes.h"

enum { MAX_ORDER = 9 };

static const double PI = 3.14159265358979323846;

/* Maps of [-1, 1]^3. */
typedef void map(const double r[3], double x[3]);

/* A sixth of a shell; the cube is projected from the centre. */
static void sphere(const double r[3], double x[3]) {
  const double scale = (1.5 + r[2] / 2) / sqrt(1 + r[0] * r[0] + r[1] * r[1]);
  x[0] = scale * r[0];
  x[1] = scale * r[1];
  x[2] = scale;
}

/* The same with equal angles. */
static void equal_angles(const double r[3], double x[3]) {
  sphere((double[3]){tan(PI / 4 * r[0]), tan(PI / 4 * r[1]), r[2]}, x);
}

static void annulus(double angle, const double r[3], double x[3]) {
  x[0] = (1.5 + r[0] / 2) * cos(angle * r[1] / 2);
  x[1] = (1.5 + r[0] / 2) * sin(angle * r[1] / 2);
  x[2] = r[2];
}

static void quarter(const double r[3], double x[3]) {
  annulus(PI / 2, r, x);
}

static void half(const double r[3], double x[3]) {
  annulus(PI, r, x);
}

static void three_quarters(const double r[3], double x[3]) {
  annulus(3 * PI / 2, r, x);
}

/* The map of mesh/box.h, which bends all directions. */
static void sine(const double r[3], double x[3]) {
  const double u = (1 + r[0]) / 2, v = (1 + r[1]) / 2, w = (1 + r[2]) / 2;
  x[0] = u + 0.05 * sin(5.1 * v + 0.4) * sin(4.3 * w + 0.7);
  x[1] = v + 0.05 * sin(4.7 * w + 0.3) * sin(5.3 * u + 0.9);
  x[2] = w + 0.05 * sin(4.9 * u + 0.5) * sin(4.1 * v + 0.2);
}

/* Faces stay where they are, only the inside is curved. */
static void bump(const double r[3], double x[3]) {
  const double b = 0.1 * cos(PI * r[0] / 2) * cos(PI * r[1] / 2) * cos(PI * r[2] / 2);
  for (int d = 0; d < 3; d++) x[d] = (1 + r[d]) / 2 + b;
}

static void exponential(const double r[3], double x[3]) {
  x[0] = exp(r[0]) * cos(r[1]);
  x[1] = exp(r[0]) * sin(r[1]);
  x[2] = r[2] + 0.2 * r[0] * r[0] * r[1];
}

static void straight(const double r[3], double x[3]) {
  x[0] = 2 * r[0] + 0.3 * r[1];
  x[1] = r[1] + 0.1 * r[2] * r[0];
  x[2] = 0.5 * r[2] + 0.2 * r[1];
}

/* Displacements of the nodes of one direction, in units of the interval, as in meshes of gmsh 4.15.
 */
static const double SCATTER[MAX_ORDER + 1][MAX_ORDER + 1] = {
    [6] = {0, -0.01943, -0.01605, 0, 0, 0.00795, 0},
    [7] = {0, -0.00867, 0, 0, 0.00765, 0.01882, 0.01824, 0},
    [8] = {0, 0, 0, 0, 0, 0.01276, 0.02004, 0.01702, 0},
    [9] = {0, 0, -0.01, 0.012, 0, 0, 0.018, 0, 0.01, 0}};

/* side^3 elements of degree g on each rank; nodes are scattered along direction 1 by `scatter`
 * times the numbers above, in element `where`, or all if it is negative. */
static sp_hexes *sample(map *f, int g, int side, double scatter, int where) {
  const int n = g + 1, count = side * side * side;
  sp_hexes *hexes;
  if (sp_hexes_create(count, g, 0, 0, &hexes)) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int e = 0; e < count; e++) {
    const int place[3] = {e % side, e / side % side, e / (side * side)};
    hexes->tags[e] = 1 + world_rank * count + e;
    for (int p = 0; p < n * n * n; p++) {
      const int node[3] = {p % n, p / n % n, p / (n * n)};
      double r[3];
      for (int d = 0; d < 3; d++) r[d] = -1 + 2 * (place[d] + (double)node[d] / g) / side;
      if (where < 0 || where == e) r[1] += scatter * SCATTER[g][node[1]] / side;
      f(r, &hexes->lattice[3 * (e * n * n * n + p)]);
    }
  }
  return hexes;
}

static double worst(const sp_hexes *hexes) {
  double largest = 0;
  for (sp_lid e = 0; e < hexes->count; e++) largest = fmax(largest, sp_roughness(hexes, e));
  return largest;
}

static const struct {
  const char *name;
  map *f;
} MAPS[] = {{"sphere", sphere}, {"equal angles", equal_angles},     {"quarter", quarter},
            {"half", half},     {"three quarters", three_quarters}, {"sine", sine},
            {"bump", bump},     {"exponential", exponential},       {"straight", straight}};
enum { MAP_COUNT = COUNT_OF(MAPS) };

/* An element may be far too large for its map: it is coarse then, not rough. */
static void check_smooth(void) {
  for (int m = 0; m < MAP_COUNT; m++)
    for (int g = 2; g <= MAX_ORDER; g++)
      for (int side = 1; side <= 3; side++) {
        AUTO(sp_hexes) hexes = sample(MAPS[m].f, g, side, 0, -1);
        CHECK(worst(hexes) <= 1, "%s, degree %d, %d^3 elements: roughness %g", MAPS[m].name, g,
              side, worst(hexes));
        /* Far from the origin the curvature is lost in rounding. */
        const size_t numbers = 3 * (size_t)hexes->count * (size_t)sp_hexes_lattice_size(hexes);
        for (size_t i = 0; i < numbers; i++) hexes->lattice[i] = 1e-3 * hexes->lattice[i] + 1e6;
        CHECK(worst(hexes) <= 1, "%s far away, degree %d, %d^3 elements: roughness %g",
              MAPS[m].name, g, side, worst(hexes));
      }
  AUTO(sp_hexes) box = quadratic_box(4);
  sp_roughness_count(MPI_COMM_WORLD, box);
  CHECK(box->file.rough == 0 && box->file.roughest == 0, "%lld elements of degree 2",
        (long long)box->file.rough);
}

/* Elements must be small enough that the curvature itself is resolved: 90 degrees are too much for
 * degree 6. */
static void check_scattered(void) {
  for (int m = 0; m < MAP_COUNT; m++)
    for (int g = MAPS[m].f == three_quarters ? 7 : 6; g <= MAX_ORDER; g++) {
      AUTO(sp_hexes) hexes = sample(MAPS[m].f, g, 3, 1, -1);
      CHECK(worst(hexes) > 1, "%s, degree %d: roughness %g", MAPS[m].name, g, worst(hexes));
      rotate_elements(hexes, 7);
      CHECK(worst(hexes) > 1, "%s turned, degree %d: roughness %g", MAPS[m].name, g, worst(hexes));
      sp_hexes_destroy(&hexes);
      hexes = sample(MAPS[m].f, g, 3, 1e-4, -1);
      /* A straight element has no curvature to compare with. */
      CHECK(worst(hexes) <= 1 || MAPS[m].f == straight, "%s, degree %d, little: roughness %g",
            MAPS[m].name, g, worst(hexes));
    }
}

/* All ranks get the number of rough elements and the worst one. */
static void check_ranks(void) {
  for (int side = 1; side <= 2; side++) {
    const int last = world_size - 1, where = side * side * side - 1;
    AUTO(sp_hexes) hexes = sample(quarter, 7, side, world_rank == last ? 1 : 0, where);
    const sp_gid tag = world_size * side * side * side;
    sp_roughness_count(MPI_COMM_WORLD, hexes);
    CHECK(hexes->file.rough == 1 && hexes->file.roughest == tag,
          "%lld rough elements, the worst is %lld", (long long)hexes->file.rough,
          (long long)hexes->file.roughest);
  }
}

/* A quarter of a pipe by gmsh 4.15.0, Mesh.ElementOrder = 6, which scatters nodes along the arcs:
 * 2 elements along the arc, 2 along the axis. */
static void check_file(void) {
  AUTO(sp_hexes) hexes = NULL;
  CHECK_OK(sp_gmsh_hexes(MPI_COMM_WORLD, SP_FIXTURES "/rough.msh", &hexes));
  if (hexes)
    CHECK(hexes->file.rough == 4 && hexes->file.roughest > 0,
          "%lld rough elements, the worst is %lld", (long long)hexes->file.rough,
          (long long)hexes->file.roughest);
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  check_smooth();
  check_scattered();
  check_ranks();
  check_file();
  return check_end();
}
