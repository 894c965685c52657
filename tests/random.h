/* Numbers without a pattern, the same in every run (Marsaglia's xorshift generator). */
#pragma once

#include <stddef.h>
#include <stdint.h>

static uint64_t random_state = 88172645463325252u;

/* 0 to n - 1. */
static inline size_t random_below(size_t n) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (size_t)((random_state >> 11) % n);
}
