/* The solution as VTKHDF: an UnstructuredGrid of Lagrange hexahedra (VTK cell type 72), version [1,
 * 0], one piece per rank. ParaView 5.11 opens it if the name ends in .hdf. Elements do not share
 * points: element e of a piece has the points e (N+1)^3 to (e+1) (N+1)^3 - 1, in VTK's order. */
#ifndef SP_IO_FIELD_FILE_H
#define SP_IO_FIELD_FILE_H

#include <stdint.h>

#include "io/error.h"

/* VTK's order of the (N+1)^3 points of a Lagrange hexahedron of degree N = `order`: lattice[p] = i
 * + (N+1) (j + (N+1) k) is the lattice index of VTK's point p. Corners come first, then edges,
 * faces and the interior; the vertical edges are numbered as in VTK 9.1 and later. Local. */
void sp_vtk_hexahedron_order(int order, int *lattice);

/* Write `path`: `points` is [elements][(N+1)^3][3] and each fields[f] is [elements][(N+1)^3], for
 * the local elements (0 or more). The points of an element form the equispaced lattice of degree N,
 * i fastest; this function reorders them for VTK. Field f is named names[f]. The file appears whole
 * or not at all (io/hdf5_shared.h). Collective over `comm`; all ranks return the same status.
 * Errors: SP_ERR_SYSTEM "cannot write field PATH: reason". */
sp_status sp_field_file_write(MPI_Comm comm, const char *path, int order, int64_t elements,
                              const double *points, int field_count, const char *const *names,
                              const double *const *fields);

/* Bytes that this touches meanwhile on a rank with so many points. Local. */
double sp_field_file_predicted_bytes(double points);

#endif
