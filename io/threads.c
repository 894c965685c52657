#include "io/threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, CHUNK_VALUES = 65536, CHUNKS_LEAST = 32 };

/* Bytes of a chunk, and of the smallest array that threads clear. */
enum { CLEARED = 1 << 18, LEAST_CLEARED = 8 << 20 };

/* With two work spaces per thread, a slow portion does not stall the others at once. With 32
 * portions per thread, threads end at about the same time. */
enum { SPACES_PER_THREAD = 2, PORTIONS_PER_THREAD = 32 };

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

/* Data shared by the threads of a loop. A portion is one chunk, or several if there are no commits.
 * Portions are taken and committed in the order of their items; portion p is computed in work space
 * p mod `spaces`. Variable members need the lock. In a loop without commits, `next` and `failed`
 * are atomic instead: each thread has a work space, and none waits. */
typedef struct state {
  const sp_loop *loop;
  size_t chunks_of_portion, portions; /* constant, as are the next three */
  size_t spaces, stride;
  char *workspaces;
  bool *computed; /* per work space: its portion waits to be committed */
  size_t came;    /* threads, in a loop without commits */
  size_t next;    /* the first portion that no thread has taken */
  size_t turn;    /* the first one that is not committed */
  bool committing;
  size_t failed; /* the first one that failed; `portions` if none has */
  sp_kept_error error;
  pthread_mutex_t lock;
  pthread_cond_t space_freed;
} state;

static sp_status compute_portion(const state *s, size_t portion, void *workspace) {
  const sp_loop *loop = s->loop;
  const size_t per_portion = s->chunks_of_portion * loop->chunk;
  size_t left = loop->count - portion * per_portion;
  if (left > per_portion) left = per_portion;
  for (size_t begin = portion * per_portion; left > 0;) {
    const size_t size = left < loop->chunk ? left : loop->chunk;
    if (loop->visit) loop->visit(loop->context, begin, begin + size);
    if (loop->compute) SP_TRY(loop->compute(loop->context, workspace, begin, begin + size));
    begin += size;
    left -= size;
  }
  return SP_OK;
}

/* Keep the error of the first portion that failed. The lock is held. */
static void keep_failure(state *s, size_t portion, sp_status status) {
  if (portion >= s->failed) return;
  __atomic_store_n(&s->failed, portion, __ATOMIC_RELAXED);
  sp_error_keep(status, &s->error);
}

/* Take portions until none is left or one has failed; earlier portions have been taken and will be
 * finished. */
static void work_apart(state *s) {
  char *workspace = s->workspaces + __atomic_fetch_add(&s->came, 1, __ATOMIC_RELAXED) * s->stride;
  memset(workspace, 0, s->stride);
  while (__atomic_load_n(&s->failed, __ATOMIC_RELAXED) == s->portions) {
    const size_t portion = __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED);
    if (portion >= s->portions) return;
    const sp_status status = compute_portion(s, portion, workspace);
    if (!status) continue;
    pthread_mutex_lock(&s->lock);
    keep_failure(s, portion, status);
    pthread_mutex_unlock(&s->lock);
  }
}

/* Commit the portions whose turn it is, unless another thread does so. A portion that failed is
 * never `computed`, so neither it nor a later one has its turn. */
static void commit_in_turn(state *s) {
  const sp_loop *loop = s->loop;
  if (s->committing) return;
  s->committing = true;
  for (size_t space = s->turn % s->spaces; s->computed[space]; space = s->turn % s->spaces) {
    const size_t begin = s->turn * loop->chunk;
    pthread_mutex_unlock(&s->lock);
    loop->commit(loop->context, s->workspaces + space * s->stride, begin,
                 loop->count - begin < loop->chunk ? loop->count : begin + loop->chunk);
    pthread_mutex_lock(&s->lock);
    s->computed[space] = false;
    s->turn++;
    pthread_cond_signal(&s->space_freed);
  }
  s->committing = false;
}

/* Take portions, and commit them in turn. A thread that finishes a portion before its turn leaves
 * it to the thread that commits the one before, and takes another. If no work space is free, it
 * sleeps, since it may share its core. */
