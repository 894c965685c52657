/* Tables of a run log or of a field file, read as doubles. */
#pragma once

#include <hdf5.h>

#include "tests/check.h"

/* Read the named columns of a table: rows[row][columns]; integers become doubles. Returns the
 * number of rows, or -1 if there is no such table. Local. */
static inline int log_table(hid_t file, const char *table, int columns, const char *const *names,
                            int most, double *rows) {
  if (H5Lexists(file, table, H5P_DEFAULT) <= 0) return -1;
  const hid_t set = H5Dopen2(file, table, H5P_DEFAULT), space = H5Dget_space(set);
  const hid_t type = H5Tcreate(H5T_COMPOUND, (size_t)columns * sizeof *rows);
  for (int c = 0; c < columns; c++)
    H5Tinsert(type, names[c], (size_t)c * sizeof *rows, H5T_NATIVE_DOUBLE);
  const int count = (int)H5Sget_simple_extent_npoints(space);
  CHECK(count <= most && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0,
        "cannot read the %d rows of %s", count, table);
  H5Tclose(type);
  H5Sclose(space);
  H5Dclose(set);
  return count;
}

/* True if a row of a table has the text in the column. Local. */
static inline bool log_find(hid_t file, const char *table, const char *column, const char *text) {
  char texts[32][64] = {0};
  if (H5Lexists(file, table, H5P_DEFAULT) <= 0) return false;
  const hid_t set = H5Dopen2(file, table, H5P_DEFAULT), space = H5Dget_space(set);
  const hid_t cell = H5Tcopy(H5T_C_S1), type = H5Tcreate(H5T_COMPOUND, sizeof *texts);
  const int count = (int)H5Sget_simple_extent_npoints(space);
  H5Tset_size(cell, sizeof *texts);
  H5Tset_cset(cell, H5T_CSET_UTF8);
  H5Tinsert(type, column, 0, cell);
  CHECK(count <= 32 && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) >= 0,
        "cannot read the %d rows of %s", count, table);
  H5Tclose(cell);
  H5Tclose(type);
  H5Sclose(space);
  H5Dclose(set);
  for (int r = 0; r < count; r++)
    if (strcmp(texts[r], text) == 0) return true;
  return false;
}

/* The text of an attribute, "" without it. Local. */
static inline const char *log_text(hid_t file, const char *name) {
  char *read = NULL;
  if (H5Aexists(file, name) <= 0) return "";
  const hid_t id = H5Aopen(file, name, H5P_DEFAULT), type = H5Aget_type(id);
  CHECK(H5Tis_variable_str(type) > 0 && H5Aread(id, type, &read) >= 0 && read, "no text %s", name);
  const char *text = test_text("%s", read ? read : "");
  H5free_memory(read);
  H5Tclose(type);
  H5Aclose(id);
  return text;
}
