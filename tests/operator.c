/* The operators against a plain reference, for every problem, geometry, order, precision and
 * instruction set, on deformed elements in random orientations and on any number of ranks. */
#include "operators/operator.h"

#include <float.h>

#include "operators/counts.h"
#include "operators/factors.h"
#include "operators/host/layout.h"
#include "operators/host/memory.h"
#include "operators/host/device.h"
#include "tests/deformed_box.h"
#include "tests/operator_bench.h"
#include "tests/reference_operator.h"

static const double LAMBDA = 1.75;
static const char *const PRECISION_NAMES[] = {"double", "single"};
static const char *const KIND_NAMES[] = {"mass", "bp3.5", "bp3.0"};
static const char *const GEOMETRY_NAMES[] = {"auto", "stored", "trilinear"};

/* The reference's results for one problem on one box. */
typedef struct expected {
  double *elements, *elements_scale; /* [elements][Np], element by element */
  double *local, *local_scale;       /* [numbering->local], from this rank's elements only */
  double *all, *all_scale;           /* [numbering->local], sums over the elements of all ranks */
  double energy, energy_scale;       /* x.Ax over this rank's elements */
  double tolerance;                  /* of the precision that is checked */
} expected;

static void compute_expected(const deformed_box *box, const sp_operator_setup *setup,
                             const double *x, expected *want) {
  const sp_numbering *numbering = box->numbering;
  const size_t np = element_nodes(box), local = (size_t)numbering->local;
  const size_t count = (size_t)box->mesh->hexes->count * np;
  *want = (expected){.elements = test_array(2 * count, sizeof(double)),
                     .local = test_array(4 * local, sizeof(double))};
  want->elements_scale = want->elements + count;
  want->local_scale = want->local + local;
  want->all = want->local_scale + local;
  want->all_scale = want->all + local;
  reference_elements(box, setup, x, want->elements, want->elements_scale);
  for (size_t i = 0; i < count; i++) {
    want->local[numbering->nodes[i]] += want->elements[i];
    want->local_scale[numbering->nodes[i]] += want->elements_scale[i];
    want->energy += x[numbering->nodes[i]] * want->elements[i];
    want->energy_scale += fabs(x[numbering->nodes[i]]) * want->elements_scale[i];
  }
  reference_sum(box, want->elements, NULL, want->all);
  reference_sum(box, want->elements_scale, NULL, want->all_scale);
}

/* CPUs, for any tested device. */
static bench host;

/* One rank's kernels of one instruction set, without any exchange. */
static void check_kernels(const sp_host_kernels *kernels, const sp_operator_setup *setup,
                          const sp_host_tables *tables, const sp_host_layout *layout,
                          const double *x, const expected *want) {
  const int order = setup->space->numbering->order;
  const sp_factor_kind factors = sp_operator_factor_kind(setup);
  const sp_host_operators *operators = kernels->operators[setup->precision];
  double *work = NULL;
  CHECK_OK(sp_host_allocate(SP_HOST_WORK, sizeof *work, "test", &work));
  const sp_lid n = setup->space->numbering->local;
  double *y = test_array((size_t)n, sizeof *y);
  for (sp_lid i = 0; i < n; i++) y[i] = NAN; /* old contents must not matter */
  AUTO_VALUE(sp_vector) host_x = bench_upload_as(&host, setup->precision, (size_t)n, x);
  AUTO_VALUE(sp_vector) host_y = bench_upload_as(&host, setup->precision, (size_t)n, y);
  sp_host_sweep sweep = {.local = operators->local[setup->kind][factors],
                         .last = layout->blocks,
                         .x = host_x.data,
                         .y = host_y.data,
                         .lambda = setup->lambda,
                         .sums_energy = true,
                         .work = work};
  const sp_host_run copies = {layout->owned, layout->local};
  operators->touch(&sweep, 1, &copies);
  operators->sweep(layout, tables, &sweep);
  bench_download(&host_y, y);
  const double error = reference_error((size_t)n, y, want->local, want->local_scale);
  CHECK(error <= want->tolerance, "%s %s N = %d, %s kernels, %s: %.3g > %.3g",
        KIND_NAMES[setup->kind], GEOMETRY_NAMES[setup->geometry], order, kernels->instruction_set,
        PRECISION_NAMES[setup->precision], error, want->tolerance);
  CHECK_CLOSE(sweep.energy, want->energy, want->tolerance * want->energy_scale);
  sp_host_free(work);
}

