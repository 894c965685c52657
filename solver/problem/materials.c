#include "solver/problem/materials.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "operators/counts.h"
#include "operators/kinds.h"
#include "operators/reduction.h"
#include "solver/problem/evaluate.h"
#include "solver/problem/groups.h"

/* ---- Formulas ---- */

static bool is_list_of_numbers(const char *text) {
  int count = 0;
  for (char *end; *text; text = end, count++) {
    (void)strtod(text, &end);
    if (end == text || (*end && !strchr(" \t,", *end))) return false;
    end += strspn(end, " \t,");
  }
  return count > 1;
}

/* Parse a coefficient. A constant is evaluated and checked, and *formula is NULL. */
static sp_status parse_coefficient(const sp_config *config, const sp_formula *text,
                                   bool zero_allowed, double *constant, sp_expression **formula) {
  if (is_list_of_numbers(text->text))
    return sp_fail(SP_ERR_INPUT, "%s: expected one number or one formula%s, found '%s'",
                   text->where, zero_allowed ? "" : ", or three or six with commas between",
                   text->text);
  SP_TRY(sp_expression_parse(text->text, text->where, config->scope, formula));
  SP_TRY(sp_problem_fold(formula, constant));
  if (*formula) return SP_OK;
  const bool in_range = *constant >= 1e-250 && *constant <= 1e250; /* not to over- or underflow */
  if (in_range || (zero_allowed && *constant == 0)) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%s: expected %sa finite number from 1e-250 to 1e250, found '%s'",
                 text->where, zero_allowed ? "0 or " : "", text->text);
}

/* Parse a formula if it is given. */
static sp_status parse(const sp_config *config, const sp_formula *formula, sp_expression **out) {
  return formula->text ? sp_expression_parse(formula->text, formula->where, config->scope, out)
                       : SP_OK;
}

/* Read a source, which replaces a forcing. */
static sp_status parse_source(const sp_config *config, const sp_formula *source,
                              const sp_formula *forcing, sp_material *m) {
  if (forcing->text)
    return sp_fail(SP_ERR_INPUT, "%s: source and forcing (%s) exclude each other; remove one",
                   source->where, forcing->where);
  SP_TRY(sp_problem_total(config, source, &m->total));
  m->source = source;
  m->forcing = NULL;
  return SP_OK;
}

/* Parse kappa, a scalar or a tensor in `axes`. */
static sp_status parse_kappa(const sp_config *config, const sp_formula *kappa,
                             const sp_formula *axes, sp_material *m) {
  m->tensor = NULL;
  if (!sp_conductivity_is_tensor(kappa->text))
    return parse_coefficient(config, kappa, false, &m->kappa, &m->kappa_formula);
  m->kappa_formula = NULL;
  return sp_conductivity_create(kappa, axes, config->scope, &m->tensor);
}

static sp_status fail_axes(const sp_formula *axes) {
  return sp_fail(SP_ERR_INPUT,
                 "%s: no kappa has three or six components, which axes are for; remove it",
                 axes->where);
}

/* The mass problem has no coefficients; of [problem] only those count that the user gives. */
static sp_status check_mass(const sp_config *config, const sp_material_entry *entry) {
  const bool own = entry != &config->problem.all;
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
                     refused[r].formula->where,
                     sp_operator_names[config->discretization.operator_kind], refused[r].name);
  return SP_OK;
}

/* Parse the formulas of a section or of [problem]; *m has those that stand for missing ones. */
static sp_status parse_material(const sp_config *config, const sp_material_entry *entry,
                                sp_material *m) {
  const sp_material_entry *all = &config->problem.all;
  SP_TRY(parse(config, &entry->solution, &m->solution));
  if (entry->forcing.text) SP_TRY(sp_problem_parse_forcing(config, &entry->forcing, &m->forcing));
  if (entry->forcing.text) m->source = NULL;
  if (!sp_operator_rows[config->discretization.operator_kind].has_stiffness)
    return check_mass(config, entry);
  if (entry->source.text) SP_TRY(parse_source(config, &entry->source, &entry->forcing, m));
  if (entry->lambda.text)
    SP_TRY(parse_coefficient(config, &entry->lambda, true, &m->lambda, &m->lambda_formula));
  if (entry->kappa.text || entry->axes.text)
    SP_TRY(parse_kappa(config, entry->kappa.text ? &entry->kappa : &all->kappa,
                       entry->axes.text ? &entry->axes : &all->axes, m));
  return SP_OK;
}

