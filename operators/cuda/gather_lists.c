#include "operators/cuda/gather_lists.h"

#include <limits.h>
#include <stdlib.h>

#include "io/threads.h"
#include "operators/cuda/copies.h"
#include "operators/space.h"

/* Lists during their construction: of `nodes`, without DOFs that are zero. */
typedef struct lists {
  const sp_lid *nodes;
  const bool *zero;
  int *start, *next, *entries;
} lists;

static bool is_listed(const lists *l, size_t n) {
  return !l->zero || !l->zero[l->nodes[n]];
}

static void count_entries(void *context, size_t begin, size_t end) {
  const lists *l = context;
  for (size_t n = begin; n < end; n++)
    if (is_listed(l, n)) __atomic_fetch_add(&l->start[l->nodes[n] + 1], 1, __ATOMIC_RELAXED);
}

/* The order is arbitrary; sort_entries makes it definite. */
static void add_entries(void *context, size_t begin, size_t end) {
  const lists *l = context;
  for (size_t n = begin; n < end; n++)
    if (is_listed(l, n))
      l->entries[__atomic_fetch_add(&l->next[l->nodes[n]], 1, __ATOMIC_RELAXED)] = (int)n;
}

/* Sort by nodes: few entries, nearly in order. */
static void sort_entries(void *context, size_t begin, size_t end) {
  const lists *l = context;
  for (size_t d = begin; d < end; d++)
    for (int n = l->start[d] + 1; n < l->start[d + 1]; n++) {
      const int entry = l->entries[n];
      int to = n;
      for (; to > l->start[d] && l->entries[to - 1] > entry; to--)
        l->entries[to] = l->entries[to - 1];
      l->entries[to] = entry;
    }
}

static sp_status build_lists(size_t dofs, size_t nodes, lists *l, sp_cuda_gather_lists *out) {
  SP_TRY(SP_ALLOCATE("assembly lists", SP_ARRAY(l->start, dofs + 1), SP_ARRAY(l->next, dofs)));
  SP_TRY(sp_loop_over("assembly lists", nodes, 4, l, count_entries));
  for (size_t d = 0; d < dofs; d++) {
    l->next[d] = l->start[d];
    l->start[d + 1] += l->start[d];
  }
  const size_t count = (size_t)l->start[dofs];
  SP_TRY(sp_allocate(count, sizeof *l->entries, "assembly lists", &l->entries));
  SP_TRY(sp_loop_over("assembly lists", nodes, 4, l, add_entries));
  SP_TRY(sp_loop_over("assembly lists", dofs, 4, l, sort_entries));
  out->dofs = (int)dofs;
  SP_TRY(sp_cuda_copy_of(l->nodes, nodes, sizeof(int), "element nodes", (void **)&out->nodes));
  SP_TRY(sp_cuda_copy_of(l->start, dofs + 1, sizeof(int), "assembly lists", (void **)&out->start));
  return sp_cuda_copy_of(l->entries, count, sizeof(int), "assembly lists", (void **)&out->entries);
}

sp_status sp_cuda_gather_lists_create(const sp_space *space, const bool *zero,
                                      sp_cuda_gather_lists *out) {
  const sp_numbering *numbering = space->numbering;
  const size_t nq = (size_t)numbering->order + 1;
  const size_t nodes = (size_t)space->mesh->hexes->count * nq * nq * nq;
  lists l = {.nodes = numbering->nodes, .zero = zero};
  *out = (sp_cuda_gather_lists){0};
  if (nodes > INT_MAX)
    return sp_fail(SP_ERR_INPUT, "%zu element nodes of order %d on one GPU: use more ranks", nodes,
                   numbering->order);
  const sp_status status = build_lists((size_t)numbering->local, nodes, &l, out);
  SP_FREE(l.start, l.next, l.entries);
  return status;
}

void sp_cuda_gather_lists_free(sp_cuda_gather_lists *out) {
  (void)cudaFree(out->nodes);
  (void)cudaFree(out->start);
  (void)cudaFree(out->entries);
  *out = (sp_cuda_gather_lists){0};
}
