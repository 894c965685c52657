#include "solver/results/quantities.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/problem/groups.h"
#include "solver/results/crossing.h"

enum { LIST_SIZE = 400 };

/* ---- Groups ---- */

static sp_status fail_unknown(const sp_result_entry *entry, const sp_hexes *hexes) {
  char surfaces[LIST_SIZE], volumes[LIST_SIZE];
  return sp_fail(
      SP_ERR_INPUT, "%s: the mesh has no group '%s'%s; surfaces: %s; volumes: %s", entry->where,
      entry->group, sp_groups_kind_of(entry->group, hexes, &hexes->surface),
      hexes->surface.group_count ? sp_groups_list(&hexes->surface, NULL, LIST_SIZE, surfaces)
                                 : "none",
      hexes->volume.group_count ? sp_groups_list(&hexes->volume, NULL, LIST_SIZE, volumes)
                                : "none");
}

/* Decide if a line is about a surface or a volume. */
static sp_status choose_kind(const sp_result_entry *entry, const sp_hexes *hexes,
                             bool *on_surface) {
  *on_surface = entry->over == SP_OVER_SURFACE || entry->type->through;
  if (entry->over == SP_OVER_DOMAIN) return SP_OK;
  const bool surface =
      entry->over != SP_OVER_VOLUME && sp_groups_have(&hexes->surface, entry->group);
  const bool volume =
      entry->over != SP_OVER_SURFACE && sp_groups_have(&hexes->volume, entry->group);
  if (entry->over == SP_OVER_GROUP && !surface && !volume) return fail_unknown(entry, hexes);
  if (entry->type->through && !surface && volume)
    return sp_fail(SP_ERR_INPUT,
                   "%s: '%s' is a volume, but a %s goes through a surface: use a boundary group",
                   entry->where, entry->group, entry->type->name);
  if (entry->over == SP_OVER_GROUP && !entry->type->through) {
    if (surface && volume)
      return sp_fail(SP_ERR_INPUT,
                     "%s: '%s' is a surface and a volume of the mesh: write 'surface %s' or "
                     "'volume %s' after 'over'%s",
                     entry->where, entry->group, entry->group, entry->group,
                     entry->other ? " or the comma" : "");
    *on_surface = surface;
  }
  if (*on_surface)
    return sp_groups_check(entry->where, "boundary group", entry->group, hexes, &hexes->surface);
  return sp_groups_check(entry->where, "volume group", entry->group, hexes, &hexes->volume);
}

/* Mark the surfaces or volumes of a line; all volumes for the domain. */
static void mark_members(const sp_result_entry *entry, const sp_hexes *hexes, bool on_surface,
                         bool *members) {
  const sp_family *family = on_surface ? &hexes->surface : &hexes->volume;
  const int count = family->count - (on_surface ? 0 : hexes->file.contacts);
  for (int m = 0; m < count; m++) members[m] = entry->over == SP_OVER_DOMAIN;
  for (int at[2] = {0}, m; entry->group && (m = sp_groups_next(family, entry->group, at)) >= 0;)
    members[m] = true;
}

sp_dimension sp_quantity_dimension(const sp_quantity *q) {
  sp_dimension d = q->type->unit;
  if (q->formula) return (sp_dimension){0};
  d.length += q->type->of_size * (q->on_surface ? 2 : 3);
  return d;
}

/* Take `surface 3` as the name of a group if the mesh has one called that. */
static void take_whole_name(const sp_hexes *hexes, char **group, sp_result_over *over) {
  const sp_family *families[] = {&hexes->surface, &hexes->volume};
  char name[300];
  if (*over != SP_OVER_SURFACE && *over != SP_OVER_VOLUME) return;
  snprintf(name, sizeof name, "%s %s", *over == SP_OVER_SURFACE ? "surface" : "volume", *group);
  for (int f = 0; f < 2; f++)
    for (int g = 0; g < families[f]->group_count; g++)
      if (strcmp(families[f]->groups[g].name, name) == 0) {
        *group = families[f]->groups[g].name;
        *over = f == 0 ? SP_OVER_SURFACE : SP_OVER_VOLUME;
        return;
      }
}

static bool is_surface(const sp_hexes *hexes, const char *group, sp_result_over over) {
  return over != SP_OVER_VOLUME && sp_groups_have(&hexes->surface, group);
}

static const char *title_of(const sp_hexes *hexes, const char *group, sp_result_over over) {
  const bool on_surface = group && is_surface(hexes, group, over);
  return sp_groups_title(on_surface ? &hexes->surface : &hexes->volume, group);
}

