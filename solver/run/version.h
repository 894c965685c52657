/* Versions of this program and of its libraries. All functions are Local; strings are constants. */
#pragma once

const char *sp_version(void); /* "0.2.0" */
const char *
sp_revision(void); /* git revision, "-dirty" if the tree had changes; "unknown" without git */

/* Print version, revision, compiler, MPI, HDF5, gmsh and backends to standard output. */
void sp_version_print(void);
