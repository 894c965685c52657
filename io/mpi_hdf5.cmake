# Finds MPI and HDF5, and checks that HDF5 was built with this MPI: a program with two MPI libraries links without a
# warning and fails when it opens a file. Sets what find_package(MPI) and find_package(HDF5) set.

# Name the packages at once: find_package(MPI) would only say that there is no MPI.
if(MPI_C_COMPILER)
  unset(sp_wrapper)
  find_program(sp_wrapper ${MPI_C_COMPILER} NO_CACHE)
  if(NOT sp_wrapper)
    set(sp_cure "give the path of its mpicc with -DMPI_C_COMPILER=/path/to/mpicc")
    if(MPI_C_COMPILER MATCHES "mpicc[.]mpich$")
      string(PREPEND sp_cure "install mpich, libmpich-dev and libhdf5-mpich-dev (Debian, Ubuntu), or ")
    elseif(MPI_C_COMPILER MATCHES "mpicc[.]openmpi$")
      string(PREPEND sp_cure "install openmpi-bin, libopenmpi-dev and libhdf5-openmpi-dev (Debian, Ubuntu), or ")
    endif()
    message(FATAL_ERROR "The MPI compiler ${MPI_C_COMPILER} was not found: ${sp_cure}")
  endif()
endif()

# CMake looks for mpiexec in PATH, where it may be another MPI's: the one beside the compiler that was asked for, with
# the same ending (mpicc.mpich, mpiexec.mpich).
if(MPI_C_COMPILER AND NOT MPIEXEC_EXECUTABLE)
  cmake_path(GET sp_wrapper PARENT_PATH sp_folder)
  cmake_path(GET sp_wrapper EXTENSION LAST_ONLY sp_ending)
  find_program(MPIEXEC_EXECUTABLE mpiexec${sp_ending} PATHS "${sp_folder}" NO_DEFAULT_PATH)
endif()
find_package(MPI REQUIRED COMPONENTS C)

# Which MPI this is: openmpi, mpich, or empty for others.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
check_c_source_compiles("#include <mpi.h>
  #ifndef OPEN_MPI
  #error
  #endif
  int main(void) { return 0; }" SP_MPI_IS_OPENMPI)
check_c_source_compiles("#include <mpi.h>
  #if !defined(MPICH_VERSION) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION)
  #error
  #endif
  int main(void) { return 0; }" SP_MPI_IS_MPICH)
unset(CMAKE_REQUIRED_LIBRARIES)
set(sp_mpi "")
set(sp_package "")
if(SP_MPI_IS_OPENMPI)
  set(sp_mpi openmpi)
elseif(SP_MPI_IS_MPICH)
  set(sp_mpi mpich)
endif()
if(sp_mpi)
  set(sp_package " (Debian: libhdf5-${sp_mpi}-dev)")
endif()

# Debian has a folder for each MPI. CMake's own search asks h5pcc, which fails in a path with a space.
set(sp_debian_hdf5 /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/hdf5/${sp_mpi})
if(sp_mpi AND NOT DEFINED HDF5_ROOT AND NOT DEFINED ENV{HDF5_ROOT} AND EXISTS ${sp_debian_hdf5})
  set(HDF5_ROOT ${sp_debian_hdf5})
endif()
set(HDF5_PREFER_PARALLEL ON)
find_package(HDF5 COMPONENTS C)
if(NOT HDF5_FOUND OR NOT HDF5_IS_PARALLEL)
  message(FATAL_ERROR "sp_solve needs an HDF5 library built with ${MPI_C_COMPILER}${sp_package}: "
    "give its folder with -DHDF5_ROOT=/path. Found: ${HDF5_C_LIBRARIES}")
endif()

# Sets `out` to the MPI libraries that a file needs; empty if no tool can tell.
function(sp_needed_mpi file out)
  set(found "")
  if(CMAKE_READELF)
    execute_process(COMMAND ${CMAKE_READELF} -d ${file} OUTPUT_VARIABLE text ERROR_QUIET)
    string(REGEX MATCHALL "\\[lib(mpi|mpich|mpt)[a-z0-9_]*[.]so[.0-9]*\\]" found "${text}")
    list(TRANSFORM found REPLACE "[][]" "")
    list(SORT found)
  endif()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

function(sp_check_hdf5)
  # The same libraries are checked only once.
  set(libraries "${MPI_C_COMPILER}: ${MPI_C_LIBRARIES}; HDF5: ${HDF5_C_LIBRARIES}")
  if(SP_HDF5_CHECKED STREQUAL libraries)
    return()
  endif()
  set(folder ${CMAKE_BINARY_DIR}/CMakeFiles/sp_hdf5)
  set(program ${folder}/check_hdf5${CMAKE_EXECUTABLE_SUFFIX})
  file(MAKE_DIRECTORY ${folder})
  try_compile(linked ${folder}/build SOURCES ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/hdf5_check.c
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${HDF5_C_INCLUDE_DIRS}"
    LINK_LIBRARIES MPI::MPI_C ${HDF5_C_LIBRARIES}
    OUTPUT_VARIABLE said COPY_FILE ${program})
  set(result "does not link")
  set(mpi "")
  set(hdf5_mpi "")
  if(linked)
    set(said "")
    sp_needed_mpi(${program} mpi)
    foreach(library IN LISTS HDF5_C_LIBRARIES)
      if(library MATCHES "hdf5[^/]*$")
        sp_needed_mpi(${library} more)
        list(APPEND hdf5_mpi ${more})
      endif()
    endforeach()
    if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
      set(result "cannot be run: it is for another machine")
    else()
      execute_process(COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} ${program} WORKING_DIRECTORY ${folder}
        TIMEOUT 60 RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
      if(NOT result STREQUAL 0)
        set(result "ends with ${result}")
      endif()
    endif()
  endif()
  if(mpi)
    string(REPLACE ";" ", " mpi " (${mpi})")
  endif()
  string(REPLACE ";" ", " hdf5 "${HDF5_C_LIBRARIES}")
  if(result STREQUAL 0)
    message(STATUS "HDF5 was built with this MPI: a program opens a file with both")
  elseif(linked AND mpi AND mpi STREQUAL " (${hdf5_mpi})")
    # On many clusters nothing that uses MPI may run where programs are compiled.
    message(STATUS "HDF5 needs the same MPI library${mpi}; a program that opens a file ${result}")
  elseif(linked AND NOT hdf5_mpi)
    message(WARNING "Whether HDF5 was built with this MPI is not known: a program that opens a file "
      "with both ${result}\n  MPI: ${MPI_C_COMPILER}${mpi}\n  HDF5: ${hdf5}\n${said}")
  else()
    if(hdf5_mpi)
      set(hdf5 "${hdf5}, which needs ${hdf5_mpi}")
    endif()
    message(FATAL_ERROR "HDF5 was built with another MPI: a program that opens a file with both ${result}\n"
      "  MPI: ${MPI_C_COMPILER}${mpi}\n"
      "  HDF5: ${hdf5}\n"
      "Give the folder of an HDF5 built with this MPI, -DHDF5_ROOT=/path${sp_package}, or the compiler of the "
      "MPI that HDF5 was built with, -DMPI_C_COMPILER=/path/to/mpicc, in a new build folder.\n${said}")
  endif()
  set(SP_HDF5_CHECKED "${libraries}" CACHE INTERNAL "Libraries that were seen to go together")
endfunction()
sp_check_hdf5()
