#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "solver/config/internal.h"

/* ---- Output paths ---- */

sp_status sp_output_unconverged_path(const char *path, char **out) {
  const char *name = strrchr(path, '/');
  *out = NULL;
  name = name ? name + 1 : path;
  const char *dot = strrchr(name, '.');
  const size_t stem = dot && dot > name ? (size_t)(dot - path) : strlen(path);
  return sp_format(out, "%.*s.unconverged%s", (int)stem, path, path + stem);
}

static sp_status fail_output(const sp_output_path *output, const char *what, const char *name,
                             const char *purpose) {
  if (output->where)
    return sp_fail(SP_ERR_INPUT, "%s: %s%s%s, '%s'", output->where, what, name, purpose,
                   output->path);
  return sp_fail(SP_ERR_INPUT, "default of output.%s: %s%s%s, '%s'", output->name, what, name,
                 purpose, output->path);
}

/* Fail for two outputs of one path. */
static sp_status fail_pair(const sp_output_path *first, const sp_output_path *second) {
  const sp_output_path *other = second->purpose[0] ? first : second;
  const sp_output_path *output = second->purpose[0] ? second : first;
  char name[64];
  snprintf(name, sizeof name, "%s%s", other->is_option ? "" : "output.", other->name);
  if (output->purpose[0])
    return fail_output(output, "this would overwrite ", name, output->purpose);
  snprintf(name, sizeof name, "%s and %s", first->name, second->name);
  return fail_output(second->where ? second : first, name, " are the same file", "");
}

sp_status sp_output_paths_check(const sp_output_path *outputs, int output_count,
                                const sp_input_path *inputs, int input_count) {
  for (const sp_output_path *o = outputs; o < outputs + output_count; o++) {
    if (!o->path[0]) continue;
    if (!o->purpose[0] && !sp_path_is_ordinary(o->path))
      return fail_output(o, "this is not a regular file; give another name", "", "");
    if (sp_path_is_read_only(o->path))
      return fail_output(o, "this file is read-only; give another name", "", "");
    for (const sp_input_path *i = inputs; i < inputs + input_count; i++)
      if (i->path && i->path[0] && sp_path_is_same(o->path, i->path))
        return fail_output(o, "this would overwrite ", i->what, o->purpose);
    for (const sp_output_path *before = outputs; before < o; before++)
      if (before->path[0] && sp_path_is_same(before->path, o->path)) return fail_pair(before, o);
  }
  return SP_OK;
}

void sp_config_outputs(const sp_config *config, sp_output_path outputs[SP_OUTPUTS]) {
  const char *field = config->output.field;
  outputs[SP_OUTPUT_LOG] =
      (sp_output_path){.name = "log", .path = config->output.log, .purpose = ""};
  outputs[SP_OUTPUT_FIELD] = (sp_output_path){.name = "field", .path = field, .purpose = ""};
  outputs[SP_OUTPUT_LOG].where = sp_config_where(config, "output", "log");
  outputs[SP_OUTPUT_FIELD].where = sp_config_where(config, "output", "field");
  outputs[SP_OUTPUT_UNCONVERGED] = outputs[SP_OUTPUT_FIELD];
  if (!field[0]) return;
  outputs[SP_OUTPUT_UNCONVERGED].path = config->output.unconverged;
  outputs[SP_OUTPUT_UNCONVERGED].purpose = " with an unconverged solution";
}

/* ---- Keys ---- */

/* Make *file the path as the program opens it: relative to the folder of the case file if that
 * names it, else to the working directory. */
static sp_status resolve_file(const sp_config *config, const char *path, const sp_key *key,
                              char **file) {
  const char *slash = path ? strrchr(path, '/') : NULL;
  if (!slash || **file == '/' || config->given[key - sp_keys].in_argument) return SP_OK;
  return sp_format(file, "%.*s%s", (int)(slash + 1 - path), path, *file);
}

