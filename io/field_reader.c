#include "io/field_reader.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hdf5.h>

#include "io/field_file.h"
#include "io/hdf5_file.h"
#include "io/file.h"

/* Points are read in pages of this many rows: elements near each other share pages. */
enum { PAGE = 512, MOST_ORDER = 15, CORNERS = 8 };

static sp_status fail_reading(const char *path, sp_status status) {
  return sp_fail(status, "cannot read field %s: %s", path, sp_error_message());
}

static sp_status fail_damaged(const char *path, const char *what) {
  return fail_reading(
      path, sp_fail(SP_ERR_INPUT, "%s; expected a whole field that sp_solve has written", what));
}

/* After sp_hdf5_begin. */
static sp_status end_reading(const char *path) {
  return sp_hdf5_end() ? fail_damaged(path, sp_error_message()) : SP_OK;
}

/* ---- Datasets ---- */

/* Open a dataset of `columns` columns (1: one dimension) and `rows` rows; *rows = -1 accepts any
 * number and sets it. Returns H5I_INVALID_HID if the dataset is missing or has another shape. */
static hid_t open_dataset(hid_t file, const char *group, const char *name, int columns,
                          int64_t *rows) {
  char path[256];
  snprintf(path, sizeof path, "%s%s/%s", group[0] == '/' ? "" : "/VTKHDF/", group, name);
  const hid_t set = H5Dopen2(file, path, H5P_DEFAULT), space = H5Dget_space(set);
  const int dimensions = H5Sget_simple_extent_ndims(space);
  hsize_t shape[2] = {0, 1};
  bool fits = dimensions == (columns > 1 ? 2 : 1);
  if (fits) H5Sget_simple_extent_dims(space, shape, NULL);
  fits = fits && shape[1] == (hsize_t)columns && (*rows < 0 || shape[0] == (hsize_t)*rows);
  *rows = (int64_t)shape[0];
  H5Sclose(space);
  if (fits) return set;
  H5Dclose(set);
  return H5I_INVALID_HID;
}

/* Read rows [first, first + count). */
static void read_rows(hid_t set, hid_t type, int columns, int64_t first, int64_t count,
                      void *values) {
  if (count == 0) return;
  const hsize_t start[] = {(hsize_t)first, 0}, shape[] = {(hsize_t)count, (hsize_t)columns};
  const hid_t in_file = H5Dget_space(set);
  const hid_t in_memory = H5Screate_simple(columns > 1 ? 2 : 1, shape, NULL);
  H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start, NULL, shape, NULL);
  H5Dread(set, type, in_memory, in_file, H5P_DEFAULT, values);
  H5Sclose(in_memory);
  H5Sclose(in_file);
}

/* A dataset of one number per piece, added up: starts[pieces + 1], which the caller frees. */
static sp_status read_counts(sp_field_reader *r, const char *name, int64_t **starts) {
  int64_t pieces = r->pieces;
  sp_hdf5_begin();
  const hid_t set = open_dataset(r->file, "", name, 1, &pieces);
  sp_status status = sp_allocate((size_t)pieces + 1, sizeof **starts, "sizes of pieces", starts);
  if (!status) read_rows(set, H5T_NATIVE_INT64, 1, 0, pieces, *starts + 1);
  H5Dclose(set);
  if (status) return status;
  SP_TRY(end_reading(r->path));
  r->pieces = pieces;
  for (int64_t p = 1; p <= pieces; p++) {
    int64_t *sum = &(*starts)[p];
    if (*sum < 0 || __builtin_add_overflow(*sum, sum[-1], sum))
      return fail_damaged(r->path, "a piece has a negative size");
  }
  return SP_OK;
}

/* ---- The header ---- */

static sp_status read_header(sp_field_reader *r) {
  int64_t *nodes = NULL;
  r->pieces = -1;
  SP_TRY(read_counts(r, "NumberOfCells", &r->first_element));
  SP_TRY(read_counts(r, "NumberOfPoints", &r->first_point));
  const sp_status status = read_counts(r, "NumberOfConnectivityIds", &nodes);
  const int64_t elements = r->elements = r->first_element[r->pieces];
  const int64_t all = status ? 0 : nodes[r->pieces];
  free(nodes);
  SP_TRY(status);
  if (elements == 0) return fail_damaged(r->path, "it has no elements");
  const int n = (int)lround(cbrt((double)all / (double)elements));
  if (n < 2 || n > MOST_ORDER + 1 || all % elements != 0 || all / elements != n * n * n)
    return fail_damaged(r->path, "its elements are not hexahedra of one order from 1 to 15");
  r->order = n - 1;
  SP_TRY(sp_allocate((size_t)(n * n * n), sizeof *r->lattice, "the order of points", &r->lattice));
  sp_vtk_hexahedron_order(r->order, r->lattice);
  return SP_OK;
}

/* Read row `row` of a list of a series. */
static void read_of_state(const sp_field_reader *r, const char *group, const char *name, hid_t type,
                          int64_t row, void *value) {
  int64_t rows = -1;
  const hid_t set = open_dataset(r->file, group, name, 1, &rows);
  read_rows(set, type, 1, row, 1, value);
  H5Dclose(set);
}

