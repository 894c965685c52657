/* The run log: every number is read back, and the file is always readable, even if the writer is
 * killed. */
#include "io/run_log.h"

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/file.h"
#include "tests/folders.h"
#include "tests/log_table.h"

enum { RANKS = 3, ROWS = 3000, KILLS = 20, MOST = 100000 };

extern char **environ;

static double monotonic_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void sleep_milliseconds(long milliseconds) {
  struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
}

/* Row i of each table; the numbers are all different. */
typedef struct matvec_row {
  int64_t iteration;
  double seconds, gflops, gbytes_per_second, gdofs_per_second;
} matvec_row;

typedef struct residual_row {
  int64_t iteration;
  double absolute, relative, error, seconds;
} residual_row;

static matvec_row matvec_row_of(int64_t i) {
  const double x = (double)i;
  return (matvec_row){i, 1e-3 / (x + 1), x / 3, x / 7, x / 11};
}

static residual_row residual_row_of(int64_t i) {
  const double x = exp(-(double)i);
  return (residual_row){i, x, x / 5, x / 7, (double)i / 13};
}

static double rank_seconds(int64_t i, int rank) {
  return 1 / (1 + (double)i + rank / 10.0);
}

enum { MATVEC, BY_RANK, RESIDUAL, SERIES };

static const char *const of_matvec[] = {"iteration", "seconds", "gflops", "gbytes_per_second",
                                        "gdofs_per_second"};
static const char *const of_residual[] = {"iteration", "absolute", "relative", "error", "seconds"};

static sp_status create(const char *name, const sp_record *record, sp_run_log **log) {
  static const sp_log_series series[SERIES] = {
      {"matvec", "1, s, GFLOP/s, GB/s, GDOF/s", 5, of_matvec},
      {"matvec_seconds_by_rank", "s", RANKS, NULL},
      {"residual", "1, 1, 1, 1, s", 5, of_residual}};
  return sp_run_log_create(name, record, SERIES, series, log);
}

static sp_status append(sp_run_log *log, int64_t i) {
  const matvec_row row = matvec_row_of(i);
  const residual_row residual = residual_row_of(i);
  double by_rank[RANKS];
  for (int rank = 0; rank < RANKS; rank++) by_rank[rank] = rank_seconds(i, rank);
  SP_TRY(sp_run_log_append(log, MATVEC, &row));
  SP_TRY(sp_run_log_append(log, BY_RANK, by_rank));
  return sp_run_log_append(log, RESIDUAL, &residual);
}

static sp_record *new_record(void) {
  sp_record *record;
  CHECK_OK(sp_record_create(&record));
  sp_record_text(record, "status", "running");
  return record;
}

static hid_t open_log(void) {
  return H5Fopen("run.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
}

static hsize_t row_count(hid_t file, const char *name) {
  const hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set);
  hsize_t shape[2] = {0, 0};
  H5Sget_simple_extent_dims(space, shape, NULL);
  H5Sclose(space);
  H5Dclose(set);
  return shape[0];
}

/* All rows that there are; residual may be one short of matvec. */
static void check_series(hid_t file) {
  static double rows[MOST][5];
  const int count = log_table(file, "matvec", 5, of_matvec, MOST, rows[0]);
  for (int i = 0; i < count; i++) {
    const matvec_row row = matvec_row_of(i);
    CHECK(rows[i][0] == i && memcmp(&rows[i][1], &row.seconds, 4 * sizeof(double)) == 0,
          "row %d of matvec", i);
  }
  const int residuals = log_table(file, "residual", 5, of_residual, MOST, rows[0]);
  CHECK(residuals == count || residuals + 1 == count, "%d and %d rows", count, residuals);
  for (int i = 0; i < residuals; i++) {
    const residual_row row = residual_row_of(i);
    CHECK(rows[i][0] == i && memcmp(&rows[i][1], &row.absolute, 4 * sizeof(double)) == 0,
          "row %d of residual", i);
  }
}

/* Before its first flush a log does not exist; then it is readable, and all rows are. The contents
 * of attributes and tables are compared with the JSON document in json_output.py. */
