#include "operators/cuda/gather_lists.h"

#include <limits.h>
#include <stdlib.h>

#include "operators/space.h"

static void count_entries(const sp_numbering *numbering, size_t nodes, const bool *zero,
                          int *start) {
  for (size_t n = 0; n < nodes; n++)
    if (!zero || !zero[numbering->nodes[n]]) start[numbering->nodes[n] + 1]++;
  for (sp_lid d = 0; d < numbering->local; d++) start[d + 1] += start[d];
}

static sp_status build(const sp_numbering *numbering, size_t nodes, const bool *zero, int **start,
                       int **next, int **entries, sp_cuda_gather_lists *out) {
  const size_t dofs = (size_t)numbering->local;
  SP_TRY(sp_allocate(dofs + 1, sizeof **start, "assembly lists", start));
  SP_TRY(sp_allocate(dofs, sizeof **next, "assembly lists", next));
  count_entries(numbering, nodes, zero, *start);
  const size_t count = (size_t)(*start)[dofs];
  SP_TRY(sp_allocate(count, sizeof **entries, "assembly lists", entries));
  for (size_t d = 0; d < dofs; d++) (*next)[d] = (*start)[d];
  for (size_t n = 0; n < nodes; n++)
    if (!zero || !zero[numbering->nodes[n]]) (*entries)[(*next)[numbering->nodes[n]]++] = (int)n;
  out->dofs = (int)dofs;
  SP_TRY(
      sp_cuda_copy_of(numbering->nodes, nodes, sizeof(int), "element nodes", (void **)&out->nodes));
  SP_TRY(sp_cuda_copy_of(*start, dofs + 1, sizeof(int), "assembly lists", (void **)&out->start));
  return sp_cuda_copy_of(*entries, count, sizeof(int), "assembly lists", (void **)&out->entries);
}

sp_status sp_cuda_gather_lists_create(const sp_space *space, const bool *zero,
                                      sp_cuda_gather_lists *out) {
  const sp_numbering *numbering = space->numbering;
  const size_t nq = (size_t)numbering->order + 1;
  const size_t nodes = (size_t)space->mesh->hexes->count * nq * nq * nq;
  int *start = NULL, *next = NULL, *entries = NULL;
  *out = (sp_cuda_gather_lists){0};
  if (nodes > INT_MAX)
    return sp_fail(SP_ERR_INPUT, "%zu element nodes of order %d on one GPU: use more ranks", nodes,
                   numbering->order);
  const sp_status status = build(numbering, nodes, zero, &start, &next, &entries, out);
  free(start);
  free(next);
  free(entries);
  return status;
}

double sp_cuda_gather_lists_predicted_bytes(double nodes, double dofs) {
  const sp_cuda_gather_lists *l = NULL;
  return nodes * (double)(sizeof *l->nodes + sizeof *l->entries) + (dofs + 1) * sizeof *l->start;
}

void sp_cuda_gather_lists_free(sp_cuda_gather_lists *lists) {
  (void)cudaFree(lists->nodes);
  (void)cudaFree(lists->start);
  (void)cudaFree(lists->entries);
  *lists = (sp_cuda_gather_lists){0};
}
