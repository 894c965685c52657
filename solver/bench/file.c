#include "solver/bench/file.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <hdf5.h>

#include "io/file.h"
#include "io/hdf5_file.h"
#include "io/path.h"
#include "solver/run/provenance.h"
#include "solver/run/version.h"

static const double SECONDS_BETWEEN_WRITES = 1;
enum { DEFLATE_LEVEL = 6 };

struct sp_bench_file {
  MPI_Comm comm;
  int rank, ranks;
  char *path, *hosts;
  const sp_bench_provenance *provenance;
  char start_time[SP_TIME_SIZE];
  const char *status;
  int count, capacity;
  sp_bench_row *rows;
  double last_write; /* MPI_Wtime */
};

typedef enum kind { TEXT, INTEGER, REAL } kind;

typedef struct column {
  const char *name, *unit;
  kind kind;
  size_t offset;
} column;

#define COLUMN(name, unit, kind)                                                                   \
  { #name, unit, kind, offsetof(sp_bench_row, name) }
static const column columns[] = {COLUMN(what, "1", TEXT),
                                 COLUMN(problem, "1", TEXT),
                                 COLUMN(geometry, "1", TEXT),
                                 COLUMN(precision, "1", TEXT),
                                 COLUMN(map, "1", TEXT),
                                 COLUMN(load, "1", TEXT),
                                 COLUMN(threads, "1", INTEGER),
                                 COLUMN(kernel, "1", INTEGER),
                                 COLUMN(order, "1", INTEGER),
                                 COLUMN(elements, "1", INTEGER),
                                 COLUMN(warm_cache, "1", INTEGER),
                                 COLUMN(dofs, "1", INTEGER),
                                 COLUMN(sets, "1", INTEGER),
                                 COLUMN(samples, "1", INTEGER),
                                 COLUMN(calls, "1", INTEGER),
                                 COLUMN(seconds, "s", REAL),
                                 COLUMN(seconds_min, "s", REAL),
                                 COLUMN(seconds_max, "s", REAL),
                                 COLUMN(iterations, "1", INTEGER),
                                 COLUMN(setup_seconds, "s", REAL),
                                 COLUMN(finest_seconds, "s", REAL),
                                 COLUMN(middle_seconds, "s", REAL),
                                 COLUMN(coarsest_seconds, "s", REAL),
                                 COLUMN(flops, "1", REAL),
                                 COLUMN(bytes, "B", REAL),
                                 COLUMN(tflops, "TFLOP/s", REAL),
                                 COLUMN(gbytes_per_second, "GB/s", REAL),
                                 COLUMN(gdofs_per_second, "GDOF/s", REAL),
                                 COLUMN(error, "1", REAL),
                                 COLUMN(registers, "1", INTEGER),
                                 COLUMN(shared_bytes, "B", INTEGER),
                                 COLUMN(local_bytes, "B", INTEGER),
                                 COLUMN(block_threads, "1", INTEGER),
                                 COLUMN(shared_traffic, "B", INTEGER)};
enum { COLUMNS = sizeof columns / sizeof *columns };

static hid_t text_type(void) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, SP_BENCH_WORD);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

/* Rows as they lie in memory. */
static hid_t row_type(void) {
  const hid_t text = text_type(), type = H5Tcreate(H5T_COMPOUND, sizeof(sp_bench_row));
  for (int c = 0; c < COLUMNS; c++)
    H5Tinsert(type, columns[c].name, columns[c].offset,
              columns[c].kind == TEXT      ? text
              : columns[c].kind == INTEGER ? H5T_NATIVE_INT64
                                           : H5T_NATIVE_DOUBLE);
  H5Tclose(text);
  return type;
}

/* ---- Writing ---- */

static void write_real(int64_t file, const char *name, double value, const char *unit) {
  char unit_name[64];
  snprintf(unit_name, sizeof unit_name, "%s_unit", name);
  sp_hdf5_attribute_real(file, name, value);
  sp_hdf5_attribute_text(file, unit_name, unit);
}

