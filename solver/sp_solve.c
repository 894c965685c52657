/* The program: read the command line and run the case. Errors are printed only here. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/profile.h"
#include "io/terminal.h"
#include "solver/config/config.h"
#include "solver/report/outcome.h"
#include "solver/report/provenance.h"
#include "solver/report/summary.h"
#include "solver/run/run.h"
#include "solver/run/study.h"

static const char usage[] =
    "usage: sp_solve [-q] CASE.ini [SECTION.KEY=VALUE ...]\n"
    "       sp_solve [-q] SECTION.KEY=VALUE ...\n"
    "       sp_solve --help | --version | --defaults\n"
    "\n"
    "Solves the screened Poisson equation [capacity du/dt] - div(kappa grad u) + lambda u = f\n"
    "with high-order finite elements on hexahedra. Keys on the command line override the case\n"
    "file.\n"
    "\n"
    "  -q, --quiet   print errors only\n"
    "  --study KEY=A:B\n"
    "                solve for every order (--study order=1:8), refinement (--study refine=0:3) "
    "or\n"
    "                halving of the step in time (--study step=0:3), and judge the convergence\n"
    "                against the case's solution or, without one, of its results; several:\n"
    "                every combination\n"
    "  --accuracy    print error bars of all results, from solves of one and two orders more\n"
    "  --json FILE   also write the results as JSON, for programs; - is standard output, and the\n"
    "                tables then go to standard error (-q: nowhere)\n"
    "  --dry-run     read and check the case, estimate its memory, and stop\n"
    "  --groups      list the groups of the mesh with volume or area, centre and normal, and stop\n"
    "  --defaults    print a commented case file with every key and its default\n"
    "  --version     print version, revision, libraries and backends\n"
    "\n"
    "exit codes: 0 converged, 1 bad input or failed system call, 2 not converged, 3 broken down,\n"
    "            4 a study fell short of its rate or a result has no error bar,\n"
    "            5 interrupted by a signal\n";

typedef struct command {
  bool quiet, dry, groups, accuracy, done; /* done: the command line was for information only */
  const char *file, *json;
  int override_count;
  const char **overrides;
  sp_study study;
} command;

static sp_status parse_json(const char *file, const char **out) {
  if (*out) return sp_fail(SP_ERR_INPUT, "--json is given twice; see sp_solve --help");
  if (!file[0] || (file[0] == '-' && file[1]))
    return sp_fail(SP_ERR_INPUT,
                   "--json: expected a file name, or - for standard output, after it");
  *out = file;
  return SP_OK;
}

/* Parse the arguments, which are the same on all ranks; only the root prints. */
static sp_status parse_arguments(int argc, char **argv, bool is_root, command *out) {
  SP_TRY(sp_allocate((size_t)argc, sizeof *out->overrides, "arguments", &out->overrides));
  for (int a = 1; a < argc; a++) {
    const char *argument = argv[a];
    if (!strcmp(argument, "-q") || !strcmp(argument, "--quiet")) {
      out->quiet = true;
    } else if (!strcmp(argument, "--help") || !strcmp(argument, "-h")) {
      if (is_root) fputs(usage, stdout);
      out->done = true;
      return SP_OK;
    } else if (!strcmp(argument, "--version")) {
      if (is_root) sp_version_print();
      out->done = true;
      return SP_OK;
    } else if (!strcmp(argument, "--defaults")) {
      if (is_root) SP_TRY(sp_config_print_defaults(stdout));
      out->done = true;
      return SP_OK;
    } else if (!strcmp(argument, "--dry-run")) {
      out->dry = true;
    } else if (!strcmp(argument, "--groups")) {
      out->groups = true;
    } else if (!strcmp(argument, "--accuracy")) {
      out->accuracy = true;
    } else if (!strcmp(argument, "--study")) {
      if (++a == argc)
        return sp_fail(SP_ERR_INPUT,
                       "--study: expected order=A:B, refine=A:B or step=A:B after it");
      SP_TRY(sp_study_parse(argv[a], &out->study));
    } else if (!strcmp(argument, "--json")) {
      SP_TRY(parse_json(a + 1 < argc ? argv[a + 1] : "", &out->json));
      a++;
    } else if (argument[0] == '-') {
      return sp_fail(SP_ERR_INPUT, "unknown option '%s'; see sp_solve --help", argument);
    } else if (strchr(argument, '=') && argument[0] != '/' && argument[0] != '.') { /* no path */
      out->overrides[out->override_count++] = argument;
    } else if (out->file) {
      return sp_fail(SP_ERR_INPUT,
                     "two case files, '%s' and '%s' (SECTION.KEY=VALUE has no blanks); see "
                     "sp_solve --help",
                     out->file, argument);
    } else {
      out->file = argument;
    }
  }
  if (out->groups && (out->dry || out->accuracy || out->study.given))
    return sp_fail(SP_ERR_INPUT, "--groups solves nothing: give it without other actions");
  if (out->dry && out->study.given)
    return sp_fail(SP_ERR_INPUT, "--dry-run is for one case: give the largest of the study's");
  if (out->dry && out->json)
    return sp_fail(SP_ERR_INPUT, "--json is for a run or a study: --dry-run has no results");
  if (!out->file && out->override_count == 0)
    return sp_fail(SP_ERR_INPUT, "no case given; see sp_solve --help");
  if (!out->accuracy) return SP_OK;
  if (out->dry || out->study.given)
    return sp_fail(SP_ERR_INPUT,
                   "--accuracy is for a run: --dry-run has no results, a study its own error bars");
  out->overrides[out->override_count++] = "output.accuracy=yes";
  return SP_OK;
}

