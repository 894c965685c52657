# The package for Debian: cpack -G DEB --config build/CPackConfig.cmake
set(SP_MAINTAINER "The sp_solve developers <root@localhost>" CACHE STRING
  "Maintainer of the package: whoever distributes it, NAME <ADDRESS>")

file(READ ${PROJECT_SOURCE_DIR}/LICENSE text)
string(REGEX MATCH "Copyright \\(c\\) ([^\n]+)" found "${text}")
set(SP_COPYRIGHT ${CMAKE_MATCH_1})
string(REGEX REPLACE "^.*\n(Redistribution and use)" "\\1" text "${text}")
string(REGEX REPLACE "\n+$" "" text "${text}")
string(REGEX REPLACE "\n\n" "\n.\n" text "${text}")
string(REGEX REPLACE "\n" "\n " SP_LICENCE " ${text}")
configure_file(copyright.in copyright @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/copyright DESTINATION ${SP_DOCUMENTS_FOLDER})

set(CPACK_PACKAGE_NAME sp-solve)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT ${SP_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "high-order finite elements for the screened Poisson equation") # below 80 characters
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"sp_solve solves -div(kappa grad u) + lambda u = f on meshes of hexahedra with
finite elements of order 1 to 15, in parallel with MPI. Meshes are those of
gmsh, or boxes; the solution is written for ParaView. sp_bench times the
operators, sp_plot draws figures.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT) # sp-solve_0.2.0_amd64.deb
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin) # mpirun; a single rank needs it, too
if(SP_MPI_IS_MPICH)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS mpich)
endif()
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-h5py, python3-matplotlib") # sp_plot
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gmsh, paraview")
include(CPack)
