/* The initial iterate: a field is written on some ranks and read on all, at another order and after
 * refinement. A polynomial that both spaces contain is reproduced, on trilinear and on curved
 * elements; random values of order N are the same polynomial at a higher order. Then formulas and
 * bad files. */
#include "solver/config/config.h"
#include "solver/solve/initial.h"

#include <float.h>
#include <unistd.h>

#include "io/hdf5_file.h"
#include "mesh/refine.h"
#include "solver/report/field.h"
#include "tests/deformed_box.h"
#include "tests/device.h"
#include "tests/folders.h"
#include "tests/nodal.h"

static int elements[3] = {4, 3, 2};

/* A space on a box, with its mesh and platform. */
typedef struct place {
  sp_platform platform;
  deformed_box box;
  sp_space *space;
} place;

static void place_create(MPI_Comm comm, int map_order, int refine, int order, place *p) {
  deformed_box_create(comm, elements, map_order, 1, &p->box);
  CHECK_OK(sp_platform_open(comm, SP_DEVICE_HOST, SP_TRANSPORT_AUTO, &p->platform));
  for (int r = 0; r < refine; r++) CHECK_OK(sp_mesh_refine(&p->box.mesh));
  CHECK_OK(sp_space_create(&p->platform, p->box.mesh, order, &p->space));
}

static void place_destroy(place *p) {
  sp_space_destroy(&p->space);
  deformed_box_destroy(&p->box);
  sp_platform_close(&p->platform);
}

static sp_config *read_config(MPI_Comm comm, const char *initial) {
  const char *text = test_text("problem.initial=%s", initial);
  const char *const overrides[] = {"problem.forcing=1", "boundary.default=dirichlet 0", text};
  sp_config *config;
  CHECK_OK(sp_config_read(comm, NULL, 3, overrides, &config));
  return config;
}

/* A linear function to the power of `degree`. */
static double power(const double x[3], int degree) {
  return pow(1.5 + x[0] / 2 - x[1] / 3 + x[2] / 4, degree);
}

static void write_field(const place *p, const char *path, const double *values) {
  AUTO(sp_config) config = read_config(p->box.mesh->comm, "");
  AUTO(sp_problem) problem = NULL;
  double seconds;
  CHECK_OK(sp_problem_create(&config->statement, p->box.mesh, &problem));
  CHECK_OK(sp_field_write(path, problem, p->space, &(sp_field_solution){.x = values}, &seconds));
}

