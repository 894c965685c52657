/* Multigrid and its parts: transfer is exact on polynomials and adjoint to restriction, the cycle
 * is symmetric and positive definite in both precisions, and CG with it takes few iterations at
 * every order. */
#include "solver/linear/multigrid.h"

#include <float.h>

#include "mesh/coarsen.h"
#include "mesh/mesh.h"
#include "mesh/entity.h"
#include "mesh/reference.h"
#include "mesh/refine.h"
#include "operators/schwarz.h"
#include "operators/transfer.h"
#include "solver/linear/chebyshev.h"
#include "solver/linear/lanczos.h"
#include "tests/cg_system.h"

static bench tested; /* stays open */

/* ---- Messages ---- */

static sp_traffic sent; /* by this rank */

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) {
  int bytes;
  MPI_Type_size(type, &bytes);
  sent.messages += 1;
  sent.bytes += (double)count * bytes;
  return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}

/* What an application has sent since `sent` was zero is what the plan of a case counts. */
static void check_sent(const sp_multigrid_options *options, sp_system *const systems[]) {
  sp_traffic want = {0};
  for (int i = 0; i < options->levels; i++) {
    const sp_exchange_plan plan = sp_exchange_plan_of(systems[i]->space->exchange);
    const sp_traffic t =
        sp_multigrid_traffic(options, i, plan.neighbours, plan.start[plan.neighbours]);
    want.messages += t.messages;
    want.bytes += t.bytes;
  }
  CHECK(sent.messages == want.messages && sent.bytes == want.bytes,
        "order %d: %g messages of %g bytes in all, not %g of %g", options->orders[0], sent.messages,
        sent.bytes, want.messages, want.bytes);
}

/* ---- Transfer ---- */

/* Values of a polynomial of degree `degree` per direction at the nodes of an undeformed box. */
static void fill_polynomial(const sp_space *space, int degree, double *values) {
  const int nq = space->numbering->order + 1, np = nq * nq * nq;
  double *xyz = test_allocate(3 * (size_t)np, sizeof *xyz);
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++) {
    sp_hexes_coordinates(space->mesh->hexes, e, nq, sp_reference_get(nq - 1)->gll.nodes, xyz);
    for (int p = 0; p < np; p++)
      values[space->numbering->nodes[(size_t)e * (size_t)np + (size_t)p]] =
          pow(0.3 + xyz[p], degree) - pow(1.1 - xyz[np + p], degree) +
          xyz[p] * pow(0.7 + xyz[2 * np + p], degree > 0 ? degree - 1 : 0);
  }
  free(xyz);
}

static sp_vector send(sp_precision precision, size_t count, const double *values) {
  return bench_upload_as(&tested, precision, count, values);
}

