/* Runs in which only some ranks have elements: the same solution as on all ranks, the same status
 * and results on every rank, contents of log, output and dry run, and the wait of the other ranks.
 * Run on 4 ranks. With `cuda` as first argument the program chooses the ranks itself. */
#include "solver/config/config.h"
#include "solver/solve/workers.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "operators/gpus.h"
#include "solver/run/run.h"
#include "solver/solve/interrupt.h"
#include "tests/log_table.h"
#include "tests/run_case.h"

enum { RANKS = 4, MOST = RUN_CASE_OVERRIDES };

#define LOG "workers.h5"
#define FIELD "workers.hdf"
#define OUTPUT "workers.txt"

/* The configuration of SETTINGS, which end with NULL. */
static sp_config *read_settings(const char *const *settings) {
  const char *overrides[MOST] = {"output.log=", "output.field="};
  const int count = run_case_append(settings, 2, overrides);
  sp_config *config;
  require(sp_config_read(MPI_COMM_WORLD, NULL, count, overrides, &config));
  return config;
}

/* Give all ranks the results of the first rank with elements. */
static void share_results(const sp_workers *w, sp_results *results) {
  sp_results leaders = *results;
  MPI_Bcast(&leaders, (int)sizeof leaders, MPI_BYTE, w->leader, w->all);
  if (!w->has_elements) *results = leaders;
}

/* Run the case on the host on the ranks r with has_elements[r] = '1'. */
static sp_status run_on(const char *has_elements, const char *const *settings,
                        sp_results *results) {
  AUTO(sp_config) config = read_settings(settings);
  sp_workers workers;
  sp_terminal terminal = sp_terminal_open(MPI_COMM_WORLD, true);
  const sp_profile profile = sp_profile_from_now();
  sp_status status = sp_workers_open_on(MPI_COMM_WORLD, has_elements[world_rank] == '1',
                                        SP_DEVICE_HOST, SP_TRANSPORT_AUTO, &workers);
  CHECK_OK(status);
  CHECK((workers.comm != MPI_COMM_NULL) == (has_elements[world_rank] == '1') &&
            !workers.platform.device == (has_elements[world_rank] != '1'),
        "ranks %s", has_elements);
  status = sp_run(&workers, config, &profile, &terminal, results);
  share_results(&workers, results);
  sp_workers_close(&workers);
  return status;
}

static void check_same_everywhere(sp_status status, const sp_results *results) {
  const double mine[] = {(double)status, (double)results->cg.iterations, results->cg.relative,
                         results->norms.l2, (double)results->dofs};
  enum { COUNT = COUNT_OF(mine) };
  double first[COUNT];
  memcpy(first, mine, sizeof first);
  MPI_Bcast(first, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int i = 0; i < COUNT; i++)
    CHECK(mine[i] == first[i] || !results->have_norms, "number %d: %g here, %g on rank 0", i,
          mine[i], first[i]);
}

/* Both solutions differ from the discrete one by at most the tolerance times the condition of A,
 * some 1e-12 1e3. The errors are above 1e-6, so they agree to 1e-3; an element, face or node that
 * is wrong or missing changes them by more than they are. */
static void check_same_solution(const char *name, const char *has_elements, const sp_results *a,
                                const sp_results *b) {
  CHECK(a->elements == b->elements && a->dofs == b->dofs, "%s: another mesh", name);
  CHECK(a->have_norms && b->have_norms && a->norms.l2 > 1e-6, "%s: L2 %g", name, a->norms.l2);
  const double errors[][2] = {
      {a->norms.l2, b->norms.l2}, {a->norms.h1, b->norms.h1}, {a->norms.max, b->norms.max}};
  for (int n = 0; n < 3; n++)
    CHECK(fabs(errors[n][0] - errors[n][1]) <= 1e-3 * errors[n][0],
          "%s on %s: error %d is %.12g, on all ranks %.12g", name, has_elements, n, errors[n][1],
          errors[n][0]);
  CHECK(llabs((long long)(a->cg.iterations - b->cg.iterations)) <= 2,
        "%s on %s: %lld iterations, on all ranks %lld", name, has_elements,
        (long long)b->cg.iterations, (long long)a->cg.iterations);
}

