/* Studies: rates are judged as in solver/results/rates.h, a study gives the same bits as single
 * runs, and missed rates are reported. */
#include "solver/run/study.h"

#include "solver/results/rates.h"
#include "tests/folders.h"
#include "tests/log_table.h"
#include "tests/run_case.h"

static const char path[] = "study.h5";

enum { RUNS = 4 };

/* Errors in both norms with a floor of 1e-11 and a solution of norm 1. */
static void fill(sp_study_axis axis, const double *l2, const double *h1, sp_study_row *rows) {
  for (int i = 0; i < RUNS; i++) {
    const bool in_time = axis == SP_ALONG_STEPS, refined = axis == SP_ALONG_REFINEMENTS;
    rows[i] = (sp_study_row){.order = axis == SP_ALONG_ORDERS ? i + 1 : 3,
                             .refine = refined ? i : 0,
                             .step = in_time ? i : 0,
                             .elements = refined ? 8 << 3 * i : 8,
                             .error = {l2[i], h1[i]},
                             .expected = {in_time ? 2 : 4, in_time ? 2 : 3},
                             .norm = {1, 1},
                             .floor = {1e-11, 1e-11}};
    sp_rates_observe(axis, i + 1, rows);
  }
}

/* The status of errors, how many steps are judged, and words of the message. */
static void expect_verdict(sp_study_axis axis, const double *l2, const double *h1,
                           sp_status expected, int judged, const char *words) {
  sp_study_row rows[RUNS];
  int count;
  fill(axis, l2, h1, rows);
  const sp_status status = sp_rates_judge(SP_BP35, axis, RUNS, rows, &count);
  CHECK(status == expected && count == judged, "status %d, %d judged, %s", status, count,
        sp_error_message());
  if (expected) CHECK(strstr(sp_error_message(), words), "'%s'", sp_error_message());
}

/* Errors of N = 3: rate 4 in L2 and 3 in H1 are right. */
static void test_refinements(void) {
  const double h1[RUNS] = {8e-2, 1e-2, 1.25e-3, 1.5625e-4};
  const double right[RUNS] = {1.6e-2, 1e-3, 6.25e-5, 3.90625e-6};
  expect_verdict(SP_ALONG_REFINEMENTS, right, h1, SP_OK, 2, "");

  sp_study_row rows[RUNS];
  fill(SP_ALONG_REFINEMENTS, right, h1, rows);
  CHECK(isnan(rows[0].rate[SP_L2]), "%g", rows[0].rate[SP_L2]);
  CHECK_CLOSE(rows[1].rate[SP_L2], 4, 1e-12);
  CHECK_CLOSE(rows[3].rate[SP_H1], 3, 1e-12);

  const double lost[RUNS] = {1e-3, 1.25e-4, 1.5625e-5, 1.953125e-6}; /* one order less */
  expect_verdict(SP_ALONG_REFINEMENTS, lost, h1, SP_ERR_STUDY, 1, "order 3, refine 2 to 3: the L2");
  const double flat[RUNS] = {1.6e-2, 1e-3, 6.25e-5, 6.2e-5};
  expect_verdict(SP_ALONG_REFINEMENTS, flat, h1, SP_ERR_STUDY, 1, "rate of 0.01; expected 4");
  expect_verdict(SP_ALONG_REFINEMENTS, flat, h1, SP_ERR_STUDY, 1,
                 "the error does not fall: check that all data");
  const double early[RUNS] = {8e-1, 4e-1, 2e-1, 1e-1};
  expect_verdict(SP_ALONG_REFINEMENTS, early, h1, SP_ERR_STUDY, 1,
                 "this step is before the asymptotic range");
  expect_verdict(SP_ALONG_REFINEMENTS, right, lost, SP_OK, 2, "");
  expect_verdict(SP_ALONG_REFINEMENTS, right, right, SP_OK, 2,
                 ""); /* a better rate is no failure */
  const double slow[RUNS] = {4e-2, 1e-2, 2.5e-3, 6.25e-4};
  expect_verdict(SP_ALONG_REFINEMENTS, right, slow, SP_ERR_STUDY, 2, "the H1 error");
  /* Only the finest mesh counts; if it is at the floor, the one before. */
  const double late[RUNS] = {1e-2, 9e-3, 1e-3, 6.25e-5};
  expect_verdict(SP_ALONG_REFINEMENTS, late, h1, SP_OK, 2, "");
  const double floored[RUNS] = {1.6e-9, 1e-10, 9e-12, 8e-12};
  expect_verdict(SP_ALONG_REFINEMENTS, floored, h1, SP_OK, 2, "");
  const double lost_then_floor[RUNS] = {4e-10, 1e-10, 9e-12, 8e-12};
  expect_verdict(SP_ALONG_REFINEMENTS, lost_then_floor, h1, SP_ERR_STUDY, 1, "refine 0 to 1");
  const double exact[RUNS] = {1e-14, 2e-14, 4e-14, 0};
  expect_verdict(SP_ALONG_REFINEMENTS, exact, exact, SP_OK, 0, "");
  const double broken[RUNS] = {1.6e-2, 1e-3, 6.25e-5, NAN};
  expect_verdict(SP_ALONG_REFINEMENTS, broken, h1, SP_ERR_STUDY, 1, "nan");

  CHECK(sp_rates_shortfall(SP_MASS, 3, 64) == 0.2 && sp_rates_shortfall(SP_BP30, 2, 64) == 0.2,
        "only the projection of even order has more room");
  CHECK_CLOSE(sp_rates_shortfall(SP_MASS, 2, 64), 0.45, 1e-15);
}

