include(CMakeFindDependencyMacro)
find_dependency(MPI COMPONENTS C)
include(${CMAKE_CURRENT_LIST_DIR}/sp_solveTargets.cmake)
