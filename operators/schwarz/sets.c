#include "operators/schwarz/sets.h"

#include <math.h>
#include <stdlib.h>

#include "io/rendezvous.h"
#include "operators/row_gather.h"
#include "operators/sparse.h"

/* DOFs of a set: with more DOFs, sets become smaller, so that the matrices keep VALUES values. */
enum { SMALL_SET = 64, LARGE_SET = 512, VALUES = 1 << 19 };

struct sp_sets {
  const sp_platform *platform;
  sp_vector r, z, product;                   /* at all rows */
  sp_vector outside;                         /* L-vector: 1 outside the sets, else 0 */
  sp_device_matrix *a, *inverse;             /* A' and Q, [rows][rows] */
  sp_device_matrix *local_a, *local_inverse; /* [local DOFs][rows] */
  sp_row_gather *gather;                     /* of all rows */
};

/* A DOF of a set, or a neighbour. A set is a tree of rows, with its root's size. */
typedef struct row {
  sp_gid dof;
  double diagonal;         /* of A */
  bool inside;             /* a set */
  size_t first;            /* its first entry */
  int parent, size, place; /* place: in the set, from 0 */
} row;

/* An entry of A in a row, of which at least one DOF is inside a set. */
typedef struct entry {
  sp_gid row, column;
  double value;
} entry;

typedef struct finder {
  const sp_schwarz_builder *b;
  const double *marks; /* L-vector: positive inside sets */
  double *near;        /* L-vector: positive at neighbours too */
  sp_lid *own;         /* [own_count], the local DOFs of own rows */
  int own_count;
  row *rows; /* of all ranks, by DOF */
  size_t row_count;
  entry *entries; /* by row */
  size_t entry_count;
} finder;

/* ---- Rows and entries ---- */

static bool is_free(const finder *f, sp_lid dof) {
  return !(f->b->setup->constrained && f->b->setup->constrained[dof]);
}

static bool is_inside(const finder *f, sp_lid dof) {
  return f->marks[dof] > 0 && is_free(f, dof);
}

/* The factor of an entry of the boxes, for which they have the diagonal of A. */
static double scale(const finder *f, sp_lid one, sp_lid two) {
  const double *inverse = f->b->inverse_diagonal, *sums = f->b->sums;
  return 1 / sqrt(inverse[one] * sums[one] * inverse[two] * sums[two]);
}

typedef struct line {
  const sp_lid *dofs;
  int stride;
  double coupling;
} line;

static line line_of(const sp_schwarz_builder *b, sp_lid e, int d, int q) {
  const int n = b->n, strides[3] = {1, n, n * n};
  const int offset = q % n * strides[(d + 1) % 3] + q / n * strides[(d + 2) % 3];
  const double *w = b->gll->weights;
  return (line){sp_schwarz_nodes(b, e) + offset, strides[d],
                sp_separable_coupling(&b->boxes[e], d) * w[q % n] * w[q / n]};
}

/* Visit the entries on a line with a DOF inside, in both directions. With out == NULL only mark
 * their DOFs. A DOF on both sides of a contact has an entry with itself. Returns their number. */
static size_t visit_line(const finder *f, const line *l, entry *out) {
  const sp_numbering *numbering = f->b->setup->space->numbering;
  const int n = f->b->n;
  size_t count = 0;
  for (int k = 0; k < n; k++)
    for (int m = 0; m < n; m++) {
      const sp_lid one = l->dofs[k * l->stride], two = l->dofs[m * l->stride];
      if (k == m || !(is_inside(f, one) || is_inside(f, two)) || !is_free(f, one) ||
          !is_free(f, two))
        continue;
      if (out)
        out[count] =
            (entry){sp_numbering_global(numbering, one), sp_numbering_global(numbering, two),
                    l->coupling * f->b->stiffness[k * n + m] * scale(f, one, two)};
      else
        f->near[one] = 1;
      count++;
    }
  return count;
}

