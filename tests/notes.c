/* Notes on a case: sources that quadrature misses, and boundary data that jump. Parts in contact
 * are in fit.py. */
#include "mesh/reference.h"
#include "operators/counts.h"
#include "solver/problem/dirichlet.h"
#include "solver/problem/load.h"
#include "tests/stage.h"

/* Return the one-dimensional integral of exp(-((x - c) / w)^2 / 2) over n elements of [0, 1] by a
 * rule. */
static double integrate_line(int n, const sp_rule *rule, double c, double w) {
  double sum = 0;
  for (int e = 0; e < n; e++)
    for (int q = 0; q < rule->n; q++) {
      const double x = (e + (1 + rule->nodes[q]) / 2) / n - c;
      sum += rule->weights[q] / (2 * n) * exp(-x * x / (w * w) / 2);
    }
  return sum;
}

static sp_source_integral compare_source(stage *s, const char *const *overrides) {
  ARRAYS_OF_SCOPE;
  sp_source_integral source;
  sp_jacobian_range range;
  const sp_problem *problem = stage_problem(s, overrides);
  sp_load_sums sums = {.given =
                           test_array((size_t)s->mesh->hexes->surface.count + 1, sizeof(double)),
                       .variation = test_array((size_t)s->mesh->hexes->count, sizeof(double))};
  require(sp_problem_load(problem, s->space, NULL, NULL, s->values, &range, &sums));
  require(sp_source_compare(problem, s->space, sums.source, sums.size, sums.variation, &source));
  return source;
}

/* A Gaussian source whose width is a tenth of an element, in a box of 8^3: the integrals are
 * products of sums on lines. Positions are in units of the element. The source is a peak, or a peak
 * 1e5 above a constant. Neglected elements are 1.5 elements away or more: exp(-112). Errors are of
 * rounding, of sums of up to 4e5 terms of one sign. */
static void check_narrow_source(const char *operator_is, sp_operator_kind kind) {
  enum { N = 8 };
  static const double at[][3] = {
      {0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}, {0.3, 0.62, 0.5}, {0, 0, 0}, {0.1, 0.2, 0.35}};
  for (int order = 2; order <= 7; order++) {
    AUTO_VALUE(stage) s = {0};
    sp_rule fine;
    stage_create(make_box(N, N, N, SP_MAP_NONE), order, &s);
    sp_rule_gl((order + 4) | 1, &fine);
    for (size_t i = 0; i < COUNT_OF(at); i++) {
      const double w = 0.1 / N, constant = i % 2 ? 1 : 0;
      double own = 1, integral = 1;
      char forcing[300];
      int used = snprintf(forcing, sizeof forcing, "problem.forcing=%g+%g*exp(-(", constant,
                          i % 2 ? 1e5 : 1);
      for (int d = 0; d < 3; d++) {
        const double c = (N / 2 + at[i][d]) / N;
        own *= integrate_line(N, sp_operator_rule(kind, order), c, w);
        integral *= integrate_line(N, &fine, c, w);
        used += snprintf(forcing + used, sizeof forcing - (size_t)used, "%s(%c-%.17g)^2",
                         d ? "+" : "", "xyz"[d], c);
      }
      snprintf(forcing + used, sizeof forcing - (size_t)used, ")/(2*%.17g^2))", w);
      const double factor = i % 2 ? 1e5 : 1, rounding = 1e-9 * (constant + factor * integral);
      const sp_source_integral source = compare_source(
          &s, TEXTS(operator_is, forcing, kind == SP_MASS ? NULL : "boundary.default=dirichlet 0"));
      CHECK(source.points == fine.n, "%d points", source.points);
      CHECK_CLOSE(source.own, constant + factor * own, rounding);
      CHECK_CLOSE(source.size, constant + factor * own, rounding);
      CHECK_CLOSE(source.excess, factor * (integral - own), rounding);
    }
  }
}

/* Sources between the points of GLL: a ball in the centre of an element, and a layer that varies in
 * more elements of a rank than are compared. The finer rule has a point in the centre, of weight
 * 128/450 on a unit interval. All elements of the layer have the same variation, so that at most
 * one of 128 portions is missing. And f that is integrated exactly, that is constant, or singular
 * at a centre. */
