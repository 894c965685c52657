#include "operators/cuda/assembly.h"

#include <stdlib.h>

static bool is_surface(int order, int p) {
  const int nq = order + 1, i = p % nq, j = p / nq % nq, k = p / (nq * nq);
  return i == 0 || i == order || j == 0 || j == order || k == 0 || k == order;
}

/* Host lists while they are built. */
typedef struct lists {
  bool *shared;    /* [dofs] */
  unsigned *count; /* [dofs], surface nodes of each DOF */
  int *place;      /* [dofs], target of each DOF */
  int *targets;
  unsigned *start, *entries;
} lists;

static void lists_free(lists *l) {
  free(l->shared);
  free(l->count);
  free(l->place);
  free(l->targets);
  free(l->start);
  free(l->entries);
}

static sp_status fill_lists(const sp_operator_setup *setup, lists *l, sp_cuda_assembly *out) {
  const sp_numbering *numbering = setup->numbering;
  const int order = numbering->order, np = (order + 1) * (order + 1) * (order + 1);
  const size_t dofs = (size_t)numbering->local, elements = (size_t)setup->mesh->hexes->count;
  if (elements * (size_t)np > UINT32_MAX)
    return sp_fail(SP_ERR_INPUT, "%zu elements of order %d on one GPU: use more ranks", elements,
                   order);
  SP_TRY(sp_allocate(dofs, sizeof *l->shared, "assembly", &l->shared));
  SP_TRY(sp_allocate(dofs, sizeof *l->count, "assembly", &l->count));
  SP_TRY(sp_allocate(dofs, sizeof *l->place, "assembly", &l->place));
  SP_TRY(sp_allocate(dofs, sizeof *l->targets, "assembly", &l->targets));
  SP_TRY(sp_allocate(dofs + 2, sizeof *l->start, "assembly", &l->start));
  for (sp_lid s = 0; s < numbering->shared_start[numbering->neighbours]; s++)
    l->shared[numbering->shared[s]] = true;
  size_t total = 0;
  for (size_t e = 0; e < elements; e++)
    for (int p = 0; p < np; p++)
      if (is_surface(order, p)) {
        l->count[numbering->nodes[e * (size_t)np + (size_t)p]]++;
        total++;
      }
  SP_TRY(sp_allocate(total, sizeof *l->entries, "assembly", &l->entries));
  for (int pass = 0; pass < 2; pass++) {
    for (size_t d = 0; d < dofs; d++)
      if (l->count[d] > 0 && l->shared[d] == (pass == 0)) {
        const bool constrained = setup->constrained && setup->constrained[d];
        l->place[d] = out->count;
        l->targets[out->count] = constrained ? ~(int)d : (int)d;
        l->start[out->count + 2] = l->count[d];
        out->count++;
      }
    if (pass == 0) out->shared = out->count;
  }
  /* start[t + 1] is where target t writes next; it ends as the start of target t + 1. */
  for (int t = 0; t < out->count; t++) l->start[t + 2] += l->start[t + 1];
  for (size_t e = 0; e < elements; e++)
    for (int p = 0; p < np; p++)
      if (is_surface(order, p)) {
        const size_t entry = e * (size_t)np + (size_t)p;
        l->entries[l->start[l->place[numbering->nodes[entry]] + 1]++] = (unsigned)entry;
      }
  const size_t targets = (size_t)out->count;
  SP_TRY(sp_cuda_copy_of(l->targets, targets, sizeof(int), "assembly", (void **)&out->targets));
  SP_TRY(
      sp_cuda_copy_of(l->start, targets + 1, sizeof(unsigned), "assembly", (void **)&out->start));
  return sp_cuda_copy_of(l->entries, total, sizeof(unsigned), "assembly", (void **)&out->entries);
}

sp_status sp_cuda_assembly_create(const sp_operator_setup *setup, sp_cuda_assembly *out) {
  lists l = {0};
  *out = (sp_cuda_assembly){0};
  const sp_status status = fill_lists(setup, &l, out);
  lists_free(&l);
  return status;
}

void sp_cuda_assembly_free(sp_cuda_assembly *assembly) {
  (void)cudaFree(assembly->targets);
  (void)cudaFree(assembly->start);
  (void)cudaFree(assembly->entries);
  *assembly = (sp_cuda_assembly){0};
}

size_t sp_cuda_assembly_bytes(const sp_operator_setup *setup, const sp_cuda_assembly *assembly) {
  const size_t nq = (size_t)setup->numbering->order + 1, inner = nq > 2 ? nq - 2 : 0;
  const size_t surface = nq * nq * nq - inner * inner * inner;
  return (size_t)assembly->count * (sizeof(int) + sizeof(unsigned)) +
         (size_t)setup->mesh->hexes->count * surface * sizeof(unsigned);
}
