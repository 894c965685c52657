/* Parsing of all formulas of a case, and their checks that need no mesh. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/config/internal.h"
#include "solver/problem/conductivity.h"

/* Parse a formula, if any. `given` is the name of a variable besides x, y and z, or NULL. */
static sp_status parse_case_formula(const sp_config *config, const char *given, sp_formula *f) {
  static const double zero = 0, *const origin[3] = {&zero, &zero, &zero};
  if (!f->text) return SP_OK;
  SP_TRY(
      sp_expression_parse_given(f->text, f->where, config->statement.scope, given, &f->expression));
  return f->expression->is_constant
             ? sp_expression_evaluate(f->expression, 1, origin, NULL, &f->value, NULL, NULL)
             : SP_OK;
}

/* Parse a formula that belongs to the operator, which does not change in time. */
static sp_status parse_fixed(const sp_config *config, const char *given, sp_formula *f) {
  SP_TRY(parse_case_formula(config, given, f));
  if (!f->text || !f->expression->is_of_t) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: '%s' depends on t; only forcing, G of conditions and solution may", f->where,
                 f->text);
}

/* ---- Tensors ---- */

static bool is_list(const char *text) {
  return text[sp_formula_length(text)] != '\0';
}

/* Parse a list of up to six formulas. The expressions of constants are NULL. */
static sp_status parse_list(const sp_config *config, const sp_formula *list,
                            const char *const names[SP_TENSOR], int *count, bool *is_constant,
                            sp_expression *formulas[SP_TENSOR], double constants[SP_TENSOR]) {
  const char *rest = list->text;
  *count = 0;
  *is_constant = true;
  for (bool last = false; !last; ++*count) {
    rest += strspn(rest, SP_INI_SPACE);
    const size_t length = sp_formula_length(rest);
    last = !rest[length];
    if (*count < SP_TENSOR) {
      sp_formula one = {0};
      sp_status status = sp_format(&one.text, "%.*s", (int)length, rest);
      if (!status) status = sp_format(&one.where, "%s (%s)", list->where, names[*count]);
      if (!status) status = parse_fixed(config, NULL, &one);
      SP_FREE(one.text, one.where);
      if (one.expression && one.expression->is_constant) sp_expression_destroy(&one.expression);
      *is_constant = *is_constant && !one.expression;
      formulas[*count] = one.expression;
      constants[*count] = one.value;
      SP_TRY(status);
    }
    rest += length + !last;
  }
  return SP_OK;
}

static double dot_product(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* v = v / |v|; false if |v| is not above `least`. */
static bool normalize_vector(double least, double v[3]) {
  const double length = sqrt(dot_product(v, v));
  for (int d = 0; d < 3; d++) v[d] /= length;
  return length > least && length <= DBL_MAX;
}

static sp_status parse_axes(const sp_config *config, const sp_formula *text, double axes[3][3]) {
  static const double PARALLEL = 1e-10; /* the sine of the angle */
  static const char *const names[SP_TENSOR] = {"x1", "x2", "x3", "y1", "y2", "y3"};
  sp_expression *formulas[SP_TENSOR] = {NULL};
  int count;
  bool constant;
  const sp_status status =
      parse_list(config, text, names, &count, &constant, formulas, (double *)axes);
  for (int i = 0; i < SP_TENSOR; i++) sp_expression_destroy(&formulas[i]);
  SP_TRY(status);
  if (count != SP_TENSOR || !constant)
    return sp_fail(SP_ERR_INPUT,
                   "%s: expected six constants, the vectors x1, x2, x3 and y1, y2, y3, found '%s'",
                   text->where, text->text);
  bool good = normalize_vector(0, axes[0]) && normalize_vector(0, axes[1]);
  const double along = dot_product(axes[0], axes[1]);
  for (int d = 0; d < 3; d++) axes[1][d] -= along * axes[0][d];
  good = good && normalize_vector(PARALLEL, axes[1]);
  for (int d = 0; d < 3; d++) {
    const int e = (d + 1) % 3, f = (d + 2) % 3;
    axes[2][d] = axes[0][e] * axes[1][f] - axes[0][f] * axes[1][e];
  }
  if (good) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: expected two finite vectors that are neither zero nor parallel, found '%s'",
                 text->where, text->text);
}

