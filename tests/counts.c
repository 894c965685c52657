/* Flops and bytes of the three problems, compared with numbers computed by hand. */
#include "operators/counts.h"

#include "operators/paper/paper.h"
#include "tests/check.h"

typedef struct row {
  int order;
  double flops[SP_OPERATORS];   /* mass, bp3.5, bp3.0 */
  double doubles[SP_OPERATORS]; /* stored: Table 2 of the paper, 2 Np + Np~, 9 Np, 2 Np + 7 Np~ */
  double trilinear;             /* 2 Np + 24 */
} row;

static const row rows[] = {
    /* Np = 8, Np~ = 27; 4 (8 3 + 4 9 + 2 27) = 456 flops to interpolate and project */
    {1, {456 + 27, 192 + 144, 456 + 972 + 486}, {43, 72, 205}, 40},
    /* Np = 512, Np~ = 729; 4 (512 9 + 64 81 + 8 729) = 62496 */
    {7, {63225, 58368, 154350}, {1753, 4608, 6127}, 1048},
    /* Np = 4096, Np~ = 4913; 4 (4096 17 + 256 289 + 16 4913) = 888896 */
    {15, {893809, 860160, 1979582}, {13105, 36864, 42583}, 8216},
};

/* Bytes to and from shared memory of the paper's kernels, counted access by access and thread by
 * thread while they ran on a CPU. At N = 1, BP1.0 kernel 7, in doubles: 6 of I and 2 (8 + 2 12 + 2
 * 18) = 136 of q written and read, 6 entries of I for each of 2 (4 + 6 + 9) = 38 lines: 370. */
static const struct {
  sp_operator_kind problem;
  int number, order;
  size_t bytes;
} shared[] = {
    {SP_MASS, 6, 1, 3912},     {SP_MASS, 7, 1, 2960},     {SP_MASS, 8, 1, 2048},
    {SP_MASS, 6, 7, 447624},   {SP_MASS, 7, 7, 297920},   {SP_MASS, 8, 7, 172928},
    {SP_MASS, 6, 14, 4798208}, {SP_MASS, 7, 14, 3062640}, {SP_MASS, 8, 14, 1678320},
    {SP_BP30, 8, 1, 10232},    {SP_BP30, 9, 1, 9320},     {SP_BP30, 8, 7, 841592},
    {SP_BP30, 9, 7, 716600},   {SP_BP30, 8, 14, 8407920}, {SP_BP30, 9, 14, 7023600},
    {SP_MASS, 5, 7, 0},        {SP_BP30, 7, 7, 0},        {SP_BP35, 8, 7, 0},
};

static void check_shared_bytes(void) {
  for (size_t r = 0; r < COUNT_OF(shared); r++) {
    sp_paper_kernel kernel = {
        .problem = shared[r].problem, .threads = 2, .number = shared[r].number};
    const size_t bytes = sp_paper_shared_bytes(&kernel, shared[r].order);
    CHECK(bytes == shared[r].bytes, "row %zu: %zu bytes, not %zu", r, bytes, shared[r].bytes);
    kernel.threads = 3;
    CHECK(sp_paper_shared_bytes(&kernel, shared[r].order) == 0, "3D, row %zu", r);
  }
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  for (size_t r = 0; r < COUNT_OF(rows); r++) {
    const int order = rows[r].order;
    for (sp_operator_kind kind = 0; kind < SP_OPERATORS; kind++) {
      CHECK_CLOSE(sp_operator_flops(kind, order), rows[r].flops[kind], 0);
      for (sp_precision p = SP_DOUBLE; p < SP_PRECISIONS; p++) {
        const double bytes = p == SP_SINGLE ? 4 : 8;
        CHECK_CLOSE(sp_operator_bytes(kind, SP_FACTORS_STORED, p, order),
                    bytes * rows[r].doubles[kind], 0);
        CHECK_CLOSE(sp_operator_bytes(kind, SP_FACTORS_TRILINEAR, p, order),
                    bytes * rows[r].trilinear, 0);
      }
      const sp_rule *rule = sp_operator_rule(kind, order);
      CHECK(rule->n == (kind == SP_BP35 ? order + 1 : order + 2), "%d points", rule->n);
      CHECK((rule->nodes[0] == -1) == (kind == SP_BP35), "only GLL rules have their ends");
      CHECK(sp_operator_rows[kind].has_stiffness == (kind != SP_MASS), "kind %d", (int)kind);
    }
  }

  /* From L-vector to L-vector: per element 8 bytes per factor and 4 per index; 16 bytes per DOF.
   * In single precision half of this, except for the indices. */
  CHECK_CLOSE(sp_operator_bytes_assembled(SP_BP35, SP_FACTORS_STORED, SP_DOUBLE, 7, 10, 100),
              10 * (28672 + 2048) + 1600, 0);
  CHECK_CLOSE(sp_operator_bytes_assembled(SP_BP35, SP_FACTORS_TRILINEAR, SP_DOUBLE, 7, 10, 100),
              10 * (192 + 2048) + 1600, 0);
  CHECK_CLOSE(sp_operator_bytes_assembled(SP_BP35, SP_FACTORS_AFFINE, SP_DOUBLE, 7, 10, 100),
              10 * (56 + 2048) + 1600, 0);
  CHECK_CLOSE(sp_operator_bytes_assembled(SP_MASS, SP_FACTORS_STORED, SP_DOUBLE, 1, 3, 20),
              3 * (216 + 32) + 320, 0);
  CHECK_CLOSE(sp_operator_bytes_assembled(SP_BP30, SP_FACTORS_STORED, SP_DOUBLE, 1, 3, 20),
              3 * (1512 + 32) + 320, 0);
  CHECK_CLOSE(sp_operator_bytes_assembled(SP_BP35, SP_FACTORS_STORED, SP_SINGLE, 7, 10, 100),
              10 * (14336 + 2048) + 800, 0);
  CHECK_CLOSE(sp_operator_bytes_assembled(SP_BP30, SP_FACTORS_STORED, SP_SINGLE, 1, 3, 20),
              3 * (756 + 32) + 160, 0);

  check_shared_bytes();
  /* 2^30 - 1 numbers: eight vertices per element at order 1; DOFs at order 7. */
  CHECK_OK(sp_operator_device_numbers(1, 134217727, 1e6));
  CHECK(sp_operator_device_numbers(1, 134217728, 1e6) == SP_ERR_INPUT, "too many edge nodes");
  CHECK_OK(sp_operator_device_numbers(7, 3e6, 1073741823));
  CHECK(sp_operator_device_numbers(7, 3e6, 1073741824) == SP_ERR_INPUT, "too many DOFs");

  return check_end();
}
