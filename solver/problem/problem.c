#include "solver/problem/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/geometry.h"
#include "operators/counts.h"
#include "operators/reduction.h"
#include "solver/problem/boundary.h"
#include "solver/problem/groups.h"

enum { FACE_POINTS = (SP_MAX_NQ + 1) * (SP_MAX_NQ + 1) };

static sp_boundary_part make_part(const sp_boundary_entry *entry) {
  sp_boundary_part part = {
      .group = entry->group, .type = entry->type, .formula = entry->formula.expression};
  part.of_u = entry->type->of_u || (part.formula && part.formula->is_of_u);
  for (int c = 0; c < SP_CONDITION_COEFFICIENTS; c++) {
    const sp_expression *formula = part.coefficients[c] = entry->coefficients[c].expression;
    part.of_u = part.of_u || (formula && formula->is_of_u);
  }
  return part;
}

const double *sp_boundary_last(const sp_boundary_part *part, int order, sp_lid element, int f,
                               double *u) {
  const sp_numbering *numbering = part->last->numbering;
  int indices[FACE_POINTS];
  if (!part->of_u || !part->last->values || numbering->order != order) return NULL;
  const sp_lid *nodes = sp_numbering_nodes(numbering, element);
  sp_face_nodes(order, f, indices);
  for (int q = 0; q < (order + 1) * (order + 1); q++) u[q] = part->last->values[nodes[indices[q]]];
  return u;
}

static sp_status make_parts(const sp_statement *statement, sp_problem *problem) {
  const int lines = statement->boundary.count;
  SP_TRY(sp_allocate((size_t)lines + 1, sizeof *problem->parts, "boundary", &problem->parts));
  problem->part_count = lines + 1;
  for (int p = 0; p < lines; p++) problem->parts[p] = make_part(&statement->boundary.entries[p]);
  problem->parts[lines] = make_part(&statement->boundary.fallback);
  for (int p = 0; p <= lines; p++) problem->parts[p].last = &problem->last;
  return SP_OK;
}

/* Assign the surfaces, or the volumes, of all groups called `name` to part p; `unclaimed` have no
 * part yet. */
static sp_status claim_group(const sp_boundary_entry *entry, const char *name, int p, int unclaimed,
                             const sp_mesh *mesh, sp_problem *problem) {
  const sp_hexes *hexes = mesh->hexes;
  const bool volume = sp_boundary_is_volume(name, hexes);
  const sp_family *family = volume ? &hexes->volume : &hexes->surface;
  SP_TRY(sp_boundary_check_group(entry, name, hexes));
  for (int at[2] = {0}, m; (m = sp_groups_next(family, name, at)) >= 0;) {
    if (!volume && mesh->buried[m] && !(entry->type->places & SP_ON_INNER)) continue;
    int *part = volume ? &problem->part_of_volume[m] : &problem->part_of_surface[m];
    if (*part != (volume ? -1 : unclaimed) && *part != p)
      return sp_fail(SP_ERR_INPUT,
                     "%s: group '%s' has a %s in common with group '%s'; a %s can have only one "
                     "condition",
                     entry->formula.where, name, volume ? "volume" : "surface",
                     problem->parts[*part].group, volume ? "volume" : "surface");
    *part = p;
  }
  return SP_OK;
}

/* Find the part that each surface belongs to, the default if no line claims it, and the volumes
 * that lines fix. */
static sp_status claim_surfaces(const sp_statement *statement, const sp_mesh *mesh,
                                sp_problem *problem) {
  const sp_hexes *hexes = mesh->hexes;
  const int fallback = statement->boundary.count;
  SP_TRY(sp_allocate((size_t)hexes->surface.count, sizeof(int), "surfaces",
                     &problem->part_of_surface));
  SP_TRY(
      sp_allocate((size_t)hexes->volume.count, sizeof(int), "volumes", &problem->part_of_volume));
  for (int s = 0; s < hexes->surface.count; s++) problem->part_of_surface[s] = fallback;
  for (int v = 0; v < hexes->volume.count; v++) problem->part_of_volume[v] = -1;
  for (int p = 0; p < fallback; p++) {
    const sp_boundary_entry *entry = &statement->boundary.entries[p];
    SP_TRY(claim_group(entry, entry->group, p, fallback, mesh, problem));
    const bool volume = sp_boundary_is_volume(entry->group, hexes);
    problem->parts[p].group =
        sp_groups_title(volume ? &hexes->volume : &hexes->surface, entry->group);
    if (entry->partner) SP_TRY(claim_group(entry, entry->partner, p, fallback, mesh, problem));
  }
  if (!statement->boundary.fallback.where) return SP_OK;
  return sp_groups_check_default(statement->boundary.fallback.formula.where, "Physical Surface",
                                 &hexes->surface, problem->part_of_surface, fallback);
}

