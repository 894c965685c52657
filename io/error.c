#include "io/error.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "io/threads.h"

static _Thread_local char message[SP_MESSAGE_SIZE];

sp_status sp_fail(sp_status status, const char *format, ...) {
  /* Written to a copy first: an argument may be the old message itself. */
  char text[SP_MESSAGE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  memcpy(message, text, sizeof message);
  return status;
}

const char *sp_error_message(void) {
  return message;
}

void sp_error_keep(sp_status status, sp_kept_error *kept) {
  kept->status = status;
  memcpy(kept->message, status ? message : "", status ? sizeof message : 1);
}

sp_status sp_error_restore(const sp_kept_error *kept) {
  return kept->status ? sp_fail(kept->status, "%s", kept->message) : SP_OK;
}

sp_status sp_agree(MPI_Comm comm, sp_status status) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int failed = status == SP_OK ? 2 * size : status == SP_ERR_ELSEWHERE ? size + rank : rank;
  int first;
  MPI_Allreduce(&failed, &first, 1, MPI_INT, MPI_MIN, comm);
  if (first == 2 * size) return SP_OK;
  first %= size;
  int agreed = (int)status;
  MPI_Bcast(&agreed, 1, MPI_INT, first, comm);
  MPI_Bcast(message, SP_MESSAGE_SIZE, MPI_CHAR, first, comm);
  return (sp_status)agreed;
}

int sp_exit_code(sp_status status) {
  switch (status) {
  case SP_OK:
    return 0;
  case SP_ERR_INPUT:
  case SP_ERR_SYSTEM:
  case SP_ERR_ELSEWHERE:
    return 1;
  case SP_ERR_NOT_CONVERGED:
    return 2;
  case SP_ERR_BREAKDOWN:
    return 3;
  case SP_ERR_STUDY:
    return 4;
  case SP_ERR_INTERRUPTED:
    return 5;
  }
  return 1;
}

enum { HUGE_PAGE = 2 << 20, LARGE = 4 * HUGE_PAGE };

/* Large arrays come from the system as zero pages when they are first written: in pages of 2 MB,
 * that is several times as fast as in pages of 4 kB. Only advice. */
static void prefer_huge_pages(char *memory, size_t bytes) {
  const size_t skip = (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
  (void)madvise(memory + skip, (bytes - skip) / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
}

static sp_status clear_some(void *memory, void *none, size_t begin, size_t end) {
  (void)none;
  memset((char *)memory + begin, 0, end - begin);
  return SP_OK;
}

/* Zeroed memory, or NULL. Where there are threads, they clear large arrays, and get the pages. */
static void *allocate(size_t bytes) {
  const bool large = bytes >= LARGE;
  void *memory = large && sp_threads() > 1 ? malloc(bytes) : calloc(1, bytes);
  if (!memory || !large) return memory;
  prefer_huge_pages(memory, bytes);
  if (sp_threads() > 1) {
    const sp_loop loop = {.what = "zeros",
                          .count = bytes,
                          .chunk = 1 << 18,
                          .context = memory,
                          .compute = clear_some};
    if (sp_loop_run(&loop)) memset(memory, 0, bytes);
  }
  return memory;
}

void sp_allocate_start(void) {
#ifdef __GLIBC__
  enum { KEPT = 1 << 30 };
  (void)mallopt(M_MMAP_THRESHOLD, KEPT); /* larger arrays still come and go one by one */
#endif
}

sp_status sp_allocate(size_t count, size_t size, const char *what, void *out) {
  void *memory = NULL;
  if (count <= SIZE_MAX / size) memory = allocate(count > 0 ? count * size : size);
  memcpy(out, &memory, sizeof memory);
  if (!memory)
    return sp_fail(SP_ERR_SYSTEM, "out of memory: %s needs %zu times %zu bytes", what, count, size);
  return SP_OK;
}