static void check_instruction_sets(const sp_operator_setup *setup, const double *x,
                                   const expected *want) {
  const sp_host_kernels *usable[SP_HOST_KERNEL_SETS];
  const int count = sp_host_usable_kernels(usable);
  CHECK(count > 0, "no kernels for this processor");
  const int team = sp_team_size();
  sp_team_set(1); /* one sweep over all blocks */
  for (int k = 0; k < count; k++) {
    sp_host_tables tables;
    sp_host_layout layout;
    sp_host_tables_fill(usable[k], setup->kind, setup->space->numbering->order, setup->precision,
                        &tables);
    CHECK_OK(sp_host_layout_create(usable[k], setup, &tables, &layout));
    check_kernels(usable[k], setup, &tables, &layout, x, want);
    sp_host_layout_free(&layout);
  }
  sp_team_set(team);
}

/* Where a backend has an element's node in an E-vector: [element][Np], but on the host, where
 * blocks of `lanes` elements begin with those that touch other ranks, [block][Np][lanes]. */
static size_t entry(const bench *b, const sp_mesh *mesh, sp_precision precision, size_t np,
                    sp_lid element, size_t node) {
  const sp_host_kernels *usable[SP_HOST_KERNEL_SETS];
  if (b->backend != &sp_backend_host || sp_host_usable_kernels(usable) == 0)
    return (size_t)element * np + node;
  const sp_lid lanes = sp_host_lanes(usable[0], precision), halo = mesh->halo_elements;
  const bool inner = element >= halo;
  const sp_lid e = inner ? element - halo : element;
  const sp_lid block = e / lanes + (inner ? (halo + lanes - 1) / lanes : 0);
  return ((size_t)block * np + node) * (size_t)lanes + (size_t)(e % lanes);
}

/* Between E-vectors. Neighbours are distinguished by powers of two, which change no rounding. */
static void check_unassembled(const bench *b, const deformed_box *box, sp_operator *op,
                              const double *x, const expected *want) {
  const sp_backend *backend = b->backend;
  const sp_mesh *mesh = box->mesh;
  const size_t np = element_nodes(box), count = (size_t)mesh->hexes->count * np;
  const size_t size = backend->e_vector_size(op->local);
  CHECK(backend == &sp_backend_host ? size >= count : size == count, "size of an E-vector");
  double *vector = test_array(size, sizeof *vector), *y = test_array(count, sizeof *y);
  for (size_t i = 0; i < count; i++)
    vector[entry(b, mesh, op->precision, np, (sp_lid)(i / np), i % np)] =
        ldexp(x[box->numbering->nodes[i]], (int)(i / np % 7));
  AUTO_VALUE(sp_vector) from = bench_upload_as(b, op->precision, size, vector);
  for (size_t i = 0; i < size; i++) vector[i] = NAN;
  AUTO_VALUE(sp_vector) to = bench_upload_as(b, op->precision, size, vector);
  CHECK_OK(backend->apply_unassembled(op->local, from.data, to.data));
  bench_download(&to, vector);
  for (size_t i = 0; i < count; i++)
    y[i] = ldexp(vector[entry(b, mesh, op->precision, np, (sp_lid)(i / np), i % np)],
                 -(int)(i / np % 7));
  const double error = reference_error(count, y, want->elements, want->elements_scale);
  CHECK(error <= want->tolerance, "%s N = %d between E-vectors, %s: %.3g > %.3g",
        sp_operator_names[op->kind], box->numbering->order, PRECISION_NAMES[op->precision], error,
        want->tolerance);
}

