/* The GPU of each rank: on made-up machines, and gathered by the ranks of this run. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "operators/gpus.h"

#include "tests/check.h"
#include "tests/random.h"

enum { RANKS = 16, GPUS = 64 };

/* A view of ranks on machines[r] ("aab"). The visible GPUs of rank r have the letters in
 * seen[r]. */
typedef struct scene {
  int machine[RANKS], first[RANKS + 1];
  sp_gpu gpus[GPUS];
  sp_gpu_view view;
} scene;

static void set(scene *s, const char *machines, const char *const *seen) {
  memset(s, 0, sizeof *s);
  const int ranks = (int)strlen(machines);
  for (int r = 0; r < ranks; r++) {
    s->machine[r] = machines[r];
    s->first[r + 1] = s->first[r];
    for (const char *letter = seen[r]; *letter; letter++)
      s->gpus[s->first[r + 1]++].name[0] = *letter;
  }
  s->view = (sp_gpu_view){ranks, s->machine, s->first, s->gpus};
}

#define SEES(...) ((const char *const[]){__VA_ARGS__})
#define GETS(...) ((const int[]){__VA_ARGS__})

static void expect(const char *machines, const char *const *seen, const int *expected) {
  scene s;
  int choice[RANKS];
  set(&s, machines, seen);
  CHECK(sp_gpus_choose(&s.view, choice) == SP_OK, "%s: %s", machines, sp_error_message());
  for (int r = 0; r < s.view.ranks; r++)
    CHECK(choice[r] == expected[r], "%s, rank %d: %d, expected %d", machines, r, choice[r],
          expected[r]);
}

static void refuse(const char *machines, const char *const *seen, const char *words) {
  scene s;
  int choice[RANKS];
  set(&s, machines, seen);
  CHECK_FAILS(sp_gpus_choose(&s.view, choice), SP_ERR_INPUT, words);
}

/* On one machine CUDA_VISIBLE_DEVICES may differ from rank to rank: each numbers its visible
 * devices 0, 1, ... A name belongs to one machine. */
static void test_choices(void) {
  expect("aaaa", SEES("p", "p", "p", "p"), GETS(0, -1, -1, -1));
  expect("aaaa", SEES("pq", "pq", "pq", "pq"), GETS(0, -1, 1, -1));
  expect("aaa", SEES("pq", "pq", "pq"), GETS(0, 1, -1));
  expect("aa", SEES("pqrs", "pqrs"), GETS(0, 1)); /* more GPUs than ranks */
  const char *seen[16];
  for (int r = 0; r < 16; r++) seen[r] = "pqrs";
  expect("aaaaaaaaaaaaaaaa", seen,
         GETS(0, -1, -1, -1, 1, -1, -1, -1, 2, -1, -1, -1, 3, -1, -1, -1));
  expect("aaaa", SEES("p", "q", "p", "q"), GETS(0, -1, -1, 0));
  expect("aa", SEES("pq", "p"), GETS(1, 0));                  /* rank 0 leaves p to rank 1 */
  expect("aaaa", SEES("p", "", "q", ""), GETS(0, -1, 0, -1)); /* more ranks than GPUs to set */
  expect("aaaabbbb", SEES("p", "p", "p", "p", "qrst", "qrst", "qrst", "qrst"),
         GETS(0, -1, -1, -1, 0, 1, 2, 3));
  expect("abcabc", SEES("p", "qr", "s", "p", "qr", "s"), GETS(0, 0, 0, -1, 1, -1));
  expect("ab", SEES("p", "p"), GETS(0, 0));
  refuse("aabb", SEES("p", "p", "", ""), "machine of rank 2");
  refuse("aa", SEES("", "p"), "no GPU is visible to rank 0");
}

/* The most ranks that can have a GPU of their own, of those from `rank` on. */
static int most(const scene *s, int rank, bool *taken) {
  if (rank == s->view.ranks) return 0;
  int best = most(s, rank + 1, taken);
  for (int i = s->first[rank]; i < s->first[rank + 1]; i++) {
    bool *gpu = &taken[(unsigned char)s->gpus[i].name[0]];
    if (*gpu) continue;
    *gpu = true;
    const int with = 1 + most(s, rank + 1, taken);
    if (with > best) best = with;
    *gpu = false;
  }
  return best;
}

/* For any visible GPUs, the largest possible number of ranks have a GPU of their own, among them
 * rank 0. */