static double dot_owned(const sp_space *space, const double *a, const double *b) {
  double sum = 0;
  for (sp_lid i = 0; i < space->numbering->owned; i++) sum += a[i] * b[i];
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

static void check_transfer(const sp_mesh *mesh, const sp_mesh *coarse_mesh, bool exact,
                           int fine_order, int coarse_order, sp_precision precision) {
  const double epsilon = precision == SP_SINGLE ? FLT_EPSILON : DBL_EPSILON;
  sp_space *fine, *coarse;
  sp_transfer *transfer;
  require(sp_space_create(&tested.platform, mesh, fine_order, &fine));
  require(sp_space_create(&tested.platform, coarse_mesh, coarse_order, &coarse));
  const sp_operator_setup setup = {.space = fine,
                                   .kind = SP_BP35,
                                   .geometry = SP_GEOMETRY_STORED,
                                   .precision = precision,
                                   .for_level = true};
  sp_operator *op;
  require(sp_operator_create(&setup, &op));
  require(sp_transfer_create(op, coarse, NULL, NULL, &transfer));
  const size_t nf = sp_space_dofs(fine), nc = sp_space_dofs(coarse);
  double *f = test_allocate(nf, sizeof *f), *want = test_allocate(nf, sizeof *want);
  double *c = test_allocate(nc, sizeof *c), *restricted = test_allocate(nc, sizeof *restricted);

  /* P of a polynomial is the polynomial, added to the old values. The tolerance is for three sums
   * of nc terms with Lebesgue constants below 3 each. */
  fill_polynomial(coarse, coarse_order, c);
  fill_polynomial(fine, coarse_order, want);
  for (size_t i = 0; i < nf; i++) f[i] = 0.25;
  sp_vector on_c = send(precision, nc, c), on_f = send(precision, nf, f);
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
  const double left = dot_owned(fine, f, want), right = dot_owned(coarse, restricted, c);
  const double scale = sqrt(dot_owned(fine, f, f) * dot_owned(fine, want, want));
  CHECK(fabs(left - right) <= 27 * 6 * (fine_order + 2) * epsilon * scale,
        "orders %d and %d: f.Pc = %g, P^T f.c = %g", fine_order, coarse_order, left, right);
  sp_vector_destroy(&on_c);
  sp_vector_destroy(&on_f);
  free(f);
  free(want);
  free(c);
  free(restricted);
  sp_transfer_destroy(&transfer);
  sp_operator_destroy(&op);
  sp_space_destroy(&coarse);
  sp_space_destroy(&fine);
}

static void check_transfers(void) {
  static const int orders[][2] = {{2, 1}, {3, 1}, {3, 2}, {5, 3}, {7, 5}, {9, 7}, {15, 11}, {1, 1}};
  const sp_box box = {.elements = {3, 2, 2}, .upper = {1, 0.8, 0.9}, .epsilon = 1};
  sp_hexes *hexes;
  sp_mesh *mesh;
  require(sp_box_hexes(MPI_COMM_WORLD, &box, &hexes));
  require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh));
  for (size_t o = 0; o < sizeof orders / sizeof *orders; o++)
    for (sp_precision p = SP_DOUBLE; p < SP_PRECISIONS; p++)
      check_transfer(mesh, mesh, true, orders[o][0], orders[o][1], p);
  sp_mesh_destroy(&mesh);
}

/* Order 1 on a mesh and coarser ones: of a refined box, in some directions only, and with odd
 * numbers of elements, whose second parents have unequal children. */
static void check_nested_transfers(void) {
  static const sp_box boxes[] = {{.elements = {8, 8, 4}, .upper = {1, 0.8, 0.9}, .epsilon = 1},
                                 {.elements = {4, 4, 8}, .upper = {1, 0.8, 0.1}, .epsilon = 1},
                                 {.elements = {7, 5, 9}, .upper = {1, 0.8, 0.9}, .epsilon = 1}};
  for (size_t b = 0; b < sizeof boxes / sizeof *boxes; b++) {
    sp_hexes *hexes;
    sp_mesh *mesh, *coarse;
    int meshes = 0;
    require(sp_box_hexes(MPI_COMM_WORLD, &boxes[b], &hexes));
    require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh));
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
    sp_mesh_destroy(&mesh);
  }
}

/* ---- The largest eigenvalue of a tridiagonal matrix ---- */

static void check_tridiagonal(void) {
  const double diagonal[] = {2, 2, 2, 2, 2}, off[] = {-1, -1, -1, -1};
  for (int n = 1; n <= 5; n++)
    CHECK_CLOSE(sp_tridiagonal_largest(n, diagonal, off), 2 + 2 * cos(acos(-1.0) / (n + 1)),
                16 * DBL_EPSILON);
}

/* ---- Schwarz ---- */

/* A column of elements along direction `along`, or one element, as a mesh of its own. */
typedef struct stack {
  int along, length;
  double thickness, jump; /* of an element; kappa runs over 1 .. jump at random */
  bool closed;
} stack;

/* On such a mesh Schwarz is the inverse of the operator: Robin on the upper end, Dirichlet on a
 * lateral side. */
