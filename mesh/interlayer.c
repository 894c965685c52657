#include "mesh/interlayer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/rendezvous.h"
#include "mesh/reference.h"

static const char NARROW[] =
    "a contact must be at least two elements wide if it ends inside a body, but it is one wide";

enum { DIRECTIONS = 3, FLAG_WORDS = 4, NOWHERE = -1 };

/* A corner of an element at a vertex of a contact, sent to the rank of the vertex. Faces are at the
 * corner, by direction; the surface is -1 if it is no contact. */
typedef struct corner_row {
  sp_row_name vertex;
  int64_t tag, octants;
  sp_gid faces[DIRECTIONS][4];
  int64_t surfaces[DIRECTIONS];
} corner_row;

/* The answer: the new vertex number, and per face the surface, as either side has it; the vertex
 * number on the other side of a contact, or -1; and 1 if the element across is later by tag and
 * octants. */
typedef struct corner_answer {
  sp_gid number;
  int64_t surfaces[DIRECTIONS];
  sp_gid across[DIRECTIONS];
  int64_t first[DIRECTIONS];
} corner_answer;

enum { ROW_WORDS = sizeof(corner_row) / 8, ANSWER_WORDS = sizeof(corner_answer) / 8 };

typedef struct splitting {
  MPI_Comm comm;
  sp_hexes *hexes;
  const char *const *names;
  const int *contact_of;
  int64_t count; /* rows */
  corner_row *rows;
  corner_answer *answers;
  sp_lid *places; /* [elements][8], row of a corner, or NOWHERE */
} splitting;

/* ---- Vertices ---- */

static int compare_rows(const void *left, const void *right) {
  const int64_t *a = *(const int64_t *const *)left, *b = *(const int64_t *const *)right;
  return sp_entity_compare(a, b);
}

/* Answer 1 for a vertex if a row has it. Rows: vertex, 0, -1 or 0, 0. */
static sp_status answer_flags(size_t count, const int64_t *const *rows, int64_t *const *answers,
                              const void *none) {
  (void)none;
  for (size_t n = 0; n < count; n++) *answers[n] = -rows[0][2];
  return SP_OK;
}

static int64_t root_of(const int64_t *leader, int64_t i) {
  while (leader[i] != i) i = leader[i];
  return i;
}