static sp_status resolve_shape(const char *path, sp_config *config) {
  const char *file = sp_config_where(config, "mesh", "file");
  const char *shape = sp_config_where(config, "mesh", "shape");
  if (shape && file && config->mesh.shape == SP_SHAPE_BOX)
    return sp_fail(SP_ERR_INPUT, "%s: shape = box conflicts with mesh.file (%s); remove one", shape,
                   file);
  if (shape && !file && config->mesh.shape == SP_SHAPE_FILE)
    return sp_fail(SP_ERR_INPUT, "%s: no mesh.file is given; give it, or drop shape = file", shape);
  config->mesh.shape = file ? SP_SHAPE_FILE : SP_SHAPE_BOX;
  config->mesh.file_where = file;
  config->statement.is_box = !file;
  config->statement.boundary.fallback.where =
      config->given[sp_key_find("boundary", "default") - sp_keys].where;
  const char *where = config->mesh.refine > 0 ? sp_config_where(config, "mesh", "refine") : NULL;
  if (!where && !file && config->mesh.sizes.largest > 0)
    where = sp_config_where(config, "mesh", "size");
  if (!where) where = file ? file : sp_config_where(config, "mesh", "elements");
  SP_TRY(sp_format(&config->mesh.where, "%s", where ? where : "default of mesh.elements"));
  if (file) return resolve_file(config, path, sp_key_find("mesh", "file"), &config->mesh.file);
  free(config->mesh.file);
  config->mesh.file = NULL;
  return SP_OK;
}

static bool ends_with(const char *text, const char *ending) {
  const size_t length = text ? strlen(text) : 0, end = strlen(ending);
  return length > end && strcmp(text + length - end, ending) == 0;
}

static sp_status resolve_initial(const char *path, sp_config *config) {
  const char *text = config->statement.initial.text;
  if (ends_with(text, ".h5"))
    return sp_fail(SP_ERR_INPUT,
                   "%s: expected a formula or a field, which ends in .hdf, found '%s'",
                   sp_config_where(config, "problem", "initial"), text);
  if (!sp_statement_initial_file(&config->statement)) return SP_OK;
  return resolve_file(config, path, sp_key_find("problem", "initial"),
                      &config->statement.initial.text);
}

/* If only regions have elements, corners of the box that are not given enclose all regions. */
static void resolve_corners(sp_config *config) {
  sp_box *box = &config->mesh.box;
  if (box->background != SP_BACKGROUND_EMPTY) return;
  for (int side = 0; side < 2; side++) {
    double *corner = side ? box->upper : box->lower;
    bool first = true;
    if (sp_config_where(config, "mesh", side ? "upper" : "lower")) continue;
    for (int r = 0; r < config->mesh.regions.count; r++) {
      const sp_box_region *region = &config->mesh.regions.entries[r];
      const double *own = side ? region->upper : region->lower;
      if (isnan(own[0]) || region->empty) continue;
      for (int d = 0; d < 3; d++)
        corner[d] = first ? own[d] : side ? fmax(corner[d], own[d]) : fmin(corner[d], own[d]);
      first = false;
    }
  }
}

static sp_status check_region_corners(const sp_config *config) {
  const char *upper_where = sp_config_where(config, "mesh", "upper");
  const char *where = upper_where ? upper_where : sp_config_where(config, "mesh", "lower");
  if (!where && config->mesh.regions.count > 0) where = config->mesh.regions.entries[0].where;
  for (int d = 0; d < 3; d++) {
    const double lower = config->mesh.box.lower[d], upper = config->mesh.box.upper[d];
    if (!(upper > lower) || !isfinite(upper - lower))
      return sp_fail(
          SP_ERR_INPUT,
          "%s: expected a finite box with mesh.upper above mesh.lower, found %.12g to %.12g "
          "in %c",
          where, lower, upper, "xyz"[d]);
  }
  return SP_OK;
}

