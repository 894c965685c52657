/* Reading cases: every key, its values, and the messages for wrong ones. */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>

#include "solver/case/config_internal.h"
#include "tests/config_case.h"

/* One key in a file and as an override, with the same error; an empty override counts as not given.
 */
static void check_value(const char *section, const char *key, const char *value,
                        const char *complaint) {
  char text[256], message[1024];
  snprintf(text, sizeof text, "\n[%s]\n%s = %s\n", section, key, value);
  snprintf(message, sizeof message, "case.ini:3: %s.%s: %s", section, key, complaint);
  check_error(text, NULL, message);
  if (*value == '\0') return;
  snprintf(text, sizeof text, "%s.%s=%s", section, key, value);
  snprintf(message, sizeof message, "argument '%s': %s", text, complaint);
  check_error(NULL, (const char *const[]){text, NULL}, message);
}

static void check_defaults(const sp_config *config) {
  for (int d = 0; d < 3; d++) {
    CHECK(config->mesh.elements[d] == 8, "elements %d", config->mesh.elements[d]);
    CHECK(config->mesh.lower[d] == 0 && config->mesh.upper[d] == 1, "corners in %d", d);
  }
  CHECK(config->mesh.shape == SP_SHAPE_BOX, "shape %d", (int)config->mesh.shape);
  CHECK(!config->mesh.file, "file %s", config->mesh.file);
  CHECK(config->mesh.where, "no place of the mesh");
  CHECK(config->mesh.map == SP_MAP_NONE, "map %d", (int)config->mesh.map);
  CHECK(config->mesh.epsilon == 0.3, "epsilon %g", config->mesh.epsilon);
  CHECK(config->mesh.refine == 0, "refine %d", config->mesh.refine);
  CHECK(config->discretization.order == 7, "order %d", config->discretization.order);
  CHECK(config->discretization.operator_kind == SP_BP35, "operator");
  CHECK(config->discretization.geometry == SP_GEOMETRY_AUTO, "geometry");
  CHECK_TEXT(config->problem.lambda.text, "0");
  CHECK_TEXT(config->problem.kappa.text, "1");
  CHECK(!config->problem.lambda_given, "lambda was not given");
  CHECK(!config->problem.kappa_given, "kappa was not given");
  CHECK_TEXT(config->problem.solution.text, NULL);
  CHECK_TEXT(config->problem.forcing.text, NULL);
  CHECK_TEXT(config->problem.initial.text, NULL);
  CHECK(config->boundary.count == 0, "%d groups", config->boundary.count);
  CHECK_TEXT(config->boundary.fallback.group, "default");
  CHECK(config->boundary.fallback.condition == SP_DIRICHLET, "fallback");
  CHECK_TEXT(config->boundary.fallback.formula.text, NULL);
  CHECK_TEXT(config->boundary.where, NULL);
  CHECK(config->solver.tolerance == 1e-8, "tolerance %g", config->solver.tolerance);
  CHECK(config->solver.max_iterations == 1000, "max_iterations");
  CHECK(config->solver.preconditioner == SP_PRECONDITIONER_AUTO, "preconditioner");
  CHECK(config->solver.smoother_degree == 0 && config->solver.orders.count == 0 &&
            config->solver.coarse == SP_COARSE_AUTO,
        "multigrid");
  CHECK(config->backend.device == SP_DEVICE_AUTO, "device");
  CHECK(config->backend.exchange == SP_TRANSPORT_AUTO, "exchange");
  CHECK(config->backend.share == SP_SHARE_NO, "share");
  CHECK(config->backend.threads == 0, "threads");
  CHECK_TEXT(config->output.log, "run.h5");
  CHECK_TEXT(config->output.field, "run.hdf");
  CHECK(config->output.flux == 0 && config->output.accuracy == 0, "flux, accuracy");
}

