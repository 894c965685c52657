#include "io/run_log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <hdf5.h>

#include "io/hdf5_file.h"

/* A write takes time in proportion to the rows so far. The file is written at most once in
 * WRITE_INTERVAL seconds, and less often where writing would take more than 1 / WRITE_PAUSE of the
 * run. */
#define WRITE_INTERVAL 1.0
#define WRITE_PAUSE 20.0

/* The file is put together in memory, which grows by this much at a time. */
enum { IMAGE_INCREMENT = 1 << 16 };

/* A growing table in memory; rows are stored one after the other. */
typedef struct table {
  size_t row_size, count, capacity;
  char *rows;
} table;

typedef enum value_kind { INTEGER, REAL, TEXT } value_kind;

typedef struct attribute {
  char *name;
  value_kind kind;
  int64_t integer;
  double real;
  char *text;      /* of TEXT */
  char *unit;      /* of REAL, or NULL */
  char *unit_name; /* NAME_unit, where there is a unit */
} attribute;

typedef struct residual_row {
  int64_t iteration;
  double absolute, relative;
} residual_row;

typedef struct errors_row {
  double l2, h1, max;
} errors_row;

/* Bytes of a row of /phases after its name. */
enum { PHASE_NUMBERS = 5 * 8 };

struct sp_run_log {
  char *path, *temporary;
  int ranks;
  double next_write; /* on the monotonic clock */
  table attributes, matvec, seconds_by_rank, residual, errors;
  size_t phase_name_width;
  table phases; /* rows as in the file: a name of fixed width, then the numbers */
};

/* A column of a compound dataset. Columns follow each other without gaps. */
typedef struct column {
  const char *name;
  value_kind kind;
} column;

static const column matvec_columns[] = {{"iteration", INTEGER},
                                        {"seconds", REAL},
                                        {"gflops", REAL},
                                        {"gbytes_per_second", REAL},
                                        {"gdofs_per_second", REAL}};
static const column residual_columns[] = {
    {"iteration", INTEGER}, {"absolute", REAL}, {"relative", REAL}};
static const column phase_columns[] = {{"name", TEXT},        {"calls", INTEGER},
                                       {"seconds_min", REAL}, {"seconds_mean", REAL},
                                       {"seconds_max", REAL}, {"share", REAL}};
static const column error_columns[] = {{"L2", REAL}, {"H1", REAL}, {"max", REAL}};

static_assert(sizeof(sp_matvec_row) == 5 * 8 && sizeof(residual_row) == 3 * 8 &&
                  sizeof(errors_row) == 3 * 8,
              "rows are written as they lie in memory");

static double monotonic_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static sp_status fail_write(const sp_run_log *log) {
  return sp_fail(SP_ERR_SYSTEM, "cannot write log %s: %s", log->path, sp_error_message());
}

static sp_status copy_text(const char *text, char **copy) {
  SP_TRY(sp_allocate(strlen(text) + 1, 1, "a string of the run log", copy));
  strcpy(*copy, text);
  return SP_OK;
}

/* Room for one more row. */
static sp_status table_reserve(table *t) {
  if (t->count < t->capacity) return SP_OK;
  const size_t capacity = t->capacity > 0 ? 2 * t->capacity : 64;
  char *rows;
  SP_TRY(sp_allocate(capacity, t->row_size, "a table of the run log", &rows));
  if (t->count > 0) memcpy(rows, t->rows, t->count * t->row_size);
  free(t->rows);
  t->rows = rows;
  t->capacity = capacity;
  return SP_OK;
}

/* Append to a table that has room. */
static void table_append(table *t, const void *row) {
  memcpy(t->rows + t->count++ * t->row_size, row, t->row_size);
}

/* Write an attribute of one value. `value` points to the number or, for TEXT, to the characters.
 * Texts have variable length: readers get plain strings, and the 64 KiB limit on attributes does
 * not touch the case. */
static void write_attribute(hid_t object, const char *name, value_kind kind, const void *value) {
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, H5T_VARIABLE);
  H5Tset_cset(text, H5T_CSET_UTF8);
  const hid_t type = kind == TEXT ? text : kind == INTEGER ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE;
  const hid_t space = H5Screate(H5S_SCALAR);
  const hid_t id = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  const char *characters = value;
  H5Awrite(id, type, kind == TEXT ? (const void *)&characters : value);
  H5Aclose(id);
  H5Sclose(space);
  H5Tclose(text);
}

static void write_dataset(hid_t file, const char *name, const char *units, hid_t type,
                          int dimensions, const hsize_t *shape, const void *values) {
  const hid_t space = H5Screate_simple(dimensions, shape, NULL);
  const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (shape[0] > 0) H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  write_attribute(set, "units", TEXT, units);
  H5Dclose(set);
  H5Sclose(space);
}

