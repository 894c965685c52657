#include "mesh/periodic.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/rendezvous.h"
#include "mesh/geometry.h"
#include "mesh/reference.h"

static const double TOLERANCE = 1e-6;

/* An entity of the periodic boundary: its key, and the corresponding vertices of its
 * representative. */
typedef struct entity {
  sp_gid key[4], image[4];
} entity;

struct sp_periodic {
  size_t entity_count;
  entity *entities; /* ascending by key; includes the vertices themselves */
};

/* ---- Entities ---- */

static int compare_entities(const void *left, const void *right) {
  return sp_entity_compare(((const entity *)left)->key, ((const entity *)right)->key);
}

static entity *find_entity(const sp_periodic *periodic, int count, const sp_gid *vertices) {
  entity wanted;
  sp_entity_key(count, vertices, wanted.key);
  return bsearch(&wanted, periodic->entities, periodic->entity_count, sizeof wanted,
                 compare_entities);
}

static int index_of(const sp_gid key[4], sp_gid vertex) {
  int i = 0;
  while (i < 3 && key[i] != vertex) i++;
  return i;
}

bool sp_periodic_image(const sp_periodic *periodic, int count, const sp_gid *vertices,
                       sp_gid *images) {
  /* Rule out most entities by their first vertex, which is not on the periodic boundary. */
  const entity *found = find_entity(periodic, 1, vertices);
  if (found && count > 1) found = find_entity(periodic, count, vertices);
  for (int c = 0; c < count && found; c++)
    images[c] = found->image[index_of(found->key, vertices[c])];
  return found != NULL;
}

int sp_periodic_vertices(const sp_periodic *periodic, const sp_gid vertices[SP_CORNERS], int slot,
                         sp_gid out[4]) {
  int corners[4];
  sp_gid own[4];
  const int count = sp_slot_corners(slot, corners);
  for (int c = 0; c < count; c++) own[c] = out[c] = vertices[corners[c]];
  if (periodic) sp_periodic_image(periodic, count, own, out);
  return count;
}

/* ---- Faces ---- */

/* A face of a periodic group; corners in the order of sp_slot_corners. */
typedef struct face {
  sp_gid vertices[4], tag;
  double centre[3];
  double position; /* of the centre, see position_along */
  int pair, side;
  const double *points; /* of the lattice, [g + 1][g + 1][3]; set after all faces are gathered */
} face;

/* The faces of all pairs on all ranks. */
typedef struct all_faces {
  int order; /* g, the degree of the map */
  size_t count;
  face *list;     /* [count] */
  double *points; /* the lattice points of all faces */
} all_faces;

static const double *corner_of(const face *f, int order, int c) {
  return &f->points[3 * order * ((c >> 1) * (order + 1) + (c & 1))];
}

/* The pair to which a surface belongs, and the side; -1 for none, -2 for several. */
static int find_pair(const sp_hexes *hexes, int surface, int *side) {
  int found = -1;
  for (int p = 0; p < hexes->pair_count; p++)
    for (int s = 0; s < 2; s++)
      if (surface >= 0 &&
          sp_group_has(&hexes->surface.groups[hexes->pairs[p].groups[s]], surface)) {
        found = found == -1 ? p : -2;
        *side = s;
      }
  return found;
}

static const char *group_name(const sp_hexes *hexes, int group, char text[16]) {
  if (hexes->surface.groups[group].name[0]) return hexes->surface.groups[group].name;
  snprintf(text, 16, "%d", hexes->surface.groups[group].number);
  return text;
}

static size_t points_of_face(const sp_hexes *hexes) {
  const size_t n = (size_t)hexes->map_order + 1;
  return n * n;
}

static void describe_face(const sp_hexes *hexes, sp_lid e, int f, face *out, double *points) {
  static const sp_rule middle = {.n = 1, .nodes = {0}, .weights = {1}};
  const double *lattice = sp_hexes_lattice(hexes, e);
  int corners[4], nodes[SP_MAX_NQ * SP_MAX_NQ];
  double normal[3];
  sp_slot_corners(SP_FACE_SLOT + f, corners);
  for (int c = 0; c < 4; c++) out->vertices[c] = hexes->vertices[e][corners[c]];
  sp_face_nodes(hexes->map_order, f, nodes);
  for (size_t p = 0; p < points_of_face(hexes); p++)
    memcpy(&points[3 * p], &lattice[3 * nodes[p]], 3 * sizeof *points);
  sp_geometry_face(hexes, e, f, &middle, out->centre, normal);
  out->tag = hexes->tags[e];
}