static void test_defaults(void) {
  sp_config *config = read_case(NULL, NULL);
  if (config) check_defaults(config);
  sp_config_destroy(&config);
  CHECK(!config, "not set to NULL");
  sp_config_destroy(&config);
  config = read_case("", NULL);
  if (config) check_defaults(config);
  sp_config_destroy(&config);

  char *text = NULL;
  size_t length;
  FILE *stream = open_memstream(&text, &length);
  CHECK(stream, "no stream in memory");
  if (!stream) return;
  CHECK_OK(sp_config_print_defaults(stream));
  fclose(stream);
  config = read_case(text, NULL);
  if (config) check_defaults(config);
  sp_config_destroy(&config);
  /* Every key of the formatted case is also in the output of --defaults. */
  static const char *const keys[] = {"file =",
                                     "shape = box",
                                     "elements = 8 8 8",
                                     "lower = 0 0 0",
                                     "upper = 1 1 1",
                                     "map =",
                                     "epsilon =",
                                     "refine = 0",
                                     "order = 7",
                                     "operator = bp3.5",
                                     "geometry",
                                     "lambda = 0",
                                     "kappa = 1",
                                     "solution =",
                                     "forcing =",
                                     "initial =",
                                     "default = dirichlet",
                                     "GROUP =",
                                     "tolerance = ",
                                     "(an integer from 1 to 15)",
                                     "max_iterations",
                                     "preconditioner =",
                                     "orders =",
                                     "device = auto",
                                     "share = no",
                                     "threads = 0",
                                     "log =",
                                     "field =",
                                     "# [material NAME]",
                                     "# [region NAME]",
                                     "# lower ="};
  for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
    CHECK(strstr(text, keys[k]), "--defaults lacks '%s'", keys[k]);
  free(text);
}

static void test_every_key(void) {
  sp_config *config = read_case(every_key, NULL);
  if (!config) return;
  const int elements[] = {2, 3, 4};
  const double lower[] = {-1, -0.5, 0.1}, upper[] = {1, 2.5, 3};
  CHECK(memcmp(config->mesh.elements, elements, sizeof elements) == 0, "elements");
  CHECK(memcmp(config->mesh.lower, lower, sizeof lower) == 0, "lower");
  CHECK(memcmp(config->mesh.upper, upper, sizeof upper) == 0, "upper");
  CHECK(config->mesh.shape == SP_SHAPE_BOX && !config->mesh.file, "shape");
  CHECK_TEXT(config->mesh.where, "case.ini:3: mesh.shape");
  CHECK(config->mesh.map == SP_MAP_KERSHAW && config->mesh.epsilon == 0.25, "map");
  CHECK(config->mesh.refine == 10, "refine");
  CHECK(config->discretization.order == 15, "order");
  CHECK(config->discretization.operator_kind == SP_BP30, "operator");
  CHECK(config->discretization.geometry == SP_GEOMETRY_TRILINEAR, "geometry");
  CHECK_TEXT(config->problem.lambda.text, "2*pi");
  CHECK_TEXT(config->problem.lambda.where, "case.ini:16: problem.lambda");
  CHECK(config->problem.lambda_given, "lambda was given");
  CHECK_TEXT(config->problem.kappa.text, "1 + x^2");
  CHECK(config->problem.kappa_given, "kappa was given");
  CHECK_TEXT(config->problem.solution.text, "x == 1 ? sin(pi*x) : y#z");
  CHECK_TEXT(config->problem.forcing.text, "z");
  CHECK(config->solver.tolerance == 1e-3, "tolerance");
  CHECK(config->solver.max_iterations == INT32_MAX, "max_iterations");
  CHECK(config->solver.preconditioner == SP_PRECONDITIONER_JACOBI, "preconditioner");
  CHECK(config->backend.device == SP_DEVICE_HOST, "device");
  CHECK(config->backend.share == SP_SHARE_YES, "share");
  CHECK(config->backend.threads == 3, "threads");
  CHECK_TEXT(config->output.log, "a b.h5");
  CHECK_TEXT(config->output.field, "");
  CHECK(config->output.flux == 1 && config->output.accuracy == 1, "flux, accuracy");
  CHECK(config->boundary.count == 5, "%d groups", config->boundary.count);
  if (config->boundary.count == 5) {
    const sp_boundary_entry *entries = config->boundary.entries;
    CHECK_TEXT(entries[0].group, "the left.wall");
    CHECK(entries[0].condition == SP_NEUMANN, "condition");
    CHECK_TEXT(entries[0].formula.text, "x + 1");
    CHECK_TEXT(entries[0].formula.where, "case.ini:25: boundary.the left.wall");
    CHECK_TEXT(entries[1].group, "1");
    CHECK(entries[1].condition == SP_DIRICHLET && !entries[1].formula.text, "entry");
    CHECK(!entries[1].alpha.text, "alpha without robin");
    CHECK(entries[2].condition == SP_ROBIN && entries[3].condition == SP_ROBIN, "robin");
    CHECK_TEXT(entries[2].alpha.text, "max(x, (y))*2");
    CHECK_TEXT(entries[2].alpha.where, "case.ini:28: boundary.2 (alpha)");
    CHECK_TEXT(entries[2].formula.text, "min(z, 1)");
    CHECK_TEXT(entries[2].formula.where, "case.ini:28: boundary.2 (g)");
    CHECK_TEXT(entries[3].alpha.text, "1");
    CHECK_TEXT(entries[3].formula.text, NULL);
    CHECK(entries[4].condition == SP_PERIODIC && !entries[3].partner, "periodic");
    CHECK_TEXT(entries[4].partner, "the other one");
    CHECK_TEXT(entries[4].formula.where, "case.ini:30: boundary.4");
  }
  CHECK(config->boundary.fallback.condition == SP_NEUMANN, "fallback");
  CHECK_TEXT(config->boundary.where, "case.ini:25: boundary.the left.wall");
  sp_config_destroy(&config);
}

