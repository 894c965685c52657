/* Version of this program and of its libraries; time, place and environment of a run, for the files
 * it writes. The revision is git's, "-dirty" if the tree had changes, "unknown" without git. */
#pragma once

#include <stddef.h>

#include "io/record.h"

/* Print version, revision, compiler, MPI, HDF5, gmsh and backends to standard output. Local. */
void sp_version_print(void);

/* Record the name of the program, its version and revision, and the time now as start_time, in ISO
 * 8601, UTC. Local. */
void sp_record_program(sp_record *record, const char *program);

/* List the names of the hosts in the order of ranks, each once, with commas between them. Only rank
 * 0's string is valid; all ranks free theirs. Collective. */
sp_status sp_list_hosts(MPI_Comm comm, char **hosts);

/* Write the model of this rank's CPU as Linux names it, "AMD EPYC 9654 96-Core Processor", in at
 * most `size` bytes; "" if the system has no such name. Local. */
void sp_cpu_model(size_t size, char *text);

/* Write the MPI library and its version: the first line of its version string. Local. */
void sp_mpi_library(size_t size, char *text);

/* *text = the environment variables of this rank that affect performance or identify the job: one
 * line NAME=VALUE each, sorted by name. They begin with
 *
 *     OMP_  OMPI_MCA_  MPICH_  UCX_  NCCL_  CUDA_  HYPRE_
 *     SLURM_JOB  SLURM_NTASKS  SLURM_NNODES  PBS_JOBID  LOADEDMODULES
 *
 * Variables that Open MPI's launcher sets for its own processes (addresses and the key of the job),
 * and names that contain KEY, TOKEN, SECRET, PASSWORD or CREDENTIAL, are left out. Control
 * characters become blanks. The caller frees *text. Errors: SP_ERR_SYSTEM for memory. Local. */
sp_status sp_list_environment(char **text);
