/* The hash function of the program: it distributes names over ranks, indexes tables, and generates
 * pseudorandom numbers that are the same in every run. Local. */
#pragma once

#include <stdint.h>

/* Mix 64 bits: the finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators, 2014). A bijection. */
static inline uint64_t sp_hash(uint64_t bits) {
  bits += 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

/* Hash several words: start with 0 and fold in each word. The result depends on the order. */
static inline uint64_t sp_hash_fold(uint64_t hash, uint64_t word) {
  return sp_hash(hash ^ word);
}

/* Fold in the characters of a text. */
static inline uint64_t sp_hash_fold_text(uint64_t hash, const char *text) {
  for (; *text; text++) hash = sp_hash_fold(hash, (unsigned char)*text);
  return hash;
}
