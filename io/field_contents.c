#include "io/field_contents.h"

#include <stdio.h>
#include <string.h>

#include "io/hdf5_file.h"

enum { LAGRANGE_HEXAHEDRON = 72 };

/* Room for HDF5's own data: headers, groups, the alignment of small datasets. */
enum { METADATA_BYTES = 1 << 16 };

/* Values of a state are in chunks of at most this many rows (HDF5 allows 4 GiB). Up to twice
 * SP_FIELD_CHUNKS chunks, their index is one node. */
enum { CHUNK_ROWS = 1 << 24, LIST_ROWS = 512, LIST_BYTES = 2 * 8 * LIST_ROWS };
enum { SERIES_BYTES = 1 << 17 }; /* more than an index */

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

typedef enum content { POINTS, CONNECTIVITY, OFFSETS, TYPES, VALUES } content;

/* A dataset that all ranks write. It consists of units (elements or points; Offsets has one more
 * per rank), each of `rows` rows of `columns` values. */
typedef struct dataset {
  content content;
  char path[128]; /* in the file */
  hid_t type;
  int64_t value_size, rows, columns;
  int64_t units, first, total; /* first: of this rank in the file */
  int64_t chunk;               /* rows, if the dataset grows; else 0 */
  const void *values;          /* as in the file, or NULL: fill_block computes them */
  const char *unit;            /* NULL or "": none */
} dataset;

static int dataset_count(const sp_field_piece *p) {
  return VALUES + p->data->value_count;
}

/* Rows of a chunk, and from one state to the next. */
static int64_t chunk_rows(const sp_field_piece *p) {
  const int64_t chunks = p->total.points / CHUNK_ROWS + 1;
  const int64_t rows = (p->total.points + chunks - 1) / chunks;
  return rows > 0 ? rows : 1;
}

static int64_t state_rows(const sp_field_piece *p) {
  return chunk_rows(p) * (p->total.points / CHUNK_ROWS + 1);
}

/* Place the values of a state behind the previous state, or beside it if they are kept. */
static void place_state(const sp_field_piece *p, bool kept, dataset *d) {
  if (kept) {
    d->first += p->states % SP_FIELD_KEPT_STATES * d->total;
    d->total *= SP_FIELD_KEPT_STATES;
  } else {
    d->first += p->states * state_rows(p);
    d->total = (p->states + 1) * state_rows(p);
    d->chunk = chunk_rows(p);
  }
}

/* True if the dataset has a part per state. */
static bool is_of_state(const sp_field_piece *p, int index) {
  return p->state && index >= VALUES && !p->data->values[index - VALUES].of_elements;
}

static dataset describe_dataset(const sp_field_piece *p, int index) {
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
    d.unit = data->unit;
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
    d.unit = values->unit;
    break;
  }
  if (is_of_state(p, index)) place_state(p, values->kept, &d);
  snprintf(d.path, sizeof d.path, "%s%s",
           !values               ? "/VTKHDF/"
           : values->kept        ? "/restart/"
           : values->of_elements ? "/VTKHDF/CellData/"
                                 : "/VTKHDF/PointData/",
           values ? values->name : names[index]);
  return d;
}

static void write_list(hid_t group, const char *name, hid_t type, int count, const void *values) {
  const hid_t space = H5Screate_simple(1, (hsize_t[]){(hsize_t)count}, NULL);
  const hid_t set = H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  H5Dclose(set);
  H5Sclose(space);
}