static void test_orders(void) {
  const double falling[RUNS] = {1e-1, 1e-2, 1e-3, 1e-4};
  expect_verdict(SP_ALONG_ORDERS, falling, falling, SP_OK, 6, "");
  const double stairs[RUNS] = {1e-2, 1.05e-2, 1e-4, 1.05e-4};
  expect_verdict(SP_ALONG_ORDERS, stairs, falling, SP_OK, 6, "");
  const double flat[RUNS] = {1e-1, 1e-3, 1e-3, 1e-3};
  expect_verdict(SP_ALONG_ORDERS, flat, falling, SP_ERR_STUDY, 3, "order 3 to 4: the L2 error");
  const double rising[RUNS] = {1e-1, 1e-3, 2e-3, 1e-4};
  expect_verdict(SP_ALONG_ORDERS, falling, rising, SP_ERR_STUDY, 5, "order 2 to 3: the H1 error");
  const double floored[RUNS] = {1e-1, 1e-9, 5e-12, 5e-11}; /* rates beyond the floor are noise */
  expect_verdict(SP_ALONG_ORDERS, floored, falling, SP_OK, 4, "");
  const double unresolved[RUNS] = {0.7, 0.9, 0.8, 1e-2};
  expect_verdict(SP_ALONG_ORDERS, unresolved, falling, SP_OK, 4, "");
  const double wrong[RUNS] = {0.7, 0.7, 0.7, 0.7}; /* never resolved: the last step is judged */
  expect_verdict(SP_ALONG_ORDERS, wrong, falling, SP_ERR_STUDY, 1, "order 3 to 4");
}

/* A scheme of order 2, for any order of elements. */
static void test_steps(void) {
  const double second[RUNS] = {1.6e-2, 4e-3, 1e-3, 2.5e-4}, first[RUNS] = {8e-2, 4e-2, 2e-2, 1e-2};
  expect_verdict(SP_ALONG_STEPS, second, second, SP_OK, 2, "");
  expect_verdict(SP_ALONG_STEPS, second, first, SP_ERR_STUDY, 2,
                 "order 3, refine 0, step 2 to 3: the H1 error goes from 0.02 to 0.01, a rate of "
                 "1.00; expected 2, 1.80 at least");
  const double slow[RUNS] = {8e-1, 4e-1, 2e-1, 1e-1};
  expect_verdict(SP_ALONG_STEPS, slow, second, SP_ERR_STUDY, 1, "take shorter steps");
}

/* 9e-12 is below the floor of 1e-11, but an error that still decreases is not at the
 * floor; a further decrease is luck. */
