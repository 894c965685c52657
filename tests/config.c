/* Reading cases: every key, its values, and the messages for wrong ones. */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>

#include "solver/config/internal.h"
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
  check_error(NULL, TEXTS(text), message);
}

/* The default of every key, by the table, in a case that sets nothing. */
static void check_defaults(const sp_config *config) {
  char *text = NULL;
  size_t length;
  FILE *stream = open_memstream(&text, &length);
  CHECK(stream, "no stream in memory");
  if (!stream || !config) return;
  for (int k = 0; k < sp_key_count; k++) {
    const sp_key *key = &sp_keys[k];
    if (key->list || strcmp(key->section, "boundary") == 0) continue;
    rewind(stream);
    key->type->print(key, sp_key_field(config, key, 0), stream);
    fputc('\0', stream);
    fflush(stream);
    const bool same = key->type == &sp_number_value && key->count == 1
                          ? strtod(text, NULL) == strtod(key->fallback, NULL) /* 1e-08 is 1e-8 */
                          : strcmp(text, key->fallback) == 0;
    CHECK(same, "%s.%s is '%s'", key->section, key->name, text);
  }
  fclose(stream);
  free(text);
  CHECK(config->mesh.shape == SP_SHAPE_BOX && !config->mesh.file && config->mesh.where, "mesh");
  CHECK(!sp_config_where(config, "problem", "lambda") &&
            !sp_config_where(config, "problem", "kappa"),
        "what was not given");
  CHECK_TEXT(config->statement.all.solution.text, NULL);
  CHECK(config->statement.boundary.count == 0 && !config->statement.boundary.fallback.where,
        "%d groups", config->statement.boundary.count);
  CHECK_TEXT(config->statement.boundary.fallback.group, "default");
  CHECK(strcmp(config->statement.boundary.fallback.type->name, "dirichlet") == 0, "fallback");
  CHECK_TEXT(config->statement.boundary.fallback.formula.text, NULL);
  CHECK(config->statement.operator_kind == SP_BP35 && config->solver.tolerance == 1e-8 &&
            config->statement.order == 7 && config->solver.max_iterations == 1000,
        "typed defaults");
}

static void test_defaults(void) {
  sp_config *config = read_case(NULL, NULL);
  check_defaults(config);
  sp_config_destroy(&config);
  CHECK(!config, "not set to NULL");
  sp_config_destroy(&config);
  config = read_case("", NULL);
  check_defaults(config);
  sp_config_destroy(&config);

  char *text = NULL;
  size_t length;
  FILE *stream = open_memstream(&text, &length);
  CHECK(stream, "no stream in memory");
  if (!stream) return;
  CHECK_OK(sp_config_print_defaults(stream));
  fclose(stream);
  config = read_case(text, NULL);
  check_defaults(config);
  sp_config_destroy(&config);
  /* --defaults has every key, with its default. */
  for (int k = 0; k < sp_key_count; k++) {
    if (!sp_keys[k].name) continue;
    const char *line =
        test_text(sp_keys[k].list ? "# %s =" : "%s = %s\n", sp_keys[k].name, sp_keys[k].fallback);
    CHECK(strstr(text, line), "--defaults lacks '%s'", line);
  }
  static const char *const words[] = {"# NAME = dirichlet", "(an integer from 1 to 15)",
                                      "# [material NAME]", "# [region NAME]"};
  for (size_t w = 0; w < COUNT_OF(words); w++)
    CHECK(strstr(text, words[w]), "--defaults lacks '%s'", words[w]);
  free(text);
}