/* One number per rank: `factor` times its elements or points. */
static void write_counts(hid_t group, const char *name, const sp_field_piece *p, bool points,
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
  const int dimensions = set->columns > 1 ? 2 : 1;
  const hsize_t shape[] = {(hsize_t)(set->total * set->rows), (hsize_t)set->columns};
  const hsize_t most[] = {H5S_UNLIMITED, (hsize_t)set->columns};
  const hsize_t chunk[] = {(hsize_t)set->chunk, (hsize_t)set->columns};
  const hid_t space = H5Screate_simple(dimensions, shape, set->chunk > 0 ? most : NULL);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  if (set->chunk > 0) H5Pset_chunk(creation, dimensions, chunk);
  H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
  const hid_t id =
      H5Dcreate2(file, set->path, set->type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  if (set->unit && set->unit[0]) {
    const hid_t text = sp_hdf5_text_type(strlen(set->unit));
    sp_hdf5_attribute(id, "units", text, 0, set->unit);
    H5Tclose(text);
  }
  H5Dclose(id);
  H5Pclose(creation);
  H5Sclose(space);
}

/* Write shape[0] rows of shape[1] columns from row `first` on. */
static void write_rows(hid_t set, hid_t type, int64_t first, const hsize_t *shape, hid_t transfer,
                       const void *values) {
  const hid_t in_file = H5Dget_space(set);
  const hid_t in_memory = H5Screate_simple(H5Sget_simple_extent_ndims(in_file), shape, NULL);
  H5Sselect_hyperslab(in_file, H5S_SELECT_SET, (hsize_t[]){(hsize_t)first, 0}, NULL, shape, NULL);
  H5Dwrite(set, type, in_memory, in_file, transfer, values);
  H5Sclose(in_memory);
  H5Sclose(in_file);
}

/* ---- The lists of a series, a row per state ---- */

typedef struct state_list {
  char path[160];
  int dimensions, columns; /* with two dimensions one or two columns */
  hid_t type;
  int64_t integers[2];
  double real;
} state_list;

typedef void visit_list(hid_t file, const sp_field_piece *p, const state_list *list);

enum { STATE_LISTS = 8, TEXT_LISTS = 2 };

static int state_list_count(const sp_field_piece *p) {
  return STATE_LISTS + p->data->value_count + (p->data->text_count > 0 ? TEXT_LISTS : 0);
}

/* The mesh is the same in all states: its offsets are 0. Values of a state have their first row;
 * texts their first row, and one component and their number. */
static void visit_lists(hid_t file, const sp_field_piece *p, visit_list *visit) {
  const sp_field_data *data = p->data;
  const state_list lists[STATE_LISTS] = {
      {"/restart/known", 1, 1, H5T_NATIVE_INT64, {p->state->known}, 0},
      {"/restart/length", 1, 1, H5T_NATIVE_DOUBLE, {0}, p->state->length},
      {"/VTKHDF/Steps/PartOffsets", 1, 1, H5T_NATIVE_INT64, {0}, 0},
      {"/VTKHDF/Steps/NumberOfParts", 1, 1, H5T_NATIVE_INT64, {p->ranks}, 0},
      {"/VTKHDF/Steps/PointOffsets", 1, 1, H5T_NATIVE_INT64, {0}, 0},
      {"/VTKHDF/Steps/CellOffsets", 2, 1, H5T_NATIVE_INT64, {0}, 0},
      {"/VTKHDF/Steps/ConnectivityIdOffsets", 2, 1, H5T_NATIVE_INT64, {0}, 0},
      {"/VTKHDF/Steps/Values", 1, 1, H5T_NATIVE_DOUBLE, {0}, p->state->time},
  };
  for (int l = 0; l < STATE_LISTS; l++) visit(file, p, &lists[l]);
  for (const sp_field_values *v = data->values; v < data->values + data->value_count; v++) {
    const int64_t first = v->of_elements ? 0 : p->states * state_rows(p);
    state_list list = {"", 1, 1, H5T_NATIVE_INT64, {first}, 0};
    snprintf(list.path, sizeof list.path, "/VTKHDF/Steps/%sDataOffsets/%s",
             v->of_elements ? "Cell" : "Point", v->name);
    if (!v->kept) visit(file, p, &list);
  }
  state_list offsets = {"", 1, 1, H5T_NATIVE_INT64, {0}, 0};
  state_list sizes = {"", 2, 2, H5T_NATIVE_INT64, {1, data->text_count}, 0};
  if (data->text_count == 0) return;
  snprintf(offsets.path, sizeof offsets.path, "/VTKHDF/Steps/FieldDataOffsets/%s", data->text_name);
  snprintf(sizes.path, sizeof sizes.path, "/VTKHDF/Steps/FieldDataSizes/%s", data->text_name);
  visit(file, p, &offsets);
  visit(file, p, &sizes);
}

static void create_list(hid_t file, const sp_field_piece *p, const state_list *list) {
  (void)p;
  const hsize_t columns = (hsize_t)list->columns;
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, list->dimensions, (hsize_t[]){LIST_ROWS, columns});
  const hid_t space = H5Screate_simple(list->dimensions, (hsize_t[]){0, columns},
                                       (hsize_t[]){H5S_UNLIMITED, columns});
  H5Dclose(H5Dcreate2(file, list->path, list->type, space, H5P_DEFAULT, creation, H5P_DEFAULT));
  H5Sclose(space);
  H5Pclose(creation);
}

static void append_to_list(hid_t file, const sp_field_piece *p, const state_list *list) {
  const hsize_t columns = (hsize_t)list->columns;
  const hid_t set = H5Dopen2(file, list->path, H5P_DEFAULT);
  H5Dset_extent(set, (hsize_t[]){(hsize_t)p->states + 1, columns});
  write_rows(set, list->type, p->states, (hsize_t[]){1, columns}, H5P_DEFAULT,
             list->type == H5T_NATIVE_DOUBLE ? (const void *)&list->real : list->integers);
  H5Dclose(set);
}

