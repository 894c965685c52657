#include "solver/run/version.h"

#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "mesh/gmsh.h"
#include "operators/backend.h"
#include "solver/linear/coarse.h"
#include "sp_revision.h"

const char *sp_version(void) {
  return SP_VERSION;
}

const char *sp_revision(void) {
  return SP_REVISION;
}

void sp_version_print(void) {
  char mpi[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  unsigned major, minor, release;
  MPI_Get_library_version(mpi, &length);
  mpi[strcspn(mpi, ",\n")] = '\0';
  H5get_libversion(&major, &minor, &release);
  printf("sp_solve %s\n", sp_version());
  printf("revision   %s\n", sp_revision());
#ifdef __clang__
  printf("compiler   %s\n", __VERSION__);
#else
  printf("compiler   gcc %s\n", __VERSION__);
#endif
  printf("MPI        %s\n", mpi);
  printf("HDF5       %u.%u.%u\n", major, minor, release);
  printf("gmsh       %s\n", sp_gmsh_version());
  printf("hypre      %s\n", sp_coarse_hypre());
  printf("backends   host%s\n", sp_backend_cuda ? ", cuda" : "");
}
