#include "solver/solve/initial.h"

#include <math.h>
#include <stdlib.h>

#include "io/field_reader.h"
#include "io/rendezvous.h"
#include "mesh/reference.h"
#include "mesh/tensor.h"
#include "solver/problem/evaluate.h"

const char *const sp_initial_names[SP_TIME_HISTORY] = {"u", "u_1", "u_2"};

/* ---- A formula ---- */

static sp_status evaluate_initial(const sp_expression *formula, const sp_space *space,
                                  double *values) {
  const sp_hexes *hexes = space->mesh->hexes;
  const sp_numbering *numbering = space->numbering;
  const int nq = numbering->order + 1;
  const size_t nodes = sp_element_nodes(numbering->order);
  SP_OWNED double *xyz = NULL;
  SP_TRY(sp_allocate(4 * nodes, sizeof *xyz, "initial values", &xyz));
  double *u = xyz + 3 * nodes;
  for (sp_lid e = 0; e < hexes->count; e++) {
    const sp_lid *dofs = sp_numbering_nodes(numbering, e);
    sp_hexes_coordinates(hexes, e, nq, sp_reference_get(numbering->order)->gll.nodes, xyz);
    SP_TRY(sp_problem_evaluate(formula, nodes,
                               (const double *[]){xyz, xyz + nodes, xyz + 2 * nodes}, NULL, u, NULL,
                               NULL));
    for (size_t n = 0; n < nodes; n++) values[dofs[n]] = u[n];
  }
  return SP_OK;
}

/* ---- A field ---- */

/* An element of this rank and the element of the file that it lies in. */
typedef struct match {
  int64_t in_file;
  sp_lid element;
} match;

typedef struct source {
  const char *path; /* of problem.initial */
  const sp_space *space;
  sp_field_reader *reader;
  int below;      /* refinements of this mesh beyond the file's */
  match *matches; /* [elements], by in_file */
  const char *name;
  double *values;
} source;

/* Return the number of refinements: the last of all elements' octants is 8^refinements - 1. */
static int refinements_of(int64_t largest) {
  int refinements = 0;
  for (; largest > 0; largest /= 8) refinements++;
  return refinements;
}

/* This rank's share of the file's elements, and the names in the file of its own elements. */
typedef struct names {
  int64_t first;
  size_t shared, own;
  int64_t *tags, *octants; /* [shared] */
  sp_row *rows;            /* [shared], then requests, [own] */
} names;

static sp_status read_names(const source *s, names *n) {
  MPI_Comm comm = s->space->mesh->comm;
  const int rank = sp_comm_rank(comm), size = sp_comm_size(comm);
  const int64_t elements = s->reader->elements;
  const int64_t each = elements / size, rest = elements % size;
  n->first = each * rank + (rank < rest ? rank : rest);
  n->shared = (size_t)(each + (rank < rest));
  n->own = (size_t)s->space->mesh->hexes->count;
  SP_TRY(SP_ALLOCATE("elements of a field", SP_ARRAY(n->tags, n->shared),
                     SP_ARRAY(n->octants, n->shared), SP_ARRAY(n->rows, n->shared + n->own)));
  const int64_t count = (int64_t)n->shared;
  SP_TRY(sp_field_reader_cells(s->reader, "tag", n->first, count, n->tags));
  return sp_field_reader_cells(s->reader, "octants", n->first, count, n->octants);
}

/* Return the refinement path of an element below the file's element. */
static int path_below(const source *s, sp_lid element) {
  return s->space->mesh->hexes->octants[element] & ((1 << (3 * s->below)) - 1);
}

/* The first children of the file's elements, over all ranks. */
static int64_t count_first_matches(const source *s) {
  const sp_mesh *mesh = s->space->mesh;
  int64_t first = 0;
  for (sp_lid e = 0; e < mesh->hexes->count; e++) first += path_below(s, e) == 0;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT64_T, MPI_SUM, mesh->comm);
  return first;
}

/* Collective. */
static sp_status check_refinements(source *s, int of_file, int of_mesh) {
  const double here = (double)s->space->mesh->global_elements;
  const double there = (double)s->reader->elements;
  s->below = of_mesh - of_file;
  if (s->below < 0)
    return sp_fail(SP_ERR_INPUT,
                   "field %s has %d refinements, this mesh has %d; give mesh.refine = %d or more",
                   s->path, of_file, of_mesh, of_file);
  if (count_first_matches(s) != s->reader->elements)
    return sp_fail(SP_ERR_INPUT,
                   "field %s is of another mesh: its %.0f elements, refined %d times, do not give "
                   "the %.0f elements here",
                   s->path, there, s->below, here);
  return SP_OK;
}