static int64_t later(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Split the `count` corners at one vertex into classes connected by faces that are no contacts. All
 * classes after the first get new numbers, `step` apart. */
static void split_vertex(int64_t count, const int64_t *const *sorted, corner_answer *const *answers,
                         int64_t *leader, sp_gid step) {
  const corner_row *const *rows = (const corner_row *const *)sorted;
  for (int64_t i = 0; i < count; i++) {
    leader[i] = i;
    for (int d = 0; d < DIRECTIONS; d++) {
      answers[i]->surfaces[d] = rows[i]->surfaces[d];
      answers[i]->across[d] = NOWHERE;
    }
    for (int64_t j = 0; j < i; j++)
      for (int pair = 0; pair < DIRECTIONS * DIRECTIONS; pair++) {
        const int a = pair / DIRECTIONS, b = pair % DIRECTIONS;
        if (sp_entity_compare(rows[i]->faces[a], rows[j]->faces[b]) != 0) continue;
        const int64_t one = root_of(leader, i), two = root_of(leader, j);
        answers[i]->surfaces[a] = answers[j]->surfaces[b] =
            later(rows[i]->surfaces[a], rows[j]->surfaces[b]);
        answers[i]->across[a] = j;
        answers[j]->across[b] = i;
        answers[j]->first[b] = 1;
        if (answers[i]->surfaces[a] < 0) leader[later(one, two)] = one + two - later(one, two);
      }
  }
  sp_gid next = rows[0]->vertex.part[0];
  for (int64_t i = 0; i < count; i++) {
    answers[i]->number = leader[i] == i ? next : answers[root_of(leader, i)]->number;
    if (leader[i] == i) next += step;
  }
  for (int64_t i = 0; i < count; i++)
    for (int d = 0; d < DIRECTIONS; d++)
      if (answers[i]->across[d] >= 0)
        answers[i]->across[d] = answers[answers[i]->across[d]]->number;
}

static sp_status answer_corners(size_t count, const int64_t *const *rows, int64_t *const *answers,
                                const void *step) {
  int64_t *leader;
  SP_TRY(sp_allocate(count, sizeof *leader, "contacts", &leader));
  split_vertex((int64_t)count, rows, (corner_answer *const *)answers, leader,
               *(const sp_gid *)step);
  free(leader);
  return SP_OK;
}

static int contact_of(const splitting *s, sp_lid e, int f) {
  const int surface = sp_surface_of(s->hexes->surfaces[e][f]);
  return surface < 0 ? -1 : s->contact_of[surface];
}

/* Flag the vertices at contacts of any rank: flags[elements][8]. */
static sp_status flag_vertices(const splitting *s, int64_t **flags) {
  const size_t count = (size_t)s->hexes->count * SP_CORNERS;
  SP_OWNED int64_t(*rows)[FLAG_WORDS] = NULL;
  sp_status status = sp_allocate(count, sizeof *rows, "contacts", &rows);
  if (!status) status = sp_allocate(count, sizeof **flags, "contacts", flags);
  for (size_t n = 0; n < count && !status; n++) {
    const sp_lid e = (sp_lid)(n / SP_CORNERS);
    const int c = (int)(n % SP_CORNERS);
    rows[n][0] = s->hexes->vertices[e][c];
    for (int d = 0; d < DIRECTIONS; d++)
      if (contact_of(s, e, 2 * d + (c >> d & 1)) >= 0) rows[n][2] = -1;
  }
  SP_TRY(sp_agree(s->comm, status));
  const sp_questions questions = {count, FLAG_WORDS, 1, *rows, *flags};
  return sp_rendezvous_answer(s->comm, &questions, compare_rows, answer_flags, NULL);
}

static void fill_row(const splitting *s, sp_lid e, int c, corner_row *row) {
  const sp_hexes *hexes = s->hexes;
  row->vertex.part[0] = hexes->vertices[e][c];
  row->tag = hexes->tags[e];
  row->octants = hexes->octants[e];
  for (int d = 0; d < DIRECTIONS; d++) {
    const int f = 2 * d + (c >> d & 1);
    int corners[4];
    sp_gid vertices[4];
    sp_slot_corners(SP_FACE_SLOT + f, corners);
    for (int q = 0; q < 4; q++) vertices[q] = hexes->vertices[e][corners[q]];
    sp_entity_key(4, vertices, row->faces[d]);
    row->surfaces[d] = contact_of(s, e, f) >= 0 ? sp_surface_of(hexes->surfaces[e][f]) : -1;
  }
}

/* Send the corners at contacts to the ranks of their vertices. Collective. */
static sp_status split_vertices(splitting *s) {
  const size_t corners = (size_t)s->hexes->count * SP_CORNERS;
  SP_OWNED int64_t *flags = NULL;
  sp_gid step = 0;
  SP_TRY(flag_vertices(s, &flags));
  for (size_t n = 0; n < corners; n++) {
    s->count += flags[n];
    step = later(step, s->hexes->vertices[n / SP_CORNERS][n % SP_CORNERS] + 1);
  }
  SP_TRY(
      sp_agree(s->comm, SP_ALLOCATE("contacts", SP_ARRAY(s->rows, s->count),
                                    SP_ARRAY(s->answers, s->count), SP_ARRAY(s->places, corners))));
  sp_lid next = 0;
  for (size_t n = 0; n < corners; n++) {
    s->places[n] = flags[n] ? next++ : NOWHERE;
    if (flags[n])
      fill_row(s, (sp_lid)(n / SP_CORNERS), (int)(n % SP_CORNERS), &s->rows[s->places[n]]);
  }
  MPI_Allreduce(MPI_IN_PLACE, &step, 1, SP_MPI_GID, MPI_MAX, s->comm);
  const sp_questions questions = {(size_t)s->count, ROW_WORDS, ANSWER_WORDS,
                                  (const int64_t *)s->rows, (int64_t *)s->answers};
  return sp_rendezvous_answer(s->comm, &questions, compare_rows, answer_corners, &step);
}

/* ---- Elements of contacts ---- */

/* The nodes of face f at (a, b), b slowest, with a x b pointing outwards. */
static void outward_nodes(int map_order, int f, int *nodes) {
  const int n = map_order + 1;
  int face_nodes[SP_MAX_NQ * SP_MAX_NQ];
  const bool straight = (f % 2 == 1) != (f / 2 == 1);
  sp_face_nodes(map_order, f, face_nodes);
  for (int b = 0; b < n; b++)
    for (int a = 0; a < n; a++) nodes[b * n + a] = face_nodes[straight ? b * n + a : a * n + b];
}

static const double *corner_of(const sp_hexes *hexes, sp_lid e, int corner) {
  return &sp_hexes_lattice(hexes, e)[3 * sp_corner_node(hexes->map_order, corner)];
}

static double length_of(const double x[3]) {
  return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}

/* The area vector of the quadrilateral of a face's corners, outward; returns its length. */
static double area_of(const sp_hexes *hexes, sp_lid e, const int corners[4], double area[3]) {
  double u[3], v[3];
  for (int d = 0; d < 3; d++) {
    u[d] = corner_of(hexes, e, corners[3])[d] - corner_of(hexes, e, corners[0])[d];
    v[d] = corner_of(hexes, e, corners[2])[d] - corner_of(hexes, e, corners[1])[d];
  }
  for (int d = 0; d < 3; d++)
    area[d] = 0.5 * (u[(d + 1) % 3] * v[(d + 2) % 3] - u[(d + 2) % 3] * v[(d + 1) % 3]);
  return length_of(area);
}

static sp_status fail_at(const char *name, const double p[3], const char *what) {
  return sp_fail(SP_ERR_INPUT, "%s: %s near (%.12g, %.12g, %.12g)", name, what, p[0], p[1], p[2]);
}

static sp_status grow_rows(void *array, size_t row, sp_lid count) {
  void *old, *larger;
  memcpy(&old, array, sizeof old);
  larger = realloc(old, row * ((size_t)count + 1));
  if (!larger) return sp_fail(SP_ERR_SYSTEM, "out of memory: %lld elements", (long long)count);
  memcpy(array, &larger, sizeof larger);
  return SP_OK;
}

static sp_status grow_all(sp_hexes *hexes, int count, sp_gid all) {
  if (all > SP_LID_MAX)
    return sp_fail(SP_ERR_INPUT, "too many elements on one rank: use more ranks");
  const sp_lid elements = (sp_lid)all;
  SP_TRY(grow_rows(&hexes->lattice, 3 * sizeof(double) * sp_hexes_lattice_size(hexes), elements));
  SP_TRY(grow_rows(&hexes->vertices, sizeof *hexes->vertices, elements));
  SP_TRY(grow_rows(&hexes->surfaces, sizeof *hexes->surfaces, elements));
  SP_TRY(grow_rows(&hexes->tags, sizeof *hexes->tags, elements));
  SP_TRY(grow_rows(&hexes->octants, sizeof *hexes->octants, elements));
  SP_TRY(grow_rows(&hexes->volumes, sizeof *hexes->volumes, elements));
  hexes->volume.count += count;
  hexes->file.contacts = count;
  return SP_OK;
}

static const corner_answer *answer_of(const splitting *s, sp_lid e, int corner) {
  return &s->answers[s->places[SP_CORNERS * (size_t)e + (size_t)corner]];
}

/* Make element `to` on face f of element e. */
static sp_status fill_element(const splitting *s, sp_lid e, int f, const int corners[4],
                              sp_lid to) {
  sp_hexes *hexes = s->hexes;
  const int n = hexes->map_order + 1;
  int nodes[SP_MAX_NQ * SP_MAX_NQ], whole = 0;
  double area[3];
  for (int q = 0; q < 4; q++) {
    const corner_answer *answer = answer_of(s, e, corners[q]);
    hexes->vertices[to][q] = answer->number;
    hexes->vertices[to][q + 4] = answer->across[f / 2];
    whole += answer->number == answer->across[f / 2];
  }
  if (whole == 4)
    return fail_at(s->names[contact_of(s, e, f)], corner_of(hexes, e, corners[0]), NARROW);
  const double length = area_of(hexes, e, corners, area), *from = sp_hexes_lattice(hexes, e);
  double *point = &hexes->lattice[3 * (size_t)to * sp_hexes_lattice_size(hexes)];
  outward_nodes(hexes->map_order, f, nodes);
  for (int k = 0; k < n; k++)
    for (int q = 0; q < n * n; q++)
      for (int d = 0; d < 3; d++)
        *point++ = from[3 * nodes[q] + d] + hexes->file.thickness * k / (n - 1) * area[d] / length;
  for (int side = 0; side < SP_FACES; side++) hexes->surfaces[to][side] = SP_SURFACE_INTERIOR;
  hexes->octants[to] = 0;
  hexes->volumes[to] = hexes->volume.count - hexes->file.contacts + contact_of(s, e, f);
  return SP_OK;
}

/* Call fill_element once per face of a contact, for the first of its two elements. With to == NULL
 * only count the faces, and find the largest. */
static sp_status visit_faces(const splitting *s, sp_lid count, sp_gid next_tag, sp_gid *found,
                             double *largest) {
  sp_hexes *hexes = s->hexes;
  *found = 0;
  for (sp_lid e = 0; e < count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      int corners[4];
      double area[3];
      outward_nodes(1, f, corners);
      if (s->places[SP_CORNERS * (size_t)e + (size_t)corners[0]] == NOWHERE) continue;
      const corner_answer *answer = answer_of(s, e, corners[0]);
      if (answer->surfaces[f / 2] < 0) continue;
      hexes->surfaces[e][f] = (int)answer->surfaces[f / 2];
      if (answer->across[f / 2] == NOWHERE)
        return fail_at(s->names[contact_of(s, e, f)], corner_of(hexes, e, corners[0]),
                       "a contact must have faces between elements only, but one is exterior");
      if (!answer->first[f / 2]) continue;
      *largest = fmax(*largest, area_of(hexes, e, corners, area));
      const sp_gid to = count + (*found)++;
      if (next_tag == 0) continue;
      SP_TRY(fill_element(s, e, f, corners, (sp_lid)to));
      hexes->tags[to] = next_tag + (SP_CORNERS * hexes->tags[e] + hexes->octants[e]) * SP_FACES + f;
    }
  return SP_OK;
}

static sp_status add_elements(splitting *s, int count) {
  sp_hexes *hexes = s->hexes;
  const sp_lid old = hexes->count;
  sp_gid last = 0, added = 0;
  double largest = 0;
  SP_TRY(sp_agree(s->comm, visit_faces(s, old, 0, &added, &largest)));
  for (sp_lid e = 0; e < old; e++) last = later(last, hexes->tags[e]);
  MPI_Allreduce(MPI_IN_PLACE, &last, 1, SP_MPI_GID, MPI_MAX, s->comm);
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, s->comm);
  SP_TRY(sp_agree(s->comm, grow_all(hexes, count, old + added)));
  hexes->file.thickness = sqrt(largest);
  SP_TRY(sp_agree(s->comm, visit_faces(s, old, last + 1, &added, &largest)));
  for (size_t n = 0; n < SP_CORNERS * (size_t)old; n++)
    if (s->places[n] != NOWHERE)
      hexes->vertices[n / SP_CORNERS][n % SP_CORNERS] = s->answers[s->places[n]].number;
  hexes->count += (sp_lid)added;
  memset(hexes->box, 0, sizeof hexes->box);
  return SP_OK;
}

sp_status sp_interlayer_insert(MPI_Comm comm, sp_hexes *hexes, int count, const char *const *names,
                               const int *contact_of) {
  splitting s = {.comm = comm, .hexes = hexes, .names = names, .contact_of = contact_of};
  sp_status status = split_vertices(&s);
  if (!status) status = add_elements(&s, count);
  SP_FREE(s.rows, s.answers, s.places);
  return status;
}

sp_status sp_interlayer_check(const sp_hexes *hexes, const sp_topology *topology) {
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < 4 && sp_hexes_is_contact(hexes, e); f++) {
      const sp_lid *slots = topology->slots[e], face = slots[SP_FACE_SLOT + f];
      int corners[4];
      sp_slot_corners(SP_FACE_SLOT + f, corners);
      const bool whole =
          slots[corners[0]] == slots[corners[2]] && slots[corners[1]] == slots[corners[3]];
      if (!whole || sp_topology_is_exterior(topology, face)) continue;
      return fail_at("boundary", corner_of(hexes, e, 0), NARROW);
    }
  return SP_OK;
}