static sp_result_entry named_as_in(const sp_hexes *hexes, const sp_result_entry *entry) {
  sp_result_entry out = *entry;
  if (out.group) take_whole_name(hexes, &out.group, &out.over);
  if (out.other) take_whole_name(hexes, &out.other, &out.other_over);
  return out;
}

/* The result itself, or the parts of a pair: the averages over both groups, and the flux
 * through the second one, or the first one if only that is a surface. If it is not divided by a
 * flux, the last part is not used and equals the second one. */
static sp_result_entry part_of_pair(const sp_result_entry *entry, const sp_hexes *hexes, int part) {
  sp_result_entry out = named_as_in(hexes, entry);
  if (!entry->type->of_pair) return out;
  const bool to_surface = is_surface(hexes, out.other, out.other_over);
  const bool by_flux = !entry->by && (to_surface || is_surface(hexes, out.group, out.over));
  out.type = sp_result_type_of(part < 2 || !by_flux ? "average" : "flux");
  if (part == 1 || (part == 2 && (to_surface || !by_flux))) {
    out.group = out.other;
    out.over = out.other_over;
  }
  return out;
}

/* A result of two volumes is divided by a source. */
static sp_status check_heat(const sp_result_entry *entry, const sp_hexes *hexes) {
  if (!entry->type->of_pair || entry->by || !isnan(entry->heat)) return SP_OK;
  if (part_of_pair(entry, hexes, 2).type->through) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: '%s' and '%s' are volumes without a source of heat: write 'by SOURCE' behind "
                 "them, with a source or a result to divide by",
                 entry->where, entry->group, entry->other);
}

static int parts_of(const sp_result_type *type) {
  return type->of_pair ? SP_PAIR_PARTS : 1;
}

sp_status sp_quantities_check(const sp_wanted *wanted, const sp_mesh *mesh) {
  const sp_result_entry *entry = wanted->results.entries;
  bool on_surface;
  for (int r = 0; r < wanted->results.count; r++, entry++)
    for (int part = 0; part < parts_of(entry->type); part++) {
      const sp_result_entry one = part_of_pair(entry, mesh->hexes, part);
      SP_TRY(choose_kind(&one, mesh->hexes, &on_surface));
      if (part == 2) SP_TRY(check_heat(entry, mesh->hexes));
    }
  return SP_OK;
}

/* ---- Creation ---- */

static sp_status fill_entry(const sp_hexes *hexes, const sp_problem *problem,
                            const sp_result_entry *entry, sp_quantity *q) {
  *q = (sp_quantity){.name = entry->name,
                     .group = entry->group,
                     .other = entry->other,
                     .type = entry->type,
                     .formula = entry->formula.expression,
                     .heat_of = entry->heat_of,
                     .by_result = entry->by_result,
                     .size = entry->heat};
  q->group = title_of(hexes, q->group, entry->over);
  q->other = title_of(hexes, q->other, entry->other_over);
  if (!q->type->combine) SP_TRY(choose_kind(entry, hexes, &q->on_surface));
  const int count = q->on_surface ? hexes->surface.count : hexes->volume.count;
  SP_TRY(sp_allocate((size_t)count, sizeof *q->members, "results", &q->members));
  if (q->type->combine) return SP_OK;
  mark_members(entry, hexes, q->on_surface, q->members);
  for (int s = 0; s < count && q->type->through; s++) {
    const int part = q->members[s] ? problem->part_of_surface[s] : -1;
    if (part >= 0 && problem->parts[part].type->joins)
      return sp_fail(SP_ERR_INPUT, "%s: '%s' is periodic, so it has no flux out of the domain",
                     entry->where, entry->group);
  }
  return SP_OK;
}

