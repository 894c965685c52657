/* The table of all keys, and the error for names that are not in it. */
#include "solver/config/internal.h"

#include <float.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/gmsh/gmsh.h"

_Static_assert(sizeof(sp_shape) == sizeof(int), "enums are written and read as int");

static const char *const shapes[] = {[SP_SHAPE_FILE] = "file", [SP_SHAPE_BOX] = "box", NULL};

static const char *const no_or_yes[] = {"no", "yes", NULL};

static bool is_box(const sp_config *config) {
  return config->mesh.shape == SP_SHAPE_BOX;
}

static bool is_file(const sp_config *config) {
  return config->mesh.shape == SP_SHAPE_FILE;
}

static bool is_cad(const sp_config *config) {
  return is_file(config) && sp_gmsh_is_cad(config->mesh.file);
}

static bool may_have_size(const sp_config *config) {
  return is_box(config) || is_cad(config);
}

/* A box whose elements follow its regions. */
static bool has_size(const sp_config *config) {
  return is_box(config) && config->mesh.sizes.largest > 0;
}

static bool has_elements(const sp_config *config) {
  return is_box(config) && config->mesh.sizes.largest == 0;
}

static bool may_have_size_min(const sp_config *config) {
  return is_cad(config) || (has_size(config) && config->mesh.grading);
}

static bool is_kershaw(const sp_config *config) {
  return is_box(config) && config->mesh.box.map == SP_MAP_KERSHAW;
}

const char *sp_config_where(const sp_config *config, const char *section, const char *name) {
  return config->given[sp_key_find(section, name) - sp_keys].where;
}

/* The mass problem refuses these three keys if they are given at all. So a resolved case has them
 * as comments unless the user gave them. */
static bool is_lambda_given(const sp_config *config) {
  return sp_config_where(config, "problem", "lambda");
}

static bool is_kappa_given(const sp_config *config) {
  return sp_config_where(config, "problem", "kappa");
}

const char *sp_config_boundary(const sp_config *config) {
  return config->statement.boundary.count > 0 ? config->statement.boundary.entries[0].where
                                              : sp_config_where(config, "boundary", "default");
}

static bool is_boundary_given(const sp_config *config) {
  return sp_config_boundary(config);
}

static bool is_in_time(const sp_config *config) {
  return config->time.end > 0;
}

/* `auto` may become multigrid. */
static bool may_be_multigrid(const sp_config *config) {
  const sp_preconditioner_kind kind = config->solver.preconditioner;
  return kind == SP_PRECONDITIONER_MULTIGRID || kind == SP_PRECONDITIONER_AUTO;
}

#define LIST_OF(member, type, noun)                                                                \
  {                                                                                                \
    .entries = offsetof(sp_config, member.entries), .count = offsetof(sp_config, member.count),    \
    .size = sizeof(type), .where = offsetof(type, where), .what = noun                             \
  }

enum { CONSTANTS, BOUNDARIES, PROBES, LINE_PROBES, RESULTS, MATERIALS, REGIONS };
const sp_key_list sp_key_lists[] = {
    [CONSTANTS] = LIST_OF(constants, sp_constant_entry, "constants"),
    [BOUNDARIES] = LIST_OF(statement.boundary, sp_boundary_entry, "boundary"),
    [PROBES] = LIST_OF(wanted.probes, sp_probe_entry, "probes"),
    [LINE_PROBES] = LIST_OF(wanted.lines, sp_line_entry, "lines"),
    [RESULTS] = LIST_OF(wanted.results, sp_result_entry, "results"),
    [MATERIALS] = LIST_OF(statement.materials, sp_material_entry, "materials"),
    [REGIONS] = LIST_OF(mesh.regions, sp_box_region, "regions")};
const int sp_key_list_count = sizeof sp_key_lists / sizeof *sp_key_lists;

/* Places: a key of the case, lines with a free name, a key of [material NAME] or [region NAME]. */
#define KEY(section_, name_, member)                                                               \
  .section = section_, .name = name_, .offset = offsetof(sp_config, member)