/* Parse kappa and its axes; axes->text may be NULL. */
static sp_status parse_tensor(const sp_config *config, const sp_formula *kappa,
                              const sp_formula *axes, sp_conductivity *c) {
  static const char *const names[SP_TENSOR] = {"xx", "yy", "zz", "xy", "xz", "yz"};
  int count;
  c->text = kappa;
  for (int d = 0; d < 3; d++) c->axes[d][d] = 1;
  SP_TRY(parse_list(config, kappa, names, &count, &c->is_constant, c->formulas, c->constants));
  if (count != 3 && count != SP_TENSOR)
    return sp_fail(SP_ERR_INPUT,
                   "%s: expected one formula, three (xx, yy, zz) or six (xx, yy, zz, xy, xz, yz), "
                   "found %d in '%s'",
                   kappa->where, count, kappa->text);
  if (axes->text) {
    c->axes_text = axes;
    SP_TRY(parse_axes(config, axes, c->axes));
  }
  const double origin[3] = {0, 0, 0}, *const xyz[3] = {origin, origin, origin};
  double k[SP_TENSOR];
  return c->is_constant ? sp_conductivity_evaluate(c, 1, xyz, k, NULL) : SP_OK;
}

/* ---- Materials ---- */

static bool is_list_of_numbers(const char *text) {
  int count = 0;
  for (char *end; *text; text = end, count++) {
    (void)strtod(text, &end);
    if (end == text || (*end && !strchr(" \t,", *end))) return false;
    end += strspn(end, " \t,");
  }
  return count > 1;
}

static sp_status parse_coefficient(const sp_config *config, const char *given, bool zero_allowed,
                                   sp_formula *f) {
  if (!f->text) return SP_OK;
  if (is_list_of_numbers(f->text))
    return sp_fail(SP_ERR_INPUT, "%s: expected one number or one formula%s, found '%s'", f->where,
                   zero_allowed ? "" : ", or three or six with commas between", f->text);
  SP_TRY(parse_fixed(config, given, f));
  const bool in_range = f->value >= 1e-250 && f->value <= 1e250; /* not to over- or underflow */
  if (!f->expression->is_constant || in_range || (zero_allowed && f->value == 0)) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%s: expected %sa finite number from 1e-250 to 1e250, found '%s'",
                 f->where, zero_allowed ? "0 or " : "", f->text);
}

static sp_status fail_axes(const sp_formula *axes) {
  return sp_fail(SP_ERR_INPUT,
                 "%s: no kappa has three or six components, which axes are for; remove it",
                 axes->where);
}

/* Parse kappa of a section or of [problem], a scalar or a tensor in `axes`. */
static sp_status parse_kappa(const sp_config *config, sp_material_entry *entry) {
  const sp_material_entry *all = &config->statement.all;
  const sp_formula *kappa = entry->kappa.text ? &entry->kappa : &all->kappa;
  if (!entry->kappa.text && !entry->axes.text) return SP_OK;
  if (is_list(kappa->text)) {
    SP_TRY(sp_allocate(1, sizeof *entry->kappa.tensor, "kappa", &entry->kappa.tensor));
    return parse_tensor(config, kappa, entry->axes.text ? &entry->axes : &all->axes,
                        entry->kappa.tensor);
  }
  SP_TRY(parse_coefficient(config, "u", false, &entry->kappa));
  return entry != all && entry->axes.text ? fail_axes(&entry->axes) : SP_OK;
}

/* The mass problem has no coefficients; in [problem] only given ones count, not defaults. */
static sp_status check_mass(const sp_config *config, const sp_material_entry *entry) {
  const bool own = entry != &config->statement.all;
  const struct {
    const char *name;
    const sp_formula *formula;
    bool given;
  } refused[] = {{"source", &entry->source, true},
                 {"lambda", &entry->lambda, own || sp_config_where(config, "problem", "lambda")},
                 {"kappa", &entry->kappa, own || sp_config_where(config, "problem", "kappa")},
                 {"axes", &entry->axes, true}};
  for (size_t r = 0; r < sizeof refused / sizeof *refused; r++)
    if (refused[r].formula->text && refused[r].given)
      return sp_fail(SP_ERR_INPUT, "%s: the %s problem has no %s; remove it",
                     refused[r].formula->where, sp_operator_names[config->statement.operator_kind],
                     refused[r].name);
  return SP_OK;
}

