#include "solver/run/provenance.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void sp_time_now(char text[SP_TIME_SIZE]) {
  const time_t now = time(NULL);
  struct tm utc;
  text[0] = '\0';
  if (gmtime_r(&now, &utc) && strftime(text, SP_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
    text[0] = '\0';
}

sp_status sp_list_hosts(MPI_Comm comm, char **hosts) {
  char name[MPI_MAX_PROCESSOR_NAME] = "", *all = NULL;
  int rank, size, length;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Get_processor_name(name, &length);
  const size_t bytes = (size_t)size * MPI_MAX_PROCESSOR_NAME;
  *hosts = NULL;
  sp_status status = sp_allocate(rank == 0 ? bytes : 1, 1, "host names", &all);
  if (!status) status = sp_allocate(rank == 0 ? bytes : 1, 1, "host names", hosts);
  status = sp_agree(comm, status);
  if (!status) {
    MPI_Gather(name, sizeof name, MPI_CHAR, all, sizeof name, MPI_CHAR, 0, comm);
    for (int r = 0; r < size && rank == 0; r++) {
      const char *host = &all[(size_t)r * MPI_MAX_PROCESSOR_NAME];
      bool known = false;
      for (int s = 0; s < r && !known; s++)
        known = strcmp(host, &all[(size_t)s * MPI_MAX_PROCESSOR_NAME]) == 0;
      if (known) continue;
      if (r > 0) strcat(*hosts, ",");
      strcat(*hosts, host);
    }
  }
  free(all);
  return status;
}