static void check_exact(const stack *s, int order, sp_precision precision) {
  static const double ALPHA = 0.7, LAMBDA = 1.3;
  sp_box box = {.upper = {1, 0.5, 2}, .epsilon = 1};
  const int nq = order + 1, area = nq * nq, low = (s->along + 1) % 3, high = (s->along + 2) % 3;
  sp_hexes *hexes;
  sp_mesh *mesh;
  sp_space *space;
  sp_operator *op, *smoothed; /* in double, and as Schwarz */
  sp_schwarz *schwarz;
  int nodes[SP_MAX_NQ * SP_MAX_NQ];
  bench alone;
  bench_open_alone(&tested, &alone);
  for (int d = 0; d < 3; d++) box.elements[d] = d == s->along ? s->length : 1;
  if (s->thickness > 0) box.upper[s->along] = s->length * s->thickness;
  require(sp_box_hexes(MPI_COMM_SELF, &box, &hexes));
  require(sp_mesh_create(MPI_COMM_SELF, &hexes, &mesh));
  if (s->closed)
    require(
        sp_mesh_identify(mesh, 1, &(sp_periodic_pair){.groups = {2 * s->along, 2 * s->along + 1}}));
  require(sp_space_create(&alone.platform, mesh, order, &space));
  const size_t n = sp_space_dofs(space), elements = (size_t)s->length;
  bool *constrained = test_allocate(n, sizeof *constrained);
  sp_lid *robin = test_allocate((size_t)area, sizeof *robin);
  double *values = test_allocate((size_t)area, sizeof *values);
  double *kappa = test_allocate(elements, sizeof *kappa);
  double *x = test_allocate(3 * n, sizeof *x), *y = x + n, *inverse = y + n;
  sp_separable *boxes = test_allocate(elements, sizeof *boxes);
  const double *weights = sp_reference_get(order)->gll.weights;
  int robins = 0;
  for (size_t e = 0; e < elements; e++) {
    const sp_lid *own = &space->numbering->nodes[e * (size_t)(area * nq)];
    kappa[e] = pow(s->jump, 0.5 + 0.5 * random_value(5, mesh->hexes->tags[e]));
    sp_face_nodes(order, 2 * low, nodes);
    for (int i = 0; i < area; i++) constrained[own[nodes[i]]] = true;
    if (mesh->hexes->surfaces[e][2 * s->along + 1] != 2 * s->along + 1 || s->closed) continue;
    sp_face_nodes(order, 2 * s->along + 1, nodes);
    for (int i = 0; i < area; i++) {
      robin[robins] = own[nodes[i]];
      values[robins++] =
          ALPHA * weights[i % nq] * weights[i / nq] * box.upper[low] * box.upper[high] / 4;
    }
  }
  sp_operator_setup setup = {.space = space,
                             .kind = SP_BP35,
                             .geometry = SP_GEOMETRY_STORED,
                             .lambda = LAMBDA,
                             .kappa = s->jump > 1 ? kappa : NULL,
                             .by_element = s->jump > 1,
                             .constrained = constrained,
                             .for_level = true,
                             .diagonal_count = robins,
                             .diagonal_dofs = robin,
                             .diagonal_values = values};
  require(sp_operator_create(&setup, &op));
  setup.precision = precision;
  require(sp_operator_create(&setup, &smoothed));
  require(sp_operator_inverse_diagonal(&setup, inverse));
  require(sp_separable_fill(&setup, boxes));
  for (size_t e = 0; e < elements; e++) {
    CHECK_CLOSE(boxes[e].kappa, kappa[e], 1e-13 * kappa[e]);
    CHECK_CLOSE(boxes[e].lambda, LAMBDA, 1e-13);
    for (int d = 0; d < 3; d++)
      CHECK_CLOSE(boxes[e].length[d], box.upper[d] / box.elements[d], 1e-13);
  }
  require(sp_schwarz_create(smoothed, &setup, boxes, inverse, &schwarz));

  for (size_t i = 0; i < n; i++) x[i] = constrained[i] ? 0 : random_value(3, (sp_gid)i);
  bench_apply(&tested, op, true, x, y);
  sp_vector r = send(precision, n, y), z = send(precision, n, x);
  require(sp_schwarz_apply(schwarz, &r, &z));
  bench_download(&z, y);
  double error = 0;
  for (size_t i = 0; i < n; i++) error = fmax(error, fabs(y[i] - x[i]));
  /* Eigenvalues lie between lambda and some N^4 sum of kappa l^-2; this ratio magnifies the
   * rounding of r, and the eigenvectors' 1e-13. */
  double sum = 0;
  for (int d = 0; d < 3; d++) sum += pow(box.elements[d] / box.upper[d], 2);
  const double condition = pow(order, 4) * sum * s->jump / LAMBDA;
  const double epsilon = precision == SP_SINGLE ? FLT_EPSILON : 1e-13;
  CHECK(error <= condition * epsilon, "%d elements, order %d: S A x is off by %g, not %g",
        s->length, order, error, condition * epsilon);

  /* The same by steps with one vector of scratch: r = 0 - A x, then S (-r). */
  double *const zero = test_allocate(n, sizeof *zero);
  sp_vector from = send(precision, n, x), scratch = send(precision, n, zero);
  sp_vector t = send(precision, n, zero), d = send(precision, n, x);
  require(sp_operator_apply_step(smoothed, &from, &scratch,
                                 &(sp_smoothing){.t = &t, .q = &scratch, .r = &r}));
  require(sp_schwarz_step(
      schwarz, &r, &scratch,
      &(sp_smoothing){.b = -1, .c = 1, .first = true, .t = &scratch, .d = &d, .x = &z}));
  bench_download(&z, y);
  error = 0;
  for (size_t i = 0; i < n; i++) error = fmax(error, fabs(y[i] - x[i]));
  CHECK(error <= condition * epsilon, "%d elements, order %d: by steps S A x is off by %g",
        s->length, order, error);

  /* The solution by columns loses no digits to jumps and thin elements: S r in single precision is
   * that in double precision to the rounding of six products with matrices of n rows. */
  for (size_t i = 0; i < n; i++) x[i] = constrained[i] ? 0 : (float)random_value(7, (sp_gid)i);
  setup.precision = SP_DOUBLE;
  sp_schwarz *exact;
  require(sp_schwarz_create(op, &setup, boxes, inverse, &exact));
  sp_vector r_exact = send(SP_DOUBLE, n, x), z_exact = send(SP_DOUBLE, n, x);
  require(sp_schwarz_apply(exact, &r_exact, &z_exact));
  require(sp_vector_write(x, &r));
  require(sp_schwarz_apply(schwarz, &r, &z));
  bench_download(&z, y);
  bench_download(&z_exact, x);
  error = 0;
  double largest = 0;
  for (size_t i = 0; i < n; i++) {
    error = fmax(error, fabs(y[i] - x[i]));
    largest = fmax(largest, fabs(x[i]));
  }
  CHECK(error <= 6.0 * nq * FLT_EPSILON * largest, "%d elements, order %d: S r is off by %g of %g",
        s->length, order, error, largest);
  sp_schwarz_destroy(&exact);
  sp_vector *const vectors[] = {&from, &scratch, &t, &d, &r, &z, &r_exact, &z_exact};
  for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) sp_vector_destroy(vectors[v]);
  free(zero);
  sp_schwarz_destroy(&schwarz);
  sp_operator_destroy(&op);
  sp_operator_destroy(&smoothed);
  free(constrained);
  free(robin);
  free(values);
  free(kappa);
  free(boxes);
  free(x);
  sp_space_destroy(&space);
  sp_mesh_destroy(&mesh);
  bench_close_alone(&alone);
}

