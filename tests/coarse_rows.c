/* The rows of the coarsest problem on every rank (solver/linear/coarse_rows.h) against the operator
 * of order 1 itself; one element across a period; the same bits on all ranks; pinned constants. */
#include "solver/linear/coarse_rows.h"

#include "tests/operator_bench.h"
#include "tests/boxes.h"

enum { SEED = 7 };
static const double LAMBDA = 0.7, ALPHA = 3;

static double random_number(int seed, sp_gid number) {
  return sin(12.9898 * (double)(number + 1) + 78.233 * seed);
}

/* x of all free rows, from the owners. */
static double *all_rows(const sp_space *space, const sp_free_rows *rows, const double *x) {
  double *all = test_array((size_t)rows->matrix.rows, sizeof *all);
  for (sp_lid d = 0; d < space->numbering->owned; d++)
    if (rows->of_dof[d] >= 0) all[rows->of_dof[d]] = x[d];
  MPI_Allreduce(MPI_IN_PLACE, all, rows->matrix.rows, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static double product(const sp_csr *m, int row, const double *x, double *size) {
  double sum = 0;
  *size = 0;
  for (int e = m->start[row]; e < m->start[row + 1]; e++) {
    sum += m->values[e] * x[m->column[e]];
    *size += fabs(m->values[e] * x[m->column[e]]);
  }
  return sum;
}

/* A x by the operator, at this rank's free DOFs. Both sum some 64 products per row. */
static void check_product(const bench *b, const sp_operator_setup *setup,
                          const sp_free_rows *rows) {
  const sp_space *space = setup->space;
  const size_t dofs = sp_space_dofs(space);
  double *x = test_array(dofs, sizeof *x), *y = test_array(dofs, sizeof *y);
  for (size_t d = 0; d < dofs; d++)
    x[d] = random_number(SEED, sp_numbering_global(space->numbering, (sp_lid)d));
  AUTO(sp_operator) op = bench_operator(setup);
  bench_apply(b, op, true, x, y);
  double *all = all_rows(space, rows, x);
  int count = 0;
  const int rank = sp_comm_rank(MPI_COMM_WORLD);
  for (sp_lid d = 0; d < space->numbering->owned; d++) {
    const int row = rows->of_dof[d];
    CHECK((row < 0) == setup->constrained[d], "DOF %d has row %d", d, row);
    if (row < 0) continue;
    double size;
    const double sum = product(&rows->matrix, row, all, &size);
    CHECK(row == rows->starts[rank] + count && rows->dofs[count] == d, "rows follow the DOFs");
    count++;
    CHECK_CLOSE(sum, y[d], 128 * DBL_EPSILON * size);
  }
  CHECK(count == rows->count, "%d of %d rows", count, rows->count);
}

static void check_bits(const sp_csr *m) {
  const int entries = m->start[m->rows];
  double *lowest = test_array((size_t)entries, sizeof *lowest);
  double *highest = test_array((size_t)entries, sizeof *highest);
  MPI_Allreduce(m->values, lowest, entries, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(m->values, highest, entries, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  for (int e = 0; e < entries; e++) CHECK(lowest[e] == highest[e], "entry %d differs", e);
  for (int i = 0; i < m->rows; i++)
    for (int e = m->start[i] + 1; e < m->start[i + 1]; e++)
      CHECK(m->column[e - 1] < m->column[e], "columns of row %d", i);
}

/* kappa and lambda by element; every fifth DOF is constrained, and some others have a diagonal. */
static void check_rows(const bench *b, const int elements[3], int periods) {
  ARRAYS_OF_SCOPE;
  AUTO(sp_mesh) mesh = periodic_box(elements, periods, SEED);
  AUTO(sp_space) space = bench_space(b, mesh, 1);
  const size_t dofs = sp_space_dofs(space), count = (size_t)mesh->hexes->count;
  bool *constrained = test_array(dofs, 1);
  double *kappa = test_array(count, sizeof *kappa);
  sp_lid *diagonal_dofs = test_array(dofs, sizeof *diagonal_dofs), diagonals = 0;
  double *diagonal = test_array(dofs, sizeof *diagonal);
  for (size_t d = 0; d < dofs; d++) {
    const sp_gid number = sp_numbering_global(space->numbering, (sp_lid)d);
    constrained[d] = number % 5 == 2;
    if (number % 3 != 0) continue;
    diagonal_dofs[diagonals] = (sp_lid)d;
    diagonal[diagonals++] = ALPHA;
  }
  for (size_t e = 0; e < count; e++) kappa[e] = 1.5 + random_number(1, mesh->hexes->tags[e]);
  const sp_operator_setup setup = {.space = space,
                                   .kind = SP_BP35,
                                   .geometry = SP_GEOMETRY_STORED,
                                   .lambda = LAMBDA,
                                   .constrained = constrained,
                                   .kappa = kappa,
                                   .by_element = true,
                                   .diagonal_count = diagonals,
                                   .diagonal_dofs = diagonal_dofs,
                                   .diagonal_values = diagonal};
  AUTO_VALUE(sp_free_rows) rows = {0};
  CHECK_OK(sp_free_rows_create(&setup, &(sp_constants){0}, true, &rows));
  check_product(b, &setup, &rows);
  check_bits(&rows.matrix);
}

/* Without mass and conditions rows sum to zero; the pinned one to half its diagonal. */
static void check_pinned(const bench *b) {
  ARRAYS_OF_SCOPE;
  AUTO(sp_mesh) mesh = periodic_box((int[]){4, 3, 5}, 0, SEED);
  AUTO(sp_space) space = bench_space(b, mesh, 1);
  int *component = test_array(sp_space_dofs(space), sizeof *component);
  const sp_operator_setup setup = {.space = space, .kind = SP_BP35, .geometry = SP_GEOMETRY_STORED};
  AUTO_VALUE(sp_free_rows) rows = {0};
  CHECK_OK(sp_free_rows_create(&setup, &(sp_constants){.components = 1, .of_dof = component}, true,
                               &rows));
  double *ones = test_array((size_t)rows.matrix.rows, sizeof *ones);
  for (int i = 0; i < rows.matrix.rows; i++) ones[i] = 1;
  for (int i = 0; i < rows.matrix.rows; i++) {
    double size, pinned = 0;
    const double sum = product(&rows.matrix, i, ones, &size);
    for (int e = rows.matrix.start[i]; e < rows.matrix.start[i + 1]; e++)
      if (i == 0 && rows.matrix.column[e] == i) pinned = rows.matrix.values[e] / 2;
    CHECK((i == 0) == (pinned > 0), "row %d", i);
    CHECK_CLOSE(sum, pinned, 128 * DBL_EPSILON * size);
  }
}

int main(int argc, char **argv) {
  bench b;
  bench_begin(&argc, &argv, &b);
  check_rows(&b, (int[]){6, 5, 4}, 0);
  check_rows(&b, (int[]){1, 2, 4}, 1);
  check_rows(&b, (int[]){2, 3, 2}, 3);
  check_pinned(&b);
  return bench_end(&b);
}