static void write_version(int64_t file, const char *name, int version) {
  char text[32];
  snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
  sp_hdf5_attribute_text(file, name, text);
}

static void write_attributes(int64_t file, const sp_bench_file *f) {
  const sp_bench_provenance *p = f->provenance;
  sp_hdf5_attribute_text(file, "program", "sp_bench");
  sp_hdf5_attribute_text(file, "version", sp_version());
  sp_hdf5_attribute_text(file, "git_revision", sp_revision());
  sp_hdf5_attribute_text(file, "start_time", f->start_time);
  sp_hdf5_attribute_text(file, "hosts", f->hosts);
  sp_hdf5_attribute_integer(file, "ranks", f->ranks);
  sp_hdf5_attribute_text(file, "device", p->device);
  sp_hdf5_attribute_text(file, "exchange", p->exchange);
  sp_hdf5_attribute_text(file, "options", p->options);
  sp_hdf5_attribute_text(file, "status", f->status);
  if (!p->gpu) {
    write_real(file, "memory_bandwidth_measured", p->bandwidth, "B/s");
    write_real(file, "multiply_adds_measured", p->multiply_adds, "1/s");
    return;
  }
  write_version(file, "cuda_driver", p->properties.driver);
  write_version(file, "cuda_runtime", p->properties.runtime);
  sp_hdf5_attribute_integer(file, "multiprocessors", p->properties.multiprocessors);
  write_real(file, "clock", p->properties.clock, "Hz");
  write_real(file, "cache", p->properties.cache_bytes, "B");
  if (p->properties.memory_bandwidth > 0)
    write_real(file, "memory_bandwidth_theoretical", p->properties.memory_bandwidth, "B/s");
  write_real(file, "shared_bandwidth_formula", p->properties.shared_bandwidth, "B/s");
  write_real(file, "shared_bandwidth_measured", p->shared_bandwidth, "B/s");
  write_real(file, "fp64_measured", p->fp64_rate, "flop/s");
}

/* All rows are one compressed chunk, with the shuffle filter: rows have similar texts and integers,
 * and the file is then small enough to be kept with the sources. */
static hid_t row_storage(hsize_t count) {
  const hsize_t chunk = count > 0 ? count : 1;
  const hid_t storage = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(storage, 1, &chunk);
  H5Pset_shuffle(storage);
  H5Pset_deflate(storage, DEFLATE_LEVEL);
  return storage;
}

static void write_everything(int64_t file, const void *context) {
  const sp_bench_file *f = context;
  char units[512] = "";
  for (int c = 0; c < COLUMNS; c++) {
    if (c > 0) strcat(units, ", ");
    strcat(units, columns[c].unit);
  }
  write_attributes(file, f);
  const hsize_t count = (hsize_t)f->count;
  const hid_t type = row_type(), space = H5Screate_simple(1, &count, NULL);
  const hid_t storage = row_storage(count);
  const hid_t set = H5Dcreate2(file, "bench", type, space, H5P_DEFAULT, storage, H5P_DEFAULT);
  if (count > 0) H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, f->rows);
  sp_hdf5_attribute_text(set, "units", units);
  H5Dclose(set);
  H5Pclose(storage);
  H5Sclose(space);
  H5Tclose(type);
}

/* Rank 0 writes. Collective. */
static sp_status write_file(sp_bench_file *f) {
  sp_status status = SP_OK;
  if (f->rank == 0) {
    status = sp_hdf5_replace(f->path, write_everything, f);
    if (status) status = sp_fail(status, "cannot write %s: %s", f->path, sp_error_message());
    f->last_write = MPI_Wtime();
  }
  return sp_agree(f->comm, status);
}

/* ---- Reading ---- */

/* A text attribute of the file's root; the caller frees it. NULL after an error of HDF5. */
static sp_status read_text(hid_t file, const char *name, char **text) {
  char *value = NULL;
  *text = NULL;
  const hid_t id = H5Aopen(file, name, H5P_DEFAULT), type = H5Aget_type(id);
  if (H5Tis_variable_str(type) > 0) H5Aread(id, type, &value);
  H5Tclose(type);
  H5Aclose(id);
  if (!value) return SP_OK;
  const sp_status status = sp_format(text, "%s", value);
  H5free_memory(value);
  return status;
}

