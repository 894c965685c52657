#define _POSIX_C_SOURCE 200809L /* readlink */
#include "operators/gpus.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/hash.h"

extern char **environ;

/* ---- Views ---- */

sp_status sp_gpus_gather(MPI_Comm comm, int count, const sp_gpu *gpus, sp_gpu_view *view) {
  MPI_Comm machine;
  const int rank = sp_comm_rank(comm), size = sp_comm_size(comm);
  *view = (sp_gpu_view){.ranks = size};
  SP_OWNED int *counts = NULL;
  int lowest = rank;
  SP_TRY(sp_agree(comm, SP_ALLOCATE("GPUs", SP_ARRAY(view->machine, size),
                                    SP_ARRAY(view->first, size + 1), SP_ARRAY(counts, size))));
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine);
  MPI_Bcast(&lowest, 1, MPI_INT, 0, machine);
  MPI_Comm_free(&machine);
  MPI_Allgather(&lowest, 1, MPI_INT, view->machine, 1, MPI_INT, comm);
  MPI_Allgather(&count, 1, MPI_INT, counts, 1, MPI_INT, comm);
  for (int r = 0; r < size; r++) view->first[r + 1] = view->first[r] + counts[r];
  SP_TRY(sp_agree(comm,
                  sp_allocate((size_t)view->first[size], sizeof *view->gpus, "GPUs", &view->gpus)));
  MPI_Datatype type;
  MPI_Type_contiguous((int)sizeof *gpus, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Allgatherv(gpus, count, type, view->gpus, counts, view->first, type, comm);
  MPI_Type_free(&type);
  return SP_OK;
}

void sp_gpu_view_destroy(sp_gpu_view *view) {
  SP_FREE(view->machine, view->first, view->gpus);
  *view = (sp_gpu_view){0};
}

/* Hash the files and variables that determine the visible GPUs. Unreadable files count as empty. */
static uint64_t hash_outlook(void) {
  char text[4096] = "";
  uint64_t key = 0;
  for (char **v = environ; *v; v++)
    if (strncmp(*v, "CUDA_", 5) == 0 || strncmp(*v, "NVIDIA_", 7) == 0)
      key += sp_hash_fold_text(1, *v); /* in any order */
  FILE *stream = fopen("/proc/self/cgroup", "r");
  if (stream) {
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    fclose(stream);
  }
  key = sp_hash_fold_text(key, text);
  const ssize_t length = readlink("/proc/self/ns/mnt", text, sizeof text - 1);
  text[length > 0 ? length : 0] = '\0';
  return sp_hash_fold_text(key, text);
}

/* Connect this rank with the ranks of its machine that have the same visible GPUs. */
static sp_status find_alike(MPI_Comm comm, MPI_Comm *alike) {
  MPI_Comm machine;
  SP_OWNED uint64_t *keys = NULL;
  uint64_t key = hash_outlook();
  int first = 0;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  const int rank = sp_comm_rank(machine), size = sp_comm_size(machine);
  sp_status status = sp_allocate((size_t)size, sizeof *keys, "GPUs", &keys);
  status = sp_agree(comm, status);
  if (!status) {
    MPI_Allgather(&key, 1, MPI_UINT64_T, keys, 1, MPI_UINT64_T, machine);
    while (keys[first] != key) first++;
    MPI_Comm_split(machine, first, rank, alike);
  }
  MPI_Comm_free(&machine);
  return status;
}

/* Send the list of the first rank of `alike` to the others. Collective over `comm` and `alike`. */
static sp_status share_list(MPI_Comm comm, MPI_Comm alike, int *count, sp_gpu **gpus) {
  MPI_Bcast(count, 1, MPI_INT, 0, alike);
  const size_t length = (size_t)*count;
  const bool receives = sp_comm_rank(alike) > 0;
  SP_TRY(sp_agree(comm, receives ? sp_allocate(length, sizeof **gpus, "GPUs", gpus) : SP_OK));
  MPI_Bcast(*gpus, *count * (int)sizeof **gpus, MPI_BYTE, 0, alike);
  return SP_OK;
}

sp_status sp_gpus_look(MPI_Comm comm, sp_status (*visible)(int *count, sp_gpu **gpus),
                       sp_gpu_view *view) {
  MPI_Comm alike;
  int count = 0;
  SP_OWNED sp_gpu *gpus = NULL;
  *view = (sp_gpu_view){0};
  SP_TRY(find_alike(comm, &alike));
  sp_status status = sp_agree(comm, sp_comm_rank(alike) == 0 ? visible(&count, &gpus) : SP_OK);
  if (!status) status = share_list(comm, alike, &count, &gpus);
  MPI_Comm_free(&alike);
  return status ? status : sp_gpus_gather(comm, count, gpus, view);
}