#define LINES(section_, list_, offset_)                                                            \
  .section = section_, .list = &sp_key_lists[list_], .offset = offset_
#define MATERIAL(member)                                                                           \
  .section = "material", .name = #member, .list = &sp_key_lists[MATERIALS],                        \
  .offset = offsetof(sp_material_entry, member), FORMULA, OPTIONAL
#define REGION(member)                                                                             \
  .section = "region", .name = #member, .list = &sp_key_lists[REGIONS],                            \
  .offset = offsetof(sp_box_region, member)

/* Types. */
#define INTEGERS(count_, minimum_, maximum_)                                                       \
  .type = &sp_integer_value, .count = count_, .minimum = minimum_, .maximum = maximum_
#define LIST(count_, minimum_, maximum_) INTEGERS(count_, minimum_, maximum_), .is_list = true
#define NUMBER(minimum_, maximum_)                                                                 \
  .type = &sp_number_value, .count = 1, .minimum = minimum_, .maximum = maximum_
#define TIMES(count_)                                                                              \
  .type = &sp_number_value, .count = count_, .is_list = true, .minimum = 0,                        \
  .minimum_excluded = true, .maximum = DBL_MAX
#define NUMBERS(count_)                                                                            \
  .type = &sp_number_value, .count = count_, .minimum = -DBL_MAX, .maximum = DBL_MAX
#define WORDS(names) .type = &sp_choice_value, .choices = names
#define TEXT(fallback_) .type = &sp_text_value, .optional = true, .fallback = fallback_
#define FORMULA .type = &sp_formula_value
#define OPTIONAL .optional = true, .fallback = ""

/* Conditions. */
#define MULTIGRID_ONLY                                                                             \
  .applies = may_be_multigrid,                                                                     \
  .misfit = "valid only with preconditioner = multigrid; remove it or set the preconditioner"
#define BOX_ONLY                                                                                   \
  .applies = is_box, .misfit = "valid only for a box, but mesh.file is given; remove one of the "  \
                               "two"
#define FILE_ONLY                                                                                  \
  .applies = is_file, .misfit = "valid only with mesh.file; a box has its corners, lower and "     \
                                "upper"
#define CAD_ONLY                                                                                   \
  .applies = is_cad,                                                                               \
  .misfit = "valid only if mesh.file is a geometry from CAD (.step, .brep, .iges)"
#define TIME_ONLY                                                                                  \
  .applies = is_in_time, .misfit = "valid only with time.end; remove it or give the end"
#define KERSHAW_ONLY                                                                               \
  .applies = is_kershaw, .misfit = "valid only with map = kershaw; remove it or set the map"