static bool has_inside(const finder *f, sp_lid e) {
  const sp_lid *dofs = sp_schwarz_nodes(f->b, e);
  bool found = false;
  for (size_t i = 0; i < sp_grid_points(f->b->n) && !found; i++) found = is_inside(f, dofs[i]);
  return found;
}

/* A contact has no entries along it. */
static size_t visit_element(const finder *f, sp_lid e, entry *out) {
  const int n = f->b->n;
  size_t count = 0;
  if (!has_inside(f, e)) return 0;
  for (int d = sp_hexes_is_contact(f->b->setup->space->mesh->hexes, e) ? 2 : 0; d < 3; d++)
    for (int q = 0; q < n * n; q++) {
      const line l = line_of(f->b, e, d, q);
      count += visit_line(f, &l, out ? out + count : NULL);
    }
  return count;
}

static int compare_entries(const void *left, const void *right) {
  const entry *a = left, *b = right;
  if (a->row != b->row) return a->row < b->row ? -1 : 1;
  if (a->column != b->column) return a->column < b->column ? -1 : 1;
  return (a->value > b->value) - (a->value < b->value);
}

/* Gather the entries of all ranks, and mark their DOFs. Collective. */
static sp_status gather_entries(finder *f) {
  const sp_space *space = f->b->setup->space;
  const sp_lid elements = space->mesh->hexes->count;
  SP_OWNED entry *own = NULL;
  size_t count = 0, next = 0;
  for (size_t i = 0; i < sp_space_dofs(space); i++) f->near[i] = is_inside(f, (sp_lid)i);
  for (sp_lid e = 0; e < elements; e++) count += visit_element(f, e, NULL);
  sp_exchange_now(space->exchange, SP_SUM, f->near);
  SP_TRY(sp_agree(space->platform->comm, sp_allocate(count, sizeof *own, "Schwarz", &own)));
  for (sp_lid e = 0; e < elements; e++) next += visit_element(f, e, own + next);
  SP_TRY(sp_gather_records(space->platform->comm, own, count, sizeof *own, "Schwarz", &f->entries,
                           &f->entry_count));
  qsort(f->entries, f->entry_count, sizeof *f->entries, compare_entries);
  return SP_OK;
}

static sp_status list_rows(finder *f, row **own) {
  const sp_numbering *numbering = f->b->setup->space->numbering;
  for (sp_lid i = 0; i < numbering->owned; i++) f->own_count += f->near[i] > 0;
  SP_TRY(SP_ALLOCATE("Schwarz", SP_ARRAY(f->own, f->own_count), SP_ARRAY(*own, f->own_count)));
  row *next = *own;
  for (sp_lid i = 0; i < numbering->owned; i++) {
    if (!(f->near[i] > 0)) continue;
    f->own[next - *own] = i;
    *next++ = (row){.dof = numbering->first + i,
                    .diagonal = 1 / f->b->inverse_diagonal[i],
                    .inside = is_inside(f, i)};
  }
  return SP_OK;
}

/* Gather the rows of all ranks, and find the entries of each. Their DOFs ascend. Collective. */
static sp_status gather_rows(finder *f) {
  const MPI_Comm comm = f->b->setup->space->platform->comm;
  SP_OWNED row *own = NULL;
  SP_TRY(sp_agree(comm, list_rows(f, &own)));
  SP_TRY(sp_gather_records(comm, own, (size_t)f->own_count, sizeof *own, "Schwarz", &f->rows,
                           &f->row_count));
  for (size_t i = 0, n = 0; i < f->row_count; i++) {
    f->rows[i].first = n;
    while (n < f->entry_count && f->entries[n].row == f->rows[i].dof) n++;
  }
  return SP_OK;
}

static int compare_dof(const void *dof, const void *row_) {
  const sp_gid one = *(const sp_gid *)dof, two = ((const row *)row_)->dof;
  return (one > two) - (one < two);
}

