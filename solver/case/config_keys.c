/* The table of all keys, and the error for names that are not in it. */
#include "solver/case/config_keys.h"

#include <float.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "io/ini.h"
#include "io/threads.h"
#include "solver/linear/cg.h"

_Static_assert(sizeof(sp_shape) == sizeof(int), "enums are written and read as int");

static const char *const shapes[] = {[SP_SHAPE_FILE] = "file", [SP_SHAPE_BOX] = "box", NULL};
static const char *const conditions[] = {[SP_DIRICHLET] = "dirichlet",
                                         [SP_NEUMANN] = "neumann",
                                         [SP_ROBIN] = "robin",
                                         [SP_PERIODIC] = "periodic",
                                         NULL};
/* `default` cannot be periodic: it names no pair of groups. */
static const char *const default_conditions[] = {
    [SP_DIRICHLET] = "dirichlet", [SP_NEUMANN] = "neumann", [SP_ROBIN] = "robin", NULL};

static const char *const no_or_yes[] = {"no", "yes", NULL};

static const char *const result_kinds[] = {[SP_RESULT_INTEGRAL] = "integral",
                                           [SP_RESULT_AVERAGE] = "average",
                                           [SP_RESULT_MINIMUM] = "minimum",
                                           [SP_RESULT_MAXIMUM] = "maximum",
                                           [SP_RESULT_NORM] = "norm",
                                           [SP_RESULT_FLUX] = "flux",
                                           NULL};

const char *sp_result_kind_name(sp_result_kind kind) {
  return result_kinds[kind];
}

const char *sp_condition_name(sp_condition condition) {
  return conditions[condition];
}

static bool is_box(const sp_config *config) {
  return config->mesh.shape == SP_SHAPE_BOX;
}

static bool is_kershaw(const sp_config *config) {
  return is_box(config) && config->mesh.map == SP_MAP_KERSHAW;
}

/* The mass problem refuses these three keys if they are given at all. So a resolved case has them
 * as comments unless the user gave them. */
static bool is_lambda_given(const sp_config *config) {
  return config->problem.lambda_given;
}

static bool is_kappa_given(const sp_config *config) {
  return config->problem.kappa_given;
}

static bool is_boundary_given(const sp_config *config) {
  return config->boundary.where;
}

/* `auto` may become multigrid. */
static bool may_be_multigrid(const sp_config *config) {
  const sp_preconditioner_kind kind = config->solver.preconditioner;
  return kind == SP_PRECONDITIONER_MULTIGRID || kind == SP_PRECONDITIONER_AUTO;
}

#define FIELD(member) .offset = offsetof(sp_config, member)
#define MATERIAL(member)                                                                           \
  .type = SP_KEY_FORMULA, .offset = offsetof(sp_material_entry, member), .named = true,            \
  .optional = true, .fallback = ""
#define REGION(member)                                                                             \
  .type = SP_KEY_NUMBER, .offset = offsetof(sp_region_entry, member), .named = true, .count = 3,   \
  ANY_NUMBER
#define WORDS(list) .type = SP_KEY_CHOICE, .choices = (list)
#define ANY_NUMBER .minimum = -DBL_MAX, .maximum = DBL_MAX
#define MULTIGRID_ONLY                                                                             \
  .applies = may_be_multigrid,                                                                     \
  .misfit = "only preconditioner = multigrid has this; drop it or set the preconditioner"
#define BOX_ONLY                                                                                   \
  .applies = is_box, .misfit = "only a box has this, but mesh.file is given; drop one of the two"

