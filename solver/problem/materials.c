#include "solver/problem/materials.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/names.h"
#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "operators/counts.h"
#include "operators/kinds.h"
#include "operators/reduction.h"
#include "solver/problem/evaluate.h"
#include "solver/problem/groups.h"

/* ---- Formulas ---- */

/* A constant is a value without a formula. */
static void take_coefficient(const sp_formula *f, sp_material_coefficient *c) {
  c->formula = f->expression->is_constant ? NULL : f->expression;
  if (!c->formula) c->value = f->value;
}

/* Take the formulas of a section or of [problem]; *m has the ones that replace missing formulas. */
static void take_formulas(const sp_statement *statement, const sp_material_entry *entry,
                          sp_material *m) {
  if (entry->solution.text) {
    m->solution = entry->solution.expression;
    m->curvature = entry->solution.curvature;
    m->rate = entry->solution.rate;
  }
  if (entry->forcing.text || entry->source.text) {
    m->forcing = entry->forcing.expression;
    m->reaction = entry->forcing.rate;
    m->source = entry->source.text ? &entry->source : NULL;
  }
  if (entry->lambda.text) take_coefficient(&entry->lambda, &m->of[SP_LAMBDA]);
  if (entry->capacity.text) take_coefficient(&entry->capacity, &m->of[SP_CAPACITY]);
  if (!entry->kappa.text && !entry->axes.text) return;
  m->tensor = entry->kappa.tensor;
  m->of[SP_KAPPA].formula = NULL;
  if (!m->tensor)
    take_coefficient(entry->kappa.text ? &entry->kappa : &statement->all.kappa, &m->of[SP_KAPPA]);
}

/* ---- Volumes ---- */

/* The index of [material default], -1 if there is none. */
static int find_default(const sp_statement *statement) {
  int i = statement->materials.count - 1;
  while (i >= 0 && strcmp(statement->materials.entries[i].name, "default") != 0) i--;
  return i;
}

/* The index of the material of section i; `other` is [material default], the last material. */
static int material_of_section(const sp_materials *materials, int other, int i) {
  return i == other ? materials->count - 1 : i - (other >= 0 && other < i);
}

/* The groups of each section: first[i], then next[], -1 after the last one. Group g is 2 g in these
 * lists if the section gives its name, 2 g + 1 if it gives its number. */
typedef struct claims {
  sp_names sections;
  int *first, *next;
} claims;

static void claims_destroy(claims *c) {
  sp_names_clear(&c->sections);
  SP_FREE(c->first, c->next);
}

/* Find the groups of all sections, in a time linear in both. */
static sp_status find_claims(const sp_statement *statement, const sp_family *family, claims *c) {
  const int entries = statement->materials.count;
  SP_TRY(SP_ALLOCATE("materials", SP_ARRAY(c->first, entries),
                     SP_ARRAY(c->next, 2 * (size_t)family->group_count)));
  for (int i = 0; i < entries; i++) {
    const char *name = statement->materials.entries[i].name;
    c->first[i] = -1;
    SP_TRY(sp_names_add(&c->sections, name, strlen(name), i, NULL));
  }
  for (int n = 2 * family->group_count; n-- > 0;) {
    const sp_group *group = &family->groups[n / 2];
    char number[16];
    snprintf(number, sizeof number, "%d", group->number);
    if (n % 2 && strcmp(number, group->name) == 0) continue;
    const char *name = n % 2 ? number : group->name;
    const sp_name *section = sp_names_find(&c->sections, name, strlen(name));
    if (!section) continue;
    c->next[n] = c->first[section->index];
    c->first[section->index] = n;
  }
  return SP_OK;
}