/* Every choice that a key has. */
static void test_choices(void) {
#define CHECK_CHOICE(argument, member, expected)                                                   \
  do {                                                                                             \
    sp_config *choice =                                                                            \
        read_case("[mesh]\nmap = kershaw\n", (const char *const[]){argument, NULL});               \
    if (choice) CHECK(choice->member == (expected), "%s gives %d", argument, (int)choice->member); \
    sp_config_destroy(&choice);                                                                    \
  } while (0)
  CHECK_CHOICE("mesh.shape=box", mesh.shape, SP_SHAPE_BOX);
  CHECK_CHOICE("mesh.map=none", mesh.map, SP_MAP_NONE);
  CHECK_CHOICE("mesh.map=sine", mesh.map, SP_MAP_SINE);
  CHECK_CHOICE("mesh.map=kershaw", mesh.map, SP_MAP_KERSHAW);
  CHECK_CHOICE("mesh.step=quintic", mesh.step, SP_STEP_QUINTIC);
  CHECK_CHOICE("mesh.step=linear", mesh.step, SP_STEP_LINEAR);
  CHECK_CHOICE("discretization.operator=mass", discretization.operator_kind, SP_MASS);
  CHECK_CHOICE("discretization.operator=bp3.5", discretization.operator_kind, SP_BP35);
  CHECK_CHOICE("discretization.operator=bp3.0", discretization.operator_kind, SP_BP30);
  CHECK_CHOICE("discretization.geometry=auto", discretization.geometry, SP_GEOMETRY_AUTO);
  CHECK_CHOICE("discretization.geometry=stored", discretization.geometry, SP_GEOMETRY_STORED);
  CHECK_CHOICE("discretization.geometry=trilinear", discretization.geometry, SP_GEOMETRY_TRILINEAR);
  CHECK_CHOICE("discretization.order=1", discretization.order, 1);
  CHECK_CHOICE("solver.preconditioner=none", solver.preconditioner, SP_PRECONDITIONER_NONE);
  CHECK_CHOICE("solver.preconditioner=jacobi", solver.preconditioner, SP_PRECONDITIONER_JACOBI);
  CHECK_CHOICE("solver.preconditioner=multigrid", solver.preconditioner,
               SP_PRECONDITIONER_MULTIGRID);
  CHECK_CHOICE("solver.smoother=jacobi", solver.smoother, SP_SMOOTHER_JACOBI);
  CHECK_CHOICE("solver.smoother=schwarz", solver.smoother, SP_SMOOTHER_SCHWARZ);
  CHECK_CHOICE("solver.precision=single", solver.precision, SP_CYCLE_SINGLE);
  CHECK_CHOICE("solver.precision=double", solver.precision, SP_CYCLE_DOUBLE);
  CHECK_CHOICE("solver.smoother_degree=6", solver.smoother_degree, 6);
  CHECK_CHOICE("solver.coarse=amg", solver.coarse, SP_COARSE_AMG);
  CHECK_CHOICE("solver.coarse=direct", solver.coarse, SP_COARSE_DIRECT);
  CHECK_CHOICE("solver.coarse=chebyshev", solver.coarse, SP_COARSE_CHEBYSHEV);
  CHECK_CHOICE("backend.device=auto", backend.device, SP_DEVICE_AUTO);
  CHECK_CHOICE("backend.device=host", backend.device, SP_DEVICE_HOST);
  CHECK_CHOICE("backend.device=cuda", backend.device, SP_DEVICE_CUDA);
  CHECK_CHOICE("backend.exchange=peer", backend.exchange, SP_TRANSPORT_PEER);
  CHECK_CHOICE("backend.exchange=cuda-aware", backend.exchange, SP_TRANSPORT_CUDA_AWARE);
  CHECK_CHOICE("backend.exchange=nccl", backend.exchange, SP_TRANSPORT_NCCL);
  CHECK_CHOICE("backend.exchange=staged", backend.exchange, SP_TRANSPORT_STAGED);
  CHECK_CHOICE("backend.share=no", backend.share, SP_SHARE_NO);
  CHECK_CHOICE("backend.share=yes", backend.share, SP_SHARE_YES);
  CHECK_CHOICE("boundary.default=dirichlet", boundary.fallback.condition, SP_DIRICHLET);
  CHECK_CHOICE("boundary.default=neumann", boundary.fallback.condition, SP_NEUMANN);
  CHECK_CHOICE("boundary.default=robin 1", boundary.fallback.condition, SP_ROBIN);
#undef CHECK_CHOICE
  CHECK_TEXT(sp_condition_name(SP_DIRICHLET), "dirichlet");
  CHECK_TEXT(sp_condition_name(SP_NEUMANN), "neumann");
}