static void test_floor(void) {
  /* Without iterations the condition number counts as 1; the log has ten times the error. */
  sp_study_row rows[RUNS] = {{.order = 2, .norm = {2, 2}}};
  sp_rates_floor(SP_BP35, 1e-10, &(sp_mesh_size){.diameter = 3, .width = 1}, rows);
  CHECK_CLOSE(rows->floor[SP_H1], 2e-9, 1e-14);
  CHECK_CLOSE(rows->floor[SP_L2], 2e-9 * 3 / acos(-1), 1e-14);
  const double errors[RUNS] = {1e-1, 1e-9, 9e-12, 8e-12}, exact[RUNS] = {1e-14, 2e-16, 3e-16, 0};
  fill(SP_ALONG_ORDERS, errors, exact, rows);
  static const bool expected[RUNS][SP_NORMS] = {
      {false, true}, {false, true}, {false, true}, {true, true}};
  for (int i = 0; i < RUNS; i++)
    for (int n = 0; n < SP_NORMS; n++)
      CHECK(sp_rates_at_floor(i + 1, rows, (sp_norm)n) == expected[i][n], "row %d, norm %d", i, n);
}

static void test_parse(void) {
  sp_study study = {0};
  CHECK_OK(sp_study_parse("order=1:10", &study));
  CHECK_OK(sp_study_parse("refine=0:3", &study));
  CHECK_OK(sp_study_parse("step=1:2", &study));
  static const sp_study_range expected[SP_STUDY_AXES] = {{true, 1, 10}, {true, 0, 3}, {true, 1, 2}};
  for (int a = 0; a < SP_STUDY_AXES; a++)
    CHECK(study.along[a].given && study.along[a].first == expected[a].first &&
              study.along[a].last == expected[a].last,
          "axis %d: %d to %d", a, study.along[a].first, study.along[a].last);
  CHECK(sp_study_parse("order=1:3", &study) == SP_ERR_INPUT, "a second range of orders");
  static const char *const wrong[] = {
      "order=3",     "order=3:3",    "order=0:3",  "order=1:16", "order=1:3x",          "order=:3",
      "refine=-1:2", "refine=0:11",  "lambda=1:2", "order",      "order=1:99999999999", "",
      "refine=3:2",  "refine=0:2:4", "step=-1:2",  "step=0:11"};
  for (size_t w = 0; w < COUNT_OF(wrong); w++) {
    sp_study fresh = {0};
    CHECK_FAILS(sp_study_parse(wrong[w], &fresh), SP_ERR_INPUT, "expected");
    CHECK(!fresh.given, "'%s' is taken", wrong[w]);
  }
}

/* f = 2 + c 2^-pk and f = 2 + c rho^k have their limit, rate and index in closed form. */
static void test_convergence(void) {
  const double third[3] = {2.512, 2.064, 2.008}, alternating[3] = {2.09, 1.973, 2.0081};
  sp_convergence c = sp_convergence_judge(0, false, third, 1e-9);
  CHECK(c.passes && strcmp(c.verdict, "monotone") == 0, "%s", c.verdict);
  CHECK_CLOSE(c.rate, 3, 1e-12);
  CHECK_CLOSE(c.limit, 2, 1e-14);
  CHECK_CLOSE(c.gci, 1.25 * 0.448 / 16 / 0.75, 1e-14); /* R = 1/8 counts as 1/4 */
  c = sp_convergence_judge(5, false, third, 1e-9);
  CHECK_CLOSE(c.rate, log10(8), 1e-12);
  CHECK_CLOSE(c.limit, 2, 1e-14);
  c = sp_convergence_judge(5, false, alternating, 1e-9);
  CHECK(c.passes && strcmp(c.verdict, "alternating") == 0, "%s", c.verdict);
  CHECK_CLOSE(c.limit, 2, 1e-14);
  CHECK_CLOSE(c.gci, 1.25 * 0.117 / 4 / 0.5, 1e-14);
  c = sp_convergence_judge(0, false, alternating, 1e-9);
  CHECK(!c.passes && strcmp(c.verdict, "oscillating") == 0, "%s", c.verdict);
  c = sp_convergence_judge(0, true, alternating, 1e-9);
  CHECK(c.passes, "an answer at a point");
  CHECK_CLOSE(c.gci, 1.25 * 0.0351 * 0.3 / 0.7, 1e-14);
  const double growing[3] = {1, 1.1, 1.3}, flat[3] = {1, 1.1, 1.1 + 1e-10}, same[3] = {1, 1, 1.1},
               lost[3] = {1, 1.1, NAN};
  c = sp_convergence_judge(5, true, growing, 1e-9);
  CHECK(!c.passes && isnan(c.limit) && strcmp(c.verdict, "diverging or singular") == 0, "%s",
        c.verdict);
  CHECK(!sp_convergence_judge(0, false, same, 1e-9).passes, "a difference after none");
  CHECK(!sp_convergence_judge(0, false, lost, 1e-9).passes, "not a number");
  c = sp_convergence_judge(0, false, flat, 1e-9);
  CHECK(c.passes && strcmp(c.verdict, "at the floor") == 0 && c.limit == flat[2], "%s", c.verdict);
}

