#include "io/hdf5_shared.h"

#include <string.h>
#include <unistd.h>

#include <hdf5.h>

#include "io/file.h"
#include "io/hdf5_file.h"

/* Room for what HDF5 adds to the data: headers, groups, the small datasets' alignment. */
enum { METADATA_BYTES = 1 << 16, MAX_DIMENSIONS = 4 };

static sp_status fail_write(const char *what, const char *path, sp_status status) {
  return sp_fail(status, "cannot write %s %s: %s", what, path, sp_error_message());
}

void sp_hdf5_create_dataset(int64_t group, const char *name, int64_t type, int dimensions,
                            const int64_t *shape) {
  hsize_t extent[MAX_DIMENSIONS] = {0};
  for (int d = 0; d < dimensions; d++) extent[d] = (hsize_t)shape[d];
  const hid_t space = H5Screate_simple(dimensions, extent, NULL);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
  H5Dclose(H5Dcreate2(group, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT));
  H5Pclose(creation);
  H5Sclose(space);
}

/* With the serial driver. */
static sp_status lay_out(const char *path, const sp_hdf5_shared *shared) {
  SP_TRY(sp_file_reserve(path, shared->bytes + METADATA_BYTES));
  sp_hdf5_begin();
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  /* No lock: nobody else uses this file yet, and some parallel file systems have no locks. */
  H5Pset_file_locking(access, false, true);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose(access);
  shared->lay_out(file, shared->context);
  hsize_t size = 0;
  H5Fflush(file, H5F_SCOPE_LOCAL);
  H5Fget_filesize(file, &size);
  H5Fclose(file);
  SP_TRY(sp_hdf5_end());
  return sp_file_reserve(path, (int64_t)size);
}

/* Open and close the file on this rank alone: if one rank cannot (a folder that not all machines
 * share, no memory for MPI's parts), Open MPI 4.1 leaves the others waiting in MPI_File_open. */
static sp_status try_open(const char *path) {
  MPI_File file;
  SP_TRY(sp_file_check(path));
  if (MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS)
    return sp_fail(SP_ERR_SYSTEM, "MPI cannot open it");
  MPI_File_close(&file);
  return SP_OK;
}

static sp_status write_parts(MPI_Comm comm, const char *path, const sp_hdf5_shared *shared) {
  sp_status status = sp_agree(comm, try_open(path));
  if (status != SP_OK) return status;

  sp_hdf5_begin();
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, comm, MPI_INFO_NULL);
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, access);
  H5Pclose(access);
  status = sp_agree(comm, sp_hdf5_end());

  sp_hdf5_begin();
  if (status == SP_OK) {
    const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_INDEPENDENT);
    shared->write(file, transfer, shared->context);
    H5Pclose(transfer);
  }
  if (file >= 0) H5Fclose(file);
  const sp_status written = sp_hdf5_end();
  return status == SP_OK ? sp_agree(comm, written) : status;
}

/* Names are rank 0's; all ranks open its temporary file. */
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

sp_status sp_hdf5_shared_write(MPI_Comm comm, const sp_hdf5_shared *shared) {
  const int rank = sp_comm_rank(comm);
  sp_file_names names = {0};
  sp_status status = agree_on_names(comm, rank, shared->path, &names);
  if (status == SP_OK) {
    status = sp_agree(comm, rank == 0 ? lay_out(names.temporary, shared) : SP_OK);
    if (status == SP_OK) status = write_parts(comm, names.temporary, shared);
    if (status == SP_OK) status = sp_agree(comm, sp_file_sync(names.temporary));
    if (status == SP_OK)
      status = sp_agree(comm, rank == 0 ? sp_file_rename(names.temporary, names.target) : SP_OK);
    if (status != SP_OK && rank == 0) unlink(names.temporary);
  }
  sp_file_names_free(&names);
  return status == SP_OK ? SP_OK : fail_write(shared->what, shared->path, status);
}
