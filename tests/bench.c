/* The parts of sp_bench: samples, measurements, the plan, and the paper's kernels, replaced here by
 * functions on the host, some of them wrong. bench.py reads its files. */
#include <float.h>
#include <getopt.h>

#include "mesh/geometry.h"
#include "operators/counts.h"
#include "solver/bench/bench.h"
#include "tests/check.h"
#include "tests/deformed_box.h"
#include "tests/reference_operator.h"

enum { ORDER = 3, NP = (ORDER + 1) * (ORDER + 1) * (ORDER + 1) };

/* Kernel 1 is correct; 2 has a small error in the last element, 3 skips a node of it, 4 uses a
 * wrong factor. */
enum { RIGHT = 1, OFF, MISSING, FACTORS, KERNELS = FACTORS };

/* The bench: a clock on the host that needs several input sets, because its cache holds a fraction
 * of one. */
static sp_platform platform;
static sp_bench bench;
enum { ELEMENTS = 12 };
static const double *seen[64]; /* inputs of successive launches */
static int launches;

static sp_status launch(int number, const sp_paper_arguments *arguments) {
  const sp_rule *rule = sp_operator_rule(bench.made.problem, ORDER);
  const size_t points = (size_t)(rule->n * rule->n * rule->n), last = ELEMENTS;
  const sp_operator_kind kind = bench.made.problem;
  const size_t stored = kind == SP_MASS ? 1 : SP_FACTORS;
  const size_t first = kind == SP_MASS ? SP_G_WJ : 0;
  double *factors = test_array(points * SP_FACTORS, sizeof *factors), scale[NP];
  if (launches < 64) seen[launches] = arguments->q;
  launches++;
  for (size_t e = 0; e < last; e++) {
    CHECK_OK(sp_geometry_factors(bench.mesh->hexes, (sp_lid)e, rule, factors));
    const double *sent = &arguments->factors[e * stored * points];
    CHECK(memcmp(sent, &factors[first * points], stored * points * sizeof *sent) == 0,
          "factors of element %zu", e);
    const sp_operator_setup setup = {.kind = kind, .lambda = arguments->lambda};
    reference_apply(&setup, ORDER, NULL, NULL, bench.mesh->hexes, (sp_lid)e, &arguments->q[e * NP],
                    &arguments->aq[e * NP], scale);
    if (arguments->workspace) arguments->workspace[e] = 1;
  }
  double *result = &arguments->aq[last * NP - 1];
  if (number == OFF) *result += 1e-9;
  if (number == MISSING) *result = NAN;
  if (number == FACTORS) *result *= 2;
  return SP_OK;
}

#define LAUNCH(number)                                                                             \
  static sp_status launch_##number(sp_device *device, const sp_paper_arguments *arguments) {       \
    (void)device;                                                                                  \
    return launch(number, arguments);                                                              \
  }
LAUNCH(1)
LAUNCH(2)
LAUNCH(3)
LAUNCH(4)

static sp_status fake_resources(sp_paper_resources *out) {
  *out =
      (sp_paper_resources){.registers = 11, .shared_bytes = 22, .local_bytes = 33, .threads = 44};
  return SP_OK;
}

static size_t fake_workspace(int order, int elements) {
  (void)order;
  return (size_t)elements * sizeof(double);
}

#define KERNEL(kind, n, launcher)                                                                  \
  {                                                                                                \
    .problem = kind, .threads = 2, .number = n, .adds = "", .workspace = fake_workspace,           \
    .order = {                                                                                     \
      [ORDER] = {launcher, fake_resources}                                                         \
    }                                                                                              \
  }
static const sp_paper_kernel fakes[] = {KERNEL(SP_MASS, 1, launch_1), KERNEL(SP_BP35, 1, launch_1),
                                        KERNEL(SP_BP30, 1, launch_1), KERNEL(SP_BP30, 2, launch_2),
                                        KERNEL(SP_BP30, 3, launch_3), KERNEL(SP_BP30, 4, launch_4)};
enum { FAKES = COUNT_OF(fakes) };

const sp_paper_kernel *sp_paper_kernels(int *count) {
  *count = FAKES;
  return fakes;
}

sp_status sp_paper_prepare(sp_device *device, int order) {
  (void)device, (void)order;
  return SP_OK;
}

static void check_summary(void) {
  double odd[] = {3, 1, 2}, even[] = {4, 1, 2, 8};
  sp_bench_row row = {.dofs = 4000, .flops = 6e12, .bytes = 8e9};
  for (int i = 0; i < 3; i++) odd[i] /= 1 + world_rank; /* the slowest rank is rank 0 */
  sp_bench_summarize(MPI_COMM_WORLD, 3, odd, &row);
  CHECK(row.samples == 3 && row.seconds == 2 && row.seconds_min == 1 && row.seconds_max == 3,
        "%g from %g to %g", row.seconds, row.seconds_min, row.seconds_max);
  CHECK_CLOSE(row.tflops, 3, 1e-15);
  CHECK_CLOSE(row.gbytes_per_second, 4, 1e-15);
  CHECK_CLOSE(row.gdofs_per_second, 2e-6, 1e-21);
  sp_bench_summarize(MPI_COMM_WORLD, 4, even, &row);
  CHECK(row.seconds == 3 && row.seconds_min == 1 && row.seconds_max == 8, "%g", row.seconds);
}

