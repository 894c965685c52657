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

enum { HUGE_PAGE = 2 << 20, LARGE = 4 * HUGE_PAGE };

/* Large arrays come from the system as zero pages when they are first written: in pages of 2 MB,
 * that is several times as fast as in pages of 4 kB. Only advice. */
static void prefer_huge_pages(char *memory, size_t bytes) {
  const size_t skip = (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
  (void)madvise(memory + skip, (bytes - skip) / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
}

/* Zeroed memory, or NULL. */
static void *allocate_zeroed(size_t bytes) {
  const bool large = bytes >= LARGE, by_threads = large && sp_threads() > 1;
  void *memory = by_threads ? malloc(bytes) : calloc(1, bytes);
  if (!memory || !large) return memory;
  prefer_huge_pages(memory, bytes);
  if (by_threads) sp_loop_set(bytes, 0, memory);
  return memory;
}

void sp_allocate_start(void) {
#ifdef __GLIBC__
  enum { KEPT = 1 << 30 };
  (void)mallopt(M_MMAP_THRESHOLD, KEPT); /* larger arrays are still returned to the system */
  (void)mallopt(M_TRIM_THRESHOLD, -1);   /* keep free memory at the end of the heap */
#endif
}

sp_status sp_allocate(size_t count, size_t size, const char *what, void *out) {
  void *memory = NULL;
  if (count <= SIZE_MAX / size) memory = allocate_zeroed(count > 0 ? count * size : size);
  memcpy(out, &memory, sizeof memory);
  if (!memory)
    return sp_fail(SP_ERR_SYSTEM, "out of memory: %s needs %zu times %zu bytes", what, count, size);
  return SP_OK;
}

sp_status sp_allocate_each(const char *what, size_t count, const sp_array *arrays) {
  sp_status status = SP_OK;
  for (size_t i = 0; i < count; i++) {
    memset(arrays[i].out, 0, sizeof(void *));
    if (!status) status = sp_allocate(arrays[i].count, arrays[i].size, what, arrays[i].out);
  }
  return status;
}

sp_status sp_reserve(size_t count, size_t added, size_t size, const char *what, void *array) {
  size_t room = 1;
  void *old, *new;
  while (room < count) room *= 2;
  if (count > 0 && count + added <= room) return SP_OK;
  while (room < count + added) room *= 2;
  memcpy(&old, array, sizeof old);
  new = room <= SIZE_MAX / size ? realloc(old, room * size) : NULL;
  if (!new)
    return sp_fail(SP_ERR_SYSTEM, "out of memory: %s need %zu times %zu bytes", what, room, size);
  memcpy(array, &new, sizeof new);
  return SP_OK;
}

void sp_free_each(size_t count, void *const *arrays) {
  for (size_t i = 0; i < count; i++) free(arrays[i]);
}

void sp_free_owned(void *pointer) {
  void *memory;
  memcpy(&memory, pointer, sizeof memory);
  free(memory);
}

sp_status sp_format(char **out, const char *format, ...) {
  char *text;
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (length < 0) return sp_fail(SP_ERR_SYSTEM, "text is too long");
  SP_TRY(sp_allocate((size_t)length + 1, 1, "text", &text));
  va_start(arguments, format);
  vsnprintf(text, (size_t)length + 1, format, arguments);
  va_end(arguments);
  free(*out);
  *out = text;
  return SP_OK;
}