static sp_status fill_list(const sp_wanted *wanted, const sp_hexes *hexes,
                           const sp_problem *problem, sp_quantities *quantities) {
  const sp_result_type *const types[] = {sp_result_type_of("minimum"), sp_result_type_of("average"),
                                         sp_result_type_of("maximum")};
  sp_quantity *next = &quantities->list[quantities->count];
  for (int r = 0; r < quantities->count; r++) {
    const sp_result_entry entry = named_as_in(hexes, &wanted->results.entries[r]);
    SP_TRY(fill_entry(hexes, problem, &entry, &quantities->list[r]));
  }
  for (int k = 0; k < 3; k += 2) *next++ = (sp_quantity){.name = "u", .type = types[k]};
  SP_OWNED int *index = NULL; /* of materials with elements */
  SP_TRY(sp_allocate((size_t)problem->materials.count, sizeof *index, "results", &index));
  SP_TRY(sp_allocate((size_t)hexes->volume.count, sizeof *index, "results",
                     &quantities->material_of_volume));
  for (int m = 0, n = 0; m < problem->materials.count && quantities->material_count > 0; m++) {
    const sp_material *material = &problem->materials.list[m];
    if (material->elements == 0) continue;
    index[m] = n++;
    for (int k = 0; k < 3; k++)
      *next++ =
          (sp_quantity){.name = material->name ? material->name : "default", .type = types[k]};
  }
  for (int v = 0; v < hexes->volume.count; v++)
    quantities->material_of_volume[v] = index[problem->materials.of_volume[v]];
  for (int r = 0; r < quantities->count; r++) {
    if (!quantities->list[r].type->of_pair) continue;
    quantities->list[r].parts = (int)(next - quantities->list);
    for (int part = 0; part < SP_PAIR_PARTS; part++) {
      const sp_result_entry entry = part_of_pair(&wanted->results.entries[r], hexes, part);
      SP_TRY(fill_entry(hexes, problem, &entry, next++));
    }
  }
  return SP_OK;
}

/* A group without elements or faces has no average. */
static sp_status check_has_members(const char *where, const sp_mesh *mesh, const sp_quantity *q) {
  int some = 0;
  for (sp_lid e = 0; e < mesh->hexes->count && !some; e++) {
    some = sp_quantity_has_element(q, mesh->hexes, e);
    for (int f = 0; f < SP_FACES && !some; f++) some = sp_quantity_has_face(q, mesh->hexes, e, f);
  }
  MPI_Allreduce(MPI_IN_PLACE, &some, 1, MPI_INT, MPI_MAX, mesh->comm);
  if (some) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%s: %s '%s' has no %s", where,
                 q->on_surface ? "boundary group" : "volume group", q->group,
                 q->on_surface ? "faces" : "elements");
}

/* Check the groups of a result or a part of one. */
static sp_status check_groups(const char *where, const sp_mesh *mesh, const sp_problem *problem,
                              sp_quantity *q) {
  SP_TRY(check_has_members(where, mesh, q));
  if (!q->type->through) return SP_OK;
  return sp_crossing_check(where, problem, mesh, q->members, &q->crosses);
}

static sp_status check_all(const sp_wanted *wanted, const sp_mesh *mesh, const sp_problem *problem,
                           sp_quantities *quantities) {
  for (int r = 0; r < quantities->count; r++) {
    sp_quantity *q = &quantities->list[r];
    const char *where = wanted->results.entries[r].where;
    if (q->type->of_results) continue;
    sp_quantity *first = q->type->of_pair ? &quantities->list[q->parts] : q;
    for (int part = 0; part < parts_of(q->type); part++)
      SP_TRY(check_groups(where, mesh, problem, &first[part]));
  }
  return SP_OK;
}

/* Count the list. */
static void count_all(const sp_wanted *wanted, const sp_problem *problem, sp_quantities *out) {
  out->count = wanted->results.count;
  out->materials = out->count + 2;
  for (int m = 0; m < problem->materials.count; m++)
    out->material_count += problem->materials.list[m].elements > 0;
  if (out->material_count == 1) out->material_count = 0;
  out->all = out->materials + 3 * out->material_count;
  for (int r = 0; r < out->count; r++)
    if (wanted->results.entries[r].type->of_pair) out->all += SP_PAIR_PARTS;
}

sp_status sp_quantities_create(const sp_wanted *wanted, const sp_mesh *mesh,
                               const sp_problem *problem, double tolerance, sp_quantities **out) {
  sp_quantities counted = {.tolerance = tolerance};
  count_all(wanted, problem, &counted);
  sp_status status = SP_ALLOCATE("results", SP_ARRAY(*out, 1), SP_ARRAY(counted.list, counted.all));
  if (!status) {
    **out = counted;
    status = fill_list(wanted, mesh->hexes, problem, *out);
  }
  status = sp_agree(mesh->comm, status);
  if (!status) status = check_all(wanted, mesh, problem, *out);
  if (status) sp_quantities_destroy(out);
  return status;
}

void sp_quantities_destroy(sp_quantities **quantities) {
  if (!*quantities) return;
  for (int r = 0; r < (*quantities)->all; r++) free((*quantities)->list[r].members);
  SP_FREE((*quantities)->list, (*quantities)->material_of_volume, *quantities);
  *quantities = NULL;
}