/* The passes of CG have kernels of their own: x + A x, and x.A x on the way, where y = A x. */
static void check_passes(const bench *b, const deformed_box *box, sp_operator *op, const double *x,
                         const double *y, const double *scale, double tolerance) {
  const size_t n = (size_t)op->dofs;
  double *sum = test_array(3 * n, sizeof *sum), *want = sum + n, *bounds = want + n;
  for (size_t i = 0; i < n; i++) { /* both have the tolerance as error, and the sum is rounded */
    want[i] = x[i] + y[i];
    bounds[i] = 2 * tolerance * scale[i] + 2 * DBL_EPSILON * (fabs(x[i]) + fabs(y[i]));
  }
  const double x_ax = bench_passes(b, op, x, sum);
  const double error = reference_error(n, sum, want, bounds);
  CHECK(error <= 1, "%s N = %d, passes of CG: %.3g of what rounding allows",
        sp_operator_names[op->kind], box->numbering->order, error);
  for (size_t i = 0; i < n; i++) want[i] = fabs(x[i]);
  CHECK_CLOSE(x_ax, dot(box, x, y), 2 * tolerance * dot(box, want, scale));
}

/* CG is in double precision: an operator in single refuses its passes, on all ranks. */
static void check_refused_passes(sp_operator *op) {
  sp_cg_vectors vectors = {0};
  double sums[2];
  sp_pass_times times;
  CHECK(sp_operator_direction(op, 0, &vectors, SP_OK, sums, &times) == SP_ERR_INPUT &&
            sp_operator_update(op, 0, &vectors, &sums[0], &sums[1]) == SP_ERR_INPUT &&
            strstr(sp_error_message(), "double precision"),
        "passes of CG in single precision: %s", sp_error_message());
  CHECK(!op->iterates, "iterations in single precision");
}

/* Rows and columns of constrained DOFs are zero: A_constrained = P A P. */
static void check_constraints(const bench *b, const deformed_box *box, sp_operator *op,
                              const bool *mask, const double *x, const double *scale,
                              double tolerance) {
  const size_t n = (size_t)op->dofs;
  double *masked = test_array(3 * n, sizeof *masked), *y = masked + n, *free_y = y + n;
  for (size_t i = 0; i < n; i++) masked[i] = mask[i] ? 0 : x[i];
  bench_apply(b, op, true, x, y);
  bench_apply(b, op, false, masked, free_y);
  sp_lid nonzero = 0;
  for (size_t i = 0; i < n; i++) {
    nonzero += mask[i] && y[i] != 0;
    if (mask[i]) free_y[i] = 0;
  }
  CHECK(nonzero == 0, "%d constrained rows are not zero", nonzero);
  const double error = reference_error(n, y, free_y, scale);
  CHECK(error <= tolerance, "%.3g from P A P", error);
  if (op->precision == SP_DOUBLE)
    check_passes(b, box, op, masked, y, scale, tolerance);
  else
    check_refused_passes(op);
}

static void check_operator(const bench *b, const deformed_box *box, sp_operator_setup *setup,
                           const bool *mask, const double *x, const expected *want) {
  ARRAYS_OF_SCOPE;
  const sp_numbering *numbering = box->numbering;
  const size_t n = (size_t)numbering->local;
  const double *here = want->all, *scale = want->all_scale;
  double *y = test_array(2 * n, sizeof *y), *masked_y = y + n;
  setup->constrained = NULL;
  check_instruction_sets(setup, x, want);
  AUTO(sp_operator) op = bench_operator(setup);
  bench_apply(b, op, true, x, y);
  const double error = reference_error(n, y, here, scale);
  CHECK(error <= want->tolerance, "%s %s N = %d, %s: %.3g > %.3g", KIND_NAMES[setup->kind],
        GEOMETRY_NAMES[setup->geometry], numbering->order, PRECISION_NAMES[setup->precision], error,
        want->tolerance);
  CHECK(count_different_bits(b->comm, box, y) == 0, "holders of a DOF differ");
  check_unassembled(b, box, op, x, want);
  const double elements = (double)box->mesh->global_elements;
  CHECK_CLOSE(op->flops, elements * sp_operator_flops(setup->kind, numbering->order), 0);
  sp_operator_destroy(&op);

  setup->constrained = mask;
  check_instruction_sets(setup, x, want);
  op = bench_operator(setup);
  bench_apply(b, op, false, x, masked_y);
  CHECK(reference_error(n, masked_y, here, scale) <= want->tolerance,
        "unconstrained application of a constrained operator");
  check_constraints(b, box, op, mask, x, scale, want->tolerance);
}