/* Powers on both sides of the least one, h^(1/4) or N^(-1/2), and growing values. */
static void test_growth(void) {
  static const struct {
    double power; /* of h or N^-2; 0 is the logarithm */
    bool passes;
    const char *along_h, *along_orders;
  } cases[] = {{2. / 3, true, "", ""},
               {0.26, true, "", ""},
               {0.24, false, ", slower than h^(1/4)", ", slower than N^(-1/2)"},
               {0, false, ", like log(1/h)", ", like log(N)"},
               {-0.5, false, ", like h^-0.50", ", faster than log(N)"},
               {-1, false, ", like h^-1.00", ", faster than log(N)"}};
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    for (int order = 2; order <= 15; order++) { /* 2: along refinements */
      const int along = order == 2 ? 0 : order;
      double f[3];
      char text[32];
      for (int k = 0; k < 3; k++) {
        const double h = along ? pow(order - 2 + k, -2) : exp2(-k), power = cases[i].power;
        f[k] = 2 - 3 * (power == 0 ? log(h) : pow(h, power));
      }
      const sp_convergence c = sp_convergence_judge(along, false, f, 1e-9);
      CHECK(c.passes == cases[i].passes && isfinite(c.gci) == c.passes, "power %g, order %d: %s",
            cases[i].power, along, c.verdict);
      if (c.passes && !along) CHECK_CLOSE(c.limit, 2, 1e-12);
      sp_convergence_growth(along, f, "h", sizeof text, text);
      CHECK(strcmp(text, along ? cases[i].along_orders : cases[i].along_h) == 0, "%g, %d: '%s'",
            cases[i].power, along, text);
    }
}

enum { ROWS = 12 };
typedef struct logged_row {
  double order, refine, dofs, iterations, l2, h1, share;
} logged_row;

static int read_table(const char *table, int columns, const char *const *names, int most,
                      double *rows) {
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  const int count = log_table(file, table, columns, names, most, rows);
  H5Fclose(file);
  return count;
}

static int read_log(logged_row *rows) {
  return read_table("study", 7,
                    TEXTS("order", "refine", "dofs", "iterations", "L2", "H1", "matvec_share"),
                    ROWS, &rows->order);
}

/* The mass problem has no boundary; for it this line has no effect. */
#define SMOOTH                                                                                     \
  "mesh.map=sine", "problem.solution=sin(2.9*x+0.4)*cos(2.3*y-0.3)*exp(0.9*z)+x*y*z",              \
      "solver.max_iterations=4000"

/* Returns the status of a study of the overrides; rank 0 finds its log in `path`. */
static sp_status run_study(const char *const *overrides, const char *order, const char *refine) {
  const char *log = test_text("output.log=%s", path);
  const char *all[RUN_CASE_OVERRIDES] = {log, "backend.device=host"};
  const int count = run_case_append(overrides, 2, all);
  sp_study study = {0};
  AUTO(sp_config) config = NULL;
  if (order) SP_TRY(sp_study_parse(order, &study));
  if (refine) SP_TRY(sp_study_parse(refine, &study));
  SP_TRY(sp_config_read(MPI_COMM_WORLD, NULL, count, all, &config));
  sp_terminal terminal = sp_terminal_open(MPI_COMM_WORLD, true);
  const sp_profile profile = sp_profile_from_now();
  sp_workers workers;
  sp_status status = sp_workers_open(MPI_COMM_WORLD, &config->backend, &workers);
  if (!status) status = sp_study_run(&workers, config, &study, &profile, &terminal);
  sp_workers_close(&workers);
  return status;
}

