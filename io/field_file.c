#include "io/field_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include <hdf5.h>

#include "io/hdf5_file.h"

enum { LAGRANGE_HEXAHEDRON = 72 };

/* Elements are reordered and written in blocks of about this size. Far below the 2 GiB at which
 * counts in MPI-IO overflow, and large enough that a call to the file system costs nothing. */
enum { BLOCK_BYTES = 8 << 20 };

/* Room for what HDF5 adds to the data: headers, groups, the small datasets' alignment. */
enum { METADATA_BYTES = 1 << 16 };

void sp_vtk_hexahedron_order(int order, int *lattice) {
  /* The corners, edges, faces and the interior in VTK's order; a letter an axis says which lattice
   * planes belong: 0 the first, N the last, . the open interval between them. Within each, the
   * points run over the lattice with i fastest. */
  static const char parts[][4] = {
      "000", "N00", "NN0", "0N0", "00N", "N0N", "NNN", "0NN", /* corners */
      ".00", "N.0", ".N0", "0.0", ".0N", "N.N", ".NN", "0.N",
      "00.", "N0.", "NN.", "0N.",               /* edges */
      "0..", "N..", ".0.", ".N.", "..0", "..N", /* faces */
      "..."};
  const int n = order + 1;
  for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++) {
    int first[3], last[3];
    for (int d = 0; d < 3; d++) {
      const char planes = parts[part][d];
      first[d] = planes == '.' ? 1 : planes == 'N' ? order : 0;
      last[d] = planes == '.' ? order - 1 : first[d];
    }
    for (int k = first[2]; k <= last[2]; k++)
      for (int j = first[1]; j <= last[1]; j++)
        for (int i = first[0]; i <= last[0]; i++) *lattice++ = i + n * (j + n * k);
  }
}

/* The local piece and its place among those of the other ranks. */
typedef struct piece {
  MPI_Comm comm;
  int rank, ranks;
  int64_t points_per_element;
  int64_t elements, first, total; /* local, on lower ranks, on all ranks */
  int64_t *elements_by_rank;
  int *lattice;
  void *block;
  int field_count;
  const char *const *names;
} piece;

typedef enum content { POINTS, CONNECTIVITY, OFFSETS, TYPES, FIELD } content;

/* A dataset that all ranks write. It consists of units (elements; in offsets one more a rank), each
 * of `rows` rows of `columns` values. */
typedef struct dataset {
  content content;
  const char *group, *name;
  hid_t type;
  int64_t value_size, rows, columns;
  int64_t units, first, total;
} dataset;

static dataset describe(const piece *p, int index) {
  dataset d = {.content = index < FIELD ? (content)index : FIELD,
               .group = "/VTKHDF",
               .type = H5T_NATIVE_INT64,
               .value_size = sizeof(int64_t),
               .rows = 1,
               .columns = 1,
               .units = p->elements,
               .first = p->first,
               .total = p->total};
  switch (d.content) {
  case POINTS:
    d.name = "Points";
    d.type = H5T_NATIVE_DOUBLE;
    d.rows = p->points_per_element;
    d.columns = 3;
    break;
  case CONNECTIVITY:
    d.name = "Connectivity";
    d.rows = p->points_per_element;
    break;
  case OFFSETS:
    d.name = "Offsets";
    d.units += 1;
    d.first += p->rank;
    d.total += p->ranks;
    break;
  case TYPES:
    d.name = "Types";
    d.type = H5T_NATIVE_UINT8;
    d.value_size = 1;
    break;
  case FIELD:
    d.group = "/VTKHDF/PointData";
    d.name = p->names[index - FIELD];
    d.type = H5T_NATIVE_DOUBLE;
    d.rows = p->points_per_element;
    break;
  }
  return d;
}

static void write_attribute(hid_t group, const char *name, hid_t type, hid_t space,
                            const void *value) {
  const hid_t attribute = H5Acreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(attribute, type, value);
  H5Aclose(attribute);
  H5Sclose(space);
}

static void write_counts(hid_t group, const char *name, const piece *p, int64_t factor,
                         int64_t *counts) {
  for (int rank = 0; rank < p->ranks; rank++) counts[rank] = factor * p->elements_by_rank[rank];
  const hid_t space = H5Screate_simple(1, (hsize_t[]){(hsize_t)p->ranks}, NULL);
  const hid_t set =
      H5Dcreate2(group, name, H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts);
  H5Dclose(set);
  H5Sclose(space);
}