/* All results times a power of two, to the bit. */
static void scale_expected(const deformed_box *box, double factor, expected *want) {
  const size_t count = (size_t)box->mesh->hexes->count * element_nodes(box);
  for (size_t i = 0; i < 2 * count; i++) want->elements[i] *= factor;
  for (size_t i = 0; i < 4 * (size_t)box->numbering->local; i++) want->local[i] *= factor;
  want->energy *= factor;
  want->energy_scale *= factor;
}

/* Trilinear geometry with kappa = 4 and four times lambda, as numbers of each element. Different
 * numbers: operator_coefficients.c. */
static void check_scaled(const bench *b, const deformed_box *box, sp_operator_setup setup,
                         const bool *mask, const double *x, expected *want) {
  const size_t elements = (size_t)box->whole->hexes->count;
  double *kappa = test_array(2 * elements, sizeof *kappa), *lambda = kappa + elements;
  for (size_t e = 0; e < elements; e++) {
    kappa[e] = 4;
    lambda[e] = 4 * LAMBDA;
  }
  setup.kappa = kappa;
  setup.lambda_values = lambda;
  setup.lambda = 1;
  setup.by_element = true;
  scale_expected(box, 4, want);
  check_operator(b, box, &setup, mask, x, want);
  scale_expected(box, 0.25, want);
}

/* Stored geometry and, if elements are trilinear, also trilinear geometry. */
static void check_geometries(const bench *b, const deformed_box *box, sp_operator_setup setup,
                             bool straight, const bool *mask, const double *x, expected *want) {
  setup.geometry = SP_GEOMETRY_STORED;
  check_operator(b, box, &setup, mask, x, want);
  if (!straight) return;
  setup.geometry = SP_GEOMETRY_TRILINEAR;
  check_operator(b, box, &setup, mask, x, want);
  if (sp_operator_rows[setup.kind].has_stiffness) check_scaled(b, box, setup, mask, x, want);
}

static void check_box(const bench *b, const int elements[3], int map_order, int order) {
  ARRAYS_OF_SCOPE;
  AUTO_VALUE(deformed_box) box = {0};
  deformed_box_create(b->comm, elements, map_order, order, &box);
  CHECK(box.conflicts == 0, "%d nodes are numbered inconsistently", box.conflicts);
  CHECK(box.mesh->shape.affine == (map_order == 0 && elements[0] <= 4), "parallelepipeds");
  CHECK(box.numbering->global == box.whole_numbering->local, "DOFs over all ranks");
  AUTO(sp_space) space = bench_space(b, box.mesh, order);
  const size_t n = (size_t)box.numbering->local;
  double *x = test_array(n, sizeof *x);
  random_vector(&box, 1, x);
  for (sp_operator_kind kind = 0; kind < SP_OPERATORS; kind++) {
    expected want;
    sp_operator_setup setup = {.space = space, .kind = kind, .lambda = LAMBDA};
    compute_expected(&box, &setup, x, &want);
    for (setup.precision = SP_DOUBLE; setup.precision < SP_PRECISIONS; setup.precision++) {
      if (!bench_has(b, setup.precision)) continue;
      want.tolerance = reference_tolerance(order, bench_epsilon(setup.precision));
      check_geometries(b, &box, setup, map_order <= 1, box.mask, x, &want);
    }
  }
}

