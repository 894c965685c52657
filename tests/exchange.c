/* The exchange, compared with values gathered from all ranks and combined in order, in double and
 * single precision. */
#include "operators/exchange.h"

#include "tests/check.h"
#include "tests/deformed_box.h"

static MPI_Comm comm;

/* The values of a rank: of very different magnitudes, so that another order of summation gives
 * other bits. */
static double contribution(int from, int seed, sp_gid number) {
  static const double magnitudes[] = {1, 1e8, 1e-5, 3e3};
  return magnitudes[from % 4] * random_value(100 * seed + from, number);
}

/* An L-vector of either precision. */
typedef struct vector {
  sp_precision precision;
  void *numbers;
} vector;

static vector make_vector(sp_precision precision, sp_lid count) {
  return (vector){precision, test_array((size_t)count, sp_precision_bytes(precision))};
}

static double rounded(sp_precision precision, double value) {
  return precision == SP_SINGLE ? (double)(float)value : value;
}

static double get(const vector *v, sp_lid i) {
  const double *doubles = v->numbers;
  const float *floats = v->numbers;
  return v->precision == SP_SINGLE ? (double)floats[i] : doubles[i];
}

static void set(vector *v, sp_lid i, double value) {
  double *doubles = v->numbers;
  float *floats = v->numbers;
  if (v->precision == SP_SINGLE)
    floats[i] = (float)value;
  else
    doubles[i] = value;
}

/* The values of this rank before a round. */
static vector contributions(const deformed_box *box, sp_precision precision, int round) {
  vector values = make_vector(precision, box->numbering->local);
  for (sp_lid i = 0; i < box->numbering->local; i++)
    set(&values, i, contribution(world_rank, round, box->whole_dof[i]));
  return values;
}

/* 1 for each rank and each DOF of the whole box that it holds: [ranks][DOFs]. */
static unsigned char *gather_holders(const deformed_box *box) {
  const sp_lid n = box->whole_numbering->local;
  unsigned char *mine = test_array((size_t)n, 1);
  unsigned char *all = test_array((size_t)n * (size_t)world_size, 1);
  for (sp_lid i = 0; i < box->numbering->local; i++) mine[box->whole_dof[i]] = 1;
  MPI_Allgather(mine, n, MPI_UNSIGNED_CHAR, all, n, MPI_UNSIGNED_CHAR, comm);
  return all;
}

/* The combined value of a DOF, rounded to the precision, and the number of ranks that hold it. The
 * sum of two floats in double, rounded to float, equals their sum as floats. */
static double combine_all(const deformed_box *box, const unsigned char *holders, sp_combine combine,
                          sp_precision precision, int seed, sp_lid whole, int *count) {
  double result = 0;
  *count = 0;
  for (int r = 0; r < world_size; r++) {
    if (!holders[(size_t)r * (size_t)box->whole_numbering->local + (size_t)whole]) continue;
    const double value = rounded(precision, contribution(r, seed, whole));
    if ((*count)++ == 0)
      result = value;
    else
      result = combine == SP_SUM ? rounded(precision, result + value) : fmin(result, value);
  }
  return result;
}

/* Expected `values` after a round; unshared ones are doubled if the round did that. */
static void check_values(const deformed_box *box, const unsigned char *holders, sp_combine combine,
                         int round, bool doubled, const vector *values) {
  const sp_precision precision = values->precision;
  const sp_lid n = box->numbering->local;
  double *read = test_array((size_t)n, sizeof *read);
  int count, most = 0;
  sp_lid wrong = 0;
  for (sp_lid i = 0; i < n; i++) {
    double want = combine_all(box, holders, combine, precision, round, box->whole_dof[i], &count);
    if (count == 1 && doubled) want *= 2;
    if (count > most) most = count;
    read[i] = get(values, i);
    wrong += memcmp(&read[i], &want, sizeof want) != 0;
  }
  CHECK(wrong == 0, "%d of %d values differ from the sum in rank order", wrong, n);
  CHECK(count_different_bits(comm, box, read) == 0, "holders differ");
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, comm);
  CHECK(most == world_size, "the box should have DOFs that all %d ranks hold, not only %d",
        world_size, most);
}

/* Begin and end in one call, which exists for double precision only. */
static void check_now(const deformed_box *box, sp_exchange *exchange, const unsigned char *holders,
                      sp_combine combine, int round) {
  vector values = contributions(box, SP_DOUBLE, round);
  sp_exchange_now(exchange, combine, values.numbers);
  check_values(box, holders, combine, round, false, &values);
}