const sp_key sp_keys[] = {
    {LINES("constants", CONSTANTS, offsetof(sp_constant_entry, value)), FORMULA,
     .help = "NAME = a number or a formula of constants above it, for all formulas of the case"},

    {KEY("units", "temperature", wanted.units.temperature), TEXT(""),
     .help = "label of the unit of u, such as K, in tables and figures; nothing is converted"},
    {KEY("units", "length", wanted.units.length), TEXT(""),
     .help = "label of the unit of coordinates, such as mm; converts nothing, see mesh.scale"},
    {KEY("units", "power", wanted.units.power), TEXT(""),
     .help = "label of the unit of sources and fluxes, such as W"},

    {KEY("mesh", "file", mesh.file), TEXT(""),
     .help =
         "mesh (.msh, .geo) or CAD (.step, .brep, .iges); relative to the case file that names it"},
    {KEY("mesh", "size", mesh.sizes.largest), NUMBER(0, DBL_MAX), .fallback = "0",
     .applies = may_have_size,
     .misfit = "valid only for a box or if mesh.file is a geometry from CAD (.step, .brep, .iges)",
     .help = "largest element of a box, whose planes are the sides of its regions; of CAD the "
             "largest tetrahedron, in mm (BREP: its own unit), 0: a tenth of the diagonal"},
    {KEY("mesh", "size_min", mesh.sizes.smallest), NUMBER(0, DBL_MAX), .fallback = "0",
     .applies = may_have_size_min,
     .misfit = "valid only for a box with mesh.size and mesh.grading = yes, or for a geometry from "
               "CAD",
     .help = "smallest tetrahedron, in the same unit; of a box, smallest element from grading; 0: "
             "chosen"},
    {KEY("mesh", "grading", mesh.grading), WORDS(no_or_yes), .fallback = "no", .applies = has_size,
     .misfit = "valid only for a box with mesh.size; remove it or give the size",
     .help = "yes: elements of a box grow away from thin layers by at most a factor of 2"},
    {KEY("mesh", "curvature", mesh.sizes.per_circle), NUMBER(0, 100), .fallback = "12", CAD_ONLY,
     .help = "tetrahedra along a full circle; 0: sizes do not depend on curvature"},
    {KEY("mesh", "scale", mesh.scale), NUMBER(0, DBL_MAX), .minimum_excluded = true,
     .fallback = "1", FILE_ONLY,
     .help = "factor on the coordinates of file: 1e-3 takes a mesh in mm to m"},
    {KEY("mesh", "shape", mesh.shape), WORDS(shapes), .fallback = "box",
     .help = "file if file is given, otherwise box"},
    {KEY("mesh", "elements", mesh.box.elements), INTEGERS(3, 1, INT_MAX), .fallback = "8 8 8",
     .applies = has_elements,
     .misfit = "valid only for a box without mesh.size; remove mesh.size, mesh.file or this",
     .help = "elements of the box in x, y and z, of equal size"},
    {KEY("mesh", "background", mesh.box.background), WORDS(sp_background_names), .fallback = "full",
     BOX_ONLY, .help = "empty: the box has no elements outside of its regions"},
    {KEY("mesh", "lower", mesh.box.lower), NUMBERS(3), .fallback = "0 0 0", BOX_ONLY,
     .help = "corner of the box"},
    {KEY("mesh", "upper", mesh.box.upper), NUMBERS(3), .fallback = "1 1 1", BOX_ONLY,
     .help = "the corner opposite to lower"},
    {KEY("mesh", "map", mesh.box.map), WORDS(sp_map_names), .fallback = "none", BOX_ONLY,
     .help = "deformation of the box"},
    {KEY("mesh", "epsilon", mesh.box.epsilon), NUMBER(0, 1), .minimum_excluded = true,
     .fallback = "0.3", KERSHAW_ONLY,
     .help = "for map = kershaw: 1 is the plain box, smaller deforms it more"},
    {KEY("mesh", "step", mesh.box.step), WORDS(sp_step_names), .fallback = "quintic", KERSHAW_ONLY,
     .help = "for map = kershaw: how layers are blended; linear as in nekRS"},
    {KEY("mesh", "refine", mesh.refine), INTEGERS(1, 0, 10), .fallback = "0",
     .help = "uniform refinements, each divides every element into 8"},

    {KEY("discretization", "order", statement.order), INTEGERS(1, 1, 15), .fallback = "7",
     .help = "polynomial order N"},
    {KEY("discretization", "operator", statement.operator_kind), WORDS(sp_operator_names),
     .fallback = "bp3.5", .help = "the equation and its quadrature"},
    {KEY("discretization", "geometry", solver.geometry), WORDS(sp_geometry_names),
     .fallback = "auto", .help = "factors stored at every point, or recomputed from the corners"},

    {KEY("problem", "lambda", statement.all.lambda), FORMULA, .fallback = "0",
     .applies = is_lambda_given,
     .help = "formula >= 0 in -div(kappa grad u) + lambda u = f; not for the mass operator"},
    {KEY("problem", "kappa", statement.all.kappa), FORMULA, .fallback = "1",
     .applies = is_kappa_given,
     .help = "formula > 0, the diffusion coefficient; or a tensor: xx, yy, zz[, xy, xz, yz]; not "
             "for the mass operator"},
    {KEY("problem", "capacity", statement.all.capacity), FORMULA, OPTIONAL, TIME_ONLY,
     .help = "formula > 0, rho c in capacity du/dt; with time.end"},
    {KEY("problem", "axes", statement.all.axes), FORMULA, OPTIONAL,
     .help = "of such a tensor: x1, x2, x3, y1, y2, y3, two vectors; orthonormalized"},
    {KEY("problem", "solution", statement.all.solution), FORMULA, OPTIONAL,
     .help = "exact solution u(x, y, z), if it is known"},
    {KEY("problem", "forcing", statement.all.forcing), FORMULA, OPTIONAL,
     .help = "right-hand side f; derived from solution if not given"},
    {KEY("problem", "source", statement.all.source), FORMULA, OPTIONAL,
     .help =
         "instead of forcing: the integral of f, a constant over all elements without their own"},
    {KEY("problem", "initial", statement.initial), FORMULA, OPTIONAL,
     .help = "start of CG: a formula, or a field (.hdf) of this mesh; path as mesh.file"},

    {KEY("time", "end", time.end), NUMBER(0, DBL_MAX), .fallback = "0",
     .help = "steps from t = 0 to the end, with capacity; 0: the steady problem"},
    {KEY("time", "step", time.step), NUMBER(0, DBL_MAX), .fallback = "0", TIME_ONLY,
     .help = "largest step; all are equal"},
    {KEY("time", "steps", time.steps), INTEGERS(1, 0, INT_MAX), .fallback = "0", TIME_ONLY,
     .help = "their number, instead of step"},
    {KEY("time", "tolerance", time.tolerance), NUMBER(0, 1), .maximum_excluded = true,
     .fallback = "0", TIME_ONLY,
     .help = "instead of step: the error of a step over the change of u; automatic, with sdirk2"},
    {KEY("time", "scheme", time.scheme), WORDS(sp_time_scheme_names), .fallback = "bdf2", TIME_ONLY,
     .help = "backward differences, two stages (sdirk2), or Crank-Nicolson (cn)"},
    {KEY("time", "every", time.every), INTEGERS(1, 1, INT_MAX), .fallback = "1", TIME_ONLY,
     .help = "number of steps between results and fields, also at the end"},
    {KEY("time", "interval", time.interval), NUMBER(0, DBL_MAX), .fallback = "0", TIME_ONLY,
     .help = "instead of every: at its multiples, such as 0.5 for t = 0.5, 1, 1.5 ..."},
    {KEY("time", "at", time.at), TIMES(SP_TIMES_MOST), OPTIONAL, TIME_ONLY,
     .help = "instead of every: at these times, such as 0.01 0.1 1"},

    {KEY("boundary", "default", statement.boundary.fallback), .type = &sp_condition_value,
     .fallback = "dirichlet", .applies = is_boundary_given,
     .help = "faces of no group listed; without a formula, data come from solution"},
    {LINES("boundary", BOUNDARIES, 0), .type = &sp_condition_value, .help = "one line per group"},

    {KEY("solver", "tolerance", solver.tolerance), NUMBER(0, 1), .minimum_excluded = true,
     .maximum_excluded = true, .fallback = "1e-8", .help = "on the error, see solver.criterion"},
    {KEY("solver", "criterion", solver.criterion), WORDS(sp_cg_criterion_names),
     .fallback = "energy",
     .help = "energy: the estimated error in the energy norm, relative to the change since "
             "the start; residual: ||r|| / ||b||, for benchmarks that are defined by it"},
    {KEY("solver", "max_iterations", solver.max_iterations), INTEGERS(1, 1, INT_MAX),
     .fallback = "1000", .help = "limit of the conjugate gradients"},
    {KEY("solver", "preconditioner", solver.preconditioner), WORDS(sp_preconditioner_names),
     .fallback = "auto",
     .help =
         "auto: multigrid; jacobi (the diagonal) for mass and for large meshes of order 1 on GPUs"},
    {KEY("solver", "smoother", solver.smoother), WORDS(sp_smoother_names), .fallback = "auto",
     MULTIGRID_ONLY,
     .help = "of multigrid; auto: schwarz if an eighth of the elements is stretched, or one six "
             "times, or kappa is a tensor, else jacobi"},
    {KEY("solver", "smoother_degree", solver.smoother_degree), INTEGERS(1, 0, 6), .fallback = "0",
     MULTIGRID_ONLY,
     .help = "of multigrid's Chebyshev smoother: a higher degree gives fewer, more expensive "
             "iterations; 0: 2 for jacobi up to order 5, else 3"},
    {KEY("solver", "orders", solver.orders), LIST(SP_LIST_MOST, 1, 15), OPTIONAL, MULTIGRID_ONLY,
     .help = "of multigrid's levels, from order down to 1, as 7 4 2 1; empty: chosen"},
    {KEY("solver", "coarse", solver.coarse), WORDS(sp_coarse_names), .fallback = "auto",
     MULTIGRID_ONLY, .help = "multigrid below order 1; auto: coarser meshes, then direct or amg"},
    {KEY("solver", "precision", solver.precision), WORDS(sp_cycle_precision_names),
     .fallback = "auto", MULTIGRID_ONLY,
     .help = "of multigrid's cycle; auto: single if the device has such operators"},

    {KEY("backend", "device", backend.device), WORDS(sp_device_names), .fallback = "auto",
     .help = "auto takes a GPU if there is one"},
    {KEY("backend", "exchange", backend.exchange), WORDS(sp_transport_names), .fallback = "auto",
     .help = "how values travel between GPUs; staged: through the host"},
    {KEY("backend", "share", backend.share), WORDS(sp_share_names), .fallback = "no",
     .help = "with fewer GPUs than ranks, no: one rank per GPU has elements; yes: all, in turns"},
    {KEY("backend", "threads", backend.threads), INTEGERS(1, 0, SP_THREADS_MAX), .fallback = "0",
     .help = "per rank; 0: OMP_NUM_THREADS, else in set-up and results the cores that ranks leave"},

    {KEY("output", "log", output.log), TEXT("run.h5"), .help = "run log (HDF5); empty writes none"},
    {KEY("output", "field", output.field), TEXT("run.hdf"),
     .help = "solution (VTKHDF); empty writes none"},
    {KEY("output", "flux", output.flux), WORDS(no_or_yes), .fallback = "no",
     .help = "yes: the field also holds kappa grad u"},
    {KEY("output", "accuracy", output.accuracy), WORDS(no_or_yes), .fallback = "no",
     .help =
         "yes, or --accuracy: error bars of all answers, from solves of one and two orders more"},

    {LINES("probe", PROBES, offsetof(sp_probe_entry, point)), NUMBERS(3),
     .help = "NAME = x y z, one line for each point, to evaluate the solution there"},

    {LINES("line", LINE_PROBES, 0), .type = &sp_line_value,
     .help = "NAME = x y z, x y z, n: the solution at n points along a line, from end to end"},

    {LINES("result", RESULTS, 0), .type = &sp_result_value,
     .help = "one line each; of u, or of a formula of x, y, z and u"},

    {MATERIAL(kappa), .help = "in the Physical Volume or region NAME, a name, a number, or "
                              "default; problem.kappa if not given"},
    {MATERIAL(axes), .help = "of a tensor kappa there; problem.axes if not given"},
    {MATERIAL(lambda), .help = "likewise; problem.lambda if not given"},
    {MATERIAL(capacity), .help = "likewise; problem.capacity if not given"},
    {MATERIAL(solution), .help = "exact solution there; problem.solution if not given"},
    {MATERIAL(forcing),
     .help = "right-hand side there; problem.forcing if not given, or derived from the solution"},
    {MATERIAL(source),
     .help = "instead of forcing: the integral of a constant f, as watts of a volume"},

    {LINES("regions", REGIONS, 0), .type = &sp_region_value,
     .help = "NAME = x y z, x y z[, empty]: a [region NAME] on one line, by its corners"},

    {REGION(lower), NUMBERS(3),
     .help = "corner of a region of the undeformed box, without mesh.size on planes between "
             "elements; default: corner of the box"},
    {REGION(upper), NUMBERS(3), .help = "the corner opposite to lower"},
    {REGION(empty), WORDS(no_or_yes), .help = "yes: the box has no elements there"},
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
