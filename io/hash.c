#include "io/hash.h"

#include <string.h>

uint64_t sp_hash_fold_double(uint64_t hash, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return sp_hash_fold(hash, bits);
}

uint64_t sp_hash_fold_text(uint64_t hash, const char *text) {
  for (; *text; text++) hash = sp_hash_fold(hash, (unsigned char)*text);
  return hash;
}
