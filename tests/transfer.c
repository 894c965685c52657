/* Transfer between spaces of two orders and of two meshes: exact on polynomials, and adjoint to
 * restriction. */
#include "operators/transfer.h"

#include <float.h>

#include "mesh/coarsen.h"
#include "mesh/refine.h"
#include "tests/boxes.h"
#include "tests/deformed_box.h"
#include "tests/nodal.h"
#include "tests/operator_bench.h"

static bench tested; /* stays open */

/* A polynomial of degree `degree` per direction. */
static double polynomial(const double x[3], int degree) {
  return pow(0.3 + x[0], degree) - pow(1.1 - x[1], degree) +
         x[0] * pow(0.7 + x[2], degree > 0 ? degree - 1 : 0);
}

static sp_vector send(sp_precision precision, size_t count, const double *values) {
  return bench_upload_as(&tested, precision, count, values);
}

static void check_transfer(const sp_mesh *mesh, const sp_mesh *coarse_mesh, bool exact,
                           int fine_order, int coarse_order, sp_precision precision) {
  const double epsilon = precision == SP_SINGLE ? FLT_EPSILON : DBL_EPSILON;
  AUTO(sp_space) fine = NULL, *coarse = NULL;
  AUTO(sp_transfer) transfer = NULL, *loose = NULL;
  require(sp_space_create(&tested.platform, mesh, fine_order, &fine));
  require(sp_space_create(&tested.platform, coarse_mesh, coarse_order, &coarse));
  const sp_operator_setup setup = {.space = fine,
                                   .kind = SP_BP35,
                                   .geometry = SP_GEOMETRY_STORED,
                                   .precision = precision,
                                   .for_level = true};
  AUTO(sp_operator) op = NULL;
  require(sp_operator_create(&setup, &op));
  require(sp_transfer_create(op, coarse, NULL, NULL, true, &transfer));
  require(sp_transfer_create(op, coarse, NULL, NULL, false, &loose));
  const size_t nf = sp_space_dofs(fine), nc = sp_space_dofs(coarse);
  double *f = test_array(nf, sizeof *f), *want = test_array(nf, sizeof *want);
  double *c = test_array(nc, sizeof *c), *restricted = test_array(nc, sizeof *restricted);

  /* P of a polynomial is the polynomial, added to the old values. The tolerance is for three sums
   * of nc terms with Lebesgue constants below 3 each. */
  nodal_fill(coarse, polynomial, coarse_order, c);
  nodal_fill(fine, polynomial, coarse_order, want);
  for (size_t i = 0; i < nf; i++) f[i] = 0.25;
  AUTO_VALUE(sp_vector) on_c = send(precision, nc, c), on_f = send(precision, nf, f);
  require(sp_transfer_prolong(transfer, &on_c, &on_f));
  bench_download(&on_f, f);
  double largest = 0, error = 0;
  for (size_t i = 0; i < nf; i++) {
    largest = fmax(largest, fabs(want[i]) + 0.25);
    error = fmax(error, fabs(f[i] - 0.25 - want[i]));
  }
  CHECK(!exact || error <= 27 * 3 * (coarse_order + 2) * epsilon * largest,
        "orders %d and %d: the interpolant of a polynomial is off by %g", fine_order, coarse_order,
        error);
  sp_vector_destroy(&on_c);
  sp_vector_destroy(&on_f);

  /* f . P c = (P^T f) . c */
  for (size_t i = 0; i < nf; i++)
    f[i] = random_value(1, sp_numbering_global(fine->numbering, (sp_lid)i));
  for (size_t i = 0; i < nc; i++)
    c[i] = random_value(2, sp_numbering_global(coarse->numbering, (sp_lid)i));
  memset(want, 0, nf * sizeof *want);
  on_c = send(precision, nc, c);
  on_f = send(precision, nf, want);
  require(sp_transfer_prolong(transfer, &on_c, &on_f));
  bench_download(&on_f, want);
  sp_vector_destroy(&on_f);
  on_f = send(precision, nf, f);
  require(sp_transfer_restrict(transfer, &on_f, &on_c));
  bench_download(&on_c, restricted);
  const double left = nodal_dot(fine, f, want), right = nodal_dot(coarse, restricted, c);
  const double scale = sqrt(nodal_dot(fine, f, f) * nodal_dot(fine, want, want));
  CHECK(fabs(left - right) <= 27 * 6 * (fine_order + 2) * epsilon * scale,
        "orders %d and %d: f.Pc = %g, P^T f.c = %g", fine_order, coarse_order, left, right);
  sp_vector_destroy(&on_c);
  sp_vector_destroy(&on_f);

  /* Without exact copies P differs by rounding, on one rank not at all. */
  for (size_t i = 0; i < nf; i++) largest = fmax(largest, fabs(want[i]));
  on_c = send(precision, nc, c);
  on_f = send(precision, nf, memset(f, 0, nf * sizeof *f));
  require(sp_transfer_prolong(loose, &on_c, &on_f));
  bench_download(&on_f, f);
  const double bound = world_size > 1 ? 27 * 3 * (coarse_order + 2) * epsilon * largest : 0;
  for (size_t i = 0; i < nf; i++)
    CHECK(fabs(f[i] - want[i]) <= bound, "orders %d and %d: copies differ by %g", fine_order,
          coarse_order, f[i] - want[i]);
  sp_vector_destroy(&on_f);
}

static void check_transfers(void) {
  static const int orders[][2] = {{2, 1}, {3, 1}, {3, 2}, {5, 3}, {7, 5}, {9, 7}, {15, 11}, {1, 1}};
  const sp_box box = {.elements = {3, 2, 2}, .upper = {1, 0.8, 0.9}, .epsilon = 1};
  AUTO(sp_mesh) mesh = box_mesh(MPI_COMM_WORLD, &box, 0);
  for (size_t o = 0; o < COUNT_OF(orders); o++)
    for (sp_precision p = SP_DOUBLE; p < SP_PRECISIONS; p++)
      check_transfer(mesh, mesh, true, orders[o][0], orders[o][1], p);
}

/* Order 1 on a mesh and coarser ones: of a refined box, in some directions only, and with odd
 * numbers of elements, whose second parents have unequal children. */
static void check_nested_transfers(void) {
  static const sp_box boxes[] = {{.elements = {8, 8, 4}, .upper = {1, 0.8, 0.9}, .epsilon = 1},
                                 {.elements = {4, 4, 8}, .upper = {1, 0.8, 0.1}, .epsilon = 1},
                                 {.elements = {7, 5, 9}, .upper = {1, 0.8, 0.9}, .epsilon = 1}};
  for (size_t b = 0; b < COUNT_OF(boxes); b++) {
    AUTO(sp_mesh) mesh = box_mesh(MPI_COMM_WORLD, &boxes[b], 0);
    sp_mesh *coarse;
    int meshes = 0;
    if (b == 0) require(sp_mesh_refine(&mesh));
    for (;; meshes++) {
      require(sp_mesh_coarser(mesh, &coarse));
      if (!coarse) break;
      for (sp_precision p = SP_DOUBLE; p < SP_PRECISIONS; p++)
        check_transfer(mesh, coarse, b < 2 || meshes == 0, 1, 1, p);
      sp_mesh_destroy(&mesh);
      mesh = coarse;
    }
    CHECK(meshes >= 1, "box %zu has no coarser mesh", b);
  }
}

int main(int argc, char **argv) {
  bench_begin(&argc, &argv, &tested);
  check_transfers();
  check_nested_transfers();
  return bench_end(&tested);
}
