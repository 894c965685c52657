/* The faces in physical groups. */
#include <stdlib.h>
#include <string.h>

#include "mesh/gmsh/model.h"

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

/* Sort the faces, and merge repeated ones. */
static sp_status merge_faces(sp_gmsh_sets *surfaces, sp_gmsh_boundary *b) {
  size_t kept = 0;
  qsort(b->faces, b->count, sizeof *b->faces, compare_listed);
  for (size_t f = 0; f < b->count; f++) {
    sp_gmsh_face *last = &b->faces[kept > 0 ? kept - 1 : 0];
    if (kept == 0 || compare_faces(last, &b->faces[f]) != 0)
      b->faces[kept++] = b->faces[f];
    else
      SP_TRY(sp_gmsh_sets_unite(surfaces, b->faces[f].surface, &last->surface));
  }
  b->count = kept;
  return SP_OK;
}

sp_status sp_gmsh_boundary_read(const sp_gmsh_model *m, sp_gmsh_sets *surfaces,
                                sp_gmsh_boundary *b) {
  int entity = -1, surface = 0;
  SP_TRY(sp_allocate(m->element_count, sizeof *b->faces, "boundary faces", &b->faces));
  for (size_t i = 0; i < m->element_count; i++) {
    const sp_gmsh_element *e = &m->elements[i];
    const sp_gmsh_entity *own = &m->entities[e->entity];
    if (own->dimension != 2 || own->group_count == 0) continue;
    if (e->entity != entity) SP_TRY(sp_gmsh_sets_find(surfaces, own, &surface));
    entity = e->entity;
    sp_gmsh_face *face = &b->faces[b->count++];
    *face = (sp_gmsh_face){.surface = surface};
    for (int c = 0; c < sp_gmsh_type_of(e->type)->corners; c++) /* corners are the first nodes */
      face->nodes[c] = m->nodes[e->first + (size_t)c] + 1;
    qsort(face->nodes, 4, sizeof(size_t), sp_gmsh_compare_sizes);
  }
  return merge_faces(surfaces, b);
}

int sp_gmsh_boundary_find(sp_gmsh_boundary *b, const size_t nodes[4]) {
  sp_gmsh_face face;
  memcpy(face.nodes, nodes, sizeof face.nodes);
  qsort(face.nodes, 4, sizeof(size_t), sp_gmsh_compare_sizes);
  sp_gmsh_face *found = bsearch(&face, b->faces, b->count, sizeof face, compare_faces);
  if (!found) return SP_SURFACE_INTERIOR;
  found->found = true;
  return found->surface;
}

sp_status sp_gmsh_boundary_count(const sp_gmsh_boundary *b, sp_family *surfaces) {
  SP_OWNED sp_gid(*counts)[2] = NULL; /* of each surface */
  SP_TRY(sp_allocate((size_t)surfaces->count, sizeof *counts, "surfaces", &counts));
  for (size_t f = 0; f < b->count; f++) {
    counts[b->faces[f].surface][0]++;
    counts[b->faces[f].surface][1] += !b->faces[f].found;
  }
  for (int g = 0; g < surfaces->group_count; g++)
    for (int p = 0; p < surfaces->groups[g].part_count; p++) {
      const sp_gid *count = counts[surfaces->groups[g].parts[p]];
      surfaces->groups[g].listed += count[0];
      surfaces->groups[g].lost += count[1];
    }
  return SP_OK;
}