/* Parse the formulas of a section or of [problem]. */
static sp_status parse_material(const sp_config *config, sp_material_entry *entry) {
  const sp_statement *s = &config->statement;
  SP_TRY(parse_case_formula(config, NULL, &entry->solution));
  if (entry->solution.text && entry->solution.expression->is_of_t)
    SP_TRY(sp_expression_parse_given(entry->solution.text, entry->solution.where, s->scope, "t",
                                     &entry->solution.rate));
  const bool has_stiffness = sp_operator_rows[s->operator_kind].has_stiffness;
  sp_formula *forcing = &entry->forcing;
  const bool of_u = has_stiffness && forcing->text && sp_expression_has_name(forcing->text, "u");
  SP_TRY(parse_case_formula(config, of_u ? "u" : s->initial.text ? "u0" : NULL, forcing));
  if (of_u)
    SP_TRY(
        sp_expression_parse_given(forcing->text, forcing->where, s->scope, "du", &forcing->rate));
  if (!has_stiffness) SP_TRY(check_mass(config, entry));
  if (entry->source.text && entry->forcing.text)
    return sp_fail(SP_ERR_INPUT, "%s: source and forcing (%s) exclude each other; remove one",
                   entry->source.where, entry->forcing.where);
  SP_TRY(parse_case_formula(config, NULL, &entry->source));
  SP_TRY(sp_statement_check_total(&entry->source));
  SP_TRY(parse_coefficient(config, "u", true, &entry->lambda));
  SP_TRY(parse_coefficient(config, "u", false, &entry->capacity));
  if (entry->capacity.text && !(config->time.end > 0))
    return sp_fail(SP_ERR_INPUT, "%s: valid only with time.end; remove it or give the end",
                   entry->capacity.where);
  return parse_kappa(config, entry);
}

/* Refuse, with coefficients of u, a load derived from the solution, which needs their derivatives,
 * and a tensor kappa, which is no array. */
static sp_status check_of_u(const sp_formula *tensor, const sp_formula *solution,
                            const sp_material_entry *entry) {
  const sp_formula *const coefficients[] = {&entry->kappa, &entry->lambda, &entry->capacity};
  for (int i = 0; i < 3; i++) {
    const sp_formula *f = coefficients[i];
    if (!f->text || !f->expression || !f->expression->is_of_u) continue;
    if (solution)
      return sp_fail(SP_ERR_INPUT,
                     "%s: a formula of u needs forcing or source in all materials; it is not "
                     "derived from the solution (%s)",
                     f->where, solution->where);
    if (tensor && i == 0)
      return sp_fail(SP_ERR_INPUT, "%s: a formula of u excludes kappa with components (%s)",
                     f->where, tensor->where);
  }
  return SP_OK;
}

/* Section i; [problem] is -1. */
static sp_material_entry *entry_of(sp_config *config, int i) {
  return i < 0 ? &config->statement.all : &config->statement.materials.entries[i];
}

/* Parse all, and solutions again if a tensor needs K : grad grad u; check that axes are used. */
static sp_status parse_materials(sp_config *config) {
  const int count = config->statement.materials.count;
  const sp_formula *axes = &config->statement.all.axes;
  const sp_formula *derived = NULL, *tensor = NULL; /* a load, if one is */
  bool used = !axes->text;
  for (int i = -1; i < count; i++) {
    sp_material_entry *entry = entry_of(config, i);
    SP_TRY(parse_material(config, entry));
    const sp_conductivity *own = entry->kappa.tensor;
    if (own) tensor = own->text;
    const bool has_load = entry->forcing.text || entry->source.text ||
                          config->statement.all.forcing.text || config->statement.all.source.text;
    const sp_formula *u = entry->solution.text ? &entry->solution : &config->statement.all.solution;
    if (u->text && !has_load && (i >= 0 || count == 0)) derived = u;
    used = used || (own && own->axes_text == axes);
  }
  for (int i = -1; i < count; i++) SP_TRY(check_of_u(tensor, derived, entry_of(config, i)));
  for (int i = -1; i < count && tensor; i++) {
    sp_formula *u = &entry_of(config, i)->solution;
    if (!u->text) continue;
    SP_TRY(
        sp_expression_parse_given(u->text, u->where, config->statement.scope, "K", &u->curvature));
  }
  return used ? SP_OK : fail_axes(axes);
}

/* ---- Boundary ---- */

static sp_status parse_line(const sp_config *config, sp_boundary_entry *entry) {
  const sp_condition_type *type = entry->type;
  const char *given = type->takes_u ? "u" : NULL;
  for (int c = 0; c < SP_CONDITION_COEFFICIENTS; c++)
    SP_TRY(parse_fixed(config, given, &entry->coefficients[c]));
  SP_TRY(parse_case_formula(config, given, &entry->formula));
  return entry->type->check ? entry->type->check(entry) : SP_OK;
}

static sp_status parse_boundary(sp_config *config) {
  sp_statement *s = &config->statement;
  const char *where = sp_config_boundary(config);
  if (!sp_operator_rows[s->operator_kind].has_boundary && where)
    return sp_fail(SP_ERR_INPUT, "%s: the %s problem has no boundary conditions; remove [boundary]",
                   where, sp_operator_names[s->operator_kind]);
  for (int p = 0; p < s->boundary.count; p++) {
    SP_TRY(parse_line(config, &s->boundary.entries[p]));
    SP_TRY(sp_statement_check_data(s, &s->boundary.entries[p]));
  }
  return parse_line(config, &s->boundary.fallback);
}

