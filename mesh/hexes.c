#include "mesh/hexes.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "io/threads.h"
#include "mesh/reference.h"
#include "mesh/tensor.h"

size_t sp_hexes_lattice_size(const sp_hexes *hexes) {
  return sp_element_nodes(hexes->map_order);
}

const double *sp_hexes_lattice(const sp_hexes *hexes, sp_lid element) {
  return &hexes->lattice[(size_t)element * sp_hexes_lattice_size(hexes) * 3];
}

double sp_hexes_mean_map(const sp_hexes *hexes, sp_lid element, double m[3][3]) {
  const double *points = sp_hexes_lattice(hexes, element), *at[SP_CORNERS];
  const sp_gid *vertices = hexes->vertices[element];
  memset(m, 0, 9 * sizeof m[0][0]);
  for (int c = 0; c < SP_CORNERS; c++) at[c] = &points[3 * sp_corner_node(hexes->map_order, c)];
  for (int d = 0; d < 3; d++) {
    int count = 0;
    for (int low = 0; low < SP_CORNERS; low++) {
      const int high = low | 1 << d;
      if (high == low || vertices[low] < 0 || vertices[high] < 0) continue;
      for (int a = 0; a < 3; a++) m[a][d] += at[high][a] - at[low][a];
      count++;
    }
    for (int a = 0; a < 3; a++) m[a][d] /= 2 * count;
  }
  return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) +
         m[0][1] * (m[1][2] * m[2][0] - m[1][0] * m[2][2]) +
         m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

double sp_hexes_shortest_distance(const sp_hexes *hexes, sp_lid element) {
  const double *lattice = sp_hexes_lattice(hexes, element);
  double shortest = DBL_MAX;
  for (int a = 0; a < SP_CORNERS; a++)
    for (int b = 0; b < a; b++) {
      const double *p = &lattice[3 * sp_corner_node(hexes->map_order, a)];
      const double *q = &lattice[3 * sp_corner_node(hexes->map_order, b)];
      const double x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2];
      shortest = fmin(shortest, sqrt(x * x + y * y + z * z));
    }
  return shortest;
}

sp_status sp_hexes_create(sp_gid count, int map_order, sp_hexes **out) {
  *out = NULL;
  if (count > SP_LID_MAX)
    return sp_fail(SP_ERR_INPUT,
                   "%lld elements on one rank, at most %d are possible: use more ranks",
                   (long long)count, SP_LID_MAX);
  SP_AUTO(sp_hexes) hexes = NULL;
  SP_TRY(sp_allocate(1, sizeof *hexes, "mesh", &hexes));
  hexes->count = (sp_lid)count;
  hexes->map_order = map_order;
  hexes->volume.count = 1;
  const size_t n = (size_t)count, points = sp_hexes_lattice_size(hexes);
  SP_TRY(sp_allocate(n * points, 3 * sizeof(double), "element points", &hexes->lattice));
  SP_TRY(SP_ALLOCATE("element vertices", SP_ARRAY(hexes->vertices, n), SP_ARRAY(hexes->surfaces, n),
                     SP_ARRAY(hexes->tags, n), SP_ARRAY(hexes->octants, n),
                     SP_ARRAY(hexes->volumes, n)));
  *out = hexes;
  hexes = NULL;
  return SP_OK;
}

static void clear_family(sp_family *family) {
  for (int g = 0; g < family->group_count; g++) {
    SP_FREE(family->groups[g].name, family->groups[g].parts);
  }
  free(family->groups);
  *family = (sp_family){0};
}

void sp_hexes_destroy(sp_hexes **hexes) {
  if (!*hexes) return;
  clear_family(&(*hexes)->surface);
  clear_family(&(*hexes)->volume);
  SP_FREE((*hexes)->lattice, (*hexes)->vertices, (*hexes)->surfaces, (*hexes)->tags,
          (*hexes)->octants, (*hexes)->children, (*hexes)->volumes, (*hexes)->pairs, *hexes);
  *hexes = NULL;
}