static void test_every_key(void) {
  AUTO(sp_config) config = read_case(every_key, NULL);
  if (!config) return;
  const int elements[] = {2, 3, 4};
  const double lower[] = {-1, -0.5, 0.1}, upper[] = {1, 2.5, 3};
  const sp_boundary_entry *entries = config->statement.boundary.entries;
  CHECK(memcmp(config->mesh.box.elements, elements, sizeof elements) == 0 &&
            memcmp(config->mesh.box.lower, lower, sizeof lower) == 0 &&
            memcmp(config->mesh.box.upper, upper, sizeof upper) == 0,
        "box");
  CHECK(config->mesh.shape == SP_SHAPE_BOX && !config->mesh.file && config->mesh.refine == 10 &&
            config->mesh.box.map == SP_MAP_KERSHAW && config->mesh.box.epsilon == 0.25,
        "mesh");
  CHECK(config->statement.order == 15 && config->statement.operator_kind == SP_BP30 &&
            config->solver.geometry == SP_GEOMETRY_TRILINEAR,
        "discretization");
  CHECK(sp_config_where(config, "problem", "lambda") && sp_config_where(config, "problem", "kappa"),
        "lambda and kappa are given");
  CHECK(config->solver.tolerance == 1e-3 && config->solver.max_iterations == INT32_MAX &&
            config->solver.preconditioner == SP_PRECONDITIONER_JACOBI,
        "solver");
  CHECK(config->backend.device == SP_DEVICE_HOST && config->backend.share == SP_SHARE_YES &&
            config->backend.threads == 3,
        "backend");
  CHECK(config->output.flux == 1 && config->output.accuracy == 1, "flux, accuracy");
  CHECK(config->statement.boundary.count == 5 &&
            strcmp(config->statement.boundary.fallback.type->name, "neumann") == 0,
        "%d groups", config->statement.boundary.count);
  if (config->statement.boundary.count == 5) {
    static const char *const conditions[] = {"neumann", "dirichlet", "robin", "robin", "periodic"};
    const char *const texts[][2] = {
        {config->mesh.where, "case.ini:9: mesh.refine"},
        {config->statement.all.lambda.text, "2*pi"},
        {config->statement.all.lambda.where, "case.ini:16: problem.lambda"},
        {config->statement.all.kappa.text, "1 + x^2"},
        {config->statement.all.solution.text, "x == 1 ? sin(pi*x) : y*z"},
        {config->statement.all.forcing.text, "z"},
        {config->output.log, "a b#c.h5"},
        {config->output.field, ""},
        {entries[0].where, "case.ini:25: boundary.the left.wall"},
        {entries[0].group, "the left.wall"},
        {entries[0].formula.text, "x + 1"},
        {entries[0].formula.where, "case.ini:25: boundary.the left.wall"},
        {entries[1].group, "1"},
        {entries[1].formula.text, NULL},
        {entries[1].coefficients[0].text, NULL},
        {entries[2].coefficients[0].text, "max(x, (y))*2"},
        {entries[2].coefficients[0].where, "case.ini:28: boundary.2 (alpha)"},
        {entries[2].formula.text, "min(z, 1)"},
        {entries[2].formula.where, "case.ini:28: boundary.2 (g)"},
        {entries[3].coefficients[0].text, "1"},
        {entries[3].formula.text, NULL},
        {entries[3].partner, NULL},
        {entries[4].partner, "the other one"},
        {entries[4].formula.where, "case.ini:30: boundary.4"}};
    for (size_t t = 0; t < COUNT_OF(texts); t++) CHECK_TEXT(texts[t][0], texts[t][1]);
    for (int e = 0; e < 5; e++) CHECK_TEXT(entries[e].type->name, conditions[e]);
  }
}

/* Every word that a key may have is its number in the list of words. */
static void test_choices(void) {
  for (int k = 0; k < sp_key_count; k++) {
    const sp_key *key = &sp_keys[k];
    if (key->type != &sp_choice_value || key->list || strcmp(key->name, "shape") == 0) continue;
    for (int c = 0; key->choices[c]; c++) {
      int number;
      const char *argument = test_text("%s.%s=%s", key->section, key->name, key->choices[c]);
      const char *end = strcmp(key->section, "time") == 0 ? "time.end=1" : NULL;
      AUTO(sp_config)
      config = read_case("[mesh]\nmap = kershaw\nsize = 1\n", TEXTS(argument, end, "time.steps=1"));
      if (!config) continue;
      memcpy(&number, sp_key_field(config, key, 0), sizeof number);
      CHECK(number == c, "%s gives %d", argument, number);
    }
  }
  CHECK(SP_MAP_SINE == 1 && SP_GEOMETRY_STORED == 1 && SP_DEVICE_CUDA == 2, "numbers");
}