static int compare_matches(const void *left, const void *right) {
  const match *a = left, *b = right;
  if (a->in_file != b->in_file) return a->in_file < b->in_file ? -1 : 1;
  return (a->element > b->element) - (a->element < b->element);
}

/* Collective. */
static sp_status match_names(source *s, names *n) {
  const sp_mesh *mesh = s->space->mesh;
  const sp_hexes *hexes = mesh->hexes;
  int64_t largest[2] = {0}; /* octants of the file and here */
  for (size_t i = 0; i < n->shared; i++)
    if (n->octants[i] > largest[0]) largest[0] = n->octants[i];
  for (size_t e = 0; e < n->own; e++)
    if (hexes->octants[e] > largest[1]) largest[1] = hexes->octants[e];
  MPI_Allreduce(MPI_IN_PLACE, largest, 2, MPI_INT64_T, MPI_MAX, mesh->comm);
  SP_TRY(check_refinements(s, refinements_of(largest[0]), refinements_of(largest[1])));
  for (size_t i = 0; i < n->shared; i++)
    n->rows[i] = (sp_row){{{n->tags[i], n->octants[i]}}, false, n->first + (int64_t)i};
  sp_row *requests = n->rows + n->shared;
  for (size_t e = 0; e < n->own; e++)
    requests[e] = (sp_row){{{hexes->tags[e], hexes->octants[e] >> (3 * s->below)}}, true, 0};
  const sp_status status = sp_rendezvous(mesh->comm, n->shared + n->own, n->rows);
  if (status)
    return sp_fail(status, "field %s is of another mesh: %s (element, refinement path)", s->path,
                   sp_error_message());
  SP_TRY(sp_agree(mesh->comm,
                  sp_allocate(n->own, sizeof *s->matches, "elements of a field", &s->matches)));
  for (size_t e = 0; e < n->own; e++)
    s->matches[e] = (match){.in_file = requests[e].value, .element = (sp_lid)e};
  qsort(s->matches, n->own, sizeof *s->matches, compare_matches);
  return SP_OK;
}

/* Find the elements of this rank in the file. Collective. */
static sp_status find_elements(source *s) {
  names n = {0};
  sp_status status = sp_agree(s->space->mesh->comm, read_names(s, &n));
  if (!status) status = match_names(s, &n);
  SP_FREE(n.tags, n.octants, n.rows);
  return status;
}

/* matrices[d][Nq][n] interpolate from the equispaced nodes of the file's element to the GLL nodes
 * of the part of it at refinement path `octants`. Contacts are not divided in direction t. */
static void make_matrices(const source *s, int octants, bool is_contact,
                          double matrices[3][SP_MAX_NQ * SP_MAX_NQ]) {
  const int from = s->reader->order, order = s->space->numbering->order;
  const double *gll = sp_reference_get(order)->gll.nodes;
  double lattice[SP_MAX_NQ], nodes[SP_MAX_NQ];
  for (int i = 0; i <= from; i++) lattice[i] = -1 + 2.0 * i / from;
  for (int d = 0; d < 3; d++) {
    double lower = -1, half = 1;
    for (int level = s->below - 1; level >= 0 && !(is_contact && d == 2); level--) {
      half /= 2;
      lower += 2 * half * (octants >> (3 * level + d) & 1);
    }
    for (int i = 0; i <= order; i++) nodes[i] = lower + half * (gll[i] + 1);
    sp_interpolation_matrix(from + 1, lattice, order + 1, nodes, matrices[d]);
  }
}

/* True if corner c of the element is also corner c of the file's element. */
static bool is_outer_corner(const source *s, int path, bool is_contact, int c) {
  for (int level = 0; level < s->below; level++)
    if ((path >> (3 * level) & 7) != (is_contact ? c & 3 : c)) return false;
  return true;
}

/* Check that corners are where they are in the file, as exactly as sp_mesh_check_conformity does.
 */