/* Each row has the same bits as a single run: runs do not change the data that they share. */
static void check_rows(const char *const *overrides, int expected) {
  logged_row rows[ROWS] = {0};
  int count = world_rank == 0 ? read_log(rows) : 0;
  MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(rows, sizeof rows, MPI_BYTE, 0, MPI_COMM_WORLD);
  CHECK(count == expected, "%d rows", count);
  for (int r = 0; r < count; r++) {
    const char *order = test_text("discretization.order=%d", (int)rows[r].order);
    const char *refine = test_text("mesh.refine=%d", (int)rows[r].refine);
    const char *const own[] = {order, refine, "solver.tolerance=1e-13", NULL};
    sp_results results;
    CHECK_OK(run_case(MPI_COMM_WORLD, overrides, own, &results));
    CHECK((double)results.dofs == rows[r].dofs &&
              (double)results.cg.iterations == rows[r].iterations &&
              results.norms.l2 == rows[r].l2 && results.norms.h1 == rows[r].h1,
          "order %d refine %d: %g %g against %g %g", (int)rows[r].order, (int)rows[r].refine,
          results.norms.l2, results.norms.h1, rows[r].l2, rows[r].h1);
    CHECK(rows[r].share > 0 && rows[r].share <= 1, "share %g", rows[r].share);
  }
}

static void test_studies(void) {
  static const char *const kinds[] = {"discretization.operator=mass",
                                      "discretization.operator=bp3.5",
                                      "discretization.operator=bp3.0"};
  for (int k = 0; k < 3; k++) {
    const char *const overrides[] = {SMOOTH, "mesh.elements=4 4 4", kinds[k], NULL};
    CHECK(!run_study(overrides, "order=1:3", "refine=0:1"), "%s: %s", kinds[k], sp_error_message());
    check_rows(overrides, 6);
    if (k != 1) continue;
    CHECK(!run_study(overrides, "order=1:5", NULL), "%s: %s", kinds[k], sp_error_message());
    check_rows(overrides, 5);
  }
  /* In the space of every order: nothing to judge, and the estimate of the floor covers the
   * errors. */
  const char *const linear[] = {"problem.solution=1+x-2*y+3*z; mesh.elements=3 3 3", NULL};
  CHECK_OK(run_study(linear, "order=1:4", "refine=0:1"));
}

typedef struct step_row {
  double refine, step, dt, l2, expected;
} step_row;

/* Every pair of a refinement and a step; a row has the bits of a single run. In space the solution
 * is exact. */
static void test_in_time(void) {
  enum { PAIRS = 6 };
  const char *const moving[] = {
      "mesh.elements=2 2 1; discretization.order=2; problem.solution=x*cos(3*t)+y*y; "
      "problem.capacity=1+x; boundary.default=dirichlet; boundary.xmax=robin 2; time.end=1; "
      "time.scheme=bdf3; output.field=",
      NULL};
  const char *const eight[] = {moving[0], "time.step=0.125", NULL};
  CHECK_OK(run_study(eight, "step=1:3", "refine=0:1"));
  step_row rows[PAIRS + 1] = {0};
  if (world_rank == 0)
    CHECK(read_table("study", 5, TEXTS("refine", "step", "dt", "L2", "L2_expected"), PAIRS + 1,
                     &rows->refine) == PAIRS,
          "not all pairs");
  MPI_Bcast(rows, sizeof rows, MPI_BYTE, 0, MPI_COMM_WORLD);
  for (int i = 0; i < PAIRS; i++)
    CHECK(rows[i].refine == i / 3 && rows[i].step == 1 + i % 3 &&
              rows[i].dt == 0.0625 / (1 << i % 3) && rows[i].expected == 3,
          "row %d: refine %g, step %g, dt %g, rate %g", i, rows[i].refine, rows[i].step, rows[i].dt,
          rows[i].expected);
  sp_results results;
  CHECK_OK(run_case(MPI_COMM_WORLD, moving,
                    TEXTS("time.steps=32", "mesh.refine=1", "solver.tolerance=1e-13"), &results));
  CHECK(results.norms.l2 == rows[4].l2, "%g, not %g", results.norms.l2, rows[4].l2);
}

