/* Every kernel of the paper at every order that was built, compared with the plain reference, on
 * curved elements with random data. Needs the argument cuda, since the kernels run on GPUs only. */
#include "operators/paper/paper.h"

#include "mesh/geometry.h"
#include "operators/counts.h"
#include "tests/deformed_box.h"
#include "tests/operator_bench.h"
#include "tests/reference_operator.h"

enum { PROBLEMS = SP_BP30 + 1, ROWS = 42 };
static const double LAMBDA = 1.75;
static const char *const PROBLEM_NAMES[] = {"BP1.0", "BP3.5", "BP3.0"};

/* Rungs of a ladder by problem and dimensions of a thread block, and its highest order. */
static const int rungs[PROBLEMS][4] = {
    [SP_MASS] = {[2] = 8}, [SP_BP35] = {[2] = 10, [3] = 6}, [SP_BP30] = {[2] = 9, [3] = 9}};
static const int highest_order[PROBLEMS][4] = {
    [SP_MASS] = {[2] = 15}, [SP_BP35] = {[2] = 15, [3] = 9}, [SP_BP30] = {[2] = 15, [3] = 8}};

/* One problem at one order, on the host and on the device. */
typedef struct data {
  int order, elements;
  size_t size;       /* of an E-vector */
  double *y, *scale; /* the reference's result */
  sp_vector q, factors;
} data;

static void fill_factors(const deformed_box *box, sp_operator_kind kind, const sp_rule *rule,
                         double *factors) {
  const size_t points = (size_t)(rule->n * rule->n * rule->n);
  const sp_hexes *hexes = box->mesh->hexes;
  double *all = test_array(points * SP_FACTORS, sizeof *all);
  for (sp_lid e = 0; e < hexes->count; e++) {
    CHECK_OK(sp_geometry_factors(hexes, e, rule, all));
    if (kind == SP_MASS)
      memcpy(&factors[(size_t)e * points], &all[SP_G_WJ * points], points * sizeof *all);
    else
      memcpy(&factors[(size_t)e * points * SP_FACTORS], all, points * SP_FACTORS * sizeof *all);
  }
}

static void data_create(const bench *b, const deformed_box *box, sp_operator_kind kind, data *d) {
  const sp_hexes *hexes = box->mesh->hexes;
  const sp_rule *rule = sp_operator_rule(kind, box->numbering->order);
  const size_t np = element_nodes(box), points = (size_t)(rule->n * rule->n * rule->n);
  const size_t count = (size_t)hexes->count * points * (kind == SP_MASS ? 1 : SP_FACTORS);
  *d = (data){.order = box->numbering->order, .elements = hexes->count};
  d->size = (size_t)hexes->count * np;
  d->y = test_array(d->size, sizeof(double));
  d->scale = test_array(d->size, sizeof(double));
  double *q = test_array(d->size, sizeof *q), *factors = test_array(count, sizeof *factors);
  for (size_t i = 0; i < d->size; i++) q[i] = random_value(3, (sp_gid)i);
  fill_factors(box, kind, rule, factors);
  for (sp_lid e = 0; e < hexes->count; e++) {
    const size_t at = (size_t)e * np;
    const sp_operator_setup setup = {.kind = kind, .lambda = LAMBDA};
    reference_apply(&setup, d->order, NULL, NULL, hexes, e, &q[at], &d->y[at], &d->scale[at]);
  }
  d->q = bench_upload(b, d->size, q);
  d->factors = bench_upload(b, count, factors);
}

static void data_destroy(data *d) {
  sp_vector_destroy(&d->q);
  sp_vector_destroy(&d->factors);
}

/* One launch; output and workspace hold NaN before: result[size], and behind it the nodes of one
 * more element, which must remain NaN. */
static void run(const bench *b, const sp_paper_kernel *kernel, const data *d, size_t np,
                double *result) {
  const size_t work_size = kernel->workspace(d->order, d->elements) / sizeof(double);
  double *poison = test_array(d->size + np + work_size, sizeof *poison);
  for (size_t i = 0; i < d->size + np + work_size; i++) poison[i] = NAN;
  AUTO_VALUE(sp_vector) aq = bench_upload(b, d->size + np, poison), workspace = {0};
  if (work_size > 0) workspace = bench_upload(b, work_size, poison);
  const sp_paper_arguments arguments = {.elements = d->elements,
                                        .factors = d->factors.data,
                                        .q = d->q.data,
                                        .aq = aq.data,
                                        .workspace = workspace.data,
                                        .lambda = LAMBDA};
  CHECK_OK(kernel->order[d->order].launch(b->device, &arguments));
  bench_download(&aq, result);
}

