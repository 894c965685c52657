#define _GNU_SOURCE /* cpu_set_t, nanosleep */
#include "solver/solve/workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io/cores.h"
#include "io/threads.h"
#include "solver/solve/interrupt.h"

enum { TAG_INTERRUPTED = 1 };

/* Count the machines that have ranks with elements. Collective over those ranks. */
static int count_machines(MPI_Comm comm) {
  MPI_Comm machine;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  int machines = sp_comm_rank(machine) == 0;
  MPI_Comm_free(&machine);
  MPI_Allreduce(MPI_IN_PLACE, &machines, 1, MPI_INT, MPI_SUM, comm);
  return machines;
}

/* Describe the choice, cut if it does not fit: "4 of 16 have all elements, one rank per GPU on 2
 * machines: 0 4 8 12; ...". */
static void describe_workers(sp_workers *w, const int *has_elements, int machines) {
  static const char end[] = " ...; the others wait (backend.share = no)";
  enum { ALL = sizeof w->description, ROOM = ALL - sizeof end, NUMBER = 12 };
  char *text = w->description;
  if (w->count == w->ranks) {
    snprintf(text, ALL, "all %d have elements", w->ranks);
    return;
  }
  int used =
      snprintf(text, ROOM, "%d of %d %s all elements, one rank per GPU on %d machine%s:", w->count,
               w->ranks, w->count == 1 ? "has" : "have", machines, sp_plural(machines));
  int listed = 0;
  for (int r = 0; r < w->ranks && used + NUMBER < ROOM; r++) {
    if (!has_elements[r]) continue;
    used += snprintf(text + used, (size_t)(ROOM - used), " %d", r);
    listed++;
  }
  snprintf(text + used, (size_t)(ALL - used), "%s", listed < w->count ? end : strchr(end, ';'));
}

/* Find the ranks with elements and connect them. */
static sp_status join_workers(sp_workers *w) {
  int *has_elements, mine = w->has_elements, machines = 0;
  const int rank = sp_comm_rank(w->all);
  SP_TRY(sp_agree(w->all,
                  sp_allocate((size_t)w->ranks, sizeof *has_elements, "ranks", &has_elements)));
  MPI_Allgather(&mine, 1, MPI_INT, has_elements, 1, MPI_INT, w->all);
  for (int r = w->ranks - 1; r >= 0; r--)
    if (has_elements[r]) {
      w->leader = r;
      w->count++;
    }
  MPI_Comm_split(w->all, w->has_elements ? 0 : MPI_UNDEFINED, rank, &w->comm);
  if (w->has_elements) machines = count_machines(w->comm);
  MPI_Bcast(&machines, 1, MPI_INT, w->leader, w->all);
  describe_workers(w, has_elements, machines);
  free(has_elements);
  return SP_OK;
}

sp_status sp_workers_open_on(MPI_Comm all, bool has_elements, sp_device_kind kind,
                             sp_transport transport, sp_workers *workers) {
  sp_workers *w = workers;
  *w = (sp_workers){.all = all,
                    .ranks = sp_comm_size(all),
                    .has_elements = has_elements,
                    .comm = MPI_COMM_NULL,
                    .threads = {sp_threads(), sp_threads()}};
  SP_TRY(join_workers(w));
  return sp_workers_meet(w, has_elements ? sp_platform_open(w->comm, kind, transport, &w->platform)
                                         : SP_OK);
}

static sp_status open_platform(MPI_Comm all, const sp_backend_options *options,
                               sp_workers *workers) {
  const sp_device_kind kind = options->device;
  const sp_transport transport = options->exchange;
  bool has_elements = true;
  *workers = (sp_workers){.all = all, .comm = MPI_COMM_NULL};
  if (options->share == SP_SHARE_NO) SP_TRY(sp_platform_choose_ranks(all, kind, &has_elements));
  bool all_work = has_elements;
  MPI_Allreduce(MPI_IN_PLACE, &all_work, 1, MPI_C_BOOL, MPI_LAND, all);
  if (all_work) return sp_workers_open_on(all, has_elements, kind, transport, workers);
  const sp_status status =
      sp_workers_open_on(all, has_elements, SP_DEVICE_CUDA, transport, workers);
  if (!status || kind == SP_DEVICE_CUDA) return status;
  /* The GPUs that `auto` has found cannot be used, so all ranks work on CPUs. */
  sp_workers_close(workers);
  return sp_workers_open_on(all, true, SP_DEVICE_HOST, transport, workers);
}

sp_status sp_workers_open(MPI_Comm all, const sp_backend_options *options, sp_workers *workers) {
  const int team = sp_cores_set_team(options->threads);
  SP_TRY(open_platform(all, options, workers));
  workers->team = team;
  return sp_cores_choose(all, workers->has_elements, options->threads, &workers->threads[0],
                         &workers->threads[1], &workers->idle_cores);
}

/* Sleep until all ranks have arrived. *message becomes the request of a message to the leader, if
 * one was sent. */
static void sleep_until(const sp_workers *w, MPI_Request *arrival, MPI_Request *message) {
  const struct timespec pause = {.tv_nsec = 1000000};
  int arrived = 0;
  sp_interrupt_watch();
  for (;;) {
    if (*message == MPI_REQUEST_NULL && sp_interrupt_noted())
      MPI_Isend(NULL, 0, MPI_BYTE, w->leader, TAG_INTERRUPTED, w->all, message);
    MPI_Test(arrival, &arrived, MPI_STATUS_IGNORE);
    if (arrived) return;
    nanosleep(&pause, NULL);
  }
}

sp_status sp_workers_meet(const sp_workers *workers, sp_status status) {
  const sp_workers *w = workers;
  if (w->count == w->ranks) return sp_agree(w->all, status);
  MPI_Request arrival, message = MPI_REQUEST_NULL;
  const int rank = sp_comm_rank(w->all);
  MPI_Ibarrier(w->all, &arrival);
  if (w->has_elements)
    MPI_Wait(&arrival, MPI_STATUS_IGNORE);
  else
    sleep_until(w, &arrival, &message);
  int messages = message != MPI_REQUEST_NULL;
  MPI_Allreduce(MPI_IN_PLACE, &messages, 1, MPI_INT, MPI_SUM, w->all);
  for (int m = 0; m < messages && rank == w->leader; m++)
    MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, TAG_INTERRUPTED, w->all, MPI_STATUS_IGNORE);
  MPI_Wait(&message, MPI_STATUS_IGNORE);
  return sp_agree(w->all, status);
}

bool sp_workers_interrupted(const sp_workers *workers) {
  int waits = 0;
  if (sp_comm_rank(workers->all) == workers->leader && workers->count < workers->ranks)
    MPI_Iprobe(MPI_ANY_SOURCE, TAG_INTERRUPTED, workers->all, &waits, MPI_STATUS_IGNORE);
  return waits;
}

void sp_workers_close(sp_workers *workers) {
  sp_platform_close(&workers->platform);
  if (workers->comm != MPI_COMM_NULL) MPI_Comm_free(&workers->comm);
}
