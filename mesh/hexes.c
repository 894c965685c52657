#include "mesh/hexes.h"

#include <stdlib.h>
#include <string.h>

#include "mesh/reference.h"
#include "mesh/tensor.h"

size_t sp_hexes_lattice_size(const sp_hexes *hexes) {
  return sp_element_nodes(hexes->map_order);
}

const double *sp_hexes_lattice(const sp_hexes *hexes, sp_lid element) {
  return &hexes->lattice[(size_t)element * sp_hexes_lattice_size(hexes) * 3];
}

sp_status sp_hexes_create(sp_gid count, int map_order, int surface_count, int group_count,
                          sp_hexes **out) {
  *out = NULL;
  if (count > SP_LID_MAX)
    return sp_fail(SP_ERR_INPUT,
                   "%lld elements on one rank, at most %d are possible: use more ranks",
                   (long long)count, SP_LID_MAX);
  sp_hexes *hexes;
  SP_TRY(sp_allocate(1, sizeof *hexes, "mesh", &hexes));
  hexes->count = (sp_lid)count;
  hexes->map_order = map_order;
  hexes->surface_count = surface_count;
  const size_t n = (size_t)count, points = sp_hexes_lattice_size(hexes);
  sp_status status = sp_allocate(n * points, 3 * sizeof(double), "element points", &hexes->lattice);
  if (!status)
    status = sp_allocate(n, sizeof *hexes->vertices, "element vertices", &hexes->vertices);
  if (!status)
    status = sp_allocate(n, sizeof *hexes->surfaces, "element surfaces", &hexes->surfaces);
  if (!status) status = sp_allocate(n, sizeof *hexes->tags, "element tags", &hexes->tags);
  if (!status) status = sp_allocate(n, sizeof *hexes->octants, "element octants", &hexes->octants);
  if (!status)
    status = sp_allocate((size_t)group_count, sizeof *hexes->groups, "groups", &hexes->groups);
  if (status) {
    sp_hexes_destroy(&hexes);
    return status;
  }
  hexes->group_count = group_count;
  *out = hexes;
  return SP_OK;
}

double sp_hexes_predicted_bytes(double elements, int map_order) {
  const sp_hexes *h = NULL;
  return elements *
         (double)(3 * sp_element_nodes(map_order) * sizeof *h->lattice + sizeof *h->vertices +
                  sizeof *h->surfaces + sizeof *h->tags + sizeof *h->octants);
}

void sp_hexes_destroy(sp_hexes **hexes) {
  if (!*hexes) return;
  for (int g = 0; g < (*hexes)->group_count; g++) {
    free((*hexes)->groups[g].name);
    free((*hexes)->groups[g].members);
  }
  free((*hexes)->groups);
  free((*hexes)->lattice);
  free((*hexes)->vertices);
  free((*hexes)->surfaces);
  free((*hexes)->tags);
  free((*hexes)->octants);
  free(*hexes);
  *hexes = NULL;
}

sp_status sp_hexes_set_group(sp_hexes *hexes, int g, const char *name, int number) {
  sp_group *group = &hexes->groups[g];
  group->number = number;
  SP_TRY(sp_allocate(strlen(name) + 1, 1, "group name", &group->name));
  memcpy(group->name, name, strlen(name) + 1);
  return sp_allocate((size_t)hexes->surface_count, sizeof(bool), "group members", &group->members);
}

/* Replace *array by a copy with its rows in the new order. */
static sp_status permute(void *array, size_t row, sp_lid count, const sp_lid *order) {
  char *from, *to;
  memcpy(&from, array, sizeof from);
  SP_TRY(sp_allocate((size_t)count, row, "reordered elements", &to));
  for (sp_lid n = 0; n < count; n++)
    memcpy(to + (size_t)n * row, from + (size_t)order[n] * row, row);
  memcpy(array, &to, sizeof to);
  free(from);
  return SP_OK;
}

sp_status sp_hexes_permute(sp_hexes *hexes, const sp_lid *order) {
  const size_t points = sp_hexes_lattice_size(hexes);
  SP_TRY(permute(&hexes->lattice, points * 3 * sizeof(double), hexes->count, order));
  SP_TRY(permute(&hexes->vertices, sizeof *hexes->vertices, hexes->count, order));
  SP_TRY(permute(&hexes->surfaces, sizeof *hexes->surfaces, hexes->count, order));
  SP_TRY(permute(&hexes->tags, sizeof *hexes->tags, hexes->count, order));
  return permute(&hexes->octants, sizeof *hexes->octants, hexes->count, order);
}

void sp_hexes_coordinates(const sp_hexes *hexes, sp_lid element, int n, const double *nodes,
                          double *xyz) {
  const int g = hexes->map_order + 1;
  double lattice[SP_MAX_NQ], matrix[SP_MAX_RULE * SP_MAX_NQ];
  for (int i = 0; i < g; i++) lattice[i] = -1 + 2.0 * i / hexes->map_order;
  sp_interpolation_matrix(g, lattice, n, nodes, matrix);
  const size_t targets = sp_grid_points(n);
  const double *from = sp_hexes_lattice(hexes, element);
  for (size_t d = 0; d < 3; d++)
    sp_tensor_apply_strided(n, g, matrix, matrix, matrix, &from[d], 3, &xyz[d * targets]);
}
