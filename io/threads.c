#include "io/threads.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, CHUNK_VALUES = 16384, CHUNKS_LEAST = 32 };

static int threads = 1;

void sp_threads_set(int count) {
  threads = count < 1 ? 1 : count > SP_THREADS_MAX ? SP_THREADS_MAX : count;
}

int sp_threads(void) {
  return threads;
}

size_t sp_loop_chunk(size_t count, size_t values) {
  size_t chunk = CHUNK_VALUES / (values > 0 ? values : 1);
  if (chunk > count / CHUNKS_LEAST) chunk = count / CHUNKS_LEAST;
  return chunk > 0 ? chunk : 1;
}

/* What the threads of a loop share; all but `loop` is read and written with the lock held. */
typedef struct state {
  const sp_loop *loop;
  pthread_mutex_t lock;
  pthread_cond_t turn_changed;
  size_t next; /* the first item that no thread has taken */
  size_t turn; /* the first item that is not committed */
  sp_kept_error error;
} state;

/* A thread and its work space. */
typedef struct worker {
  state *shared;
  void *workspace;
  pthread_t thread;
} worker;

/* Take chunks until there are none. A chunk that fails ends the loop: chunks are taken in order, so
 * that all before it are finished first. Waiting threads sleep: they may share their core. */
static void *work(void *worker_) {
  const worker *w = worker_;
  state *s = w->shared;
  const sp_loop *loop = s->loop;
  memset(w->workspace, 0, loop->workspace_bytes);
  pthread_mutex_lock(&s->lock);
  while (s->next < loop->count && !s->error.status) {
    const size_t begin = s->next;
    const size_t end = loop->count - begin < loop->chunk ? loop->count : begin + loop->chunk;
    s->next = end;
    pthread_mutex_unlock(&s->lock);
    const sp_status status = loop->compute(loop->context, w->workspace, begin, end);
    pthread_mutex_lock(&s->lock);
    while (s->turn < begin) pthread_cond_wait(&s->turn_changed, &s->lock);
    if (!s->error.status && status) sp_error_keep(status, &s->error);
    if (!s->error.status && loop->commit) {
      pthread_mutex_unlock(&s->lock);
      loop->commit(loop->context, w->workspace, begin, end);
      pthread_mutex_lock(&s->lock);
    }
    s->turn = end;
    pthread_cond_broadcast(&s->turn_changed);
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

/* If the system gives fewer threads than asked for, they do all the work. */
static void run(state *s, size_t count, size_t stride, char *workspaces, worker *workers) {
  size_t started = 0;
  for (size_t t = 0; t < count; t++) workers[t] = (worker){s, workspaces + t * stride, 0};
  while (started + 1 < count &&
         pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
    started++;
  work(&workers[count - 1]);
  for (size_t t = 0; t < started; t++) pthread_join(workers[t].thread, NULL);
}

sp_status sp_loop_run(const sp_loop *loop) {
  const size_t chunks = loop->count / loop->chunk + (loop->count % loop->chunk != 0);
  if (chunks == 0) return SP_OK;
  const size_t count = chunks < (size_t)threads ? chunks : (size_t)threads;
  const size_t stride = (loop->workspace_bytes / LINE + 1) * LINE;
  state s = {.loop = loop};
  worker *workers;
  SP_TRY(sp_allocate(count, sizeof *workers, loop->what, &workers));
  char *workspaces = aligned_alloc(LINE, count * stride);
  if (!workspaces) {
    free(workers);
    return sp_fail(SP_ERR_SYSTEM, "out of memory: %s needs %zu bytes on each of %zu threads",
                   loop->what, stride, count);
  }
  pthread_mutex_init(&s.lock, NULL);
  pthread_cond_init(&s.turn_changed, NULL);
  run(&s, count, stride, workspaces, workers);
  pthread_cond_destroy(&s.turn_changed);
  pthread_mutex_destroy(&s.lock);
  free(workspaces);
  free(workers);
  return sp_error_restore(&s.error);
}
