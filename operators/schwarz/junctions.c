#include "operators/schwarz/junctions.h"

#include <math.h>
#include <stdlib.h>

#include "io/rendezvous.h"
#include "mesh/entity.h"
#include "operators/sparse.h"

struct sp_junctions {
  const sp_platform *platform;
  int first, count;          /* own rows of all */
  sp_vector all;             /* r_J */
  sp_device_matrix *select;  /* [count][local DOFs] */
  sp_device_matrix *inverse; /* [local DOFs][rows]: W A_JJ^-1 W */
  sp_exchange *exchange;     /* brings own rows to all ranks; NULL for one rank */
  sp_device_space *gather;
};

/* A DOF of a junction that is not constrained. A set is a tree of rows, with its root's size. */
typedef struct row {
  sp_gid dof;
  double diagonal, weight;
  int parent, size, place; /* place: in the set, from 0 */
} row;

/* An entry of A between two of them. */
typedef struct entry {
  sp_gid dofs[2];
  double value;
} entry;

typedef struct finder {
  const sp_schwarz_builder *b;
  double *marks; /* L-vector: positive at junctions */
  row *rows;     /* of all ranks, by DOF */
  size_t row_count;
  entry *entries;
  size_t entry_count;
} finder;

/* ---- DOFs of junctions ---- */

static bool is_contact(const sp_space *space, sp_lid e) {
  return sp_hexes_is_contact(space->mesh->hexes, e);
}

/* The DOF at k across contact e and i along the edge of its lateral face. */
static sp_lid rim_dof(const sp_space *space, sp_lid e, int face, int i, int k) {
  const int n = space->numbering->order + 1;
  int index[3] = {i, i, k};
  index[face / 2] = face % 2 * (n - 1);
  return sp_numbering_nodes(space->numbering, e)[(index[2] * n + index[1]) * n + index[0]];
}

/* Add the number of lateral faces of contacts at each edge: more than one at junctions. A contact
 * that ends inside a body has no face there. */
static void count_faces(const sp_space *space, sp_lid e, double *marks) {
  const sp_topology *t = space->mesh->topology;
  const int last = space->numbering->order;
  for (int face = 0; face < 4; face++) {
    const double share = sp_topology_is_exterior(t, t->slots[e][SP_FACE_SLOT + face]) ? 1 : 0.5;
    for (int i = 1; i < last; i++) {
      const sp_lid low = rim_dof(space, e, face, i, 0), high = rim_dof(space, e, face, i, last);
      if (low == high) continue;
      marks[low] += share;
      marks[high] += share;
    }
  }
}

/* Mark the lines across contact e that have a marked DOF, and all of a lateral face whose edge is
 * marked. Returns true if there are new ones. */
static bool spread_marks(const sp_space *space, sp_lid e, double *marks) {
  const int n = space->numbering->order + 1;
  bool found = false;
  for (int face = 0; face < 4; face++) {
    const bool whole = marks[rim_dof(space, e, face, 1, 0)] > 0;
    for (int i = 0; i < n; i++) {
      int marked = 0;
      for (int k = 0; k < n; k++) marked += marks[rim_dof(space, e, face, i, k)] > 0;
      if (marked == n || (marked == 0 && !whole)) continue;
      for (int k = 0; k < n; k++) marks[rim_dof(space, e, face, i, k)] = 1;
      found = true;
    }
  }
  return found;
}

/* Collective. */
static void mark_edges(const sp_space *space, double *marks) {
  static const double BETWEEN = 1.25; /* one face and two */
  const size_t dofs = sp_space_dofs(space);
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++)
    if (is_contact(space, e)) count_faces(space, e, marks);
  sp_exchange_now(space->exchange, SP_SUM, marks);
  for (size_t i = 0; i < dofs; i++) marks[i] = marks[i] > BETWEEN;
}

/* Collective. */
static void mark_rest(const sp_space *space, double *marks) {
  for (bool found = true; found;) {
    found = false;
    for (sp_lid e = 0; e < space->mesh->hexes->count; e++)
      if (is_contact(space, e)) found = spread_marks(space, e, marks) || found;
    MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_C_BOOL, MPI_LOR, space->platform->comm);
    sp_exchange_now(space->exchange, SP_SUM, marks);
  }
}

sp_status sp_junctions_exist(const sp_space *space, bool *exist) {
  SP_OWNED double *marks = NULL;
  *exist = false;
  if (space->mesh->hexes->file.contacts == 0) return SP_OK;
  const sp_status status = sp_allocate(sp_space_dofs(space), sizeof *marks, "junctions", &marks);
  SP_TRY(sp_agree(space->platform->comm, status));
  mark_edges(space, marks);
  for (sp_lid i = 0; i < space->numbering->owned; i++) *exist = *exist || marks[i] > 0;
  MPI_Allreduce(MPI_IN_PLACE, exist, 1, MPI_C_BOOL, MPI_LOR, space->platform->comm);
  return SP_OK;
}

