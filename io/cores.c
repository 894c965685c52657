#define _GNU_SOURCE
#include "io/cores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/team.h"
#include "io/threads.h"

/* Mark the cores of processors. */
static void mark_cores(const cpu_set_t *processors, const int *core, bool *marked) {
  for (size_t p = 0; p < CPU_SETSIZE; p++)
    if (CPU_ISSET(p, processors)) marked[core[p]] = true;
}

int sp_cores_share(const sp_core_view *view, int rank, cpu_set_t *usable) {
  cpu_set_t lent;
  int users[CPU_SETSIZE] = {0};
  CPU_ZERO(&lent);
  for (int r = 0; r < view->ranks; r++)
    if (!view->works[r]) CPU_OR(&lent, &lent, &view->bound[r]);
  bool mine[CPU_SETSIZE] = {false};
  for (int r = 0; r < view->ranks; r++) {
    if (!view->works[r]) continue;
    bool used[CPU_SETSIZE] = {false};
    mark_cores(&lent, view->core, used);
    mark_cores(&view->bound[r], view->core, used);
    for (int c = 0; c < CPU_SETSIZE; c++) users[c] += used[c];
    if (r == rank) memcpy(mine, used, sizeof mine);
  }
  double share = 0;
  for (int c = 0; c < CPU_SETSIZE; c++)
    if (mine[c]) share += 1.0 / users[c];
  CPU_OR(usable, &view->bound[rank], &lent);
  /* Three thirds may add up to slightly less than one. */
  const int whole = (int)(share + 1e-6);
  return whole > 1 ? whole : 1;
}

/* The lowest processor of the core of processor p; with SMT a core has several. */
static int core_of(int p) {
  char path[96];
  int first = p;
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", p);
  FILE *file = fopen(path, "r");
  if (!file) return p;
  if (fscanf(file, "%d", &first) != 1 || first < 0 || first > p) first = p;
  fclose(file);
  return first;
}

/* All online processors. */
static void find_all(cpu_set_t *all) {
  CPU_ZERO(all);
  FILE *file = fopen("/sys/devices/system/cpu/online", "r"); /* as in 0-3,8-11 */
  if (!file) return;
  int first, last;
  while (fscanf(file, "%d", &first) == 1) {
    last = first;
    int next = fgetc(file);
    if (next == '-' && fscanf(file, "%d", &last) == 1) next = fgetc(file);
    for (int p = first; p >= 0 && p <= last && p < CPU_SETSIZE; p++) CPU_SET((size_t)p, all);
    if (next != ',') break;
  }
  fclose(file);
}

/* Cores without a rank. */
static int count_idle(const sp_core_view *view, const cpu_set_t *all) {
  bool exists[CPU_SETSIZE] = {false}, used[CPU_SETSIZE] = {false};
  int idle = 0;
  mark_cores(all, view->core, exists);
  for (int r = 0; r < view->ranks; r++) mark_cores(&view->bound[r], view->core, used);
  for (int c = 0; c < CPU_SETSIZE; c++) idle += exists[c] && !used[c];
  return idle;
}

/* This rank's share; collective over `machine`. */
static sp_status find_share(MPI_Comm machine, bool works, int *share, int *idle_cores) {
  const int ranks = sp_comm_size(machine), rank = sp_comm_rank(machine);
  SP_OWNED cpu_set_t *bound = NULL;
  SP_OWNED bool *all_works = NULL;
  SP_OWNED int *core = NULL;
  cpu_set_t mine, all, usable;
  SP_TRY(sp_agree(machine, SP_ALLOCATE("processors of ranks", SP_ARRAY(bound, ranks),
                                       SP_ARRAY(all_works, ranks), SP_ARRAY(core, CPU_SETSIZE))));
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine); /* fails with more processors than a set has */
  MPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, bound, (int)sizeof mine, MPI_BYTE, machine);
  MPI_Allgather(&works, 1, MPI_C_BOOL, all_works, 1, MPI_C_BOOL, machine);
  find_all(&all);
  for (int p = 0; p < CPU_SETSIZE; p++) core[p] = CPU_ISSET((size_t)p, &all) ? core_of(p) : p;
  const sp_core_view view = {ranks, bound, all_works, core};
  *share = works ? sp_cores_share(&view, rank, &usable) : 1;
  *idle_cores = count_idle(&view, &all);
  /* If this fails, the launcher's binding stays. */
  if (works && !CPU_EQUAL(&usable, &mine)) sched_setaffinity(0, sizeof usable, &usable);
  return SP_OK;
}

/* The first number of OMP_NUM_THREADS, for the outermost loops; 0 if it is not set. */
static int threads_of_environment(void) {
  const char *text = getenv("OMP_NUM_THREADS");
  const long number = text ? strtol(text, NULL, 10) : 0;
  return number > 0 && number <= SP_THREADS_MAX ? (int)number : 0;
}

int sp_cores_set_team(int requested) {
  int level;
  MPI_Query_thread(&level);
  if (requested == 0) requested = threads_of_environment();
  return sp_team_set(level < MPI_THREAD_FUNNELED || requested == 0 ? 1 : requested);
}

sp_status sp_cores_choose(MPI_Comm all, bool works, int requested, int *smallest, int *largest,
                          int *idle_cores) {
  MPI_Comm machine;
  int share = 1, level;
  MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  const sp_status status = find_share(machine, works, &share, idle_cores);
  MPI_Comm_free(&machine);
  SP_TRY(sp_agree(all, status));
  MPI_Query_thread(&level);
  if (requested == 0) requested = threads_of_environment();
  sp_threads_set(level < MPI_THREAD_FUNNELED || !works ? 1 : requested > 0 ? requested : share);
  int range[2] = {works ? -sp_threads() : -SP_THREADS_MAX, works ? sp_threads() : 0};
  MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_INT, MPI_MAX, all);
  *smallest = -range[0];
  *largest = range[1];
  return SP_OK;
}
