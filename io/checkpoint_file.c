#include "io/checkpoint_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hdf5.h>

#include "io/hdf5_file.h"
#include "io/hdf5_shared.h"

enum { FORMAT = 1 };

/* Rows in one write: far below 2 GiB, where counts in MPI-IO overflow. */
enum { BLOCK_ROWS = 1 << 20 };

static const char format_name[] = "sp_solve_checkpoint";
static const char *const vector_names[SP_CHECKPOINT_VECTORS] = {"x", "r", "p"};

/* The numbers of a header as attributes. */
static const struct {
  const char *name;
  size_t offset;
} integers[] = {{"mesh", offsetof(sp_checkpoint_header, mesh)},
                {"checksum", offsetof(sp_checkpoint_header, checksum)},
                {"dofs", offsetof(sp_checkpoint_header, dofs)},
                {"iteration", offsetof(sp_checkpoint_header, iteration)}},
  reals[] = {{"norm_b", offsetof(sp_checkpoint_header, norm_b)},
             {"residual", offsetof(sp_checkpoint_header, residual)},
             {"rz", offsetof(sp_checkpoint_header, rz)},
             {"beta", offsetof(sp_checkpoint_header, beta)}};
enum { INTEGERS = sizeof integers / sizeof *integers, REALS = sizeof reals / sizeof *reals };

/* ---- Writing ---- */

typedef struct contents {
  const sp_checkpoint_header *header;
  const sp_checkpoint_rows *rows;
} contents;

static void lay_out(int64_t file, const void *context) {
  const contents *c = context;
  const char *base = (const char *)c->header;
  sp_hdf5_attribute_integer(file, format_name, FORMAT);
  sp_hdf5_attribute_text(file, "case", c->header->case_text);
  for (int i = 0; i < INTEGERS; i++) {
    int64_t value;
    memcpy(&value, base + integers[i].offset, sizeof value);
    sp_hdf5_attribute_integer(file, integers[i].name, value);
  }
  for (int i = 0; i < REALS; i++) {
    double value;
    memcpy(&value, base + reals[i].offset, sizeof value);
    sp_hdf5_attribute_real(file, reals[i].name, value);
  }
  const int64_t shape[] = {c->header->dofs, 2};
  sp_hdf5_create_dataset(file, "dof", H5T_NATIVE_INT64, 2, shape);
  for (int v = 0; v < SP_CHECKPOINT_VECTORS; v++)
    sp_hdf5_create_dataset(file, vector_names[v], H5T_NATIVE_DOUBLE, 1, shape);
}

/* Rows of one dataset, of `columns` values of `size` bytes each, in either direction. */
typedef enum direction { READ, WRITE } direction;

static void transfer_rows(hid_t set, direction way, hid_t transfer, hid_t type, hsize_t columns,
                          size_t size, const sp_checkpoint_rows *rows, void *values) {
  const int dimensions = columns > 1 ? 2 : 1;
  const hid_t file_space = H5Dget_space(set);
  char *next = values;
  for (int64_t done = 0; done < rows->count && !sp_hdf5_failed(); done += BLOCK_ROWS) {
    const int64_t left = rows->count - done, count = left < BLOCK_ROWS ? left : BLOCK_ROWS;
    const hsize_t start[] = {(hsize_t)(rows->first + done), 0}, shape[] = {(hsize_t)count, columns};
    const hid_t memory_space = H5Screate_simple(dimensions, shape, NULL);
    H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, shape, NULL);
    if (way == WRITE)
      H5Dwrite(set, type, memory_space, file_space, transfer, next);
    else
      H5Dread(set, type, memory_space, file_space, transfer, next);
    H5Sclose(memory_space);
    next += (size_t)count * columns * size;
  }
  H5Sclose(file_space);
}

static void write_rows(int64_t file, int64_t transfer, const void *context) {
  const sp_checkpoint_rows *rows = ((const contents *)context)->rows;
  const hid_t names = H5Dopen2(file, "dof", H5P_DEFAULT);
  transfer_rows(names, WRITE, transfer, H5T_NATIVE_INT64, 2, sizeof(int64_t), rows, rows->names);
  H5Dclose(names);
  for (int v = 0; v < SP_CHECKPOINT_VECTORS; v++) {
    const hid_t set = H5Dopen2(file, vector_names[v], H5P_DEFAULT);
    transfer_rows(set, WRITE, transfer, H5T_NATIVE_DOUBLE, 1, sizeof(double), rows,
                  rows->values[v]);
    H5Dclose(set);
  }
}

sp_status sp_checkpoint_file_write(MPI_Comm comm, const char *path,
                                   const sp_checkpoint_header *header,
                                   const sp_checkpoint_rows *rows) {
  const contents c = {header, rows};
  const int64_t row =
      2 * (int64_t)sizeof(int64_t) + SP_CHECKPOINT_VECTORS * (int64_t)sizeof(double);
  return sp_hdf5_shared_write(
      comm, &(sp_hdf5_shared){.what = "checkpoint",
                              .path = path,
                              .bytes = header->dofs * row + (int64_t)strlen(header->case_text),
                              .lay_out = lay_out,
                              .write = write_rows,
                              .context = &c});
}

