/* Error bars: over random problems with a known solution the estimates are compared with the true
 * errors; the indicator per element with the true error in the field. */
#include "solver/run/run.h"
#include "tests/folders.h"
#include "tests/log_table.h"
#include "tests/run_case.h"

enum { MOST = 32, CASES = 60, FEW_CASES = 12 }; /* several ranks add only sums over ranks */

/* State of Knuth's MMIX generator: all ranks and machines draw the same numbers. In case 6 one
 * answer of order N + 2 is by chance as wrong as the answer of order N. */
static uint64_t state = 14482816068255281897u;
static double uniform(double low, double high) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return low + (high - low) * (double)(state >> 11) * 0x1p-53;
}

/* u = s (2 + sin(a x + b)) exp(c y) (2 + cos(d z + e)): its factors are positive, so that extrema
 * and fluxes on the unit cube are products of extrema and fluxes of the factors. */
typedef struct solution {
  double s, a, b, c, d, e;
} solution;

static double of_x(const solution *u, double x) {
  return 2 + sin(u->a * x + u->b);
}
static double of_y(const solution *u, double y) {
  return exp(u->c * y);
}
static double of_z(const solution *u, double z) {
  return 2 + cos(u->d * z + u->e);
}

/* The greatest (sign 1) or least (-1) value of a factor on a fine grid, then by golden section. */
static double extreme(const solution *u, double (*f)(const solution *, double), double sign) {
  double best = 0;
  for (int i = 0; i <= 1000; i++)
    if (sign * f(u, i / 1000.) > sign * f(u, best)) best = i / 1000.;
  double low = fmax(0, best - 1e-3), high = fmin(1, best + 1e-3);
  for (int i = 0; i < 60; i++) {
    const double left = low + 0.382 * (high - low), right = high - 0.382 * (high - low);
    if (sign * f(u, left) > sign * f(u, right))
      high = right;
    else
      low = left;
  }
  return f(u, 0.5 * (low + high));
}

static void exact_values(const solution *u, double flux[2], double extrema[2]) {
  const double y = (exp(u->c) - 1) / u->c, z = 2 + (sin(u->d + u->e) - sin(u->e)) / u->d;
  flux[0] = u->s * u->a * cos(u->b) * y * z; /* out of x = 0, kappa = 1 */
  flux[1] = -u->s * u->a * cos(u->a + u->b) * y * z;
  for (int i = 0; i < 2; i++) {
    const double sign = i == 0 ? -1 : 1;
    extrema[i] = u->s * extreme(u, of_x, sign) * extreme(u, of_y, sign) * extreme(u, of_z, sign);
  }
}

typedef struct tally {
  int count, close, low, high; /* within a factor of 3; below a third; above ten times */
  double least, most;
} tally;

static void judge(tally *t, double error, double estimate, double scale) {
  if (fabs(error) < 1e-11 * scale) return; /* the solver's part, or exact */
  const double ratio = estimate / fabs(error);
  t->count++;
  t->close += ratio >= 1. / 3 && ratio <= 3;
  t->low += ratio < 1. / 3;
  t->high += ratio > 10;
  t->least = fmin(t->least, ratio);
  t->most = fmax(t->most, ratio);
}