static void test_values(void) {
  static const struct {
    const char *section, *key, *expected, *wrong; /* values, which '|' separates */
  } keys[] = {
      {"mesh", "shape", "file or box", "cube|Box|box box|"},
      {"mesh", "elements", "3 integers from 1 to 2147483647",
       "8|8 8|8 8 8 8|8 8 0|8 8 8x|8,8,8|8 8 2.5|8 8 3000000000|"},
      {"mesh", "lower", "3 numbers", "0 0|0 0 0 0|0 0 nan|0 0 inf|0 0 1e999|a|"},
      {"mesh", "upper", "3 numbers", "1 1|1 1 1 1|1 1 0x1|1 1 -|1 1 1e|1;1;1|"},
      {"mesh", "map", "none, sine or kershaw", "sin|1|"},
      {"mesh", "epsilon", "a number above 0 and at most 1", "0|-0.1|1.0000001|x|0.3 0.3|1e-999|"},
      {"mesh", "step", "quintic or linear", "cubic|"},
      {"mesh", "size", "a number of at least 0", "-1|nan|mm|1 1|"},
      {"mesh", "size_min", "a number of at least 0", "-1|nan|mm|1 1|"},
      {"mesh", "grading", "no or yes", "2|true|"},
      {"mesh", "background", "full or empty", "yes|"},
      {"mesh", "curvature", "a number of at least 0 and at most 100", "-1|101|nan|fine|1 1|"},
      {"mesh", "scale", "a number above 0", "0|-1|1e999|1e-999|nan|mm|1 1|"},
      {"mesh", "refine", "an integer from 0 to 10", "-1|11|1.0|1e1|0x1|1,|x|"},
      {"discretization", "order", "an integer from 1 to 15",
       "0|16|x|7 7|7x|99999999999999999999|-99999999999999999999|4294967303|"},
      {"discretization", "operator", "mass, bp3.5 or bp3.0", "bp3|BP3.5|"},
      {"discretization", "geometry", "auto, stored or trilinear", "affine|"},
      {"problem", "lambda", "a formula", ""},
      {"problem", "kappa", "a formula", ""},
      {"constants", "h", "a formula", ""},
      {"time", "end", "a number of at least 0", "-1|nan|1 1|"},
      {"time", "step", "a number of at least 0", "-1|nan|1 1|"},
      {"time", "steps", "an integer from 0 to 2147483647", "-1|1.5|"},
      {"time", "tolerance", "a number of at least 0 and below 1", "-1|1|x|"},
      {"time", "scheme", "bdf1, bdf2, bdf3, sdirk2 or cn", "bdf4|"},
      {"time", "every", "an integer from 1 to 2147483647", "0|1.5|"},
      {"time", "interval", "a number of at least 0", "-1|1 1|"},
      {"time", "at", "at most 256 increasing numbers above 0", "0|1 x|2 1|1 1|1,2|1e999"},
      {"boundary", "default", "dirichlet, neumann, robin or radiation",
       "robyn 1|periodic a|dirichlet(x)|"},
      {"boundary", "some wall", "dirichlet, neumann, robin, radiation, periodic, source or contact",
       "x|neumannx|"},
      {"solver", "tolerance", "a number above 0 and below 1", "0|1|-1e-8|nan|1e-8 x|1e-999|1,5|"},
      {"solver", "max_iterations", "an integer from 1 to 2147483647", "0|-5|2147483648|1e3|many|"},
      {"solver", "preconditioner", "auto, none, jacobi or multigrid", "ilu|"},
      {"solver", "smoother", "auto, jacobi or schwarz", "ilu|"},
      {"solver", "smoother_degree", "an integer from 0 to 6", "-1|7|3 3|"},
      {"solver", "orders", "at most 16 integers from 1 to 15",
       "7 5 3 0|16 1|7, 5, 3, 1|7 5 x|7 5 3 1 1 1 1 1 1 1 1 1 1 1 1 1 1"},
      {"solver", "coarse", "auto, amg, direct or chebyshev", "hypre|"},
      {"solver", "precision", "auto, single or double", "half|"},
      {"backend", "device", "auto, host or cuda", "gpu|"},
      {"backend", "exchange", "auto, peer, cuda-aware, nccl or staged", "mpi|"},
      {"backend", "share", "no or yes", "true|1|"},
      {"backend", "threads", "an integer from 0 to 1024", "-1|1025|auto|"},
      {"solver", "criterion", "energy or residual", "norm|"},
      {"probe", "tip", "3 numbers", "0 0|0 0 0 0|0 0 0x1|"},
      {"line", "cut", "x y z, x y z, n: two different points and n from 2 to 10000",
       "0 0 0, 1 1 1|0 0 0 1 1 1 5|0 0, 1 1 1, 5|0 0 0, 0 0 0, 5|0 0 0, 1 1 1, 1|"
       "0 0 0, 1 1 1, 10001|0 0 0, 1 1 1, 2.5|0 0 0, 1 1 1, 5 6|0 0 0, 1e999 1 1, 5|"
       "0 0 nan, 1 1 1, 5|"},
      {"regions", "core", "x y z, x y z[, empty], the lower corner and the upper one",
       "0 0 0|0 0 0 1 1 1|0 0 0, 1 1|0 0 0, 1 1 1 1|0 0 0, 1 1 1, full|0 0 0, 1 1 1 empty|"
       "0 0 nan, 1 1 1|0 0 0x1, 1 1 1|0 0 0, 1 1 1e999|0 0 0, 1 1 1, 5|0 0 0, 1 1 1, empty 1|"},
      {"output", "flux", "no or yes", "true|1|Yes"},
      {"output", "accuracy", "no or yes", "true|1|"},
      {"result", "heat", "integral, average, minimum, maximum, norm, resistance, flux or formula",
       "mean over xmin|mean of u|"},
  };
  enum { LISTED = COUNT_OF(keys) };
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
    for (const char *wrong = keys[k].wrong; wrong; wrong = strchr(wrong, '|')) {
      char complaint[512];
      wrong += *wrong == '|';
      const char *value = test_text("%.*s", (int)strcspn(wrong, "|"), wrong);
      snprintf(complaint, sizeof complaint,
               *value ? "expected %s, found '%s'" : "expected %s, found nothing", keys[k].expected,
               value);
      check_value(keys[k].section, keys[k].key, value, complaint);
    }
}

