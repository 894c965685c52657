#include "io/field_file.h"

#include <stdlib.h>

#include <hdf5.h>

#include "io/hdf5_file.h"
#include "io/hdf5_shared.h"

enum { LAGRANGE_HEXAHEDRON = 72 };

/* Elements are reordered and written in blocks of about this size. Far below 2 GiB, where counts in
 * MPI-IO overflow, and large enough that the cost per call to the file system is negligible. */
enum { BLOCK_BYTES = 8 << 20 };

void sp_vtk_hexahedron_order(int order, int *lattice) {
  /* The corners, edges, faces and the interior in VTK's order; one letter per axis says which
   * lattice planes belong to it: 0 the first, N the last, . those between. Within each entity, i
   * runs fastest. */
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

/* The local piece, and its offset among the pieces of all ranks. */
typedef struct piece {
  int rank, ranks;
  int64_t points_per_element;
  int64_t elements, first, total; /* local, on lower ranks, on all ranks */
  int64_t *elements_by_rank, *counts;
  int *lattice;
  void *block;
  const double *points;
  int field_count;
  const char *const *names;
  const double *const *fields;
} piece;

typedef enum content { POINTS, CONNECTIVITY, OFFSETS, TYPES, FIELD } content;

/* A dataset that all ranks write. It consists of units (elements; Offsets has one more per rank),
 * each of `rows` rows of `columns` values. */
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

static void write_counts(hid_t group, const char *name, const piece *p, int64_t factor) {
  for (int rank = 0; rank < p->ranks; rank++) p->counts[rank] = factor * p->elements_by_rank[rank];
  const hid_t space = H5Screate_simple(1, (hsize_t[]){(hsize_t)p->ranks}, NULL);
  const hid_t set =
      H5Dcreate2(group, name, H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, p->counts);
  H5Dclose(set);
  H5Sclose(space);
}

/* Create everything; of the large datasets only the space in the file. */
static void lay_out(int64_t file, const void *context) {
  const piece *p = context;
  const hid_t root = H5Gcreate2(file, "VTKHDF", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t two = H5Screate_simple(1, (hsize_t[]){2}, NULL);
  write_attribute(root, "Version", H5T_NATIVE_INT64, two, (int64_t[]){1, 0});
  static const char kind[] = "UnstructuredGrid";
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, sizeof kind - 1);
  H5Tset_strpad(text, H5T_STR_NULLPAD);
  write_attribute(root, "Type", text, H5Screate(H5S_SCALAR), kind);
  H5Tclose(text);
  write_counts(root, "NumberOfPoints", p, p->points_per_element);
  write_counts(root, "NumberOfConnectivityIds", p, p->points_per_element);
  write_counts(root, "NumberOfCells", p, 1);
  H5Gclose(H5Gcreate2(root, "PointData", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Gclose(root);
  for (int index = 0; index < FIELD + p->field_count; index++) {
    const dataset set = describe(p, index);
    const hid_t group = H5Gopen2(file, set.group, H5P_DEFAULT);
    sp_hdf5_create_dataset(group, set.name, set.type, set.columns > 1 ? 2 : 1,
                           (int64_t[]){set.total * set.rows, set.columns});
    H5Gclose(group);
  }
}

static int64_t file_bytes(const piece *p) {
  const int count = FIELD + p->field_count;
  int64_t bytes = (int64_t)count * 1024 + 3 * 8 * (int64_t)p->ranks;
  for (int index = 0; index < count; index++) {
    const dataset set = describe(p, index);
    bytes += set.total * set.rows * set.columns * set.value_size;
  }
  return bytes;
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

static void write_datasets(int64_t file, int64_t transfer, const void *context) {
  const piece *p = context;
  for (int index = 0; index < FIELD + p->field_count; index++) {
    const dataset set = describe(p, index);
    write_dataset(file, p, &set, index < FIELD ? p->points : p->fields[index - FIELD], transfer);
  }
}

/* Local. */
static sp_status prepare(piece *p, int order) {
  const int64_t n = p->points_per_element;
  SP_TRY(sp_allocate((size_t)p->ranks, sizeof *p->elements_by_rank, "sizes of pieces",
                     &p->elements_by_rank));
  SP_TRY(sp_allocate((size_t)p->ranks, sizeof *p->counts, "sizes of pieces", &p->counts));
  SP_TRY(sp_allocate((size_t)n, sizeof *p->lattice, "the order of points", &p->lattice));
  sp_vtk_hexahedron_order(order, p->lattice);
  return sp_allocate(BLOCK_BYTES, 1, "a block of the field file", &p->block);
}

sp_status sp_field_file_write(MPI_Comm comm, const char *path, int order, int64_t elements,
                              const double *points, int field_count, const char *const *names,
                              const double *const *fields) {
  const int64_t n = order + 1;
  piece p = {.points_per_element = n * n * n,
             .elements = elements,
             .points = points,
             .field_count = field_count,
             .names = names,
             .fields = fields};
  MPI_Comm_rank(comm, &p.rank);
  MPI_Comm_size(comm, &p.ranks);
  sp_status status = sp_agree(comm, prepare(&p, order));
  if (status == SP_OK) {
    MPI_Allgather(&elements, 1, MPI_INT64_T, p.elements_by_rank, 1, MPI_INT64_T, comm);
    for (int rank = 0; rank < p.ranks; rank++) {
      if (rank < p.rank) p.first += p.elements_by_rank[rank];
      p.total += p.elements_by_rank[rank];
    }
    status = sp_hdf5_shared_write(comm, &(sp_hdf5_shared){.what = "field",
                                                          .path = path,
                                                          .bytes = file_bytes(&p),
                                                          .lay_out = lay_out,
                                                          .write = write_datasets,
                                                          .context = &p});
  } else {
    status = sp_fail(status, "cannot write field %s: %s", path, sp_error_message());
  }
  free(p.elements_by_rank);
  free(p.counts);
  free(p.lattice);
  free(p.block);
  return status;
}

/* A block of the largest data set, the points. */
double sp_field_file_predicted_bytes(double points) {
  const double largest = 3 * sizeof(double) * points;
  return largest < BLOCK_BYTES ? largest : BLOCK_BYTES;
}