const sp_key sp_keys[] = {
    {.section = "mesh",
     .name = "file",
     .type = SP_KEY_TEXT,
     FIELD(mesh.file),
     .optional = true,
     .fallback = "",
     .help = "mesh of hexahedra, .msh or .geo; relative to the case file that names it"},
    {.section = "mesh",
     .name = "shape",
     .type = SP_KEY_CHOICE,
     FIELD(mesh.shape),
     .choices = shapes,
     .fallback = "box",
     .help = "file where file is given, otherwise box"},
    {.section = "mesh",
     .name = "elements",
     .type = SP_KEY_INTEGER,
     FIELD(mesh.elements),
     .count = 3,
     .minimum = 1,
     .maximum = INT_MAX,
     .fallback = "8 8 8",
     BOX_ONLY,
     .help = "elements of the box in x, y and z"},
    {.section = "mesh",
     .name = "lower",
     .type = SP_KEY_NUMBER,
     FIELD(mesh.lower),
     .count = 3,
     ANY_NUMBER,
     .fallback = "0 0 0",
     BOX_ONLY,
     .help = "corner of the box"},
    {.section = "mesh",
     .name = "upper",
     .type = SP_KEY_NUMBER,
     FIELD(mesh.upper),
     .count = 3,
     ANY_NUMBER,
     .fallback = "1 1 1",
     BOX_ONLY,
     .help = "the corner opposite to lower"},
    {.section = "mesh",
     .name = "map",
     WORDS(sp_map_names),
     FIELD(mesh.map),
     .fallback = "none",
     BOX_ONLY,
     .help = "deformation of the box"},
    {.section = "mesh",
     .name = "epsilon",
     .type = SP_KEY_NUMBER,
     FIELD(mesh.epsilon),
     .count = 1,
     .minimum = 0,
     .minimum_excluded = true,
     .maximum = 1,
     .fallback = "0.3",
     .applies = is_kershaw,
     .misfit = "only map = kershaw has this; drop it or set the map",
     .help = "for map = kershaw: 1 is the plain box, smaller deforms it more"},
    {.section = "mesh",
     .name = "step",
     WORDS(sp_step_names),
     FIELD(mesh.step),
     .fallback = "quintic",
     .applies = is_kershaw,
     .misfit = "only map = kershaw has this; drop it or set the map",
     .help = "for map = kershaw: how layers are blended; linear as in nekRS"},
    {.section = "mesh",
     .name = "refine",
     .type = SP_KEY_INTEGER,
     FIELD(mesh.refine),
     .count = 1,
     .minimum = 0,
     .maximum = 10,
     .fallback = "0",
     .help = "uniform refinements, each divides every element into 8"},

    {.section = "discretization",
     .name = "order",
     .type = SP_KEY_INTEGER,
     FIELD(discretization.order),
     .count = 1,
     .minimum = 1,
     .maximum = 15,
     .fallback = "7",
     .help = "polynomial order N"},
    {.section = "discretization",
     .name = "operator",
     WORDS(sp_operator_names),
     FIELD(discretization.operator_kind),
     .fallback = "bp3.5",
     .help = "what is solved, and with which quadrature"},
    {.section = "discretization",
     .name = "geometry",
     WORDS(sp_geometry_names),
     FIELD(discretization.geometry),
     .fallback = "auto",
     .help = "factors stored at every point, or recomputed from the corners"},

    {.section = "problem",
     .name = "lambda",
     .type = SP_KEY_FORMULA,
     FIELD(problem.lambda),
     .fallback = "1",
     .applies = is_lambda_given,
     .help = "formula >= 0 in -div(kappa grad u) + lambda u = f; not for the mass operator"},
    {.section = "problem",
     .name = "kappa",
     .type = SP_KEY_FORMULA,
     FIELD(problem.kappa),
     .fallback = "1",
     .applies = is_kappa_given,
     .help = "formula > 0, the diffusion coefficient; not for the mass operator"},
    {.section = "problem",
     .name = "solution",
     .type = SP_KEY_FORMULA,
     FIELD(problem.solution),
     .optional = true,
     .fallback = "",
     .help = "exact solution u(x, y, z), where one is known"},
    {.section = "problem",
     .name = "forcing",
     .type = SP_KEY_FORMULA,
     FIELD(problem.forcing),
     .optional = true,
     .fallback = "",
     .help = "right-hand side f; derived from solution if empty"},
    {.section = "problem",
     .name = "initial",
     .type = SP_KEY_FORMULA,
     FIELD(problem.initial),
     .optional = true,
     .fallback = "",
     .help = "what CG starts from: a formula, or a field (.hdf) of this mesh; path as mesh.file"},

    {.section = "boundary",
     .name = "default",
     .type = SP_KEY_CONDITION,
     FIELD(boundary.fallback),
     .choices = default_conditions,
     .fallback = "dirichlet",
     .applies = is_boundary_given,
     .help = "faces of no group listed; without a formula, data come from solution"},
    {.section = "boundary",
     .name = NULL,
     .type = SP_KEY_CONDITION,
     .choices = conditions,
     .help = "GROUP = dirichlet [G] | neumann [G] | robin ALPHA[, G] | periodic OTHER, one line "
             "per group"},

    {.section = "solver",
     .name = "tolerance",
     .type = SP_KEY_NUMBER,
     FIELD(solver.tolerance),
     .count = 1,
     .minimum = 0,
     .minimum_excluded = true,
     .maximum = 1,
     .maximum_excluded = true,
     .fallback = "1e-8",
     .help = "on the error, see solver.criterion"},
    {.section = "solver",
     .name = "criterion",
     .type = SP_KEY_CHOICE,
     .choices = sp_cg_criterion_names,
     FIELD(solver.criterion),
     .fallback = "energy",
     .help = "energy: the estimated error in the energy norm, relative to what CG has added to its "
             "start; residual: ||r|| / ||b||, for benchmarks that are defined by it"},
    {.section = "solver",
     .name = "max_iterations",
     .type = SP_KEY_INTEGER,
     FIELD(solver.max_iterations),
     .count = 1,
     .minimum = 1,
     .maximum = INT_MAX,
     .fallback = "1000",
     .help = "limit of the conjugate gradients"},
    {.section = "solver",
     .name = "preconditioner",
     WORDS(sp_preconditioner_names),
     FIELD(solver.preconditioner),
     .fallback = "auto",
     .help =
         "auto: multigrid; jacobi (the diagonal) for mass and for large meshes of order 1 on GPUs"},
    {.section = "solver",
     .name = "smoother",
     WORDS(sp_smoother_names),
     FIELD(solver.smoother),
     .fallback = "auto",
     MULTIGRID_ONLY,
     .help = "of multigrid; auto: schwarz if elements are stretched, else jacobi"},
    {.section = "solver",
     .name = "smoother_degree",
     .type = SP_KEY_INTEGER,
     FIELD(solver.smoother_degree),
     .count = 1,
     .minimum = 1,
     .maximum = 6,
     .fallback = "3",
     MULTIGRID_ONLY,
     .help = "of multigrid's Chebyshev smoother: a higher degree gives fewer, more expensive "
             "iterations"},
    {.section = "solver",
     .name = "orders",
     .type = SP_KEY_LIST,
     FIELD(solver.orders),
     .count = SP_LIST_MOST,
     .minimum = 1,
     .maximum = 15,
     .optional = true,
     .fallback = "",
     MULTIGRID_ONLY,
     .help = "of multigrid's levels, from order down to 1, as 7 4 2 1; empty: chosen"},
    {.section = "solver",
     .name = "coarse",
     WORDS(sp_coarse_names),
     FIELD(solver.coarse),
     .fallback = "auto",
     MULTIGRID_ONLY,
     .help = "multigrid at order 1: direct or amg (hypre), or chebyshev if built without hypre"},
    {.section = "solver",
     .name = "precision",
     WORDS(sp_cycle_precision_names),
     FIELD(solver.precision),
     .fallback = "auto",
     MULTIGRID_ONLY,
     .help = "of multigrid's cycle; auto: single where the device has such operators"},

    {.section = "backend",
     .name = "device",
     WORDS(sp_device_names),
     FIELD(backend.device),
     .fallback = "auto",
     .help = "auto takes a GPU if there is one"},
    {.section = "backend",
     .name = "exchange",
     WORDS(sp_transport_names),
     FIELD(backend.exchange),
     .fallback = "auto",
     .help = "how values travel between GPUs; staged: through the host"},
    {.section = "backend",
     .name = "share",
     WORDS(sp_share_names),
     FIELD(backend.share),
     .fallback = "no",
     .help = "with fewer GPUs than ranks, no: one rank per GPU has elements; yes: all, in turns"},
    {.section = "backend",
     .name = "threads",
     .type = SP_KEY_INTEGER,
     FIELD(backend.threads),
     .count = 1,
     .minimum = 0,
     .maximum = SP_THREADS_MAX,
     .fallback = "0",
     .help = "per rank; 0: OMP_NUM_THREADS, else in set-up and results the cores that ranks leave"},

    {.section = "output",
     .name = "log",
     .type = SP_KEY_TEXT,
     FIELD(output.log),
     .optional = true,
     .fallback = "run.h5",
     .help = "run log (HDF5); empty writes none"},
    {.section = "output",
     .name = "field",
     .type = SP_KEY_TEXT,
     FIELD(output.field),
     .optional = true,
     .fallback = "run.hdf",
     .help = "solution (VTKHDF); empty writes none"},
    {.section = "output",
     .name = "flux",
     .type = SP_KEY_CHOICE,
     .choices = no_or_yes,
     FIELD(output.flux),
     .fallback = "no",
     .help = "whether the field holds kappa grad u, too"},
    {.section = "probe",
     .name = NULL,
     .type = SP_KEY_NUMBER,
     .count = 3,
     ANY_NUMBER,
     .help = "NAME = x y z, one line for each point at which the solution is wanted"},

    {.section = "result",
     .name = NULL,
     .type = SP_KEY_RESULT,
     .choices = result_kinds,
     .help = "NAME = integral | average | minimum | maximum | norm [of FORMULA] [over GROUP], of u "
             "without a formula of x, y, z and u, or NAME = flux over GROUP, one line each"},

    {.section = "material",
     .name = "kappa",
     MATERIAL(kappa),
     .help =
         "in the Physical Volume or region NAME, a name, a number, or default; problem.kappa if "
         "empty"},
    {.section = "material",
     .name = "lambda",
     MATERIAL(lambda),
     .help = "likewise; problem.lambda if empty"},
    {.section = "material",
     .name = "solution",
     MATERIAL(solution),
     .help = "exact solution there; problem.solution if empty"},
    {.section = "material",
     .name = "forcing",
     MATERIAL(forcing),
     .help = "right-hand side there; problem.forcing if empty, or derived from the solution"},

    {.section = "region",
     .name = "lower",
     REGION(lower),
     .help = "corner of a region of the undeformed box, on planes between elements; that of the "
             "box if it is not given"},
    {.section = "region", .name = "upper", REGION(upper), .help = "the corner opposite to lower"},
};
const int sp_key_count = sizeof sp_keys / sizeof sp_keys[0];

