#include "io/field_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hdf5.h>

#include "io/file.h"
#include "io/hdf5_file.h"

enum { LAGRANGE_HEXAHEDRON = 72 };

/* Room for HDF5's own data: headers, groups, the alignment of small datasets. */
enum { METADATA_BYTES = 1 << 16 };

/* Data are written in blocks of about this size. Far below 2 GiB, where counts in
 * MPI-IO overflow, and large enough that the cost per call to the file system is negligible. */
enum { BLOCK_BYTES = 8 << 20 };

void sp_vtk_hexahedron_order(int order, int *lattice) {
  /* The corners, edges, faces and the interior in VTK's order; one letter per axis selects its
   * lattice planes: 0 the first, N the last, . the inner ones. Within each entity, i runs fastest.
   */
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

/* Sizes of one piece, or sums over lower ranks or all ranks. */
typedef struct sizes {
  int64_t elements, points;
} sizes;

typedef struct piece {
  const sp_field_data *data;
  int rank, ranks;
  int64_t nodes; /* per element */
  sizes before, total;
  sizes *by_rank;
  int64_t *counts;
  int *lattice;
  void *block;
} piece;

typedef enum content { POINTS, CONNECTIVITY, OFFSETS, TYPES, VALUES } content;

/* A dataset that all ranks write. It consists of units (elements or points; Offsets has one more
 * per rank), each of `rows` rows of `columns` values. */
typedef struct dataset {
  content content;
  char path[128]; /* in the file */
  hid_t type;
  int64_t value_size, rows, columns;
  int64_t units, first, total;
  const void *values; /* as in the file, or NULL: fill_block computes them */
} dataset;

static int dataset_count(const piece *p) {
  return VALUES + p->data->value_count;
}

static dataset describe_dataset(const piece *p, int index) {
  static const char *const names[] = {[POINTS] = "Points",
                                      [CONNECTIVITY] = "Connectivity",
                                      [OFFSETS] = "Offsets",
                                      [TYPES] = "Types"};
  const sp_field_data *data = p->data;
  const sp_field_values *values = index < VALUES ? NULL : &data->values[index - VALUES];
  dataset d = {.content = values ? VALUES : (content)index,
               .type = H5T_NATIVE_INT64,
               .value_size = sizeof(int64_t),
               .rows = 1,
               .columns = 1,
               .units = data->elements,
               .first = p->before.elements,
               .total = p->total.elements};
  if (d.content == POINTS || (values && !values->of_elements)) {
    d.units = data->points;
    d.first = p->before.points;
    d.total = p->total.points;
  }
  switch (d.content) {
  case POINTS:
    d.type = H5T_NATIVE_DOUBLE;
    d.columns = 3;
    d.values = data->coordinates;
    break;
  case CONNECTIVITY:
    d.rows = p->nodes;
    break;
  case OFFSETS:
    d.units += 1;
    d.first += p->rank;
    d.total += p->ranks;
    break;
  case TYPES:
    d.type = H5T_NATIVE_UINT8;
    d.value_size = 1;
    break;
  case VALUES:
    if (!values->integers) d.type = H5T_NATIVE_DOUBLE;
    d.columns = values->columns;
    d.values = values->values;
    break;
  }
  snprintf(d.path, sizeof d.path, "/VTKHDF/%s%s",
           !values               ? ""
           : values->of_elements ? "CellData/"
                                 : "PointData/",
           values ? values->name : names[index]);
  return d;
}

static void write_attribute(hid_t group, const char *name, hid_t type, hid_t space,
                            const void *value) {
  const hid_t attribute = H5Acreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(attribute, type, value);
  H5Aclose(attribute);
}

static void write_list(hid_t group, const char *name, hid_t type, int count, const void *values) {
  const hid_t space = H5Screate_simple(1, (hsize_t[]){(hsize_t)count}, NULL);
  const hid_t set = H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  H5Dclose(set);
  H5Sclose(space);
}

/* One number per rank: `factor` times its elements or points. */
static void write_counts(hid_t group, const char *name, const piece *p, bool points,
                         int64_t factor) {
  for (int rank = 0; rank < p->ranks; rank++)
    p->counts[rank] = factor * (points ? p->by_rank[rank].points : p->by_rank[rank].elements);
  write_list(group, name, H5T_NATIVE_INT64, p->ranks, p->counts);
}

static void write_texts(hid_t root, const sp_field_data *data) {
  const hid_t group = H5Gcreate2(root, "FieldData", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, H5T_VARIABLE);
  write_list(group, data->text_name, text, data->text_count, data->texts);
  H5Tclose(text);
  H5Gclose(group);
}

/* Create a dataset: its space in the file is allocated but not written. */
static void create_dataset(hid_t file, const dataset *set) {
  const hsize_t shape[] = {(hsize_t)(set->total * set->rows), (hsize_t)set->columns};
  const hid_t space = H5Screate_simple(set->columns > 1 ? 2 : 1, shape, NULL);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
  H5Dclose(H5Dcreate2(file, set->path, set->type, space, H5P_DEFAULT, creation, H5P_DEFAULT));
  H5Pclose(creation);
  H5Sclose(space);
}

/* Write the small datasets, and allocate space for the large ones. */
static void create_contents(hid_t file, const piece *p) {
  const hid_t root = H5Gcreate2(file, "VTKHDF", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t one = H5Screate(H5S_SCALAR), two = H5Screate_simple(1, (hsize_t[]){2}, NULL);
  write_attribute(root, "Version", H5T_NATIVE_INT64, two, (int64_t[]){1, 0});
  static const char kind[] = "UnstructuredGrid";
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, sizeof kind - 1);
  H5Tset_strpad(text, H5T_STR_NULLPAD);
  write_attribute(root, "Type", text, one, kind);
  H5Tclose(text);
  H5Sclose(two);
  H5Sclose(one);
  write_counts(root, "NumberOfPoints", p, true, 1);
  write_counts(root, "NumberOfConnectivityIds", p, false, p->nodes);
  write_counts(root, "NumberOfCells", p, false, 1);
  H5Gclose(H5Gcreate2(root, "PointData", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Gclose(H5Gcreate2(root, "CellData", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  if (p->data->text_count > 0) write_texts(root, p->data);
  H5Gclose(root);
  for (int index = 0; index < dataset_count(p); index++) {
    const dataset set = describe_dataset(p, index);
    create_dataset(file, &set);
  }
}

static int64_t file_bytes(const piece *p) {
  const int count = dataset_count(p);
  int64_t bytes = METADATA_BYTES + (int64_t)count * 1024 + 3 * 8 * (int64_t)p->ranks;
  /* HDF5 keeps texts in heaps of at least 4 KiB, with a reference and a header for each. */
  for (int t = 0; t < p->data->text_count; t++) bytes += 4096 + (int64_t)strlen(p->data->texts[t]);
  for (int index = 0; index < count; index++) {
    const dataset set = describe_dataset(p, index);
    bytes += set.total * set.rows * set.columns * set.value_size;
  }
  return bytes;
}

/* Block <- `count` units from local unit `first` on. */
static void fill_block(const piece *p, const dataset *set, int64_t first, int64_t count) {
  const int64_t n = p->nodes;
  int64_t *integers = p->block;
  if (set->content == CONNECTIVITY) { /* counted from the start of the piece */
    for (int64_t e = first; e < first + count; e++)
      for (int64_t q = 0; q < n; q++) *integers++ = p->data->nodes[e * n + p->lattice[q]];
  } else if (set->content == OFFSETS) {
    for (int64_t u = 0; u < count; u++) integers[u] = (first + u) * n;
  } else {
    memset(p->block, LAGRANGE_HEXAHEDRON, (size_t)count);
  }
}

/* Write the local part of `set`, block by block. */
static void write_dataset(hid_t file, const piece *p, const dataset *set, hid_t transfer) {
  const int64_t unit_bytes = set->rows * set->columns * set->value_size;
  const int64_t units_per_block = BLOCK_BYTES / unit_bytes;
  const int dimensions = set->columns > 1 ? 2 : 1;
  const hid_t id = H5Dopen2(file, set->path, H5P_DEFAULT);
  const hid_t file_space = H5Dget_space(id);
  for (int64_t first = 0; first < set->units && !sp_hdf5_failed(); first += units_per_block) {
    const int64_t left = set->units - first;
    const int64_t count = left < units_per_block ? left : units_per_block;
    const void *block = p->block;
    if (set->values)
      block = (const char *)set->values + first * unit_bytes;
    else
      fill_block(p, set, first, count);
    const hsize_t start[] = {(hsize_t)((set->first + first) * set->rows), 0};
    const hsize_t shape[] = {(hsize_t)(count * set->rows), (hsize_t)set->columns};
    const hid_t memory_space = H5Screate_simple(dimensions, shape, NULL);
    H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, shape, NULL);
    H5Dwrite(id, set->type, memory_space, file_space, transfer, block);
    H5Sclose(memory_space);
  }
  H5Sclose(file_space);
  H5Dclose(id);
}

/* ---- The file ---- */

/* Rank 0 creates a temporary file beside the target (io/file.h) and reserves disk space for all of
 * it; then every rank writes its parts; sync, and rename it. So no rank changes metadata or the
 * size of the file while others write, and a full disk is detected on rank 0, outside of any
 * collective call. Ranks write independently. A part is one range of bytes per dataset, so
 * aggregation would gain nothing, and if a collective write fails on one rank only, ROMIO leaves
 * the other ranks waiting. */

/* With the serial driver. */
static sp_status lay_out(const char *path, const piece *p) {
  SP_TRY(sp_file_reserve(path, file_bytes(p)));
  sp_hdf5_begin();
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  /* No lock: the file is new, and some parallel file systems have no locks. */
  H5Pset_file_locking(access, false, true);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose(access);
  create_contents(file, p);
  hsize_t size = 0;
  H5Fflush(file, H5F_SCOPE_LOCAL);
  H5Fget_filesize(file, &size);
  H5Fclose(file);
  SP_TRY(sp_hdf5_end());
  return sp_file_reserve(path, (int64_t)size);
}

/* Open and close the file on this rank only. If one rank fails in a collective MPI_File_open
 * (folder not shared, no memory), Open MPI 4.1 leaves the others waiting. */
static sp_status try_open(const char *path) {
  MPI_File file;
  SP_TRY(sp_file_check(path));
  if (MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS)
    return sp_fail(SP_ERR_SYSTEM, "MPI cannot open it");
  MPI_File_close(&file);
  return SP_OK;
}

static sp_status write_parts(MPI_Comm comm, const char *path, const piece *p) {
  SP_TRY(sp_agree(comm, try_open(path)));
  sp_hdf5_begin();
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, comm, MPI_INFO_NULL);
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, access);
  H5Pclose(access);
  const sp_status status = sp_agree(comm, sp_hdf5_end());
  sp_hdf5_begin();
  const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_INDEPENDENT);
  for (int index = 0; index < dataset_count(p) && !status; index++) {
    const dataset set = describe_dataset(p, index);
    write_dataset(file, p, &set, transfer);
  }
  H5Pclose(transfer);
  if (file >= 0) H5Fclose(file);
  const sp_status written = sp_hdf5_end();
  return status ? status : sp_agree(comm, written);
}

/* All ranks use the names of rank 0. */
static sp_status agree_on_names(MPI_Comm comm, int rank, const char *path, sp_file_names *names) {
  sp_status status = rank == 0 ? sp_file_names_create(path, names) : SP_OK;
  SP_TRY(sp_agree(comm, status));
  int size = rank == 0 ? (int)strlen(names->temporary) + 1 : 0;
  MPI_Bcast(&size, 1, MPI_INT, 0, comm);
  if (rank > 0) status = sp_allocate((size_t)size, 1, "a file name", &names->temporary);
  SP_TRY(sp_agree(comm, status));
  MPI_Bcast(names->temporary, size, MPI_CHAR, 0, comm);
  return SP_OK;
}

static sp_status write_file(MPI_Comm comm, const char *path, const piece *p) {
  const bool first = p->rank == 0;
  sp_file_names names = {0};
  sp_status status = agree_on_names(comm, p->rank, path, &names);
  if (!status) {
    status = sp_agree(comm, first ? lay_out(names.temporary, p) : SP_OK);
    if (!status) status = write_parts(comm, names.temporary, p);
    if (!status) status = sp_agree(comm, sp_file_sync(names.temporary));
    if (!status)
      status = sp_agree(comm, first ? sp_file_rename(names.temporary, names.target) : SP_OK);
    if (status && first) unlink(names.temporary);
  }
  sp_file_names_free(&names);
  return status;
}

/* Local. */
static sp_status prepare_piece(piece *p) {
  SP_TRY(SP_ALLOCATE("sizes of pieces", SP_ARRAY(p->by_rank, p->ranks),
                     SP_ARRAY(p->counts, p->ranks), SP_ARRAY(p->lattice, p->nodes)));
  sp_vtk_hexahedron_order(p->data->order, p->lattice);
  return sp_allocate(BLOCK_BYTES, 1, "a block of the field file", &p->block);
}

sp_status sp_field_file_write(MPI_Comm comm, const char *path, const sp_field_data *data) {
  const int64_t n = data->order + 1;
  piece p = {
      .data = data, .nodes = n * n * n, .rank = sp_comm_rank(comm), .ranks = sp_comm_size(comm)};
  sp_status status = sp_agree(comm, prepare_piece(&p));
  if (!status) {
    const sizes mine = {data->elements, data->points};
    MPI_Allgather(&mine, 2, MPI_INT64_T, p.by_rank, 2, MPI_INT64_T, comm);
    for (int rank = 0; rank < p.ranks; rank++) {
      if (rank == p.rank) p.before = p.total;
      p.total.elements += p.by_rank[rank].elements;
      p.total.points += p.by_rank[rank].points;
    }
    status = write_file(comm, path, &p);
  }
  SP_FREE(p.by_rank, p.counts, p.lattice, p.block);
  return status ? sp_fail(status, "cannot write field %s: %s", path, sp_error_message()) : SP_OK;
}