#define COMMON "problem.solution=sin(1.3*x+0.2)*exp(0.7*y)*cos(0.9*z)", "solver.tolerance=1e-12"

static const struct {
  const char *name, *settings[8];
} cases[] = {
    {"box, Jacobi",
     {COMMON, "mesh.elements=5 3 4", "mesh.map=sine", "discretization.order=3",
      "solver.preconditioner=jacobi"}},
    {"box, multigrid",
     {COMMON, "mesh.elements=5 3 4", "mesh.map=sine", "discretization.order=3",
      "solver.preconditioner=multigrid"}},
    {"refined box, multigrid",
     {COMMON, "mesh.elements=2 3 2", "mesh.refine=1", "discretization.order=3",
      "solver.preconditioner=multigrid"}},
    {"file, Jacobi",
     {COMMON, "mesh.file=" SP_FIXTURES "/two_blocks.geo", "discretization.order=3",
      "solver.preconditioner=jacobi"}},
    {"refined file, multigrid",
     {COMMON, "mesh.file=" SP_FIXTURES "/two_blocks.geo", "mesh.refine=1", "discretization.order=3",
      "solver.preconditioner=multigrid"}},
    {"periodic",
     {"problem.solution=sin(2*pi*x)*cos(2*pi*y)+z", "solver.tolerance=1e-12", "mesh.elements=4 4 3",
      "boundary.xmin=periodic xmax", "boundary.ymin=periodic ymax", "discretization.order=4"}},
    {"projection",
     {"problem.solution=sin(1.3*x+0.2)*exp(0.7*y)*cos(0.9*z)", "solver.tolerance=1e-12",
      "mesh.elements=4 3 3", "discretization.operator=mass", "discretization.order=3"}},
};

static void test_solutions(void) {
  static const char *const subsets[] = {"1000", "1010", "0111"};
  for (size_t c = 0; c < COUNT_OF(cases); c++) {
    sp_results all, some;
    const sp_status status = run_on("1111", cases[c].settings, &all);
    CHECK(status == SP_OK, "%s: %s", cases[c].name, sp_error_message());
    for (size_t s = 0; s < COUNT_OF(subsets); s++) {
      CHECK(run_on(subsets[s], cases[c].settings, &some) == SP_OK, "%s on %s: %s", cases[c].name,
            subsets[s], sp_error_message());
      check_same_everywhere(SP_OK, &some);
      check_same_solution(cases[c].name, subsets[s], &all, &some);
    }
  }
}

/* One file per rank with elements: two files and one such rank. Their contents do not matter. */
static void test_parts(void) {
  static const char *const settings[] = {COMMON, "mesh.file=workers.msh", NULL};
  static const char *const parts[] = {"workers_1.msh", "workers_2.msh"};
  for (int p = 0; p < 2 && world_rank == 0; p++) {
    FILE *part = fopen(parts[p], "w");
    if (!part || fclose(part)) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  sp_results results;
  const sp_status status = run_on("1000", settings, &results);
  CHECK(status == SP_ERR_INPUT && strstr(sp_error_message(), "split into 2 files") &&
            strstr(sp_error_message(), "; 1 of 4 has all elements"),
        "%d: %s", status, sp_error_message());
  for (int p = 0; p < 2 && world_rank == 0; p++) unlink(parts[p]);
}

static void test_failures(void) {
  static const char *const many[] = {"mesh.elements=1 1 1; problem.solution=x", NULL};
  static const char *const few[] = {"mesh.elements=3 3 3; problem.solution=sin(9*x)*y; "
                                    "solver.preconditioner=jacobi; solver.max_iterations=2",
                                    NULL};
  sp_results results;
  sp_status status = run_on("1010", many, &results);
  CHECK_FAILS(status, SP_ERR_INPUT, "2 ranks for a mesh of 1");
  CHECK_OK(run_on("1000", many, &results));
  status = run_on("1001", few, &results);
  CHECK_FAILS(status, SP_ERR_NOT_CONVERGED, "after 2 iterations");
  check_same_everywhere(status, &results);
}

static int64_t attribute(hid_t file, const char *name) {
  int64_t value = -1;
  const hid_t id = H5Aopen(file, name, H5P_DEFAULT);
  CHECK(id >= 0 && H5Aread(id, H5T_NATIVE_INT64, &value) >= 0, "no %s", name);
  H5Aclose(id);
  return value;
}

/* Length of the last dimension. */
static int columns(hid_t file, const char *name, int dimensions) {
  hsize_t shape[2] = {0};
  const hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set);
  CHECK(H5Sget_simple_extent_dims(space, shape, NULL) == dimensions, "dimensions of %s", name);
  H5Sclose(space);
  H5Dclose(set);
  return (int)shape[dimensions - 1];
}