/* Fail if the launcher of another MPI, or srun without an interface to this one, has started
 * several processes: each would run the whole case. SLURM_NTASKS belongs to a step only within
 * srun; in a batch script it belongs to the job. Processes of an mpirun may have variables of its
 * own srun. */
static sp_status check_launcher(void) {
  static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                          "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"};
  enum { LAUNCHERS = 2, VARIABLES = sizeof variables / sizeof *variables };
  const int count = getenv("SLURM_STEP_ID") ? VARIABLES : VARIABLES - 1;
  for (int v = 0; v < count && sp_comm_size(MPI_COMM_WORLD) == 1; v++) {
    const char *size = getenv(variables[v]);
    if (size && atoi(size) > 1)
      return sp_fail(SP_ERR_INPUT,
                     "each of %s processes would run the whole case (%s): start this program with "
                     "the mpirun of its own MPI%s, see sp_solve --version",
                     size, variables[v],
                     v < LAUNCHERS ? "" : ", or srun with an --mpi that this MPI supports");
    if (size && v < LAUNCHERS) break;
  }
  return SP_OK;
}

static sp_status run_on(const sp_workers *workers, const command *line, const sp_config *config,
                        sp_profile *profile, sp_terminal *terminal) {
  sp_results results;
  if (line->study.given) return sp_study_run(workers, config, &line->study, profile, terminal);
  if (line->groups) return sp_group_table_run(workers, config, terminal);
  if (line->dry) return sp_dry_run(workers, config, terminal);
  return sp_run(workers, config, profile, terminal, &results);
}

static sp_status run_config(const command *line, const sp_config *config, sp_summary *summary,
                            sp_profile *profile) {
  sp_terminal terminal = sp_terminal_open(MPI_COMM_WORLD, line->quiet);
  sp_workers workers;
  terminal.record = sp_summary_record(summary);
  const double start = sp_profile_begin(&terminal, SP_PHASE_DEVICE);
  sp_status status = sp_workers_open(MPI_COMM_WORLD, &config->backend, &workers);
  sp_profile_end(profile, NULL, SP_PHASE_DEVICE, start); /* print no line before the heading */
  if (!status) status = run_on(&workers, line, config, profile, &terminal);
  sp_workers_close(&workers);
  sp_terminal_clear(&terminal);
  return status;
}

/* Read and run the case. The JSON document is written also if the case cannot be read. */
static sp_status run_line(const command *line, double start, sp_profile *profile) {
  sp_summary *summary;
  sp_config *config = NULL;
  SP_TRY(sp_summary_open(MPI_COMM_WORLD, line->json, line->file, &summary));
  sp_status status =
      sp_config_read(MPI_COMM_WORLD, line->file, line->override_count, line->overrides, &config);
  if (!status) status = sp_summary_check(summary, config);
  if (!status) {
    sp_profile_add(profile, SP_PHASE_CASE, 1, MPI_Wtime() - start);
    status = run_config(line, config, summary, profile);
  }
  if (!status) status = sp_agree(MPI_COMM_WORLD, sp_terminal_check());
  const sp_status outcome = status;
  status = sp_summary_write(summary, status);
  if (!outcome) { /* Correct the outcome that was printed. */
    sp_terminal terminal = sp_terminal_open(MPI_COMM_WORLD, line->quiet);
    sp_outcome_print(&(sp_outcome){0}, status, &terminal);
  }
  sp_config_destroy(&config);
  sp_summary_close(&summary);
  return status;
}

/* Start a process without a launcher without Open MPI's daemon, which takes 0.1 to 0.5 s and serves
 * only MPI_Comm_spawn. Processes without one would share a folder in /tmp, which the first to end
 * removes: none is made. Other MPIs ignore the variables; values of the user stay. */
static void avoid_daemon(void) {
  static const char *const of_launchers[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};
  for (size_t v = 0; v < sizeof of_launchers / sizeof *of_launchers; v++)
    if (getenv(of_launchers[v])) return;
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
}

int main(int argc, char **argv) {
  int level;
  /* Ignore SIGXFSZ so that write() fails and can be reported. */
  signal(SIGXFSZ, SIG_IGN);
  sp_terminal_reserve();
  avoid_daemon();
  /* No thread may run yet: MPI_Init calls setenv, during which a getenv elsewhere may crash. */
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  sp_profile profile = sp_profile_from_process();
  sp_terminal_start();
  sp_allocate_start();
  const int rank = sp_comm_rank(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  command line = {0};
  sp_status status = sp_agree(MPI_COMM_WORLD, parse_arguments(argc, argv, rank == 0, &line));
  if (!status && !line.done) status = check_launcher();
  if (!status && !line.done) status = run_line(&line, start, &profile);
  free(line.overrides);
  if (!status) status = sp_agree(MPI_COMM_WORLD, sp_terminal_check());
  if (status && rank == 0) fprintf(stderr, "sp_solve: %s\n", sp_error_message());
  MPI_Finalize();
  return sp_exit_code(status);
}