static void work_in_turn(state *s) {
  pthread_mutex_lock(&s->lock);
  while (s->next < s->portions && s->failed == s->portions) {
    if (s->next - s->turn == s->spaces) {
      pthread_cond_wait(&s->space_freed, &s->lock);
      continue;
    }
    const size_t portion = s->next++, space = portion % s->spaces;
    char *workspace = s->workspaces + space * s->stride;
    pthread_mutex_unlock(&s->lock);
    if (portion < s->spaces) memset(workspace, 0, s->stride); /* not used yet */
    const sp_status status = compute_portion(s, portion, workspace);
    pthread_mutex_lock(&s->lock);
    if (status) {
      keep_failure(s, portion, status);
      continue;
    }
    s->computed[space] = true;
    commit_in_turn(s);
  }
  pthread_cond_broadcast(&s->space_freed); /* no work space is needed any more */
  pthread_mutex_unlock(&s->lock);
}

static void run_portions(state *s) {
  if (s->loop->commit)
    work_in_turn(s);
  else
    work_apart(s);
}

/* ---- Helpers: threads that sleep until a loop needs them ---- */

/* An offer: a loop with room for `wanted` more helpers. At present `working` helpers are in it. */
typedef struct offer {
  state *loop;
  size_t wanted, working;
  pthread_cond_t left;
  struct offer *next;
} offer;

/* The offers and the number of helpers are read and written with the lock held. */
static struct helpers {
  pthread_mutex_t lock;
  pthread_cond_t offered;
  offer *offers;
  size_t count;
} helpers = {.lock = PTHREAD_MUTEX_INITIALIZER, .offered = PTHREAD_COND_INITIALIZER};

static offer *find_wanting(void) {
  offer *o = helpers.offers;
  while (o && o->wanted == 0) o = o->next;
  return o;
}

static void *run_helper(void *none) {
  pthread_mutex_lock(&helpers.lock);
  for (;;) {
    offer *o = find_wanting();
    if (!o) {
      pthread_cond_wait(&helpers.offered, &helpers.lock);
      continue;
    }
    o->wanted--;
    o->working++;
    pthread_mutex_unlock(&helpers.lock);
    run_portions(o->loop);
    pthread_mutex_lock(&helpers.lock);
    if (--o->working == 0) pthread_cond_signal(&o->left);
  }
  return none;
}

/* Start helpers until there are `count`, or the system refuses. They block signals, which the main
 * thread handles. */