static void test_values(void) {
  static const struct {
    const char *section, *key, *expected;
    const char *wrong[12];
  } keys[] = {
      {"mesh", "shape", "file or box", {"cube", "Box", "box box", ""}},
      {"mesh",
       "elements",
       "3 integers of at least 1",
       {"8", "8 8", "8 8 8 8", "8 8 0", "8 8 8x", "8,8,8", "8 8 2.5", "8 8 3000000000", ""}},
      {"mesh",
       "lower",
       "3 numbers",
       {"0 0", "0 0 0 0", "0 0 nan", "0 0 inf", "0 0 1e999", "a", ""}},
      {"mesh", "upper", "3 numbers", {"1 1", "1 1 1 1", "1 1 0x1", "1 1 -", "1 1 1e", "1;1;1", ""}},
      {"mesh", "map", "none, sine or kershaw", {"sin", "1", ""}},
      {"mesh",
       "epsilon",
       "a number above 0 and at most 1",
       {"0", "-0.1", "1.0000001", "x", "0.3 0.3", "1e-999", ""}},
      {"mesh", "step", "quintic or linear", {"cubic", ""}},
      {"mesh", "size", "a number of at least 0", {"-1", "nan", "mm", "1 1", ""}},
      {"mesh", "size_min", "a number of at least 0", {"-1", "nan", "mm", "1 1", ""}},
      {"mesh",
       "curvature",
       "a number of at least 0 and at most 1000",
       {"-1", "1001", "nan", "fine", "1 1", ""}},
      {"mesh", "scale", "a number above 0", {"0", "-1", "1e999", "1e-999", "nan", "mm", "1 1", ""}},
      {"mesh",
       "refine",
       "an integer from 0 to 10",
       {"-1", "11", "1.0", "1e1", "0x1", "1,", "x", ""}},
      {"discretization",
       "order",
       "an integer from 1 to 15",
       {"0", "16", "x", "7 7", "7x", "99999999999999999999", "-99999999999999999999", "4294967303",
        ""}},
      {"discretization", "operator", "mass, bp3.5 or bp3.0", {"bp3", "BP3.5", ""}},
      {"discretization", "geometry", "auto, stored or trilinear", {"affine", ""}},
      {"problem", "lambda", "a formula", {""}},
      {"problem", "kappa", "a formula", {""}},
      {"constants", "h", "a formula", {""}},
      {"boundary",
       "default",
       "dirichlet, neumann or robin",
       {"robyn 1", "periodic a", "dirichlet(x)", ""}},
      {"boundary",
       "some wall",
       "dirichlet, neumann, robin, periodic or source",
       {"x", "neumannx", ""}},
      {"solver",
       "tolerance",
       "a number above 0 and below 1",
       {"0", "1", "-1e-8", "nan", "1e-8 x", "1e-999", "1,5", ""}},
      {"solver",
       "max_iterations",
       "an integer of at least 1",
       {"0", "-5", "2147483648", "1e3", "many", ""}},
      {"solver", "preconditioner", "auto, none, jacobi or multigrid", {"ilu", ""}},
      {"solver", "smoother", "auto, jacobi or schwarz", {"ilu", ""}},
      {"solver", "smoother_degree", "an integer from 0 to 6", {"-1", "7", "3 3", ""}},
      {"solver",
       "orders",
       "at most 16 integers from 1 to 15",
       {"7 5 3 0", "16 1", "7, 5, 3, 1", "7 5 x", "7 5 3 1 1 1 1 1 1 1 1 1 1 1 1 1 1"}},
      {"solver", "coarse", "auto, amg, direct or chebyshev", {"hypre", ""}},
      {"solver", "precision", "auto, single or double", {"half", ""}},
      {"backend", "device", "auto, host or cuda", {"gpu", ""}},
      {"backend", "exchange", "auto, peer, cuda-aware, nccl or staged", {"mpi", ""}},
      {"backend", "share", "no or yes", {"true", "1", ""}},
      {"backend", "threads", "an integer from 0 to 1024", {"-1", "1025", "auto", ""}},
      {"solver", "criterion", "energy or residual", {"norm", ""}},
      {"probe", "tip", "3 numbers", {"0 0", "0 0 0 0", "0 0 0x1", ""}},
      {"line",
       "cut",
       "x y z, x y z, n: two different points and n from 2 to 10000",
       {"0 0 0, 1 1 1", "0 0 0 1 1 1 5", "0 0, 1 1 1, 5", "0 0 0, 0 0 0, 5", "0 0 0, 1 1 1, 1",
        "0 0 0, 1 1 1, 10001", "0 0 0, 1 1 1, 2.5", "0 0 0, 1 1 1, 5 6", "0 0 0, 1e999 1 1, 5",
        "0 0 nan, 1 1 1, 5", ""}},
      {"output", "flux", "no or yes", {"true", "1", "Yes"}},
      {"output", "accuracy", "no or yes", {"true", "1", ""}},
      {"result",
       "heat",
       "integral, average, minimum, maximum, norm, resistance or flux",
       {"mean", "u", ""}},
  };
  enum { LISTED = sizeof keys / sizeof keys[0] };
  for (int k = 0; k < sp_key_count; k++) {
    const sp_key *key = &sp_keys[k];
    /* May be any text, or is tested in config_sections.c. */
    bool listed = key->optional || sp_key_is_titled(key);
    for (int n = 0; n < LISTED && !listed; n++)
      listed = sp_key_find(keys[n].section, keys[n].key) == key;
    CHECK(listed, "no wrong values of %s.%s are known", key->section,
          key->name ? key->name : "NAME");
  }
  for (int k = 0; k < LISTED; k++)
    for (int w = 0; keys[k].wrong[w]; w++) {
      char complaint[512];
      const char *wrong = keys[k].wrong[w];
      if (*wrong == '\0')
        snprintf(complaint, sizeof complaint, "expected %s, found nothing", keys[k].expected);
      else
        snprintf(complaint, sizeof complaint, "expected %s, found '%s'", keys[k].expected, wrong);
      check_value(keys[k].section, keys[k].key, wrong, complaint);
    }
}

