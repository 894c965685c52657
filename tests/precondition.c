/* The preconditioner for `auto`: chosen by the operator and, on a device for which algebraic
 * multigrid is set up on the host, by order and size. Requests stay as they are. The smoother for
 * `auto`: chosen by the elements' shapes. */
#include "solver/linear/smoother.h"
#include "solver/solve/precondition.h"

#include "solver/linear/coarse.h"
#include "solver/linear/multigrid.h"
#include "tests/boxes.h"

static int most_iterations = 1000;
static bool coefficients = false;
static double stretch = 1;
static double most_rows = 1e9; /* of the coarse solver */

static void check(sp_preconditioner_kind request, sp_coarse_kind coarse, sp_operator_kind kind,
                  int order, bool is_device, double elements, sp_preconditioner_kind want) {
  const sp_backend device = {0};
  const sp_precondition_facts facts = {
      .op = {.kind = kind, .order = order, .coefficients = coefficients},
      .backend = is_device ? &device : &sp_backend_host,
      .elements = elements,
      .rows = fmin(elements, most_rows),
      .stretch = stretch};
  const sp_solver_options options = {
      .preconditioner = request, .coarse = coarse, .max_iterations = most_iterations};
  const char *reason = "";
  const sp_preconditioner_kind got = sp_precondition_choose(&options, &facts, &reason);
  CHECK(got == want, "%s, %s of order %d, %g elements: %s, not %s",
        sp_preconditioner_names[request], sp_operator_names[kind], order, elements,
        sp_preconditioner_names[got], sp_preconditioner_names[want]);
  CHECK(strlen(reason) > 0, "no reason");
}

static void check_smoother(double stretch_of_worst, double share, sp_smoother_kind want) {
  const sp_mesh_shape shape = {
      .stretch = stretch_of_worst, .stretched = share, .shortest = 1, .longest = 1};
  const sp_smoother_kind got = sp_smoother_choose(SP_BP35, &shape, false);
  CHECK(got == want, "stretch %g, share %g: %s", stretch_of_worst, share, sp_smoother_names[got]);
}

/* A box whose elements have a ratio of lengths of `ratio`. */
static void check_share(double ratio, double want) {
  const sp_box box = {.elements = {2, 2, 1}, .upper = {2, 2, 1 / ratio}};
  AUTO(sp_mesh) mesh = box_mesh(MPI_COMM_SELF, &box, 0);
  CHECK_CLOSE(mesh->shape.stretched, want, 0);
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  const sp_preconditioner_kind AUTO = SP_PRECONDITIONER_AUTO, NONE = SP_PRECONDITIONER_NONE;
  const sp_preconditioner_kind JACOBI = SP_PRECONDITIONER_JACOBI;
  const sp_preconditioner_kind MULTIGRID = SP_PRECONDITIONER_MULTIGRID;
  check(AUTO, SP_COARSE_AUTO, SP_MASS, 3, false, 1e3, JACOBI);
  check(AUTO, SP_COARSE_AUTO, SP_BP35, 3, false, 1e3, MULTIGRID);
  check(AUTO, SP_COARSE_AUTO, SP_BP30, 1, true, 8000, MULTIGRID);
  check(AUTO, SP_COARSE_AUTO, SP_BP30, 1, true, 1.9e6, JACOBI);
  check(AUTO, SP_COARSE_AUTO, SP_BP35, 1, true, 2.1e6, JACOBI);
  stretch = 5;
  check(AUTO, SP_COARSE_AUTO, SP_BP35, 1, true, 1.9e6, MULTIGRID);
  check(AUTO, SP_COARSE_AUTO, SP_BP35, 1, true, 2.1e6, JACOBI);
  most_rows = 2000; /* coarser meshes: set-up is never so long that Jacobi must do */
  check(AUTO, SP_COARSE_AUTO, SP_BP35, 1, true, 2.1e6, MULTIGRID);
  stretch = 1;
  check(AUTO, SP_COARSE_AUTO, SP_BP35, 1, true, 1.9e6, JACOBI);
  check(AUTO, SP_COARSE_AUTO, SP_BP35, 1, true, 8e6, MULTIGRID); /* 1320 iterations with a margin */
  most_rows = 1e9;
  most_iterations = 700; /* twice the expected 409 are too many */
  check(AUTO, SP_COARSE_AUTO, SP_BP35, 1, true, 1.9e6, MULTIGRID);
  check(AUTO, SP_COARSE_AUTO, SP_BP35, 1, true, 2.1e6, JACOBI);
  most_iterations = 1000;
  check(AUTO, SP_COARSE_AMG, SP_BP35, 1, true, 2.1e6, MULTIGRID);
  check(AUTO, SP_COARSE_AUTO, SP_BP35, 1, true, 1e8, MULTIGRID); /* too many iterations */
  most_iterations = 10000;
  check(AUTO, SP_COARSE_AUTO, SP_BP35, 1, true, 1e8, JACOBI);
  coefficients = true;
  check(AUTO, SP_COARSE_AUTO, SP_BP35, 1, true, 2.1e6, MULTIGRID);
  coefficients = false;
  check(AUTO, SP_COARSE_CHEBYSHEV, SP_BP35, 1, true, 2.1e6, MULTIGRID);
  check(AUTO, SP_COARSE_AUTO, SP_BP35, 1, false, 2.1e6, MULTIGRID);
  check(AUTO, SP_COARSE_AUTO, SP_BP35, 2, true, 2.1e6, MULTIGRID);
  check(MULTIGRID, SP_COARSE_AUTO, SP_BP35, 1, true, 2.1e6, MULTIGRID);
  check(NONE, SP_COARSE_AUTO, SP_BP35, 1, true, 2.1e6, NONE);
  check(JACOBI, SP_COARSE_AUTO, SP_BP35, 3, false, 1e3, JACOBI);
  CHECK(sp_precondition_best(SP_BP35) == MULTIGRID && sp_precondition_best(SP_MASS) == JACOBI,
        "the best preconditioners");
  check_smoother(5.9, 0.12, SP_SMOOTHER_JACOBI);
  check_smoother(6.1, 0.001, SP_SMOOTHER_SCHWARZ);
  check_smoother(2.1, 0.13, SP_SMOOTHER_SCHWARZ);
  check_share(2.1, 1);
  check_share(1.9, 0);
  return check_end();
}