/* Parse the solutions of materials with a tensor for K : grad grad u; check that axes are used. */
static sp_status finish_tensors(const sp_config *config, sp_materials *materials) {
  const sp_formula *axes = &config->problem.all.axes;
  bool used = !axes->text || materials->common.tensor;
  for (int i = 0; i < materials->count; i++) {
    sp_material *m = &materials->list[i];
    used = used || (m->tensor && m->tensor->axes_text == axes);
    if (m->tensor && m->solution)
      SP_TRY(sp_expression_parse_given(m->solution->text, m->solution->where, config->scope, "K",
                                       &m->curvature));
  }
  return used ? SP_OK : fail_axes(axes);
}

/* ---- Volumes ---- */

/* The index of the material of section i: [material default] is the last one. */
static int index_of(const sp_config *config, const sp_materials *materials, int i) {
  const int other = sp_config_material(config, "default");
  return i == other ? materials->count - 1 : i - (other >= 0 && other < i);
}

/* The groups of each section: group g of the first one, and then next[g], -1 after the last one. A
 * group has two such places, for its name and for its number: 2 g and 2 g + 1. */
typedef struct claims {
  int *first, *next;
} claims;

static void claims_destroy(claims *c) {
  SP_FREE(c->first, c->next);
}

/* Find the groups that the sections name, in a time linear in both. */
static sp_status find_claims(const sp_config *config, const sp_family *family, claims *c) {
  const int entries = config->materials.count;
  SP_TRY(SP_ALLOCATE("materials", SP_ARRAY(c->first, entries),
                     SP_ARRAY(c->next, 2 * (size_t)family->group_count)));
  for (int i = 0; i < entries; i++) c->first[i] = -1;
  for (int n = 2 * family->group_count; n-- > 0;) {
    const sp_group *group = &family->groups[n / 2];
    char number[16];
    snprintf(number, sizeof number, "%d", group->number);
    if (n % 2 && strcmp(number, group->name) == 0) continue;
    const int i = sp_config_material(config, n % 2 ? number : group->name);
    if (i < 0) continue;
    c->next[n] = c->first[i];
    c->first[i] = n;
  }
  return SP_OK;
}

/* Give material m the volumes of the groups that section i names. */
static sp_status claim(const sp_config *config, int i, int m, const sp_hexes *hexes,
                       const claims *c, sp_materials *materials) {
  const int fallback = materials->count - 1, first = c->first[i];
  const sp_material_entry *entry = &config->materials.entries[i];
  if (first < 0 || c->next[first] >= 0) /* none or several */
    SP_TRY(sp_groups_check(entry->where,
                           config->mesh.shape == SP_SHAPE_BOX ? "region" : "Physical Volume",
                           entry->name, hexes, &hexes->volume));
  for (int n = first; n >= 0; n = c->next[n]) {
    const sp_group *group = &hexes->volume.groups[n / 2];
    for (int p = 0; p < group->part_count; p++) {
      int *material = &materials->of_volume[group->parts[p]];
      if (*material != fallback && *material != m)
        return sp_fail(SP_ERR_INPUT,
                       "%s: it has elements in common with [material %s]; an element can have one "
                       "material",
                       entry->where, materials->list[*material].name);
      *material = m;
    }
  }
  return SP_OK;
}

/* kappa = T / R, and no sources. */
static sp_status parse_contact(const sp_config *config, const sp_boundary_entry *entry,
                               const sp_hexes *hexes, sp_material *m) {
  static const double LEAST = 1e-12, MOST = 1e12;
  double r = 1; /* if R is a formula, kappa is T alone */
  *m = (sp_material){.name = entry->group, .is_contact = true};
  SP_TRY(sp_expression_parse("0", entry->formula.where, NULL, &m->forcing));
  SP_TRY(parse(config, &entry->formula, &m->kappa_formula));
  SP_TRY(sp_problem_fold(&m->kappa_formula, &r));
  if (!(r >= LEAST && r <= MOST))
    return sp_fail(SP_ERR_INPUT, "%s: expected a resistance from %g to %g, found '%s'",
                   entry->formula.where, LEAST, MOST, entry->formula.text);
  m->kappa = hexes->file.thickness / r;
  return SP_OK;
}

/* Contacts are the last volumes, in the order of their lines; their materials begin at `m`. */
static sp_status parse_contacts(const sp_config *config, const sp_hexes *hexes, int m,
                                sp_materials *out) {
  int volume = hexes->volume.count - hexes->file.contacts;
  for (int p = 0; p < config->boundary.count && volume < hexes->volume.count; p++) {
    const sp_boundary_entry *entry = &config->boundary.entries[p];
    if (entry->condition != SP_CONTACT) continue;
    SP_TRY(parse_contact(config, entry, hexes, &out->list[m]));
    out->of_volume[volume++] = m++;
  }
  return SP_OK;
}

