#include "io/run_log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hdf5.h>

#include "io/file.h"
#include "io/hdf5_file.h"

/* A write takes time proportional to the number of rows. The file is written at most once per
 * WRITE_INTERVAL seconds, and less often if writing would take more than 1 / WRITE_PAUSE of the
 * run. */
#define WRITE_INTERVAL 1.0
#define WRITE_PAUSE 20.0

/* A growing table in memory; rows are stored one after the other. */
typedef struct table {
  size_t row_size, count, capacity;
  char *rows;
} table;

typedef struct attribute {
  char *name;
  sp_log_kind kind;
  int64_t integer;
  double real;
  char *text;      /* of SP_LOG_TEXT */
  char *unit;      /* of SP_LOG_REAL, or NULL */
  char *unit_name; /* NAME_unit, where there is a unit */
} attribute;

typedef struct column column;

/* A table that is replaced as a whole. Texts have a fixed width in its rows. */
typedef struct named_table {
  char *name, *units;
  size_t column_count, text_width;
  column *columns;
  char *column_names; /* one after the other, each with its terminating zero */
  table rows;
} named_table;

struct sp_run_log {
  char *path;
  int ranks;
  bool begun;        /* the file at PATH is this log's */
  double next_write; /* on the monotonic clock */
  table attributes, matvec, seconds_by_rank, residual;
  table tables; /* of named_table */
};

/* A column of a compound dataset. Columns follow each other without gaps. */
struct column {
  const char *name;
  sp_log_kind kind;
};

static const column matvec_columns[] = {{"iteration", SP_LOG_INTEGER},
                                        {"seconds", SP_LOG_REAL},
                                        {"gflops", SP_LOG_REAL},
                                        {"gbytes_per_second", SP_LOG_REAL},
                                        {"gdofs_per_second", SP_LOG_REAL}};
static const column residual_columns[] = {{"iteration", SP_LOG_INTEGER},
                                          {"absolute", SP_LOG_REAL},
                                          {"relative", SP_LOG_REAL},
                                          {"error", SP_LOG_REAL},
                                          {"seconds", SP_LOG_REAL}};

static_assert(sizeof(sp_matvec_row) == 5 * 8 && sizeof(sp_residual_row) == 5 * 8,
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

static named_table *table_at(const table *tables, size_t n) {
  return (named_table *)(void *)tables->rows + n;
}

static void write_dataset(hid_t file, const char *name, const char *units, hid_t type,
                          int dimensions, const hsize_t *shape, const void *values) {
  const hid_t space = H5Screate_simple(dimensions, shape, NULL);
  const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (shape[0] > 0) H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  sp_hdf5_attribute_text(set, "units", units);
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
    const sp_log_kind kind = columns[c].kind;
    const hid_t member = kind == SP_LOG_TEXT      ? text
                         : kind == SP_LOG_INTEGER ? H5T_NATIVE_INT64
                                                  : H5T_NATIVE_DOUBLE;
    H5Tinsert(type, columns[c].name, offset, member);
    offset += kind == SP_LOG_TEXT ? text_width : 8;
  }
  write_dataset(file, name, units, type, 1, (hsize_t[]){t->count}, t->rows);
  H5Tclose(type);
  H5Tclose(text);
}

static void write_root_attributes(hid_t file, const table *attributes) {
  for (size_t a = 0; a < attributes->count; a++) {
    const attribute *entry = (const attribute *)(const void *)attributes->rows + a;
    switch (entry->kind) {
    case SP_LOG_INTEGER:
      sp_hdf5_attribute_integer(file, entry->name, entry->integer);
      break;
    case SP_LOG_REAL:
      sp_hdf5_attribute_real(file, entry->name, entry->real);
      if (entry->unit) sp_hdf5_attribute_text(file, entry->unit_name, entry->unit);
      break;
    case SP_LOG_TEXT:
      sp_hdf5_attribute_text(file, entry->name, entry->text);
      break;
    }
  }
}

static void write_everything(int64_t file, const void *context) {
  const sp_run_log *log = context;
#define COLUMNS(columns) sizeof(columns) / sizeof *(columns), columns
  write_root_attributes(file, &log->attributes);
  write_table(file, "matvec", "1, s, GFLOP/s, GB/s, GDOF/s", COLUMNS(matvec_columns), 1,
              &log->matvec);
  write_dataset(file, "matvec_seconds_by_rank", "s", H5T_NATIVE_DOUBLE, 2,
                (hsize_t[]){log->seconds_by_rank.count, (hsize_t)log->ranks},
                log->seconds_by_rank.rows);
  write_table(file, "residual", "1, 1, 1, 1, s", COLUMNS(residual_columns), 1, &log->residual);
  for (size_t n = 0; n < log->tables.count; n++) {
    const named_table *t = table_at(&log->tables, n);
    write_table(file, t->name, t->units, t->column_count, t->columns, t->text_width, &t->rows);
  }
#undef COLUMNS
}