/* ---- Choice ---- */

/* One machine: its ranks, and their distinct GPUs in the order of first occurrence. */
typedef struct site {
  int rank_count, gpu_count;
  int *ranks;          /* [rank_count], of the view */
  const sp_gpu **gpus; /* [gpu_count] */
  int *device;         /* [rank_count][gpu_count]: the rank's number of the GPU, -1: not visible */
  int *gpu_of;         /* [rank_count]: the GPU of the rank, -1: none yet */
  bool *tried;         /* [rank_count], in the present search */
} site;

static void site_destroy(site *s) {
  SP_FREE(s->ranks, s->gpus, s->device, s->gpu_of, s->tried);
}

static int find_gpu(const site *s, const sp_gpu *gpu) {
  int g = 0;
  while (g < s->gpu_count && strcmp(s->gpus[g]->name, gpu->name) != 0) g++;
  return g;
}

static sp_status site_create(const sp_gpu_view *view, int machine, site *s) {
  size_t seen = 0, ranks = 0;
  for (int r = 0; r < view->ranks; r++)
    if (view->machine[r] == machine) {
      ranks++;
      seen += (size_t)(view->first[r + 1] - view->first[r]);
    }
  SP_TRY(SP_ALLOCATE("GPUs", SP_ARRAY(s->ranks, ranks), SP_ARRAY(s->gpu_of, ranks),
                     SP_ARRAY(s->tried, ranks), SP_ARRAY(s->gpus, seen)));
  for (int r = 0; r < view->ranks; r++) {
    if (view->machine[r] != machine) continue;
    s->ranks[s->rank_count++] = r;
    for (int i = view->first[r]; i < view->first[r + 1]; i++)
      if (find_gpu(s, &view->gpus[i]) == s->gpu_count) s->gpus[s->gpu_count++] = &view->gpus[i];
  }
  const size_t gpus = (size_t)s->gpu_count;
  SP_TRY(sp_allocate(ranks * gpus, sizeof *s->device, "GPUs", &s->device));
  for (size_t n = 0; n < ranks; n++) {
    const int r = s->ranks[n];
    s->gpu_of[n] = -1;
    for (size_t g = 0; g < gpus; g++) s->device[n * gpus + g] = -1;
    for (int i = view->first[r + 1] - 1; i >= view->first[r]; i--)
      s->device[n * gpus + (size_t)find_gpu(s, &view->gpus[i])] = i - view->first[r];
  }
  return SP_OK;
}

/* Give GPU g to a rank, which may pass its own GPU on to another rank: an augmenting path of the
 * bipartite matching of ranks and GPUs. Ranks with a GPU keep having one. */
static bool give_gpu(site *s, int g) {
  const int n = s->rank_count, begin = n > s->gpu_count ? (int)((long)g * n / s->gpu_count) : g % n;
  for (int i = 0; i < n; i++) {
    const int rank = (begin + i) % n;
    if (s->tried[rank] || s->device[rank * s->gpu_count + g] < 0) continue;
    s->tried[rank] = true;
    if (s->gpu_of[rank] >= 0 && !give_gpu(s, s->gpu_of[rank])) continue;
    s->gpu_of[rank] = g;
    return true;
  }
  return false;
}

static sp_status choose_on(const sp_gpu_view *view, int machine, int *choice) {
  SP_AUTO_VALUE(site) s = {0};
  SP_TRY(site_create(view, machine, &s));
  if (s.gpu_count == 0)
    return sp_fail(SP_ERR_INPUT,
                   "no GPU is visible on the machine of rank %d: start no ranks there, or set "
                   "backend.device = host",
                   s.ranks[0]);
  for (int g = 0; g < s.gpu_count; g++) {
    memset(s.tried, 0, (size_t)s.rank_count * sizeof *s.tried);
    give_gpu(&s, g);
  }
  for (int n = 0; n < s.rank_count; n++)
    choice[s.ranks[n]] = s.gpu_of[n] < 0 ? -1 : s.device[n * s.gpu_count + s.gpu_of[n]];
  return SP_OK;
}

sp_status sp_gpus_choose(const sp_gpu_view *view, int *choice) {
  for (int r = 0; r < view->ranks; r++) {
    bool first = true; /* the first rank of its machine */
    for (int q = 0; q < r && first; q++) first = view->machine[q] != view->machine[r];
    if (first) SP_TRY(choose_on(view, view->machine[r], choice));
  }
  if (view->first[1] == 0)
    return sp_fail(SP_ERR_INPUT,
                   "no GPU is visible to rank 0, but to other ranks of its machine: make "
                   "one visible (CUDA_VISIBLE_DEVICES)");
  return SP_OK;
}
