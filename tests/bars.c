/* The subspace of meshes with bars (operators/schwarz/bars.h): interpolation reproduces polynomials
 * of order N along bars and linear ones elsewhere; the coarse matrix has their energies; the
 * diagonal keeps its sum. Elements have random orientations. */
#include "operators/schwarz/bars.h"

#include "solver/linear/coarse_rows.h"
#include "tests/nodal.h"
#include "tests/operator_bench.h"
#include "tests/boxes.h"

enum { SEED = 11 };
static const double LENGTH = 1.5, ALPHA = 3;
static const sp_box BARS = {.elements = {4, 3, 5}, .upper = {1.5, 0.05, 0.08}}; /* along x */

static double polynomial(const double x[3], int power) {
  return pow(x[0] / LENGTH, power) + 2 * x[1] - x[2];
}

/* The polynomial at the local DOFs. */
static double *sample(const sp_space *space, int power) {
  double *values = test_array(sp_space_dofs(space), sizeof *values);
  nodal_fill(space, polynomial, power, values);
  return values;
}

/* P f = f; the rows of P have at most eight entries, whose sum is one. */
static void check_interpolation(const sp_system *bars, const double *f) {
  AUTO_VALUE(sp_csr) p = {0};
  CHECK_OK(sp_bars_interpolation(&bars->setup, &p));
  for (int i = 0; i < p.rows; i++) {
    double sum = 0;
    for (int k = p.start[i]; k < p.start[i + 1]; k++) sum += p.values[k] * f[p.column[k]];
    CHECK(p.start[i + 1] - p.start[i] <= 8, "row %d", i);
    CHECK_CLOSE(sum, f[i], 32 * DBL_EPSILON);
  }
}

/* f.A f on the subspace and on the fine space. Both rules are exact along bars for f^2 of degree 2
 * N - 1, and across them where gradients are constant. */
static void check_energy(const bench *b, const sp_system *fine, const sp_system *bars,
                         const double *f) {
  const sp_space *space = fine->space;
  const size_t dofs = sp_space_dofs(space);
  double *y = test_array(dofs, sizeof *y), energies[2] = {0, 0};
  AUTO_VALUE(sp_free_rows) rows = {0};
  require(sp_free_rows_create(&bars->setup, &bars->constants, true, &rows));
  double *all = test_array((size_t)rows.total, sizeof *all);
  bench_apply(b, fine->op, false, f, y);
  for (sp_lid i = 0; i < space->numbering->owned; i++) {
    energies[0] += f[i] * y[i];
    if (rows.of_dof[i] >= 0) all[rows.of_dof[i]] = f[i];
  }
  MPI_Allreduce(MPI_IN_PLACE, all, rows.total, MPI_DOUBLE, MPI_SUM, b->comm);
  MPI_Allreduce(MPI_IN_PLACE, energies, 1, MPI_DOUBLE, MPI_SUM, b->comm);
  double size = 0;
  for (int i = 0; i < rows.total; i++)
    for (int e = rows.matrix.start[i]; e < rows.matrix.start[i + 1]; e++) {
      const double term = all[i] * rows.matrix.values[e] * all[rows.matrix.column[e]];
      energies[1] += term;
      size += fabs(term);
    }
  CHECK_CLOSE(energies[1], energies[0], 1024 * DBL_EPSILON * size);
}

static double sum_of_diagonal(const sp_operator_setup *setup) {
  double sum = 0;
  for (sp_lid i = 0; i < setup->diagonal_count; i++) sum += setup->diagonal_values[i];
  return sum;
}

