/* Read a field file (io/field_file.h), or the last state of a series, by element, in any order and
 * in blocks. Every rank opens the file by itself, so none waits for a rank that fails. All
 * functions Local.
 *
 * Errors: SP_ERR_SYSTEM if the file cannot be opened; SP_ERR_INPUT if it is damaged or is no field
 * of Lagrange hexahedra of one order. Messages are "cannot read field PATH: reason". */
#pragma once

#include <stdint.h>

#include "io/field_file.h"

/* Read only. */
typedef struct sp_field_reader {
  const char *path;
  int64_t file; /* of HDF5 */
  int order;
  int64_t elements, pieces;
  int64_t *first_element, *first_point; /* of each piece, [pieces + 1] */
  int *lattice;                         /* [(N+1)^3], sp_vtk_hexahedron_order */
  int64_t states;                       /* 0: not a series */
  sp_field_state state;                 /* of a series */
} sp_field_reader;

/* `path` must outlive *out, which the caller closes. */
sp_status sp_field_reader_open(const char *path, sp_field_reader **out);

/* NULL-safe; sets *reader to NULL. */
void sp_field_reader_close(sp_field_reader **reader);

/* values[count]: the cell field `name` of elements first, first + 1, ... */
sp_status sp_field_reader_cells(const sp_field_reader *reader, const char *name, int64_t first,
                                int64_t count, int64_t *values);

/* Read the point field `name`, the kept one in a series, of elements[count], which ascend strictly.
 * With N = order, values[count][N+1][N+1][N+1] are on the equispaced lattice, i fastest, and
 * corners[count][8][3] are its corners, corner a + 2 b + 4 c at i = a N, j = b N, k = c N. */
sp_status sp_field_reader_values(const sp_field_reader *reader, const char *name, int64_t count,
                                 const int64_t *elements, double *values, double (*corners)[8][3]);