/* Find the last state, if this is a series. */
static sp_status read_state(sp_field_reader *r) {
  sp_hdf5_begin();
  if (H5Lexists(r->file, "/VTKHDF/Steps", H5P_DEFAULT) > 0) {
    const hid_t count =
        H5Aopen_by_name(r->file, "/VTKHDF/Steps", "NSteps", H5P_DEFAULT, H5P_DEFAULT);
    H5Aread(count, H5T_NATIVE_INT64, &r->states);
    H5Aclose(count);
    const int64_t last = r->states - 1;
    read_of_state(r, "Steps", "Values", H5T_NATIVE_DOUBLE, last, &r->state.time);
    read_of_state(r, "/restart", "known", H5T_NATIVE_INT64, last, &r->state.known);
    read_of_state(r, "/restart", "length", H5T_NATIVE_DOUBLE, last, &r->state.length);
  }
  return end_reading(r->path);
}

static sp_status open_file(sp_field_reader *r) {
  if (access(r->path, R_OK) != 0)
    return fail_reading(r->path, sp_fail(SP_ERR_SYSTEM, "%s", strerror(errno)));
  if (!sp_path_is_ordinary(r->path))
    return fail_reading(r->path, sp_fail(SP_ERR_INPUT, "it is not a regular file"));
  sp_hdf5_begin();
  const hid_t properties = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_file_locking(properties, false, true);
  r->file = H5Fopen(r->path, H5F_ACC_RDONLY, properties);
  H5Pclose(properties);
  SP_TRY(end_reading(r->path));
  SP_TRY(read_header(r));
  return read_state(r);
}

sp_status sp_field_reader_open(const char *path, sp_field_reader **out) {
  SP_TRY(sp_allocate(1, sizeof **out, "the reader of a field", out));
  **out = (sp_field_reader){.path = path, .file = H5I_INVALID_HID};
  const sp_status status = open_file(*out);
  if (status) sp_field_reader_close(out);
  return status;
}

void sp_field_reader_close(sp_field_reader **reader) {
  sp_field_reader *r = *reader;
  if (!r) return;
  if (r->file >= 0) H5Fclose(r->file);
  SP_FREE(r->first_element, r->first_point, r->lattice, r);
  *reader = NULL;
}

/* ---- Elements ---- */

sp_status sp_field_reader_cells(const sp_field_reader *reader, const char *name, int64_t first,
                                int64_t count, int64_t *values) {
  int64_t rows = reader->elements;
  sp_hdf5_begin();
  const hid_t set = open_dataset(reader->file, "CellData", name, 1, &rows);
  read_rows(set, H5T_NATIVE_INT64, 1, first, count, values);
  H5Dclose(set);
  return end_reading(reader->path);
}

/* points[count][(N+1)^3], in VTK's order: the points of the elements, counted over all pieces. */
static sp_status read_points(const sp_field_reader *r, int64_t count, const int64_t *elements,
                             int64_t *points) {
  const int64_t n = r->order + 1, nodes = n * n * n;
  int64_t rows = nodes * r->elements;
  sp_hdf5_begin();
  const hid_t set = open_dataset(r->file, "", "Connectivity", 1, &rows);
  for (int64_t first = 0, run; first < count && !sp_hdf5_failed(); first += run) {
    for (run = 1; first + run < count && elements[first + run] == elements[first] + run;) run++;
    read_rows(set, H5T_NATIVE_INT64, 1, nodes * elements[first], nodes * run,
              points + nodes * first);
  }
  H5Dclose(set);
  SP_TRY(end_reading(r->path));
  int64_t piece = 0;
  for (int64_t e = 0; e < count; e++) {
    while (elements[e] >= r->first_element[piece + 1]) piece++;
    const int64_t before = r->first_point[piece], size = r->first_point[piece + 1] - before;
    for (int64_t p = nodes * e; p < nodes * (e + 1); p++) {
      if (points[p] < 0 || points[p] >= size)
        return fail_damaged(r->path, "an element has a point that is not in its piece");
      points[p] += before;
    }
  }
  return SP_OK;
}

/* The pages of a dataset that contain some rows: slots[page - first] is the index of the page in
 * `rows`, [used][PAGE][columns], or -1. */
typedef struct pages {
  int64_t first, count, used;
  int32_t *slots;
  double *rows;
} pages;

static sp_status mark_pages(int64_t count, const int64_t *points, pages *p) {
  int64_t least = points[0], last = points[0];
  for (int64_t i = 1; i < count; i++) {
    if (points[i] < least) least = points[i];
    if (points[i] > last) last = points[i];
  }
  p->first = least / PAGE;
  p->count = last / PAGE - p->first + 1;
  SP_TRY(sp_allocate((size_t)p->count, sizeof *p->slots, "pages of a field", &p->slots));
  for (int64_t i = 0; i < count; i++) p->slots[points[i] / PAGE - p->first] = 1;
  for (int64_t s = 0; s < p->count; s++) p->slots[s] = p->slots[s] ? (int32_t)p->used++ : -1;
  return SP_OK;
}