int sp_problem_face_part(const sp_problem *problem, const sp_hexes *hexes, sp_lid element,
                         int face) {
  const int fallback = problem->part_count - 1,
            surface = sp_surface_of(hexes->surfaces[element][face]);
  const bool exterior = sp_surface_is_exterior(hexes->surfaces[element][face]);
  if (problem->part_count == 0 || (surface < 0 && !exterior)) return -1;
  const int part = surface < 0 ? fallback : problem->part_of_surface[surface];
  return exterior || part != fallback ? part : -1;
}

int sp_problem_volume_part(const sp_problem *problem, const sp_hexes *hexes, sp_lid element) {
  return problem->part_of_volume ? problem->part_of_volume[hexes->volumes[element]] : -1;
}

typedef struct outer_search {
  const sp_problem *problem;
  const sp_hexes *hexes;
  sp_lid *count; /* [elements], outer faces */
} outer_search;

static void search_some(void *search_, size_t begin, size_t end) {
  const outer_search *s = search_;
  for (size_t e = begin; e < end; e++) {
    for (int f = 0; f < SP_FACES; f++)
      s->count[e] += sp_problem_face_part(s->problem, s->hexes, (sp_lid)e, f) >= 0;
    if (sp_problem_volume_part(s->problem, s->hexes, (sp_lid)e) >= 0) s->count[e] = SP_FACES + 1;
  }
}

static sp_status find_outer(const sp_hexes *hexes, sp_problem *problem) {
  const size_t elements = (size_t)hexes->count;
  SP_TRY(sp_allocate(elements + 1, sizeof(sp_lid), "boundary", &problem->first_face));
  sp_lid *first = problem->first_face;
  outer_search s = {problem, hexes, first + 1};
  SP_TRY(sp_loop_over("boundary", elements, SP_FACES, &s, search_some));
  for (size_t e = 0; e < elements; e++) first[e + 1] += first[e];
  problem->face_count = first[elements];
  SP_TRY(sp_allocate((size_t)problem->face_count, sizeof *problem->faces, "boundary",
                     &problem->faces));
  sp_outer_face *next = problem->faces;
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f <= SP_FACES && first[e] < first[e + 1]; f++) {
      const int fixed = sp_problem_volume_part(problem, hexes, e);
      const int part = f < SP_FACES ? sp_problem_face_part(problem, hexes, e, f) : fixed;
      if (part < 0 && fixed < 0) continue;
      *next++ = (sp_outer_face){e, f, fixed >= 0, part < 0 ? NULL : &problem->parts[part]};
    }
  return SP_OK;
}

/* Count faces and fixed elements of this rank: faces[part], faces[part_count + surface]. */
static void count_faces(const sp_hexes *hexes, const sp_problem *problem, sp_gid *faces) {
  const sp_outer_face *face = problem->faces;
  for (sp_lid n = 0; n < problem->face_count; n++, face++) {
    if (!face->part) continue;
    faces[face->part - problem->parts]++;
    const int surface = face->face < SP_FACES ? hexes->surfaces[face->element][face->face] : -1;
    if (surface >= 0) faces[problem->part_count + surface]++;
  }
}

/* In a box each face counts for its first group: a side of the box, else one of a region. Clears
 * faces_of_surface there. */
