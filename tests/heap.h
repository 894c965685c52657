/* Predicted bytes against those that are allocated. */
#ifndef SP_TESTS_HEAP_H
#define SP_TESTS_HEAP_H

#include <malloc.h>

#include "tests/check.h"

/* Bytes allocated at the moment. The sanitizers replace malloc and have their own count. */
__attribute__((weak)) size_t __sanitizer_get_current_allocated_bytes(void);

static inline double heap(void) {
  if (__sanitizer_get_current_allocated_bytes)
    return (double)__sanitizer_get_current_allocated_bytes();
  const struct mallinfo2 info = mallinfo2();
  return (double)(info.uordblks + info.hblkhd);
}

/* Of `held` bytes at most `less` may not be predicted, and at most `more` may be too many. The
 * slack is for malloc, which rounds the largest arrays up to pages, for arrays [neighbours], and
 * for what MPI keeps. */
static inline void check_bytes(const char *what, double held, double predicted, double less,
                               double more) {
  enum { SLACK = 24 << 10 };
  CHECK(predicted >= held - less - SLACK && predicted <= held + more + SLACK,
        "%s: %.0f bytes predicted, %.0f held", what, predicted, held);
}

#endif