/* ---- Rows and entries ---- */

static bool is_free(const finder *f, sp_lid dof) {
  return !(f->b->setup->constrained && f->b->setup->constrained[dof]);
}

/* Gather the rows of all ranks. Their DOFs ascend. Collective. */
static sp_status gather_rows(finder *f, int *first, int *count) {
  const sp_schwarz_builder *b = f->b;
  const sp_numbering *numbering = b->setup->space->numbering;
  const MPI_Comm comm = b->setup->space->platform->comm;
  SP_OWNED row *own = NULL;
  *count = 0;
  for (sp_lid i = 0; i < numbering->owned; i++) *count += f->marks[i] > 0 && is_free(f, i);
  SP_TRY(sp_agree(comm, sp_allocate((size_t)*count, sizeof *own, "junctions", &own)));
  row *next = own;
  for (sp_lid i = 0; i < numbering->owned; i++)
    if (f->marks[i] > 0 && is_free(f, i))
      *next++ = (row){.dof = numbering->first + i,
                      .diagonal = b->sums[i],
                      .weight = sqrt(b->inverse_diagonal[i] * b->sums[i])};
  *first = 0;
  MPI_Exscan(count, first, 1, MPI_INT, MPI_SUM, comm);
  return sp_gather_records(comm, own, (size_t)*count, sizeof *own, "junctions", &f->rows,
                           &f->row_count);
}

/* Visit the entries of contact e between marked nodes of its lines across. With out == NULL only
 * count them. */
static size_t visit_lines(const finder *f, sp_lid e, entry *out) {
  const sp_schwarz_builder *b = f->b;
  const sp_numbering *numbering = b->setup->space->numbering;
  const sp_lid *dofs = sp_schwarz_nodes(b, e);
  const double across = sp_separable_coupling(&b->boxes[e], 2), *w = b->gll->weights;
  const int n = b->n, area = n * n;
  size_t count = 0;
  for (int q = 0; q < area; q++)
    for (int k = 0; k < n; k++)
      for (int l = k + 1; l < n; l++) {
        const sp_lid low = dofs[k * area + q], high = dofs[l * area + q];
        if (f->marks[low] <= 0 || !is_free(f, low) || !is_free(f, high) || low == high) continue;
        if (out)
          out[count] =
              (entry){{sp_numbering_global(numbering, low), sp_numbering_global(numbering, high)},
                      across * w[q % n] * w[q / n] * b->stiffness[k * n + l]};
        count++;
      }
  return count;
}

static sp_status gather_entries(finder *f) {
  const sp_space *space = f->b->setup->space;
  SP_OWNED entry *own = NULL;
  size_t count = 0, next = 0;
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++)
    if (is_contact(space, e)) count += visit_lines(f, e, NULL);
  SP_TRY(sp_agree(space->platform->comm, sp_allocate(count, sizeof *own, "junctions", &own)));
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++)
    if (is_contact(space, e)) next += visit_lines(f, e, own + next);
  return sp_gather_records(space->platform->comm, own, count, sizeof *own, "junctions", &f->entries,
                           &f->entry_count);
}

/* The row of a DOF, or -1. */
static int find_row(const finder *f, sp_gid dof) {
  size_t low = 0, high = f->row_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (f->rows[middle].dof < dof)
      low = middle + 1;
    else
      high = middle;
  }
  return low < f->row_count && f->rows[low].dof == dof ? (int)low : -1;
}

/* ---- Sets ---- */

static int root_of(const finder *f, int i) {
  while (f->rows[i].parent != i) i = f->rows[i].parent;
  return i;
}

static void join_sets(finder *f) {
  for (size_t i = 0; i < f->row_count; i++) f->rows[i].parent = (int)i;
  for (size_t n = 0; n < f->entry_count; n++) {
    const entry *at = &f->entries[n];
    const int one = root_of(f, find_row(f, at->dofs[0])),
              two = root_of(f, find_row(f, at->dofs[1]));
    if (one < two)
      f->rows[two].parent = one;
    else
      f->rows[one].parent = two;
  }
  for (size_t i = 0; i < f->row_count; i++) {
    f->rows[i].parent = root_of(f, (int)i);
    f->rows[i].place = f->rows[f->rows[i].parent].size++;
  }
}

/* ---- Inverses ---- */

/* Replace a symmetric positive definite matrix by its inverse, pivot by pivot. A pivot below the
 * level of rounding is raised to it. */