static void test_mesh(void) {
  static const struct {
    const char *text, *override, *message;
  } errors[] = {
      {"[mesh]\nfile = a.msh\nshape = box", NULL,
       "case.ini:3: mesh.shape: shape = box conflicts with mesh.file (case.ini:2: mesh.file); "
       "remove one"},
      {"[mesh]\nfile = a.msh", "mesh.shape=box",
       "argument 'mesh.shape=box': shape = box conflicts with mesh.file (case.ini:2: mesh.file); "
       "remove one"},
      {"[mesh]\nshape = file\nfile =", NULL,
       "case.ini:2: mesh.shape: no mesh.file is given; give it, or drop shape = file"},
      {"[mesh]\nelements = 1 1 1\nfile = a", NULL,
       "case.ini:2: mesh.elements: valid only for a box, but mesh.file is given; remove one of the "
       "two"},
      {"[mesh]\nfile = a\nlower = 0 0 0", NULL,
       "case.ini:3: mesh.lower: valid only for a box, but mesh.file is given; remove one of the "
       "two"},
      {"[mesh]\nfile = a\nupper = 0 0 0", NULL,
       "case.ini:3: mesh.upper: valid only for a box, but mesh.file is given; remove one of the "
       "two"},
      {"[mesh]\nfile = a\nmap = none", NULL,
       "case.ini:3: mesh.map: valid only for a box, but mesh.file is given; remove one of the two"},
      {"[mesh]\nfile = a\nepsilon = 0.5", NULL,
       "case.ini:3: mesh.epsilon: valid only with map = kershaw; remove it or set the map"},
      {"[mesh]\nepsilon = 0.5", "mesh.map=sine",
       "case.ini:2: mesh.epsilon: valid only with map = kershaw; remove it or set the map"},
      {"[mesh]\nupper = 1 0 1", NULL,
       "case.ini:2: mesh.upper: expected a finite box with mesh.upper above mesh.lower, found 0 to "
       "0 in y"},
      {"[mesh]\nlower = 0 0 2", NULL,
       "case.ini:2: mesh.lower: expected a finite box with mesh.upper above mesh.lower, found 2 to "
       "1 in z"},
      {"[mesh]\nlower = -1e308 0 0", "mesh.upper=1e308 1 1",
       "argument 'mesh.upper=1e308 1 1': expected a finite box with mesh.upper above mesh.lower, "
       "found -1e+308 to 1e+308 in x"},
  };
  for (size_t e = 0; e < sizeof errors / sizeof errors[0]; e++)
    check_error(errors[e].text, (const char *const[]){errors[e].override, NULL}, errors[e].message);

  sp_config *config = read_case("[mesh]\nfile = a b.msh\n", NULL);
  if (config) {
    CHECK(config->mesh.shape == SP_SHAPE_FILE, "shape");
    CHECK_TEXT(config->mesh.file, "a b.msh");
    CHECK_TEXT(config->mesh.where, "case.ini:2: mesh.file");
  }
  sp_config_destroy(&config);

  config = read_case("[mesh]\nfile = a.msh\n",
                     (const char *const[]){"mesh.file=", "mesh.shape=box", "mesh.map=sine",
                                           "mesh.lower=-1 0 0", NULL});
  if (config) {
    CHECK(config->mesh.shape == SP_SHAPE_BOX && !config->mesh.file, "shape");
    CHECK(config->mesh.lower[0] == -1 && config->mesh.map == SP_MAP_SINE, "sine in any box");
  }
  sp_config_destroy(&config);
}