static sp_status check_file_corners(const source *s, sp_lid element, const double (*corners)[3]) {
  static const double TOLERANCE = 1e-6, ends[] = {-1, 1};
  const sp_hexes *hexes = s->space->mesh->hexes;
  const int path = path_below(s, element);
  const bool is_contact = sp_hexes_is_contact(hexes, element);
  double xyz[3][SP_CORNERS], size = 0;
  sp_hexes_coordinates(hexes, element, 2, ends, xyz[0]);
  for (int d = 0; d < 3; d++) size = fmax(size, fabs(xyz[d][SP_CORNERS - 1] - xyz[d][0]));
  for (int c = 0; c < SP_CORNERS; c++)
    for (int d = 0; d < 3 && is_outer_corner(s, path, is_contact, c); d++)
      if (!(fabs(corners[c][d] - xyz[d][c]) <= TOLERANCE * size))
        return sp_fail(SP_ERR_INPUT,
                       "field %s is of another mesh: a corner of element %lld is at (%.9g, %.9g, "
                       "%.9g) in the field, at (%.9g, %.9g, %.9g) here",
                       s->path, (long long)hexes->tags[element], corners[c][0], corners[c][1],
                       corners[c][2], xyz[0][c], xyz[1][c], xyz[2][c]);
  return SP_OK;
}

static sp_status interpolate_element(const source *s, sp_lid element, const double *u,
                                     double matrices[3][SP_MAX_NQ * SP_MAX_NQ], double *work) {
  const sp_numbering *numbering = s->space->numbering;
  const size_t nodes = sp_element_nodes(numbering->order);
  const sp_lid *dofs = sp_numbering_nodes(numbering, element);
  sp_tensor_apply(numbering->order + 1, s->reader->order + 1, matrices[0], matrices[1], matrices[2],
                  u, work);
  for (size_t n = 0; n < nodes; n++) {
    if (!isfinite(work[n]))
      return sp_fail(SP_ERR_INPUT, "field %s has a value that is not finite in element %lld",
                     s->path, (long long)s->space->mesh->hexes->tags[element]);
    s->values[dofs[n]] = work[n];
  }
  return SP_OK;
}

/* A block of elements of the file, processed together. */
typedef struct block {
  int64_t capacity, *elements; /* [capacity] */
  double *u;                   /* [capacity][(N+1)^3] */
  double (*corners)[SP_CORNERS][3];
  double *work; /* [Nq^3] */
} block;

static sp_status allocate_block(const source *s, block *b) {
  enum { VALUES = 1 << 18 };
  const size_t nodes = sp_element_nodes(s->reader->order);
  b->capacity = VALUES / (int64_t)nodes + 1;
  const size_t capacity = (size_t)b->capacity;
  return SP_ALLOCATE("initial values", SP_ARRAY(b->elements, capacity),
                     SP_ARRAY(b->u, capacity * nodes), SP_ARRAY(b->corners, capacity),
                     SP_ARRAY(b->work, sp_element_nodes(s->space->numbering->order)));
}

/* Read matches [first, *end) that fit in the block. */
static sp_status fill_block(const source *s, const block *b, sp_lid first, sp_lid *end) {
  const sp_lid count = s->space->mesh->hexes->count;
  const size_t nodes = sp_element_nodes(s->reader->order);
  double matrices[3][SP_MAX_NQ * SP_MAX_NQ];
  int made = -1;
  bool made_contact = false;
  int64_t held = 0;
  sp_lid l = first;
  for (; l < count; l++) {
    const int64_t in_file = s->matches[l].in_file;
    if (held > 0 && b->elements[held - 1] == in_file) continue;
    if (held == b->capacity) break;
    b->elements[held++] = in_file;
  }
  *end = l;
  SP_TRY(sp_field_reader_values(s->reader, s->name, held, b->elements, b->u, b->corners));
  held = 0;
  for (l = first; l < *end; l++) {
    const sp_lid element = s->matches[l].element;
    const int path = path_below(s, element);
    if (b->elements[held] != s->matches[l].in_file) held++;
    SP_TRY(check_file_corners(s, element, (const double(*)[3])b->corners[held]));
    const bool is_contact = sp_hexes_is_contact(s->space->mesh->hexes, element);
    if (path != made || is_contact != made_contact) make_matrices(s, path, is_contact, matrices);
    made = path;
    made_contact = is_contact;
    SP_TRY(interpolate_element(s, element, b->u + (size_t)held * nodes, matrices, b->work));
  }
  return SP_OK;
}

