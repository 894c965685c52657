/* Eigenvalues of B A, with B the multigrid cycle, on small meshes of all kinds. A mode that no
 * block of the smoother handles is an eigenvalue far below 1; over-corrected modes reduce all other
 * eigenvalues. Bounds: all eigenvalues are above 0.05, and 95 % above 0.3.
 *
 * Lanczos' method from a random vector in the inner product of B, with full orthogonalization,
 * gives a tridiagonal matrix with these eigenvalues. Sturm's sequence counts the eigenvalues below
 * a bound. */
#include <float.h>

#include "solver/linear/chebyshev.h"
#include "tests/folders.h"
#include "tests/library_case.h"
#include "tests/mesh_files.h"

typedef struct spectrum {
  sp_solver *solver;
  int n, length; /* local DOFs; Lanczos vectors */
  double *q, *z; /* [length][n]: vectors and B times them */
  double *diagonal, *beside;
} spectrum;

static double product(int n, const double *x, const double *y) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

/* z = B r. */
static void precondition(const spectrum *s, const double *r, double *z) {
  sp_solver *solver = s->solver;
  sp_preconditioner *p = solver->preconditioner;
  require(sp_vector_write(r, &solver->r));
  require(p->apply(p, sqrt(product(s->n, r, r)), &solver->r, &solver->x));
  require(sp_vector_read(&solver->x, z));
}

/* y = A x. */
static void apply(const spectrum *s, const double *x, double *y) {
  sp_solver *solver = s->solver;
  require(sp_vector_write(x, &solver->r));
  require(sp_operator_apply(solver->system->op, true, &solver->r, &solver->x));
  require(sp_vector_read(&solver->x, y));
}

/* w -= its components along all vectors, twice for rounding. */
static void orthogonalize(const spectrum *s, int count, double *w) {
  for (int k = 0; k < 2 * count; k++) {
    const double *q = &s->q[(size_t)(k % count) * (size_t)s->n];
    const double c = product(s->n, w, &s->z[(size_t)(k % count) * (size_t)s->n]);
    for (int i = 0; i < s->n; i++) w[i] -= c * q[i];
  }
}

/* Fill diagonal and beside; returns the number of eigenvalues. */
static int tridiagonalize(const spectrum *s, double *w, double *bw) {
  static const double ENOUGH = 1e-7; /* of the size of B A: the vectors are complete */
  for (int k = 0;; k++) {
    double *q = &s->q[(size_t)k * (size_t)s->n], *z = &s->z[(size_t)k * (size_t)s->n];
    precondition(s, w, bw);
    const double norm = sqrt(product(s->n, w, bw));
    if (k > 0) s->beside[k - 1] = norm;
    if (k == s->length || (k > 0 && norm < ENOUGH)) return k;
    for (int i = 0; i < s->n; i++) {
      q[i] = w[i] / norm;
      z[i] = bw[i] / norm;
    }
    apply(s, z, w);
    s->diagonal[k] = product(s->n, z, w);
    orthogonalize(s, k + 1, w);
  }
}

static int count_below(const spectrum *s, int count, double bound) {
  double pivot = 1;
  int below = 0;
  for (int k = 0; k < count; k++) {
    const double b = k > 0 ? s->beside[k - 1] : 0;
    pivot = s->diagonal[k] - bound - b * b / pivot;
    if (fabs(pivot) < DBL_MIN) pivot = DBL_MIN;
    below += pivot < 0;
  }
  return below;
}

static void check_spectrum(const char *what, const char *const *keys) {
  static const char *const common[] = {
      "problem.forcing=1; solver.precision=double; solver.smoother=schwarz", NULL};
  sp_case *c = solve_case(MPI_COMM_WORLD, common, keys);
  spectrum s = {.solver = c->run->solver, .n = (int)local_of(c)};
  const bool *constrained = s.solver->system->setup.constrained;
  double *w = noise(c, 1), *bw = test_array((size_t)s.n, sizeof *bw);
  for (int i = 0; i < s.n; i++) {
    s.length += !constrained[i];
    if (constrained[i]) w[i] = 0;
  }
  const size_t size = (size_t)s.n * (size_t)s.length;
  s.q = test_array(size, sizeof *s.q);
  s.z = test_array(size, sizeof *s.z);
  s.diagonal = test_array((size_t)s.length, sizeof *s.diagonal);
  s.beside = test_array((size_t)s.length, sizeof *s.beside);
  const int count = tridiagonalize(&s, w, bw), least = count_below(&s, count, 0.05);
  const double share = 100.0 * count_below(&s, count, 0.3) / count;
  CHECK(least == 0 && share <= 5, "%s: %d of %d eigenvalues below 0.05, %.3g %% below 0.3", what,
        least, count, share);
  sp_case_close(&c);
}