sp_status sp_run_log_flush(sp_run_log *log) {
  const double start = monotonic_seconds();
  log->begun = true;
  const sp_status status = sp_hdf5_replace(log->path, write_everything, log);
  const double now = monotonic_seconds();
  const double pause = WRITE_PAUSE * (now - start);
  log->next_write = now + (pause > WRITE_INTERVAL ? pause : WRITE_INTERVAL);
  return status == SP_OK ? SP_OK : fail_write(log);
}

static sp_status flush_if_due(sp_run_log *log) {
  return !log->begun || monotonic_seconds() < log->next_write ? SP_OK : sp_run_log_flush(log);
}

static void free_attribute(attribute *entry) {
  free(entry->name);
  free(entry->text);
  free(entry->unit);
  free(entry->unit_name);
}

static void free_named_table(named_table *t) {
  free(t->name);
  free(t->units);
  free(t->columns);
  free(t->column_names);
  free(t->rows.rows);
}

static void destroy(sp_run_log *log) {
  attribute *entries = (attribute *)(void *)log->attributes.rows;
  for (size_t a = 0; a < log->attributes.count; a++) free_attribute(&entries[a]);
  free(log->attributes.rows);
  free(log->matvec.rows);
  free(log->seconds_by_rank.rows);
  free(log->residual.rows);
  for (size_t n = 0; n < log->tables.count; n++) free_named_table(table_at(&log->tables, n));
  free(log->tables.rows);
  free(log->path);
  free(log);
}

static sp_status initialise(sp_run_log *log, const char *path, int ranks) {
  SP_TRY(copy_text(path, &log->path));
  log->ranks = ranks;
  log->attributes.row_size = sizeof(attribute);
  log->matvec.row_size = sizeof(sp_matvec_row);
  log->seconds_by_rank.row_size = (size_t)ranks * sizeof(double);
  log->residual.row_size = sizeof(sp_residual_row);
  log->tables.row_size = sizeof(named_table);

  char start_time[sizeof "2000-01-01T00:00:00Z"] = "";
  const time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc)) strftime(start_time, sizeof start_time, "%Y-%m-%dT%H:%M:%SZ", &utc);
  SP_TRY(sp_run_log_attribute_string(log, "start_time", start_time));
  SP_TRY(sp_run_log_attribute_integer(log, "ranks", ranks));
  SP_TRY(sp_run_log_attribute_string(log, "status", "running"));
  return sp_run_log_phases(log, 0, NULL);
}

sp_status sp_run_log_create(const char *path, int ranks, sp_run_log **out) {
  *out = NULL;
  sp_run_log *log;
  SP_TRY(sp_allocate(1, sizeof *log, "the run log", &log));
  sp_status status = initialise(log, path, ranks);
  if (status == SP_OK) {
    status = sp_file_try(path);
    if (status != SP_OK) status = fail_write(log);
  }
  if (status != SP_OK) {
    destroy(log);
    return status;
  }
  *out = log;
  return SP_OK;
}

/* Add `entry`, or replace the attribute of that name. The name is copied; the log takes ownership
 * of the other strings, even after a failure. */
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
  attribute entry = {.kind = SP_LOG_TEXT};
  SP_TRY(copy_text(value, &entry.text));
  return set_attribute(log, name, entry);
}

sp_status sp_run_log_attribute_integer(sp_run_log *log, const char *name, int64_t value) {
  return set_attribute(log, name, (attribute){.kind = SP_LOG_INTEGER, .integer = value});
}

