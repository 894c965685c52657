/* Loops on several threads of a rank, with the same bits for any number of threads, and background
 * tasks.
 *
 * Set-up and diagnostics visit all elements of a rank. Results per element are independent and runs
 * in parallel; sums over elements are added in the order of the elements, by one thread at a time.
 * The threads of loops make no MPI calls. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/error.h"

/* The number of threads of the loops below, in this process: 1 until it is set. They persist, and
 * sleep while they wait. (OpenMP's threads poll, which on busy cores is many times slower than one
 * thread.) Concurrent loops share them. Local; not inside a loop. */
void sp_threads_set(int count);
int sp_threads(void);

/* The largest number that may be set. */
enum { SP_THREADS_MAX = 1024 };

typedef sp_status sp_loop_compute(void *context, void *workspace, size_t begin, size_t end);
typedef void sp_loop_visit(void *context, size_t begin, size_t end);
typedef void sp_loop_commit(void *context, void *workspace, size_t begin, size_t end);

/* A loop over items 0 ... count - 1, `chunk` of them per call; the last call may have fewer. */
typedef struct sp_loop {
  const char *what; /* names the work space in a message */
  size_t count, chunk;
  size_t workspace_bytes; /* per concurrent call: zeroed before the loop, aligned to 64 bytes */
  void *context;          /* passed on; shared by all threads */

  /* Work on items begin ... end - 1. Runs on several threads at a time: it writes to `workspace`,
   * to data of these items only, or atomically to shared data whose final value does not depend on
   * the order. */
  sp_loop_compute *compute;

  /* Used instead of `compute` if the work needs no work space and cannot fail. */
  sp_loop_visit *visit;

  /* After each `compute`, with its `workspace`, in the order of the items, one call at a time, on
   * any thread: add to shared data. May be NULL. */
  sp_loop_commit *commit;
} sp_loop;

/* Run the loop. Errors: SP_ERR_SYSTEM, or as `compute` for the lowest items that failed; these and
 * later items are not committed. Local. */
sp_status sp_loop_run(const sp_loop *loop);

/* Run a loop for `count` items of `values` values each, which set the length of chunks. A loop by
 * sp_loop_over has no work space; one by sp_loop_sum has, and commits if `commit` is not NULL.
 * Errors: as sp_loop_run. Local. */
sp_status sp_loop_over(const char *what, size_t count, size_t values, void *context,
                       sp_loop_visit *visit);
sp_status sp_loop_sum(const char *what, size_t count, size_t values, void *context,
                      size_t workspace_bytes, sp_loop_compute *compute, sp_loop_commit *commit);

/* Atomic minimum of *shared and `value` >= 0; -1 counts as infinity. Local. */
static inline void sp_lower(int32_t *shared, int32_t value) {
  int32_t now = __atomic_load_n(shared, __ATOMIC_RELAXED);
  while (
      (uint32_t)value < (uint32_t)now &&
      !__atomic_compare_exchange_n(shared, &now, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

/* memory[bytes] = `byte`. Threads share the cost of the first touch of large arrays. Local. */
void sp_loop_set(size_t bytes, int byte, void *memory);

/* Items per chunk, for `count` items of `values` values each: about ten thousand values, so that a
 * chunk costs much more than handing it to a thread, but at least 32 chunks if possible. It does
 * not depend on the number of threads. Local. */
size_t sp_loop_chunk(size_t count, size_t values);

/* Runs run(context) on a thread of its own while the caller continues or, if there is only one
 * thread, inside sp_task_start. It makes no MPI calls. */
typedef struct sp_task sp_task;

/* Errors: SP_ERR_SYSTEM; sp_task_finish returns errors of `run`. The caller finishes *out. Local;
 * not inside a loop. */
sp_status sp_task_start(sp_status (*run)(void *context), void *context, sp_task **out);

/* Wait for the task and free it. Returns the status of `run`; SP_OK if *task is NULL. Local. */
sp_status sp_task_finish(sp_task **task);