static void check_resources(const sp_paper_kernel *kernel, int order) {
  sp_paper_resources r;
  CHECK_OK(kernel->order[order].resources(&r));
  const int n = kernel->problem == SP_BP35 ? order + 1 : order + 2;
  CHECK(r.threads == (kernel->threads == 2 ? n * n : n * n * n), "%d threads", r.threads);
  /* 48 KB, and what some drivers reserve. */
  CHECK(r.shared_bytes > 0 && r.shared_bytes <= 49 * 1024, "%d bytes of static shared memory",
        r.shared_bytes);
}

static void check_kernel(const bench *b, const sp_paper_kernel *kernel, const data *d) {
  const size_t np = d->size / (size_t)d->elements, total = d->size + np;
  double *result = test_array(2 * total, sizeof *result), *again = result + total;
  run(b, kernel, d, np, result);
  run(b, kernel, d, np, again);
  const double error = reference_error(d->size, result, d->y, d->scale);
  const double tolerance = reference_tolerance(d->order, DBL_EPSILON);
  CHECK(error <= tolerance, "%s %dD kernel %d, N = %d: %.3g > %.3g", PROBLEM_NAMES[kernel->problem],
        kernel->threads, kernel->number, d->order, error, tolerance);
  CHECK(memcmp(result, again, d->size * sizeof *result) == 0,
        "%s %dD kernel %d, N = %d: two runs differ", PROBLEM_NAMES[kernel->problem],
        kernel->threads, kernel->number, d->order);
  int written = 0;
  for (size_t i = d->size; i < total; i++) written += !isnan(result[i]);
  CHECK(written == 0, "%s %dD kernel %d, N = %d: %d values written behind the last element",
        PROBLEM_NAMES[kernel->problem], kernel->threads, kernel->number, d->order, written);
  check_resources(kernel, d->order);
}

/* True if an order up to `highest` was built: the first ladder has all orders. */
static bool any_built(const sp_paper_kernel *kernels, int highest) {
  bool any = false;
  for (int order = 1; order <= highest; order++) any |= kernels[0].order[order].launch != NULL;
  return any;
}

/* Ladders in the paper's order, rungs from 1, and exactly the orders at which they fit. */
static void check_table(const sp_paper_kernel *kernels, int count) {
  int row = 0;
  CHECK(any_built(kernels, SP_MAX_ORDER), "no order was built");
  for (int problem = 0; problem < PROBLEMS; problem++)
    for (int threads = 2; threads <= 3; threads++) {
      if (!any_built(kernels, highest_order[problem][threads])) continue;
      for (int number = 1; number <= rungs[problem][threads]; number++, row++) {
        if (row >= count) continue;
        const sp_paper_kernel *kernel = &kernels[row];
        CHECK((int)kernel->problem == problem && kernel->threads == threads &&
                  kernel->number == number && kernel->adds,
              "row %d is %s %dD kernel %d", row, PROBLEM_NAMES[kernel->problem], kernel->threads,
              kernel->number);
        for (int order = 0; order <= SP_MAX_ORDER; order++) {
          const bool built = kernels[0].order[order].launch != NULL;
          const bool fits = order <= highest_order[problem][threads];
          CHECK((kernel->order[order].launch != NULL) == (built && fits),
                "%s %dD kernel %d at N = %d", PROBLEM_NAMES[problem], threads, number, order);
        }
      }
    }
  CHECK(count == row, "%d rows, %d expected", count, row);
  if (any_built(kernels, 8)) CHECK(count == ROWS, "%d rows of %d", count, ROWS);
}

static void check_order(const bench *b, const sp_paper_kernel *kernels, int count, int order) {
  ARRAYS_OF_SCOPE;
  const int elements[3] = {3, 3, 3}; /* 27: the last block is only partly filled */
  AUTO_VALUE(deformed_box) box = {0};
  deformed_box_create(MPI_COMM_WORLD, elements, 2, order, &box);
  CHECK_OK(sp_paper_prepare(b->device, order));
  for (sp_operator_kind kind = SP_MASS; kind <= SP_BP30; kind++) {
    AUTO_VALUE(data) d = {0};
    data_create(b, &box, kind, &d);
    for (int k = 0; k < count; k++)
      if (kernels[k].problem == kind && kernels[k].order[order].launch)
        check_kernel(b, &kernels[k], &d);
  }
}

int main(int argc, char **argv) {
  bench b;
  bench_begin(&argc, &argv, &b);

  int count;
  const sp_paper_kernel *kernels = sp_paper_kernels(&count);
  check_table(kernels, count);
  for (int order = 1; order <= SP_MAX_ORDER; order++)
    if (count > 0 && kernels[0].order[order].launch) check_order(&b, kernels, count, order);

  return bench_end(&b);
}
