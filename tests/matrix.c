/* Matrices of a backend against a plain reference: products with rows of all lengths, and inverses
 * of symmetric positive definite matrices; and work that is recorded and queued again. */

#include "tests/operator_bench.h"
#include "tests/deformed_box.h"

static bench tested;

static double *random_numbers(sp_precision precision, int seed, int count) {
  double *values = test_array((size_t)count + 1, sizeof *values);
  for (int i = 0; i < count; i++) {
    values[i] = random_value(seed, i);
    if (precision == SP_SINGLE) values[i] = (float)values[i];
  }
  return values;
}

static sp_vector send(sp_precision precision, int count, const double *values) {
  return bench_upload_as(&tested, precision, (size_t)count, values);
}

static void fetch(sp_vector *vector, double *values) {
  bench_download(vector, values);
  sp_vector_destroy(vector);
}

/* Row i has lengths[i % count] entries in random columns, in the order of columns. */
static sp_csr sparse_matrix(sp_precision precision, int rows, int columns, int longest) {
  sp_csr m = {.rows = rows, .columns = columns};
  m.start = test_array((size_t)rows + 1, sizeof *m.start);
  m.column = test_array((size_t)(rows * longest) + 1, sizeof *m.column);
  m.values = random_numbers(precision, 1, rows * longest);
  for (int i = 0; i < rows; i++) {
    const int count = longest * (i % 4) / 3; /* from none to the longest */
    for (int n = 0; n < count; n++)
      m.column[m.start[i] + n] = (int)((long long)n * columns / (count > 0 ? count : 1));
    m.start[i + 1] = m.start[i] + count;
  }
  return m;
}

/* y = a M x + b z: at most n roundings of half an epsilon for n terms, and four more. */
static void check_product(sp_precision precision, const sp_csr *m, sp_device_matrix *matrix,
                          double a, double b, bool in_place) {
  double *x = random_numbers(precision, 2, m->columns), *z = random_numbers(precision, 3, m->rows);
  double *y = random_numbers(precision, 4, m->rows);
  AUTO_VALUE(sp_vector) on_x = send(precision, m->columns, x), on_z = send(precision, m->rows, z);
  sp_vector on_y = send(precision, m->rows, y);
  require(tested.backend->matrix_apply(matrix, a, on_x.data, b, b == 0 ? NULL : on_z.data,
                                       in_place ? on_z.data : on_y.data));
  fetch(&on_y, y);
  double *got_z = test_array((size_t)m->rows + 1, sizeof *got_z);
  fetch(&on_z, got_z);
  const double *got = in_place ? got_z : y, epsilon = bench_epsilon(precision);
  int wrong = 0;
  for (int i = 0; i < m->rows; i++) {
    double sum = 0, size = 0;
    for (int n = m->start[i]; n < m->start[i + 1]; n++) {
      sum += m->values[n] * x[m->column[n]];
      size += fabs(m->values[n] * x[m->column[n]]);
    }
    const double want = a * sum + b * z[i];
    const double tolerance =
        epsilon * (m->start[i + 1] - m->start[i] + 4) * (fabs(a) * size + fabs(b * z[i]));
    wrong += !(fabs(got[i] - want) <= tolerance);
    if (!in_place) wrong += got_z[i] != z[i];
  }
  CHECK(wrong == 0, "%d by %d, precision %d, a = %g, b = %g: %d rows are wrong", m->rows,
        m->columns, precision, a, b, wrong);
}

static void check_sparse(sp_precision precision) {
  ARRAYS_OF_SCOPE;
  static const int sizes[][3] = {/* rows, columns, longest row */
                                 {1, 1, 1},     {1, 5000, 5000}, {40, 7, 2},
                                 {1000, 50, 8}, {777, 900, 27},  {300, 2000, 200}};
  for (size_t s = 0; s < COUNT_OF(sizes); s++) {
    sp_csr m = sparse_matrix(precision, sizes[s][0], sizes[s][1], sizes[s][2]);
    sp_device_matrix *matrix;
    require(tested.backend->matrix_create(tested.device, precision, &m, &matrix));
    check_product(precision, &m, matrix, 1, 0, false);
    check_product(precision, &m, matrix, -1, 1, true);
    check_product(precision, &m, matrix, -0.75, 0.5, false);
    tested.backend->matrix_destroy(&matrix);
    CHECK(matrix == NULL, "destroyed");
  }
}

/* A chain of springs, 2 on the diagonal and -1 beside it, plus `shift` times the identity: its
 * eigenvalues lie between `shift` and 4 + shift. */