/* Create `set` with its place in the file fixed, but not written. */
static void create_dataset(hid_t file, const dataset *set) {
  const hsize_t shape[] = {(hsize_t)(set->total * set->rows), (hsize_t)set->columns};
  const hid_t space = H5Screate_simple(set->columns > 1 ? 2 : 1, shape, NULL);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
  const hid_t group = H5Gopen2(file, set->group, H5P_DEFAULT);
  H5Dclose(H5Dcreate2(group, set->name, set->type, space, H5P_DEFAULT, creation, H5P_DEFAULT));
  H5Gclose(group);
  H5Pclose(creation);
  H5Sclose(space);
}

/* Write everything but the large datasets, which are laid out only. One rank does this, with the
 * serial driver, and claims the disk space for all of it: so no rank changes metadata or the size
 * of the file while others write, and a full disk shows here and not in a collective call, where a
 * failure of one rank could leave the others waiting. */
static sp_status create_file(const char *path, const piece *p) {
  const int count = FIELD + p->field_count;
  int64_t bytes = METADATA_BYTES + (int64_t)count * 1024 + 3 * 8 * (int64_t)p->ranks;
  for (int index = 0; index < count; index++) {
    const dataset set = describe(p, index);
    bytes += set.total * set.rows * set.columns * set.value_size;
  }
  SP_TRY(sp_file_reserve(path, bytes));
  int64_t *counts;
  SP_TRY(sp_allocate((size_t)p->ranks, sizeof *counts, "sizes of pieces", &counts));

  sp_hdf5_begin();
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  /* Nobody else uses this file yet, and some parallel file systems refuse locks. */
  H5Pset_file_locking(access, false, true);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose(access);
  const hid_t root = H5Gcreate2(file, "VTKHDF", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t two = H5Screate_simple(1, (hsize_t[]){2}, NULL);
  write_attribute(root, "Version", H5T_NATIVE_INT64, two, (int64_t[]){1, 0});
  static const char kind[] = "UnstructuredGrid";
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, sizeof kind - 1);
  H5Tset_strpad(text, H5T_STR_NULLPAD);
  write_attribute(root, "Type", text, H5Screate(H5S_SCALAR), kind);
  H5Tclose(text);
  write_counts(root, "NumberOfPoints", p, p->points_per_element, counts);
  write_counts(root, "NumberOfConnectivityIds", p, p->points_per_element, counts);
  write_counts(root, "NumberOfCells", p, 1, counts);
  H5Gclose(H5Gcreate2(root, "PointData", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Gclose(root);
  for (int index = 0; index < count; index++) {
    const dataset set = describe(p, index);
    create_dataset(file, &set);
  }
  hsize_t size = 0;
  H5Fflush(file, H5F_SCOPE_LOCAL);
  H5Fget_filesize(file, &size);
  H5Fclose(file);
  free(counts);
  SP_TRY(sp_hdf5_end());
  return sp_file_reserve(path, (int64_t)size);
}

/* Block <- `count` units from local unit `first` on, in VTK's order. */
static void fill_block(const piece *p, const dataset *set, const double *values, int64_t first,
                       int64_t count) {
  const int64_t n = p->points_per_element;
  int64_t *integers = p->block;
  double *reals = p->block;
  unsigned char *types = p->block;
  switch (set->content) {
  case POINTS:
  case FIELD:
    for (int64_t e = first; e < first + count; e++)
      for (int64_t q = 0; q < n; q++)
        for (int64_t c = 0; c < set->columns; c++)
          *reals++ = values[(e * n + p->lattice[q]) * set->columns + c];
    break;
  case CONNECTIVITY: /* counted from the start of the piece */
    for (int64_t q = 0; q < count * n; q++) integers[q] = first * n + q;
    break;
  case OFFSETS:
    for (int64_t u = 0; u < count; u++) integers[u] = (first + u) * n;
    break;
  case TYPES:
    for (int64_t u = 0; u < count; u++) types[u] = LAGRANGE_HEXAHEDRON;
    break;
  }
}

/* Write the local part of `set`, block by block. */
static void write_dataset(hid_t file, const piece *p, const dataset *set, const double *values,
                          hid_t transfer) {
  const int64_t unit_bytes = set->rows * set->columns * set->value_size;
  const int64_t units_per_block = BLOCK_BYTES / unit_bytes;
  const int dimensions = set->columns > 1 ? 2 : 1;
  const hid_t group = H5Gopen2(file, set->group, H5P_DEFAULT);
  const hid_t id = H5Dopen2(group, set->name, H5P_DEFAULT);
  const hid_t file_space = H5Dget_space(id);
  for (int64_t first = 0; first < set->units && !sp_hdf5_failed(); first += units_per_block) {
    const int64_t left = set->units - first;
    const int64_t count = left < units_per_block ? left : units_per_block;
    fill_block(p, set, values, first, count);
    const hsize_t start[] = {(hsize_t)((set->first + first) * set->rows), 0};
    const hsize_t shape[] = {(hsize_t)(count * set->rows), (hsize_t)set->columns};
    const hid_t memory_space = H5Screate_simple(dimensions, shape, NULL);
    H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, shape, NULL);
    H5Dwrite(id, set->type, memory_space, file_space, transfer, p->block);
    H5Sclose(memory_space);
  }
  H5Sclose(file_space);
  H5Dclose(id);
  H5Gclose(group);
}

/* All ranks open the file and write their parts. The writes themselves are independent: a part is
 * one range of bytes a dataset, so aggregation has nothing to win, and where a collective write
 * fails on one rank only, some MPI libraries (ROMIO) leave the others waiting. Collective. */
static sp_status write_pieces(const char *path, const piece *p, const double *points,
                              const double *const *fields) {
  /* Where a rank cannot open the file (a folder that not all machines share), Open MPI 4.1 leaves
   * the others waiting in MPI_File_open. */
  sp_status status = sp_agree(p->comm, sp_file_check(path));
  if (status != SP_OK) return status;

  sp_hdf5_begin();
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, p->comm, MPI_INFO_NULL);
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, access);
  H5Pclose(access);
  status = sp_agree(p->comm, sp_hdf5_end());

  sp_hdf5_begin();
  if (status == SP_OK) {
    const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_INDEPENDENT);
    for (int index = 0; index < FIELD + p->field_count; index++) {
      const dataset set = describe(p, index);
      write_dataset(file, p, &set, index < FIELD ? points : fields[index - FIELD], transfer);
    }
    H5Pclose(transfer);
  }
  if (file >= 0) H5Fclose(file);
  const sp_status written = sp_hdf5_end();
  return status == SP_OK ? sp_agree(p->comm, written) : status;
}