#define BOX_ONLY "valid only for a box, but mesh.file is given; remove one of the two"
#define EQUAL_ONLY "valid only for a box without mesh.size; remove mesh.size, mesh.file or this"
#define GRADED_ONLY                                                                                \
  "valid only for a box with mesh.size and mesh.grading = yes, or for a geometry from CAD"
#define KERSHAW_ONLY "valid only with map = kershaw; remove it or set the map"
#define BOX_IS "expected a finite box with mesh.upper above mesh.lower, found "

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
      {"[mesh]\nelements = 1 1 1\nfile = a", NULL, "case.ini:2: mesh.elements: " EQUAL_ONLY},
      {"[mesh]\nelements = 1 1 1\nsize = 0.1", NULL, "case.ini:2: mesh.elements: " EQUAL_ONLY},
      {"[mesh]\nsize = 0.1\nfile = a.msh", NULL,
       "case.ini:2: mesh.size: valid only for a box or if mesh.file is a geometry from CAD (.step, "
       ".brep, .iges)"},
      {"[mesh]\nsize = 0.1\nsize_min = 0.01", NULL, "case.ini:3: mesh.size_min: " GRADED_ONLY},
      {"[mesh]\nsize_min = 0.01\nfile = a.msh", NULL, "case.ini:2: mesh.size_min: " GRADED_ONLY},
      {"[mesh]\nsize = 0.1\nsize_min = 0.2\ngrading = yes", NULL,
       "case.ini:3: mesh.size_min: expected at most mesh.size, 0.1, found 0.2"},
      {"[mesh]\ngrading = yes", NULL,
       "case.ini:2: mesh.grading: valid only for a box with mesh.size; remove it or give the size"},
      {"[mesh]\nbackground = empty\nfile = a.msh", NULL, "case.ini:2: mesh.background: " BOX_ONLY},
      {"[mesh]\nbackground = empty\n[regions]\na = 0 0 0, 1 1 0", NULL,
       "case.ini:4: regions.a: " BOX_IS "0 to 0 in z"},
      {"[regions]\na = 0 0 0, 1 1 0", NULL,
       "case.ini:2: regions.a: expected upper above lower, found 0 to 0 in z"},
      {"[regions]\na = 0 0 0, 1 1 1", "mesh.file=a.msh",
       "case.ini:2: regions.a: only a box has regions, but mesh.file is given: use the Physical "
       "Volumes of the mesh"},
      {"[mesh]\nfile = a\nlower = 0 0 0", NULL, "case.ini:3: mesh.lower: " BOX_ONLY},
      {"[mesh]\nfile = a\nupper = 0 0 0", NULL, "case.ini:3: mesh.upper: " BOX_ONLY},
      {"[mesh]\nfile = a\nmap = none", NULL, "case.ini:3: mesh.map: " BOX_ONLY},
      {"[mesh]\nfile = a\nepsilon = 0.5", NULL, "case.ini:3: mesh.epsilon: " KERSHAW_ONLY},
      {"[mesh]\nepsilon = 0.5", "mesh.map=sine", "case.ini:2: mesh.epsilon: " KERSHAW_ONLY},
      {"[mesh]\nupper = 1 0 1", NULL, "case.ini:2: mesh.upper: " BOX_IS "0 to 0 in y"},
      {"[mesh]\nlower = 0 0 2", NULL, "case.ini:2: mesh.lower: " BOX_IS "2 to 1 in z"},
      {"[mesh]\nlower = -1e308 0 0", "mesh.upper=1e308 1 1",
       "argument 'mesh.upper=1e308 1 1': " BOX_IS "-1e+308 to 1e+308 in x"},
  };
  for (size_t e = 0; e < COUNT_OF(errors); e++)
    check_error(errors[e].text, TEXTS(errors[e].override), errors[e].message);

  AUTO(sp_config) config = read_case("[mesh]\nfile = a b.msh\n", NULL);
  if (config) {
    CHECK(config->mesh.shape == SP_SHAPE_FILE, "shape");
    CHECK_TEXT(config->mesh.file, "a b.msh");
    CHECK_TEXT(config->mesh.where, "case.ini:2: mesh.file");
  }
  sp_config_destroy(&config);
  config = read_case("[mesh]\nfile = a.msh\n",
                     TEXTS("mesh.file=", "mesh.shape=box", "mesh.map=sine", "mesh.lower=-1 0 0"));
  CHECK(config && config->mesh.shape == SP_SHAPE_BOX && !config->mesh.file &&
            config->mesh.box.lower[0] == -1 && config->mesh.box.map == SP_MAP_SINE,
        "a box instead of a file");
}

