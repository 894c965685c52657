/* The cycle of multigrid is symmetric and positive definite in both precisions, sends what its plan
 * counts, and CG with it takes few iterations at every order. */
#include "solver/linear/multigrid.h"

#include <float.h>

#include "mesh/coarsen.h"
#include "solver/linear/lanczos.h"
#include "tests/boxes.h"
#include "tests/cg_system.h"
#include "tests/nodal.h"

enum { SEED = 7 };   /* of random orientations of elements */
static bench tested; /* stays open */

static sp_traffic sent; /* by this rank */

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) {
  int bytes;
  MPI_Type_size(type, &bytes);
  sent.messages += 1;
  sent.bytes += (double)count * bytes;
  return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}

/* The traffic of an application since `sent` was zero is the traffic that the plan of a case
 * counts. */
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

static void check_tridiagonal(void) {
  const double diagonal[] = {2, 2, 2, 2, 2}, off[] = {-1, -1, -1, -1};
  for (int n = 1; n <= 5; n++)
    CHECK_CLOSE(sp_tridiagonal_largest(n, diagonal, off), 2 + 2 * cos(acos(-1.0) / (n + 1)),
                16 * DBL_EPSILON);
}

typedef struct problem {
  double lambda;
  bool dirichlet;
} problem_t;

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
  const double norm = sqrt(nodal_dot(space, r, r));
  AUTO_VALUE(sp_vector) on_r = bench_upload(&tested, n, r), on_z = bench_upload(&tested, n, r);
  require(sp_agree(MPI_COMM_WORLD, p->apply(p, norm, &on_r, &on_z)));
  bench_download(&on_z, z);
}

/* The values of a DOF on all ranks that share it have the same bits: otherwise CG's directions
 * differ between ranks, and x with them, while the residual falls as if nothing were wrong. */
