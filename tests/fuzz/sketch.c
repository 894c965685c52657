#include "tests/fuzz/sketch.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "mesh/geometry.h"
#include "mesh/numbering.h"
#include "mesh/reference.h"
#include "mesh/refine.h"
#include "tests/fuzz/fuzz.h"

/* ---- From bytes to a sketch ---- */

static void make_box(const int cubes[3], int order, sketch *s) {
  const int n[3] = {cubes[0] * order + 1, cubes[1] * order + 1, cubes[2] * order + 1};
  *s = (sketch){.order = order, .point_count = n[0] * n[1] * n[2]};
  for (int p = 0; p < s->point_count; p++) {
    const int place[3] = {p % n[0], p / n[0] % n[1], p / n[0] / n[1]};
    for (int d = 0; d < 3; d++) s->points[p][d] = (double)place[d] / order;
    s->tags[p] = (uint64_t)p + 1;
  }
  for (int e = 0; e < cubes[0] * cubes[1] * cubes[2]; e++) {
    const int cube[3] = {e % cubes[0], e / cubes[0] % cubes[1], e / cubes[0] / cubes[1]};
    sketch_element *element = &s->elements[s->element_count++];
    element->volume = 1;
    element->tag = (uint64_t)e + 1;
    int *node = element->nodes;
    for (int k = 0; k <= order; k++)
      for (int j = 0; j <= order; j++)
        for (int i = 0; i <= order; i++)
          *node++ =
              ((cube[2] * order + k) * n[1] + cube[1] * order + j) * n[0] + cube[0] * order + i;
  }
}

/* The same element, numbered from another corner: a turn about the third axis, or a cyclic change
 * of the axes. Both together give all 24 orientations. */
static void turn(int order, bool axes, sketch_element *element) {
  const int n = order + 1;
  int old[SKETCH_NODES];
  memcpy(old, element->nodes, sizeof old);
  for (int k = 0; k < n; k++)
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) {
        const int from = axes ? (j * n + i) * n + k : (k * n + order - i) * n + j;
        element->nodes[(k * n + j) * n + i] = old[from];
      }
}

int sketch_corner(const sketch *s, int e, int corner) {
  const int g = s->order, n = g + 1;
  return s->elements[e]
      .nodes[((corner >> 2) * g * n + (corner >> 1 & 1) * g) * n + (corner & 1) * g];
}

void sketch_add_face(sketch *s, int e, int f, int surface) {
  int corners[4];
  if (s->face_count == SKETCH_FACES) return;
  sketch_face *face = &s->faces[s->face_count++];
  sp_slot_corners(SP_FACE_SLOT + f, corners);
  face->surface = surface;
  for (int c = 0; c < 4; c++) face->nodes[c] = sketch_corner(s, e, corners[c]);
}

static void change(sketch *s, int what, int a, int b) {
  static const double values[] = {0,    1,      -1,    0.5,    2,        1.5, -0.5, 0.25,
                                  1e-9, 1 / 3., 1e300, 1e-300, INFINITY, NAN, 0.75, 3};
  /* Larger ones do not fit the SDK's ints. */
  static const uint64_t tags[] = {1, 2, 3, 100, 1000000, 2000000000};
  static const int types[] = {0, 1, 2, 3, 4, 5, 6, 7, 12, 15, 17, 92};
  const int count = s->element_count, nodes = (s->order + 1) * (s->order + 1) * (s->order + 1);
  sketch_element *element = &s->elements[a % count];
  switch (what) {
  case 0:
    s->points[a % s->point_count][b / 16 % 3] = values[b % 16];
    break;
  case 1:
    s->points[a % s->point_count][b % 3] += (b - 128) / 512.;
    break;
  case 2:
    element->nodes[a / count % nodes] = b % s->point_count;
    break;
  case 3:
    if (count < SKETCH_ELEMENTS) {
      s->elements[s->element_count] = *element;
      s->elements[s->element_count++].tag = (uint64_t)b;
    }
    break;
  case 4:
    turn(s->order, b % 2, element);
    break;
  case 5:
    sketch_add_face(s, a % count, b % 6, b / 6 % SKETCH_SURFACES);
    break;
  case 6:
    s->groups[a % SKETCH_SURFACES] = (unsigned)b;
    break;
  case 7:
    element->volume = 1 + b % 3;
    break;
  case 8:
    element->type = types[(size_t)b % (sizeof types / sizeof *types)];
    break;
  case 9:
    s->tags[a % s->point_count] = tags[(size_t)b % (sizeof tags / sizeof *tags)];
    break;
  case 10:
    element->tag = tags[(size_t)b % (sizeof tags / sizeof *tags)];
    break;
  case 11:
    s->periodic[0] = a % 8;
    s->periodic[1] = b % 8;
    break;
  case 12:
    s->split = b % 2;
    break;
  default: { /* all the faces of one side of the box, so that few bytes make a group */
    for (int e = 0; e < count; e++) sketch_add_face(s, e, a % 6, a / 6 % SKETCH_SURFACES);
    s->groups[a / 6 % SKETCH_SURFACES] |= 1u << b % 8;
  }
  }
}