/* Regions of both forms. Without corners, a box that has only regions takes their extent. */
static void test_regions(void) {
  AUTO(sp_config)
  config = read_case("[mesh]\nsize = 0.5\nsize_min = 0.1\ngrading = yes\nbackground = empty\n"
                     "[regions]\na = 0 -1 0, 2 1 1\nhole = 0.5 0 0 , 9 0.5 1e0 ,  empty\n"
                     "[region b]\nlower = 1 1 1\nupper = 3 2 2\n",
                     TEXTS("region.b.empty=yes", "region.b.empty=",
                           "regions.hole.x="
                           "0 0 0, 1 1 1",
                           "regions.hole.x="));
  if (!config) return;
  const sp_box *box = &config->mesh.box;
  const sp_box_region *r = config->mesh.regions.entries;
  CHECK(config->mesh.regions.count == 3 && config->mesh.grading == 1 &&
            config->mesh.sizes.largest == 0.5 && config->mesh.sizes.smallest == 0.1,
        "%d regions", config->mesh.regions.count);
  CHECK(box->background == SP_BACKGROUND_EMPTY && box->lower[0] == 0 && box->lower[1] == -1 &&
            box->lower[2] == 0 && box->upper[0] == 3 && box->upper[1] == 2 && box->upper[2] == 2,
        "corners of the box");
  CHECK(!r[0].empty && r[1].empty && !r[2].empty && r[1].lower[0] == 0.5 && r[1].upper[0] == 9,
        "regions");
  CHECK_TEXT(r[1].where, "case.ini:8: regions.hole");
  CHECK_TEXT(config->mesh.where, "case.ini:2: mesh.size");
  check_round_trip(config);
}