static void start_helpers(size_t count) {
  sigset_t all, before;
  pthread_t helper;
  if (helpers.count >= count) return;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (helpers.count < count && pthread_create(&helper, NULL, run_helper, NULL) == 0) {
    pthread_detach(helper);
    helpers.count++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Run a loop on the caller and at most `count` - 1 idle helpers. The loop does not wait for helpers
 * that have not joined. */
static void run_loop(state *s, size_t count) {
  offer mine = {.loop = s, .wanted = count - 1, .left = PTHREAD_COND_INITIALIZER};
  if (count > 1) {
    pthread_mutex_lock(&helpers.lock);
    start_helpers(count - 1);
    mine.next = helpers.offers;
    helpers.offers = &mine;
    if (count > helpers.count)
      pthread_cond_broadcast(&helpers.offered);
    else
      for (size_t h = 1; h < count; h++) pthread_cond_signal(&helpers.offered);
    pthread_mutex_unlock(&helpers.lock);
  }
  run_portions(s);
  if (count > 1) {
    pthread_mutex_lock(&helpers.lock);
    offer **at = &helpers.offers;
    while (*at != &mine) at = &(*at)->next;
    *at = mine.next;
    while (mine.working > 0) pthread_cond_wait(&mine.left, &helpers.lock);
    pthread_mutex_unlock(&helpers.lock);
  }
  pthread_cond_destroy(&mine.left);
}

sp_status sp_loop_run(const sp_loop *loop) {
  const size_t chunks = loop->count / loop->chunk + (loop->count % loop->chunk != 0);
  if (chunks == 0) return SP_OK;
  const size_t count = chunks < (size_t)threads ? chunks : (size_t)threads;
  state s = {
      .loop = loop, .chunks_of_portion = 1, .stride = (loop->workspace_bytes / LINE + 1) * LINE};
  if (!loop->commit && chunks > count * PORTIONS_PER_THREAD)
    s.chunks_of_portion = chunks / (count * PORTIONS_PER_THREAD);
  s.portions = chunks / s.chunks_of_portion + (chunks % s.chunks_of_portion != 0);
  s.spaces = count == 1 || !loop->commit ? count : SPACES_PER_THREAD * count;
  if (s.spaces > s.portions) s.spaces = s.portions;
  s.failed = s.portions;
  /* Not sp_allocate, which may run a loop. */
  s.computed = calloc(s.spaces, sizeof *s.computed);
  s.workspaces = aligned_alloc(LINE, s.spaces * s.stride);
  sp_status status = SP_OK;
  if (!s.computed || !s.workspaces) {
    status = sp_fail(SP_ERR_SYSTEM, "out of memory: %s needs %zu times %zu bytes", loop->what,
                     s.spaces, s.stride);
  } else {
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.space_freed, NULL);
    run_loop(&s, count);
    pthread_cond_destroy(&s.space_freed);
    pthread_mutex_destroy(&s.lock);
    status = sp_error_restore(&s.error);
  }
  SP_FREE(s.workspaces, s.computed);
  return status;
}

sp_status sp_loop_over(const char *what, size_t count, size_t values, void *context,
                       sp_loop_visit *visit) {
  return sp_loop_run(&(sp_loop){.what = what,
                                .count = count,
                                .chunk = sp_loop_chunk(count, values),
                                .context = context,
                                .visit = visit});
}

sp_status sp_loop_sum(const char *what, size_t count, size_t values, void *context,
                      size_t workspace_bytes, sp_loop_compute *compute, sp_loop_commit *commit) {
  return sp_loop_run(&(sp_loop){.what = what,
                                .count = count,
                                .chunk = sp_loop_chunk(count, values),
                                .workspace_bytes = workspace_bytes,
                                .context = context,
                                .compute = compute,
                                .commit = commit});
}

typedef struct setting {
  char *memory;
  int byte;
} setting;

static void set_some(void *setting_, size_t begin, size_t end) {
  const setting *s = setting_;
  memset(s->memory + begin, s->byte, end - begin);
}

void sp_loop_set(size_t bytes, int byte, void *memory) {
  const sp_loop loop = {.what = "bytes",
                        .count = bytes,
                        .chunk = CLEARED,
                        .context = &(setting){memory, byte},
                        .visit = set_some};
  if (threads == 1 || bytes < LEAST_CLEARED || sp_loop_run(&loop)) memset(memory, byte, bytes);
}

/* ---- A thread for one task ---- */

struct sp_task {
  sp_status (*run)(void *context);
  void *context;
  bool started; /* runs on a thread; otherwise it is done */
  pthread_t thread;
  sp_kept_error result;
};

static void *run_task(void *task_) {
  sp_task *task = task_;
  sp_error_keep(task->run(task->context), &task->result);
  return NULL;
}

sp_status sp_task_start(sp_status (*run_)(void *), void *context, sp_task **out) {
  sp_task *task;
  *out = NULL;
  task = calloc(1, sizeof *task);
  if (!task) return sp_fail(SP_ERR_SYSTEM, "out of memory: a task");
  task->run = run_;
  task->context = context;
  task->started = threads > 1 && pthread_create(&task->thread, NULL, run_task, task) == 0;
  if (!task->started) run_task(task);
  *out = task;
  return SP_OK;
}

sp_status sp_task_finish(sp_task **task) {
  sp_task *t = *task;
  if (!t) return SP_OK;
  if (t->started) pthread_join(t->thread, NULL);
  const sp_status status = sp_error_restore(&t->result);
  free(t);
  *task = NULL;
  return status;
}