static void test_contents(void) {
  sp_run_log *log = NULL;
  AUTO(sp_record) record = new_record();
  CHECK_OK(create("run.h5", record, &log));
  CHECK(access("run.h5", F_OK) != 0, "a log that has not begun");
  CHECK_OK(sp_run_log_flush(log));
  hid_t file = open_log();
  CHECK(file >= 0 && row_count(file, "matvec") == 0, "a new log is empty");
  CHECK(H5Lexists(file, "errors", H5P_DEFAULT) == 0, "errors are absent until they are known");
  H5Fclose(file);

  /* More than the 64 KiB that HDF5 allows for attributes stored in place. */
  enum { LENGTH = 100000 };
  char *text = test_array(LENGTH + 1, 1);
  memset(text, 'x', LENGTH);
  sp_record_text(record, "long", text);
  sp_record_text(record, "none", NULL);
  sp_record_real(record, "ratio", 3, "%");
  sp_record_real(record, "ratio", 0.03, NULL);
  for (int i = 0; i < ROWS; i++) CHECK_OK(append(log, i));
  sp_record_open(record, SP_RECORD_TABLE, "nothing");
  sp_record_close(record);
  CHECK(sp_run_log_close(&log) == SP_OK && log == NULL, "%s", sp_error_message());
  CHECK(sp_run_log_close(&log) == SP_OK, "closing nothing");

  file = open_log();
  CHECK(row_count(file, "matvec") == ROWS && row_count(file, "residual") == ROWS &&
            row_count(file, "matvec_seconds_by_rank") == ROWS,
        "rows");
  check_series(file);
  double(*by_rank)[RANKS] = test_array(ROWS, sizeof *by_rank);
  const hid_t set = H5Dopen2(file, "matvec_seconds_by_rank", H5P_DEFAULT);
  H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, by_rank);
  H5Dclose(set);
  for (int i = 0; i < ROWS; i++)
    for (int rank = 0; rank < RANKS; rank++)
      CHECK(by_rank[i][rank] == rank_seconds(i, rank), "[%d][%d] is %g", i, rank, by_rank[i][rank]);
  CHECK_TEXT(log_text(file, "long"), text);
  CHECK(H5Aexists(file, "none") == 0 && H5Lexists(file, "nothing", H5P_DEFAULT) == 0 &&
            H5Aexists(file, "ratio_unit") == 0,
        "what has no value, no row or no unit any more");
  H5Fclose(file);
}

/* Rows wait in memory for about a second; the next row then writes all of them. */
static void test_pace(void) {
  sp_run_log *log = NULL;
  AUTO(sp_record) record = new_record();
  const double start = monotonic_seconds();
  CHECK_OK(create("run.h5", record, &log));
  CHECK_OK(sp_run_log_flush(log));
  for (int i = 0; i < 5; i++) CHECK(append(log, i) == SP_OK, "row %d", i);
  hid_t file = open_log();
  const hsize_t early = row_count(file, "residual");
  H5Fclose(file);
  if (monotonic_seconds() - start < 1) CHECK(early == 0, "%d rows too early", (int)early);
  /* If the disk syncs slowly, the interval becomes twenty times the time of a write. */
  hsize_t late = 0;
  while (late == 0 && monotonic_seconds() - start < 30) {
    sleep_milliseconds(100);
    CHECK_OK(sp_run_log_append(log, RESIDUAL, &(residual_row){5, 1, 1, 1, 1}));
    file = open_log();
    late = row_count(file, "residual");
    H5Fclose(file);
  }
  CHECK(late > 5 && monotonic_seconds() - start >= 1, "%d rows", (int)late);
  CHECK_OK(sp_run_log_close(&log));
}

/* A run that fails before its iteration leaves the log of an earlier one as it was. */
static void test_set_up_that_fails(void) {
  sp_run_log *log = NULL;
  AUTO(sp_record) record = new_record();
  struct stat before, after;
  CHECK(stat("run.h5", &before) == 0, "no log to begin with");
  CHECK_OK(create("run.h5", record, &log));
  CHECK(append(log, 0) == SP_OK && sp_run_log_flush_if_due(log) == SP_OK, "%s", sp_error_message());
  sleep_milliseconds(1100); /* a log that has begun would be due */
  CHECK_OK(append(log, 1));
  CHECK(sp_run_log_close(&log) == SP_OK && !log, "%s", sp_error_message());
  CHECK(stat("run.h5", &after) == 0 && after.st_ino == before.st_ino &&
            after.st_mtim.tv_sec == before.st_mtim.tv_sec &&
            after.st_mtim.tv_nsec == before.st_mtim.tv_nsec,
        "the log of the run before is replaced");
}

