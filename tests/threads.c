#define _GNU_SOURCE /* cpu_set_t */
/* Loops on several threads: each item once in calls of one chunk, commits in order, the first
 * error, work spaces. Tasks. And the number of threads, from made-up machines. */
#include "io/threads.h"

#include <sched.h>

#include "io/cores.h"
#include "tests/check.h"

enum { ITEMS = 1000, RUNS = 20 };

/* Record of a loop. Commits write `next`, `sum` and `early`, the commits out of turn. */
typedef struct record {
  int computed[ITEMS];
  size_t next, early;
  double sum;
  size_t count, chunk;
  size_t failing; /* the items from here on fail */
} record;

typedef struct space {
  double values[ITEMS];
  size_t begin;
} space;

static sp_status compute(void *context, void *workspace, size_t begin, size_t end) {
  record *r = context;
  space *s = workspace;
  s->begin = begin;
  if (begin % r->chunk != 0 || (end != begin + r->chunk && end != r->count))
    return sp_fail(SP_ERR_SYSTEM, "items %zu to %zu in one call", begin, end);
  for (size_t i = begin; i < end; i++) {
    if (i >= r->failing) return sp_fail(SP_ERR_INPUT, "item %zu", i);
    r->computed[i]++;
    s->values[i - begin] = 1 / (1 + (double)i);
    for (int k = 0; k < 100; k++) s->values[i - begin] = s->values[i - begin] * 1.5 / 1.5;
  }
  return SP_OK;
}

static void commit(void *context, void *workspace, size_t begin, size_t end) {
  record *r = context;
  const space *s = workspace;
  r->early += begin != r->next || s->begin != begin;
  r->next = end;
  for (size_t i = begin; i < end; i++) r->sum += s->values[i - begin];
}

static sp_status run(size_t count, size_t chunk, size_t failing, record *r) {
  *r = (record){.count = count, .chunk = chunk, .failing = failing};
  return sp_loop_run(&(sp_loop){.what = "test",
                                .count = count,
                                .chunk = chunk,
                                .workspace_bytes = sizeof(space),
                                .context = r,
                                .compute = compute,
                                .commit = commit});
}

static void test_sums(size_t chunk) {
  static record one, many;
  sp_threads_set(1);
  CHECK_OK(run(ITEMS, chunk, ITEMS, &one));
  for (int threads = 2; threads <= 5; threads++)
    for (int k = 0; k < RUNS; k++) {
      sp_threads_set(threads);
      CHECK_OK(run(ITEMS, chunk, ITEMS, &many));
      CHECK(many.next == ITEMS && many.early == 0, "%zu items", many.next);
      CHECK(memcmp(&many.sum, &one.sum, sizeof one.sum) == 0, "%d threads: %.17g, not %.17g",
            threads, many.sum, one.sum);
      int wrong = 0;
      for (int i = 0; i < ITEMS; i++) wrong += many.computed[i] != 1;
      CHECK(wrong == 0, "%d items not computed once", wrong);
    }
}

/* Chunks of 7: item 500 gives the error, and its chunk, from 497 on, is not committed. Without
 * commits a thread takes several chunks at a time; calls and errors still follow the chunks. */
static void test_errors(void) {
  static record r;
  const sp_loop loop = {.what = "test",
                        .count = ITEMS,
                        .chunk = 3,
                        .workspace_bytes = sizeof(space),
                        .context = &r,
                        .compute = compute};
  for (int threads = 1; threads <= 5; threads++)
    for (int k = 0; k < RUNS; k++) {
      sp_threads_set(threads);
      CHECK(run(ITEMS, 7, 500, &r) == SP_ERR_INPUT && r.next == 497 && r.early == 0, "%zu", r.next);
      CHECK_TEXT(sp_error_message(), "item 500");
      r = (record){.count = ITEMS, .chunk = 3, .failing = ITEMS};
      CHECK_OK(sp_loop_run(&loop));
      int wrong = 0;
      for (int i = 0; i < ITEMS; i++) wrong += r.computed[i] != 1;
      CHECK(wrong == 0, "%d items not computed once", wrong);
      r = (record){.count = ITEMS, .chunk = 3, .failing = 500};
      CHECK_FAILS(sp_loop_run(&loop), SP_ERR_INPUT, "item 500");
    }
}

static void test_edges(void) {
  static record r;
  sp_threads_set(3);
  CHECK(run(0, 10, ITEMS, &r) == SP_OK && r.next == 0, "no items");
  CHECK(run(1, 10, ITEMS, &r) == SP_OK && r.next == 1, "one item");
  CHECK(sp_threads() == 3, "%d threads", sp_threads());
  CHECK(sp_loop_chunk(1000000, 1) > 100 && sp_loop_chunk(1000, 1000000) == 1 &&
            sp_loop_chunk(320, 1) == 10 && sp_loop_chunk(0, 0) == 1,
        "chunks");
  sp_threads_set(-3);
  CHECK(sp_threads() == 1, "%d threads", sp_threads());
}

enum { RANKS = 4 };

/* Ranks bound to processors, as in "0-3", on a machine with `cores` cores of two processors:
 * processor p belongs to core p modulo `cores`, as Linux numbers them. */
