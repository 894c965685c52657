#include "io/gather.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Index of the first record of each rank; starts[size] is the total number. */
static sp_status find_starts(int size, const int64_t *counts, const char *what, int *lengths,
                             int *starts) {
  int64_t total = 0;
  for (int r = 0; r < size; r++) {
    if (counts[r] > INT_MAX - total)
      return sp_fail(SP_ERR_INPUT, "%s: more than %d; every rank would have to hold them all", what,
                     INT_MAX);
    lengths[r] = (int)counts[r];
    starts[r] = (int)total;
    total += counts[r];
  }
  starts[size] = (int)total;
  return SP_OK;
}

sp_status sp_gather_records(MPI_Comm comm, const void *mine, size_t count, size_t width,
                            const char *what, void *all, size_t *all_count) {
  SP_OWNED int *lengths = NULL;
  SP_OWNED int64_t *counts = NULL;
  SP_OWNED char *records = NULL;
  const int size = sp_comm_size(comm);
  const int64_t local = (int64_t)count;
  memcpy(all, &records, sizeof records);
  *all_count = 0;
  SP_TRY(sp_agree(
      comm, SP_ALLOCATE(what, SP_ARRAY(counts, size), SP_ARRAY(lengths, 2 * (size_t)size + 1))));
  int *starts = lengths + size;
  MPI_Allgather(&local, 1, MPI_INT64_T, counts, 1, MPI_INT64_T, comm);
  sp_status status = find_starts(size, counts, what, lengths, starts);
  if (!status) status = sp_allocate((size_t)starts[size], width, what, &records);
  SP_TRY(sp_agree(comm, status));
  MPI_Datatype record;
  MPI_Type_contiguous((int)width, MPI_BYTE, &record);
  MPI_Type_commit(&record);
  MPI_Allgatherv(mine, (int)count, record, records, lengths, starts, record, comm);
  MPI_Type_free(&record);
  *all_count = (size_t)starts[size];
  memcpy(all, &records, sizeof records);
  records = NULL;
  return SP_OK;
}