const sp_key *sp_key_find(const char *section, const char *name) {
  for (int k = 0; k < sp_key_count; k++)
    if (strcmp(sp_keys[k].section, section) == 0 &&
        (!name || !sp_keys[k].name || strcmp(sp_keys[k].name, name) == 0))
      return &sp_keys[k];
  return NULL;
}

/* ---- Unknown names ---- */

enum { MAX_NAME = 32 };

/* Levenshtein: the number of insertions, deletions and replacements that turn a into b. */
static size_t edit_distance(const char *a, const char *b) {
  size_t row[MAX_NAME + 1];
  const size_t n = strlen(b);
  for (size_t j = 0; j <= n; j++) row[j] = j;
  for (size_t i = 1; a[i - 1]; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      size_t least = diagonal + (a[i - 1] != b[j - 1]);
      if (row[j] + 1 < least) least = row[j] + 1;
      if (row[j - 1] + 1 < least) least = row[j - 1] + 1;
      diagonal = row[j];
      row[j] = least;
    }
  }
  return row[n];
}

/* Append ", name" to a list; it has room for all names of the table. */
static void append_name(char *list, size_t size, const char *name) {
  const size_t length = strlen(list);
  snprintf(list + length, size - length, "%s%s", length > 0 ? ", " : "", name);
}