/* Write on the first `writers` ranks. */
static void write_on(int writers, int map_order, int refine, int order, int degree) {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank < writers ? 0 : MPI_UNDEFINED, 0, &comm);
  if (world_rank < writers) {
    AUTO_VALUE(place) p = {0};
    place_create(comm, map_order, refine, order, &p);
    double *values = test_array(sp_space_dofs(p.space), sizeof *values);
    nodal_fill(p.space, power, degree, values);
    write_field(&p, "initial.hdf", values);
    MPI_Comm_free(&comm);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static sp_status load(const place *p, const char *initial, double *values) {
  AUTO(sp_config) config = read_config(MPI_COMM_WORLD, initial);
  sp_status status = sp_initial_check(MPI_COMM_WORLD, &config->statement);
  if (!status) status = sp_initial_load(&config->statement, p->space, values, NULL);
  return status;
}

/* Rounding of a value of size one grows at most by the third power of the sum of |weights| of an
 * interpolation from `order` + 1 equispaced nodes, below 2^order, in writing and in reading. */
static double rounding(int order) {
  return 32 * DBL_EPSILON * pow(2, 3 * order);
}

static void check_values(const place *p, int degree, const double *values, double tolerance) {
  double *expected = test_array(sp_space_dofs(p->space), sizeof *expected);
  nodal_fill(p->space, power, degree, expected);
  for (size_t i = 0; i < sp_space_dofs(p->space); i++)
    CHECK_CLOSE(values[i], expected[i], tolerance);
}

typedef struct step {
  int map_order, degree, from, to, refined, refine; /* orders and refinements there and here */
} step;

static void check_step(const step *s, int writers) {
  AUTO_VALUE(place) p = {0};
  write_on(writers, s->map_order, s->refined, s->from, s->degree);
  place_create(MPI_COMM_WORLD, s->map_order, s->refine, s->to, &p);
  double *values = test_array(sp_space_dofs(p.space), sizeof *values);
  CHECK_OK(load(&p, "initial.hdf", values));
  check_values(&p, s->degree, values, rounding(s->from));
}

/* In reference coordinates a polynomial of degree d has degree d on trilinear elements, and 3 d on
 * elements of map order 3. */
static void test_polynomials(void) {
  static const step steps[] = {
      {1, 3, 3, 3, 0, 0}, {1, 1, 1, 4, 0, 0}, {1, 3, 5, 3, 0, 0}, {1, 4, 4, 7, 0, 0},
      {3, 1, 3, 3, 0, 0}, {3, 1, 3, 6, 0, 0}, {3, 1, 7, 3, 0, 0}, {1, 2, 2, 3, 0, 1},
      {1, 2, 3, 2, 0, 2}, {3, 1, 3, 3, 1, 2}, {1, 1, 1, 1, 1, 1}, {3, 1, 4, 3, 0, 2},
  };
  for (size_t s = 0; s < COUNT_OF(steps); s++)
    for (int writers = 1; writers <= world_size; writers *= 2) check_step(&steps[s], writers);
}

static void test_formula(void) {
  AUTO_VALUE(place) p = {0};
  place_create(MPI_COMM_WORLD, 3, 0, 4, &p);
  double *values = test_array(sp_space_dofs(p.space), sizeof *values);
  CHECK_OK(load(&p, "(1.5 + x/2 - y/3 + z/4)^2", values));
  check_values(&p, 2, values, 32 * DBL_EPSILON);
  nodal_fill(p.space, power, 1, values);
  CHECK_OK(load(&p, "", values));
  check_values(&p, 1, values, 0);
  CHECK(load(&p, "log(x - 100)", values) == SP_ERR_INPUT &&
            strstr(sp_error_message(), "problem.initial") &&
            strstr(sp_error_message(), "not finite"),
        "%s", sp_error_message());
}

static void check_refused(const place *p, const char *path, const char *reason) {
  double *values = test_array(sp_space_dofs(p->space), sizeof *values);
  const sp_status status = load(p, path, values);
  CHECK((status == SP_ERR_INPUT || status == SP_ERR_SYSTEM) && strstr(sp_error_message(), reason),
        "%s: status %d, %s", reason, (int)status, sp_error_message());
}

static void leave_empty(int64_t file, const void *context) {
  (void)file, (void)context;
}

static void test_refused(void) {
  AUTO_VALUE(place) p = {0};
  place_create(MPI_COMM_WORLD, 1, 0, 2, &p);
  check_refused(&p, "missing.hdf", "cannot read field missing.hdf: No such file");
  write_on(1, 1, 1, 2, 1);
  check_refused(&p, "initial.hdf", "give mesh.refine = 1 or more");
  write_on(1, 3, 0, 3, 1); /* its corners are elsewhere */
  check_refused(&p, "initial.hdf", "is of another mesh: a corner of element");
  elements[0] = 5;
  write_on(1, 1, 0, 2, 1);
  elements[0] = 4;
  check_refused(&p, "initial.hdf",
                "its 30 elements, refined 0 times, do not give the 24 elements here");
  write_on(1, 1, 0, 2, 2000); /* infinite */
  check_refused(&p, "initial.hdf", "not finite");
  write_on(1, 1, 0, 2, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0) CHECK(truncate("initial.hdf", 3000) == 0, "cannot truncate");
  MPI_Barrier(MPI_COMM_WORLD);
  check_refused(&p, "initial.hdf", "cannot read field initial.hdf: HDF5");
  if (world_rank == 0) CHECK(!sp_hdf5_replace("initial.hdf", leave_empty, NULL), "cannot replace");
  MPI_Barrier(MPI_COMM_WORLD);
  check_refused(&p, "initial.hdf", "expected a whole field that sp_solve has written");
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  enter_folder();
  test_polynomials();
  test_formula();
  test_refused();
  leave_folder(TEXTS("initial.hdf"));
  return check_end();
}