static void test_files(void) {
  static const char *const settings[] = {
      COMMON,
      "mesh.elements=3 3 3; discretization.order=4; probe.point=0.3 0.4 0.9; "
      "result.mean=average",
      "output.log=" LOG, "output.field=" FIELD, NULL};
  sp_results results;
  CHECK_OK(run_on("1010", settings, &results));
  if (world_rank != 0) return;
  hid_t file = H5Fopen(LOG, H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(attribute(file, "ranks") == 4, "ranks");
  CHECK(attribute(file, "ranks_with_elements") == 2, "ranks with elements");
  CHECK(columns(file, "matvec_seconds_by_rank", 2) == 2, "seconds by rank");
  double u = NAN;
  CHECK(log_table(file, "probes", 1, (const char *const[]){"u"}, 1, &u) == 1, "no probe");
  CHECK_CLOSE(u, sin(1.3 * 0.3 + 0.2) * exp(0.7 * 0.4) * cos(0.9 * 0.9),
              10 * results.norms.max); /* the maximum is over quadrature points */
  H5Fclose(file);
  file = H5Fopen(FIELD, H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(columns(file, "VTKHDF/NumberOfCells", 1) == 2, "pieces of the field");
  H5Fclose(file);
  unlink(LOG);
  unlink(FIELD);
}

/* The elements of two ranks of four, all of the mesh. */
static void test_dry_run(void) {
  static const char *const settings[] = {COMMON, "mesh.elements=3 3 4; mesh.refine=1", NULL};
  sp_config *config = read_settings(settings);
  sp_workers workers;
  sp_terminal terminal = sp_terminal_open(MPI_COMM_WORLD, false);
  fflush(stdout);
  const int kept = dup(STDOUT_FILENO);
  if (world_rank == 0 && !freopen(OUTPUT, "w", stdout)) MPI_Abort(MPI_COMM_WORLD, 1);
  sp_status status = sp_workers_open_on(MPI_COMM_WORLD, world_rank % 2 == 0, SP_DEVICE_HOST,
                                        SP_TRANSPORT_AUTO, &workers);
  if (!status) status = sp_dry_run(&workers, config, &terminal);
  sp_workers_close(&workers);
  sp_config_destroy(&config);
  fflush(stdout);
  dup2(kept, STDOUT_FILENO);
  close(kept);
  CHECK_OK(status);
  if (world_rank != 0) return;
  FILE *stream = fopen(OUTPUT, "r");
  char line[512];
  int rows = 0, said = 0;
  while (stream && fgets(line, sizeof line, stream)) {
    double all, largest;
    said += strstr(line, "ranks            2 of 4 have all elements") != NULL;
    if (sscanf(line, " elements %lf, %lf on the largest rank", &all, &largest) != 2) continue;
    rows++;
    CHECK(all == 288 && largest == 144, "%s", line);
  }
  CHECK(rows == 1 && said == 1, "%d rows, %d times said which ranks", rows, said);
  if (stream) fclose(stream);
  unlink(OUTPUT);
}

static const char *const long_case[] = {
    "problem.solution=sin(9*x)*y; mesh.elements=12 8 8; mesh.map=kershaw; "
    "mesh.epsilon=0.1; discretization.order=5; solver.preconditioner=none; "
    "solver.tolerance=1e-14; solver.max_iterations=300",
    NULL};

/* Return the number of voluntary context switches of this process. */
static long pauses(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

/* Ranks without elements sleep, about 1000 times per second, fewer if they wait for a processor. A
 * rank that polls never sleeps, even if it yields. */
static void test_sleep(void) {
  sp_results results;
  const double start = MPI_Wtime();
  const long before = pauses();
  const sp_status status = run_on("1000", long_case, &results);
  const double seconds = MPI_Wtime() - start, count = (double)(pauses() - before);
  CHECK(status == SP_ERR_NOT_CONVERGED && seconds > 0.1, "%d, %g s", status, seconds);
  CHECK(world_rank == 0 || count > 50 * seconds, "%g pauses in %g s", count, seconds);
}

/* The last test: from here on a signal is noted. It reaches only a rank without elements. */
static void test_signal(void) {
  sp_results results;
  sp_interrupt_watch();
  if (world_rank == 1) raise(SIGTERM);
  const sp_status status = run_on("1010", long_case, &results);
  CHECK(status == SP_ERR_INTERRUPTED && results.cg.iterations < 300, "%d after %d iterations: %s",
        status, (int)results.cg.iterations, sp_error_message());
}

static void test_gpus(void) {
  static const char *const settings[] = {COMMON,
                                         "backend.device=cuda; mesh.elements=8 8 8; mesh.map=sine; "
                                         "discretization.order=2; solver.preconditioner=jacobi",
                                         "output.log=" LOG, NULL};
  AUTO(sp_config) config = read_settings(settings);
  sp_workers workers;
  sp_gpu *gpus;
  int count = 0;
  CHECK(sp_gpus_visible(&count, &gpus) == SP_OK && count > 0, "%d GPUs", count);
  free(gpus);
  CHECK_OK(sp_workers_open(MPI_COMM_WORLD, &config->backend, &workers));
  /* All ranks of this run are on one machine with the same visible GPUs. */
  const int expected = count < RANKS ? count : RANKS;
  CHECK(workers.count == expected && workers.leader == 0, "%d ranks work on %d GPUs", workers.count,
        count);
  if (world_rank == 0)
    printf("%s; %s\n", workers.platform.backend->describe(workers.platform.device),
           workers.description);
  sp_results chosen, shared;
  sp_terminal terminal = sp_terminal_open(MPI_COMM_WORLD, true);
  const sp_profile profile = sp_profile_from_now();
  sp_status status = sp_run(&workers, config, &profile, &terminal, &chosen);
  CHECK_OK(status);
  share_results(&workers, &chosen);
  check_same_everywhere(status, &chosen);
  if (world_rank == 0) {
    const hid_t file = H5Fopen(LOG, H5F_ACC_RDONLY, H5P_DEFAULT);
    CHECK(attribute(file, "ranks_with_elements") == expected, "ranks with elements");
    /* No message of shared GPUs for ranks with GPUs of their own. */
    const char *text = log_text(file, "exchange");
    printf("exchange %s\n", text);
    CHECK(!strstr(text, "share a GPU") && (expected > 1) == !strstr(text, "none"), "%s", text);
    H5Fclose(file);
  }
  sp_workers_close(&workers);
  config->backend.share = SP_SHARE_YES;
  CHECK_OK(sp_workers_open(MPI_COMM_WORLD, &config->backend, &workers));
  CHECK_OK(sp_run(&workers, config, &profile, &terminal, &shared));
  sp_workers_close(&workers);
  check_same_solution("sine box", "the GPUs' ranks", &shared, &chosen);
  if (world_rank == 0) unlink(LOG);
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  CHECK(world_size == RANKS, "%d ranks", world_size);
  if (device_is_cuda(argc, argv)) {
    test_gpus();
  } else {
    test_solutions();
    test_failures();
    test_parts();
    test_files();
    test_dry_run();
    test_sleep();
    test_signal();
  }
  return check_end();
}