sp_status sp_materials_create(const sp_config *config, const sp_hexes *hexes, sp_materials *out) {
  const int entries = config->materials.count, volumes = hexes->volume.count;
  const int other = sp_config_material(config, "default");
  const int count = entries + (other >= 0 ? 0 : 1) + hexes->file.contacts;
  SP_AUTO_VALUE(claims) c = {0};
  *out = (sp_materials){.count = count};
  SP_TRY(SP_ALLOCATE("materials", SP_ARRAY(out->list, count), SP_ARRAY(out->of_volume, volumes)));
  out->common.kappa = 1;
  SP_TRY(parse_material(config, &config->problem.all, &out->common));
  out->list[count - 1] = out->common;
  for (int v = 0; v < volumes; v++) out->of_volume[v] = count - 1;
  SP_TRY(find_claims(config, &hexes->volume, &c));
  for (int i = 0; i < entries; i++) {
    const sp_material_entry *entry = &config->materials.entries[i];
    const int own = index_of(config, out, i);
    out->list[own] = out->common;
    out->list[own].name = entry->name;
    SP_TRY(parse_material(config, entry, &out->list[own]));
    if (entry->axes.text && !out->list[own].tensor) return fail_axes(&entry->axes);
    if (i != other) SP_TRY(claim(config, i, own, hexes, &c, out));
  }
  SP_TRY(finish_tensors(config, out));
  SP_TRY(parse_contacts(config, hexes, count - 1 - hexes->file.contacts, out));
  if (other < 0) return SP_OK;
  return sp_groups_check_default(config->materials.entries[other].where, "Physical Volume",
                                 &hexes->volume, out->of_volume, count - 1);
}

static void free_formulas(const sp_material *common, sp_material *m) {
  sp_expression **const own[] = {&m->lambda_formula, &m->kappa_formula, &m->solution, &m->forcing};
  sp_expression *const shared[] = {common->lambda_formula, common->kappa_formula, common->solution,
                                   common->forcing};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (*own[i] != shared[i]) sp_expression_destroy(own[i]);
  if (m->tensor != common->tensor) sp_conductivity_destroy(&m->tensor);
  sp_expression_destroy(&m->curvature);
}

void sp_materials_free(sp_materials *materials) {
  static const sp_material none = {0};
  for (int m = 0; m < materials->count && materials->list; m++)
    free_formulas(&materials->common, &materials->list[m]);
  free_formulas(&none, &materials->common);
  SP_FREE(materials->list, materials->of_volume);
  *materials = (sp_materials){0};
}

/* ---- Elements ---- */

const sp_material *sp_materials_of(const sp_materials *materials, const sp_hexes *hexes,
                                   sp_lid element) {
  return &materials->list[materials->of_volume[hexes->volumes[element]]];
}

static sp_status fail_without_data(const sp_config *config, const sp_material *m) {
  const char *where = config->problem.all.solution.where;
  if (config->materials.count == 0)
    return sp_fail(SP_ERR_INPUT,
                   "%s: the case needs problem.solution (a manufactured solution) or "
                   "problem.forcing (the right-hand side f)",
                   where);
  if (m->name)
    return sp_fail(SP_ERR_INPUT,
                   "%s: [material %s] needs solution or forcing, of its own or in [problem]", where,
                   m->name);
  return sp_fail(SP_ERR_INPUT,
                 "%s: %lld element%s in no [material]: give problem.solution or problem.forcing, "
                 "or a [material default]",
                 where, (long long)m->elements, sp_plural(m->elements));
}

static sp_status fail_without_solution(const sp_config *config, const sp_material *m) {
  const char *where = config->problem.all.solution.where;
  if (m->name)
    return sp_fail(SP_ERR_INPUT,
                   "%s: [material %s] has no solution, but others have: give one to all elements "
                   "or to none",
                   where, m->name);
  return sp_fail(SP_ERR_INPUT,
                 "%s: %lld element%s in no [material] and without a solution, but others have one: "
                 "give one to all elements or to none",
                 where, (long long)m->elements, sp_plural(m->elements));
}