/* Check whether Schwarz has sets of DOFs with exact inverses (solver/linear/chebyshev.c). */
static void check_sets(bool want, const char *const *keys) {
  static const char *const common[] = {"problem.forcing=1", NULL};
  sp_case *c = solve_case(MPI_COMM_WORLD, common, keys);
  sp_system *system = c->run->solver->system;
  sp_operator_setup setup = system->setup;
  sp_operator *op;
  sp_chebyshev *smoother;
  setup.for_level = true;
  require(sp_operator_create(&setup, &op));
  require(sp_chebyshev_create(op, &setup, 3, sp_smoother_type_of(SP_SMOOTHER_SCHWARZ, op->order),
                              system, &smoother));
  CHECK(sp_chebyshev_has_sets(smoother) == want, "%s: %s", keys[0], want ? "no sets" : "sets");
  sp_chebyshev_destroy(&smoother);
  sp_operator_destroy(&op);
  sp_case_close(&c);
}

/* A wall of 0.05 beside a hole makes slivers. The bound is 7, but sets take the entries of boxes,
 * which skew elements do not have: their set-up would take longer than the solve. */
static void check_slivers(void) {
  write_text("wall.geo", "SetFactory(\"OpenCASCADE\");\nBox(1) = {0, 0, 0, 3, 3, 1};\n"
                         "Cylinder(2) = {1.05, 1.5, -1, 0, 0, 3, 1};\n"
                         "BooleanDifference(3) = {Volume{1}; Delete;}{Volume{2}; Delete;};\n"
                         "Mesh.CharacteristicLengthMax = 0.5;\n");
  check_sets(false, TEXTS("mesh.file=wall.geo; discretization.order=2; "
                          "boundary.default=dirichlet 0; solver.smoother=schwarz"));
}