static void create_lists(hid_t file, const sp_field_piece *p) {
  static const char *const groups[] = {"/restart",
                                       "/VTKHDF/Steps",
                                       "/VTKHDF/Steps/PointDataOffsets",
                                       "/VTKHDF/Steps/CellDataOffsets",
                                       "/VTKHDF/Steps/FieldDataOffsets",
                                       "/VTKHDF/Steps/FieldDataSizes"};
  for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
    H5Gclose(H5Gcreate2(file, groups[g], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  visit_lists(file, p, create_list);
  const hid_t steps = H5Gopen2(file, "/VTKHDF/Steps", H5P_DEFAULT);
  sp_hdf5_attribute(steps, "NSteps", H5T_NATIVE_INT64, 0, (int64_t[]){0});
  H5Gclose(steps);
}

void sp_field_append_state(hid_t file, const sp_field_piece *p) {
  visit_lists(file, p, append_to_list);
  H5Fflush(file, H5F_SCOPE_LOCAL);
  const hid_t steps = H5Gopen2(file, "/VTKHDF/Steps", H5P_DEFAULT);
  const hid_t count = H5Aopen(steps, "NSteps", H5P_DEFAULT);
  H5Awrite(count, H5T_NATIVE_INT64, (int64_t[]){p->states + 1});
  H5Aclose(count);
  H5Gclose(steps);
}

void sp_field_create(hid_t file, const sp_field_piece *p) {
  const hid_t root = H5Gcreate2(file, "VTKHDF", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  sp_hdf5_attribute(root, "Version", H5T_NATIVE_INT64, 2, (int64_t[]){p->state ? 2 : 1, 0});
  static const char kind[] = "UnstructuredGrid";
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, sizeof kind - 1);
  H5Tset_strpad(text, H5T_STR_NULLPAD);
  sp_hdf5_attribute(root, "Type", text, 0, kind);
  H5Tclose(text);
  write_counts(root, "NumberOfPoints", p, true, 1);
  write_counts(root, "NumberOfConnectivityIds", p, false, p->nodes);
  write_counts(root, "NumberOfCells", p, false, 1);
  H5Gclose(H5Gcreate2(root, "PointData", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Gclose(H5Gcreate2(root, "CellData", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  if (p->data->text_count > 0) write_texts(root, p->data);
  H5Gclose(root);
  if (p->state) create_lists(file, p);
  for (int index = 0; index < dataset_count(p); index++) {
    const dataset set = describe_dataset(p, index);
    create_dataset(file, &set);
  }
  if (p->state) sp_field_append_state(file, p);
}

int64_t sp_field_bytes(const sp_field_piece *p) {
  const int count = dataset_count(p);
  int64_t bytes = METADATA_BYTES + (int64_t)count * 1024 + 3 * 8 * (int64_t)p->ranks;
  if (p->state) bytes += (int64_t)(count + state_list_count(p)) * SERIES_BYTES;
  /* HDF5 keeps texts in heaps of at least 4 KiB, with a reference and a header for each. */
  for (int t = 0; t < p->data->text_count; t++) bytes += 4096 + (int64_t)strlen(p->data->texts[t]);
  for (int index = 0; index < count; index++) {
    const dataset set = describe_dataset(p, index);
    bytes += set.total * set.rows * set.columns * set.value_size;
  }
  return bytes;
}

/* Block <- `count` units from local unit `first` on. */
static void fill_block(const sp_field_piece *p, const dataset *set, int64_t first, int64_t count) {
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
static void write_dataset(hid_t file, const sp_field_piece *p, const dataset *set, hid_t transfer) {
  const int64_t unit_bytes = set->rows * set->columns * set->value_size;
  const int64_t units_per_block = SP_FIELD_BLOCK / unit_bytes;
  const hid_t id = H5Dopen2(file, set->path, H5P_DEFAULT);
  for (int64_t first = 0; first < set->units && !sp_hdf5_failed(); first += units_per_block) {
    const int64_t left = set->units - first;
    const int64_t count = left < units_per_block ? left : units_per_block;
    const void *block = p->block;
    if (set->values)
      block = (const char *)set->values + first * unit_bytes;
    else
      fill_block(p, set, first, count);
    write_rows(id, set->type, (set->first + first) * set->rows,
               (hsize_t[]){(hsize_t)(count * set->rows), (hsize_t)set->columns}, transfer, block);
  }
  H5Dclose(id);
}

int64_t sp_field_list_bytes(const sp_field_piece *p) {
  return (int64_t)state_list_count(p) * LIST_BYTES;
}

int64_t sp_field_state_bytes(const sp_field_piece *p) {
  int64_t bytes = METADATA_BYTES;
  for (int index = 0; index < dataset_count(p); index++) {
    const dataset set = describe_dataset(p, index);
    if (set.chunk > 0) bytes += state_rows(p) * set.columns * set.value_size + SERIES_BYTES;
  }
  return bytes;
}

void sp_field_extend(hid_t file, const sp_field_piece *p) {
  for (int index = 0; index < dataset_count(p); index++) {
    const dataset set = describe_dataset(p, index);
    if (set.chunk == 0) continue;
    const hid_t id = H5Dopen2(file, set.path, H5P_DEFAULT);
    H5Dset_extent(id, (hsize_t[]){(hsize_t)set.total, (hsize_t)set.columns});
    H5Dclose(id);
  }
}

void sp_field_write_piece(hid_t file, const sp_field_piece *p, hid_t transfer) {
  for (int index = 0; index < dataset_count(p); index++) {
    const dataset set = describe_dataset(p, index);
    if (p->states == 0 || is_of_state(p, index)) write_dataset(file, p, &set, transfer);
  }
}