static sp_status check_elements(const sp_config *config, const sp_materials *materials) {
  for (int i = 0; i < config->materials.count; i++) {
    const sp_material_entry *entry = &config->materials.entries[i];
    if (materials->list[index_of(config, materials, i)].elements == 0)
      return sp_fail(SP_ERR_INPUT, "%s: %s", entry->where,
                     strcmp(entry->name, "default") == 0
                         ? "no elements are left for it: the other sections name all"
                         : "it has no elements");
  }
  const bool solution = sp_materials_have_solution(materials);
  for (int m = 0; m < materials->count; m++) {
    const sp_material *material = &materials->list[m];
    if (material->elements == 0) continue;
    if (!material->solution && !material->forcing) return fail_without_data(config, material);
    if (!material->solution && solution) return fail_without_solution(config, material);
  }
  return SP_OK;
}

/* The index of a material's source: materials.count for that of [problem], which many share. */
static int source_of(const sp_materials *materials, const sp_material *material) {
  return material->source == materials->common.source ? materials->count
                                                      : (int)(material - materials->list);
}

/* measures[materials.count + 1] = the measure of the elements with each source. */
static sp_status measure_sources(const sp_config *config, const sp_mesh *mesh,
                                 const sp_materials *materials, double *measures) {
  const sp_rule *rule =
      sp_operator_rule(config->discretization.operator_kind, config->discretization.order);
  const size_t points = sp_rule_points(rule);
  SP_OWNED double *coordinates = NULL;
  SP_TRY(sp_allocate(4 * points, sizeof *coordinates, "sources", &coordinates));
  for (sp_lid e = 0; e < mesh->hexes->count; e++) {
    const sp_material *material = sp_materials_of(materials, mesh->hexes, e);
    double measure = 0, *wj = coordinates + 3 * points;
    if (!material->source) continue;
    SP_TRY(sp_geometry_volume(mesh->hexes, e, rule, coordinates, wj));
    for (size_t p = 0; p < points; p++) measure += wj[p];
    measures[source_of(materials, material)] += measure;
  }
  return SP_OK;
}

/* Make the forcing of each material with a source. */
static sp_status make_forcing(const sp_config *config, const double *measures,
                              sp_materials *materials) {
  const sp_formula *common = materials->common.source;
  bool used = !common;
  for (int m = 0; m < materials->count; m++) {
    sp_material *material = &materials->list[m];
    if (!material->source || material->elements == 0) continue;
    used = used || material->source == common;
    SP_TRY(sp_problem_density(config, material->source->where, material->total,
                              measures[source_of(materials, material)], &material->forcing));
  }
  if (used) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: no elements are left for it: all have a forcing or source of their own",
                 common->where);
}

static sp_status apply_sources(const sp_config *config, const sp_mesh *mesh,
                               sp_materials *materials) {
  SP_OWNED double *measures = NULL;
  SP_AUTO(sp_reduction) reduction = NULL;
  const int count = materials->count + 1;
  SP_TRY(sp_agree(mesh->comm, sp_allocate((size_t)count, sizeof *measures, "sources", &measures)));
  SP_TRY(sp_reduction_create(mesh->comm, &reduction));
  SP_TRY(sp_reduction_sum(reduction, count, measures,
                          measure_sources(config, mesh, materials, measures)));
  return sp_agree(mesh->comm, make_forcing(config, measures, materials));
}

static bool have_source(const sp_materials *materials) {
  bool found = materials->common.source;
  for (int m = 0; m < materials->count; m++) found = found || materials->list[m].source;
  return found;
}

sp_status sp_materials_count(const sp_config *config, const sp_mesh *mesh,
                             sp_materials *materials) {
  sp_gid *elements;
  const size_t count = (size_t)materials->count;
  SP_TRY(sp_agree(mesh->comm, sp_allocate(count, sizeof *elements, "materials", &elements)));
  for (sp_lid e = 0; e < mesh->hexes->count; e++)
    if (!sp_hexes_is_contact(mesh->hexes, e))
      elements[materials->of_volume[mesh->hexes->volumes[e]]]++;
  MPI_Allreduce(MPI_IN_PLACE, elements, materials->count, SP_MPI_GID, MPI_SUM, mesh->comm);
  for (size_t m = 0; m < count; m++) materials->list[m].elements = elements[m];
  free(elements);
  if (have_source(materials)) SP_TRY(apply_sources(config, mesh, materials));
  return check_elements(config, materials);
}

/* True if a material that has elements, or a contact, fulfills a condition. */
static bool any(const sp_materials *materials, bool (*fulfills)(const sp_material *)) {
  for (const sp_material *m = materials->list; m < materials->list + materials->count; m++)
    if ((m->elements > 0 || m->is_contact) && fulfills(m)) return true;
  return false;
}

static bool has_kappa(const sp_material *m) {
  return m->is_contact || m->tensor || m->kappa_formula || m->kappa != 1;
}

