/* The checkpoint file (HDF5): the state of an iteration and its vectors, one row per degree of
 * freedom, in any order. solver/run/checkpoint.h defines the names of the degrees of freedom, the
 * texts and the checksum.
 *
 *     /        attributes: sp_solve_checkpoint (the format, 1), case, mesh, checksum, dofs,
 *              iteration, norm_b, residual, rz, beta
 *     /dof     [dofs][2], 64-bit integers, the name of each degree of freedom
 *     /x /r /p [dofs], doubles
 */
#ifndef SP_IO_CHECKPOINT_FILE_H
#define SP_IO_CHECKPOINT_FILE_H

#include <stdint.h>

#include "io/error.h"

typedef struct sp_checkpoint_header {
  char *case_text; /* after reading, owned by the caller */
  int64_t mesh, checksum, dofs, iteration;
  double norm_b, residual, rz, beta;
} sp_checkpoint_header;

enum { SP_CHECKPOINT_X, SP_CHECKPOINT_R, SP_CHECKPOINT_P, SP_CHECKPOINT_VECTORS };

/* Rows [first, first + count) of the datasets: names[count], and values[v][count] for each vector
 * v. The arrays are the caller's. */
typedef struct sp_checkpoint_rows {
  int64_t first, count;
  int64_t (*names)[2];
  double *values[SP_CHECKPOINT_VECTORS];
} sp_checkpoint_rows;

/* Write `path`, whole or not at all (io/hdf5_shared.h). The header is the same on all ranks, the
 * rows are this rank's. Collective over `comm`; all ranks return the same status. Errors:
 * SP_ERR_SYSTEM "cannot write checkpoint PATH: reason". */
sp_status sp_checkpoint_file_write(MPI_Comm comm, const char *path,
                                   const sp_checkpoint_header *header,
                                   const sp_checkpoint_rows *rows);

/* Read the header; case_text is NULL after a failure. Local. Errors: "cannot read checkpoint PATH:
 * reason", SP_ERR_SYSTEM if the file cannot be opened; SP_ERR_INPUT if it is not a complete
 * checkpoint of this format. */
sp_status sp_checkpoint_file_header(const char *path, sp_checkpoint_header *header);

/* Read rows->count rows from rows->first on into the arrays of `rows`; `dofs` is the header's.
 * Local. Errors: as above. */
sp_status sp_checkpoint_file_rows(const char *path, int64_t dofs, const sp_checkpoint_rows *rows);

#endif
