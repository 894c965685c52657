#include "solver/linear/coarse_rows.h"

#include <limits.h>
#include <stdlib.h>

#include "io/threads.h"
#include "solver/linear/coarse_elements.h"

void sp_free_rows_destroy(sp_free_rows *rows) {
  sp_csr_destroy(&rows->matrix);
  SP_FREE(rows->of_dof, rows->counts);
  *rows = (sp_free_rows){0};
}

/* ---- Gathering over ranks ---- */

/* Counts and offsets of an MPI_Allgatherv. */
typedef struct parts {
  int ranks, total;
  int *counts, *starts; /* [ranks] */
} parts;

static void parts_destroy(parts *p) {
  free(p->counts);
}

static sp_status find_parts(MPI_Comm comm, int count, parts *p) {
  *p = (parts){.ranks = sp_comm_size(comm)};
  sp_status status = sp_allocate(2 * (size_t)p->ranks, sizeof *p->counts, "ranks", &p->counts);
  SP_TRY(sp_agree(comm, status));
  p->starts = p->counts + p->ranks;
  MPI_Allgather(&count, 1, MPI_INT, p->counts, 1, MPI_INT, comm);
  int64_t total = 0;
  for (int r = 0; r < p->ranks; r++) {
    p->starts[r] = (int)total;
    total += p->counts[r];
    if (total > INT_MAX)
      return sp_fail(SP_ERR_INPUT,
                     "the coarsest problem of multigrid has more than %d entries, and one rank "
                     "would hold all: use solver.preconditioner = jacobi",
                     INT_MAX);
  }
  p->total = (int)total;
  return SP_OK;
}

static bool is_root(MPI_Comm comm) {
  return sp_comm_rank(comm) == 0;
}

/* Gather on all ranks or on rank 0. */
static void gather_rows(MPI_Comm comm, bool everywhere, const int *counts, const int *starts,
                        MPI_Datatype type, const void *own, void *all) {
  const int rank = sp_comm_rank(comm);
  if (everywhere)
    MPI_Allgatherv(own, counts[rank], type, all, counts, starts, type, comm);
  else
    MPI_Gatherv(own, counts[rank], type, all, counts, starts, type, 0, comm);
}

void sp_free_rows_gather(MPI_Comm comm, const sp_free_rows *rows, MPI_Datatype type,
                         const void *own, void *all) {
  gather_rows(comm, rows->everywhere, rows->counts, rows->starts, type, own, all);
}

/* Fill rows->of_dof, first, count and counts. Copies get their owners' numbers: the exchange sums
 * these numbers and zeros. */
static sp_status number_rows(const sp_operator_setup *setup, sp_free_rows *rows) {
  const sp_space *space = setup->space;
  const MPI_Comm comm = space->platform->comm;
  const size_t dofs = sp_space_dofs(space);
  SP_OWNED double *numbers = NULL;
  parts p;
  SP_TRY(sp_agree(
      comm, SP_ALLOCATE("coarse rows", SP_ARRAY(rows->of_dof, dofs), SP_ARRAY(numbers, dofs))));
  for (sp_lid i = 0; i < space->numbering->owned; i++)
    rows->count += !sp_coarse_is_constrained(setup, i);
  const sp_status status = find_parts(comm, rows->count, &p);
  rows->counts = p.counts;
  rows->starts = p.starts;
  SP_TRY(status);
  rows->total = p.total;
  int next = rows->first = p.starts[sp_comm_rank(comm)];
  for (sp_lid i = 0; i < space->numbering->owned; i++)
    if (!sp_coarse_is_constrained(setup, i)) numbers[i] = next++;
  sp_exchange_now(space->exchange, SP_SUM, numbers);
  for (size_t i = 0; i < dofs; i++)
    rows->of_dof[i] = sp_coarse_is_constrained(setup, (sp_lid)i) ? -1 : (int)numbers[i];
  return SP_OK;
}

/* ---- Rows as sums of pieces ---- */

/* Rows of a matrix as sums of pieces, which come from elements or from ranks. The pieces of row i
 * are list[start[i] .. start[i + 1]). */
typedef struct pieces {
  int *start, *list;
  /* Adds a piece to a row, with sp_csr_row_add for each entry. */
  void (*add)(const void *context, int piece, sp_csr_row *row);
  const void *context;
} pieces;

static void sum_pieces(const void *pieces_, int i, sp_csr_row *row) {
  const pieces *s = pieces_;
  for (int p = s->start[i]; p < s->start[i + 1]; p++) s->add(s->context, s->list[p], row);
}