sp_status sp_family_resize(sp_family *family, int count, int group_count) {
  clear_family(family);
  SP_TRY(sp_allocate((size_t)group_count, sizeof *family->groups, "groups", &family->groups));
  family->count = count;
  family->group_count = group_count;
  return SP_OK;
}

sp_status sp_family_set_group(sp_family *family, int g, const char *name, int number) {
  sp_group *group = &family->groups[g];
  group->number = number;
  return sp_format(&group->name, "%s", name);
}

sp_status sp_group_add(sp_group *group, int part) {
  SP_TRY(sp_reserve((size_t)group->part_count, 1, sizeof *group->parts, "groups", &group->parts));
  group->parts[group->part_count++] = part;
  return SP_OK;
}

bool sp_group_has(const sp_group *group, int part) {
  int low = 0, high = group->part_count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (group->parts[middle] < part)
      low = middle + 1;
    else
      high = middle;
  }
  return low < group->part_count && group->parts[low] == part;
}

static sp_status copy_family(const sp_family *from, sp_family *to) {
  SP_TRY(sp_family_resize(to, from->count, from->group_count));
  for (int g = 0; g < from->group_count; g++) {
    SP_TRY(sp_family_set_group(to, g, from->groups[g].name, from->groups[g].number));
    for (int p = 0; p < from->groups[g].part_count; p++)
      SP_TRY(sp_group_add(&to->groups[g], from->groups[g].parts[p]));
    to->groups[g].listed = from->groups[g].listed;
    to->groups[g].lost = from->groups[g].lost;
  }
  return SP_OK;
}

sp_status sp_hexes_set_pairs(sp_hexes *to, int count, const sp_periodic_pair *pairs) {
  SP_TRY(sp_allocate((size_t)count, sizeof *pairs, "periodic pairs", &to->pairs));
  for (; to->pair_count < count; to->pair_count++)
    to->pairs[to->pair_count] = pairs[to->pair_count];
  return SP_OK;
}

sp_status sp_hexes_copy_groups(const sp_hexes *from, sp_hexes *to) {
  SP_TRY(copy_family(&from->surface, &to->surface));
  SP_TRY(copy_family(&from->volume, &to->volume));
  return sp_hexes_set_pairs(to, from->pair_count, from->pairs);
}

/* Rows of one array in another order. */
typedef struct permutation {
  size_t row; /* bytes */
  const sp_lid *order;
  const char *from;
  char *to;
} permutation;

static void permute_some(void *permutation_, size_t begin, size_t end) {
  const permutation *p = permutation_;
  for (size_t n = begin; n < end; n++)
    memcpy(p->to + n * p->row, p->from + (size_t)p->order[n] * p->row, p->row);
}

sp_status sp_permute_rows(void *array, size_t row, sp_lid count, const sp_lid *order) {
  void *from, *to;
  memcpy(&from, array, sizeof from);
  SP_TRY(sp_allocate((size_t)count, row, "reordered elements", &to));
  permutation p = {row, order, from, to};
  const sp_status status =
      sp_loop_over("reordered elements", (size_t)count, row / sizeof(sp_lid), &p, permute_some);
  memcpy(array, status ? &from : &to, sizeof to);
  free(status ? to : from);
  return status;
}

sp_status sp_hexes_permute(sp_hexes *hexes, const sp_lid *order) {
  const size_t points = sp_hexes_lattice_size(hexes);
  SP_TRY(sp_permute_rows(&hexes->lattice, points * 3 * sizeof(double), hexes->count, order));
  SP_TRY(sp_permute_rows(&hexes->vertices, sizeof *hexes->vertices, hexes->count, order));
  SP_TRY(sp_permute_rows(&hexes->surfaces, sizeof *hexes->surfaces, hexes->count, order));
  SP_TRY(sp_permute_rows(&hexes->tags, sizeof *hexes->tags, hexes->count, order));
  SP_TRY(sp_permute_rows(&hexes->octants, sizeof *hexes->octants, hexes->count, order));
  if (hexes->children)
    SP_TRY(sp_permute_rows(&hexes->children, sizeof *hexes->children, hexes->count, order));
  return sp_permute_rows(&hexes->volumes, sizeof *hexes->volumes, hexes->count, order);
}