static void check_stacks(int order, sp_precision precision) {
  static const stack cases[] = {
      {0, 1, 0, 1, false},      {0, 5, 0.02, 1, false},   {1, 4, 0.01, 10, false},
      {2, 7, 0.05, 100, false}, {0, 1, 0.02, 1, true},    {1, 2, 0.02, 10, true},
      {2, 5, 0.02, 100, true},  {0, 9, 1e-4, 1e8, false}, {1, 9, 1e-4, 1e8, true}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    check_exact(&cases[c], order, precision);
}

/* ---- The cycle ---- */

typedef struct problem {
  double lambda;
  bool dirichlet;
} problem_t;

static void mark_boundary(const sp_space *space, bool *mask) {
  const int nq = space->numbering->order + 1;
  int places[SP_MAX_NQ * SP_MAX_NQ];
  double *mark = test_allocate(sp_space_dofs(space), sizeof *mark);
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      if (space->mesh->hexes->surfaces[e][f] == SP_SURFACE_INTERIOR) continue;
      sp_face_nodes(nq - 1, f, places);
      for (int n = 0; n < nq * nq; n++)
        mark[space->numbering->nodes[e * nq * nq * nq + places[n]]] = -1;
    }
  sp_exchange_now(space->exchange, SP_MIN, mark);
  for (size_t i = 0; i < sp_space_dofs(space); i++) mask[i] = mark[i] < 0;
  free(mark);
}