/* `text_width` counts the terminating zero. */
static void write_table(hid_t file, const char *name, const char *units, size_t column_count,
                        const column *columns, size_t text_width, const table *t) {
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, text_width);
  H5Tset_cset(text, H5T_CSET_UTF8);
  const hid_t type = H5Tcreate(H5T_COMPOUND, t->row_size);
  size_t offset = 0;
  for (size_t c = 0; c < column_count; c++) {
    const value_kind kind = columns[c].kind;
    const hid_t member = kind == TEXT      ? text
                         : kind == INTEGER ? H5T_NATIVE_INT64
                                           : H5T_NATIVE_DOUBLE;
    H5Tinsert(type, columns[c].name, offset, member);
    offset += kind == TEXT ? text_width : 8;
  }
  write_dataset(file, name, units, type, 1, (hsize_t[]){t->count}, t->rows);
  H5Tclose(type);
  H5Tclose(text);
}

static void write_root_attributes(hid_t file, const table *attributes) {
  for (size_t a = 0; a < attributes->count; a++) {
    const attribute *entry = (const attribute *)(const void *)attributes->rows + a;
    switch (entry->kind) {
    case INTEGER:
      write_attribute(file, entry->name, INTEGER, &entry->integer);
      break;
    case REAL:
      write_attribute(file, entry->name, REAL, &entry->real);
      if (entry->unit) write_attribute(file, entry->unit_name, TEXT, entry->unit);
      break;
    case TEXT:
      write_attribute(file, entry->name, TEXT, entry->text);
      break;
    }
  }
}

static void write_everything(hid_t file, const sp_run_log *log) {
#define COLUMNS(columns) sizeof(columns) / sizeof *(columns), columns
  write_root_attributes(file, &log->attributes);
  write_table(file, "matvec", "1, s, GFLOP/s, GB/s, GDOF/s", COLUMNS(matvec_columns), 1,
              &log->matvec);
  write_dataset(file, "matvec_seconds_by_rank", "s", H5T_NATIVE_DOUBLE, 2,
                (hsize_t[]){log->seconds_by_rank.count, (hsize_t)log->ranks},
                log->seconds_by_rank.rows);
  write_table(file, "residual", "1, 1, 1", COLUMNS(residual_columns), 1, &log->residual);
  write_table(file, "phases", "1, 1, s, s, s, 1", COLUMNS(phase_columns), log->phase_name_width,
              &log->phases);
  if (log->errors.count > 0)
    write_table(file, "errors", "1, 1, 1", COLUMNS(error_columns), 1, &log->errors);
#undef COLUMNS
}

/* The bytes of the file. HDF5 gets to see memory only: it does not survive well a file that cannot
 * be closed because the disk is full. */
static sp_status build_image(const sp_run_log *log, void **image, size_t *size) {
  *image = NULL;
  sp_hdf5_begin();
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, IMAGE_INCREMENT, false);
  const hid_t file = H5Fcreate(log->temporary, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose(access);
  write_everything(file, log);
  H5Fflush(file, H5F_SCOPE_LOCAL);
  sp_status status = SP_OK;
  const ssize_t bytes = H5Fget_file_image(file, NULL, 0);
  if (bytes >= 0) status = sp_allocate((size_t)bytes, 1, "the run log", image);
  if (*image) H5Fget_file_image(file, *image, (size_t)bytes);
  H5Fclose(file);
  if (status == SP_OK) status = sp_hdf5_end();
  *size = status == SP_OK ? (size_t)bytes : 0;
  return status;
}

sp_status sp_run_log_flush(sp_run_log *log) {
  const double start = monotonic_seconds();
  void *image;
  size_t size;
  sp_status status = build_image(log, &image, &size);
  if (status == SP_OK) {
    status = sp_file_write(log->temporary, image, size);
    if (status == SP_OK) status = sp_file_rename(log->temporary, log->path);
    if (status != SP_OK) unlink(log->temporary);
  }
  free(image);
  const double now = monotonic_seconds();
  const double pause = WRITE_PAUSE * (now - start);
  log->next_write = now + (pause > WRITE_INTERVAL ? pause : WRITE_INTERVAL);
  return status == SP_OK ? SP_OK : fail_write(log);
}

static sp_status flush_if_due(sp_run_log *log) {
  return monotonic_seconds() < log->next_write ? SP_OK : sp_run_log_flush(log);
}

static void free_attribute(attribute *entry) {
  free(entry->name);
  free(entry->text);
  free(entry->unit);
  free(entry->unit_name);
}

static void destroy(sp_run_log *log) {
  attribute *entries = (attribute *)(void *)log->attributes.rows;
  for (size_t a = 0; a < log->attributes.count; a++) free_attribute(&entries[a]);
  free(log->attributes.rows);
  free(log->matvec.rows);
  free(log->seconds_by_rank.rows);
  free(log->residual.rows);
  free(log->errors.rows);
  free(log->phases.rows);
  free(log->path);
  free(log->temporary);
  free(log);
}