/* ---- Reading ---- */

static sp_status fail_read(const char *path, sp_status status) {
  return sp_fail(status, "cannot read checkpoint %s: %s", path, sp_error_message());
}

/* Every rank reads with the serial driver, so none waits for a rank that fails. Call between
 * sp_hdf5_begin and sp_hdf5_end. */
static hid_t open_file(const char *path) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_file_locking(access, false, true);
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
  H5Pclose(access);
  return file;
}

static sp_status end_reading(const char *path) {
  if (sp_hdf5_end() == SP_OK) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "cannot read checkpoint %s: %s; expected a whole file that sp_solve has written "
                 "as output.checkpoint",
                 path, sp_error_message());
}

/* An attribute of another type or size counts as missing. */
static void read_attribute(hid_t file, const char *name, hid_t type, void *value) {
  const hid_t id = H5Aopen(file, name, H5P_DEFAULT), space = H5Aget_space(id);
  if (H5Sget_simple_extent_npoints(space) == 1)
    H5Aread(id, type, value);
  else
    H5Aread(H5I_INVALID_HID, type, value);
  H5Sclose(space);
  H5Aclose(id);
}

static sp_status read_text(hid_t file, const char *name, char **out) {
  char *text = NULL;
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  read_attribute(file, name, type, &text);
  H5Tclose(type);
  if (!text) return SP_OK; /* HDF5 has failed; the caller sees it in sp_hdf5_end */
  const sp_status status = sp_allocate(strlen(text) + 1, 1, "the text of a checkpoint", out);
  if (status == SP_OK) strcpy(*out, text);
  H5free_memory(text);
  return status;
}

static sp_status check_header(const char *path, int64_t format,
                              const sp_checkpoint_header *header) {
  if (format != FORMAT)
    return sp_fail(SP_ERR_INPUT, "checkpoint %s has format %lld; this program reads format %d",
                   path, (long long)format, FORMAT);
  if (!header->case_text || header->dofs < 0 || header->iteration < 0)
    return sp_fail(SP_ERR_INPUT,
                   "checkpoint %s is damaged: %lld degrees of freedom, iteration %lld", path,
                   (long long)header->dofs, (long long)header->iteration);
  return SP_OK;
}

sp_status sp_checkpoint_file_header(const char *path, sp_checkpoint_header *header) {
  int64_t format = 0;
  *header = (sp_checkpoint_header){0};
  if (access(path, R_OK) != 0)
    return fail_read(path, sp_fail(SP_ERR_SYSTEM, "%s", strerror(errno)));
  sp_hdf5_begin();
  const hid_t file = open_file(path);
  read_attribute(file, format_name, H5T_NATIVE_INT64, &format);
  sp_status status = read_text(file, "case", &header->case_text);
  for (int i = 0; i < INTEGERS; i++)
    read_attribute(file, integers[i].name, H5T_NATIVE_INT64, (char *)header + integers[i].offset);
  for (int i = 0; i < REALS; i++)
    read_attribute(file, reals[i].name, H5T_NATIVE_DOUBLE, (char *)header + reals[i].offset);
  if (file >= 0) H5Fclose(file);
  if (status)
    status = fail_read(path, status);
  else
    status = end_reading(path);
  if (status == SP_OK) status = check_header(path, format, header);
  if (status != SP_OK) {
    free(header->case_text);
    header->case_text = NULL;
  }
  return status;
}

static void read_dataset(hid_t file, const char *name, hid_t type, hsize_t columns, size_t size,
                         int64_t dofs, const sp_checkpoint_rows *rows, void *values, bool *fits) {
  hsize_t shape[2] = {0, 1};
  const hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set);
  *fits = H5Sget_simple_extent_ndims(space) == (columns > 1 ? 2 : 1) &&
          H5Sget_simple_extent_dims(space, shape, NULL) > 0 && shape[0] == (hsize_t)dofs &&
          shape[1] == columns;
  if (*fits) transfer_rows(set, READ, H5P_DEFAULT, type, columns, size, rows, values);
  H5Sclose(space);
  H5Dclose(set);
}

sp_status sp_checkpoint_file_rows(const char *path, int64_t dofs, const sp_checkpoint_rows *rows) {
  bool fits;
  sp_hdf5_begin();
  const hid_t file = open_file(path);
  read_dataset(file, "dof", H5T_NATIVE_INT64, 2, sizeof(int64_t), dofs, rows, rows->names, &fits);
  for (int v = 0; v < SP_CHECKPOINT_VECTORS && fits; v++)
    read_dataset(file, vector_names[v], H5T_NATIVE_DOUBLE, 1, sizeof(double), dofs, rows,
                 rows->values[v], &fits);
  if (file >= 0) H5Fclose(file);
  SP_TRY(end_reading(path));
  if (!fits)
    return sp_fail(SP_ERR_INPUT,
                   "checkpoint %s is damaged: its vectors do not have %lld rows, as it says", path,
                   (long long)dofs);
  return SP_OK;
}