/* The bound is the rounding of double precision, 2.2e-16. */
static void test_tolerance(void) {
  check_error("", TEXTS("solver.tolerance=2e-16"),
              "argument 'solver.tolerance=2e-16': 2e-16 cannot be reached: double precision rounds "
              "the right-hand side itself to 2.2e-16 of its size; give that or more");
  AUTO(sp_config) config = read_case("[solver]\ntolerance = 2.3e-16", NULL);
  CHECK(config && config->solver.tolerance == 2.3e-16, "%s", sp_error_message());
}

static void test_multigrid(void) {
  static const char *const wrong[] = {"5 3 1", "7 5 3", "7 3 5 1", "7 7 1", "1"};
  static const char fall[] = "expected decreasing orders from discretization.order, 7, to 1";
  sp_config *config =
      read_case("[solver]\npreconditioner = multigrid\norders = 7 4 1\ncoarse = chebyshev\n",
                TEXTS("solver.smoother_degree=5"));
  if (config) {
    const sp_list *orders = &config->solver.orders;
    CHECK(orders->count == 3 && orders->values[0] == 7 && orders->values[1] == 4 &&
              orders->values[2] == 1,
          "orders");
    CHECK(config->solver.smoother_degree == 5 && config->solver.coarse == SP_COARSE_CHEBYSHEV,
          "multigrid");
  }
  sp_config_destroy(&config);
  for (size_t w = 0; w < COUNT_OF(wrong); w++) {
    const char *argument = test_text("solver.orders=%s", wrong[w]);
    const char *message = test_text("argument '%s': %s", argument, fall);
    check_error(NULL, TEXTS(argument), message);
  }
  check_error("[solver]\npreconditioner = jacobi\norders = 7 1\n", NULL,
              "case.ini:3: solver.orders: valid only with preconditioner = multigrid; remove it or "
              "set the preconditioner");
}

static void test_outputs(void) {
  check_error("[output]\nlog = a.h5\nfield = a.h5", NULL,
              "case.ini:3: output.field: log and field are the same file, 'a.h5'");
  check_error("[output]\nfield = a.vtk", NULL,
              "case.ini:2: output.field: expected a name that ends in .hdf, found 'a.vtk'");
  check_error("[output]\nlog = run.hdf", NULL,
              "case.ini:2: output.log: log and field are the same file, 'run.hdf'");
  check_error("[output]\nfield = a.hdf\nlog = ./a.unconverged.hdf", NULL,
              "case.ini:2: output.field: this would overwrite output.log with an unconverged "
              "solution, 'a.unconverged.hdf'");
  check_error("[problem]\ninitial = ./a.hdf\n[output]\nlog = a.hdf", NULL,
              "case.ini:4: output.log: this would overwrite the initial field, 'a.hdf'");
  check_error("[problem]\ninitial = run.unconverged.hdf", NULL,
              "default of output.field: this would overwrite the initial field with an unconverged "
              "solution, 'run.unconverged.hdf'");
  AUTO(sp_config) config = read_case("[output]\nlog =\nfield =", NULL);
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
}

/* A typo in any formula, and other faults that need no mesh, are reported before the mesh is
 * opened: the file does not exist. */
