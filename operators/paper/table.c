/* The table of the paper's kernels, put together from the ladders that were built: CMake lists them
 * in the paper's order, SP_PAPER_LADDERS = LADDER(bp10_2d, 1) LADDER(bp10_2d, 2) ... */
#include <assert.h>

#include "operators/paper/ladders.h"

#define LADDER(name, order) extern const sp_paper_ladder sp_paper_##name##_##order;
SP_PAPER_LADDERS
#undef LADDER

#define LADDER(name, order) &sp_paper_##name##_##order,
static const sp_paper_ladder *const ladders[] = {SP_PAPER_LADDERS NULL}; /* NULL ends it */

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