static sp_csr chain(int rows, double shift) {
  sp_csr m = {.rows = rows, .columns = rows};
  m.start = test_array((size_t)rows + 1, sizeof *m.start);
  m.column = test_array(3 * (size_t)rows + 1, sizeof *m.column);
  m.values = test_array(3 * (size_t)rows + 1, sizeof *m.values);
  int n = 0;
  for (int i = 0; i < rows; i++) {
    for (int j = i - 1; j <= i + 1; j++) {
      if (j < 0 || j >= rows) continue;
      m.column[n] = j;
      m.values[n++] = j == i ? 2 + shift : -1;
    }
    m.start[i + 1] = n;
  }
  return m;
}

/* M^-1 M x is x, up to the condition number. */
static void check_inverse(sp_precision precision, int rows) {
  ARRAYS_OF_SCOPE;
  const double shift = 0.5, condition = (4 + shift) / shift;
  sp_csr m = chain(rows, shift);
  sp_device_matrix *matrix, *inverse;
  require(tested.backend->matrix_create(tested.device, precision, &m, &matrix));
  require(tested.backend->inverse_create(tested.device, precision, &m, &inverse));
  double *x = random_numbers(precision, 5, rows), *got_x = random_numbers(precision, 7, rows);
  AUTO_VALUE(sp_vector) on_x = send(precision, rows, x), product = send(precision, rows, got_x);
  sp_vector result = send(precision, rows, got_x);
  require(tested.backend->matrix_apply(matrix, 1, on_x.data, 0, NULL, product.data));
  require(tested.backend->matrix_apply(inverse, 1, product.data, 0, NULL, result.data));
  fetch(&result, got_x);
  const double tolerance = 16 * sqrt(rows + 1) * condition * bench_epsilon(precision);
  double error = 0;
  for (int i = 0; i < rows; i++) error = fmax(error, fabs(got_x[i] - x[i]));
  CHECK(error <= tolerance, "%d rows, precision %d: M^-1 M x is off by %g", rows, precision, error);
  tested.backend->matrix_destroy(&matrix);
  tested.backend->matrix_destroy(&inverse);
}

/* y = 2 x + y is recorded, not done, and then done three times. A failure is handed back. */
static void check_recording(void) {
  ARRAYS_OF_SCOPE;
  enum { N = 1000, TIMES = 3 };
  double *x = random_numbers(SP_DOUBLE, 9, N), *y = random_numbers(SP_DOUBLE, 10, N);
  double *got = random_numbers(SP_DOUBLE, 11, N);
  const sp_backend *b = tested.backend;
  AUTO_VALUE(sp_vector) on_x = send(SP_DOUBLE, N, x), on_y = send(SP_DOUBLE, N, y);
  sp_recording *recording;
  require(b->record(tested.device));
  require(b->end_recording(tested.device, sp_vector_axpby(2, &on_x, 1, &on_y), &recording));
  bench_download(&on_y, got);
  double error = 0;
  for (int i = 0; i < N; i++) error = fmax(error, fabs(got[i] - y[i]));
  CHECK(error == 0, "recorded work was done");
  for (int time = 0; time < TIMES; time++) require(b->replay(recording));
  fetch(&on_y, got);
  for (int i = 0; i < N; i++) error = fmax(error, fabs(got[i] - (y[i] + 2 * TIMES * x[i])));
  CHECK(error <= 16 * TIMES * DBL_EPSILON, "replayed work is off by %g", error);
  b->recording_destroy(&recording);
  CHECK(recording == NULL, "destroyed");

  require(b->record(tested.device));
  const sp_status status =
      b->end_recording(tested.device, sp_fail(SP_ERR_BREAKDOWN, "while recording"), &recording);
  CHECK(status == SP_ERR_BREAKDOWN && recording == NULL, "a failure while recording: %d", status);
  require(b->finish(tested.device));
}

int main(int argc, char **argv) {
  bench_begin(&argc, &argv, &tested);
  const sp_backend *b = tested.backend;
  CHECK(!b->record == !b->end_recording && !b->record == !b->replay &&
            !b->record == !b->recording_destroy,
        "recorded work: all functions or none");
  CHECK(!b->record == (b == &sp_backend_host), "the host alone records no work");
  static const int rows[] = {0, 1, 31, 32, 33, 100, 257, 1000};
  for (sp_precision precision = SP_DOUBLE; precision < SP_PRECISIONS; precision++) {
    check_sparse(precision);
    for (size_t r = 0; r < COUNT_OF(rows); r++) check_inverse(precision, rows[r]);
  }
  if (b->record) check_recording();
  return bench_end(&tested);
}