static sp_status check_outputs(const char *path, sp_config *config) {
  SP_TRY(sp_output_unconverged_path(config->output.field, &config->output.unconverged));
  const char *field = config->output.field;
  if (ends_with(field, ".vtk") || ends_with(field, ".vtu"))
    return sp_fail(SP_ERR_INPUT, "%s: expected a name that ends in .hdf, found '%s'",
                   sp_config_where(config, "output", "field"), field);
  sp_output_path outputs[SP_OUTPUTS];
  sp_config_outputs(config, outputs);
  const sp_input_path inputs[] = {
      {.what = "the case file", .path = path},
      {.what = "the mesh", .path = config->mesh.file},
      {.what = "the initial field", .path = sp_statement_initial_file(&config->statement)}};
  SP_TRY(sp_output_paths_check(outputs, SP_OUTPUTS, inputs, sizeof inputs / sizeof *inputs));
  const sp_tables *tables = &config->statement.scope->tables;
  for (int t = 0; t < tables->count; t++)
    SP_TRY(sp_output_paths_check(
        outputs, SP_OUTPUTS, &(sp_input_path){.what = "a table", .path = tables->list[t].path}, 1));
  return SP_OK;
}

/* b itself is rounded to half of this, so a smaller relative residual is meaningless. */
static sp_status check_tolerance(const sp_config *config) {
  const double tolerance = config->solver.tolerance;
  if (tolerance >= DBL_EPSILON) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: %g cannot be reached: double precision rounds the right-hand side itself to "
                 "%.2g of its size; give that or more",
                 sp_config_where(config, "solver", "tolerance"), tolerance, DBL_EPSILON);
}

/* The field holds a flux only if the problem has one. */
static sp_status check_flux(const sp_config *config) {
  const sp_operator_kind kind = config->statement.operator_kind;
  if (!config->output.flux || sp_operator_rows[kind].has_stiffness) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%s: the %s problem has no flux; remove it",
                 sp_config_where(config, "output", "flux"), sp_operator_names[kind]);
}

/* Multigrid's levels begin at the operator's order and end at 1. */
static sp_status check_orders(const sp_config *config) {
  const sp_list *orders = &config->solver.orders;
  const int order = config->statement.order, count = orders->count;
  bool good = count == 0 || (orders->values[0] == order && orders->values[count - 1] == 1);
  for (int i = 1; i < count; i++) good = good && orders->values[i] < orders->values[i - 1];
  if (good) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%s: expected decreasing orders from discretization.order, %d, to 1",
                 sp_config_where(config, "solver", "orders"), order);
}

/* Every region has a number besides its name, and `default` means something else. */
static sp_status check_region_name(const sp_box_region *region) {
  const bool number = strspn(region->name, "0123456789") == strlen(region->name);
  if (!number && strcmp(region->name, "default") != 0) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%s: expected another name: %s", region->where,
                 number ? "numbers belong to the regions in the order of the case"
                        : "[material default] is for elements that no other section names");
}

/* Corners of regions that are not given default to the box's. */
static sp_status resolve_regions(sp_config *config) {
  for (int r = 0; r < config->mesh.regions.count; r++) {
    sp_box_region *region = &config->mesh.regions.entries[r];
    SP_TRY(check_region_name(region));
    if (config->mesh.shape != SP_SHAPE_BOX)
      return sp_fail(SP_ERR_INPUT,
                     "%s: only a box has regions, but mesh.file is given: use the Physical Volumes "
                     "of the mesh",
                     region->where);
    if (isnan(region->lower[0]))
      memcpy(region->lower, config->mesh.box.lower, sizeof region->lower);
    if (isnan(region->upper[0]))
      memcpy(region->upper, config->mesh.box.upper, sizeof region->upper);
    for (int d = 0; d < 3; d++)
      if (!(region->upper[d] > region->lower[d]))
        return sp_fail(SP_ERR_INPUT, "%s: expected upper above lower, found %.12g to %.12g in %c",
                       region->where, region->lower[d], region->upper[d], "xyz"[d]);
  }
  return SP_OK;
}

/* Check that a step ends at a time of output; automatic steps are chosen so. */
static sp_status check_output_time(const sp_time_options *time, double t, const char *where) {
  static const double ROUNDING = 1e-9;
  const double steps = t / sp_time_step(time);
  if (t > time->end)
    return sp_fail(SP_ERR_INPUT, "%s: expected at most time.end, %.9g, found %.9g", where,
                   time->end, t);
  if (time->tolerance > 0 || fabs(steps - round(steps)) <= ROUNDING * fmax(steps, 1)) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%s: expected multiples of the step, %.9g, found %.9g", where,
                 sp_time_step(time), t);
}