static void open_bench(void) {
  CHECK_OK(sp_platform_open(MPI_COMM_SELF, SP_DEVICE_HOST, SP_TRANSPORT_AUTO, &platform));
  CHECK_OK(sp_bench_open(&platform, 2, false, &bench));
  CHECK(bench.warm_cache && sp_bench_input_sets(&bench, 1) == 1, "the host takes one set");
  bench.warm_cache = false;
  bench.gpu.cache_bytes = 1000;
  CHECK(sp_bench_input_sets(&bench, 1e9) == 2 && sp_bench_input_sets(&bench, 1000) == 5,
        "sets exceed the cache by four");
}

static void close_bench(void) {
  sp_bench_close(&bench);
  sp_platform_close(&platform);
}

static sp_bench_row key_of(sp_bench_what what, sp_operator_kind kind, sp_precision precision) {
  return (sp_bench_row){.what = what,
                        .problem = kind,
                        .geometry = SP_GEOMETRY_STORED,
                        .precision = precision,
                        .order = ORDER,
                        .elements = ELEMENTS};
}

/* Rounding in results of this order, relative to the largest. */
static double rounding(sp_precision precision) {
  return 110 * (precision == SP_SINGLE ? FLT_EPSILON : DBL_EPSILON);
}

static void check_paper_kernels(void) {
  for (int k = 0; k < FAKES; k++) {
    sp_bench_row row = key_of(SP_BENCH_UNASSEMBLED, fakes[k].problem, SP_DOUBLE);
    row.paper = &fakes[k];
    launches = 0;
    const sp_status status = sp_bench_measure(&bench, &row);
    if (fakes[k].number == RIGHT) {
      CHECK_OK(status);
      CHECK(row.sets == 2, "%d sets", row.sets);
      CHECK(row.resources.registers == 11 && row.resources.shared_bytes == 22 &&
                row.resources.local_bytes == 33 && row.resources.threads == 44,
            "resources");
      CHECK(row.dofs == ELEMENTS * NP && row.seconds > 0 && row.error <= rounding(SP_DOUBLE),
            "%g s, error %g", row.seconds, row.error);
      /* The check, then calls that use the sets in turn. */
      CHECK(launches > 4 && seen[0] == seen[1] && seen[1] != seen[2] && seen[1] == seen[3],
            "inputs change from call to call");
    } else {
      CHECK(status == SP_ERR_SYSTEM && strstr(sp_error_message(), "wrong result") &&
                strstr(sp_error_message(), "bp3.0 double stored    2D kernel"),
            "kernel %d: %d %s", fakes[k].number, (int)status, sp_error_message());
      CHECK(launches == 1, "a wrong kernel is not timed");
    }
  }
}

/* All sets of the last result hold the same bits. */
static void check_sets(void) {
  const sp_vector *results = &bench.to;
  const size_t size = results->count / (size_t)bench.sets;
  double *values = test_array(results->count, sizeof *values);
  CHECK_OK(sp_vector_read(results, values));
  for (size_t s = 1; s < (size_t)bench.sets; s++)
    CHECK(memcmp(values, &values[s * size], size * sizeof *values) == 0, "set %zu", s);
}

/* The program's own kernels, with several input sets. In single precision the error shows that
 * single precision was measured. */
static void check_production(void) {
  for (sp_operator_kind kind = 0; kind < SP_OPERATORS; kind++)
    for (sp_precision precision = SP_DOUBLE; precision < SP_PRECISIONS; precision++) {
      sp_bench_row local = key_of(SP_BENCH_UNASSEMBLED, kind, precision),
                   whole = key_of(SP_BENCH_OPERATOR, kind, precision);
      CHECK_OK(sp_bench_measure(&bench, &local));
      check_sets();
      CHECK_OK(sp_bench_measure(&bench, &whole));
      check_sets();
      CHECK(local.sets == 2 && whole.sets == 2 && local.calls >= 2 && whole.calls >= 2,
            "%d sets in turn", local.sets);
      CHECK(whole.error <= rounding(precision) && (whole.error > 1e-9) == (precision == SP_SINGLE),
            "%s: error %g", sp_operator_names[kind], whole.error);
      const double number = precision == SP_SINGLE ? 4 : 8;
      const double points = kind == SP_BP35 ? NP : 125, factors = kind == SP_MASS ? 1 : 7;
      CHECK_CLOSE(local.bytes, 12 * number * (2 * NP + factors * points), 0);
      CHECK_CLOSE(whole.bytes,
                  12 * (number * factors * points + 4 * NP) + 2 * number * (double)whole.dofs, 0);
    }
}