/* Local. */
static sp_status prepare(piece *p, const char *path, int order, char **temporary) {
  const int64_t n = p->points_per_element;
  SP_TRY(sp_file_temporary_name(path, temporary));
  SP_TRY(sp_allocate((size_t)p->ranks, sizeof *p->elements_by_rank, "sizes of pieces",
                     &p->elements_by_rank));
  SP_TRY(sp_allocate((size_t)n, sizeof *p->lattice, "the order of points", &p->lattice));
  sp_vtk_hexahedron_order(order, p->lattice);
  return sp_allocate(BLOCK_BYTES, 1, "a block of the field file", &p->block);
}

sp_status sp_field_file_check(MPI_Comm comm, const char *path) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  sp_status status = SP_OK;
  if (rank == 0) {
    char *temporary = NULL;
    status = sp_file_temporary_name(path, &temporary);
    if (status == SP_OK) status = sp_file_write(temporary, "", 0);
    if (status == SP_OK) unlink(temporary);
    free(temporary);
    if (status != SP_OK)
      status = sp_fail(status, "cannot write field %s: %s", path, sp_error_message());
  }
  return sp_agree(comm, status);
}

sp_status sp_field_file_write(MPI_Comm comm, const char *path, int order, int64_t elements,
                              const double *points, int field_count, const char *const *names,
                              const double *const *fields) {
  const int64_t n = order + 1;
  piece p = {.comm = comm,
             .points_per_element = n * n * n,
             .elements = elements,
             .field_count = field_count,
             .names = names};
  MPI_Comm_rank(comm, &p.rank);
  MPI_Comm_size(comm, &p.ranks);
  char *temporary = NULL;
  sp_status status = sp_agree(comm, prepare(&p, path, order, &temporary));
  if (status == SP_OK) {
    MPI_Allgather(&elements, 1, MPI_INT64_T, p.elements_by_rank, 1, MPI_INT64_T, comm);
    for (int rank = 0; rank < p.ranks; rank++) {
      if (rank < p.rank) p.first += p.elements_by_rank[rank];
      p.total += p.elements_by_rank[rank];
    }
    status = sp_agree(comm, p.rank == 0 ? create_file(temporary, &p) : SP_OK);
    if (status == SP_OK) status = write_pieces(temporary, &p, points, fields);
    if (status == SP_OK) status = sp_agree(comm, sp_file_sync(temporary));
    if (status == SP_OK)
      status = sp_agree(comm, p.rank == 0 ? sp_file_rename(temporary, path) : SP_OK);
    if (status != SP_OK && p.rank == 0) unlink(temporary);
  }
  free(temporary);
  free(p.elements_by_rank);
  free(p.lattice);
  free(p.block);
  if (status == SP_OK) return SP_OK;
  return sp_fail(status, "cannot write field %s: %s", path, sp_error_message());
}