typedef struct limit_row {
  double rate, limit, gci;
} limit_row;

static int read_limits(int most, limit_row *rows) {
  return read_table("limits", 3, TEXTS("rate", "limit", "gci"), most, &rows->rate);
}

/* u = sin(pi x), from its data: all answers of order 2 converge at rate 4, and the exact values are
 * within the indices. */
static void test_answers(void) {
  const char *const sine[] = {
      "mesh.elements=2 2 1; problem.forcing=pi^2*sin(pi*x); "
      "boundary.default=neumann 0; boundary.xmin=dirichlet 0; "
      "boundary.xmax=dirichlet 0; discretization.order=2; result.mean=average; "
      "result.norm=norm over volume 1; region.all.lower=0 0 0; "
      "probe.quarter=0.25 0.5 0.5",
      NULL};
  const double pi = acos(-1);
  const struct {
    double exact, rate;
  } expected[] = {{2 / pi, 4}, {sqrt(0.5), 4}, {0, NAN}, {1, 4}, {pi, 4}, {pi, 4}, {0, NAN}};
  enum { COUNT = COUNT_OF(expected) };
  CHECK_OK(run_study(sine, NULL, "refine=0:3"));
  limit_row rows[COUNT + 1] = {0};
  if (world_rank == 0) CHECK(read_limits(COUNT + 1, rows) == COUNT + 1, "not all answers");
  for (int i = 0; i < COUNT && world_rank == 0; i++) {
    CHECK(fabs(rows[i].limit - expected[i].exact) <= rows[i].gci, "answer %d: %.12g +- %.2g", i,
          rows[i].limit, rows[i].gci);
    if (isfinite(expected[i].rate)) CHECK_CLOSE(rows[i].rate, expected[i].rate, 0.1);
  }
  /* Along orders, with digits that fall alternately, and for several orders at once. */
  CHECK_OK(run_study(sine, "order=2:5", NULL));
  CHECK_OK(run_study(sine, "order=2:3", "refine=0:2"));
  limit_row twice[2 * (COUNT + 1)];
  if (world_rank == 0) CHECK(read_limits(2 * (COUNT + 1), twice) == 2 * (COUNT + 1), "two series");

  CHECK_FAILS(run_study(sine, NULL, "refine=1:2"), SP_ERR_INPUT, "give refine=1:3");
  /* f jumps inside elements, now here and now there. */
  const char *const jump[] = {
      "mesh.elements=2 2 1; problem.forcing=x < 0.37 ? 0 : 1; "
      "boundary.default=neumann 0; boundary.xmin=dirichlet 0; "
      "discretization.operator=bp3.0; result.mean=average; discretization.order=1",
      NULL};
  CHECK_FAILS(run_study(jump, NULL, "refine=0:3"), SP_ERR_STUDY,
              "average mean, order 1, refine 3: oscillating");
}

/* Dirichlet values that jump: the heat through both groups is infinite, like log(1 / h), so that no
 * series has a limit and no run an error bar. The heat through xmax, insulated, is 0. */
static void test_jump(void) {
  for (int order = 1; order <= 4; order += 3) {
    const char *const jump[] = {
        test_text("mesh.elements=2 2 2; problem.forcing=0; discretization.order=%d; boundary.xmin="
                  "dirichlet 100; boundary.ymin=dirichlet 0; boundary.default=neumann 0",
                  order),
        "result.all=flux over xmin; result.none=flux over xmax; result.mean=average of u", NULL};
    sp_results results;
    limit_row rows[8];
    CHECK_FAILS(run_study(jump, NULL, "refine=0:2"), SP_ERR_STUDY, "flux all");
    CHECK(strstr(sp_error_message(), "infinite: Dirichlet values jump") &&
              strstr(sp_error_message(), ", like log(1/h)"),
          "%s", sp_error_message());
    if (world_rank == 0) {
      CHECK(read_limits(8, rows) == 8, "not all answers");
      for (int i = 0; i < 8; i++) /* all, none, mean, extrema, xmin, ymin, default */
        CHECK(isnan(rows[i].gci) == (i == 0 || i == 5 || i == 6), "answer %d: %g", i, rows[i].gci);
    }
    CHECK_FAILS(run_study(jump, "order=1:3", NULL), SP_ERR_STUDY, "infinite: Dirichlet values");
    CHECK_FAILS(run_case(MPI_COMM_WORLD, jump, TEXTS("output.accuracy=yes"), &results),
                SP_ERR_STUDY, "flux all has no error bar: infinite: Dirichlet values jump");
    CHECK_OK(run_case(MPI_COMM_WORLD, jump, NULL, &results));
  }
  /* Without a note: a flux like 1 / r on a face, whose temperature grows like log(1 / r). */
  sp_results results;
  CHECK_FAILS(
      run_case(MPI_COMM_WORLD,
               TEXTS("mesh.elements=2 2 2; discretization.order=4; discretization.operator=bp3.0",
                     "problem.forcing=0; boundary.xmax=dirichlet 0; boundary.default=neumann 0",
                     "boundary.xmin=neumann ((y-0.5)^2+(z-0.5)^2)^-0.5"),
               TEXTS("output.accuracy=yes"), &results),
      SP_ERR_STUDY, "maximum u has no error bar: diverging or singular");
}