static sp_status check_output_times(const sp_config *config) {
  const sp_time_options *time = &config->time;
  const char *at = sp_config_where(config, "time", "at");
  const char *interval = sp_config_where(config, "time", "interval");
  if ((time->at.count > 0) + (time->interval > 0) + (time->every > 1) > 1)
    return sp_fail(SP_ERR_INPUT, "%s: expected one of time.every, time.interval and time.at",
                   time->at.count > 0 ? at : interval);
  if (time->interval > 0) SP_TRY(check_output_time(time, time->interval, interval));
  for (int i = 0; i < time->at.count; i++) SP_TRY(check_output_time(time, time->at.values[i], at));
  return SP_OK;
}

static sp_status check_time(const sp_config *config) {
  static const double MOST = 1e9, SHORTEST = 1e-100;
  const sp_time_options *time = &config->time;
  const char *where = sp_config_where(config, "time", "end");
  if (time->end == 0) return SP_OK;
  if (!sp_operator_rows[config->statement.operator_kind].has_stiffness)
    return sp_fail(SP_ERR_INPUT, "%s: the %s problem has no time; remove it", where,
                   sp_operator_names[config->statement.operator_kind]);
  const int given = (time->step > 0) + (time->steps > 0) + (time->tolerance > 0);
  if (given != 1)
    return sp_fail(SP_ERR_INPUT, "%s: expected time.step, time.steps or time.tolerance, found %s",
                   where,
                   given == 0   ? "none"
                   : given == 2 ? "two of them"
                                : "all");
  if (time->tolerance > 0 && time->scheme != SP_SDIRK2)
    return sp_fail(SP_ERR_INPUT,
                   "%s: expected time.scheme = sdirk2, whose stages estimate the error, found %s",
                   sp_config_where(config, "time", "tolerance"),
                   sp_time_scheme_names[time->scheme]);
  if (time->step > 0 && time->end > MOST * time->step)
    return sp_fail(SP_ERR_INPUT, "%s: expected at most %g steps up to time.end, found %g",
                   sp_config_where(config, "time", "step"), MOST, time->end / time->step);
  if (sp_time_step(time) < SHORTEST)
    return sp_fail(SP_ERR_INPUT, "%s: expected steps of at least %g, found %g", where, SHORTEST,
                   sp_time_step(time));
  return check_output_times(config);
}

static sp_status check_sizes(const sp_config *config) {
  const sp_gmsh_sizes *sizes = &config->mesh.sizes;
  if (sizes->largest == 0 || sizes->smallest <= sizes->largest) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%s: expected at most mesh.size, %.12g, found %.12g",
                 sp_config_where(config, "mesh", "size_min"), sizes->largest, sizes->smallest);
}

static sp_status check_units(const sp_config *config) {
  for (const sp_key *key = sp_key_find("units", NULL); strcmp(key->section, "units") == 0; key++) {
    const char *label = *(char *const *)((const char *)config + key->offset);
    const char *misfit = sp_unit_misfit(label);
    if (misfit)
      return sp_fail(SP_ERR_INPUT, "%s: expected the label of a unit, such as mm, found '%s': %s",
                     sp_config_where(config, "units", key->name), label, misfit);
  }
  return SP_OK;
}

sp_status sp_config_check(const char *path, sp_config *config) {
  SP_TRY(resolve_shape(path, config));
  SP_TRY(resolve_initial(path, config));
  for (int k = 0; k < sp_key_count; k++)
    if (config->given[k].where && sp_keys[k].applies && !sp_keys[k].applies(config))
      return sp_fail(SP_ERR_INPUT, "%s: %s", config->given[k].where, sp_keys[k].misfit);
  SP_TRY(check_outputs(path, config));
  SP_TRY(check_flux(config));
  SP_TRY(check_tolerance(config));
  SP_TRY(check_orders(config));
  resolve_corners(config);
  SP_TRY(check_region_corners(config));
  SP_TRY(check_sizes(config));
  SP_TRY(check_units(config));
  SP_TRY(check_time(config));
  SP_TRY(resolve_regions(config));
  return sp_formulas_parse(config);
}