/* ---- All ---- */

/* Give formulas of results the names of probes and results. */
static sp_status name_values(sp_config *config) {
  const sp_wanted *wanted = &config->wanted;
  const int probes = wanted->probes.count;
  sp_scope *scope = config->statement.scope;
  SP_TRY(sp_scope_add_values(scope, probes + wanted->results.count));
  for (int p = 0; p < probes; p++) scope->values.names[p] = wanted->probes.entries[p].name;
  for (int r = 0; r < wanted->results.count; r++) {
    const sp_result_entry *entry = &wanted->results.entries[r];
    scope->values.names[probes + r] = entry->name;
    for (int p = 0; p < probes; p++)
      if (strcmp(entry->name, wanted->probes.entries[p].name) == 0)
        scope->values.names[p] = scope->values.names[probes + r] = NULL; /* which one? */
  }
  return SP_OK;
}

static sp_status parse_results(sp_config *config) {
  const sp_operator_kind kind = config->statement.operator_kind;
  SP_TRY(name_values(config));
  for (int r = 0; r < config->wanted.results.count; r++) {
    sp_result_entry *entry = &config->wanted.results.entries[r];
    config->statement.scope->values.known = config->wanted.probes.count + r;
    SP_TRY(parse_case_formula(config, entry->type->of_results ? "values" : "u", &entry->formula));
    if ((entry->type->through || entry->type->of_pair) && !sp_operator_rows[kind].has_stiffness)
      return sp_fail(SP_ERR_INPUT, "%s: the %s problem has no flux; choose another result",
                     entry->where, sp_operator_names[kind]);
  }
  return SP_OK;
}

/* ---- Heat of resistances ---- */

/* The name of source i, and its heat. Sources are the first `results` results, whose heat is NAN,
 * then materials and lines of [boundary]; NULL if i is none of these. */
static const char *source_at(const sp_config *config, int results, int i, double *heat) {
  const sp_statement *s = &config->statement;
  const int m = i - results, b = m - s->materials.count;
  *heat = NAN;
  if (m < 0) return config->wanted.results.entries[i].name;
  const sp_material_entry *material = b < 0 ? &s->materials.entries[m] : NULL;
  const sp_boundary_entry *line = b < 0 ? NULL : &s->boundary.entries[b];
  if (material ? !material->source.text : !line->type->by_area) return NULL;
  *heat = material ? material->source.value : line->coefficients[0].value;
  return material ? material->name : line->group;
}

/* Find the heat by which result r of a pair is divided, if it is no flux: the heat of a source in
 * one of its groups, or of the source that it names. */
static sp_status find_heat(const sp_config *config, int r, sp_result_entry *entry) {
  const sp_statement *s = &config->statement;
  const int first = entry->by ? 0 : r;
  const int end = r + s->materials.count + (entry->by ? s->boundary.count : 0);
  char names[400] = "";
  size_t used = 0;
  int found = 0;
  entry->by_result = -1;
  entry->heat = NAN;
  for (int i = first; i < end; i++) {
    double heat;
    const char *name = source_at(config, r, i, &heat);
    if (!name) continue;
    if (used < sizeof names)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
    const bool is_other = !entry->by && strcmp(name, entry->other) == 0 && !found;
    if (!is_other && strcmp(name, entry->by ? entry->by : entry->group) != 0) continue;
    found++;
    entry->heat_of = name;
    entry->heat = is_other ? -heat : heat;
    entry->by_result = i < r ? i : -1;
  }
  if (!entry->by || found == 1) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: expected 'by' and one source of heat or result above, found '%s'; there %s "
                 "%s",
                 entry->where, entry->by, names[0] ? "are" : "is", names[0] ? names : "none");
}

static sp_status find_heats(sp_config *config) {
  for (int r = 0; r < config->wanted.results.count; r++) {
    sp_result_entry *entry = &config->wanted.results.entries[r];
    if (entry->type->of_pair) SP_TRY(find_heat(config, r, entry));
  }
  return SP_OK;
}

sp_status sp_formulas_parse(sp_config *config) {
  if (config->time.end > 0) SP_TRY(sp_scope_add_time(config->statement.scope));
  for (int i = 0; i < config->constants.count; i++) {
    const sp_constant_entry *entry = &config->constants.entries[i];
    SP_TRY(sp_scope_define(config->statement.scope, entry->name, entry->value.text, entry->where));
  }
  if (!sp_statement_initial_file(&config->statement))
    SP_TRY(parse_case_formula(config, NULL, &config->statement.initial));
  SP_TRY(parse_results(config));
  SP_TRY(parse_materials(config));
  SP_TRY(parse_boundary(config));
  return find_heats(config);
}