static sp_status list_local(const sp_hexes *hexes, face **faces, double **points, size_t *count) {
  const size_t each = 3 * points_of_face(hexes);
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      int side = 0;
      const int pair = find_pair(hexes, hexes->surfaces[e][f], &side);
      if (pair == -1) continue;
      if (pair == -2)
        return sp_fail(
            SP_ERR_INPUT,
            "element %lld has a face in two periodic groups; a face can belong to only one pair",
            (long long)hexes->tags[e]);
      SP_TRY(sp_reserve(*count, 1, sizeof **faces, "periodic faces", faces));
      SP_TRY(sp_reserve(*count * each, each, sizeof **points, "periodic faces", points));
      face *own = &(*faces)[*count];
      *own = (face){.pair = pair, .side = side};
      describe_face(hexes, e, f, own, &(*points)[each * (*count)++]);
    }
  return SP_OK;
}

/* The faces of all ranks, in rank order. */
static sp_status gather_faces(MPI_Comm comm, const sp_hexes *hexes, all_faces *all) {
  const size_t each = 3 * points_of_face(hexes);
  SP_OWNED face *local = NULL;
  SP_OWNED double *points = NULL;
  size_t mine = 0;
  all->order = hexes->map_order;
  SP_TRY(sp_agree(comm, list_local(hexes, &local, &points, &mine)));
  SP_TRY(sp_gather_records(comm, local, mine, sizeof *local, "periodic faces", &all->list,
                           &all->count));
  SP_TRY(sp_gather_records(comm, points, mine, each * sizeof *points, "periodic faces",
                           &all->points, &all->count));
  for (size_t f = 0; f < all->count; f++) all->list[f].points = &all->points[f * each];
  return SP_OK;
}

/* ---- Matching ---- */

static double distance(const double a[3], const double b[3], const double shift[3]) {
  const double x = a[0] + shift[0] - b[0], y = a[1] + shift[1] - b[1], z = a[2] + shift[2] - b[2];
  return sqrt(x * x + y * y + z * z);
}

/* The position along a direction in which different faces rarely coincide. */
static double position_along(const double point[3], const double shift[3]) {
  static const double direction[3] = {0.5377, 0.6213, 0.5701}; /* a unit vector */
  double sum = 0;
  for (int d = 0; d < 3; d++) sum += direction[d] * (point[d] + shift[d]);
  return sum;
}

static int compare_positions(const void *left, const void *right) {
  const face *a = *(const face *const *)left, *b = *(const face *const *)right;
  if (a->position != b->position) return a->position < b->position ? -1 : 1;
  return (a > b) - (a < b);
}

/* The faces of one pair of groups; the second group's are sorted by position. */
typedef struct matching {
  const face **faces[2];
  size_t counts[2];
  double shift[3], tolerance;
  int order; /* g, the degree of the map */
} matching;

static sp_status fill_matching(const sp_hexes *hexes, int pair, all_faces *all, matching *m) {
  static const double nowhere[3] = {0, 0, 0};
  double means[2][3] = {{0}}, shortest = DBL_MAX;
  m->order = all->order;
  SP_TRY(SP_ALLOCATE("periodic faces", SP_ARRAY(m->faces[0], all->count),
                     SP_ARRAY(m->faces[1], all->count)));
  for (size_t i = 0; i < all->count; i++) {
    face *f = &all->list[i];
    if (f->pair != pair) continue;
    f->position = position_along(f->centre, nowhere);
    m->faces[f->side][m->counts[f->side]++] = f;
    for (int d = 0; d < 3; d++) means[f->side][d] += f->centre[d];
    for (int a = 0; a < 4; a++)
      for (int b = 0; b < a; b++)
        shortest = fmin(
            shortest, distance(corner_of(f, all->order, a), corner_of(f, all->order, b), nowhere));
  }
  char texts[2][16];
  const char *names[2];
  for (int s = 0; s < 2; s++) names[s] = group_name(hexes, hexes->pairs[pair].groups[s], texts[s]);
  if (m->counts[0] != m->counts[1] || m->counts[0] == 0)
    return sp_fail(
        SP_ERR_INPUT,
        "periodic groups '%s' and '%s' have %zu and %zu exterior faces; expected the same "
        "number, at least one",
        names[0], names[1], m->counts[0], m->counts[1]);
  for (int d = 0; d < 3; d++) m->shift[d] = (means[1][d] - means[0][d]) / (double)m->counts[0];
  m->tolerance = TOLERANCE * shortest;
  qsort(m->faces[1], m->counts[1], sizeof *m->faces[1], compare_positions);
  return SP_OK;
}

/* partner[c] becomes the corner of `b` to which the translation moves corner c of `a`; false if a
 * corner has none. */
static bool match_corners(const face *a, const face *b, const matching *m, int partner[4]) {
  if (distance(a->centre, b->centre, m->shift) > m->tolerance) return false;
  for (int c = 0; c < 4; c++) {
    partner[c] = -1;
    for (int d = 0; d < 4; d++)
      if (distance(corner_of(a, m->order, c), corner_of(b, m->order, d), m->shift) <= m->tolerance)
        partner[c] = d;
    if (partner[c] < 0) return false;
  }
  return true;
}