static void check_copies(const sp_space *space, int order, const double *z) {
  const size_t n = sp_space_dofs(space);
  double *owners = test_array(n, sizeof *owners);
  for (sp_lid i = 0; i < space->numbering->owned; i++) owners[i] = z[i];
  sp_exchange_now(space->exchange, SP_SUM, owners);
  for (size_t i = (size_t)space->numbering->owned; i < n; i++)
    CHECK(z[i] == owners[i], "order %d: a copy has %.17g, its owner %.17g", order, z[i], owners[i]);
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

typedef struct cycle {
  sp_mesh *mesh;
  sp_multigrid_options options;
  sp_system *systems[SP_MULTIGRID_MOST];
  sp_preconditioner *preconditioner;
} cycle;

/* `nested`: also on coarser meshes, of elements that are not turned. With bars there is one level
 * below. */
static void cycle_create(const sp_box *box, bool nested, int order, problem_t problem,
                         sp_multigrid_options options, cycle *c) {
  sp_coarse *coarse;
  *c = (cycle){.options = options};
  c->mesh = box_mesh(MPI_COMM_WORLD, box, nested ? 0 : SEED);
  sp_multigrid_choose_orders(order, &c->options);
  for (int i = 0; i < c->options.levels && !c->systems[i]; i++) {
    sp_space *space = bench_space(&tested, c->mesh, c->options.orders[i]);
    if (i == 0)
      sp_multigrid_decide(space->platform->backend, SP_BP35, false, &space->mesh->shape,
                          &c->options);
    c->systems[i] = make_system(&problem, space, true);
    if (i == 0) require(sp_multigrid_find_bars(&c->options, c->systems));
  }
  require(sp_operator_create(&c->systems[0]->setup, &c->systems[0]->op));
  if (nested) add_meshes(&c->options, c->systems);
  require(sp_multigrid_start_coarse(c->systems[c->options.levels - 1], &c->options, &coarse));
  require(sp_multigrid_create(&c->options, c->systems, &coarse, &c->preconditioner));
}

static void cycle_destroy(cycle *c) {
  sp_preconditioner_destroy(&c->preconditioner);
  for (int i = 0; i < c->options.levels; i++) sp_system_destroy(&c->systems[i]);
  sp_mesh_destroy(&c->mesh);
}

static sp_cycle_precision precision_of(sp_precision precision) {
  return precision == SP_SINGLE ? SP_CYCLE_SINGLE : SP_CYCLE_DOUBLE;
}

/* B is symmetric and positive definite, has the same bits on all ranks and the second time, and CG
 * with it ends within `most` iterations at 1e-8. */
static void check_cycle(const sp_box *box, bool nested, sp_coarse_kind last, int order,
                        problem_t problem, sp_smoother_kind smoother, sp_precision precision,
                        int most) {
  AUTO_VALUE(cycle) c = {0};
  cycle_create(
      box, nested, order, problem,
      (sp_multigrid_options){
          .smoother = smoother, .degree = 3, .coarse = last, .precision = precision_of(precision)},
      &c);
  const sp_space *space = c.systems[0]->space;
  sp_preconditioner *p = c.preconditioner;
  const size_t mark = test_mark(), n = sp_space_dofs(space);
  double *x = test_array(5 * n, sizeof *x), *y = x + n, *bx = y + n, *by = bx + n, *again = by + n;
  fill(space, c.systems[0], 1, x);
  fill(space, c.systems[0], 2, y);
  precondition(p, space, x, bx);
  precondition(p, space, y, by);
  sent = (sp_traffic){0};
  precondition(p, space, x, again);
  /* On a device values may travel without MPI; the coarse solver has messages of its own. */
  if (last == SP_COARSE_CHEBYSHEV && tested.backend == &sp_backend_host)
    check_sent(&c.options, c.systems);
  CHECK(memcmp(bx, again, n * sizeof *bx) == 0, "order %d: other bits the second time", order);
  check_copies(space, order, bx);
  /* Units do not matter, though single precision ends at 2^-149: B (2^-400 x) = 2^-400 B x. */
  for (size_t i = 0; i < n; i++) again[i] = ldexp(x[i], -400);
  precondition(p, space, again, again);
  for (size_t i = 0; i < n; i++) again[i] = ldexp(again[i], 400);
  CHECK(memcmp(bx, again, n * sizeof *bx) == 0, "order %d: other bits in other units", order);
  const double xbx = nodal_dot(space, x, bx), yby = nodal_dot(space, y, by);
  const double xby = nodal_dot(space, x, by), ybx = nodal_dot(space, y, bx);
  CHECK(xbx > 0 && yby > 0, "order %d: x.Bx = %g, y.By = %g", order, xbx, yby);
  /* Each level makes at most some tens of roundings, relative to the norm of its vectors; the
   * coarse cycle is in double precision. */
  const double epsilon = precision == SP_SINGLE ? FLT_EPSILON : DBL_EPSILON;
  const double scale = sqrt(nodal_dot(space, x, x) * nodal_dot(space, by, by)) +
                       sqrt(nodal_dot(space, y, y) * nodal_dot(space, bx, bx));
  CHECK(fabs(xby - ybx) <= 100 * (order + 2) * epsilon * scale, "order %d: x.By = %g, y.Bx = %g",
        order, xby, ybx);

  sp_cg_result result;
  const sp_cg_options limits = {
      .from_zero = true, .criterion = SP_CG_RESIDUAL, .tolerance = 1e-8, .max_iterations = 200};
  AUTO_VALUE(sp_vector) on_b = bench_upload(&tested, n, x);
  memset(y, 0, n * sizeof *y);
  AUTO_VALUE(sp_vector) on_x = bench_upload(&tested, n, y);
  AUTO_VALUE(sp_vector) on_r = bench_upload(&tested, n, y);
  CHECK_OK(sp_cg_solve(c.systems[0]->op, p, &limits, &on_b, &on_x, &on_r, &result));
  CHECK(result.iterations <= most, "order %d, lambda %g: %d iterations, at most %d were expected",
        order, problem.lambda, (int)result.iterations, most);
  test_release(mark);
}

/* The coarse solver on one rank gives the bits that it gives on every rank. `lambda`: zero without
 * Dirichlet makes a null space. */
static void check_places(problem_t problem, sp_precision precision) {
  static const sp_box box = {.elements = {9, 8, 7}, .upper = {1, 1, 1}, .map = SP_MAP_SINE};
  double *z[2];
  size_t n = 0;
  for (int i = 0; i < 2; i++) {
    AUTO_VALUE(cycle) c = {0};
    cycle_create(&box, false, 2, problem,
                 (sp_multigrid_options){.degree = 2,
                                        .place = i == 0 ? SP_COARSE_EVERYWHERE : SP_COARSE_ONE_RANK,
                                        .precision = precision_of(precision)},
                 &c);
    const sp_space *space = c.systems[0]->space;
    n = sp_space_dofs(space);
    double *r = test_array(n, sizeof *r);
    z[i] = test_array(n, sizeof *z[i]);
    fill(space, c.systems[0], 1, r);
    precondition(c.preconditioner, space, r, z[i]);
    check_copies(space, 2, z[i]);
  }
  CHECK(memcmp(z[0], z[1], n * sizeof *z[0]) == 0, "lambda %g: other bits on one rank",
        problem.lambda);
}

/* The degree that is chosen for the finest level's order. */
static void check_degrees(const sp_backend *backend) {
  static const struct {
    sp_smoother_kind smoother;
    int order, degree;
  } rows[] = {{SP_SMOOTHER_JACOBI, 1, 2},  {SP_SMOOTHER_JACOBI, 5, 2},
              {SP_SMOOTHER_JACOBI, 6, 3},  {SP_SMOOTHER_SCHWARZ, 1, 2},
              {SP_SMOOTHER_SCHWARZ, 2, 3}, {SP_SMOOTHER_SCHWARZ, 5, 3}};
  const sp_mesh_shape shape = {.shortest = 1, .longest = 1};
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    sp_multigrid_options chosen = {.smoother = rows[i].smoother}, given = {.degree = 4};
    sp_multigrid_choose_orders(rows[i].order, &chosen);
    sp_multigrid_choose_orders(rows[i].order, &given);
    sp_multigrid_decide(backend, SP_BP35, false, &shape, &chosen);
    sp_multigrid_decide(backend, SP_BP35, false, &shape, &given);
    CHECK(chosen.degree == rows[i].degree && given.degree == 4, "row %zu: degrees %d and %d", i,
          chosen.degree, given.degree);
  }
}

