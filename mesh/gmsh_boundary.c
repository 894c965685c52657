/* The surfaces that physical groups name. */
#include <gmshc.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/gmsh_model.h"

static int compare_sizes(const void *left, const void *right) {
  const size_t a = *(const size_t *)left, b = *(const size_t *)right;
  return (a > b) - (a < b);
}

static int compare_faces(const void *left, const void *right) {
  const sp_gmsh_face *a = left, *b = right;
  for (int c = 0; c < 4; c++)
    if (a->nodes[c] != b->nodes[c]) return a->nodes[c] < b->nodes[c] ? -1 : 1;
  return 0;
}

static int compare_listed(const void *left, const void *right) {
  const int order = compare_faces(left, right), a = ((const sp_gmsh_face *)left)->surface;
  return order ? order : a - ((const sp_gmsh_face *)right)->surface;
}

static int surface_index(const sp_gmsh_boundary *b, int number) {
  for (int s = 0; s < b->number_count; s++)
    if (b->numbers[s] == number) return s;
  return -1;
}

static sp_status add_surface(sp_gmsh_boundary *b, int number) {
  if (surface_index(b, number) >= 0) return SP_OK;
  void *numbers = realloc(b->numbers, ((size_t)b->number_count + 1) * sizeof *b->numbers);
  if (!numbers) return sp_fail(SP_ERR_SYSTEM, "out of memory: surfaces");
  b->numbers = numbers;
  b->numbers[b->number_count++] = number;
  return SP_OK;
}

/* The surface of a face of `entity`; -1 if no group names it. */
static int surface_of(const sp_gmsh_boundary *b, const sp_gmsh_format2 *format2, int entity,
                      size_t element) {
  int physical;
  if (!format2) return surface_index(b, entity);
  return sp_gmsh_format2_physical(format2, element, &physical) ? surface_index(b, physical) : -1;
}

/* Surfaces between the parts of a partitioned mesh are in a group too: gmsh gives them the physical
 * tag of the volume that they cut. */
static bool is_cut(int surface) {
  int dimension = 0, parent, error;
  gmshModelGetParent(2, surface, &dimension, &parent, &error);
  return !error && dimension == 3;
}

/* Append the faces of an entity. Surfaces in no group are read too, to count their elements. */
static sp_status append_faces(sp_gmsh_file *file, int entity, sp_gmsh_boundary *b) {
  const sp_gmsh_format2 *format2 = sp_gmsh_file_format2(file);
  const bool taken = !is_cut(entity) && (format2 || surface_index(b, entity) >= 0);
  sp_gmsh_block quads;
  SP_TRY(sp_gmsh_block_get(file, 2, entity, &quads));
  sp_status status = SP_OK;
  for (size_t t = 0; t < quads.type_count && taken && !status; t++) {
    const size_t count = quads.tag_counts[t], nodes = quads.node_counts[t] / (count ? count : 1);
    sp_gmsh_type type;
    status = sp_gmsh_type_get(file->path, quads.types[t], &type);
    if (status) break;
    const size_t corners = type.corners == 3 ? 3 : 4;
    void *faces = realloc(b->faces, (b->face_count + count) * sizeof *b->faces);
    if (!faces) {
      status = sp_fail(SP_ERR_SYSTEM, "out of memory: %zu boundary faces", count);
      break;
    }
    b->faces = faces;
    for (size_t q = 0; q < count; q++) {
      const int surface = surface_of(b, format2, entity, quads.tags[t][q]);
      if (surface < 0) continue;
      sp_gmsh_face *face = &b->faces[b->face_count++];
      face->nodes[3] = 0;
      memcpy(face->nodes, &quads.nodes[t][q * nodes], corners * sizeof(size_t)); /* these first */
      qsort(face->nodes, 4, sizeof(size_t), compare_sizes);
      face->surface = surface;
    }
  }
  sp_gmsh_block_free(&quads);
  return status;
}

/* Drop the groups that have only surfaces between parts. */
static sp_status drop_cuts(const char *path, sp_gmsh_boundary *b) {
  size_t kept = 0;
  for (size_t g = 0; g < b->group_count; g += 2) {
    int *entities = NULL, error;
    size_t count = 0;
    bool cuts_only = true;
    gmshModelGetEntitiesForPhysicalGroup(2, b->groups[g + 1], &entities, &count, &error);
    if (error) return sp_gmsh_failed(path, "list the surfaces of a physical group");
    for (size_t s = 0; s < count; s++) cuts_only = cuts_only && is_cut(entities[s]);
    gmshFree(entities);
    if (count > 0 && cuts_only) continue;
    b->groups[kept++] = b->groups[g];
    b->groups[kept++] = b->groups[g + 1];
  }
  b->group_count = kept;
  return SP_OK;
}

static sp_status unite(sp_gmsh_boundary *b, int first, int second, int *surface) {
  int u = 0;
  while (u < b->union_count && (b->unions[u][0] != first || b->unions[u][1] != second)) u++;
  *surface = b->number_count + u;
  if (u < b->union_count) return SP_OK;
  void *unions = realloc(b->unions, ((size_t)u + 1) * sizeof *b->unions);
  if (!unions) return sp_fail(SP_ERR_SYSTEM, "out of memory: surfaces");
  b->unions = unions;
  b->unions[u][0] = first;
  b->unions[u][1] = second;
  b->union_count++;
  return SP_OK;
}