/* The row of a DOF, which has one. */
static int find_row(const finder *f, sp_gid dof) {
  const row *found = bsearch(&dof, f->rows, f->row_count, sizeof *f->rows, compare_dof);
  return (int)(found - f->rows);
}

/* ---- A, on the sets and from them to neighbours ---- */

static void sum_entries(const void *finder_, int i, sp_csr_row *out) {
  const finder *f = finder_;
  if (f->rows[i].inside) sp_csr_row_add(out, i, f->rows[i].diagonal);
  for (size_t n = f->rows[i].first; n < f->entry_count && f->entries[n].row == f->rows[i].dof; n++)
    sp_csr_row_add(out, find_row(f, f->entries[n].column), f->entries[n].value);
}

/* ---- Sets ---- */

static int root_of(const finder *f, int i) {
  while (f->rows[i].parent != i) i = f->rows[i].parent;
  return i;
}

/* An entry between two DOFs inside. */
typedef struct link {
  int rows[2];
  double strength;
} link;

static int compare_links(const void *left, const void *right) {
  const link *a = left, *b = right;
  if (a->strength != b->strength) return a->strength > b->strength ? -1 : 1;
  if (a->rows[0] != b->rows[0]) return a->rows[0] < b->rows[0] ? -1 : 1;
  return (a->rows[1] > b->rows[1]) - (a->rows[1] < b->rows[1]);
}

static size_t list_links(const finder *f, const sp_csr *a, link *out) {
  size_t count = 0;
  for (int i = 0; i < a->rows; i++)
    for (int n = a->start[i]; n < a->start[i + 1]; n++) {
      const int j = a->column[n];
      if (j <= i || !f->rows[i].inside || !f->rows[j].inside) continue;
      out[count++] =
          (link){{i, j}, fabs(a->values[n]) / sqrt(f->rows[i].diagonal * f->rows[j].diagonal)};
    }
  return count;
}

/* Join the strongest links first. Sets are smaller if there are many DOFs. */
static void join_sets(finder *f, link *links, size_t count) {
  int inside = 0;
  qsort(links, count, sizeof *links, compare_links);
  for (size_t i = 0; i < f->row_count; i++) {
    f->rows[i].parent = (int)i;
    f->rows[i].size = 1;
    inside += f->rows[i].inside;
  }
  const int fit = inside > VALUES / LARGE_SET ? VALUES / inside : LARGE_SET;
  const int most = fit < SMALL_SET ? SMALL_SET : fit;
  for (size_t n = 0; n < count; n++) {
    const int one = root_of(f, links[n].rows[0]), two = root_of(f, links[n].rows[1]);
    const int low = one < two ? one : two, high = one + two - low;
    if (one == two || f->rows[one].size + f->rows[two].size > most) continue;
    f->rows[high].parent = low;
    f->rows[low].size += f->rows[high].size;
  }
  for (size_t i = 0; i < f->row_count; i++) f->rows[i].size = 0;
  for (size_t i = 0; i < f->row_count; i++) {
    f->rows[i].parent = root_of(f, (int)i);
    f->rows[i].place = f->rows[f->rows[i].parent].size++;
  }
}