/* A forcing beside a solution: the right one in another form passes, on curved elements with a
 * kappa that varies; another one is named, at the point of the largest difference. */
static void test_forcing(void) {
  static const char right[] =
      "problem.forcing=(1+x*y)*pi^2*sin(pi*x)*y+2*sin(pi*x)*y-pi*cos(pi*x)*y*y-x*sin(pi*x)";
  const char *const variable[] = {
      "mesh.map=sine; mesh.elements=2 2 2; problem.solution=sin(pi*x)*y",
      "problem.kappa=1+x*y; problem.lambda=2; discretization.order=3", right, NULL};
  CHECK(!run_study(variable, NULL, "refine=0:2"), "%s", sp_error_message());
  const char *const wrong[] = {
      "mesh.elements=2 2 2; discretization.order=3; problem.solution=sin(pi*x)*y; "
      "problem.forcing=-pi^2*sin(pi*x)*y",
      NULL};
  sp_results results;
  CHECK_FAILS(run_study(wrong, NULL, "refine=0:2"), SP_ERR_STUDY,
              "forcing contradicts solution: at (0.5, ");
  CHECK_OK(run_case(MPI_COMM_WORLD, wrong, NULL, &results));
  /* A solution that is singular at a node is not compared there. */
  const char *const corner[] = {
      "mesh.elements=2 2 2; discretization.order=4; problem.forcing=0; output.log=study.h5; "
      "problem.solution=(x^2+y^2)^(1/3)*sin(2/3*atan2(y,x))",
      NULL};
  CHECK_OK(run_case(MPI_COMM_WORLD, corner, NULL, &results));
  if (world_rank > 0) return;
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(!log_find(file, "notes", "name", "forcing"), "a note on a right forcing");
  H5Fclose(file);
}

static void test_failures(void) {
  /* A kink in the middle of elements: rates 1.5 and 0.5 at best, at any order. */
  const char *const kink[] = {
      "problem.solution=abs(x-0.4)^1.5; mesh.elements=4 2 2; discretization.order=3; "
      "solver.max_iterations=4000",
      NULL};
  CHECK_FAILS(run_study(kink, NULL, "refine=0:2"), SP_ERR_STUDY, "order 3, refine 1 to 2");
  const char *const short_of_iterations[] = {
      SMOOTH,
      "mesh.elements=4 4 4; solver.tolerance=1e-13; solver.max_iterations=30; "
      "solver.preconditioner=none",
      NULL};
  CHECK_FAILS(run_study(short_of_iterations, "order=1:4", NULL), SP_ERR_NOT_CONVERGED,
              "order 2, refine 0: not converged");
  logged_row rows[ROWS];
  if (world_rank == 0) CHECK(read_log(rows) == 2, "the run that did not converge is in the log");
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  enter_folder();
  test_refinements();
  test_orders();
  test_steps();
  test_floor();
  test_parse();
  test_convergence();
  test_growth();
  test_studies();
  test_in_time();
  test_answers();
  test_jump();
  test_forcing();
  test_failures();
  leave_folder(TEXTS(path));
  return check_end();
}