static void evaluate_map(const sp_hexes *hexes, sp_lid element, int n, const double *nodes,
                         bool flat, double *xyz) {
  const int g = hexes->map_order + 1;
  double lattice[SP_MAX_NQ], matrix[SP_MAX_RULE * SP_MAX_NQ], first[SP_MAX_RULE * SP_MAX_NQ];
  for (int i = 0; i < n * g && flat; i++) first[i] = i % g == 0;
  for (int i = 0; i < g; i++) lattice[i] = -1 + 2.0 * i / hexes->map_order;
  if (g > 2)
    sp_interpolation_matrix(g, lattice, n, nodes, matrix);
  else /* the same, but cheaper */
    for (int a = 0; a < n; a++) {
      matrix[2 * a] = 0.5 * (1 - nodes[a]);
      matrix[2 * a + 1] = 0.5 * (1 + nodes[a]);
    }
  const size_t targets = sp_grid_points(n);
  const double *from = sp_hexes_lattice(hexes, element);
  for (size_t d = 0; d < 3; d++)
    sp_tensor_apply_strided(n, g, (const double *[]){matrix, matrix, flat ? first : matrix},
                            &from[d], 3, &xyz[d * targets]);
}

void sp_hexes_coordinates(const sp_hexes *hexes, sp_lid element, int n, const double *nodes,
                          double *xyz) {
  evaluate_map(hexes, element, n, nodes, sp_hexes_is_contact(hexes, element), xyz);
}

void sp_hexes_map(const sp_hexes *hexes, sp_lid element, int n, const double *nodes, double *xyz) {
  evaluate_map(hexes, element, n, nodes, false, xyz);
}

/* ---- Vertices, edges and faces ---- */

int sp_slot_corners(int slot, int corners[4]) {
  static const int edges[12][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3},
                                   {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};
  static const int faces[6][4] = {{0, 2, 4, 6}, {1, 3, 5, 7}, {0, 1, 4, 5},
                                  {2, 3, 6, 7}, {0, 1, 2, 3}, {4, 5, 6, 7}};
  if (slot < SP_EDGE_SLOT) {
    corners[0] = slot;
    return 1;
  }
  if (slot < SP_FACE_SLOT) {
    memcpy(corners, edges[slot - SP_EDGE_SLOT], sizeof edges[0]);
    return 2;
  }
  memcpy(corners, faces[slot - SP_FACE_SLOT], sizeof faces[0]);
  return 4;
}

size_t sp_corner_node(int order, int corner) {
  const size_t g = (size_t)order, n = g + 1, c = (size_t)corner;
  return ((c >> 2) * g * n + (c >> 1 & 1) * g) * n + (c & 1) * g;
}

void sp_face_nodes(int order, int face, int *nodes) {
  const int d = face / 2, low = d == 0 ? 1 : 0, high = d == 2 ? 1 : 2;
  const int nq = order + 1, stride[3] = {1, nq, nq * nq};
  const int base = face % 2 ? order * stride[d] : 0;
  for (int b = 0; b < nq; b++)
    for (int a = 0; a < nq; a++) nodes[b * nq + a] = base + a * stride[low] + b * stride[high];
}

void sp_entity_key(int count, const sp_gid *vertices, sp_gid key[4]) {
  for (int c = 0; c < 4; c++) key[c] = -1;
  for (int c = 0; c < count; c++) {
    int i = c;
    for (; i > 0 && key[i - 1] > vertices[c]; i--) key[i] = key[i - 1];
    key[i] = vertices[c];
  }
}

int sp_entity_compare(const sp_gid a[4], const sp_gid b[4]) {
  for (int c = 0; c < 4; c++)
    if (a[c] != b[c]) return a[c] < b[c] ? -1 : 1;
  return 0;
}

sp_row_name sp_entity_name(const sp_gid key[4]) {
  uint64_t hash[2] = {1, 2};
  for (int half = 0; half < 2; half++)
    for (int c = 0; c < 4; c++) hash[half] = sp_hash_fold(hash[half], (uint64_t)key[c]);
  return (sp_row_name){{(int64_t)hash[0], (int64_t)hash[1]}};
}