/* The bound is that of double precision, 2.2e-16. */
static void test_tolerance(void) {
  check_error("[solver]\n\ntolerance = 1e-300", NULL,
              "case.ini:3: solver.tolerance: 1e-300 cannot be reached: double precision rounds the "
              "right-hand side itself to 2.2e-16 of its size; give that or more");
  check_error("", (const char *const[]){"solver.tolerance=2e-16", NULL},
              "argument 'solver.tolerance=2e-16': 2e-16 cannot be reached: double precision rounds "
              "the right-hand side itself to 2.2e-16 of its size; give that or more");
  sp_config *config = read_case("[solver]\ntolerance = 2.3e-16", NULL);
  CHECK(config && config->solver.tolerance == 2.3e-16, "%s", sp_error_message());
  sp_config_destroy(&config);
}

static void test_multigrid(void) {
  static const char *const wrong[] = {"5 3 1", "7 5 3", "7 3 5 1", "7 7 1", "1"};
  static const char fall[] = "expected decreasing orders from discretization.order, 7, to 1";
  sp_config *config =
      read_case("[solver]\npreconditioner = multigrid\norders = 7 4 1\ncoarse = chebyshev\n",
                (const char *const[]){"solver.smoother_degree=5", NULL});
  if (config) {
    const sp_list *orders = &config->solver.orders;
    CHECK(orders->count == 3 && orders->values[0] == 7 && orders->values[1] == 4 &&
              orders->values[2] == 1,
          "orders");
    CHECK(config->solver.smoother_degree == 5 && config->solver.coarse == SP_COARSE_CHEBYSHEV,
          "multigrid");
  }
  sp_config_destroy(&config);
  for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
    char argument[64], message[256];
    snprintf(argument, sizeof argument, "solver.orders=%s", wrong[w]);
    snprintf(message, sizeof message, "argument '%s': %s", argument, fall);
    check_error(NULL, (const char *const[]){argument, NULL}, message);
  }
  check_error("[solver]\npreconditioner = jacobi\norders = 7 1\n", NULL,
              "case.ini:3: solver.orders: valid only with preconditioner = multigrid; remove it or "
              "set the preconditioner");
}

