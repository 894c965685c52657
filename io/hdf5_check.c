/* CMake runs this program: it opens a file with HDF5's MPI driver, which fails if HDF5 was built
 * with another MPI. */
#include <hdf5.h>
#include <mpi.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  int failed = H5Pset_fapl_mpio(access, MPI_COMM_SELF, MPI_INFO_NULL) < 0;
  const hid_t file = H5Fcreate("check.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  failed = failed || file < 0 || H5Fclose(file) < 0;
  MPI_Finalize();
  return failed;
}