static sp_status fill_from_field(const source *s) {
  block b = {0};
  sp_status status = allocate_block(s, &b);
  for (sp_lid l = 0; l < s->space->mesh->hexes->count && !status;)
    status = fill_block(s, &b, l, &l);
  SP_FREE(b.elements, b.u, b.corners, b.work);
  return status;
}

/* Fill up to `most` vectors. Collective. */
static sp_status load_field(const char *path, const sp_space *space, int most, double *values,
                            sp_field_state *state) {
  MPI_Comm comm = space->mesh->comm;
  source s = {.path = path, .space = space};
  sp_status status = sp_agree(comm, sp_field_reader_open(path, &s.reader));
  if (!status) status = find_elements(&s);
  if (!status && s.reader->states > 0) *state = s.reader->state;
  if (state->known > most || state->known < 1) state->known = most;
  for (int i = 0; i < state->known && !status; i++) {
    s.name = sp_initial_names[i];
    s.values = values + (size_t)i * sp_space_dofs(space);
    status = sp_agree(comm, fill_from_field(&s));
  }
  sp_field_reader_close(&s.reader);
  free(s.matches);
  return status;
}

/* ---- Either ---- */

static sp_status check_path(const sp_statement *statement) {
  const char *path = sp_statement_initial_file(statement);
  sp_field_reader *reader = NULL;
  if (!path) return SP_OK;
  const sp_status status = sp_field_reader_open(path, &reader);
  sp_field_reader_close(&reader);
  return status ? sp_fail(status, "%s: %s", statement->initial.where, sp_error_message()) : SP_OK;
}

sp_status sp_initial_check(MPI_Comm comm, const sp_statement *statement) {
  return sp_agree(comm, sp_comm_rank(comm) == 0 ? check_path(statement) : SP_OK);
}

sp_status sp_initial_load(const sp_statement *statement, const sp_space *space, double *values,
                          sp_field_state *state) {
  const sp_formula *initial = &statement->initial;
  const char *path = sp_statement_initial_file(statement);
  const sp_expression *formula =
      initial->text ? initial->expression : statement->all.solution.expression;
  if (!initial->text && !statement->scope->time) return SP_OK;
  if (!path && !formula)
    return sp_fail(SP_ERR_INPUT,
                   "%s: time.end needs problem.initial, u at t = 0, or problem.solution",
                   initial->where);
  sp_field_state found = {.known = 1};
  sp_status status = path ? load_field(path, space, state ? SP_TIME_HISTORY : 1, values, &found)
                          : sp_agree(space->mesh->comm, evaluate_initial(formula, space, values));
  if (status && path) status = sp_fail(status, "%s: %s", initial->where, sp_error_message());
  /* Elements of different ranks may differ by rounding. */
  for (int i = 0; i < found.known && !status; i++)
    sp_exchange_now(space->exchange, SP_MIN, values + (size_t)i * sp_space_dofs(space));
  if (state) *state = found;
  return status;
}

sp_status sp_initial_interpolate(const sp_space *from, const double *x, const sp_space *space,
                                 double *values) {
  const sp_numbering *old = from->numbering, *new = space->numbering;
  const size_t old_nodes = sp_element_nodes(old->order), new_nodes = sp_element_nodes(new->order);
  double matrix[SP_MAX_NQ * SP_MAX_NQ];
  SP_OWNED double *work = NULL;
  sp_interpolation_matrix(old->order + 1, sp_reference_get(old->order)->gll.nodes, new->order + 1,
                          sp_reference_get(new->order)->gll.nodes, matrix);
  SP_TRY(sp_agree(space->mesh->comm,
                  sp_allocate(old_nodes + new_nodes, sizeof *work, "interpolation", &work)));
  for (size_t e = 0; e < (size_t)space->mesh->hexes->count; e++) {
    for (size_t n = 0; n < old_nodes; n++) work[n] = x[old->nodes[e * old_nodes + n]];
    sp_tensor_apply(new->order + 1, old->order + 1, matrix, matrix, matrix, work, work + old_nodes);
    for (size_t n = 0; n < new_nodes; n++)
      values[new->nodes[e * new_nodes + n]] = work[old_nodes + n];
  }
  sp_exchange_now(space->exchange, SP_MIN, values); /* elements may differ by rounding */
  return SP_OK;
}
