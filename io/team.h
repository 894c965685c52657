/* A team of OpenMP threads for kernels. They persist between calls and poll for some time before
 * they sleep. For loops of set-up see io/threads.h. Members make no MPI calls. */
#pragma once

#include <stdint.h>

enum { SP_TEAM_MAX = 256 };

/* Request a team of `threads`. Returns its size: at most SP_TEAM_MAX, less if OpenMP gives fewer, 1
 * without OpenMP. Local; not inside a member. */
int sp_team_set(int threads);

/* The present size; 1 until it is set. Local. */
int sp_team_size(void);

/* Processors that this process may use; 0 in a build without OpenMP. Local. */
int sp_team_processors(void);

/* Call member(context, 0), ..., member(context, threads - 1), each on its own thread. Returns
 * when all calls have returned. Not inside a member. `threads` is at most sp_team_size; thread 0 is
 * the caller. Local. */
typedef void sp_team_member(void *context, int thread);
void sp_team_run(int threads, sp_team_member *member, void *context);

/* Barrier of the team: all members must call it the same number of times. */
void sp_team_wait(void);

/* The first of `count` items that belong to `thread`; its last one comes before the first of
 * thread + 1. Local. */
static inline int64_t sp_team_share(int64_t count, int thread, int threads) {
  return count / threads * thread + count % threads * thread / threads;
}