static void find_groups_by_default(const sp_statement *statement, const sp_hexes *hexes,
                                   sp_gid *faces_of_surface, sp_problem *problem) {
  for (int g = 0; g < hexes->surface.group_count; g++)
    for (int p = 0; p < hexes->surface.groups[g].part_count; p++) {
      const int s = hexes->surface.groups[g].parts[p];
      if (faces_of_surface[s] > 0 && problem->part_of_surface[s] == problem->part_count - 1)
        problem->groups_by_default[g] = true;
      if (statement->is_box) faces_of_surface[s] = 0;
    }
}

/* The default has no formula: name the faces that it applies to. */
static sp_status fail_default(sp_status status, const sp_mesh *mesh, const sp_problem *problem,
                              sp_gid faces) {
  const sp_hexes *hexes = mesh->hexes;
  char names[400];
  sp_groups_list(&hexes->surface, problem->groups_by_default, sizeof names, names);
  return sp_fail(status, "%s; it applies to %lld exterior face%s, %lld of them in no group%s%s",
                 sp_error_message(), (long long)faces, sp_plural(faces),
                 (long long)mesh->unnamed_faces, names[0] ? ", the others in " : "", names);
}

/* Add the area of a face, as the load vector integrates over it. */
static void add_area(const sp_problem *problem, const sp_hexes *hexes, int order, sp_lid e, int f,
                     double *area) {
  double xyz[3 * FACE_POINTS], normal[3 * FACE_POINTS];
  const sp_rule *rule = sp_operator_rule(problem->kind, order);
  const int n = rule->n * rule->n;
  const double share = sp_surface_is_exterior(hexes->surfaces[e][f]) ? 1 : 0.5;
  sp_geometry_face(hexes, e, f, rule, xyz, normal);
  for (int q = 0; q < n; q++)
    *area += share * hypot(hypot(normal[q], normal[n + q]), normal[2 * n + q]);
}

/* Find the areas of parts that divide by them. */
static sp_status find_areas(const sp_mesh *mesh, int order, sp_problem *problem) {
  SP_AUTO(sp_reduction) reduction = NULL;
  bool some = false;
  for (int p = 0; p < problem->part_count; p++) some = some || problem->parts[p].type->by_area;
  if (!some) return SP_OK;
  for (sp_lid n = 0; n < problem->face_count; n++) {
    const sp_outer_face *face = &problem->faces[n];
    if (face->face < SP_FACES && face->part && face->part->type->by_area)
      add_area(problem, mesh->hexes, order, face->element, face->face,
               &problem->parts[face->part - problem->parts].area);
  }
  sp_status status = sp_reduction_create(mesh->comm, &reduction);
  for (int p = 0; p < problem->part_count && !status; p++)
    if (problem->parts[p].type->by_area)
      status = sp_reduction_sum(reduction, 1, &problem->parts[p].area, SP_OK);
  return sp_agree(mesh->comm, status);
}

/* Check that every line has faces, and that the default has data if it has faces. */
static sp_status check_faces(const sp_statement *statement, const sp_mesh *mesh,
                             sp_problem *problem) {
  SP_OWNED sp_gid *faces = NULL;
  const sp_hexes *hexes = mesh->hexes;
  const size_t parts = (size_t)problem->part_count;
  const size_t counts = parts + (size_t)hexes->surface.count;
  sp_status status = SP_ALLOCATE("boundary", SP_ARRAY(faces, counts),
                                 SP_ARRAY(problem->groups_by_default, hexes->surface.group_count));
  if (!status) status = find_outer(hexes, problem);
  SP_TRY(sp_agree(mesh->comm, status));
  count_faces(hexes, problem, faces);
  MPI_Allreduce(MPI_IN_PLACE, faces, (int)counts, SP_MPI_GID, MPI_SUM, mesh->comm);
  find_groups_by_default(statement, hexes, faces + parts, problem);
  const int fallback = problem->part_count - 1;
  for (int p = 0; p < fallback; p++)
    if (faces[p] == 0)
      return sp_fail(SP_ERR_INPUT, "%s: group '%s' has no %s",
                     statement->boundary.entries[p].formula.where, problem->parts[p].group,
                     sp_boundary_is_volume(problem->parts[p].group, hexes) ? "elements"
                                                                           : "exterior faces");
  if (faces[fallback] > 0) {
    const sp_boundary_entry *entry = &statement->boundary.fallback;
    status = sp_statement_check_data(statement, entry);
    if (status) return fail_default(status, mesh, problem, faces[fallback]);
  }
  for (size_t p = 0; p < parts; p++) {
    const sp_condition_type *type = problem->parts[p].type;
    if (faces[p] > 0 && type->fixes_u) problem->has_dirichlet = true;
    if (faces[p] > 0 && type->has_alpha) problem->has_robin = true;
    if (faces[p] > 0 && problem->parts[p].of_u) problem->of_u = true;
  }
  return SP_OK;
}

