#include "io/run_log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hdf5.h>

#include "io/file.h"
#include "io/hdf5_file.h"

/* A write takes time proportional to the number of rows. So writes are at least WRITE_INTERVAL
 * seconds apart, and take at most 1 / WRITE_PAUSE of the run. */
#define WRITE_INTERVAL 1.0
#define WRITE_PAUSE 20.0

/* The rows of a series, one after the other. */
typedef struct series {
  sp_log_series is;
  size_t row_size, count;
  char *rows;
} series;

struct sp_run_log {
  char *path;
  const sp_record *record;
  bool begun;        /* the file at PATH is from this log */
  double next_write; /* MPI_Wtime */
  int series_count;
  series series[SP_LOG_SERIES_MOST];
};

static sp_status fail_write(const sp_run_log *log) {
  return sp_fail(SP_ERR_SYSTEM, "cannot write log %s: %s", log->path, sp_error_message());
}

/* ---- Writing ---- */

/* A text of variable length: readers get plain strings, and there is no limit of 64 KiB. */
static void write_text(hid_t object, const char *name, const char *text) {
  const hid_t type = sp_hdf5_text_type(H5T_VARIABLE);
  sp_hdf5_attribute(object, name, type, 0, &text);
  H5Tclose(type);
}

typedef struct dataset {
  const char *name, *units;
  hid_t type;
  bool packed;
  int dimensions;
  hsize_t shape[2];
} dataset;