static const char *const lattice[] = {
    "mesh.upper=1.5 1 1.5; mesh.size=1; mesh.grading=no; "
    "region.s.lower=0 0.421 0; region.s.upper=1.5 0.424 1.5; "
    "region.t.lower=0 0.657 0.333; region.t.upper=1.5 1 0.335; "
    "region.u.lower=0.978 0.82 0; region.u.upper=1.5 0.834 1.5",
    "material.s.kappa=59; material.t.kappa=78; material.u.kappa=0.11",
    "discretization.order=3; boundary.ymin=dirichlet 0; boundary.zmax=dirichlet 0; "
    "boundary.default=neumann 0",
    NULL};

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  enter_folder();
  check_slivers();
  check_sets(true, lattice);
  check_spectrum("cubes", TEXTS("mesh.elements=3 3 3; discretization.order=3; "
                                "boundary.default=dirichlet 0"));
  check_spectrum("skew elements", TEXTS("mesh.elements=3 3 3; mesh.map=kershaw; mesh.epsilon=0.3; "
                                        "discretization.order=3; boundary.default=dirichlet 0"));
  check_spectrum("flat elements", TEXTS("mesh.elements=3 3 3; mesh.upper=1 1 0.01; "
                                        "discretization.order=3; boundary.xmin=dirichlet 0; "
                                        "boundary.default=neumann 0"));
  check_spectrum("bars", TEXTS("mesh.elements=3 3 3; mesh.upper=1 0.01 0.01; "
                               "discretization.order=3; boundary.xmin=dirichlet 0; "
                               "boundary.default=neumann 0"));
  check_spectrum("a period", TEXTS("mesh.elements=3 3 3; boundary.xmax=periodic xmin; "
                                   "discretization.order=3; boundary.default=robin 1, 0"));
  check_spectrum("a tensor", TEXTS("mesh.elements=3 3 3; problem.kappa=100, 1, 1; "
                                   "discretization.order=3; boundary.zmin=dirichlet 0; "
                                   "boundary.default=neumann 0"));
  check_spectrum("a lattice of sheets", lattice);
  check_spectrum("sheets with contacts",
                 TEXTS("mesh.upper=1 1 1.5; mesh.size=0.7; mesh.grading=no; "
                       "region.s.lower=0.274 0 0; region.s.upper=0.275 0.193 1.5; "
                       "region.t.lower=0.469 0 0.895; region.t.upper=0.47 1 1.5",
                       "material.s.kappa=0.013; material.t.kappa=0.05; discretization.order=2; "
                       "boundary.s.xmax=contact 2e-9; boundary.t.xmin=contact 1e-8",
                       "boundary.xmax=robin 1, 0; boundary.default=neumann 0"));
  /* Without inverses where cycles leave errors, 8 eigenvalues are below 0.05. */
  check_spectrum("sheets that are held at their ends",
                 TEXTS("mesh.upper=1 1 1; mesh.size=1; mesh.grading=no; "
                       "region.s.lower=0 0.24 0; region.s.upper=1 0.2422 0.2; "
                       "region.t.lower=0 0.465 0; region.t.upper=1 0.466 1; "
                       "region.u.lower=0.502 0 0.518; region.u.upper=1 1 0.5205; "
                       "region.v.lower=0 0.694 0.183; region.v.upper=1 1 0.2449",
                       "material.s.kappa=0.11; material.t.kappa=0.024; material.u.kappa=200; "
                       "material.v.kappa=87; discretization.order=2",
                       "boundary.s.ymax=contact 1e-8; boundary.t.ymax=contact 2e-4; "
                       "boundary.u.zmin=contact 6e-8; boundary.v.zmax=contact 5e-7; "
                       "boundary.t.zmax=dirichlet 0; boundary.u.ymax=dirichlet 0; "
                       "boundary.default=neumann 0"));
  for (int k = 0; k < 3; k++) {
    const char *kappa = test_text("material.b.kappa=%g", pow(100, k));
    check_spectrum(test_text("glue, %s", kappa),
                   TEXTS("mesh.upper=2.001 1 1; mesh.size=0.5; mesh.grading=no; "
                         "region.b.lower=1 0 0; region.b.upper=1.001 1 1; discretization.order=3",
                         kappa,
                         "boundary.b.ymin=neumann 0; boundary.b.ymax=neumann 0; "
                         "boundary.b.zmin=neumann 0; boundary.b.zmax=neumann 0; "
                         "boundary.default=dirichlet 0"));
    kappa =
        test_text("material.s.kappa=%g; material.t.kappa=%g", pow(1000, k - 1), pow(1000, k - 1));
    check_spectrum(test_text("sheets that cross, %s", kappa),
                   TEXTS("mesh.upper=2.01 2.01 1; mesh.size=1; mesh.grading=no; "
                         "region.s.lower=1 0 0; region.s.upper=1.01 2.01 1; "
                         "region.t.lower=0 1 0; region.t.upper=2.01 1.01 1; "
                         "discretization.order=3",
                         kappa, "boundary.zmin=dirichlet 0; boundary.default=neumann 0"));
    const double r = pow(1e-3, k);
    check_spectrum(
        test_text("contacts that cross, R = %g", r),
        TEXTS("mesh.upper=2 2 1; mesh.elements=2 2 1; region.a.lower=0 0 0; region.a.upper=1 1 1; "
              "region.b.lower=1 0 0; region.b.upper=2 1 1; region.c.lower=0 1 0; "
              "region.c.upper=1 2 1; discretization.order=3",
              test_text("boundary.a.xmax=contact %g; boundary.a.ymax=contact %g; "
                        "boundary.c.xmax=contact %g; boundary.b.ymax=contact %g",
                        r, r, r, r),
              "boundary.zmin=dirichlet 0; boundary.default=neumann 0"));
  }
  leave_folder(TEXTS("wall.geo"));
  return check_end();
}