/* Of elements of a map order, with coefficients or not, which may be constant by element. */
static void check_choice_of_geometry(const bench *b) {
  enum { AUTO = SP_GEOMETRY_AUTO, STORED = SP_GEOMETRY_STORED, TRILINEAR = SP_GEOMETRY_TRILINEAR };
  static const struct {
    int map_order;
    bool coefficients, by_element;
    int request, kind; /* AUTO: the faster one, or with SP_ERR_INPUT nothing */
    sp_status status;
    const char *reason;
  } cases[] = {
      {2, false, false, TRILINEAR, AUTO, SP_ERR_INPUT, NULL},
      {2, false, false, AUTO, STORED, SP_OK, "curved"},
      {1, false, false, AUTO, AUTO, SP_OK, "faster"},
      {1, false, false, TRILINEAR, TRILINEAR, SP_OK, "case"},
      {1, true, false, TRILINEAR, AUTO, SP_ERR_INPUT, NULL}, /* corners do not know points */
      {1, true, false, AUTO, STORED, SP_OK, "coefficients"},
      {1, true, true, AUTO, TRILINEAR, SP_OK, "faster"},
      {1, true, true, AUTO, TRILINEAR, SP_OK, "kappa and lambda constant per element"},
      {1, true, true, TRILINEAR, TRILINEAR, SP_OK, "case"},
      {1, true, true, STORED, STORED, SP_OK, "case"},
      {2, true, true, AUTO, STORED, SP_OK, "curved"},
  };
  for (size_t c = 0; c < COUNT_OF(cases); c++) {
    const sp_geometry_facts facts = {
        SP_BP35, 4, cases[c].map_order, false, cases[c].coefficients, cases[c].by_element};
    sp_geometry_kind kind, want = (sp_geometry_kind)cases[c].kind;
    const char *reason;
    const sp_status status =
        sp_geometry_choose(b->backend, &facts, (sp_geometry_kind)cases[c].request, &kind, &reason);
    if (want == SP_GEOMETRY_AUTO) want = b->backend->faster_geometry(SP_BP35, 4, false);
    CHECK(status == cases[c].status &&
              (status || (kind == want && strstr(reason, cases[c].reason))),
          "case %zu: status %d", c, (int)status);
  }
}

/* A backend without operators in single precision refuses them. */
static void check_refused_precision(const bench *b) {
  const int elements[3] = {2, 2, 2};
  AUTO_VALUE(deformed_box) box = {0};
  deformed_box_create(b->comm, elements, 1, 2, &box);
  sp_backend backend = *b->backend;
  backend.single_operators = false;
  bench without = *b;
  without.backend = without.platform.backend = &backend;
  AUTO(sp_space) space = bench_space(&without, box.mesh, 2);
  const sp_operator_setup setup = {.space = space,
                                   .kind = SP_BP35,
                                   .geometry = SP_GEOMETRY_STORED,
                                   .precision = SP_SINGLE,
                                   .lambda = LAMBDA};
  sp_operator *op;
  CHECK(sp_operator_create(&setup, &op) == SP_ERR_INPUT && !op &&
            strstr(sp_error_message(), b->backend->name) &&
            strstr(sp_error_message(), "no operators in single precision"),
        "%s", sp_error_message());
}

int main(int argc, char **argv) {
  bench b;
  bench_begin(&argc, &argv, &b);
  CHECK_OK(sp_platform_open(MPI_COMM_WORLD, SP_DEVICE_HOST, SP_TRANSPORT_AUTO, &host.platform));

  /* 27 and 11 elements: blocks that are full and blocks that are not. */
  const int cube[3] = {3, 3, 3}, bar[3] = {11, 1, 1}, curved[3] = {2, 2, 3}, small[3] = {2, 2, 1};
  const int few[] = {1, 2, 3, 4, 8};
  const bool all = device_sweeps(argc, argv);
  for (int i = 0; i < (all ? HIGHEST_ORDER : 5); i++) {
    const int order = all ? i + 1 : few[i];
    check_box(&b, order <= 5 ? cube : bar, 1, order);
    check_box(&b, small, 0, order);
    if (order == 3 || order == 8) check_box(&b, bar, 0, order);
  }
  check_box(&b, curved, 2, 3);
  check_box(&b, curved, 3, 6);
  check_choice_of_geometry(&b);
  check_refused_precision(&b);

  sp_platform_close(&host.platform);
  return bench_end(&b);
}