static void test_failures(void) {
  sp_run_log *log = NULL;
  AUTO(sp_record) record = new_record();
  const char *beside = test_text("..%s.tmp", sp_file_tag());
  CHECK(create("/nowhere/run.h5", record, &log) == SP_ERR_SYSTEM && !log, "no folder");
  CHECK_TEXT(sp_error_message(), "cannot write log /nowhere/run.h5: No such file or directory");
  CHECK(create(".", record, &log) == SP_ERR_SYSTEM && !log, "a folder");
  CHECK(access(beside, F_OK) != 0, "the file beside it is gone");

  CHECK_OK(create("run.h5", record, &log));
  for (int i = 0; i < 10; i++) CHECK(append(log, i) == SP_OK, "row %d", i);
  CHECK_OK(sp_run_log_flush(log));
  for (int i = 10; i < ROWS; i++) CHECK(append(log, i) == SP_OK, "row %d", i);

  struct rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_IGN);
  /* Nothing fits, part of a block fits, whole blocks fit but not the last one. */
  const rlim_t limits[] = {0, 1000, 65536};
  for (int l = 0; l < 3; l++) {
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){limits[l], before.rlim_max});
    const sp_status status = sp_run_log_flush(log);
    setrlimit(RLIMIT_FSIZE, &before);
    const char *expected = "cannot write log run.h5: File too large";
    CHECK(status == SP_ERR_SYSTEM, "status %d", (int)status);
    CHECK_TEXT(sp_error_message(), expected);
    CHECK(access(test_text("run.h5.%s.tmp", sp_file_tag()), F_OK) != 0,
          "the file beside it is gone");
    const hid_t file = open_log();
    CHECK(row_count(file, "matvec") == 10, "the old file stays");
    H5Fclose(file);
  }
  CHECK_OK(sp_run_log_flush(log));
  hid_t file = open_log();
  CHECK(row_count(file, "matvec") == ROWS, "no row is lost");
  H5Fclose(file);

  CHECK_OK(append(log, ROWS));
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, before.rlim_max});
  const sp_status status = sp_run_log_close(&log);
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(status == SP_ERR_SYSTEM && log == NULL, "status %d of closing", (int)status);
}

/* The writer that is killed: writes row after row, each with the whole file. */
static int write_until_killed(const char *path) {
  sp_run_log *log = NULL;
  if (create(path, new_record(), &log) != SP_OK) return 1;
  for (int64_t i = 0;; i++)
    if (append(log, i) != SP_OK || sp_run_log_flush(log) != SP_OK) return 1;
}

static void check_readable(const char *when) {
  const hid_t file = open_log();
  CHECK(file >= 0, "readable %s", when);
  if (file < 0) return;
  /* A file is written after both tables got their row, or by the timer in between. */
  check_series(file);
  H5Fclose(file);
}

static void test_kill(void) {
  for (int kill_number = 0; kill_number < KILLS; kill_number++) {
    unlink("run.h5");
    pid_t child;
    char *arguments[] = {"run_log", "write-until-killed", "run.h5", NULL};
    const int spawned = posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ);
    CHECK(spawned == 0, "%s", strerror(spawned));
    if (spawned != 0) return;
    const double start = monotonic_seconds();
    while (access("run.h5", F_OK) != 0 && monotonic_seconds() - start < 30) sleep_milliseconds(1);
    check_readable("while it is written");
    sleep_milliseconds(37 * kill_number % 50);
    kill(child, SIGKILL);
    int state;
    waitpid(child, &state, 0);
    CHECK(WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL, "the writer ended with %d", state);
    check_readable("after a kill");
    glob_t left; /* the unfinished file */
    if (glob("run.h5.*.tmp", 0, NULL, &left) == 0)
      for (size_t g = 0; g < left.gl_pathc; g++) unlink(left.gl_pathv[g]);
    globfree(&left);
  }
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "write-until-killed") == 0) return write_until_killed(argv[2]);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  test_begin(&argc, &argv);
  enter_folder();
  test_contents();
  test_pace();
  test_set_up_that_fails();
  test_failures();
  test_kill();
  leave_folder(TEXTS("run.h5"));
  return check_end();
}
