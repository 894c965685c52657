/* The ways in which values travel between GPUs where the host asks for them: each that is possible
 * here gives the bits of the one through the host, for the operator and for pass 1 of an iteration;
 * one that is not says so. (Whole iterations by peers: cg_restart, reproducibility.) */
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "tests/deformed_box.h"
#include "tests/operator_bench.h"

enum { ORDER = 4, APPLICATIONS = 3 };

/* y = A^APPLICATIONS x, and ap and p.Ap of a first direction x. False where `kind` cannot be had.
 */
static bool apply_by(const bench *b, const deformed_box *box, const bool *mask, sp_transport kind,
                     const double *x, double *y, double *ap, double *p_ap) {
  const size_t n = (size_t)box->numbering->local;
  const sp_operator_setup setup = {.mesh = box->mesh,
                                   .numbering = box->numbering,
                                   .kind = SP_BP35,
                                   .geometry = SP_GEOMETRY_STORED,
                                   .lambda = 0.5,
                                   .constrained = mask,
                                   .exchange = kind};
  sp_exchange *exchange;
  sp_operator *op;
  CHECK(sp_exchange_create(b->comm, box->numbering, &exchange) == SP_OK, "%s", sp_error_message());
  const sp_status status = sp_operator_create(b->backend, b->device, &setup, &exchange, &op);
  if (status) {
    CHECK(status == SP_ERR_SYSTEM && strstr(sp_error_message(), "is not possible: "), "%s",
          sp_error_message());
    return false;
  }
  double *const zero = test_allocate(2 * n, sizeof *zero), *const before = zero + n;
  memcpy(y, x, n * sizeof *y);
  for (int a = 0; a < APPLICATIONS; a++) {
    memcpy(before, y, n * sizeof *y);
    bench_apply(b, op, true, before, y); /* y must not be what it is applied to */
  }
  for (size_t i = 0; i < n; i++) CHECK(isfinite(y[i]), "y[%zu] is %g", i, y[i]);
  sp_cg_vectors vectors = {.x = bench_upload(b, n, zero),
                           .r = bench_upload(b, n, x),
                           .p = bench_upload(b, n, zero),
                           .next_p = bench_upload(b, n, zero),
                           .ap = bench_upload(b, n, zero)};
  CHECK(sp_operator_direction(op, 0, &vectors, SP_OK, p_ap) == SP_OK, "%s", sp_error_message());
  bench_download(b, n, vectors.ap, ap);
  double **const all[] = {&vectors.x, &vectors.r, &vectors.p, &vectors.next_p, &vectors.ap};
  for (int v = 0; v < 5; v++) b->backend->vector_destroy(b->device, all[v]);
  free(zero);
  sp_operator_destroy(&op);
  return true;
}

static size_t count_differences(size_t n, const double *a, const double *b) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) count += memcmp(&a[i], &b[i], sizeof *a) != 0;
  return count;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  bench b;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!bench_open(argc, argv, &b)) {
    MPI_Finalize();
    return BENCH_SKIPPED;
  }
  const int elements[3] = {5, 4, 3};
  deformed_box box;
  deformed_box_create(b.comm, elements, 1, ORDER, &box);
  const size_t n = (size_t)box.numbering->local;
  double *x = test_allocate(3 * n, sizeof *x), *y = x + n, *ap = y + n;
  double *expected = test_allocate(2 * n, sizeof *expected), *expected_ap = expected + n;
  bool *mask = test_allocate(n, sizeof *mask);
  bool *whole_mask = test_allocate((size_t)box.whole_numbering->local, sizeof *whole_mask);
  double p_ap, expected_p_ap;
  random_vector(&box, 1, x);
  mark_constrained(&box, mask, whole_mask);
  for (size_t i = 0; i < n; i++) x[i] = mask[i] ? 0 : x[i];
  CHECK(apply_by(&b, &box, mask, SP_TRANSPORT_STAGED, x, expected, expected_ap, &expected_p_ap),
        "the way through the host is always possible");
  static const struct {
    sp_transport kind;
    const char *name;
  } ways[] = {{SP_TRANSPORT_AUTO, "auto"},
              {SP_TRANSPORT_PEER, "peer"},
              {SP_TRANSPORT_CUDA_AWARE, "cuda-aware"},
              {SP_TRANSPORT_NCCL, "nccl"}};
  for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
    const bool possible = apply_by(&b, &box, mask, ways[w].kind, x, y, ap, &p_ap);
    if (rank == 0) printf("%s: %s\n", ways[w].name, possible ? "possible" : sp_error_message());
    if (!possible) continue;
    CHECK(count_differences(n, y, expected) == 0, "%s: other bits in A x", ways[w].name);
    CHECK(count_differences(n, ap, expected_ap) == 0, "%s: other bits in A p", ways[w].name);
    CHECK(p_ap == expected_p_ap, "%s: p.Ap %.17g instead of %.17g", ways[w].name, p_ap,
          expected_p_ap);
  }
  free(x);
  free(expected);
  free(mask);
  free(whole_mask);
  deformed_box_destroy(&box);
  b.backend->close(&b.device);
  const int result = check_end(MPI_COMM_WORLD);
  MPI_Finalize();
  return result;
}