/* Run a problem; the results of formulas are true errors themselves. */
static void add_case(int n, tally *t) {
  static const char *const conditions[] = {"dirichlet", "neumann", "robin 2"};
  static const char *const kinds[] = {"bp3.5", "bp3.0"};
  const solution u = {pow(10, uniform(-3, 3)), uniform(0.5, 4), uniform(0, 6),
                      uniform(-1.5, 1.5),      uniform(0.5, 4), uniform(0, 6)};
  const bool deformed = n % 3 == 2;
  const char *formula =
      test_text("%.17g*(2+sin(%.17g*x+%.17g))*exp(%.17g*y)*(2+cos(%.17g*z+%.17g))", u.s, u.a, u.b,
                u.c, u.d, u.e);
  const int layers = 1 + (int)uniform(0, 3), order = 2 + (int)uniform(0, 5);
  const char *condition = conditions[(int)uniform(0, 3)];
  const char *bottom = conditions[(int)uniform(0, 3)];
  const double x = uniform(0.2, 0.8), y = uniform(0.2, 0.8), z = uniform(0.2, 0.8);
  const char *const overrides[] = {
      "boundary.xmin=dirichlet; solver.tolerance=1e-13; output.accuracy=yes; problem.lambda=0.5; "
      "output.log=a.h5",
      test_text("problem.solution=%s", formula),
      test_text("mesh.elements=%d 2 %d; mesh.map=%s", 2 + n % 2, layers,
                deformed ? "sine" : "none"),
      test_text("discretization.order=%d; discretization.operator=%s", order, kinds[n % 2]),
      test_text("boundary.default=%s; boundary.ymin=%s", condition, bottom),
      test_text("result.mean=average of u-%s", formula),
      test_text("result.moment=integral of (u-%s)*x*y", formula),
      test_text("result.face=average of u-%s over xmax", formula),
      test_text("probe.p=%.17g %.17g %.17g", x, y, z),
      NULL};
  sp_results results;
  CHECK_OK(run_case(MPI_COMM_WORLD, overrides, NULL, &results));
  if (world_rank > 0) return;
  double rows[MOST][2], probe[1][1], flux[2], extrema[2];
  const hid_t file = H5Fopen("a.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
  const int count = log_table(file, "accuracy", 2, TEXTS("value", "error"), MOST, &rows[0][0]);
  CHECK(log_table(file, "probes", 1, TEXTS("error"), 1, &probe[0][0]) == 1, "no probe");
  H5Fclose(file);
  CHECK(count == 9, "%d answers", count); /* 3 results, 2 extrema, xmin, ymin, default, probe */
  const double scale = fmax(fabs(rows[3][0]), fabs(rows[4][0]));
  for (int r = 0; r < 3; r++) judge(t, rows[r][0], rows[r][1], scale);
  judge(t, probe[0][0], rows[8][1], scale);
  if (deformed) return;
  exact_values(&u, flux, extrema);
  for (int i = 0; i < 2; i++) judge(t, rows[3 + i][0] - extrema[i], rows[3 + i][1], scale);
  judge(t, rows[5][0] - flux[0], rows[5][1], fmax(scale, fabs(flux[0])));
}

/* Nine of ten within a factor of 3, none below a third. */
static void test_estimates(void) {
  tally t = {.least = INFINITY};
  const int cases = world_size > 1 ? FEW_CASES : CASES;
  for (int n = 0; n < cases; n++) add_case(n, &t);
  if (world_rank > 0) return;
  if (getenv("SHOW"))
    printf("  %d results: %d within a factor of 3, %d below 1/3, %d above 10, from %.2g to %.2g\n",
           t.count, t.close, t.low, t.high, t.least, t.most);
  CHECK(t.count >= 3 * cases, "%d results", t.count);
  CHECK(t.close >= 0.9 * t.count, "%d of %d within a factor of 3", t.close, t.count);
  CHECK(t.low == 0, "%d estimates below a third, the least %.2g times the error", t.low, t.least);
}

/* Legendre coefficients in y of an element [-1, 1]: alpha P_5 + 0.02 P_4 + 0.3 P_3 + 0.5 P_2 + 100.
 */
static double indicate(double alpha, bool *coarse) {
  const char *const overrides[] = {
      test_text("problem.solution=%g*(63*y^5-70*y^3+15*y)/8+0.02*(35*y^4-30*y^2+3)/8+"
                "0.3*(5*y^3-3*y)/2+0.5*(3*y^2-1)/2+100",
                alpha),
      "output.log=a.h5; output.field=a.hdf; mesh.elements=4 1 1; mesh.lower=0 -1 0; "
      "mesh.upper=4 1 1; region.core.upper=1 1 1; discretization.order=5; "
      "discretization.operator=bp3.0; solver.tolerance=1e-14; output.accuracy=yes",
      NULL};
  sp_results results;
  double values[4] = {NAN, NAN, NAN, NAN};
  CHECK_OK(run_case(MPI_COMM_WORLD, overrides, NULL, &results));
  if (world_rank > 0) return NAN;
  const hid_t file = H5Fopen("a.hdf", H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t set = H5Dopen2(file, "/VTKHDF/CellData/error_indicator", H5P_DEFAULT);
  CHECK(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0, "no field");
  H5Dclose(set);
  H5Fclose(file);
  const hid_t run = H5Fopen("a.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
  *coarse = log_find(run, "notes", "name", "coarse");
  H5Fclose(run);
  for (int e = 1; e < 4; e++) CHECK_CLOSE(values[e], values[0], 1e-9);
  return values[0];
}

static void test_indicator(void) {
  const double before = 0.3 * 0.3 / 7 + 0.5 * 0.5 / 5;
  for (int i = 0; i < 2; i++) {
    bool coarse = false;
    const double alpha = i == 0 ? 0.01 : 2, found = indicate(alpha, &coarse);
    const double last = alpha * alpha / 11 + 0.02 * 0.02 / 9, q = fmin(last / before, 0.8);
    if (world_rank > 0) continue;
    CHECK_CLOSE(found, sqrt(last * q / (1 - q)), 1e-8);
    CHECK(coarse == (i == 1), "alpha = %g: a note: %d", alpha, coarse);
  }
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  enter_folder();
  test_estimates();
  test_indicator();
  leave_folder(TEXTS("a.h5", "a.hdf"));
  return check_end();
}