/* True if all lattice points match; the corners must. */
static bool match_points(const face *a, const face *b, const matching *m, const int partner[4]) {
  const int g = m->order, origin[2] = {partner[0] & 1, partner[0] >> 1};
  const int along_p[2] = {(partner[1] & 1) - origin[0], (partner[1] >> 1) - origin[1]};
  const int along_q[2] = {(partner[2] & 1) - origin[0], (partner[2] >> 1) - origin[1]};
  for (int q = 0; q <= g; q++)
    for (int p = 0; p <= g; p++) {
      const int i = g * origin[0] + p * along_p[0] + q * along_q[0];
      const int j = g * origin[1] + p * along_p[1] + q * along_q[1];
      if (distance(&a->points[3 * (q * (g + 1) + p)], &b->points[3 * (j * (g + 1) + i)], m->shift) >
          m->tolerance)
        return false;
    }
  return true;
}

static const face *find_partner(const face *a, const matching *m, int partner[4]) {
  const double position = position_along(a->centre, m->shift);
  size_t low = 0, high = m->counts[1];
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (m->faces[1][middle]->position < position - m->tolerance)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < m->counts[1] && m->faces[1][low]->position <= position + m->tolerance; low++)
    if (match_corners(a, m->faces[1][low], m, partner) &&
        match_points(a, m->faces[1][low], m, partner))
      return m->faces[1][low];
  return NULL;
}

/* ---- Classes ---- */

enum { FACE_ENTITIES = 9 };

/* The vertices and edges of a face, and the face itself, by their corners. */
static const struct {
  int count, corners[4];
} parts_of_face[FACE_ENTITIES] = {{1, {0}},    {1, {1}},    {1, {2}},
                                  {1, {3}},    {2, {0, 1}}, {2, {2, 3}},
                                  {2, {0, 2}}, {2, {1, 3}}, {4, {0, 1, 2, 3}}};

static int part_vertices(const face *f, int part, const int *order, sp_gid vertices[4]) {
  for (int c = 0; c < parts_of_face[part].count; c++) {
    const int corner = parts_of_face[part].corners[c];
    vertices[c] = f->vertices[order ? order[corner] : corner];
  }
  return parts_of_face[part].count;
}

/* Sort the first n entities, and keep one of each key. */
static void sort_entities(size_t n, sp_periodic *periodic) {
  entity *list = periodic->entities;
  if (n > 0) qsort(list, n, sizeof *list, compare_entities);
  periodic->entity_count = 0;
  for (size_t i = 0; i < n; i++)
    if (i == 0 || compare_entities(&list[i], &list[periodic->entity_count - 1]) != 0)
      list[periodic->entity_count++] = list[i];
}

static sp_status collect_entities(size_t count, const face *faces, sp_periodic *periodic) {
  SP_TRY(sp_allocate(FACE_ENTITIES * count, sizeof *periodic->entities, "periodic entities",
                     &periodic->entities));
  entity *list = periodic->entities;
  size_t n = 0;
  for (size_t i = 0; i < count; i++)
    for (int part = 0; part < FACE_ENTITIES; part++, n++) {
      sp_gid vertices[4];
      const int corners = part_vertices(&faces[i], part, NULL, vertices);
      sp_entity_key(corners, vertices, list[n].key);
      memcpy(list[n].image, list[n].key, sizeof list[n].image);
    }
  sort_entities(n, periodic);
  return SP_OK;
}

/* Give both entities the smaller of their images, vertex by vertex; true if an image changed. */
static bool join_images(sp_periodic *periodic, int count, const sp_gid *at_a, const sp_gid *at_b) {
  entity *a = find_entity(periodic, count, at_a), *b = find_entity(periodic, count, at_b);
  sp_gid image_a[4], image_b[4];
  sp_entity_key(count, a->image, image_a);
  sp_entity_key(count, b->image, image_b);
  const int order = sp_entity_compare(image_a, image_b);
  for (int c = 0; c < count && order != 0; c++) {
    sp_gid *from_a = &a->image[index_of(a->key, at_a[c])];
    sp_gid *from_b = &b->image[index_of(b->key, at_b[c])];
    if (order < 0)
      *from_b = *from_a;
    else
      *from_a = *from_b;
  }
  return order != 0;
}