/* List `count` pieces by their rows, in their order; row_of[piece] < 0: none. */
static void list_pieces(size_t count, const int *row_of, size_t rows, pieces *s) {
  for (size_t p = 0; p < count; p++)
    if (row_of[p] >= 0) s->start[row_of[p] + 1]++;
  for (size_t i = 0; i < rows; i++) s->start[i + 1] += s->start[i];
  for (size_t p = 0; p < count; p++)
    if (row_of[p] >= 0) s->list[s->start[row_of[p]]++] = (int)p;
  for (size_t i = rows; i > 0; i--) s->start[i] = s->start[i - 1];
  s->start[0] = 0;
}

/* *out[rows][columns] = the sum of `count` pieces with at most `longest` entries each. */
static sp_status sum_rows(pieces *s, size_t count, const int *row_of, int rows, int columns,
                          int longest, sp_csr *out) {
  SP_OWNED int *start = NULL, *list = NULL;
  int most = 0;
  SP_TRY(SP_ALLOCATE("coarse rows", SP_ARRAY(start, (size_t)rows + 1), SP_ARRAY(list, count)));
  s->start = start;
  s->list = list;
  list_pieces(count, row_of, (size_t)rows, s);
  for (int i = 0; i < rows; i++)
    if (start[i + 1] - start[i] > most) most = start[i + 1] - start[i];
  return sp_csr_sum(rows, columns, (size_t)longest * (size_t)most, s, sum_pieces, out);
}

/* ---- This rank's elements ---- */

typedef struct rows_of_elements {
  const sp_operator_setup *setup;
  const sp_coarse_elements *elements;
} rows_of_elements;

/* A piece is a node of an element: its row of the element's matrix. */
static void add_element_rows(const void *rows, int piece, sp_csr_row *row) {
  const rows_of_elements *r = rows;
  const sp_coarse_elements *s = r->elements;
  const int e = s->of_node[piece], first = s->start[e], count = s->start[e + 1] - first;
  const double *values = &s->matrices[s->first[e] + (size_t)(piece - first) * (size_t)count];
  if (sp_coarse_is_constrained(r->setup, s->dofs[piece])) return;
  for (int j = 0; j < count; j++)
    if (!sp_coarse_is_constrained(r->setup, s->dofs[first + j]))
      sp_csr_row_add(row, s->dofs[first + j], values[j]);
}

/* Find the diagonal entry of a row; NULL if the row is empty. */
static double *diagonal_of(const sp_csr *matrix, sp_lid i) {
  for (int e = matrix->start[i]; e < matrix->start[i + 1]; e++)
    if (matrix->column[e] == i) return &matrix->values[e];
  return NULL;
}

/* Double the diagonal of the first DOF of each component. Every rank doubles its part. A component
 * of one DOF (one element across all periods) has a row of zero, which becomes one. */
static sp_status pin_components(const sp_space *space, const sp_constants *constants,
                                sp_csr *matrix) {
  const MPI_Comm comm = space->platform->comm;
  const sp_numbering *numbering = space->numbering;
  const int components = constants->components;
  SP_OWNED sp_gid *first = NULL;
  if (components == 0) return SP_OK;
  SP_TRY(sp_agree(comm, sp_allocate((size_t)components, sizeof *first, "components", &first)));
  for (int k = 0; k < components; k++) first[k] = INT64_MAX;
  for (sp_lid d = numbering->owned; d-- > 0;)
    if (constants->of_dof[d] >= 0) first[constants->of_dof[d]] = numbering->first + d;
  MPI_Allreduce(MPI_IN_PLACE, first, components, SP_MPI_GID, MPI_MIN, comm);
  for (sp_lid d = 0; d < numbering->local; d++) {
    const int k = constants->of_dof[d];
    double *diagonal = diagonal_of(matrix, d);
    const bool alone = matrix->start[d + 1] - matrix->start[d] == 1;
    if (k >= 0 && diagonal && sp_numbering_global(numbering, d) == first[k])
      *diagonal = alone ? 1 : 2 * *diagonal;
  }
  return SP_OK;
}

static sp_status sum_elements(const sp_operator_setup *setup, sp_csr *out) {
  const int dofs = (int)sp_space_dofs(setup->space);
  SP_AUTO_VALUE(sp_coarse_elements) e = {0};
  pieces s = {.add = add_element_rows, .context = &(rows_of_elements){setup, &e}};
  SP_TRY(sp_coarse_elements_create(setup, &e));
  SP_TRY(sum_rows(&s, (size_t)e.start[e.count], e.dofs, dofs, dofs, e.longest, out));
  for (sp_lid n = 0; n < setup->diagonal_count; n++) {
    double *diagonal = diagonal_of(out, setup->diagonal_dofs[n]);
    if (diagonal) *diagonal += setup->diagonal_values[n];
  }
  return SP_OK;
}