/* True if sp_bench wrote the file. */
static sp_status check_program(hid_t file, bool *ours) {
  char *program;
  const sp_status status = read_text(file, "program", &program);
  *ours = program && strcmp(program, "sp_bench") == 0;
  free(program);
  return status;
}

static sp_status read_rows(sp_bench_file *f, hid_t file) {
  sp_status status = SP_OK;
  const hid_t set = H5Dopen2(file, "bench", H5P_DEFAULT), space = H5Dget_space(set);
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  const hid_t type = row_type();
  if (count > 0) status = sp_allocate((size_t)count, sizeof *f->rows, "results", &f->rows);
  if (count > 0 && !status) {
    H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, f->rows);
    f->count = f->capacity = (int)count;
  }
  H5Tclose(type);
  H5Sclose(space);
  H5Dclose(set);
  return status;
}

static sp_status read_file(sp_bench_file *f) {
  bool ours = true;
  sp_hdf5_begin();
  const hid_t file = H5Fopen(f->path, H5F_ACC_RDONLY, H5P_DEFAULT);
  sp_status status = sp_hdf5_failed() ? SP_OK : check_program(file, &ours);
  if (!status && ours && !sp_hdf5_failed()) status = read_rows(f, file);
  if (file >= 0) H5Fclose(file);
  const sp_status ended = sp_hdf5_end();
  if (status) return status;
  if (!ours)
    return sp_fail(SP_ERR_INPUT, "cannot compare with %s: it was not written by sp_bench", f->path);
  if (ended)
    return sp_fail(SP_ERR_INPUT, "cannot compare with %s: %s", f->path, sp_error_message());
  return SP_OK;
}

/* ---- Rows ---- */

static bool same_measurement(const sp_bench_row *a, const sp_bench_row *b) {
  return strcmp(a->what, b->what) == 0 && strcmp(a->problem, b->problem) == 0 &&
         strcmp(a->geometry, b->geometry) == 0 && strcmp(a->precision, b->precision) == 0 &&
         strcmp(a->map, b->map) == 0 && strcmp(a->load, b->load) == 0 && a->threads == b->threads &&
         a->kernel == b->kernel && a->order == b->order && a->elements == b->elements &&
         a->warm_cache == b->warm_cache;
}

const sp_bench_row *sp_bench_file_find(const sp_bench_file *file, const sp_bench_row *key) {
  for (int r = 0; r < file->count; r++)
    if (same_measurement(&file->rows[r], key)) return &file->rows[r];
  return NULL;
}

static sp_status append(sp_bench_file *f, const sp_bench_row *row) {
  if (f->count == f->capacity) {
    const int capacity = f->capacity > 0 ? 2 * f->capacity : 64;
    sp_bench_row *rows;
    SP_TRY(sp_allocate((size_t)capacity, sizeof *rows, "results", &rows));
    if (f->count > 0) memcpy(rows, f->rows, (size_t)f->count * sizeof *rows);
    free(f->rows);
    f->rows = rows;
    f->capacity = capacity;
  }
  f->rows[f->count++] = *row;
  return SP_OK;
}

sp_status sp_bench_file_add(sp_bench_file *file, const sp_bench_row *row) {
  SP_TRY(sp_agree(file->comm, append(file, row)));
  int due = file->rank == 0 && MPI_Wtime() - file->last_write > SECONDS_BETWEEN_WRITES;
  MPI_Bcast(&due, 1, MPI_INT, 0, file->comm);
  return due ? write_file(file) : SP_OK;
}

static void destroy(sp_bench_file *f) {
  SP_FREE(f->path, f->hosts, f->rows, f);
}