/* Sort the faces, and merge those that are listed several times. */
static sp_status merge_faces(sp_gmsh_boundary *b) {
  size_t kept = 0;
  if (b->face_count > 0) qsort(b->faces, b->face_count, sizeof *b->faces, compare_listed);
  for (size_t f = 0; f < b->face_count; f++) {
    sp_gmsh_face *last = &b->faces[kept > 0 ? kept - 1 : 0];
    if (kept == 0 || compare_faces(last, &b->faces[f]) != 0)
      b->faces[kept++] = b->faces[f];
    else if (b->faces[f].surface != b->faces[f - 1].surface)
      SP_TRY(unite(b, last->surface, b->faces[f].surface, &last->surface));
  }
  b->face_count = kept;
  return SP_OK;
}

/* Entities of dimension 2 that belong to group g. */
static sp_status group_entities(const char *path, int group, int **entities, size_t *count) {
  int error;
  gmshModelGetEntitiesForPhysicalGroup(2, group, entities, count, &error);
  return error ? sp_gmsh_failed(path, "list the surfaces of a physical group") : SP_OK;
}

/* Number the surfaces. */
static sp_status add_surfaces(const sp_gmsh_file *file, sp_gmsh_boundary *b) {
  for (size_t g = 0; g < b->group_count; g += 2) {
    int *entities = NULL;
    size_t count = 0;
    sp_status status = SP_OK;
    if (sp_gmsh_file_format2(file))
      status = add_surface(b, b->groups[g + 1]);
    else
      status = group_entities(file->path, b->groups[g + 1], &entities, &count);
    for (size_t s = 0; s < count && !status; s++)
      if (!is_cut(entities[s])) status = add_surface(b, entities[s]);
    gmshFree(entities);
    SP_TRY(status);
  }
  return SP_OK;
}

sp_status sp_gmsh_boundary_read(sp_gmsh_file *file, sp_gmsh_boundary *b) {
  int *pairs = NULL, error;
  size_t pair_count = 0;
  gmshModelGetPhysicalGroups(&b->groups, &b->group_count, 2, &error);
  if (error) return sp_gmsh_failed(file->path, "list the physical surfaces");
  SP_TRY(drop_cuts(file->path, b));
  SP_TRY(add_surfaces(file, b));
  gmshModelGetEntities(&pairs, &pair_count, 2, &error);
  if (error) return sp_gmsh_failed(file->path, "list the surfaces");
  sp_status status = SP_OK;
  for (size_t p = 0; p < pair_count && !status; p += 2)
    status = append_faces(file, pairs[p + 1], b);
  gmshFree(pairs);
  return status ? status : merge_faces(b);
}

/* Mark the surfaces with the listed numbers as members of the group. */
static void set_members(const sp_gmsh_boundary *b, const int *numbers, size_t count,
                        bool *members) {
  for (size_t s = 0; s < count; s++) {
    const int surface = surface_index(b, numbers[s]);
    if (surface >= 0) members[surface] = true;
  }
  for (int u = 0; u < b->union_count; u++)
    members[b->number_count + u] = members[b->unions[u][0]] || members[b->unions[u][1]];
}

sp_status sp_gmsh_boundary_set_groups(const sp_gmsh_file *file, const sp_gmsh_boundary *b,
                                      sp_hexes *hexes) {
  const sp_gmsh_format2 *format2 = sp_gmsh_file_format2(file);
  for (size_t g = 0; g < b->group_count; g += 2) {
    const int number = b->groups[g + 1];
    char *name = NULL;
    int *entities = NULL;
    size_t count = 0;
    sp_status status = sp_gmsh_group_name(file, 2, number, &name);
    if (!status && !format2) status = group_entities(file->path, number, &entities, &count);
    if (!status) status = sp_hexes_set_group(hexes, (int)(g / 2), name, number);
    if (!status && format2)
      set_members(b, &number, 1, hexes->groups[g / 2].members);
    else if (!status)
      set_members(b, entities, count, hexes->groups[g / 2].members);
    free(name);
    gmshFree(entities);
    SP_TRY(status);
  }
  return SP_OK;
}

int sp_gmsh_boundary_find(const sp_gmsh_boundary *b, const size_t nodes[4]) {
  sp_gmsh_face face;
  memcpy(face.nodes, nodes, sizeof face.nodes);
  qsort(face.nodes, 4, sizeof(size_t), compare_sizes);
  const sp_gmsh_face *found = bsearch(&face, b->faces, b->face_count, sizeof face, compare_faces);
  return found ? found->surface : SP_SURFACE_INTERIOR;
}

void sp_gmsh_boundary_free(sp_gmsh_boundary *b) {
  gmshFree(b->groups);
  SP_FREE(b->numbers, b->unions, b->faces);
  *b = (sp_gmsh_boundary){0};
}