/* Join the entities that the matching faces of one pair identify. */
static sp_status join_pair(const sp_hexes *hexes, const sp_periodic_pair *pair, const matching *m,
                           sp_periodic *periodic, bool *changed) {
  for (size_t i = 0; i < m->counts[0]; i++) {
    const face *a = m->faces[0][i];
    int order[4];
    const face *b = find_partner(a, m, order);
    char texts[2][16];
    if (!b)
      return sp_fail(
          SP_ERR_INPUT,
          "the face of element %lld at (%.12g, %.12g, %.12g) in group '%s' has no partner in "
          "periodic group '%s' under the translation (%.12g, %.12g, %.12g): the two groups must "
          "be translated copies of each other, with the same mesh",
          (long long)a->tag, a->centre[0], a->centre[1], a->centre[2],
          group_name(hexes, pair->groups[0], texts[0]),
          group_name(hexes, pair->groups[1], texts[1]), m->shift[0], m->shift[1], m->shift[2]);
    for (int part = 0; part < FACE_ENTITIES; part++) {
      sp_gid at_a[4], at_b[4];
      const int count = part_vertices(a, part, NULL, at_a);
      part_vertices(b, part, order, at_b);
      if (join_images(periodic, count, at_a, at_b)) *changed = true;
    }
  }
  return SP_OK;
}

/* Repeat until nothing changes: an edge where several pairs meet may be identified with three
 * others. */
static sp_status join_all(const sp_hexes *hexes, all_faces *all, sp_periodic *periodic) {
  matching *list = NULL;
  SP_TRY(sp_allocate((size_t)hexes->pair_count, sizeof *list, "periodic pairs", &list));
  sp_status status = SP_OK;
  for (int p = 0; p < hexes->pair_count && !status; p++)
    status = fill_matching(hexes, p, all, &list[p]);
  for (bool changed = true; changed && !status;) {
    changed = false;
    for (int p = 0; p < hexes->pair_count && !status; p++)
      status = join_pair(hexes, &hexes->pairs[p], &list[p], periodic, &changed);
  }
  for (int p = 0; p < hexes->pair_count; p++) SP_FREE(list[p].faces[0], list[p].faces[1]);
  free(list);
  return status;
}

/* An edge or lateral face across a contact is on the periodic boundary if its two halves, one per
 * side, are. Their images give its image. */
static bool find_across(const sp_periodic *periodic, const sp_gid vertices[SP_CORNERS], int slot,
                        entity *out) {
  int corners[4];
  sp_gid own[4], images[4];
  const int count = sp_slot_corners(slot, corners), half = count / 2;
  for (int c = 0; c < count; c++) own[c] = vertices[corners[c]];
  if (!sp_periodic_image(periodic, half, own, images) ||
      !sp_periodic_image(periodic, half, &own[half], &images[half]))
    return false;
  for (int c = 0; c < half;
       c++) /* the halves may have different images of a vertex that is not doubled */
    if (own[c] == own[c + half]) sp_periodic_image(periodic, 1, &own[c], &images[c + half]);
  sp_entity_key(count, own, out->key);
  memcpy(out->image, out->key, sizeof out->image);
  for (int c = 0; c < count; c++) out->image[index_of(out->key, own[c])] = images[c];
  return true;
}

/* Add the entities across contacts of this rank, which are on no face of a group. */
static sp_status add_contacts(const sp_hexes *hexes, sp_periodic *periodic) {
  enum { FIRST = SP_EDGE_SLOT + 8, LAST = SP_FACE_SLOT + 4 };
  size_t count = periodic->entity_count;
  entity *list;
  for (sp_lid e = 0; e < hexes->count; e++)
    count += sp_hexes_is_contact(hexes, e) ? LAST - FIRST : 0;
  SP_TRY(sp_allocate(count, sizeof *list, "periodic entities", &list));
  count = periodic->entity_count;
  memcpy(list, periodic->entities, count * sizeof *list);
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int slot = FIRST; slot < LAST && sp_hexes_is_contact(hexes, e); slot++)
      count += find_across(periodic, hexes->vertices[e], slot, &list[count]);
  free(periodic->entities);
  periodic->entities = list;
  sort_entities(count, periodic);
  return SP_OK;
}

/* ---- Creation ---- */

sp_status sp_periodic_create(MPI_Comm comm, const sp_hexes *hexes, sp_periodic **out) {
  all_faces all = {0};
  sp_status status = sp_agree(comm, sp_allocate(1, sizeof **out, "periodic pairs", out));
  if (!status) status = gather_faces(comm, hexes, &all);
  if (!status) {
    status = collect_entities(all.count, all.list, *out);
    if (!status) status = join_all(hexes, &all, *out);
    if (!status) status = add_contacts(hexes, *out);
    status = sp_agree(comm, status);
  }
  SP_FREE(all.list, all.points);
  if (status) sp_periodic_destroy(out);
  return status;
}

void sp_periodic_destroy(sp_periodic **periodic) {
  if (!*periodic) return;
  SP_FREE((*periodic)->entities, *periodic);
  *periodic = NULL;
}

bool sp_periodic_has_surface(const sp_periodic *periodic, const sp_hexes *hexes, int surface) {
  int side;
  return periodic && find_pair(hexes, surface, &side) >= 0;
}