static void write_dataset(hid_t file, const dataset *d, const void *values) {
  const hid_t space = H5Screate_simple(d->dimensions, d->shape, NULL);
  const hid_t storage = H5Pcreate(H5P_DATASET_CREATE);
  if (d->packed) { /* one chunk; the filter pays because rows have similar texts and integers */
    H5Pset_chunk(storage, d->dimensions, d->shape);
    H5Pset_shuffle(storage);
    H5Pset_deflate(storage, 6);
  }
  const hid_t set = H5Dcreate2(file, d->name, d->type, space, H5P_DEFAULT, storage, H5P_DEFAULT);
  H5Pclose(storage);
  if (d->shape[0] > 0) H5Dwrite(set, d->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  write_text(set, "units", d->units);
  H5Dclose(set);
  H5Sclose(space);
}

static void write_series(hid_t file, const series *s) {
  const int width = s->is.width;
  const hid_t type =
      s->is.columns ? H5Tcreate(H5T_COMPOUND, s->row_size) : H5Tcopy(H5T_NATIVE_DOUBLE);
  for (int c = 0; c < width && s->is.columns; c++)
    H5Tinsert(type, s->is.columns[c], 8 * (size_t)c, c == 0 ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE);
  const dataset d = {s->is.name, s->is.units,           type,
                     false,      s->is.columns ? 1 : 2, {s->count, (hsize_t)width}};
  write_dataset(file, &d, s->rows);
  H5Tclose(type);
}

/* The rows of a table, or the row itself. */
static const sp_record_node *first_row(const sp_record_node *n) {
  return n->kind == SP_RECORD_ROW ? n : n->first;
}

static const sp_record_node *next_row(const sp_record_node *n, const sp_record_node *row) {
  return n == row ? NULL : row->next;
}

static bool is_number(const sp_record_node *cell) {
  return cell->kind == SP_RECORD_INTEGER || cell->kind == SP_RECORD_REAL;
}

/* Texts have a fixed width in the rows of a table, which counts the terminating zero. */
static size_t measure_text(const sp_record_node *table) {
  size_t width = 1;
  for (const sp_record_node *row = first_row(table); row; row = next_row(table, row))
    for (const sp_record_node *cell = row->first; cell; cell = cell->next)
      if (cell->text && strlen(cell->text) >= width) width = strlen(cell->text) + 1;
  return width;
}

/* The compound type of a row, without gaps, and the units of its columns. */
static hid_t describe_row(const sp_record_node *row, size_t text_width, size_t size, char *units) {
  const hid_t text = sp_hdf5_text_type(text_width);
  const hid_t type = H5Tcreate(H5T_COMPOUND, 8 + text_width);
  size_t offset = 0;
  for (const sp_record_node *cell = row->first; cell; cell = cell->next) {
    const bool is_text = !is_number(cell);
    const size_t width = is_text ? text_width : 8;
    H5Tset_size(type, offset + width);
    H5Tinsert(type, cell->name, offset,
              is_text                           ? text
              : cell->kind == SP_RECORD_INTEGER ? H5T_NATIVE_INT64
                                                : H5T_NATIVE_DOUBLE);
    const size_t used = strlen(units);
    snprintf(units + used, size - used, "%s%s", offset > 0 ? ", " : "",
             cell->unit ? cell->unit : "1");
    offset += width;
  }
  H5Tclose(text);
  return type;
}

static void pack_row(const sp_record_node *row, size_t text_width, char *packed) {
  for (const sp_record_node *cell = row->first; cell; cell = cell->next)
    if (!is_number(cell)) {
      strcpy(packed, cell->text ? cell->text : "");
      packed += text_width;
    } else {
      memcpy(packed, cell->kind == SP_RECORD_INTEGER ? (const void *)&cell->integer : &cell->real,
             8);
      packed += 8;
    }
}

static void write_table(hid_t file, const sp_record_node *table) {
  enum { MANY = 64 }; /* rows that are worth packing */
  char *units, *packed;
  const size_t text_width = measure_text(table);
  const sp_record_node *row = first_row(table);
  size_t units_size = 1;
  if (!row) return;
  for (const sp_record_node *cell = row->first; cell; cell = cell->next)
    units_size += strlen(", 1") + (cell->unit ? strlen(cell->unit) : 0);
  if (sp_allocate(units_size, 1, "a table of the run log", &units)) return;
  const hid_t type = describe_row(row, text_width, units_size, units);
  const size_t size = H5Tget_size(type);
  hsize_t count = 0;
  for (; row; row = next_row(table, row)) count++;
  if (sp_allocate(count, size, "a table of the run log", &packed)) packed = NULL;
  char *end = packed;
  for (row = first_row(table); row && packed; row = next_row(table, row), end += size)
    pack_row(row, text_width, end);
  /* If memory is short, HDF5 fails for NULL and reports it. */
  write_dataset(file, &(dataset){table->name, units, type, count >= MANY, 1, {count}}, packed);
  SP_FREE(packed, units);
  H5Tclose(type);
}

static void write_member(hid_t file, const sp_record_node *n) {
  char unit[256];
  switch (n->kind) {
  case SP_RECORD_INTEGER:
    sp_hdf5_attribute(file, n->name, H5T_NATIVE_INT64, 0, &n->integer);
    break;
  case SP_RECORD_REAL:
    sp_hdf5_attribute(file, n->name, H5T_NATIVE_DOUBLE, 0, &n->real);
    snprintf(unit, sizeof unit, "%s_unit", n->name);
    if (n->unit) write_text(file, unit, n->unit);
    break;
  case SP_RECORD_TEXT:
  case SP_RECORD_OBJECT:
  case SP_RECORD_LIST:
    if (n->text) write_text(file, n->name, n->text);
    break;
  case SP_RECORD_ROW:
  case SP_RECORD_TABLE:
    write_table(file, n);
    break;
  }
}

static void write_everything(int64_t file, const void *context) {
  const sp_run_log *log = context;
  for (int s = 0; s < log->series_count; s++) write_series(file, &log->series[s]);
  for (const sp_record_node *n = sp_record_root(log->record)->first; n; n = n->next)
    write_member(file, n);
}

sp_status sp_run_log_flush(sp_run_log *log) {
  const double start = MPI_Wtime();
  log->begun = true;
  sp_status status = sp_record_check(log->record);
  if (!status) status = sp_hdf5_replace(log->path, write_everything, log);
  const double now = MPI_Wtime();
  const double pause = WRITE_PAUSE * (now - start);
  log->next_write = now + (pause > WRITE_INTERVAL ? pause : WRITE_INTERVAL);
  return status ? fail_write(log) : SP_OK;
}

sp_status sp_run_log_flush_if_due(sp_run_log *log) {
  return !log->begun || MPI_Wtime() < log->next_write ? SP_OK : sp_run_log_flush(log);
}

/* ---- Creation and rows ---- */

static void destroy_log(sp_run_log *log) {
  for (int s = 0; s < log->series_count; s++) free(log->series[s].rows);
  SP_FREE(log->path, log);
}

sp_status sp_run_log_create(const char *path, const sp_record *record, int series_count,
                            const sp_log_series *list, sp_run_log **out) {
  *out = NULL;
  sp_run_log *log;
  assert(series_count <= SP_LOG_SERIES_MOST);
  SP_TRY(sp_allocate(1, sizeof *log, "the run log", &log));
  log->record = record;
  log->series_count = series_count;
  for (int s = 0; s < series_count; s++)
    log->series[s] = (series){.is = list[s], .row_size = 8 * (size_t)list[s].width};
  sp_status status = sp_format(&log->path, "%s", path);
  if (!status && sp_file_try(path, SP_FILE_HDF5)) status = fail_write(log);
  if (status)
    destroy_log(log);
  else
    *out = log;
  return status;
}

sp_status sp_run_log_append(sp_run_log *log, int which, const void *row) {
  series *s = &log->series[which];
  SP_TRY(sp_reserve(s->count, 1, s->row_size, "rows of the run log", &s->rows));
  memcpy(s->rows + s->count++ * s->row_size, row, s->row_size);
  return sp_run_log_flush_if_due(log);
}

sp_status sp_run_log_close(sp_run_log **log) {
  if (!*log) return SP_OK;
  const sp_status status = (*log)->begun ? sp_run_log_flush(*log) : SP_OK;
  destroy_log(*log);
  *log = NULL;
  return status;
}
