/* Kernels on several threads per rank: their sums into L-vectors have the bits of one thread. */
#include "io/team.h"

#include "operators/schwarz/schwarz.h"
#include "operators/transfer.h"
#include "tests/deformed_box.h"
#include "tests/operator_bench.h"

/* Also more threads than blocks of elements. */
static const int TEAMS[] = {1, 2, 3, 7, 50};
enum { TEAM_COUNT = COUNT_OF(TEAMS), RESULTS = 4 };
static const char *const NAMES[RESULTS] = {"A x", "P x", "P^T x", "S x"};

/* The result of each team, and of one thread. */
typedef struct results {
  size_t count[RESULTS];
  double *values[RESULTS], *first[RESULTS];
} results;

static void keep(const sp_vector *vector, int which, results *r) {
  bench_download(vector, r->values[which]);
}

static void compare(const results *r, int team, int order, sp_precision precision) {
  for (int i = 0; i < RESULTS; i++) {
    const size_t bytes = r->count[i] * sizeof(double);
    if (team == 1) memcpy(r->first[i], r->values[i], bytes);
    CHECK(memcmp(r->values[i], r->first[i], bytes) == 0,
          "N = %d, %s precision: %s by %d threads differs from that by one", order,
          precision == SP_SINGLE ? "single" : "double", NAMES[i], team);
  }
}

/* Operator with constraints and a diagonal, transfer and Schwarz of the team's size. */
static void compute(const bench *b, const sp_operator_setup *setup, const sp_space *coarse,
                    const double *x, results *r) {
  const sp_precision precision = setup->precision;
  const size_t n = sp_space_dofs(setup->space), nc = sp_space_dofs(coarse);
  const size_t elements = (size_t)setup->space->mesh->hexes->count;
  AUTO(sp_operator) op = bench_operator(setup);
  AUTO(sp_transfer) transfer = NULL;
  AUTO(sp_schwarz) schwarz = NULL;
  double *inverse = test_array(n, sizeof *inverse);
  sp_separable *boxes = test_array(elements, sizeof *boxes);
  CHECK_OK(sp_transfer_create(op, coarse, setup->constrained, NULL, true, &transfer));
  CHECK_OK(sp_operator_inverse_diagonal(setup, inverse));
  CHECK_OK(sp_separable_fill(setup, boxes));
  CHECK_OK(sp_schwarz_create(op, setup, boxes, inverse, &schwarz));

  enum { X, Y, FINE, COARSE, Z, VECTORS };
  sp_vector v[VECTORS];
  for (int i = 0; i < VECTORS; i++) v[i] = bench_upload_as(b, precision, i == COARSE ? nc : n, x);
  CHECK_OK(sp_operator_apply(op, true, &v[X], &v[Y]));
  keep(&v[Y], 0, r);
  CHECK_OK(sp_transfer_prolong(transfer, &v[COARSE], &v[FINE]));
  keep(&v[FINE], 1, r);
  CHECK_OK(sp_transfer_restrict(transfer, &v[X], &v[COARSE]));
  keep(&v[COARSE], 2, r);
  CHECK_OK(sp_schwarz_apply(schwarz, &v[X], &v[Z]));
  keep(&v[Z], 3, r);
  for (int i = 0; i < VECTORS; i++) sp_vector_destroy(&v[i]);
}

static void check_order(const bench *b, int order, sp_precision precision) {
  ARRAYS_OF_SCOPE;
  enum { DIAGONAL = 40 };
  static const int elements[] = {6, 5, 4};
  AUTO_VALUE(deformed_box) box = {0};
  deformed_box_create(MPI_COMM_WORLD, elements, 2, order, &box);
  AUTO(sp_space) space = bench_space(b, box.mesh, order);
  AUTO(sp_space) coarse = bench_space(b, box.mesh, order - 1);
  const size_t n = sp_space_dofs(space), nc = sp_space_dofs(coarse);
  double *x = test_array(n, sizeof *x), diagonal[DIAGONAL];
  sp_lid dofs[DIAGONAL];
  random_vector(&box, 1, x);
  for (int i = 0; i < DIAGONAL; i++) {
    dofs[i] = (sp_lid)(n / DIAGONAL) * i;
    diagonal[i] = 1 + i;
  }
  const sp_operator_setup setup = {.space = space,
                                   .kind = SP_BP35,
                                   .geometry = SP_GEOMETRY_STORED,
                                   .precision = precision,
                                   .lambda = 1,
                                   .constrained = box.mask,
                                   .diagonal_count = DIAGONAL,
                                   .diagonal_dofs = dofs,
                                   .diagonal_values = diagonal};
  results r = {.count = {n, n, nc, n}};
  for (int i = 0; i < RESULTS; i++) {
    r.values[i] = test_array(r.count[i], sizeof(double));
    r.first[i] = test_array(r.count[i], sizeof(double));
  }
  for (int t = 0; t < TEAM_COUNT; t++) {
    const int size = sp_team_set(TEAMS[t]);
    CHECK(size == TEAMS[t], "a team of %d threads, expected %d", size, TEAMS[t]);
    compute(b, &setup, coarse, x, &r);
    compare(&r, TEAMS[t], order, precision);
  }
  sp_team_set(1);
  sp_space_destroy(&coarse);
}

/* Members have all numbers, and a barrier separates the work before it from the work after it. */
enum { MEMBERS = 5, ROUNDS = 200 };
static int arrived[MEMBERS], seen_late;

static void member(void *context, int thread) {
  const int *round = context;
  arrived[thread] = *round;
  sp_team_wait();
  for (int t = 0; t < MEMBERS && thread == MEMBERS - 1; t++) seen_late += arrived[t] != *round;
}

static void check_team(void) {
  CHECK(sp_team_set(MEMBERS) == MEMBERS && sp_team_size() == MEMBERS, "%d", sp_team_size());
  for (int round = 1; round <= ROUNDS; round++) sp_team_run(MEMBERS, member, &round);
  CHECK(seen_late == 0, "%d members were late", seen_late);
  CHECK(sp_team_set(1) == 1 && sp_team_set(0) == 1 && sp_team_set(-3) == 1, "no team");
  sp_team_set(1);
  for (int threads = 1; threads < 9; threads++)
    for (int count = 0; count < 30; count++) {
      CHECK(sp_team_share(count, 0, threads) == 0, "first");
      CHECK(sp_team_share(count, threads, threads) == count, "%d by %d", count, threads);
      for (int t = 0; t < threads; t++) {
        const int64_t share =
            sp_team_share(count, t + 1, threads) - sp_team_share(count, t, threads);
        CHECK(share >= count / threads && share <= count / threads + 1, "%d by %d", count, threads);
      }
    }
}

int main(int argc, char **argv) {
  static const int orders[] = {2, 3, 7};
  bench b;
  check_team();
  bench_begin(&argc, &argv, &b);
  for (size_t o = 0; o < COUNT_OF(orders); o++)
    for (sp_precision p = SP_DOUBLE; p < SP_PRECISIONS; p++) check_order(&b, orders[o], p);
  return bench_end(&b);
}