static void test_formulas(void) {
  static const char typo[] = "column 4: expected a number, a name or '(', found end of formula";
  static const char no_total[] =
      "expected a finite number, the total of the source, found 'x'; a formula of x, y and z is a "
      "forcing or, on a surface, neumann";
  static const char no_constant[] =
      "expected six constants, the vectors x1, x2, x3 and y1, y2, y3, found '1,0,0,0,x,0'";
  static const struct {
    const char *override, *part, *complaint;
  } cases[] = {
      {"constants.h=1 +", "", typo},
      {"problem.kappa=1 +", "", typo},
      {"problem.kappa=1, 1, 1 +", " (zz)", typo},
      {"problem.kappa=0", "", "expected a finite number from 1e-250 to 1e250, found '0'"},
      {"problem.axes=1, 0, 0, 0, 1, 0", "",
       "no kappa has three or six components, which axes are for; remove it"},
      {"problem.lambda=1 +", "", typo},
      {"problem.lambda=1 2", "", "expected one number or one formula, found '1 2'"},
      {"problem.solution=1 +", "", typo},
      {"problem.forcing=1 +", "", typo},
      {"problem.source=x", "", no_total},
      {"problem.initial=1 +", "", typo},
      {"boundary.default=neumann 1 +", "", typo},
      {"boundary.a=dirichlet 1 +", "", typo},
      {"boundary.a=neumann 1 +", "", typo},
      {"boundary.a=robin 1 +, 1", " (alpha)", typo},
      {"boundary.a=robin 1, 1 +", " (g)", typo},
      {"boundary.a=source x", "", no_total},
      {"boundary.a=contact 1 +", "", typo},
      {"boundary.a=contact 0", "", "expected a resistance from 1e-12 to 1e+12, found '0'"},
      {"boundary.a=dirichlet", "",
       "'a = dirichlet' needs a formula, because there is no problem.solution to take the boundary "
       "values from"},
      {"result.a=integral of 1 +", "", typo},
      {"material.a.kappa=1 +", "", typo},
      {"material.a.kappa=1, 1 +, 1", " (yy)", typo},
      {"material.a.lambda=1 +", "", typo},
      {"material.a.capacity=1 +", "", typo},
      {"material.a.solution=1 +", "", typo},
      {"material.a.forcing=1 +", "", typo},
      {"material.a.source=x", "", no_total}};
  for (size_t c = 0; c < COUNT_OF(cases); c++)
    check_error(
        NULL, TEXTS("mesh.file=none.msh", cases[c].override),
        test_text("argument '%s'%s: %s", cases[c].override, cases[c].part, cases[c].complaint));
  static const char axes[] = "problem.axes=1,0,0,0,x,0";
  check_error(NULL, TEXTS("mesh.file=none.msh", "problem.kappa=1, 2, 3", axes),
              test_text("argument '%s': %s", axes, no_constant));
  check_error(
      "[mesh]\nfile = none.msh\n[problem]\nsource = 1\nforcing = 2", NULL,
      "case.ini:4: problem.source: source and forcing (case.ini:5: problem.forcing) exclude "
      "each other; remove one");
  check_error("[mesh]\nfile = none.msh\n[discretization]\noperator = mass\n[result]\n"
              "a = flux over b",
              NULL, "case.ini:6: result.a: the mass problem has no flux; choose another result");
}

/* A mesh of 1 GB is not read with the case. */
static void test_large_mesh(void) {
  static const char large[] = "large.msh";
  if (world_size > 1) return; /* more ranks than cores take turns */
  write_text(large, "");
  CHECK(truncate(large, (off_t)1 << 30) == 0, "cannot enlarge %s", large);
  const double start = MPI_Wtime();
  AUTO(sp_config) config = read_case(NULL, TEXTS("mesh.file=large.msh", "problem.forcing=x"));
  const double seconds = MPI_Wtime() - start;
  CHECK(seconds < 0.1, "%g s", seconds);
  (void)unlink(large);
}

int main(int argc, char **argv) {
  begin_cases(&argc, &argv);
  test_defaults();
  test_every_key();
  test_choices();
  test_values();
  test_mesh();
  test_regions();
  test_tolerance();
  test_multigrid();
  test_outputs();
  test_formulas();
  test_large_mesh();
  return end_cases();
}
