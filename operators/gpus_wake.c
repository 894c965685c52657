#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "operators/backend.h"
#include "operators/gpus.h"

static pthread_t driver_thread;
static bool driver_starts;

static void *start_driver(void *none) {
  int count;
  SP_OWNED sp_gpu *gpus = NULL;
  (void)sp_gpus_visible(&count, &gpus); /* the next call reports a failure */
  return none;
}

/* Return the number of ranks on this machine, from the environment of Open MPI or MPICH. */
static int ranks_here(void) {
  const char *ranks = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (!ranks) ranks = getenv("MPI_LOCALNRANKS");
  if (ranks) return atoi(ranks);
  return getenv("PMI_RANK") || getenv("SLURM_STEP_ID") ? INT_MAX : 1;
}

void sp_gpus_wake(void) {
  glob_t files;
  if (!sp_backend_cuda || glob("/dev/nvidia[0-9]*", 0, NULL, &files)) return;
  if ((size_t)ranks_here() <= files.gl_pathc)
    driver_starts = pthread_create(&driver_thread, NULL, start_driver, NULL) == 0;
  globfree(&files);
}

void sp_gpus_awake(void) {
  if (driver_starts) pthread_join(driver_thread, NULL);
  driver_starts = false;
}