/* From row `begin` on. */
static void read_pages(const sp_field_reader *r, hid_t set, int columns, int64_t begin,
                       const pages *p) {
  const int64_t all = r->first_point[r->pieces];
  for (int64_t s = 0, run; s < p->count && !sp_hdf5_failed(); s += run) {
    for (run = 1; s + run < p->count && (p->slots[s + run] < 0) == (p->slots[s] < 0);) run++;
    if (p->slots[s] < 0) continue;
    const int64_t first = (p->first + s) * PAGE, end = first + run * PAGE;
    read_rows(set, H5T_NATIVE_DOUBLE, columns, begin + first, (end < all ? end : all) - first,
              p->rows + p->slots[s] * (int64_t)PAGE * columns);
  }
}

/* Open a dataset of points: *begin = its first row; the last state's in a series. */
static hid_t open_points(const sp_field_reader *r, const char *group, const char *name, int columns,
                         int64_t *begin) {
  const int64_t all = r->first_point[r->pieces];
  int64_t rows = all;
  char path[256];
  *begin = 0;
  if (r->states == 0 || !group[0]) return open_dataset(r->file, group, name, columns, &rows);
  snprintf(path, sizeof path, "/restart/%s", name);
  if (H5Lexists(r->file, path, H5P_DEFAULT) > 0) {
    rows = all * SP_FIELD_KEPT_STATES;
    *begin = (r->states - 1) % SP_FIELD_KEPT_STATES * all;
    return open_dataset(r->file, "/restart", name, columns, &rows);
  }
  read_of_state(r, "Steps/PointDataOffsets", name, H5T_NATIVE_INT64, r->states - 1, begin);
  rows = -1;
  return open_dataset(r->file, group, name, columns, &rows);
}

/* values[count][columns]: the rows points[count] of a dataset. */
static sp_status read_at_points(const sp_field_reader *r, const char *group, const char *name,
                                int columns, int64_t count, const int64_t *points, double *values) {
  pages p = {0};
  int64_t begin;
  sp_status status = mark_pages(count, points, &p);
  if (!status)
    status =
        sp_allocate((size_t)(p.used * PAGE * columns), sizeof *p.rows, "pages of a field", &p.rows);
  if (!status) {
    sp_hdf5_begin();
    const hid_t set = open_points(r, group, name, columns, &begin);
    read_pages(r, set, columns, begin, &p);
    H5Dclose(set);
    status = end_reading(r->path);
  }
  for (int64_t i = 0; i < count && !status; i++) {
    const int64_t page = p.slots[points[i] / PAGE - p.first];
    memcpy(values + i * columns, p.rows + (page * PAGE + points[i] % PAGE) * columns,
           (size_t)columns * sizeof *values);
  }
  SP_FREE(p.slots, p.rows);
  return status;
}

static sp_status read_values(const sp_field_reader *r, const char *name, int64_t count,
                             const int64_t *points, double *raw, double *values) {
  const int64_t n = r->order + 1, nodes = n * n * n;
  SP_TRY(read_at_points(r, "PointData", name, 1, count * nodes, points, raw));
  for (int64_t e = 0; e < count; e++)
    for (int64_t q = 0; q < nodes; q++) values[e * nodes + r->lattice[q]] = raw[e * nodes + q];
  return SP_OK;
}

/* VTK's points begin with the corners. */
static sp_status read_corners(const sp_field_reader *r, int64_t count, int64_t *points, double *raw,
                              double (*corners)[CORNERS][3]) {
  static const int order[CORNERS] = {0, 1, 3, 2, 4, 5, 7, 6};
  const int64_t n = r->order + 1, nodes = n * n * n;
  for (int64_t e = 0; e < count; e++)
    memmove(points + CORNERS * e, points + nodes * e, CORNERS * sizeof *points);
  SP_TRY(read_at_points(r, "", "Points", 3, CORNERS * count, points, raw));
  for (int64_t e = 0; e < count; e++)
    for (int c = 0; c < CORNERS; c++)
      memcpy(corners[e][order[c]], raw + 3 * (CORNERS * e + c), 3 * sizeof *raw);
  return SP_OK;
}

sp_status sp_field_reader_values(const sp_field_reader *reader, const char *name, int64_t count,
                                 const int64_t *elements, double *values, double (*corners)[8][3]) {
  const size_t n = (size_t)reader->order + 1, nodes = (size_t)count * n * n * n;
  SP_OWNED int64_t *points = NULL;
  SP_OWNED double *raw = NULL;
  if (count == 0) return SP_OK;
  SP_TRY(SP_ALLOCATE("points of a field", SP_ARRAY(points, nodes), SP_ARRAY(raw, 3 * nodes)));
  SP_TRY(read_points(reader, count, elements, points));
  SP_TRY(read_values(reader, name, count, points, raw, values));
  return read_corners(reader, count, points, raw, corners);
}