sp_status sp_problem_create(const sp_statement *statement, const sp_mesh *mesh, sp_problem **out) {
  SP_AUTO(sp_problem) problem = NULL;
  *out = NULL;
  sp_status status = sp_allocate(1, sizeof *problem, "problem", &problem);
  if (!status) {
    problem->kind = statement->operator_kind;
    status = sp_materials_create(statement, mesh->hexes, &problem->materials);
  }
  const bool has_boundary = sp_operator_rows[statement->operator_kind].has_boundary;
  if (!status && has_boundary) status = make_parts(statement, problem);
  if (!status && has_boundary) status = claim_surfaces(statement, mesh, problem);
  SP_TRY(sp_agree(mesh->comm, status));
  status = sp_materials_count(statement, mesh, &problem->materials);
  problem->of_u = problem->materials.are_of_u || problem->materials.have_reaction;
  if (!status && has_boundary) status = check_faces(statement, mesh, problem);
  if (!status) status = find_areas(mesh, statement->order, problem);
  SP_TRY(sp_agree(mesh->comm, status));
  *out = problem;
  problem = NULL;
  return SP_OK;
}

void sp_problem_destroy(sp_problem **problem) {
  if (!*problem) return;
  sp_materials_free(&(*problem)->materials);
  for (sp_coefficient c = 0; c < SP_COEFFICIENTS; c++) free((*problem)->arrays_of_u[c]);
  SP_FREE((*problem)->slope_of_u, (*problem)->parts, (*problem)->part_of_surface,
          (*problem)->part_of_volume, (*problem)->groups_by_default, (*problem)->faces,
          (*problem)->first_face, *problem);
  *problem = NULL;
}

static bool is_exterior(const sp_hexes *hexes, const sp_outer_face *face) {
  return face->face < SP_FACES &&
         sp_surface_is_exterior(hexes->surfaces[face->element][face->face]);
}

void sp_problem_count_pinched(const sp_problem *problem, const sp_space *space, double *scratch,
                              sp_gid *edges) {
  const sp_numbering *numbering = space->numbering;
  const int order = numbering->order, nq = order + 1;
  const sp_lid first = numbering->class_start[SP_EDGE_DOFS];
  const sp_lid last = numbering->class_start[SP_VERTEX_DOFS];
  int nodes[SP_MAX_NQ * SP_MAX_NQ];
  memset(&scratch[first], 0, (size_t)(last - first) * sizeof *scratch);
  memset(&scratch[numbering->owned], 0,
         (size_t)(numbering->local - numbering->owned) * sizeof *scratch);
  const sp_outer_face *face = problem->faces;
  for (sp_lid n = 0; n < problem->face_count; n++, face++) {
    const sp_lid *dofs = sp_numbering_nodes(numbering, face->element);
    if (!is_exterior(space->mesh->hexes, face) || sp_outer_face_type(face)->fixes_u ||
        sp_outer_face_type(face)->joins)
      continue;
    sp_face_nodes(order, face->face, nodes);
    for (int i = 1; i < order; i++) {
      const int at[4] = {i, order * nq + i, i * nq, i * nq + order};
      for (int side = 0; side < 4; side++) scratch[dofs[nodes[at[side]]]] += 1;
    }
  }
  sp_exchange_now(space->exchange, SP_SUM, scratch);
  *edges = 0;
  for (sp_lid i = first; i < last; i++) *edges += scratch[i] > 3;
  MPI_Allreduce(MPI_IN_PLACE, edges, 1, SP_MPI_GID, MPI_SUM, space->mesh->comm);
  if (order > 1) *edges /= order - 1;
}