static void check_hidden_sources(void) {
  static const char zero[] = "boundary.default=dirichlet 0";
  const double weight = 128.0 / 450;
  AUTO_VALUE(stage) s = {0};
  stage_create(make_box(16, 16, 16, SP_MAP_NONE), 1, &s);
  sp_source_integral source = compare_source(
      &s, TEXTS("problem.forcing=(x-0.53125)^2+(y-0.28125)^2+(z-0.03125)^2<1e-5", zero));
  CHECK(source.own == 0 && source.size == 0, "%g, %g", source.own, source.size);
  CHECK_CLOSE(source.excess, weight * weight * weight / 4096, 1e-15);
  source = compare_source(&s, TEXTS("problem.forcing=abs(z-0.53)<0.01", zero));
  CHECK(source.own == 0 && source.size == 0, "%g, %g", source.own, source.size);
  CHECK_CLOSE(source.excess, weight / 16, weight / 16 / SP_SOURCE_MOST);
  source = compare_source(&s, TEXTS("problem.forcing=x+2*y*z-3", zero));
  CHECK_CLOSE(source.size, 2, 1e-12);
  CHECK_CLOSE(source.excess, 0, 1e-12);
  source = compare_source(&s, TEXTS("problem.forcing=2", zero));
  CHECK(source.excess == 0, "%g", source.excess);
  source = compare_source(&s, TEXTS("problem.forcing=1/abs(x-0.53125)+y", zero));
  CHECK(isfinite(source.excess) && source.size > 1, "%g", source.excess);
}

/* The same on faces, for g and for alpha: a disc between the points of GLL, and data that are
 * integrated exactly. Faces with other conditions do not count. */
static void check_hidden_face_data(void) {
  static const char disc[] = "(x-0.53125)^2+(y-0.28125)^2<1e-5";
  const double hidden = 128.0 / 450 * 128 / 450 / 256;
  AUTO_VALUE(stage) s = {0};
  sp_source_integral data[SP_FACE_DATA];
  stage_create(make_box(16, 16, 2, SP_MAP_NONE), 1, &s);
  for (int robin = 0; robin < 2; robin++) {
    const char *line = test_text("boundary.zmax=robin 1+(%s), 2", disc);
    if (!robin) line = test_text("boundary.zmax=neumann 2+(%s)", disc);
    const sp_problem *problem =
        stage_problem(&s, TEXTS("problem.forcing=1", line, "boundary.zmin=dirichlet y",
                                "boundary.default=neumann x+2*z"));
    require(sp_source_compare_faces(problem, s.space, data));
    CHECK(data[0].points == 5, "%d points", data[0].points);
    CHECK_CLOSE(data[robin].excess, hidden, 1e-12);
    CHECK_CLOSE(data[!robin].excess, 0, 1e-12);
    CHECK_CLOSE(data[1].size, robin, 1e-12);
    CHECK_CLOSE(data[0].size, 2 + 6, 1e-12);
  }
}

#define XMIN "boundary.xmin=dirichlet "
#define XMAX "boundary.xmax=dirichlet "
#define YMIN "boundary.ymin=dirichlet "

/* Data of parts that meet at an edge: the largest difference at a node, the two parts, and the
 * largest difference of each. */
static void check_data_jumps(void) {
  static const struct {
    const char *lines[3];
    double size, largest;
    int parts[2];
    double of_part[3];
  } cases[] = {{{XMIN "1", YMIN "x+z", "boundary.default=neumann 0"}, 1, 2, {0, 1}, {1, 1}},
               {{YMIN "3+x", XMAX "-z", "boundary.default=dirichlet 3"}, 5, 4, {0, 1}, {5, 5, 4}},
               {{XMIN "y", XMAX "2", "boundary.default=neumann 0"}, 0, 2, {0, 0}, {0}},
               {{XMIN, YMIN, "boundary.default=dirichlet"}, 0, 2, {0, 0}, {0}},
               {{XMIN "x+y", YMIN, "boundary.default=dirichlet"}, 0, 2, {0, 0}, {0}}};
  AUTO_VALUE(stage) s = {0};
  stage_create(make_box(4, 3, 2, SP_MAP_NONE), 3, &s);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *const *lines = cases[i].lines;
    sp_data_jump jump;
    stage_problem(&s, TEXTS("problem.solution=x+y", lines[0], lines[1], lines[2]));
    require(sp_problem_constraints(s.problem, s.space, s.constrained, s.values, &jump));
    CHECK_CLOSE(jump.size, cases[i].size, 1e-14);
    CHECK_CLOSE(jump.largest, cases[i].largest, 1e-14);
    if (cases[i].size > 0)
      CHECK(jump.parts[0] == cases[i].parts[0] && jump.parts[1] == cases[i].parts[1],
            "case %d: parts %d and %d", (int)i, jump.parts[0], jump.parts[1]);
    for (int p = 0; p < s.problem->part_count; p++)
      CHECK_CLOSE(jump.of_part[p], cases[i].of_part[p], 1e-14);
    free(jump.of_part);
  }
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  require(sp_platform_open(MPI_COMM_WORLD, SP_DEVICE_HOST, SP_TRANSPORT_AUTO, &platform));
  check_narrow_source("discretization.operator=bp3.5", SP_BP35);
  check_narrow_source("discretization.operator=bp3.0", SP_BP30);
  check_narrow_source("discretization.operator=mass", SP_MASS);
  check_hidden_sources();
  check_hidden_face_data();
  check_data_jumps();
  sp_platform_close(&platform);
  return check_end();
}