bool sp_materials_have_kappa(const sp_materials *materials) {
  return any(materials, has_kappa);
}

bool sp_materials_have_tensor(const sp_materials *materials) {
  for (int m = 0; m < materials->count; m++)
    if (materials->list[m].elements > 0 && materials->list[m].tensor) return true;
  return false;
}

static bool varies(const sp_material *m) {
  return m->is_contact || m->kappa_formula || m->lambda_formula ||
         (m->tensor && !m->tensor->is_constant);
}

bool sp_materials_are_constant(const sp_materials *materials) {
  return !any(materials, varies);
}

double sp_materials_lambda(const sp_materials *materials) {
  for (int m = 0; m < materials->count; m++)
    if (materials->list[m].elements > 0) return materials->list[m].lambda;
  return 0;
}

bool sp_materials_have_lambda(const sp_materials *materials) {
  const double lambda = sp_materials_lambda(materials);
  for (int m = 0; m < materials->count; m++) {
    const sp_material *material = &materials->list[m];
    if (material->elements > 0 && (material->lambda_formula || material->lambda != lambda))
      return true;
  }
  return false;
}

bool sp_materials_have_solution(const sp_materials *materials) {
  for (int m = 0; m < materials->count; m++)
    if (materials->list[m].solution) return true;
  return false;
}

/* ---- Values ---- */

const sp_expression *sp_material_rough_kappa(const sp_material *material, sp_regularity least) {
  if (material->tensor) return sp_conductivity_rough(material->tensor, least);
  const sp_expression *formula = material->kappa_formula;
  return formula && formula->regularity < least ? formula : NULL;
}

sp_status sp_material_conduct(const sp_material *material, size_t n, const double *xyz[3],
                              double *factor, int count, double *const vectors[]) {
  enum { BATCH = 256 };
  double k[SP_TENSOR * BATCH];
  if (!material->tensor) return sp_material_kappa(material, n, xyz, factor, NULL);
  for (size_t first = 0, size; first < n; first += size) {
    size = n - first < BATCH ? n - first : BATCH;
    const double *at[3] = {xyz[0] + first, xyz[1] + first, xyz[2] + first};
    SP_TRY(sp_conductivity_evaluate(material->tensor, size, at, k, NULL));
    for (size_t p = 0; p < size; p++) {
      factor[first + p] = 1;
      for (double *const *v = vectors; v < vectors + 3 * count; v += 3) {
        const double x = v[0][first + p], y = v[1][first + p], z = v[2][first + p];
        v[0][first + p] = k[p] * x + k[3 * size + p] * y + k[4 * size + p] * z;
        v[1][first + p] = k[3 * size + p] * x + k[size + p] * y + k[5 * size + p] * z;
        v[2][first + p] = k[4 * size + p] * x + k[5 * size + p] * y + k[2 * size + p] * z;
      }
    }
  }
  return SP_OK;
}

sp_status sp_material_tensor(const sp_material *material, size_t n, const double *xyz[3],
                             double *k) {
  if (material->tensor) return sp_conductivity_evaluate(material->tensor, n, xyz, k, NULL);
  SP_TRY(sp_material_kappa(material, n, xyz, k, NULL));
  for (size_t p = 0; p < n; p++) {
    k[n + p] = k[2 * n + p] = k[p];
    k[3 * n + p] = k[4 * n + p] = k[5 * n + p] = 0;
  }
  return SP_OK;
}

sp_status sp_material_kappa(const sp_material *material, size_t n, const double *xyz[3],
                            double *value, double *const gradient[3]) {
  assert(!material->tensor);
  if (material->kappa_formula)
    SP_TRY(
        sp_problem_evaluate_coefficient(material->kappa_formula, false, n, xyz, value, gradient));
  for (size_t p = 0; p < n && material->kappa_formula && material->is_contact; p++) {
    const double r = value[p];
    value[p] = material->kappa / r;
    for (int d = 0; d < 3 && gradient; d++) gradient[d][p] *= -value[p] / r;
  }
  if (material->kappa_formula) return SP_OK;
  for (size_t p = 0; p < n; p++) {
    value[p] = material->kappa;
    for (int d = 0; d < 3 && gradient; d++) gradient[d][p] = 0;
  }
  return SP_OK;
}

sp_status sp_material_lambda(const sp_material *material, size_t n, const double *xyz[3],
                             double *value) {
  if (material->lambda_formula)
    return sp_problem_evaluate_coefficient(material->lambda_formula, true, n, xyz, value, NULL);
  for (size_t p = 0; p < n; p++) value[p] = material->lambda;
  return SP_OK;
}