static sp_status initialise(sp_run_log *log, const char *path, int ranks) {
  SP_TRY(copy_text(path, &log->path));
  SP_TRY(sp_file_temporary_name(path, &log->temporary));
  log->ranks = ranks;
  log->attributes.row_size = sizeof(attribute);
  log->matvec.row_size = sizeof(sp_matvec_row);
  log->seconds_by_rank.row_size = (size_t)ranks * sizeof(double);
  log->residual.row_size = sizeof(residual_row);
  log->errors.row_size = sizeof(errors_row);
  log->phase_name_width = 1;
  log->phases.row_size = log->phase_name_width + PHASE_NUMBERS;

  char start_time[sizeof "2000-01-01T00:00:00Z"] = "";
  const time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc)) strftime(start_time, sizeof start_time, "%Y-%m-%dT%H:%M:%SZ", &utc);
  SP_TRY(sp_run_log_attribute_string(log, "start_time", start_time));
  SP_TRY(sp_run_log_attribute_integer(log, "ranks", ranks));
  return sp_run_log_attribute_string(log, "status", "running");
}

sp_status sp_run_log_create(const char *path, int ranks, sp_run_log **out) {
  *out = NULL;
  sp_run_log *log;
  SP_TRY(sp_allocate(1, sizeof *log, "the run log", &log));
  sp_status status = initialise(log, path, ranks);
  if (status == SP_OK) status = sp_run_log_flush(log);
  if (status != SP_OK) {
    destroy(log);
    return status;
  }
  *out = log;
  return SP_OK;
}

/* Take `entry` over, in the place of an attribute of that name if there is one. Its name is copied;
 * its other strings are the log's from now on, even after a failure. */
static sp_status set_attribute(sp_run_log *log, const char *name, attribute entry) {
  sp_status status = copy_text(name, &entry.name);
  if (status == SP_OK) status = table_reserve(&log->attributes);
  if (status != SP_OK) {
    free_attribute(&entry);
    return status;
  }
  attribute *entries = (attribute *)(void *)log->attributes.rows;
  for (size_t a = 0; a < log->attributes.count; a++)
    if (strcmp(entries[a].name, name) == 0) {
      free_attribute(&entries[a]);
      entries[a] = entry;
      return SP_OK;
    }
  table_append(&log->attributes, &entry);
  return SP_OK;
}

sp_status sp_run_log_attribute_string(sp_run_log *log, const char *name, const char *value) {
  attribute entry = {.kind = TEXT};
  SP_TRY(copy_text(value, &entry.text));
  return set_attribute(log, name, entry);
}

sp_status sp_run_log_attribute_integer(sp_run_log *log, const char *name, int64_t value) {
  return set_attribute(log, name, (attribute){.kind = INTEGER, .integer = value});
}

sp_status sp_run_log_attribute_double(sp_run_log *log, const char *name, double value,
                                      const char *unit) {
  attribute entry = {.kind = REAL, .real = value};
  if (unit && *unit) {
    const size_t size = strlen(name) + sizeof "_unit";
    SP_TRY(copy_text(unit, &entry.unit));
    const sp_status status = sp_allocate(size, 1, "a string of the run log", &entry.unit_name);
    if (status != SP_OK) {
      free_attribute(&entry);
      return status;
    }
    snprintf(entry.unit_name, size, "%s_unit", name);
  }
  return set_attribute(log, name, entry);
}

sp_status sp_run_log_matvec(sp_run_log *log, const sp_matvec_row *row,
                            const double *seconds_by_rank) {
  SP_TRY(table_reserve(&log->matvec));
  SP_TRY(table_reserve(&log->seconds_by_rank));
  table_append(&log->matvec, row);
  table_append(&log->seconds_by_rank, seconds_by_rank);
  return flush_if_due(log);
}

sp_status sp_run_log_residual(sp_run_log *log, int64_t iteration, double absolute,
                              double relative) {
  SP_TRY(table_reserve(&log->residual));
  table_append(&log->residual, &(residual_row){iteration, absolute, relative});
  return flush_if_due(log);
}

sp_status sp_run_log_phases(sp_run_log *log, int count, const sp_phase_row *rows) {
  size_t width = 1;
  for (int r = 0; r < count; r++) {
    const size_t size = strlen(rows[r].name) + 1;
    if (size > width) width = size;
  }
  table phases = {.row_size = width + PHASE_NUMBERS, .count = (size_t)count};
  SP_TRY(sp_allocate(phases.count, phases.row_size, "the phases of the run log", &phases.rows));
  for (int r = 0; r < count; r++) {
    char *row = phases.rows + (size_t)r * phases.row_size;
    const double seconds_and_share[] = {rows[r].seconds_min, rows[r].seconds_mean,
                                        rows[r].seconds_max, rows[r].share};
    strcpy(row, rows[r].name);
    memcpy(row + width, &rows[r].calls, 8);
    memcpy(row + width + 8, seconds_and_share, sizeof seconds_and_share);
  }
  free(log->phases.rows);
  log->phases = phases;
  log->phase_name_width = width;
  return flush_if_due(log);
}

sp_status sp_run_log_errors(sp_run_log *log, double l2, double h1, double max) {
  SP_TRY(table_reserve(&log->errors));
  log->errors.count = 0;
  table_append(&log->errors, &(errors_row){l2, h1, max});
  return flush_if_due(log);
}

sp_status sp_run_log_close(sp_run_log **log) {
  if (!*log) return SP_OK;
  const sp_status status = sp_run_log_flush(*log);
  destroy(*log);
  *log = NULL;
  return status;
}