static void test_outputs(void) {
  check_error("[output]\nlog = a.h5\nfield = a.h5", NULL,
              "case.ini:3: output.field: log and field are the same file, 'a.h5'");
  check_error("[output]\nlog = run.hdf", NULL,
              "case.ini:2: output.log: log and field are the same file, 'run.hdf'");
  check_error("[output]\nfield = a.hdf\nlog = ./a.unconverged.hdf", NULL,
              "case.ini:2: output.field: this would overwrite output.log with an unconverged "
              "solution, 'a.hdf'");
  check_error("[problem]\ninitial = ./a.hdf\n[output]\nlog = a.hdf", NULL,
              "case.ini:4: output.log: this would overwrite the initial field, 'a.hdf'");
  check_error("[problem]\ninitial = run.unconverged.hdf", NULL,
              "default of output.field: this would overwrite the initial field with an unconverged "
              "solution, 'run.hdf'");
  sp_config *config = read_case("[output]\nlog =\nfield =", NULL);
  CHECK(config && !config->output.log[0] && !config->output.field[0], "neither log nor field");
  sp_config_destroy(&config);
  config = read_case("[output]\nlog = a.h5", NULL);
  if (config) {
    sp_output_path outputs[SP_OUTPUTS];
    sp_config_outputs(config, outputs);
    CHECK_TEXT(outputs[SP_OUTPUT_LOG].path, "a.h5");
    CHECK_TEXT(outputs[SP_OUTPUT_LOG].where, "case.ini:2: output.log");
    CHECK(!outputs[SP_OUTPUT_FIELD].where, "the place of a default");
  }
  sp_config_destroy(&config);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  enter_folder();
  test_defaults();
  test_every_key();
  test_choices();
  test_values();
  test_mesh();
  test_tolerance();
  test_multigrid();
  test_outputs();
  leave_folder();
  return check_end();
}
