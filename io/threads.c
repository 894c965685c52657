#include "io/threads.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, CHUNK_VALUES = 4096 };

static int threads = 1;

void sp_threads_set(int count) {
#ifdef _OPENMP
  threads = count < 1 ? 1 : count > SP_THREADS_MAX ? SP_THREADS_MAX : count;
#else
  (void)count;
#endif
}

int sp_threads(void) {
  return threads;
}

size_t sp_loop_chunk(size_t values) {
  return values < CHUNK_VALUES ? CHUNK_VALUES / values : 1;
}

/* What the threads of a loop share. */
typedef struct state {
  const sp_loop *loop;
  size_t stride; /* bytes between work spaces */
  char *workspaces;
  bool failed;         /* read and written atomically, since threads look at it out of turn */
  sp_kept_error first; /* the error of the first chunk that failed; written in turn */
} state;

/* In turn: all chunks before this one are finished. */
static void finish(state *s, void *workspace, size_t begin, size_t end, sp_status status) {
  if (s->first.status) return;
  if (status) {
    sp_error_keep(status, &s->first);
#pragma omp atomic write
    s->failed = true;
  } else if (s->loop->commit) {
    s->loop->commit(s->loop->context, workspace, begin, end);
  }
}

static void run_chunks(state *s, int count) {
  const sp_loop *loop = s->loop;
  int next_thread = 0;
  (void)count; /* without OpenMP */
#pragma omp parallel num_threads(count)
  {
    int me;
#pragma omp atomic capture
    me = next_thread++;
    void *workspace = s->workspaces + (size_t)me * s->stride;
    memset(workspace, 0, s->stride);
#pragma omp for ordered schedule(static, 1)
    for (size_t begin = 0; begin < loop->count; begin += loop->chunk) {
      const size_t end = loop->count - begin < loop->chunk ? loop->count : begin + loop->chunk;
      bool failed;
#pragma omp atomic read
      failed = s->failed;
      /* An error in turn is one of an earlier chunk: nothing of this one would be kept. */
      const sp_status status = failed ? SP_OK : loop->compute(loop->context, workspace, begin, end);
#pragma omp ordered
      finish(s, workspace, begin, end, status);
    }
  }
}

sp_status sp_loop_run(const sp_loop *loop) {
  const size_t chunks = loop->count / loop->chunk + (loop->count % loop->chunk != 0);
  if (chunks == 0) return SP_OK;
  const size_t count = chunks < (size_t)threads ? chunks : (size_t)threads;
  state s = {.loop = loop, .stride = (loop->workspace_bytes / LINE + 1) * LINE};
  s.workspaces = aligned_alloc(LINE, count * s.stride);
  if (!s.workspaces)
    return sp_fail(SP_ERR_SYSTEM, "out of memory: %s needs %zu bytes on %zu threads", loop->what,
                   s.stride, count);
  run_chunks(&s, (int)count);
  free(s.workspaces);
  return sp_error_restore(&s.first);
}
