/* The run log: every number is read back, and the file is always readable, whatever happens to the
 * writer. */
#include "io/run_log.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/file.h"
#include "tests/log_table.h"

enum { RANKS = 3, ROWS = 3000, KILLS = 20, MOST = 100000 };

extern char **environ;

static char path[64], temporary[80];

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
  return H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
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

/* A column of texts of 32 bytes. */
static void check_names(hid_t file, const char *table, const char *column, int count,
                        const char *const *expected) {
  char names[8][32];
  const hid_t text = H5Tcopy(H5T_C_S1), type = H5Tcreate(H5T_COMPOUND, sizeof names[0]);
  H5Tset_size(text, sizeof names[0]);
  H5Tset_cset(text, H5T_CSET_UTF8);
  H5Tinsert(type, column, 0, text);
  const hid_t set = H5Dopen2(file, table, H5P_DEFAULT);
  CHECK(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, names) >= 0, "%s.%s", table, column);
  for (int row = 0; row < count; row++)
    CHECK(strcmp(names[row], expected[row]) == 0, "%s %d is '%s'", column, row, names[row]);
  H5Dclose(set);
  H5Tclose(type);
  H5Tclose(text);
}

static void check_text(hid_t object, const char *name, const char *expected) {
  const hid_t id = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(id);
  char *text = NULL;
  CHECK(H5Tis_variable_str(type) > 0 && H5Aread(id, type, &text) >= 0, "attribute %s", name);
  /* HDF5 stores an empty string as NULL. */
  CHECK(strcmp(text ? text : "", expected) == 0, "%s is '%s'", name, text ? text : "");
  free(text);
  H5Tclose(type);
  H5Aclose(id);
}

static void check_units(hid_t file, const char *table, const char *expected) {
  const hid_t set = H5Dopen2(file, table, H5P_DEFAULT);
  check_text(set, "units", expected);
  H5Dclose(set);
}

static void check_number(hid_t file, const char *name, double expected) {
  const hid_t id = H5Aopen(file, name, H5P_DEFAULT);
  double value = NAN;
  H5Aread(id, H5T_NATIVE_DOUBLE, &value);
  CHECK(value == expected, "%s is %.17g", name, value);
  H5Aclose(id);
}

static void test_contents(void) {
  sp_run_log *log = NULL;
  AUTO(sp_record) record = new_record();
  CHECK_OK(create(path, record, &log));
  CHECK(access(path, F_OK) != 0, "a log that has not begun");
  CHECK_OK(sp_run_log_flush(log));
  hid_t file = open_log();
  CHECK(file >= 0, "a log is readable as soon as it has begun");
  CHECK(row_count(file, "matvec") == 0, "a new log is empty");
  CHECK(H5Lexists(file, "errors", H5P_DEFAULT) == 0, "errors are absent until they are known");
  check_text(file, "status", "running");
  H5Fclose(file);

  /* More than the 64 KiB that HDF5 allows for attributes stored in place. */
  enum { LENGTH = 100000 };
  char *text = malloc(LENGTH + 1);
  memset(text, 'x', LENGTH);
  text[LENGTH] = 0;
  static const char utf8[] = "u = \xcf\x80\n[mesh]";
  sp_record_open(record, SP_RECORD_OBJECT, "case"); /* in the log a text */
  sp_record_log_text(record, text);
  sp_record_integer(record, "order", 3);
  sp_record_close(record);
  sp_record_open(record, SP_RECORD_OBJECT, "matvec"); /* not in the log, which has a series */
  sp_record_real(record, "seconds", 1, "s");
  sp_record_close(record);
  sp_record_text(record, "utf8", utf8);
  sp_record_text(record, "empty", "");
  sp_record_text(record, "none", NULL);
  sp_record_text(record, "status", "converged");
  sp_record_integer(record, "dofs", 5000000000);
  sp_record_real(record, "solve", 1.5, "ms");
  sp_record_real(record, "solve", 0.1, "s");
  sp_record_real(record, "ratio", 3, "%");
  sp_record_real(record, "ratio", 0.03, NULL);
  sp_record_real(record, "unknown", INFINITY, "1");

  for (int i = 0; i < ROWS; i++) CHECK(append(log, i) == SP_OK, "row %d", i);
  static const char *const names[] = {"setup", "gather-scatter", ""}, *const wholes[] = {
                                                                          "", "gather-scatter",
                                                                          "setup"};
  sp_record_open(record, SP_RECORD_TABLE, "phases");
  for (int i = 0; i < 3; i++) {
    sp_record_open(record, SP_RECORD_ROW, NULL);
    sp_record_text(record, "name", names[i]);
    sp_record_integer(record, "calls", 7 * i);
    sp_record_real(record, "seconds_min", i + 0.25, "s");
    sp_record_real(record, "share", 1 / (i + 3.0), NULL);
    sp_record_text(record, "part_of", wholes[i]);
    sp_record_close(record);
  }
  sp_record_close(record);
  sp_record_open(record, SP_RECORD_TABLE, "nothing");
  sp_record_close(record);
  sp_record_open(record, SP_RECORD_ROW, "errors");
  sp_record_real(record, "L2", 1e-9, NULL);
  sp_record_real(record, "max", NAN, NULL);
  sp_record_close(record);
  CHECK(sp_run_log_close(&log) == SP_OK && log == NULL, "%s", sp_error_message());
  CHECK(sp_run_log_close(&log) == SP_OK, "closing nothing");

  file = open_log();
  CHECK(row_count(file, "matvec") == ROWS && row_count(file, "residual") == ROWS &&
            row_count(file, "matvec_seconds_by_rank") == ROWS,
        "rows");
  check_series(file);
  double phases[3][3], errors[2];
  CHECK(log_table(file, "phases", 3, (const char *const[]){"calls", "seconds_min", "share"}, 3,
                  phases[0]) == 3,
        "phases");
  for (int i = 0; i < 3; i++)
    CHECK(phases[i][0] == 7 * i && phases[i][1] == i + 0.25 && phases[i][2] == 1 / (i + 3.0),
          "phase %d", i);
  check_names(file, "phases", "name", 3, names);
  check_names(file, "phases", "part_of", 3, wholes);
  CHECK(log_table(file, "errors", 2, (const char *const[]){"L2", "max"}, 1, errors) == 1 &&
            errors[0] == 1e-9 && isnan(errors[1]),
        "errors %g, %g", errors[0], errors[1]);

  double(*by_rank)[RANKS] = malloc(sizeof *by_rank * ROWS);
  const hid_t set = H5Dopen2(file, "matvec_seconds_by_rank", H5P_DEFAULT);
  H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, by_rank);
  H5Dclose(set);
  for (int i = 0; i < ROWS; i++)
    for (int rank = 0; rank < RANKS; rank++)
      CHECK(by_rank[i][rank] == rank_seconds(i, rank), "[%d][%d] is %g", i, rank, by_rank[i][rank]);
  free(by_rank);

  check_units(file, "matvec", "1, s, GFLOP/s, GB/s, GDOF/s");
  check_units(file, "matvec_seconds_by_rank", "s");
  check_units(file, "residual", "1, 1, 1, 1, s");
  check_units(file, "phases", "1, 1, s, 1, 1");
  check_units(file, "errors", "1, 1");
  check_text(file, "case", text);
  check_text(file, "utf8", utf8);
  check_text(file, "empty", "");
  check_text(file, "status", "converged");
  check_text(file, "solve_unit", "s");
  check_number(file, "solve", 0.1);
  check_number(file, "ratio", 0.03);
  check_number(file, "dofs", 5e9);
  check_number(file, "unknown", INFINITY);
  CHECK(H5Aexists(file, "none") == 0, "an attribute without a value");
  CHECK(H5Lexists(file, "nothing", H5P_DEFAULT) == 0, "a table without rows");
  CHECK(H5Aexists(file, "ratio_unit") == 0, "the unit goes with the replaced value");
  H5Fclose(file);
  free(text);
}

