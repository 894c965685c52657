#include "io/field_contents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"
#include "io/hdf5_file.h"

/* Rank 0 creates a temporary file beside the target (io/file.h) and reserves disk space for all of
 * it; then every rank writes its parts; sync, and rename it. So no rank changes metadata or the
 * size of the file while others write, and a full disk is detected on rank 0, outside of any
 * collective call. Ranks write independently. A part is one range of bytes per dataset, so
 * aggregation would gain nothing, and if a collective write fails on one rank only, ROMIO leaves
 * the other ranks waiting. */

/* Let `change` write into the file by the serial driver, `created` or extended by at most `bytes`.
 * Space is reserved before, since HDF5 damages files that it cannot extend, and then for all of the
 * file. */
static sp_status change_file(const char *path, const sp_field_piece *p, bool created, int64_t bytes,
                             void (*change)(hid_t file, const sp_field_piece *p)) {
  struct stat before = {0};
  hsize_t size = 0;
  if (!created && stat(path, &before) != 0) return sp_fail(SP_ERR_SYSTEM, "%s", strerror(errno));
  SP_TRY(sp_file_reserve(path, (int64_t)before.st_size + bytes));
  sp_hdf5_begin();
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = H5Pcreate(H5P_FILE_CREATE);
  /* No lock: no other process writes the file, and some parallel file systems have no locks. */
  H5Pset_file_locking(access, false, true);
  if (p->state) H5Pset_istore_k(creation, SP_FIELD_CHUNKS);
  const hid_t file = created ? H5Fcreate(path, H5F_ACC_TRUNC, creation, access)
                             : H5Fopen(path, H5F_ACC_RDWR, access);
  H5Pclose(creation);
  H5Pclose(access);
  change(file, p);
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
  if (access(path, R_OK | W_OK) != 0) return sp_fail(SP_ERR_SYSTEM, "%s", strerror(errno));
  if (MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS)
    return sp_fail(SP_ERR_SYSTEM, "MPI cannot open it");
  MPI_File_close(&file);
  return SP_OK;
}

/* One rank writes without MPI: Open MPI's files share a folder in /tmp with other processes that
 * were started without a launcher, and the first to end removes it. */
static sp_status write_parts(MPI_Comm comm, const char *path, const sp_field_piece *p) {
  const bool shared = p->ranks > 1;
  if (shared) SP_TRY(sp_agree(comm, try_open(path)));
  sp_hdf5_begin();
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  if (shared) H5Pset_fapl_mpio(access, comm, MPI_INFO_NULL);
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, access);
  H5Pclose(access);
  const sp_status status = sp_agree(comm, sp_hdf5_end());
  sp_hdf5_begin();
  const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
  if (shared) H5Pset_dxpl_mpio(transfer, H5FD_MPIO_INDEPENDENT);
  if (!status) sp_field_write_piece(file, p, transfer);
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

static sp_status write_file(MPI_Comm comm, const char *path, const sp_field_piece *p) {
  const bool first = p->rank == 0;
  sp_file_names names = {0};
  sp_status status = agree_on_names(comm, p->rank, path, &names);
  if (!status) {
    if (first) status = change_file(names.temporary, p, true, sp_field_bytes(p), sp_field_create);
    status = sp_agree(comm, status);
    if (!status) status = write_parts(comm, names.temporary, p);
    if (!status) status = sp_agree(comm, sp_file_sync(names.temporary));
    if (!status)
      status = sp_agree(comm, first ? sp_file_rename(names.temporary, names.target) : SP_OK);
    if (status && first) unlink(names.temporary);
  }
  sp_file_names_free(&names);
  return status;
}

/* The data are written and synchronized before the lists that lead to them. */
static sp_status append_to_file(MPI_Comm comm, const char *path, const sp_field_piece *p) {
  sp_status status = SP_OK;
  if (p->rank == 0) status = change_file(path, p, false, sp_field_state_bytes(p), sp_field_extend);
  SP_TRY(sp_agree(comm, status));
  SP_TRY(write_parts(comm, path, p));
  SP_TRY(sp_agree(comm, sp_file_sync(path)));
  if (p->rank == 0)
    status = change_file(path, p, false, sp_field_list_bytes(p), sp_field_append_state);
  if (p->rank == 0 && !status) status = sp_file_sync(path);
  return sp_agree(comm, status);
}

/* Local. */
static sp_status prepare_piece(sp_field_piece *p) {
  SP_TRY(SP_ALLOCATE("sizes of pieces", SP_ARRAY(p->by_rank, p->ranks),
                     SP_ARRAY(p->counts, p->ranks), SP_ARRAY(p->lattice, p->nodes)));
  sp_vtk_hexahedron_order(p->data->order, p->lattice);
  return sp_allocate(SP_FIELD_BLOCK, 1, "a block of the field file", &p->block);
}

sp_status sp_field_file_write(MPI_Comm comm, const char *path, const sp_field_data *data,
                              int64_t states, const sp_field_state *state) {
  const int64_t n = data->order + 1;
  sp_field_piece p = {.data = data,
                      .state = state,
                      .states = states,
                      .nodes = n * n * n,
                      .rank = sp_comm_rank(comm),
                      .ranks = sp_comm_size(comm)};
  sp_status status = sp_agree(comm, prepare_piece(&p));
  if (!status) {
    const sp_field_sizes mine = {data->elements, data->points};
    MPI_Allgather(&mine, 2, MPI_INT64_T, p.by_rank, 2, MPI_INT64_T, comm);
    for (int rank = 0; rank < p.ranks; rank++) {
      if (rank == p.rank) p.before = p.total;
      p.total.elements += p.by_rank[rank].elements;
      p.total.points += p.by_rank[rank].points;
    }
    status = states > 0 ? append_to_file(comm, path, &p) : write_file(comm, path, &p);
  }
  SP_FREE(p.by_rank, p.counts, p.lattice, p.block);
  return status ? sp_fail(status, "cannot write field %s: %s", path, sp_error_message()) : SP_OK;
}