/* Give material m the volumes of the groups that section i names. */
static sp_status claim_volumes(const sp_statement *statement, int i, int m, const sp_hexes *hexes,
                               const claims *c, sp_materials *materials) {
  const int fallback = materials->count - 1, first = c->first[i];
  const sp_material_entry *entry = &statement->materials.entries[i];
  if (first < 0 || c->next[first] >= 0) /* none or several */
    SP_TRY(sp_groups_check(entry->where, statement->is_box ? "region" : "Physical Volume",
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

/* *density = total / measure, a formula. */
static sp_status make_density(const char *where, double total, double measure,
                              sp_expression **density) {
  SP_OWNED char *text = NULL;
  SP_TRY(sp_format(&text, "%.17g", total / measure));
  return sp_expression_parse(text, where, NULL, density);
}

/* kappa = T / R, and no sources. */
static sp_status make_contact(const sp_boundary_entry *entry, const sp_hexes *hexes,
                              sp_material *m) {
  sp_material_coefficient r = {.value = 1}; /* if R is a formula */
  *m = (sp_material){.name = entry->group, .is_contact = true};
  take_coefficient(&entry->coefficients[0], &r);
  m->of[SP_KAPPA] = (sp_material_coefficient){r.formula, hexes->file.thickness / r.value};
  SP_TRY(make_density(entry->formula.where, 0, 1, &m->density));
  m->forcing = m->density;
  return SP_OK;
}

/* Contacts are the last volumes, in the order of their lines; their materials begin at `m`. */
static sp_status make_contacts(const sp_statement *statement, const sp_hexes *hexes, int m,
                               sp_materials *out) {
  int volume = hexes->volume.count - hexes->file.contacts;
  for (int p = 0; p < statement->boundary.count && volume < hexes->volume.count; p++) {
    const sp_boundary_entry *entry = &statement->boundary.entries[p];
    if (!entry->type->inserts) continue;
    SP_TRY(make_contact(entry, hexes, &out->list[m]));
    out->of_volume[volume++] = m++;
  }
  return SP_OK;
}

sp_status sp_materials_create(const sp_statement *statement, const sp_hexes *hexes,
                              sp_materials *out) {
  const int entries = statement->materials.count, volumes = hexes->volume.count;
  const int other = find_default(statement);
  const int count = entries + (other >= 0 ? 0 : 1) + hexes->file.contacts;
  sp_material common = {0};
  SP_AUTO_VALUE(claims) c = {0};
  *out = (sp_materials){.count = count};
  SP_TRY(SP_ALLOCATE("materials", SP_ARRAY(out->list, count), SP_ARRAY(out->of_volume, volumes)));
  take_formulas(statement, &statement->all, &common);
  out->list[count - 1] = common;
  for (int v = 0; v < volumes; v++) out->of_volume[v] = count - 1;
  SP_TRY(find_claims(statement, &hexes->volume, &c));
  for (int i = 0; i < entries; i++) {
    const sp_material_entry *entry = &statement->materials.entries[i];
    const int own = material_of_section(out, other, i);
    out->list[own] = common;
    out->list[own].name = sp_groups_title(&hexes->volume, entry->name);
    take_formulas(statement, entry, &out->list[own]);
    if (i != other) SP_TRY(claim_volumes(statement, i, own, hexes, &c, out));
  }
  SP_TRY(make_contacts(statement, hexes, count - 1 - hexes->file.contacts, out));
  if (other < 0) return SP_OK;
  return sp_groups_check_default(statement->materials.entries[other].where, "Physical Volume",
                                 &hexes->volume, out->of_volume, count - 1);
}

void sp_materials_free(sp_materials *materials) {
  for (int m = 0; m < materials->count && materials->list; m++)
    sp_expression_destroy(&materials->list[m].density);
  SP_FREE(materials->list, materials->of_volume);
  *materials = (sp_materials){0};
}

/* ---- Elements ---- */

const sp_material *sp_materials_of(const sp_materials *materials, const sp_hexes *hexes,
                                   sp_lid element) {
  return &materials->list[materials->of_volume[hexes->volumes[element]]];
}

static sp_status fail_without(const sp_statement *statement, const char *where,
                              const sp_material *m, const char *what) {
  char who[300] = "the case needs";
  if (m->name)
    snprintf(who, sizeof who, "[material %s] needs", m->name);
  else if (statement->materials.count > 0)
    snprintf(who, sizeof who, "%lld element%s in no [material] need%s", (long long)m->elements,
             sp_plural(m->elements), m->elements == 1 ? "s" : "");
  return sp_fail(SP_ERR_INPUT, "%s: %s %s%s", where, who, what,
                 statement->materials.count > 0 ? ", or its own" : "");
}

static sp_status check_elements(const sp_statement *statement, const sp_materials *materials) {
  const int other = find_default(statement);
  for (int i = 0; i < statement->materials.count; i++) {
    const sp_material_entry *entry = &statement->materials.entries[i];
    if (materials->list[material_of_section(materials, other, i)].elements == 0)
      return sp_fail(SP_ERR_INPUT, "%s: %s", entry->where,
                     i == other ? "no elements are left for it: the other sections name all"
                                : "it has no elements");
  }
  const bool solution = sp_materials_have_solution(materials);
  for (int m = 0; m < materials->count; m++) {
    const sp_material *material = &materials->list[m];
    if (material->elements == 0) continue;
    const sp_material_entry *all = &statement->all;
    if (!material->solution && !material->forcing)
      return fail_without(statement, all->solution.where, material,
                          "problem.solution (a manufactured solution) or problem.forcing (the "
                          "right-hand side f)");
    if (!material->solution && solution)
      return fail_without(statement, all->solution.where, material,
                          "problem.solution, because others have one");
    if (statement->scope->time && material->of[SP_CAPACITY].value == 0 &&
        !material->of[SP_CAPACITY].formula)
      return fail_without(statement, all->capacity.where, material,
                          "problem.capacity for time.end");
  }
  return SP_OK;
}

/* The index of a source in measures: materials.count for the source of [problem], which many share.
 */
static int source_of(const sp_statement *statement, const sp_materials *materials,
                     const sp_material *material) {
  return material->source == &statement->all.source ? materials->count
                                                    : (int)(material - materials->list);
}

/* measures[materials.count + 1] = the measure of the elements with each source. */
static sp_status measure_sources(const sp_statement *statement, const sp_mesh *mesh,
                                 const sp_materials *materials, double *measures) {
  const sp_rule *rule = sp_operator_rule(statement->operator_kind, statement->order);
  SP_OWNED sp_sample *at = NULL;
  SP_TRY(sp_allocate(1, sizeof *at, "sources", &at));
  for (sp_lid e = 0; e < mesh->hexes->count; e++) {
    const sp_material *material = sp_materials_of(materials, mesh->hexes, e);
    double measure = 0;
    if (!material->source) continue;
    SP_TRY(sp_geometry_sample(mesh->hexes, e, -1, rule, at));
    for (size_t p = 0; p < at->count; p++) measure += at->weight[p];
    measures[source_of(statement, materials, material)] += measure;
  }
  return SP_OK;
}

/* Make the forcing of each material with a source. */
static sp_status make_forcing(const sp_statement *statement, const double *measures,
                              sp_materials *materials) {
  const sp_formula *common = &statement->all.source;
  bool used = !common->text;
  for (int m = 0; m < materials->count; m++) {
    sp_material *material = &materials->list[m];
    if (!material->source || material->elements == 0) continue;
    used = used || material->source == common;
    SP_TRY(make_density(material->source->where, material->source->value,
                        measures[source_of(statement, materials, material)], &material->density));
    material->forcing = material->density;
  }
  if (used) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: no elements are left for it: all have a forcing or source of their own",
                 common->where);
}

static sp_status apply_sources(const sp_statement *statement, const sp_mesh *mesh,
                               sp_materials *materials) {
  SP_OWNED double *measures = NULL;
  SP_AUTO(sp_reduction) reduction = NULL;
  const int count = materials->count + 1;
  SP_TRY(sp_agree(mesh->comm, sp_allocate((size_t)count, sizeof *measures, "sources", &measures)));
  SP_TRY(sp_reduction_create(mesh->comm, &reduction));
  SP_TRY(sp_reduction_sum(reduction, count, measures,
                          measure_sources(statement, mesh, materials, measures)));
  return sp_agree(mesh->comm, make_forcing(statement, measures, materials));
}

bool sp_material_is_of_u(const sp_material *m) {
  bool some = false;
  for (sp_coefficient c = 0; c < SP_COEFFICIENTS; c++) some = some || sp_coefficient_is_of_u(m, c);
  return some;
}

static bool is_in_mesh(const sp_material *m) {
  return m->elements > 0 || m->is_contact;
}

static void find_properties(sp_materials *all) {
  for (const sp_material *m = all->list; m < all->list + all->count; m++) {
    if (!is_in_mesh(m)) continue;
    all->have_kappa = all->have_kappa || m->is_contact || m->tensor || m->of[SP_KAPPA].formula ||
                      m->of[SP_KAPPA].value != 1;
    all->have_tensor = all->have_tensor || m->tensor;
    all->have_reaction = all->have_reaction || m->reaction;
    all->are_of_u = all->are_of_u || sp_material_is_of_u(m);
    all->capacity_varies = all->capacity_varies || m->of[SP_CAPACITY].formula;
  }
}

sp_status sp_materials_count(const sp_statement *statement, const sp_mesh *mesh,
                             sp_materials *materials) {
  sp_gid *elements;
  const size_t count = (size_t)materials->count;
  SP_TRY(sp_agree(mesh->comm, sp_allocate(count, sizeof *elements, "materials", &elements)));
  for (sp_lid e = 0; e < mesh->hexes->count; e++)
    if (!sp_hexes_is_contact(mesh->hexes, e))
      elements[materials->of_volume[mesh->hexes->volumes[e]]]++;
  MPI_Allreduce(MPI_IN_PLACE, elements, materials->count, SP_MPI_GID, MPI_SUM, mesh->comm);
  bool has_source = statement->all.source.text;
  for (size_t m = 0; m < count; m++) {
    materials->list[m].elements = elements[m];
    has_source = has_source || materials->list[m].source;
  }
  free(elements);
  find_properties(materials);
  if (has_source) SP_TRY(apply_sources(statement, mesh, materials));
  return check_elements(statement, materials);
}

static double constant_lambda(const sp_material *m) {
  return m->of[SP_LAMBDA].value + m->shift * m->of[SP_CAPACITY].value;
}

double sp_materials_lambda(const sp_materials *materials) {
  for (int m = 0; m < materials->count; m++)
    if (materials->list[m].elements > 0) return constant_lambda(&materials->list[m]);
  return 0;
}

bool sp_materials_are_constant(const sp_materials *materials) {
  for (const sp_material *m = materials->list; m < materials->list + materials->count; m++)
    if (is_in_mesh(m) &&
        (m->is_contact || m->of[SP_KAPPA].formula || m->of[SP_LAMBDA].formula ||
         (m->shift > 0 && m->of[SP_CAPACITY].formula) || (m->tensor && !m->tensor->is_constant)))
      return false;
  return true;
}

bool sp_materials_have_lambda(const sp_materials *materials) {
  const double lambda = sp_materials_lambda(materials);
  for (int m = 0; m < materials->count; m++) {
    const sp_material *material = &materials->list[m];
    if (material->elements > 0 && (material->of[SP_LAMBDA].formula ||
                                   (material->shift > 0 && material->of[SP_CAPACITY].formula) ||
                                   constant_lambda(material) != lambda))
      return true;
  }
  return false;
}

bool sp_materials_have_solution(const sp_materials *materials) {
  for (int m = 0; m < materials->count; m++)
    if (materials->list[m].solution) return true;
  return false;
}

void sp_materials_shift(sp_materials *materials, double shift) {
  for (int m = 0; m < materials->count; m++)
    if (!materials->list[m].is_contact) materials->list[m].shift = shift;
}

/* ---- Values at points ---- */

const sp_expression *sp_material_rough_kappa(const sp_material *material, sp_regularity least) {
  const sp_expression *formula = material->of[SP_KAPPA].formula;
  for (int m = 0; m < SP_TENSOR && material->tensor; m++) {
    formula = material->tensor->formulas[m];
    if (formula && formula->regularity < least) break;
  }
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
  const sp_material_coefficient *kappa = &material->of[SP_KAPPA];
  if (kappa->formula)
    SP_TRY(sp_problem_evaluate_coefficient(kappa->formula, false, n, xyz, NULL, value, gradient));
  for (size_t p = 0; p < n && kappa->formula && material->is_contact; p++) {
    const double r = value[p];
    value[p] = kappa->value / r;
    for (int d = 0; d < 3 && gradient; d++) gradient[d][p] *= -value[p] / r;
  }
  if (kappa->formula) return SP_OK;
  for (size_t p = 0; p < n; p++) {
    value[p] = kappa->value;
    for (int d = 0; d < 3 && gradient; d++) gradient[d][p] = 0;
  }
  return SP_OK;
}

static sp_status evaluate_or_fill(const sp_material_coefficient *c, bool zero_allowed, size_t n,
                                  const double *xyz[3], double *value) {
  if (c->formula)
    return sp_problem_evaluate_coefficient(c->formula, zero_allowed, n, xyz, NULL, value, NULL);
  for (size_t p = 0; p < n; p++) value[p] = c->value;
  return SP_OK;
}

sp_status sp_material_shifted(const sp_material *material, double shift, bool with_lambda, size_t n,
                              const double *xyz[3], double *value) {
  enum { BATCH = 256 };
  const sp_material *m = material;
  double capacity[BATCH];
  if (with_lambda)
    SP_TRY(evaluate_or_fill(&m->of[SP_LAMBDA], true, n, xyz, value));
  else
    for (size_t p = 0; p < n; p++) value[p] = 0;
  for (size_t first = 0, size; first < n && shift > 0 && !m->is_contact; first += size) {
    size = n - first < BATCH ? n - first : BATCH;
    const double *at[3] = {xyz[0] + first, xyz[1] + first, xyz[2] + first};
    SP_TRY(evaluate_or_fill(&m->of[SP_CAPACITY], false, size, at, capacity));
    for (size_t p = 0; p < size; p++) value[first + p] += shift * capacity[p];
  }
  return SP_OK;
}