int main(int argc, char **argv) {
  bench_begin(&argc, &argv, &tested);
  check_tridiagonal();
  check_degrees(tested.platform.backend);
  const sp_box sine = {.elements = {4, 4, 4}, .upper = {1, 1, 1}, .map = SP_MAP_SINE};
  const sp_box flat = {.elements = {4, 3, 3}, .upper = {10, 1, 1}, .map = SP_MAP_SINE};
  const sp_box bars = {.elements = {4, 5, 5}, .upper = {1, 0.05, 0.05}};
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
    check_cycle(&bars, false, SP_COARSE_AUTO, 4, dirichlet, SP_SMOOTHER_AUTO, p, 12);
    check_cycle(&bars, false, SP_COARSE_AUTO, 4, (problem_t){.lambda = 0}, SP_SMOOTHER_AUTO, p, 12);
    for (size_t b = 0; b < COUNT_OF(nested); b++) {
      check_cycle(&nested[b], true, SP_COARSE_AUTO, 1, dirichlet, SP_SMOOTHER_JACOBI, p, 12);
      check_cycle(&nested[b], true, SP_COARSE_AUTO, 2, (problem_t){.lambda = 0},
                  SP_SMOOTHER_SCHWARZ, p, 12);
      for (sp_smoother_kind k = SP_SMOOTHER_JACOBI; k <= SP_SMOOTHER_SCHWARZ; k++)
        check_cycle(&nested[b], true, SP_COARSE_CHEBYSHEV, 2, dirichlet, k, p, 12);
    }
  }
  return bench_end(&tested);
}