/* Odd rounds do other work between begin and end: unshared values may change meanwhile. */
static void check_begin_end(const deformed_box *box, sp_exchange *exchange,
                            const unsigned char *holders, sp_precision precision, int round) {
  vector values = contributions(box, precision, round);
  int count;
  sp_exchange_begin(exchange, precision, values.numbers);
  for (sp_lid i = 0; i < box->numbering->local && round % 2; i++) {
    combine_all(box, holders, SP_SUM, precision, round, box->whole_dof[i], &count);
    if (count == 1) set(&values, i, 2 * get(&values, i));
  }
  sp_exchange_end(exchange, precision, values.numbers);
  check_values(box, holders, SP_SUM, round, round % 2, &values);
}

/* Packed and added by the caller, as in backends with separate memory. */
static void check_packed(const deformed_box *box, sp_exchange *exchange,
                         const unsigned char *holders, sp_precision precision, int round) {
  const sp_exchange_plan plan = sp_exchange_plan_of(exchange);
  const sp_lid shared = plan.start[plan.neighbours];
  vector values = contributions(box, precision, round);
  vector sent = make_vector(precision, shared), received = make_vector(precision, shared);
  for (sp_lid s = 0; s < shared; s++) set(&sent, s, get(&values, plan.dofs[s]));
  sp_exchange_begin_packed(exchange, precision, sent.numbers, received.numbers);
  sp_exchange_end_packed(exchange);
  for (sp_lid t = 0; t < plan.targets; t++) {
    double sum = 0;
    for (sp_lid s = plan.source_start[t]; s < plan.source_start[t + 1]; s++) {
      const sp_lid source = plan.sources[s];
      const double value =
          source == SP_OWN_VALUE ? get(&values, plan.target[t]) : get(&received, source);
      sum = s == plan.source_start[t] ? value : rounded(precision, sum + value);
    }
    set(&values, plan.target[t], sum);
  }
  check_values(box, holders, SP_SUM, round, false, &values);
}

static void check_box(const int elements[3], int order) {
  ARRAYS_OF_SCOPE;
  AUTO_VALUE(deformed_box) box = {0};
  deformed_box_create(comm, elements, 1, order, &box);
  CHECK(box.conflicts == 0, "%d nodes are numbered inconsistently", box.conflicts);
  AUTO(sp_exchange) exchange = NULL;
  CHECK_OK(sp_exchange_create(comm, box.numbering, &exchange));
  unsigned char *holders = gather_holders(&box);
  for (int round = 0; round < 4; round++) {
    check_now(&box, exchange, holders, SP_SUM, round);
    check_now(&box, exchange, holders, SP_MIN, round);
    for (sp_precision precision = SP_DOUBLE; precision < SP_PRECISIONS; precision++) {
      check_begin_end(&box, exchange, holders, precision, round);
      check_packed(&box, exchange, holders, precision, round);
    }
  }
  sp_exchange_destroy(&exchange);
  CHECK(exchange == NULL, "destroyed");
}

/* Ranks with different numbers of entries, and some with none. */
static void test_gather(sp_precision precision) {
  ARRAYS_OF_SCOPE;
  sp_lid first = 0, all = 0;
  int *counts = test_array((size_t)world_size, sizeof *counts);
  for (int r = 0; r < world_size; r++) {
    counts[r] = 3 * r % 4; /* 0, 3, 2, 1 */
    if (r == world_rank) first = all;
    all += counts[r];
  }
  AUTO(sp_exchange) exchange = NULL;
  CHECK_OK(sp_exchange_create_gather(comm, counts, &exchange));
  vector values = make_vector(precision, all);
  for (int round = 0; round < 2; round++) {
    for (sp_lid i = 0; i < all; i++)
      set(&values, i,
          i < first || i >= first + counts[world_rank] ? NAN : contribution(0, round, i));
    sp_exchange_begin(exchange, precision, values.numbers);
    sp_exchange_end(exchange, precision, values.numbers);
    for (sp_lid i = 0; i < all; i++) {
      const double want = rounded(precision, contribution(0, round, i));
      CHECK(get(&values, i) == want, "entry %d is %g, not %g", i, get(&values, i), want);
    }
  }
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  comm = MPI_COMM_WORLD;
  const int elements[3] = {2, 2, 3};
  for (int order = 1; order <= 4; order++) check_box(elements, order);
  check_box((const int[3]){2, 2, 1}, 9);
  test_gather(SP_DOUBLE);
  test_gather(SP_SINGLE);
  return check_end();
}