/* With `mixed`, kappa makes every third element conduct along x as well as across: no bar. */
static void check_space(const bench *b, int order, bool mixed) {
  AUTO(sp_mesh) mesh = box_mesh(MPI_COMM_WORLD, &BARS, SEED);
  AUTO(sp_space) space = bench_space(b, mesh, order);
  const size_t dofs = sp_space_dofs(space), count = (size_t)mesh->hexes->count;
  double *kappa; /* of the system */
  require(sp_allocate(6 * count, sizeof *kappa, "test", &kappa));
  double *diagonal = test_array(dofs, sizeof *diagonal);
  sp_lid *list = test_array(dofs, sizeof *list);
  sp_gid bars_found = 0;
  for (size_t e = 0; e < count; e++) {
    const sp_gid tag = mesh->hexes->tags[e];
    for (int d = 0; d < 3; d++) kappa[6 * e + (size_t)d] = 1 + (double)(tag % 7);
    if (mixed && tag % 3 == 0) kappa[6 * e] *= 1e4;
  }
  for (size_t i = 0; i < dofs; i++) {
    list[i] = (sp_lid)i;
    diagonal[i] = ALPHA * (double)(i % 5);
  }
  const sp_operator_setup setup = {.space = space,
                                   .kind = SP_BP35,
                                   .geometry = SP_GEOMETRY_STORED,
                                   .kappa = kappa,
                                   .by_element = true,
                                   .is_tensor = true};
  sp_operator_setup with_diagonal = setup;
  with_diagonal.diagonal_count = (sp_lid)dofs;
  with_diagonal.diagonal_dofs = list;
  with_diagonal.diagonal_values = diagonal;
  sp_system *fine, *bars = NULL;
  sp_system other = {.space = space, .setup = with_diagonal};
  require(sp_system_create(&setup, NULL, NULL, &fine));
  require(sp_operator_create(&fine->setup, &fine->op));
  CHECK_OK(sp_bars_create(&other, &bars));
  CHECK(bars != NULL, "no bars at order %d", order);
  if (bars) {
    CHECK_CLOSE(sum_of_diagonal(&bars->setup), sum_of_diagonal(&with_diagonal),
                64 * DBL_EPSILON * sum_of_diagonal(&with_diagonal));
    sp_system_destroy(&bars);
  }
  free(other.boxes);
  CHECK_OK(sp_bars_create(fine, &bars));
  for (sp_lid e = 0; e < mesh->hexes->count && bars; e++)
    bars_found += sp_system_bar_direction(&bars->setup, e) >= 0;
  MPI_Allreduce(MPI_IN_PLACE, &bars_found, 1, SP_MPI_GID, MPI_SUM, b->comm);
  CHECK((bars_found == mesh->global_elements) == !mixed, "%lld bars", (long long)bars_found);
  for (int power = 1; power <= (mixed ? 1 : order) && bars; power++) {
    double *f = sample(space, power);
    check_interpolation(bars, f);
    check_energy(b, fine, bars, f);
  }
  sp_system_destroy(&bars);
  sp_system_destroy(&fine);
}

/* Cubes and order 1 have none. */
static void check_none(const bench *b) {
  sp_mesh *cubes = periodic_box((int[]){3, 3, 3}, 0, SEED),
          *thin = box_mesh(MPI_COMM_WORLD, &BARS, SEED);
  const sp_mesh *const meshes[] = {cubes, thin};
  for (int m = 0; m < 2; m++) {
    AUTO(sp_space) space = bench_space(b, meshes[m], m == 0 ? 3 : 1);
    sp_system fine = {.space = space,
                      .setup = {.space = space, .kind = SP_BP35, .geometry = SP_GEOMETRY_STORED}};
    AUTO(sp_system) bars = NULL;
    CHECK_OK(sp_bars_create(&fine, &bars));
    CHECK(!bars, "bars on mesh %d", m);
    free(fine.boxes);
  }
  sp_mesh_destroy(&cubes);
  sp_mesh_destroy(&thin);
}

int main(int argc, char **argv) {
  bench b;
  bench_begin(&argc, &argv, &b);
  for (int order = 2; order <= 8; order += 3) {
    check_space(&b, order, false);
    check_space(&b, order, true);
  }
  check_none(&b);
  return bench_end(&b);
}
