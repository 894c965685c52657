#include "operators/host/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "io/threads.h"

enum {
  HUGE_PAGE = 2 << 20,
  CACHE_LINE = 64,
  /* Offset of the memory in a block, behind the block's own address. It grows from one large block
   * to the next by a page and an odd number of cache lines. */
  OFFSETS = 16,
  STEP = 4096 + 5 * CACHE_LINE,
  LARGEST_OFFSET = CACHE_LINE + (OFFSETS - 1) * STEP
};

sp_status sp_host_allocate(size_t count, size_t size, const char *what, void *out) {
  static unsigned large; /* number of large blocks so far */
  void *memory = NULL;
  memcpy(out, &memory, sizeof memory);
  if (count > (SIZE_MAX - 2 * HUGE_PAGE) / size)
    return sp_fail(SP_ERR_SYSTEM, "out of memory: %s needs %zu times %zu bytes", what, count, size);
  size_t bytes = (count > 0 ? count : 1) * size, alignment = CACHE_LINE, offset = CACHE_LINE;
  const bool huge = bytes >= HUGE_PAGE;
  if (huge) {
    alignment = HUGE_PAGE;
    offset += large++ % OFFSETS * STEP;
  }
  bytes = (bytes + (huge ? LARGEST_OFFSET : CACHE_LINE) + alignment - 1) / alignment * alignment;
  char *block = aligned_alloc(alignment, bytes);
  if (!block) return sp_fail(SP_ERR_SYSTEM, "out of memory: %s needs %zu bytes", what, bytes);
  /* A failure only costs some speed. */
  if (huge) (void)madvise(block, bytes, MADV_HUGEPAGE);
  sp_loop_set(bytes, 0, block);
  memory = block + offset;
  memcpy((char *)memory - sizeof block, &block, sizeof block);
  memcpy(out, &memory, sizeof memory);
  return SP_OK;
}

void sp_host_free(void *memory) {
  void *block;
  if (!memory) return;
  memcpy(&block, (char *)memory - sizeof block, sizeof block);
  free(block);
}

void sp_host_round(sp_precision precision, size_t count, const double *from, void *to) {
  for (size_t i = 0; i < count; i++) sp_host_store(precision, from[i], i, to);
}

sp_status sp_host_copy_rounded(sp_precision precision, size_t count, const double *from,
                               const char *what, void *out) {
  SP_TRY(sp_host_allocate(count, sp_precision_bytes(precision), what, out));
  sp_host_round(precision, count, from, *(void **)out);
  return SP_OK;
}