static sp_status find_sets(finder *f, const sp_csr *a) {
  SP_OWNED link *links = NULL;
  SP_TRY(sp_allocate((size_t)a->start[a->rows] / 2 + 1, sizeof *links, "Schwarz", &links));
  join_sets(f, links, list_links(f, a, links));
  return SP_OK;
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

/* members[size] of the set with root `root`. */
static void list_members(const finder *f, int root, int *members) {
  const int size = f->rows[root].size;
  for (int i = root, found = 0; found < size; i++)
    if (f->rows[i].parent == root) members[found++] = i;
}

/* Invert A on a set, into the rows of q. */
static void invert_set(const finder *f, const sp_csr *a, const int *members, double *block,
                       sp_csr *q) {
  const int root = members[0], size = f->rows[root].size;
  for (int i = 0; i < size * size; i++) block[i] = 0;
  for (int i = 0; i < size; i++)
    for (int n = a->start[members[i]]; n < a->start[members[i] + 1]; n++) {
      const row *other = &f->rows[a->column[n]];
      if (other->parent == root) block[i * size + other->place] = a->values[n];
    }
  invert_block(size, block);
  for (int i = 0; i < size; i++)
    for (int j = 0; j < size; j++) {
      const int at = q->start[members[i]] + j, low = i < j ? i : j;
      q->column[at] = members[j];
      q->values[at] = block[low * size + i + j - low]; /* symmetric to the last bit */
    }
}

/* q = the inverses on the sets, [rows][rows]. */
static sp_status invert_sets(const finder *f, const sp_csr *a, sp_csr *q) {
  size_t entries = 0;
  SP_OWNED double *block = NULL;
  int members[LARGE_SET];
  for (size_t i = 0; i < f->row_count; i++)
    if (f->rows[i].inside) entries += (size_t)f->rows[f->rows[i].parent].size;
  SP_TRY(sp_allocate(LARGE_SET * LARGE_SET, sizeof *block, "Schwarz", &block));
  SP_TRY(sp_csr_create(a->rows, a->rows, entries, q));
  for (int i = 0; i < a->rows; i++)
    q->start[i + 1] = q->start[i] + (f->rows[i].inside ? f->rows[f->rows[i].parent].size : 0);
  for (int i = 0; i < a->rows; i++) {
    if (!f->rows[i].inside || f->rows[i].parent != i) continue;
    list_members(f, i, members);
    invert_set(f, a, members, block, q);
  }
  return SP_OK;
}

/* Remove the entries within a set: A becomes A', and Q A within sets is 1 without rounding, also
 * for contacts of R = 1e-12. */
static void remove_sets(const finder *f, sp_csr *a) {
  int kept = 0;
  for (int i = 0, n = 0; i < a->rows; i++) {
    for (; n < a->start[i + 1]; n++) {
      const row *one = &f->rows[i], *two = &f->rows[a->column[n]];
      if (one->inside && two->inside && one->parent == two->parent) continue;
      a->column[kept] = a->column[n];
      a->values[kept++] = a->values[n];
    }
    a->start[i + 1] = kept;
  }
}

/* ---- Creation ---- */

/* The rows of local DOFs. */
static sp_status create_local(const finder *f, const sp_csr *all, sp_precision precision,
                              sp_device_matrix **out) {
  const sp_space *space = f->b->setup->space;
  const size_t dofs = sp_space_dofs(space);
  SP_AUTO_VALUE(sp_csr) select = {0}, local = {0};
  SP_OWNED int *rows = NULL;
  SP_TRY(sp_allocate(dofs, sizeof *rows, "Schwarz", &rows));
  for (size_t i = 0; i < dofs; i++)
    rows[i] = f->near[i] > 0 ? find_row(f, sp_numbering_global(space->numbering, (sp_lid)i)) : -1;
  SP_TRY(sp_csr_select((int)dofs, all->rows, rows, &select));
  SP_TRY(sp_csr_product(&select, all, &local));
  return space->platform->backend->matrix_create(space->platform->device, precision, &local, out);
}

static sp_status create_outside(const finder *f, sp_precision precision, sp_sets *s) {
  const sp_space *space = f->b->setup->space;
  for (size_t i = 0; i < sp_space_dofs(space); i++) f->near[i] = !is_inside(f, (sp_lid)i);
  SP_TRY(sp_space_vector(space, precision, &s->outside));
  return sp_vector_write(f->near, &s->outside);
}

/* On this rank. */
static sp_status create_matrices(finder *f, sp_precision precision, sp_sets *s) {
  const sp_backend *backend = s->platform->backend;
  const int rows = (int)f->row_count;
  SP_AUTO_VALUE(sp_csr) a = {0}, q = {0};
  SP_TRY(sp_csr_sum(rows, rows, f->row_count, f, sum_entries, &a));
  SP_TRY(find_sets(f, &a));
  SP_TRY(invert_sets(f, &a, &q));
  remove_sets(f, &a);
  SP_TRY(backend->matrix_create(s->platform->device, precision, &a, &s->a));
  SP_TRY(backend->matrix_create(s->platform->device, precision, &q, &s->inverse));
  SP_TRY(create_local(f, &a, precision, &s->local_a));
  SP_TRY(create_local(f, &q, precision, &s->local_inverse));
  SP_TRY(create_outside(f, precision, s));
  SP_TRY(sp_vector_create(s->platform, precision, f->row_count, &s->r));
  SP_TRY(sp_vector_create(s->platform, precision, f->row_count, &s->product));
  return sp_vector_create(s->platform, precision, f->row_count, &s->z);
}

static sp_status create_sets(finder *f, sp_precision precision, sp_sets **out) {
  const sp_platform *platform = f->b->setup->space->platform;
  SP_AUTO(sp_sets) s = NULL;
  SP_TRY(gather_entries(f));
  SP_TRY(gather_rows(f));
  if (f->row_count == 0) return SP_OK;
  sp_status status = sp_allocate(1, sizeof *s, "Schwarz", &s);
  if (!status) {
    *s = (sp_sets){.platform = platform};
    status = create_matrices(f, precision, s);
  }
  SP_TRY(sp_agree(platform->comm, status));
  SP_TRY(sp_row_gather_create(f->b->setup->space, precision, f->own_count, f->own, &s->gather));
  *out = s;
  s = NULL;
  return SP_OK;
}

sp_status sp_sets_create(const sp_schwarz_builder *b, const double *marks, sp_precision precision,
                         sp_sets **out) {
  const sp_space *space = b->setup->space;
  finder f = {.b = b, .marks = marks};
  *out = NULL;
  sp_status status = sp_allocate(sp_space_dofs(space), sizeof *f.near, "Schwarz", &f.near);
  status = sp_agree(space->platform->comm, status);
  if (!status) status = create_sets(&f, precision, out);
  SP_FREE(f.near, f.own, f.rows, f.entries);
  return status;
}

/* ---- Application ---- */

/* In the sets, (I - A Q) r is - A' Q r, and outside r - A' Q r. */
sp_status sp_sets_begin(sp_sets *s, const sp_vector *r, sp_vector *out) {
  const sp_backend *backend = s->platform->backend;
  sp_status status = sp_row_gather_apply(s->gather, SP_OK, r, &s->r);
  status = sp_first_failure(
      status, backend->matrix_apply(s->inverse, 1, s->r.data, 0, NULL, s->product.data));
  status = sp_first_failure(status, sp_vector_multiply(&s->outside, r, out));
  return sp_first_failure(
      status, backend->matrix_apply(s->local_a, -1, s->product.data, 1, out->data, out->data));
}

sp_status sp_sets_finish(sp_sets *s, sp_vector *z) {
  const sp_backend *backend = s->platform->backend;
  sp_status status = sp_row_gather_apply(s->gather, SP_OK, z, &s->z);
  status = sp_first_failure(
      status, backend->matrix_apply(s->a, -1, s->z.data, 1, s->r.data, s->product.data));
  status = sp_first_failure(status, sp_vector_multiply(&s->outside, z, z));
  return sp_first_failure(
      status, backend->matrix_apply(s->local_inverse, 1, s->product.data, 1, z->data, z->data));
}

void sp_sets_destroy(sp_sets **sets) {
  sp_sets *s = *sets;
  if (!s) return;
  const sp_backend *backend = s->platform->backend;
  backend->matrix_destroy(&s->a);
  backend->matrix_destroy(&s->inverse);
  backend->matrix_destroy(&s->local_a);
  backend->matrix_destroy(&s->local_inverse);
  sp_row_gather_destroy(&s->gather);
  sp_vector_destroy(&s->r);
  sp_vector_destroy(&s->z);
  sp_vector_destroy(&s->product);
  sp_vector_destroy(&s->outside);
  free(s);
  *sets = NULL;
}
