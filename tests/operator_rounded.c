/* Rounded factors: their rounding errors, and operators with them against the same sums in double
 * precision. */
#include <float.h>

#include "mesh/geometry.h"
#include "operators/counts.h"
#include "operators/factors.h"
#include "tests/deformed_box.h"
#include "tests/operator_bench.h"
#include "tests/reference_operator.h"

static const double LAMBDA = 1.75;
static const double UNIT = 0x1p-8; /* relative error of a number of 8 bits */

static double number(uint32_t word, int half) {
  const uint32_t bits = half ? word & 0xffff0000 : word << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* The rounded triangle of a point, and wJ. */
static double triangle(size_t points, const uint32_t *words, size_t p, double lower[3][3]) {
  const uint32_t *second = words + points, *third = second + points, *last = third + points;
  lower[0][0] = number(words[p], 0);
  lower[1][0] = number(words[p], 1);
  lower[2][0] = number(second[p], 0);
  lower[1][1] = number(second[p], 1);
  lower[2][1] = number(third[p], 0);
  lower[2][2] = number(third[p], 1);
  lower[0][1] = lower[0][2] = lower[1][2] = 0;
  return number(last[p / 2], p % 2);
}

/* L' L'^T, and |L'| |L'|^T. */
static void square(double lower[3][3], double g[3][3], double absolute[3][3]) {
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) {
      g[a][b] = absolute[a][b] = 0;
      for (int c = 0; c < 3; c++) {
        g[a][b] += lower[a][c] * lower[b][c];
        absolute[a][b] += fabs(lower[a][c] * lower[b][c]);
      }
    }
}

static const size_t COMPONENT[3][3] = {
    {SP_G_RR, SP_G_RS, SP_G_RT}, {SP_G_RS, SP_G_SS, SP_G_ST}, {SP_G_RT, SP_G_ST, SP_G_TT}};

/* Numbers between two of 8 bits go to the nearer one, and from the middle to the even one. */
static void check_rounding(void) {
  static const double pairs[][2] = {{1, 1},
                                    {1 + 0x1p-8, 1},
                                    {1 + 0x1.8p-8, 1 + 0x1p-7},
                                    {1 + 0x1.8p-7, 1 + 0x1p-6},
                                    {0x1.fep100, 0x1.fep100},
                                    {0x1.ffp100, 0x1p101},
                                    {-0x1.018p-90, -0x1.02p-90}};
  enum { POINTS = COUNT_OF(pairs) };
  double factors[SP_FACTORS][POINTS] = {0};
  uint32_t words[3 * POINTS + (POINTS + 1) / 2];
  CHECK(sp_operator_rounded_words(POINTS) == COUNT_OF(words), "%d points", POINTS);
  for (int p = 0; p < POINTS; p++) {
    factors[SP_G_RR][p] = factors[SP_G_SS][p] = factors[SP_G_TT][p] = 1;
    factors[SP_G_WJ][p] = pairs[p][0];
  }
  sp_operator_round_factors(POINTS, factors[0], words);
  for (size_t p = 0; p < POINTS; p++) {
    double lower[3][3];
    CHECK_CLOSE(triangle(POINTS, words, p, lower), pairs[p][1], 0);
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) CHECK_CLOSE(lower[a][b], a == b, 0);
  }
}

/* |L' L'^T - G|_ab <= (2 u + u^2) sum of |L_ac L_bc| <= (2 u + u^2) sqrt(G_aa G_bb); half a percent
 * more than that covers rounding in double. */
static void check_error(size_t points, const double *factors, const uint32_t *words) {
  double worst = 0;
  for (size_t p = 0; p < points; p++) {
    double lower[3][3], g[3][3], absolute[3][3];
    const double jacobian = triangle(points, words, p, lower);
    CHECK_CLOSE(jacobian, factors[SP_G_WJ * points + p], UNIT * jacobian);
    square(lower, g, absolute);
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) {
        const double want = factors[COMPONENT[a][b] * points + p];
        const double size =
            sqrt(factors[COMPONENT[a][a] * points + p] * factors[COMPONENT[b][b] * points + p]);
        worst = fmax(worst, fabs(g[a][b] - want) / size);
      }
  }
  CHECK(worst <= 2.01 * UNIT, "G is off by %.3g", worst);
}

/* G of an element sheared so that its directions r and s are 1e-3 apart. Its smallest eigenvalue,
 * in the direction (1, -1, 0), comes from L', not from the difference of rounded numbers of size
 * one. */
static void check_sheared(void) {
  const double shear = 1e-3, rs = sqrt(1 - shear * shear);
  const double factors[SP_FACTORS] = {
      [SP_G_RR] = 1, [SP_G_RS] = rs, [SP_G_SS] = 1, [SP_G_TT] = 1, [SP_G_WJ] = 1};
  uint32_t words[4];
  double lower[3][3];
  sp_operator_round_factors(1, factors, words);
  triangle(1, words, 0, lower);
  CHECK_CLOSE(lower[1][1], shear, UNIT * shear * 1.0001);
  CHECK_CLOSE(lower[1][0], rs, UNIT);
}