static void invert_block(int n, double *a) {
  static const double ROUNDING = 1e-15;
  double largest = 0;
  for (int k = 0; k < n; k++) largest = fmax(largest, a[k * n + k]);
  for (int k = 0; k < n; k++) {
    const double inverse = 1 / fmax(a[k * n + k], ROUNDING * largest);
    a[k * n + k] = 1;
    for (int j = 0; j < n; j++) a[k * n + j] *= inverse;
    for (int i = 0; i < n; i++) {
      const double factor = a[i * n + k];
      if (i == k || factor == 0) continue;
      a[i * n + k] = 0;
      for (int j = 0; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
    }
  }
}

/* The row of local DOF i, or -1. */
static int local_row(const finder *f, size_t i) {
  const sp_numbering *numbering = f->b->setup->space->numbering;
  return f->marks[i] > 0 ? find_row(f, sp_numbering_global(numbering, (sp_lid)i)) : -1;
}

/* Sizes: of the blocks of all sets with a local DOF, whose first values are starts[root], else -1;
 * of the entries in the rows of local DOFs. */
static void place_blocks(const finder *f, int64_t *starts, size_t *values, size_t *entries) {
  const size_t dofs = sp_space_dofs(f->b->setup->space);
  for (size_t i = 0; i < f->row_count; i++) starts[i] = -1;
  *values = *entries = 0;
  for (size_t i = 0; i < dofs; i++) {
    const int r = local_row(f, i), root = r < 0 ? -1 : f->rows[r].parent;
    if (r < 0) continue;
    const size_t size = (size_t)f->rows[root].size;
    *entries += size;
    if (starts[root] >= 0) continue;
    starts[root] = (int64_t)*values;
    *values += size * size;
  }
}

static void add_entry(const finder *f, const int64_t *starts, double *blocks, int i, int j,
                      double value) {
  const int root = f->rows[i].parent;
  if (f->rows[j].parent != root || starts[root] < 0) return;
  blocks[starts[root] + f->rows[i].place * f->rows[root].size + f->rows[j].place] += value;
}

static void fill_blocks(const finder *f, const int64_t *starts, double *blocks) {
  for (size_t i = 0; i < f->row_count; i++)
    add_entry(f, starts, blocks, (int)i, (int)i, f->rows[i].diagonal);
  for (size_t n = 0; n < f->entry_count; n++) {
    const entry *at = &f->entries[n];
    const int i = find_row(f, at->dofs[0]), j = find_row(f, at->dofs[1]);
    add_entry(f, starts, blocks, i, j, at->value);
    add_entry(f, starts, blocks, j, i, at->value);
  }
  for (size_t i = 0; i < f->row_count; i++)
    if (starts[i] >= 0) invert_block(f->rows[i].size, &blocks[starts[i]]);
}

/* members[firsts[root] + place] = the row. */
static void list_members(const finder *f, int *firsts, int *members) {
  int next = 0;
  for (size_t i = 0; i < f->row_count; i++)
    if (f->rows[i].parent == (int)i) {
      firsts[i] = next;
      next += f->rows[i].size;
    }
  for (size_t i = 0; i < f->row_count; i++)
    members[firsts[f->rows[i].parent] + f->rows[i].place] = (int)i;
}

/* out = W A_JJ^-1 W, [local DOFs][rows]. */
static sp_status make_inverse(const finder *f, sp_csr *out) {
  const size_t dofs = sp_space_dofs(f->b->setup->space);
  size_t values, entries;
  SP_OWNED int64_t *starts = NULL;
  SP_OWNED double *blocks = NULL;
  SP_OWNED int *firsts = NULL, *members = NULL;
  SP_TRY(SP_ALLOCATE("junctions", SP_ARRAY(starts, f->row_count), SP_ARRAY(firsts, f->row_count),
                     SP_ARRAY(members, f->row_count)));
  place_blocks(f, starts, &values, &entries);
  SP_TRY(sp_allocate(values, sizeof *blocks, "junctions", &blocks));
  SP_TRY(sp_csr_create((int)dofs, (int)f->row_count, entries, out));
  fill_blocks(f, starts, blocks);
  list_members(f, firsts, members);
  for (size_t i = 0; i < dofs; i++) {
    const int r = local_row(f, i), root = r < 0 ? -1 : f->rows[r].parent;
    int *end = &out->start[i + 1];
    *end = out->start[i];
    for (int k = 0; r >= 0 && k < f->rows[root].size; k++) {
      const int low = f->rows[r].place < k ? f->rows[r].place : k,
                high = f->rows[r].place + k - low;
      const int column = members[firsts[root] + k];
      out->column[*end] = column;
      out->values[(*end)++] = blocks[starts[root] + low * f->rows[root].size + high] *
                              f->rows[r].weight * f->rows[column].weight;
    }
  }
  return SP_OK;
}

/* ---- Creation ---- */

/* The blocks have no part in these DOFs any more. */
static void clear_weights(const finder *f) {
  const sp_schwarz_builder *b = f->b;
  const size_t nodes = sp_grid_points(b->n);
  for (sp_lid e = 0; e < b->setup->space->mesh->hexes->count; e++)
    for (size_t i = 0; i < nodes; i++)
      if (f->marks[sp_schwarz_nodes(b, e)[i]] > 0) b->weights[(size_t)e * nodes + i] = 0;
}

/* On this rank. */
static sp_status create_matrices(const finder *f, sp_precision precision, sp_junctions *j) {
  const sp_backend *backend = j->platform->backend;
  const size_t dofs = sp_space_dofs(f->b->setup->space);
  SP_AUTO_VALUE(sp_csr) select = {0}, inverse = {0};
  SP_TRY(sp_csr_create(j->count, (int)dofs, (size_t)j->count, &select));
  for (int i = 0; i < j->count; i++) {
    select.column[i] = (int)(f->rows[j->first + i].dof - f->b->setup->space->numbering->first);
    select.values[i] = 1;
    select.start[i + 1] = i + 1;
  }
  SP_TRY(backend->matrix_create(j->platform->device, precision, &select, &j->select));
  SP_TRY(make_inverse(f, &inverse));
  SP_TRY(backend->matrix_create(j->platform->device, precision, &inverse, &j->inverse));
  return sp_vector_create(j->platform, precision, f->row_count, &j->all);
}

/* Collective. */
static sp_status create_gather(sp_junctions *j) {
  const sp_platform *p = j->platform;
  const int ranks = sp_comm_size(p->comm);
  SP_OWNED int *counts = NULL;
  const char *how;
  bool resident; /* as the space, on the same transport */
  if (ranks == 1) return SP_OK;
  SP_TRY(sp_agree(p->comm, sp_allocate((size_t)ranks, sizeof *counts, "junctions", &counts)));
  MPI_Allgather(&j->count, 1, MPI_INT, counts, 1, MPI_INT, p->comm);
  SP_TRY(sp_exchange_create_gather(p->comm, counts, &j->exchange));
  return p->backend->space_create(p->device, p->comm, j->exchange, p->transport, &j->gather, &how,
                                  &resident);
}

static sp_status create_junctions(finder *f, sp_precision precision, sp_junctions **out) {
  const sp_platform *platform = f->b->setup->space->platform;
  SP_AUTO(sp_junctions) j = NULL;
  int first, count;
  mark_edges(f->b->setup->space, f->marks);
  mark_rest(f->b->setup->space, f->marks);
  SP_TRY(gather_rows(f, &first, &count));
  if (f->row_count == 0) return SP_OK;
  SP_TRY(gather_entries(f));
  join_sets(f);
  clear_weights(f);
  sp_status status = sp_allocate(1, sizeof *j, "junctions", &j);
  if (!status) {
    *j = (sp_junctions){.platform = platform, .first = first, .count = count};
    status = create_matrices(f, precision, j);
  }
  SP_TRY(sp_agree(platform->comm, status));
  SP_TRY(create_gather(j));
  *out = j;
  j = NULL;
  return SP_OK;
}

sp_status sp_junctions_create(sp_schwarz_builder *b, sp_precision precision, sp_junctions **out) {
  const sp_space *space = b->setup->space;
  finder f = {.b = b};
  *out = NULL;
  if (space->mesh->hexes->file.contacts == 0) return SP_OK;
  sp_status status = sp_allocate(sp_space_dofs(space), sizeof *f.marks, "junctions", &f.marks);
  status = sp_agree(space->platform->comm, status);
  if (!status) status = create_junctions(&f, precision, out);
  SP_FREE(f.marks, f.rows, f.entries);
  return status;
}

sp_status sp_junctions_add(sp_junctions *j, const sp_vector *r, sp_vector *z) {
  const sp_backend *backend = j->platform->backend;
  sp_vector own = sp_vector_part(&j->all, (size_t)j->first, (size_t)j->count);
  sp_status status = backend->matrix_apply(j->select, 1, r->data, 0, NULL, own.data);
  if (j->gather)
    status = sp_first_failure(status, backend->assemble(j->gather, j->all.precision, j->all.data));
  return sp_first_failure(status,
                          backend->matrix_apply(j->inverse, 1, j->all.data, 1, z->data, z->data));
}

void sp_junctions_destroy(sp_junctions **junctions) {
  sp_junctions *j = *junctions;
  if (!j) return;
  const sp_backend *backend = j->platform->backend;
  backend->matrix_destroy(&j->select);
  backend->matrix_destroy(&j->inverse);
  if (j->gather) backend->space_destroy(&j->gather);
  sp_exchange_destroy(&j->exchange);
  sp_vector_destroy(&j->all);
  free(j);
  *junctions = NULL;
}
