/* When, where and in which environment a run takes place, for the files it writes. */
#ifndef SP_SOLVER_RUN_PROVENANCE_H
#define SP_SOLVER_RUN_PROVENANCE_H

#include <stddef.h>

#include "io/record.h"

enum { SP_TIME_SIZE = sizeof "2000-01-01T00:00:00Z" };

/* The time now, ISO 8601, UTC; "" if the system has none. Local. */
void sp_time_now(char text[SP_TIME_SIZE]);

/* Record the program, its version and revision, and the time now as start_time. Local. */
void sp_record_program(sp_record *record);

/* Names of the hosts in the order of ranks, each once, with commas between them. Rank 0 gets them
 * and frees them, the others get a string of no meaning to free. Collective. */
sp_status sp_list_hosts(MPI_Comm comm, char **hosts);

/* Model of this rank's CPU as Linux names it, "AMD EPYC 9654 96-Core Processor", in at most `size`
 * bytes; "" where the system has no such name. Local. */
void sp_cpu_model(size_t size, char *text);

/* The MPI library and its version: the first line of what it says of itself. Local. */
void sp_mpi_library(size_t size, char *text);

/* *text = the environment variables of this rank that change how a run performs or tell which job
 * it was: one line NAME=VALUE each, sorted by name. They begin with
 *
 *     OMP_  OMPI_MCA_  MPICH_  UCX_  NCCL_  CUDA_  HYPRE_
 *     SLURM_JOB  SLURM_NTASKS  SLURM_NNODES  PBS_JOBID  LOADEDMODULES
 *
 * Left out are those that Open MPI's launcher sets for its own processes (addresses and the key of
 * the job) and names with KEY, TOKEN, SECRET, PASSWORD or CREDENTIAL in them. Values are cut at
 * SP_LONGEST_VALUE bytes and then end in "..."; control characters become blanks. The caller frees
 * *text. Errors: SP_ERR_SYSTEM for memory. Local. */
enum { SP_LONGEST_VALUE = 1000 };
sp_status sp_list_environment(char **text);

#endif
