#include "io/team.h"

#ifdef _OPENMP
#include <omp.h>
#endif

static int size = 1;

int sp_team_set(int threads) {
  size = 1;
#ifdef _OPENMP
  if (threads > SP_TEAM_MAX) threads = SP_TEAM_MAX;
  if (threads > 1) {
    omp_set_dynamic(0); /* every region gets the requested threads, up to the limit */
#pragma omp parallel num_threads(threads)
#pragma omp single
    size = omp_get_num_threads();
  }
#else
  (void)threads;
#endif
  return size;
}

int sp_team_size(void) {
  return size;
}

int sp_team_processors(void) {
#ifdef _OPENMP
  return omp_get_num_procs();
#else
  return 0;
#endif
}

void sp_team_run(int threads, sp_team_member *member, void *context) {
#ifdef _OPENMP
  if (threads > 1) {
#pragma omp parallel num_threads(threads)
    member(context, omp_get_thread_num());
    return;
  }
#else
  (void)threads;
#endif
  member(context, 0);
}

void sp_team_wait(void) {
#ifdef _OPENMP
#pragma omp barrier
#endif
}