static void test_any_view(void) {
  enum { VIEWS = 2000, MOST = 6 };
  for (int v = 0; v < VIEWS; v++) {
    char seen[MOST][8] = {{0}}, machines[MOST + 1] = "";
    const char *lists[MOST];
    const int ranks = 1 + (int)random_below(MOST);
    for (int r = 0; r < ranks; r++) {
      int n = 0;
      for (int g = 0; g < 5; g++)
        if (random_below(3) == 0) seen[r][n++] = (char)('p' + g);
      if (r == 0 && n == 0) seen[0][0] = 'p';
      lists[r] = seen[r];
      machines[r] = 'a';
    }
    scene s;
    int choice[RANKS], workers = 0;
    bool taken[256] = {false}, used[256] = {false};
    set(&s, machines, lists);
    CHECK_OK(sp_gpus_choose(&s.view, choice));
    for (int r = 0; r < ranks; r++) {
      if (choice[r] < 0) continue;
      workers++;
      CHECK(choice[r] < s.first[r + 1] - s.first[r], "view %d, rank %d: device %d", v, r,
            choice[r]);
      bool *gpu = &used[(unsigned char)s.gpus[s.first[r] + choice[r]].name[0]];
      CHECK(!*gpu, "view %d: two ranks have one GPU", v);
      *gpu = true;
    }
    CHECK(choice[0] >= 0, "view %d: rank 0 does not work", v);
    CHECK(workers == most(&s, 0, taken), "view %d: %d ranks work, %d could", v, workers,
          most(&s, 0, taken));
  }
}

/* Rank r has r visible GPUs of its own. */
static void test_gather(void) {
  sp_gpu mine[RANKS] = {{""}};
  AUTO_VALUE(sp_gpu_view) view = {0};
  for (int g = 0; g < world_rank; g++)
    snprintf(mine[g].name, sizeof mine[g].name, "%d of %d", g, world_rank);
  CHECK_OK(sp_gpus_gather(MPI_COMM_WORLD, world_rank, mine, &view));
  CHECK(view.ranks == world_size, "%d ranks", view.ranks);
  for (int r = 0; r < world_size; r++) {
    CHECK(view.machine[r] == 0, "rank %d on machine %d", r, view.machine[r]);
    CHECK(view.first[r + 1] - view.first[r] == r, "rank %d sees %d", r,
          view.first[r + 1] - view.first[r]);
    for (int g = 0; g < r; g++) {
      char name[sizeof mine[g].name];
      snprintf(name, sizeof name, "%d of %d", g, r);
      CHECK_TEXT(view.gpus[view.first[r] + g].name, name);
    }
  }
}

/* A stand-in for the driver: visible are the GPUs that CUDA_VISIBLE_DEVICES names, else p and q. */
static int looks;

static sp_status made_up(int *count, sp_gpu **gpus) {
  const char *letters = getenv("CUDA_VISIBLE_DEVICES");
  if (!letters) letters = "pq";
  looks++;
  *count = (int)strlen(letters);
  SP_TRY(sp_allocate((size_t)*count, sizeof **gpus, "GPUs", gpus));
  for (int g = 0; g < *count; g++) (*gpus)[g].name[0] = letters[g];
  return SP_OK;
}

static sp_status fails(int *count, sp_gpu **gpus) {
  *count = 0;
  *gpus = NULL;
  return sp_fail(SP_ERR_SYSTEM, "no driver");
}

/* Look with CUDA_VISIBLE_DEVICES = letters_of[world_rank], NULL: unset. The driver is called on
 * `expected` ranks. */
static void look(const char *const *letters_of, int expected) {
  AUTO_VALUE(sp_gpu_view) view = {0};
  if (letters_of[world_rank])
    setenv("CUDA_VISIBLE_DEVICES", letters_of[world_rank], 1);
  else
    unsetenv("CUDA_VISIBLE_DEVICES");
  looks = 0;
  CHECK_OK(sp_gpus_look(MPI_COMM_WORLD, made_up, &view));
  MPI_Allreduce(MPI_IN_PLACE, &looks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(world_size < 4 || looks == expected, "%d ranks asked, expected %d", looks, expected);
  for (int r = 0; r < world_size; r++) {
    const char *letters = letters_of[r] ? letters_of[r] : "pq";
    CHECK(view.first[r + 1] - view.first[r] == (int)strlen(letters), "rank %d sees %d", r,
          view.first[r + 1] - view.first[r]);
    for (int g = 0; letters[g]; g++)
      CHECK(view.gpus[view.first[r] + g].name[0] == letters[g], "rank %d, GPU %d", r, g);
  }
}

static void test_look(void) {
  AUTO_VALUE(sp_gpu_view) view = {0};
  look(SEES(NULL, NULL, NULL, NULL), 1);
  look(SEES("p", "q", "p", "q"), 2);
  look(SEES("p", "q", "r", "s"), 4);
  look(SEES(NULL, "", NULL, ""), 2); /* an empty list is not a missing one */
  CHECK(sp_gpus_look(MPI_COMM_WORLD, fails, &view) == SP_ERR_SYSTEM &&
            strcmp(sp_error_message(), "no driver") == 0,
        "'%s'", sp_error_message());
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  test_choices();
  test_any_view();
  test_gather();
  test_look();
  return check_end();
}