/* Broadcast rank 0's rows. */
static sp_status share_rows(sp_bench_file *f) {
  MPI_Bcast(&f->count, 1, MPI_INT, 0, f->comm);
  if (f->count == 0) return SP_OK;
  sp_status status = SP_OK;
  if (f->rank > 0) status = sp_allocate((size_t)f->count, sizeof *f->rows, "results", &f->rows);
  SP_TRY(sp_agree(f->comm, status));
  f->capacity = f->count;
  MPI_Datatype row;
  MPI_Type_contiguous(sizeof(sp_bench_row), MPI_BYTE, &row);
  MPI_Type_commit(&row);
  MPI_Bcast(f->rows, f->count, row, 0, f->comm);
  MPI_Type_free(&row);
  return SP_OK;
}

/* Only a file of sp_bench, or an empty one, may be replaced: the user may have mistyped the name.
 */
static sp_status check_replaced(const sp_bench_file *f) {
  struct stat found;
  bool ours = false;
  if (stat(f->path, &found) != 0 || found.st_size == 0) return SP_OK;
  sp_hdf5_begin();
  const hid_t file = H5Fopen(f->path, H5F_ACC_RDONLY, H5P_DEFAULT);
  const sp_status status = file >= 0 ? check_program(file, &ours) : SP_OK;
  if (file >= 0) H5Fclose(file);
  (void)sp_hdf5_end(); /* an error means: no HDF5 file, or one without this attribute */
  if (status || ours) return status;
  return sp_fail(SP_ERR_INPUT,
                 "--output: %s exists and was not written by sp_bench; give another name", f->path);
}

/* Check the path; called on rank 0. */
static sp_status check_path(sp_bench_file *f) {
  if (!sp_path_is_replaceable(f->path))
    return sp_fail(SP_ERR_INPUT, "--output: %s is not a regular file; give another name", f->path);
  const sp_status status = sp_file_try(f->path);
  if (status) return sp_fail(status, "cannot write %s: %s", f->path, sp_error_message());
  return check_replaced(f);
}

static sp_status initialise(sp_bench_file *f, const char *path) {
  sp_status status = sp_format(&f->path, "%s", path);
  if (!status && f->rank == 0) status = check_path(f);
  SP_TRY(sp_agree(f->comm, status));
  SP_TRY(sp_list_hosts(f->comm, &f->hosts));
  sp_time_now(f->start_time);
  return write_file(f);
}

sp_status sp_bench_file_open(MPI_Comm comm, const char *path, const sp_bench_provenance *provenance,
                             sp_bench_file **out) {
  *out = NULL;
  sp_bench_file *f;
  sp_status status = sp_agree(comm, sp_allocate(1, sizeof *f, "results", &f));
  if (status) {
    free(f);
    return status;
  }
  f->comm = comm;
  f->provenance = provenance;
  f->status = "running";
  MPI_Comm_rank(comm, &f->rank);
  MPI_Comm_size(comm, &f->ranks);
  status = initialise(f, path);
  if (status)
    destroy(f);
  else
    *out = f;
  return status;
}

sp_status sp_bench_file_read(MPI_Comm comm, const char *path, sp_bench_file **out) {
  *out = NULL;
  sp_bench_file *f;
  sp_status status = sp_allocate(1, sizeof *f, "results", &f);
  if (!status) {
    f->comm = comm;
    MPI_Comm_rank(comm, &f->rank);
    status = sp_format(&f->path, "%s", path);
  }
  if (!status && f->rank == 0) status = read_file(f);
  status = sp_agree(comm, status);
  if (!status) status = share_rows(f);
  if (status)
    sp_bench_file_forget(&f);
  else
    *out = f;
  return status;
}

void sp_bench_file_forget(sp_bench_file **file) {
  if (*file) destroy(*file);
  *file = NULL;
}

const char *sp_bench_file_path(const sp_bench_file *file) {
  return file->path;
}

sp_status sp_bench_file_close(sp_bench_file **file, sp_status outcome) {
  if (!*file) return outcome;
  char message[1024];
  snprintf(message, sizeof message, "%s", outcome ? sp_error_message() : "complete");
  (*file)->status = message;
  const sp_status status = write_file(*file);
  destroy(*file);
  *file = NULL;
  return outcome ? sp_fail(outcome, "%s", message) : status;
}