/* Rows wait in memory for about a second; the next row then writes all of them. */
static void test_pace(void) {
  sp_run_log *log = NULL;
  AUTO(sp_record) record = new_record();
  const double start = monotonic_seconds();
  CHECK_OK(create(path, record, &log));
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
  CHECK(stat(path, &before) == 0, "no log to begin with");
  CHECK_OK(create(path, record, &log));
  CHECK(append(log, 0) == SP_OK && sp_run_log_flush_if_due(log) == SP_OK, "%s", sp_error_message());
  sleep_milliseconds(1100); /* a log that has begun would be due */
  CHECK_OK(append(log, 1));
  CHECK(sp_run_log_close(&log) == SP_OK && !log, "%s", sp_error_message());
  CHECK(stat(path, &after) == 0 && after.st_ino == before.st_ino &&
            after.st_mtim.tv_sec == before.st_mtim.tv_sec &&
            after.st_mtim.tv_nsec == before.st_mtim.tv_nsec,
        "the log of the run before is replaced");
}

static void test_failures(void) {
  sp_run_log *log = NULL;
  AUTO(sp_record) record = new_record();
  const char *beside = test_text("..%s.tmp", sp_file_tag());
  CHECK(create("/nowhere/run.h5", record, &log) == SP_ERR_SYSTEM && !log, "no folder");
  CHECK(strcmp(sp_error_message(), "cannot write log /nowhere/run.h5: No such file or directory") ==
            0,
        "message '%s'", sp_error_message());
  CHECK(create(".", record, &log) == SP_ERR_SYSTEM && !log, "a folder");
  CHECK(access(beside, F_OK) != 0, "the file beside it is gone");

  CHECK_OK(create(path, record, &log));
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
    const char *expected = test_text("cannot write log %s: File too large", path);
    CHECK(status == SP_ERR_SYSTEM, "status %d", (int)status);
    CHECK(strcmp(sp_error_message(), expected) == 0, "message '%s'", sp_error_message());
    CHECK(access(temporary, F_OK) != 0, "the file beside it is gone");
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
static int write_until_killed(const char *log_path) {
  sp_run_log *log = NULL;
  if (create(log_path, new_record(), &log) != SP_OK) return 1;
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
    unlink(path);
    pid_t child;
    char *arguments[] = {"run_log", "write-until-killed", path, NULL};
    const int spawned = posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ);
    CHECK(spawned == 0, "%s", strerror(spawned));
    if (spawned != 0) return;
    const double start = monotonic_seconds();
    while (access(path, F_OK) != 0 && monotonic_seconds() - start < 30) sleep_milliseconds(1);
    check_readable("while it is written");
    sleep_milliseconds(37 * kill_number % 50);
    kill(child, SIGKILL);
    int state;
    waitpid(child, &state, 0);
    CHECK(WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL, "the writer ended with %d", state);
    check_readable("after a kill");
  }
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "write-until-killed") == 0) return write_until_killed(argv[2]);
  MPI_Init(&argc, &argv);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  snprintf(path, sizeof path, "test_run_log_%ld.h5", (long)getpid());
  snprintf(temporary, sizeof temporary, "%s.%s.tmp", path, sp_file_tag());
  test_contents();
  test_pace();
  test_set_up_that_fails();
  test_failures();
  test_kill();
  unlink(path);
  unlink(temporary);
  return check_end();
}