sp_status sp_run_log_attribute_double(sp_run_log *log, const char *name, double value,
                                      const char *unit) {
  attribute entry = {.kind = SP_LOG_REAL, .real = value};
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

sp_status sp_run_log_residual(sp_run_log *log, const sp_residual_row *row) {
  SP_TRY(table_reserve(&log->residual));
  table_append(&log->residual, row);
  return flush_if_due(log);
}

/* Names and units of the columns, in one string each. */
static sp_status describe_columns(named_table *t, int count, const sp_log_column *columns) {
  size_t names = 1, units = 1;
  for (int c = 0; c < count; c++) {
    names += strlen(columns[c].name) + 1;
    units += strlen(columns[c].unit) + 2;
  }
  SP_TRY(sp_allocate(names, 1, "a table of the run log", &t->column_names));
  SP_TRY(sp_allocate(units, 1, "a table of the run log", &t->units));
  SP_TRY(sp_allocate((size_t)count, sizeof *t->columns, "a table of the run log", &t->columns));
  char *name = t->column_names;
  for (int c = 0; c < count; c++) {
    strcpy(name, columns[c].name);
    t->columns[c] = (column){name, columns[c].kind};
    name += strlen(name) + 1;
    if (c > 0) strcat(t->units, ", ");
    strcat(t->units, columns[c].unit);
  }
  t->column_count = (size_t)count;
  return SP_OK;
}

/* The cells as rows of the file. */
static sp_status pack_rows(named_table *t, int count, const sp_log_cell *cells) {
  const size_t columns = t->column_count, all = (size_t)count * columns;
  t->text_width = 1;
  for (size_t i = 0; i < all; i++)
    if (t->columns[i % columns].kind == SP_LOG_TEXT && strlen(cells[i].text) >= t->text_width)
      t->text_width = strlen(cells[i].text) + 1;
  t->rows.count = (size_t)count;
  for (size_t c = 0; c < columns; c++)
    t->rows.row_size += t->columns[c].kind == SP_LOG_TEXT ? t->text_width : 8;
  SP_TRY(sp_allocate((size_t)count, t->rows.row_size, "a table of the run log", &t->rows.rows));
  char *cell = t->rows.rows;
  for (size_t i = 0; i < all; i++) {
    const bool text = t->columns[i % columns].kind == SP_LOG_TEXT;
    if (text)
      strcpy(cell, cells[i].text);
    else
      memcpy(cell, &cells[i], 8);
    cell += text ? t->text_width : 8;
  }
  return SP_OK;
}

sp_status sp_run_log_table(sp_run_log *log, const char *name, int column_count,
                           const sp_log_column *columns, int row_count, const sp_log_cell *cells) {
  named_table made = {0};
  sp_status status = copy_text(name, &made.name);
  if (!status) status = describe_columns(&made, column_count, columns);
  if (!status) status = pack_rows(&made, row_count, cells);
  if (!status) status = table_reserve(&log->tables);
  if (status) {
    free_named_table(&made);
    return status;
  }
  for (size_t n = 0; n < log->tables.count; n++) {
    named_table *old = table_at(&log->tables, n);
    if (strcmp(old->name, name) != 0) continue;
    free_named_table(old);
    *old = made;
    return flush_if_due(log);
  }
  table_append(&log->tables, &made);
  return flush_if_due(log);
}

sp_status sp_run_log_phases(sp_run_log *log, int count, const sp_phase_row *rows) {
  static const sp_log_column columns[] = {
      {"name", "1", SP_LOG_TEXT},           {"calls", "1", SP_LOG_INTEGER},
      {"seconds_min", "s", SP_LOG_REAL},    {"seconds_mean", "s", SP_LOG_REAL},
      {"seconds_max", "s", SP_LOG_REAL},    {"share", "1", SP_LOG_REAL},
      {"share_of_total", "1", SP_LOG_REAL}, {"part_of", "1", SP_LOG_TEXT}};
  enum { COLUMNS = sizeof columns / sizeof *columns };
  sp_log_cell(*cells)[COLUMNS];
  SP_TRY(sp_allocate((size_t)count, sizeof *cells, "the phases of the run log", &cells));
  for (int r = 0; r < count; r++) {
    cells[r][0].text = rows[r].name;
    cells[r][1].integer = rows[r].calls;
    cells[r][2].real = rows[r].seconds_min;
    cells[r][3].real = rows[r].seconds_mean;
    cells[r][4].real = rows[r].seconds_max;
    cells[r][5].real = rows[r].share;
    cells[r][6].real = rows[r].share_of_total;
    cells[r][7].text = rows[r].part_of;
  }
  const sp_status status = sp_run_log_table(log, "phases", COLUMNS, columns, count, cells[0]);
  free(cells);
  return status;
}

sp_status sp_run_log_errors(sp_run_log *log, double l2, double h1, double max) {
  static const sp_log_column columns[] = {
      {"L2", "1", SP_LOG_REAL}, {"H1", "1", SP_LOG_REAL}, {"max", "1", SP_LOG_REAL}};
  const sp_log_cell cells[] = {{.real = l2}, {.real = h1}, {.real = max}};
  return sp_run_log_table(log, "errors", 3, columns, 1, cells);
}

sp_status sp_run_log_close(sp_run_log **log) {
  if (!*log) return SP_OK;
  const sp_status status = (*log)->begun ? sp_run_log_flush(*log) : SP_OK;
  destroy(*log);
  *log = NULL;
  return status;
}