void sketch_make(const uint8_t *data, size_t size, sketch *s) {
  static const struct {
    int cubes[3], order;
  } boxes[] = {{{2, 2, 1}, 1}, {{1, 1, 1}, 1}, {{3, 1, 1}, 1},
               {{2, 1, 1}, 2}, {{2, 2, 2}, 1}, {{1, 1, 1}, 2}};
  const size_t kind = size > 0 ? data[0] % (sizeof boxes / sizeof *boxes) : 0;
  make_box(boxes[kind].cubes, boxes[kind].order, s);
  for (size_t i = 1; i + 2 < size; i += 3) change(s, data[i] % 14, data[i + 1], data[i + 2]);
}

/* ---- Properties of a mesh ---- */

static double volume_of(const sp_hexes *hexes, sp_lid element, const sp_rule *rule) {
  double factors[SP_FACTORS * 27], volume = 0;
  if (sp_geometry_factors(hexes, element, rule, factors))
    return NAN; /* inverted between those points */
  for (int p = 0; p < 27; p++) volume += factors[SP_G_WJ * 27 + p];
  return volume;
}

/* |J| has degree 5 at most in each direction for order 2: three Gauss points are exact. */
static double whole_volume(const sp_mesh *mesh) {
  sp_rule rule;
  double volume = 0;
  sp_rule_gl(3, &rule);
  for (sp_lid e = 0; e < mesh->hexes->count; e++) volume += volume_of(mesh->hexes, e, &rule);
  return volume;
}

/* `meet`: elements that share a DOF have it at the same position. */
static void check_numbering(const sp_mesh *mesh, bool meet, sp_gid *dofs) {
  enum { ORDER = 3, NQ = ORDER + 1, NP = NQ * NQ * NQ };
  sp_numbering *numbering = NULL;
  require(sp_numbering_create(mesh, ORDER, &numbering) == SP_OK, "a mesh that cannot be numbered");
  require(numbering->owned == numbering->local && numbering->global == numbering->local,
          "a single rank shares DOFs");
  const size_t n = (size_t)numbering->local;
  double(*place)[3] = malloc(n * sizeof *place);
  bool *seen = calloc(n, sizeof *seen);
  require(place && seen, "out of memory");
  for (sp_lid e = 0; e < mesh->hexes->count; e++) {
    double xyz[3 * NP], size = 0;
    sp_hexes_coordinates(mesh->hexes, e, NQ, sp_reference_get(ORDER)->gll.nodes, xyz);
    for (int i = 0; i < 3 * NP; i++) size = fmax(size, fabs(xyz[i]));
    for (int p = 0; p < NP; p++) {
      const sp_lid dof = numbering->nodes[(size_t)e * NP + (size_t)p];
      require(dof >= 0 && dof < numbering->local, "a node without a DOF");
      for (int d = 0; d < 3 && seen[dof] && meet; d++)
        /* Rounding of two sums of eight products, with weights that add up to 1. */
        require(fabs(place[dof][d] - xyz[d * NP + p]) <= 64 * DBL_EPSILON * size,
                "elements that do not meet share a DOF");
      for (int d = 0; d < 3; d++) place[dof][d] = xyz[d * NP + p];
      seen[dof] = true;
    }
  }
  for (size_t i = 0; i < n; i++) require(seen[i], "a DOF of no element");
  *dofs = numbering->global;
  free(place);
  free(seen);
  sp_numbering_destroy(&numbering);
}

static void check_refined(const sp_mesh *mesh) {
  sp_mesh *fine = NULL;
  const double coarse = whole_volume(mesh);
  const sp_status status = sp_mesh_refined(mesh, &fine);
  if (status) {
    require_message(status); /* inverted between the points that were checked on the coarse mesh */
    return;
  }
  require(fine->global_elements == 8 * mesh->global_elements, "refined into another number");
  if (!isnan(coarse)) {
    const double volume = whole_volume(fine);
    /* |J| may be a difference of far larger products; the check is for elements that are lost or
     * counted twice. */
    require(isnan(volume) || fabs(volume - coarse) <= 1e-6 * coarse,
            "refinement changes the volume");
  }
  sp_mesh_destroy(&fine);
}

static void check_periodic(const sketch *s, sp_mesh *mesh, sp_gid dofs) {
  const sp_periodic_pair pair = {{s->periodic[0], s->periodic[1]}};
  const int groups = mesh->hexes->surface.group_count;
  if (pair.groups[0] == pair.groups[1] || pair.groups[0] >= groups || pair.groups[1] >= groups)
    return;
  const sp_status status = sp_mesh_identify(mesh, 1, &pair);
  if (status) {
    require_message(status);
    return;
  }
  sp_gid identified;
  check_numbering(mesh, false, &identified);
  require(identified < dofs, "identified faces have as many DOFs as before");
  check_refined(mesh);
}

void sketch_check(const sketch *s, sp_hexes **hexes) {
  sp_mesh *mesh = NULL;
  const sp_status status = sp_mesh_create(MPI_COMM_SELF, hexes, &mesh);
  require(*hexes == NULL, "elements that nobody owns");
  if (status) {
    require_message(status);
    require(mesh == NULL, "a mesh after an error");
    return;
  }
  sp_gid dofs;
  /* Nodes inside edges and faces belong to the element; corners are shared by number. */
  check_numbering(mesh, s->order == 1, &dofs);
  check_refined(mesh);
  check_periodic(s, mesh, dofs);
  sp_mesh_destroy(&mesh);
}