sp_status sp_key_fail_unknown(const char *location, const char *section, const char *name) {
  const bool section_known = sp_key_find(section, NULL);
  const char *unknown = section_known ? name : section;
  const char *nearest = NULL, *previous = "";
  size_t nearest_distance = SIZE_MAX;
  char known[256] = "";
  for (int k = 0; k < sp_key_count; k++) {
    if (section_known && strcmp(sp_keys[k].section, section) != 0) continue;
    const char *candidate = section_known ? sp_keys[k].name : sp_keys[k].section;
    if (strcmp(candidate, previous) == 0) continue;
    previous = candidate;
    append_name(known, sizeof known, candidate);
    const size_t distance = edit_distance(unknown, candidate);
    if (distance < nearest_distance && distance <= (strlen(candidate) + 2) / 3) {
      nearest = candidate;
      nearest_distance = distance;
    }
  }

  char shown[SP_SHOWN_SIZE];
  sp_ini_show(unknown, shown);
  if (section_known)
    return nearest ? sp_fail(SP_ERR_INPUT, "%s: unknown key '%s' in [%s]; did you mean '%s'?",
                             location, shown, section, nearest)
                   : sp_fail(SP_ERR_INPUT, "%s: unknown key '%s' in [%s]; known are %s", location,
                             shown, section, known);
  return nearest ? sp_fail(SP_ERR_INPUT, "%s: unknown section [%s]; did you mean [%s]?", location,
                           shown, nearest)
                 : sp_fail(SP_ERR_INPUT, "%s: unknown section [%s]; known are %s", location, shown,
                           known);
}