/* The bytes of a copy follow the paper's Table 2; its time gives a roofline. */
static void check_copy(void) {
  const double nodes = 12 * NP, points = 12 * 125,
               doubles[] = {[SP_MASS] = 2 * nodes + points,
                            [SP_BP35] = 9 * nodes,
                            [SP_BP30] = 2 * nodes + 7 * points};
  for (sp_operator_kind kind = SP_MASS; kind <= SP_BP30; kind++)
    for (sp_precision precision = SP_DOUBLE; precision < SP_PRECISIONS; precision++) {
      sp_bench_row row = key_of(SP_BENCH_COPY, kind, precision);
      const double number = precision == SP_SINGLE ? 4 : 8;
      CHECK_OK(sp_bench_measure(&bench, &row));
      check_sets();
      CHECK(row.bytes == number * doubles[kind], "%g bytes", row.bytes);
      CHECK((double)bench.size * number == floor(row.bytes / 2 / number) * number,
            "half of them are copied, and read and written: %zu numbers", bench.size);
      CHECK(row.calls == 10 && row.sets == 2, "%d calls, %d sets", row.calls, row.sets);
      const double roofline = row.gbytes_per_second * 1e-3 * row.flops / row.bytes;
      CHECK_CLOSE(row.tflops, roofline, 1e-14 * roofline);
    }
}

/* Parse options from one line, separated by blanks. */
static sp_status parse(const char *line, sp_bench_options *o) {
  static char text[256];
  char *argv[32] = {(char[]){"sp_bench"}};
  int argc = 1;
  snprintf(text, sizeof text, "%s", line);
  char *rest = text;
  for (char *word; (word = strtok_r(rest, " ", &rest));) argv[argc++] = word;
  optind = 0;
  return sp_bench_options_parse(argc, argv, o);
}

static void check_plan(void) {
  static const struct {
    const char *line;
    bool gpu;
    int steps; /* or -1: refused with this message */
    const char *words;
  } cases[] = {
      /* copy; unassembled, operator and CG of two geometries */
      {"--order 2", false, 7, ""},
      {"--order 2:4 --elements 8,27 --geometry stored", false, 3 * 2 * 4, ""},
      {"--problem all --measure operator,cg", false, SP_OPERATORS * 2 * 2, ""},
      /* in single precision neither CG nor the paper's kernels */
      {"--order 2:3 --precision double,single", false, 2 * (7 + 5), ""},
      {"--problem all --measure all --precision single", false, SP_OPERATORS * (1 + 2 * 2), ""},
      {"--precision single --measure cg", false, -1, "nothing to measure"},
      /* of each operator a copy, and its own kernels */
      {"--problem all --kernel all --order 3 --geometry stored", true,
       SP_OPERATORS * (1 + 3) + FAKES, ""},
      {"--problem all --kernel all --order 3 --measure unassembled", true,
       SP_OPERATORS * (1 + 2) + FAKES, ""},
      {"--problem bp3.0 --kernel all --order 3", false, -1, "need a GPU"},
      {"--problem all --kernel paper --order 3", true, SP_OPERATORS + FAKES, ""},
      /* of the paper only unassembled, at the orders that it has */
      {"--problem mass --kernel all --order 3:4 --measure cg", true, 4, ""}};
  for (size_t c = 0; c < COUNT_OF(cases); c++) {
    sp_bench_options o;
    AUTO_VALUE(sp_bench_plan) plan = {0};
    CHECK(parse(cases[c].line, &o) == SP_OK, "%s: %s", cases[c].line, sp_error_message());
    sp_stamps *some = (sp_stamps *)&plan; /* only a GPU has stamps */
    const sp_status status =
        sp_bench_plan_make(&o, &(sp_bench){.stamps = cases[c].gpu ? some : NULL}, &plan);
    if (cases[c].steps < 0) {
      CHECK_FAILS(status, SP_ERR_INPUT, cases[c].words);
    } else {
      CHECK(status == SP_OK && plan.count == cases[c].steps, "%s: %d steps, %d expected",
            cases[c].line, plan.count, cases[c].steps);
    }
    for (int a = 0; a < plan.count; a++)
      CHECK(plan.rows[a].warm_cache == (plan.rows[a].what == SP_BENCH_CG),
            "%s: what is measured with inputs in the cache", cases[c].line);
    for (int a = 0; a < plan.count; a++)
      for (int b = 0; b < a; b++)
        CHECK(memcmp(&plan.rows[a], &plan.rows[b], sizeof plan.rows[a]) != 0,
              "%s: steps %d and %d are the same", cases[c].line, b, a);
  }
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  check_summary();
  open_bench();
  check_paper_kernels();
  check_production();
  check_copy();
  close_bench();
  check_plan();
  return check_end();
}