sp_status sp_coarse_assemble(const sp_operator_setup *setup, const sp_constants *constants,
                             sp_csr *out) {
  *out = (sp_csr){0};
  SP_TRY(sp_agree(setup->space->platform->comm, sum_elements(setup, out)));
  return pin_components(setup->space, constants, out);
}

/* ---- All ranks ---- */

static void add_part(const void *parts_, int piece, sp_csr_row *row) {
  const sp_csr *m = parts_;
  for (int e = m->start[piece]; e < m->start[piece + 1]; e++)
    sp_csr_row_add(row, m->column[e], m->values[e]);
}

/* Gather the rows of all ranks, in the order of ranks, and their numbers. On ranks without a result
 * *all stays empty. */
static sp_status gather_all(MPI_Comm comm, bool everywhere, const int *number, const sp_csr *own,
                            sp_csr *all, int **numbers) {
  SP_AUTO_VALUE(parts) by_row = {0}, by_entry = {0};
  SP_TRY(find_parts(comm, own->rows, &by_row));
  SP_TRY(find_parts(comm, own->start[own->rows], &by_entry));
  const bool wanted = everywhere || is_root(comm);
  const int total = wanted ? by_row.total : 0;
  sp_status status = sp_csr_create(total, own->columns, wanted ? (size_t)by_entry.total : 0, all);
  if (!status) status = sp_allocate((size_t)total, sizeof **numbers, "rows", numbers);
  SP_TRY(sp_agree(comm, status));
  const int *rows = by_row.counts, *row = by_row.starts;
  const int *entries = by_entry.counts, *entry = by_entry.starts;
  gather_rows(comm, everywhere, rows, row, MPI_INT, number, *numbers);
  gather_rows(comm, everywhere, entries, entry, MPI_INT, own->column, all->column);
  gather_rows(comm, everywhere, entries, entry, MPI_DOUBLE, own->values, all->values);
  gather_rows(comm, everywhere, rows, row, MPI_INT, own->start + 1, all->start + 1);
  for (int r = 0; r < by_row.ranks && wanted; r++)
    for (int n = 0; n < rows[r]; n++) all->start[row[r] + n + 1] += entry[r];
  return SP_OK;
}

/* Columns of a matrix, and their new numbers. */
typedef struct renaming {
  int *column;
  const int *of_dof;
} renaming;

static void rename_some(void *renaming_, size_t begin, size_t end) {
  const renaming *r = renaming_;
  for (size_t n = begin; n < end; n++) r->column[n] = r->of_dof[r->column[n]];
}

/* out->matrix = the sum of the ranks' parts. The columns of `own` become numbers of free rows. One
 * rank's part is the matrix without its empty rows (constrained DOFs). */
static sp_status join_ranks(MPI_Comm comm, sp_csr *own, sp_free_rows *out) {
  SP_AUTO_VALUE(sp_csr) all = {0};
  SP_OWNED int *numbers = NULL;
  renaming r = {own->column, out->of_dof};
  SP_TRY(sp_agree(comm,
                  sp_loop_over("coarse rows", (size_t)own->start[own->rows], 1, &r, rename_some)));
  if (sp_comm_size(comm) == 1) {
    for (int d = 0; d < own->rows; d++)
      if (out->of_dof[d] >= 0) own->start[out->of_dof[d] + 1] = own->start[d + 1];
    own->rows = own->columns = out->total;
    out->matrix = *own;
    *own = (sp_csr){0};
    return SP_OK;
  }
  SP_TRY(gather_all(comm, out->everywhere, out->of_dof, own, &all, &numbers));
  const int total = out->everywhere || is_root(comm) ? out->total : 0;
  pieces s = {.add = add_part, .context = &all};
  return sp_agree(comm, sum_rows(&s, (size_t)all.rows, numbers, total, total, sp_csr_longest(&all),
                                 &out->matrix));
}

sp_status sp_free_rows_create(const sp_operator_setup *setup, const sp_constants *constants,
                              bool everywhere, sp_free_rows *out) {
  SP_AUTO_VALUE(sp_csr) own = {0};
  *out = (sp_free_rows){.everywhere = everywhere};
  SP_TRY(number_rows(setup, out));
  SP_TRY(sp_coarse_assemble(setup, constants, &own));
  return join_ranks(setup->space->platform->comm, &own, out);
}