/* The problem on a space, which the system owns if `owns`. */
static sp_system *make_system(const problem_t *p, sp_space *space, bool owns) {
  bool *mask = test_allocate(sp_space_dofs(space), sizeof *mask);
  sp_constants constants = {0};
  sp_system *system;
  if (p->dirichlet) {
    mark_boundary(space, mask);
  } else if (p->lambda == 0) {
    int *component = test_allocate(sp_space_dofs(space), sizeof *component);
    constants = (sp_constants){.components = 1, .of_dof = component};
  }
  const sp_operator_setup setup = {.space = space,
                                   .kind = SP_BP35,
                                   .geometry = SP_GEOMETRY_STORED,
                                   .lambda = p->lambda,
                                   .constrained = mask};
  require(sp_system_create(&setup, owns ? space : NULL, &constants, &system));
  return system;
}

/* Random values on free DOFs; with a null space, orthogonal to constants. */
static void fill(const sp_space *space, const sp_system *system, int seed, double *values) {
  const size_t n = sp_space_dofs(space);
  for (size_t i = 0; i < n; i++)
    values[i] = system->setup.constrained[i]
                    ? 0
                    : random_value(seed, sp_numbering_global(space->numbering, (sp_lid)i));
  if (system->constants.components == 0) return;
  double sum[2] = {0};
  for (sp_lid i = 0; i < space->numbering->owned; i++) sum[0] += values[i];
  MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (size_t i = 0; i < n; i++) values[i] -= sum[0] / (double)space->numbering->global;
}

/* z = B r through the device. */
static void precondition(sp_preconditioner *p, const sp_space *space, const double *r, double *z) {
  const size_t n = sp_space_dofs(space);
  const double norm = sqrt(dot_owned(space, r, r));
  sp_vector on_r = bench_upload(&tested, n, r), on_z = bench_upload(&tested, n, r);
  require(sp_agree(MPI_COMM_WORLD, p->apply(p, norm, &on_r, &on_z)));
  bench_download(&on_z, z);
  sp_vector_destroy(&on_r);
  sp_vector_destroy(&on_z);
}

/* The values of a DOF on all ranks that share it have the same bits: otherwise CG's directions
 * differ between ranks, and x with them, while the residual falls as if nothing were wrong. */
static void check_copies(const sp_space *space, int order, const double *z) {
  const size_t n = sp_space_dofs(space);
  double *owners = test_allocate(n, sizeof *owners);
  for (sp_lid i = 0; i < space->numbering->owned; i++) owners[i] = z[i];
  sp_exchange_now(space->exchange, SP_SUM, owners);
  for (size_t i = (size_t)space->numbering->owned; i < n; i++)
    CHECK(z[i] == owners[i], "order %d: a copy has %.17g, its owner %.17g", order, z[i], owners[i]);
  free(owners);
}

/* Add order 1 on all coarser meshes; it replaces a second system of order 1. */
static void add_meshes(sp_multigrid_options *options, sp_system *systems[]) {
  if (options->orders[options->levels - 2] == 1) sp_system_destroy(&systems[--options->levels]);
  for (;;) {
    const sp_system *last = systems[options->levels - 1];
    sp_mesh *mesh;
    require(sp_mesh_coarser(last->space->mesh, &mesh));
    if (!mesh) break;
    require(sp_system_coarsen(last, SP_GEOMETRY_AUTO, &mesh, &systems[options->levels]));
    options->orders[options->levels++] = 1;
  }
}

/* B is symmetric and positive definite, has the same bits on all ranks and the second time, and CG
 * with it ends within `most` iterations at 1e-8. `nested`: also on coarser meshes. */
