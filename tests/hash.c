/* The hash function: its values, which files store, and their spread over buckets. */
#include "io/hash.h"

#include "tests/check.h"

static void check_value(const char *what, uint64_t hash, uint64_t expected) {
  CHECK(hash == expected, "%s: %016llx against %016llx", what, (unsigned long long)hash,
        (unsigned long long)expected);
}

/* The expected values of folds were computed by an independent program. */
static void check_values(void) {
  /* The first outputs of SplitMix64 from the seed 0, as Java's SplittableRandom gives them. */
  static const uint64_t first[] = {0xe220a8397b1dcdafu, 0x6e789e6aa1b965f4u, 0x06c45d188009454fu};
  for (uint64_t n = 0; n < 3; n++)
    check_value("SplitMix64", sp_hash(n * 0x9e3779b97f4a7c15u), first[n]);
  uint64_t hash = 0;
  static const uint64_t words[] = {1, 2, 3, UINT64_MAX};
  for (int w = 0; w < 4; w++) hash = sp_hash_fold(hash, words[w]);
  check_value("four words", hash, 0x78ac8487dedda2b8u);
  check_value("a text", sp_hash_fold_text(0, "wall"), 0xf645b2e48a38241bu);
  check_value("a text in UTF-8",
              sp_hash_fold_text(0, "gr\xc3\xb6\xc3\x9f"
                                   "e"),
              0x22ed88c9df8252afu);
  check_value("no text", sp_hash_fold_text(7, ""), 7);
  check_value("a double", sp_hash_fold_double(5, 0.1), 0x7178d665da8a23f3u);
  CHECK(sp_hash_fold_double(0, 0.0) != sp_hash_fold_double(0, -0.0), "0 and -0");
}

/* Names like those of DOFs, (element, node), spread evenly over buckets. Counts are binomial: that
 * any of the 1110 is off by 6 standard deviations has probability 2e-6. */
static void check_spread(void) {
  enum { ELEMENTS = 2048, NODES = 64, NAMES = ELEMENTS * NODES };
  static const int buckets[] = {2, 3, 8, 97, 1000};
  for (size_t b = 0; b < sizeof buckets / sizeof *buckets; b++) {
    int counts[1000] = {0};
    for (uint64_t e = 0; e < ELEMENTS; e++)
      for (uint64_t n = 0; n < NODES; n++)
        counts[sp_hash_fold(sp_hash(e), n) % (uint64_t)buckets[b]]++;
    const double share = 1.0 / buckets[b], deviation = sqrt(NAMES * share * (1 - share));
    for (int i = 0; i < buckets[b]; i++)
      CHECK(fabs(counts[i] - NAMES * share) < 6 * deviation, "%d of %d names in bucket %d of %d",
            counts[i], NAMES, i, buckets[b]);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  check_values();
  check_spread();
  return check_end();
}