/* The factors that the rounded factors of an element represent, and their sizes. */
static void restore(size_t points, const uint32_t *words, double *factors, double *sizes) {
  for (size_t p = 0; p < points; p++) {
    double lower[3][3], g[3][3], absolute[3][3];
    factors[SP_G_WJ * points + p] = triangle(points, words, p, lower);
    square(lower, g, absolute);
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) {
        factors[COMPONENT[a][b] * points + p] = g[a][b];
        sizes[COMPONENT[a][b] * points + p] = absolute[a][b];
      }
  }
}

/* y = A x over all ranks, and the scale of its rounding errors. */
static void apply_reference(const deformed_box *box, const sp_operator_setup *setup,
                            const double *x, double *y, double *scale) {
  const sp_numbering *numbering = box->numbering;
  const sp_rule *rule = sp_operator_rule(setup->kind, numbering->order);
  const size_t np = element_nodes(box), points = sp_rule_points(rule);
  const size_t count = (size_t)box->mesh->hexes->count * np;
  double *work = test_array(2 * count + np, sizeof *work), *ye = work + np, *se = ye + count;
  double *factors = test_array(2 * SP_FACTORS * points, sizeof *factors);
  double *sizes = factors + SP_FACTORS * points;
  uint32_t *words = test_array(sp_operator_rounded_words(points), sizeof *words);
  for (sp_lid e = 0; e < box->mesh->hexes->count; e++) {
    const size_t first = (size_t)e * np;
    CHECK_OK(sp_operator_factors(setup, e, rule, factors));
    sp_operator_round_factors(points, factors, words);
    check_error(points, factors, words);
    restore(points, words, factors, sizes);
    for (size_t p = 0; p < np; p++) work[p] = x[numbering->nodes[first + p]];
    const sp_operator_setup plain = {.kind = setup->kind, .lambda = setup->lambda};
    reference_apply(&plain, numbering->order, factors, sizes, NULL, e, work, &ye[first],
                    &se[first]);
  }
  reference_sum(box, ye, NULL, y);
  reference_sum(box, se, NULL, scale);
}

static void check_backend(const bench *b, const deformed_box *box, const sp_operator_setup *setup,
                          const double *x, const double *want, const double *scale) {
  AUTO(sp_operator) op = NULL;
  if (!b->backend->rounded_factors) {
    CHECK(sp_operator_create(setup, &op) == SP_ERR_INPUT && !op &&
              strstr(sp_error_message(), "no operators with rounded factors"),
          "%s", sp_error_message());
    return;
  }
  const size_t n = (size_t)box->numbering->local;
  double *y = test_array(n, sizeof *y);
  op = bench_operator(setup);
  bench_apply(b, op, false, x, y);
  const double tolerance = reference_tolerance(box->numbering->order, FLT_EPSILON);
  const double error = reference_error(n, y, want, scale);
  CHECK(error <= tolerance, "%s N = %d: %.3g > %.3g", sp_operator_names[setup->kind],
        box->numbering->order, error, tolerance);
  CHECK(count_different_bits(b->comm, box, y) == 0, "holders of a DOF differ");
}

/* With kappa at the points. */
static void check_box(const bench *b, const int elements[3], int map_order, int order) {
  ARRAYS_OF_SCOPE;
  AUTO_VALUE(deformed_box) box = {0};
  deformed_box_create(b->comm, elements, map_order, order, &box);
  AUTO(sp_space) space = bench_space(b, box.mesh, order);
  const size_t n = (size_t)box.numbering->local;
  double *x = test_array(3 * n, sizeof *x), *want = x + n, *scale = want + n;
  random_vector(&box, 1, x);
  for (sp_operator_kind kind = 0; kind < SP_OPERATORS; kind++) {
    if (!sp_operator_rows[kind].has_stiffness) continue;
    const size_t points = sp_rule_points(sp_operator_rule(kind, order));
    const size_t count = (size_t)box.mesh->hexes->count * points;
    double *kappa = test_array(count, sizeof *kappa);
    for (size_t i = 0; i < count; i++)
      kappa[i] = 1.5 + random_value(11, box.whole_element[i / points] * (sp_gid)points +
                                            (sp_gid)(i % points));
    const sp_operator_setup setup = {.space = space,
                                     .kind = kind,
                                     .geometry = SP_GEOMETRY_STORED,
                                     .precision = SP_SINGLE,
                                     .rounded = true,
                                     .lambda = LAMBDA,
                                     .kappa = kappa};
    apply_reference(&box, &setup, x, want, scale);
    check_backend(b, &box, &setup, x, want, scale);
  }
}

int main(int argc, char **argv) {
  bench b;
  bench_begin(&argc, &argv, &b);
  const int cube[3] = {3, 3, 3}, four[3] = {4, 1, 1};
  check_rounding();
  check_sheared();
  for (int order = 1; order <= (b.backend->rounded_factors ? HIGHEST_ORDER : 3); order++)
    check_box(&b, order <= 4 ? cube : four, order % 3 + 1, order);
  return bench_end(&b);
}