static void check_cycle(const sp_box *box, bool nested, sp_coarse_kind last, int order,
                        problem_t problem, sp_smoother_kind smoother, sp_precision precision,
                        int most) {
  sp_hexes *hexes;
  sp_mesh *mesh;
  sp_space *space;
  sp_preconditioner *p;
  sp_system *systems[SP_MULTIGRID_MOST];
  sp_coarse *coarse;
  sp_multigrid_options options = {.smoother = smoother,
                                  .degree = 3,
                                  .coarse = last,
                                  .precision =
                                      precision == SP_SINGLE ? SP_CYCLE_SINGLE : SP_CYCLE_DOUBLE};
  require(sp_box_hexes(MPI_COMM_WORLD, box, &hexes));
  require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh));
  require(sp_space_create(&tested.platform, mesh, order, &space));
  sp_multigrid_choose_orders(order, &options);
  require(sp_multigrid_prepare(space, &options));
  systems[0] = make_system(&problem, space, true);
  require(sp_system_build(systems[0]));
  sp_operator *op = systems[0]->op;
  for (int i = 1; i < options.levels; i++) {
    sp_space *coarser;
    require(sp_space_create(&tested.platform, mesh, options.orders[i], &coarser));
    systems[i] = make_system(&problem, coarser, true);
  }
  if (nested) add_meshes(&options, systems);
  require(sp_multigrid_start_coarse(systems[options.levels - 1], &options, &coarse));
  require(sp_multigrid_create(&options, systems, &coarse, &p));

  const size_t n = sp_space_dofs(space);
  double *x = test_allocate(5 * n, sizeof *x), *y = x + n, *bx = y + n, *by = bx + n,
         *again = by + n;
  fill(space, systems[0], 1, x);
  fill(space, systems[0], 2, y);
  precondition(p, space, x, bx);
  precondition(p, space, y, by);
  sent = (sp_traffic){0};
  precondition(p, space, x, again);
  /* On a device values may travel without MPI; the coarse solver has messages of its own. */
  if (last == SP_COARSE_CHEBYSHEV && tested.platform.backend == &sp_backend_host)
    check_sent(&options, systems);
  CHECK(memcmp(bx, again, n * sizeof *bx) == 0, "order %d: other bits the second time", order);
  check_copies(space, order, bx);
  /* Units do not matter, though single precision ends at 2^-149: B (2^-400 x) = 2^-400 B x. */
  for (size_t i = 0; i < n; i++) again[i] = ldexp(x[i], -400);
  precondition(p, space, again, again);
  for (size_t i = 0; i < n; i++) again[i] = ldexp(again[i], 400);
  CHECK(memcmp(bx, again, n * sizeof *bx) == 0, "order %d: other bits in other units", order);
  const double xbx = dot_owned(space, x, bx), yby = dot_owned(space, y, by);
  const double xby = dot_owned(space, x, by), ybx = dot_owned(space, y, bx);
  CHECK(xbx > 0 && yby > 0, "order %d: x.Bx = %g, y.By = %g", order, xbx, yby);
  /* Each level makes at most some tens of roundings, relative to the norm of its vectors; the
   * coarse cycle is in double precision. */
  const double epsilon = precision == SP_SINGLE ? FLT_EPSILON : DBL_EPSILON;
  const double scale = sqrt(dot_owned(space, x, x) * dot_owned(space, by, by)) +
                       sqrt(dot_owned(space, y, y) * dot_owned(space, bx, bx));
  CHECK(fabs(xby - ybx) <= 100 * (order + 2) * epsilon * scale, "order %d: x.By = %g, y.Bx = %g",
        order, xby, ybx);

  sp_cg_result result;
  const sp_cg_options limits = {
      .criterion = SP_CG_RESIDUAL, .tolerance = 1e-8, .max_iterations = 200};
  sp_vector on_b = bench_upload(&tested, n, x);
  memset(y, 0, n * sizeof *y);
  sp_vector on_x = bench_upload(&tested, n, y);
  sp_vector on_r = bench_upload(&tested, n, y);
  const sp_status status = sp_cg_solve(op, p, &limits, true, &on_b, &on_x, &on_r, &result);
  CHECK(status == SP_OK, "order %d: %s", order, sp_error_message());
  CHECK(result.iterations <= most, "order %d, lambda %g: %d iterations, at most %d were expected",
        order, problem.lambda, (int)result.iterations, most);
  sp_vector_destroy(&on_b);
  sp_vector_destroy(&on_x);
  sp_vector_destroy(&on_r);
  free(x);
  sp_preconditioner_destroy(&p);
  for (int i = 0; i < options.levels; i++) sp_system_destroy(&systems[i]);
  sp_mesh_destroy(&mesh);
}

/* The coarse solver on one rank gives the bits that it gives on every rank. `lambda`: zero without
 * Dirichlet makes a null space. */
