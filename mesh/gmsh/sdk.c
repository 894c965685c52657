/* Read a file by the SDK: mesh a geometry, or read a mesh in another format. */
#include <gmshc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/gmsh/model.h"

sp_status sp_gmsh_sdk_start(char version[SP_GMSH_VERSION_SIZE]) {
  char *text = NULL;
  int error;
#ifdef SP_GMSH_INITIALIZE_RUN
  gmshInitialize(0, NULL, 0, 0, &error);
#else
  gmshInitialize(0, NULL, 0, &error);
#endif
  if (error) return sp_fail(SP_ERR_SYSTEM, "gmsh could not be initialized");
  gmshOptionSetNumber("General.Terminal", 0, &error);
  gmshOptionGetString("General.Version", &text, &error);
  snprintf(version, SP_GMSH_VERSION_SIZE, "%s", !error && text ? text : "unknown");
  gmshFree(text);
  return SP_OK;
}

void sp_gmsh_sdk_end(void) {
  int error;
  gmshFinalize(&error);
}

static sp_status open_file(sp_gmsh_model *m) {
  const char *path = m->path, *ending = strrchr(path, '.');
  int error;
  gmshOpen(path, &error);
  if (error) return sp_gmsh_failed(path, "read the file");
  if (!ending || (strcmp(ending, ".geo") != 0 && strcmp(ending, ".geo_unrolled") != 0))
    return SP_OK;
  return sp_gmsh_generate(m);
}

static sp_status add_points(sp_gmsh_model *m) {
  size_t *tags = NULL, count = 0, unused;
  double *coordinates = NULL, *parameters = NULL;
  int error;
  gmshModelMeshGetNodes(&tags, &count, &coordinates, &unused, &parameters, &unused, -1, -1, 0, 0,
                        &error);
  sp_status status = error ? sp_gmsh_failed(m->path, "list the nodes") : SP_OK;
  for (size_t n = 0; n < count && !status; n++)
    status = sp_gmsh_add_point(m, tags[n], &coordinates[3 * n]);
  gmshFree(tags);
  gmshFree(coordinates);
  gmshFree(parameters);
  return status;
}

static sp_status add_names(sp_gmsh_model *m) {
  int *groups = NULL, error;
  size_t count = 0;
  gmshModelGetPhysicalGroups(&groups, &count, -1, &error);
  sp_status status = error ? sp_gmsh_failed(m->path, "list the physical groups") : SP_OK;
  for (size_t g = 0; g + 1 < count && !status; g += 2) {
    char *name = NULL;
    gmshModelGetPhysicalName(groups[g], groups[g + 1], &name, &error);
    status = error ? sp_gmsh_failed(m->path, "name a physical group")
                   : sp_gmsh_add_name(m, groups[g], groups[g + 1], name, strlen(name));
    gmshFree(name);
  }
  gmshFree(groups);
  return status;
}

/* Add the groups of the last entity. */
static sp_status add_groups(sp_gmsh_model *m) {
  sp_gmsh_entity *entity = &m->entities[m->entity_count - 1];
  int *groups = NULL, error, dimension = 0, parent;
  size_t count = 0;
  gmshModelGetParent(entity->dimension, entity->tag, &dimension, &parent, &error);
  entity->is_artificial = entity->dimension == 2 && !error && dimension == 3;
  gmshModelGetPhysicalGroupsForEntity(entity->dimension, entity->tag, &groups, &count, &error);
  sp_status status = error ? sp_gmsh_failed(m->path, "list the groups of an entity") : SP_OK;
  for (size_t g = 0; g < count && !status; g++) status = sp_gmsh_add_group(entity, abs(groups[g]));
  gmshFree(groups);
  return status;
}

static sp_status add_elements(sp_gmsh_model *m, int dimension, int tag) {
  int *types = NULL, error;
  size_t **tags = NULL, **nodes = NULL, *counts = NULL, *node_counts = NULL, type_count = 0;
  size_t unused = 0, *to;
  gmshModelMeshGetElements(&types, &type_count, &tags, &counts, &unused, &nodes, &node_counts,
                           &unused, dimension, tag, &error);
  sp_status status = error ? sp_gmsh_failed(m->path, "list the elements") : SP_OK;
  for (size_t t = 0; t < type_count; t++) {
    const sp_gmsh_type *type = sp_gmsh_type_of(types[t]);
    if (!status && !type)
      status =
          sp_fail(SP_ERR_INPUT, "%s: prisms above order 2 and polyhedra are not read", m->path);
    for (size_t e = 0; e < counts[t] && !status; e++) {
      const size_t n = (size_t)type->nodes;
      const sp_gmsh_element element = {
          .tag = tags[t][e], .type = types[t], .entity = (int)m->entity_count - 1, .place = tag};
      status = sp_gmsh_add_element(m, &element, &to);
      if (!status) memcpy(to, &nodes[t][e * n], n * sizeof *to);
    }
    gmshFree(tags[t]);
    gmshFree(nodes[t]);
  }
  gmshFree(types);
  gmshFree(tags);
  gmshFree(nodes);
  gmshFree(counts);
  gmshFree(node_counts);
  return status;
}

sp_status sp_gmsh_sdk_read(const sp_gmsh_sizes *sizes, sp_gmsh_model *m) {
  sp_gmsh_tags pairs = {0};
  int error;
  const bool is_cad = sp_gmsh_is_cad(m->path);
  SP_TRY(is_cad ? sp_gmsh_cad_mesh(sizes, m) : open_file(m));
  SP_TRY(add_points(m));
  SP_TRY(add_names(m));
  sp_status status = sp_gmsh_list(m->path, -1, &pairs);
  for (size_t p = 0; p < pairs.count && !status; p += 2) {
    const int dimension = pairs.list[p], tag = pairs.list[p + 1];
    status = sp_gmsh_add_entity(m, dimension, tag);
    if (!status) status = add_groups(m);
    if (!status && is_cad) sp_gmsh_cad_describe(m);
    if (!status && dimension >= (m->sweep_count > 0 ? 1 : 2))
      status = add_elements(m, dimension, tag);
  }
  gmshFree(pairs.list);
  gmshClear(&error);
  return status;
}