static void expect(int cores, int ranks, const int (*bound)[2], const char *works,
                   const int *shares, int usable) {
  static cpu_set_t processors[RANKS];
  static int core[CPU_SETSIZE];
  bool work[RANKS] = {false};
  memset(processors, 0, sizeof processors);
  for (int p = 0; p < CPU_SETSIZE; p++) core[p] = p < 2 * cores ? p % cores : p;
  for (int r = 0; r < ranks; r++) {
    work[r] = works[r] == '1';
    for (int p = bound[r][0]; p <= bound[r][1]; p++) CPU_SET((size_t)p, &processors[r]);
  }
  const sp_core_view view = {ranks, processors, work, core};
  for (int r = 0; r < ranks; r++) {
    if (!work[r]) continue;
    cpu_set_t all;
    const int share = sp_cores_share(&view, r, &all);
    const int count = CPU_COUNT(&all);
    CHECK(share == shares[r], "%s, rank %d: %d threads, expected %d", works, r, share, shares[r]);
    CHECK(usable == 0 || count == usable, "%s, rank %d: %d processors, expected %d", works, r,
          count, usable);
  }
}

#define BOUND(...) ((const int[][2]){__VA_ARGS__})
#define SHARES(...) ((const int[]){__VA_ARGS__})

static void test_shares(void) {
  expect(16, 1, BOUND({3, 3}), "1", SHARES(1), 1);
  expect(8, 1, BOUND({0, 15}), "1", SHARES(8), 16); /* two processors per core */
  expect(16, 2, BOUND({0, 7}, {8, 15}), "11", SHARES(8, 8), 8);
  expect(16, 2, BOUND({0, 15}, {0, 15}), "11", SHARES(8, 8), 16);
  expect(4, 3, BOUND({0, 3}, {0, 3}, {0, 3}), "111", SHARES(1, 1, 1), 4);
  expect(16, 2, BOUND({0, 15}, {0, 3}), "11", SHARES(14, 2), 0); /* 12 + 4 / 2, 4 / 2 */
  expect(2, 4, BOUND({0, 1}, {0, 1}, {0, 1}, {0, 1}), "1111", SHARES(1, 1, 1, 1), 2);
  /* Ranks that wait lend their cores. */
  expect(16, 4, BOUND({0, 3}, {4, 7}, {8, 11}, {12, 15}), "1010", SHARES(8, 0, 8), 12);
  expect(16, 4, BOUND({0, 15}, {0, 15}, {0, 15}, {0, 15}), "1000", SHARES(16), 16);
}

typedef struct meeting {
  int caller, task; /* each waits until the other one has come */
} meeting;

static sp_status meet(void *meeting_) {
  meeting *m = meeting_;
  __atomic_store_n(&m->task, 1, __ATOMIC_RELEASE);
  while (!__atomic_load_n(&m->caller, __ATOMIC_ACQUIRE)) sched_yield();
  return sp_fail(SP_ERR_INPUT, "met");
}

static sp_status count_run(void *count) {
  ++*(int *)count;
  return SP_OK;
}

/* A task runs beside its caller, and its error comes with sp_task_finish; with one
 * thread it is done at once. */
static void test_tasks(void) {
  sp_task *task;
  meeting m = {0};
  int runs = 0;
  sp_threads_set(2);
  CHECK(!sp_task_start(meet, &m, &task), "start");
  while (!__atomic_load_n(&m.task, __ATOMIC_ACQUIRE)) sched_yield();
  __atomic_store_n(&m.caller, 1, __ATOMIC_RELEASE);
  CHECK(sp_task_finish(&task) == SP_ERR_INPUT, "status");
  CHECK_TEXT(sp_error_message(), "met");
  CHECK(!task && sp_task_finish(&task) == SP_OK, "no task");
  sp_threads_set(1);
  CHECK(!sp_task_start(count_run, &runs, &task), "start");
  CHECK(runs == 1, "%d runs with one thread", runs);
  CHECK(sp_task_finish(&task) == SP_OK, "finish");
}

static sp_status run_again(void *record_) {
  record *r = record_;
  for (int k = 0; k < RUNS; k++) SP_TRY(run(ITEMS, 7, ITEMS, r));
  return SP_OK;
}

static sp_status run_inside(void *records, void *none, size_t begin, size_t end) {
  (void)none;
  for (size_t i = begin; i < end; i++) SP_TRY(run(ITEMS, 7, ITEMS, (record *)records + i));
  return SP_OK;
}

/* Loops of a task and of its caller, and loops inside a loop, share the threads. */
static void test_several_loops(void) {
  static record own, other, inside[ITEMS / 100];
  const size_t count = sizeof inside / sizeof *inside;
  for (int threads = 2; threads <= 5; threads++) {
    sp_task *task;
    sp_threads_set(threads);
    CHECK_OK(sp_task_start(run_again, &other, &task));
    CHECK_OK(run_again(&own));
    CHECK_OK(sp_task_finish(&task));
    CHECK(own.next == ITEMS && other.next == ITEMS && own.sum == other.sum, "%.17g and %.17g",
          own.sum, other.sum);
    CHECK_OK(sp_loop_sum("test", count, ITEMS, inside, 0, run_inside, NULL));
    for (size_t i = 0; i < count; i++)
      CHECK(inside[i].next == ITEMS && inside[i].early == 0 && inside[i].sum == own.sum, "%zu: %zu",
            i, inside[i].next);
  }
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  test_sums(1);
  test_sums(7);
  test_errors();
  test_edges();
  test_tasks();
  test_several_loops();
  test_shares();
  return check_end();
}