static void check_places(problem_t problem, sp_precision precision) {
  static const sp_box box = {.elements = {9, 8, 7}, .upper = {1, 1, 1}, .map = SP_MAP_SINE};
  double *z[2];
  size_t n = 0;
  for (int i = 0; i < 2; i++) {
    sp_hexes *hexes;
    sp_mesh *mesh;
    sp_space *space;
    sp_preconditioner *p;
    sp_system *systems[SP_MULTIGRID_MOST];
    sp_coarse *coarse;
    sp_multigrid_options options = {.degree = 2,
                                    .place = i == 0 ? SP_COARSE_EVERYWHERE : SP_COARSE_ONE_RANK,
                                    .precision =
                                        precision == SP_SINGLE ? SP_CYCLE_SINGLE : SP_CYCLE_DOUBLE};
    require(sp_box_hexes(MPI_COMM_WORLD, &box, &hexes));
    require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh));
    require(sp_space_create(&tested.platform, mesh, 2, &space));
    sp_multigrid_choose_orders(2, &options);
    require(sp_multigrid_prepare(space, &options));
    systems[0] = make_system(&problem, space, true);
    require(sp_system_build(systems[0]));
    require(sp_space_create(&tested.platform, mesh, 1, &space));
    systems[1] = make_system(&problem, space, true);
    require(sp_multigrid_start_coarse(systems[1], &options, &coarse));
    require(sp_multigrid_create(&options, systems, &coarse, &p));
    n = sp_space_dofs(systems[0]->space);
    double *r = test_allocate(n, sizeof *r);
    z[i] = test_allocate(n, sizeof *z[i]);
    fill(systems[0]->space, systems[0], 1, r);
    precondition(p, systems[0]->space, r, z[i]);
    check_copies(systems[0]->space, 2, z[i]);
    free(r);
    sp_preconditioner_destroy(&p);
    for (int l = 0; l < options.levels; l++) sp_system_destroy(&systems[l]);
    sp_mesh_destroy(&mesh);
  }
  CHECK(memcmp(z[0], z[1], n * sizeof *z[0]) == 0, "lambda %g: other bits on one rank",
        problem.lambda);
  free(z[0]);
  free(z[1]);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  bench_open(argc, argv, &tested);
  check_tridiagonal();
  check_transfers();
  check_nested_transfers();
  for (int order = 2; order <= SP_MAX_ORDER; order++)
    for (sp_precision p = SP_DOUBLE; p < SP_PRECISIONS; p++) check_stacks(order, p);
  const sp_box sine = {.elements = {4, 4, 4}, .upper = {1, 1, 1}, .map = SP_MAP_SINE};
  const sp_box flat = {.elements = {4, 3, 3}, .upper = {10, 1, 1}, .map = SP_MAP_SINE};
  const sp_box nested[] = {{.elements = {12, 9, 10}, .upper = {1, 1, 1}, .map = SP_MAP_SINE},
                           {.elements = {8, 8, 16}, .upper = {1, 1, 0.8}}};
  const problem_t dirichlet = {.lambda = 1, .dirichlet = true};
  for (sp_precision p = SP_DOUBLE; p < SP_PRECISIONS; p++) {
    if (!bench_has(&tested, p)) continue;
    check_places(dirichlet, p);
    check_places((problem_t){.lambda = 0}, p);
    for (sp_smoother_kind s = SP_SMOOTHER_JACOBI; s <= SP_SMOOTHER_SCHWARZ; s++) {
      for (int order = 1; order <= 9; order += 2)
        check_cycle(&sine, false, SP_COARSE_AUTO, order, dirichlet, s, p, 12);
      check_cycle(&sine, false, SP_COARSE_AUTO, 4, (problem_t){.lambda = 0}, s, p, 12);
      check_cycle(&sine, false, SP_COARSE_AUTO, 7, (problem_t){.lambda = 1e6}, s, p, 12);
    }
    check_cycle(&flat, false, SP_COARSE_AUTO, 7, dirichlet, SP_SMOOTHER_AUTO, p, 14);
    for (size_t b = 0; b < sizeof nested / sizeof *nested; b++) {
      check_cycle(&nested[b], true, SP_COARSE_AUTO, 1, dirichlet, SP_SMOOTHER_JACOBI, p, 12);
      check_cycle(&nested[b], true, SP_COARSE_AUTO, 2, (problem_t){.lambda = 0},
                  SP_SMOOTHER_SCHWARZ, p, 12);
      for (sp_smoother_kind k = SP_SMOOTHER_JACOBI; k <= SP_SMOOTHER_SCHWARZ; k++)
        check_cycle(&nested[b], true, SP_COARSE_CHEBYSHEV, 2, dirichlet, k, p, 12);
    }
  }
  sp_platform_close(&tested.platform);
  return check_end();
}
