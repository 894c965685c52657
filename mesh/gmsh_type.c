/* Types of elements, as the SDK describes them. */
#include <gmshc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/gmsh_model.h"

sp_status sp_gmsh_type_get(const char *path, int type, sp_gmsh_type *out) {
  char *name = NULL;
  double *coordinates = NULL;
  size_t coordinate_count;
  int error;
  *out = (sp_gmsh_type){0};
  gmshModelMeshGetElementProperties(type, &name, &out->dimension, &out->order, &out->nodes,
                                    &coordinates, &coordinate_count, &out->corners, &error);
  if (error) return sp_gmsh_failed(path, "describe an element type");
  snprintf(out->name, sizeof out->name, "%s", name);
  const int n = out->order + 1;
  sp_status status = SP_OK;
  if (out->dimension == 3 && out->corners == SP_CORNERS && out->nodes == n * n * n) {
    status = sp_allocate((size_t)out->nodes, sizeof *out->lattice, "element type", &out->lattice);
    for (int p = 0; p < out->nodes && !status; p++) {
      int place[3];
      for (int d = 0; d < 3; d++)
        place[d] = (int)lround((coordinates[3 * p + d] + 1) / 2 * out->order);
      out->lattice[p] = (place[2] * n + place[1]) * n + place[0];
    }
  }
  gmshFree(name);
  gmshFree(coordinates);
  return status;
}

/* The SDK may crash if it is asked to describe a type that it does not know. */
static bool type_exists(int type) {
  static const char *const families[] = {"Point",       "Line",    "Triangle", "Quadrangle",
                                         "Tetrahedron", "Pyramid", "Prism",    "Hexahedron"};
  enum { FAMILIES = sizeof families / sizeof *families, ORDERS = 11 };
  int error;
  for (int f = 0; f < FAMILIES; f++)
    for (int order = 0; order < ORDERS; order++)
      for (int serendipity = 0; serendipity < 2; serendipity++) {
        const int known = gmshModelMeshGetElementType(families[f], order, serendipity, &error);
        if (!error && known == type) return true;
      }
  return false;
}

int sp_gmsh_type_nodes(int type) {
  enum { TYPES = 256, UNKNOWN = -1 };
  static int nodes[TYPES]; /* 0 before the first question */
  sp_gmsh_type properties;
  if (type < 1 || type >= TYPES) return 0;
  if (nodes[type] == 0) {
    nodes[type] = UNKNOWN;
    if (type_exists(type) && sp_gmsh_type_get("", type, &properties) == SP_OK) {
      nodes[type] = properties.nodes;
      free(properties.lattice);
    }
  }
  return nodes[type] == UNKNOWN ? 0 : nodes[type];
}
