/* The table of the paper's kernels, put together from the ladders that were built: CMake lists the
 * orders of each as SP_PAPER_..._ORDERS = ORDER(1) ORDER(2) ... */
#include <assert.h>

#include "operators/paper/ladders.h"

#define ORDER(n)                                                                                   \
  extern const sp_paper_ladder sp_paper_bp10_2d_##n, sp_paper_bp35_2d_##n, sp_paper_bp30_2d_##n;
SP_PAPER_2D_ORDERS
#undef ORDER
#define ORDER(n) extern const sp_paper_ladder sp_paper_bp35_3d_##n;
SP_PAPER_BP35_3D_ORDERS
#undef ORDER
#define ORDER(n) extern const sp_paper_ladder sp_paper_bp30_3d_##n;
SP_PAPER_BP30_3D_ORDERS
#undef ORDER

/* In the paper's order; NULL ends it. */
// clang-format off
static const sp_paper_ladder *const ladders[] = {
#define ORDER(n) &sp_paper_bp10_2d_##n,
    SP_PAPER_2D_ORDERS
#undef ORDER
#define ORDER(n) &sp_paper_bp35_2d_##n,
    SP_PAPER_2D_ORDERS
#undef ORDER
#define ORDER(n) &sp_paper_bp35_3d_##n,
    SP_PAPER_BP35_3D_ORDERS
#undef ORDER
#define ORDER(n) &sp_paper_bp30_2d_##n,
    SP_PAPER_2D_ORDERS
#undef ORDER
#define ORDER(n) &sp_paper_bp30_3d_##n,
    SP_PAPER_BP30_3D_ORDERS
#undef ORDER
    NULL};
// clang-format on

enum { MAX_KERNELS = 64 };
static sp_paper_kernel table[MAX_KERNELS];
static int table_count;

static size_t no_workspace(int order, int elements) {
  (void)order, (void)elements;
  return 0;
}

static sp_paper_kernel *find_or_add(const sp_paper_ladder *ladder, int number) {
  for (int r = 0; r < table_count; r++)
    if (table[r].problem == ladder->problem && table[r].threads == ladder->threads &&
        table[r].number == number)
      return &table[r];
  assert(table_count < MAX_KERNELS);
  const sp_paper_rung *rung = &ladder->rungs[number - 1];
  sp_paper_kernel *kernel = &table[table_count++];
  *kernel = (sp_paper_kernel){.problem = ladder->problem,
                              .threads = ladder->threads,
                              .number = number,
                              .adds = rung->adds,
                              .workspace = rung->workspace ? rung->workspace : no_workspace};
  return kernel;
}

const sp_paper_kernel *sp_paper_kernels(int *count) {
  if (table_count == 0)
    for (int l = 0; ladders[l]; l++)
      for (int number = 1; number <= ladders[l]->count; number++)
        find_or_add(ladders[l], number)->order[ladders[l]->order] =
            ladders[l]->rungs[number - 1].instance;
  *count = table_count;
  return table;
}
