#include "solver/linear/coarse_rows.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "io/threads.h"
#include "solver/linear/coarse_elements.h"

enum { NODES = SP_COARSE_NODES };

sp_status sp_csr_create(int rows, int columns, size_t entries, sp_csr *out) {
  *out = (sp_csr){.rows = rows, .columns = columns};
  SP_TRY(sp_allocate((size_t)rows + 1, sizeof *out->start, "a matrix", &out->start));
  SP_TRY(sp_allocate(entries, sizeof *out->column, "a matrix", &out->column));
  return sp_allocate(entries, sizeof *out->values, "a matrix", &out->values);
}

void sp_csr_free(sp_csr *matrix) {
  free(matrix->start);
  free(matrix->column);
  free(matrix->values);
  *matrix = (sp_csr){0};
}

void sp_free_rows_free(sp_free_rows *rows) {
  sp_csr_free(&rows->matrix);
  free(rows->of_dof);
  free(rows->counts);
  *rows = (sp_free_rows){0};
}

/* ---- Gathering over ranks ---- */

/* An MPI_Allgatherv: where each rank's part begins. */
typedef struct parts {
  int ranks, total;
  int *counts, *starts; /* [ranks] */
} parts;

static sp_status find_parts(MPI_Comm comm, int count, parts *p) {
  *p = (parts){0};
  MPI_Comm_size(comm, &p->ranks);
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
                     "the coarsest problem of multigrid has more than %d entries, and every GPU "
                     "would hold all: use solver.preconditioner = jacobi",
                     INT_MAX);
  }
  p->total = (int)total;
  return SP_OK;
}

static void gather(MPI_Comm comm, const parts *p, MPI_Datatype type, const void *own, void *all) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  MPI_Allgatherv(own, p->counts[rank], type, all, p->counts, p->starts, type, comm);
}

/* rows->of_dof, first, count and counts. Copies get their owners' numbers by the exchange: the sum
 * of those and zeros. */
static sp_status number_rows(const sp_operator_setup *setup, sp_free_rows *rows) {
  const sp_space *space = setup->space;
  const MPI_Comm comm = space->platform->comm;
  const size_t dofs = sp_space_dofs(space);
  double *numbers = NULL;
  parts p;
  sp_status status = sp_allocate(dofs, sizeof *rows->of_dof, "coarse rows", &rows->of_dof);
  if (!status) status = sp_allocate(dofs, sizeof *numbers, "coarse rows", &numbers);
  status = sp_agree(comm, status);
  if (!status) {
    for (sp_lid i = 0; i < space->numbering->owned; i++)
      rows->count += !sp_coarse_is_constrained(setup, i);
    status = find_parts(comm, rows->count, &p);
    rows->counts = p.counts;
  }
  if (!status) {
    int rank, next;
    MPI_Comm_rank(comm, &rank);
    next = rows->first = p.starts[rank];
    rows->matrix.rows = rows->matrix.columns = p.total;
    for (sp_lid i = 0; i < space->numbering->owned; i++)
      if (!sp_coarse_is_constrained(setup, i)) numbers[i] = next++;
    sp_exchange_now(space->exchange, SP_SUM, numbers);
    for (size_t i = 0; i < dofs; i++)
      rows->of_dof[i] = sp_coarse_is_constrained(setup, (sp_lid)i) ? -1 : (int)numbers[i];
  }
  free(numbers);
  return status;
}

/* ---- Rows as sums of pieces ---- */

/* A row of a matrix is the sum of pieces with some entries each: of elements, or of ranks. Those of
 * row i are pieces[start[i] .. start[i + 1]). */
typedef struct sums {
  size_t rows;
  int *start;  /* [rows + 1] */
  int *pieces; /* [start[rows]] */
  int most;    /* entries of all pieces of a row, at most */
  /* Add a piece to a row: by add_entry, for each of its entries. */
  void (*add)(const void *context, int piece, void *row);
  const void *context;
  sp_csr *out;
} sums;

/* A row while it is summed. */
typedef struct entry {
  int column;
  double value;
} entry;
typedef struct row {
  int count;
  entry entries[]; /* [sums.most] */
} row;

/* A row has few columns. */
static void add_entry(row *r, int column, double value) {
  int n = 0;
  while (n < r->count && r->entries[n].column != column) n++;
  if (n == r->count) r->entries[r->count++] = (entry){column, 0};
  r->entries[n].value += value;
}

static void sum_row(const sums *s, size_t i, row *r) {
  r->count = 0;
  for (int p = s->start[i]; p < s->start[i + 1]; p++) s->add(s->context, s->pieces[p], r);
}

static sp_status count_some(void *sums_, void *workspace, size_t begin, size_t end) {
  const sums *s = sums_;
  row *r = workspace;
  for (size_t i = begin; i < end; i++) {
    sum_row(s, i, r);
    s->out->start[i + 1] = r->count;
  }
  return SP_OK;
}

/* By columns that rise. */
static void sort_row(row *r) {
  for (int n = 1; n < r->count; n++) {
    const entry moved = r->entries[n];
    int to = n;
    for (; to > 0 && r->entries[to - 1].column > moved.column; to--)
      r->entries[to] = r->entries[to - 1];
    r->entries[to] = moved;
  }
}

static sp_status write_some(void *sums_, void *workspace, size_t begin, size_t end) {
  const sums *s = sums_;
  row *r = workspace;
  for (size_t i = begin; i < end; i++) {
    sum_row(s, i, r);
    sort_row(r);
    for (int n = 0; n < r->count; n++) {
      s->out->column[s->out->start[i] + n] = r->entries[n].column;
      s->out->values[s->out->start[i] + n] = r->entries[n].value;
    }
  }
  return SP_OK;
}

static sp_status visit_rows(sums *s, sp_status (*compute)(void *, void *, size_t, size_t)) {
  return sp_loop_run(&(sp_loop){.what = "coarse rows",
                                .count = s->rows,
                                .chunk = sp_loop_chunk(s->rows, 64),
                                .workspace_bytes = sizeof(row) + (size_t)s->most * sizeof(entry),
                                .context = s,
                                .compute = compute});
}

/* *s->out = the matrix, of so many columns. */
static sp_status sum_rows(sums *s, int columns) {
  sp_csr *out = s->out;
  int *counts;
  SP_TRY(sp_allocate(s->rows + 1, sizeof *counts, "coarse rows", &counts));
  *out = (sp_csr){.start = counts}; /* count_some writes there */
  sp_status status = visit_rows(s, count_some);
  size_t entries = 0;
  for (size_t i = 0; i < s->rows; i++) entries += (size_t)counts[i + 1];
  if (!status && entries > INT_MAX)
    status = sp_fail(SP_ERR_INPUT,
                     "a rank's part of the coarsest problem has %zu entries, at most %d are "
                     "possible: use more ranks",
                     entries, INT_MAX);
  if (!status) status = sp_csr_create((int)s->rows, columns, entries, out);
  if (!status) {
    for (size_t i = 0; i < s->rows; i++) out->start[i + 1] = out->start[i] + counts[i + 1];
    status = visit_rows(s, write_some);
  } else if (out->start == counts) {
    *out = (sp_csr){0};
  }
  free(counts);
  return status;
}

/* List `count` pieces by their rows, in their order; row_of[piece] < 0: none. */
static sp_status list_pieces(size_t count, const int *row_of, sums *s) {
  SP_TRY(sp_allocate(s->rows + 1, sizeof *s->start, "coarse rows", &s->start));
  SP_TRY(sp_allocate(count, sizeof *s->pieces, "coarse rows", &s->pieces));
  for (size_t p = 0; p < count; p++)
    if (row_of[p] >= 0) s->start[row_of[p] + 1]++;
  for (size_t i = 0; i < s->rows; i++) s->start[i + 1] += s->start[i];
  for (size_t p = 0; p < count; p++)
    if (row_of[p] >= 0) s->pieces[s->start[row_of[p]]++] = (int)p;
  for (size_t i = s->rows; i > 0; i--) s->start[i] = s->start[i - 1];
  s->start[0] = 0;
  return SP_OK;
}

static int most_pieces(const sums *s) {
  int most = 0;
  for (size_t i = 0; i < s->rows; i++)
    if (s->start[i + 1] - s->start[i] > most) most = s->start[i + 1] - s->start[i];
  return most;
}

/* ---- This rank's elements ---- */

/* The rows that they touch, copies too, in the order of DOFs. */
typedef struct own_rows {
  const sp_lid *nodes; /* [elements][NODES] */
  const int *of_dof;
  sp_coarse_element *matrices; /* [elements] */
  int count;
  int *number; /* [count], the rows' numbers */
  sp_csr matrix;
} own_rows;

/* Piece NODES * element + i: row i of the element's matrix. */
static void add_element(const void *own_, int piece, void *row_) {
  const own_rows *own = own_;
  const int element = piece / NODES;
  const double *values = own->matrices[element][piece % NODES];
  const sp_lid *nodes = &own->nodes[(size_t)element * NODES];
  for (int j = 0; j < NODES; j++)
    if (own->of_dof[nodes[j]] >= 0) add_entry(row_, own->of_dof[nodes[j]], values[j]);
}

/* The setup's diagonal. */
static void add_diagonal(const sp_operator_setup *setup, const int *local_row, own_rows *own) {
  for (sp_lid n = 0; n < setup->diagonal_count; n++) {
    const sp_lid dof = setup->diagonal_dofs[n];
    const int i = local_row[dof];
    for (int e = i < 0 ? 0 : own->matrix.start[i]; i >= 0 && e < own->matrix.start[i + 1]; e++)
      if (own->matrix.column[e] == own->of_dof[dof])
        own->matrix.values[e] += setup->diagonal_values[n];
  }
}

/* local_row[DOFs], and the row of every corner, row_of[elements * NODES]. */
static sp_status sum_elements(const sp_operator_setup *setup, int columns, int *local_row,
                              int *row_of, own_rows *own) {
  const size_t elements = (size_t)setup->space->mesh->hexes->count;
  const size_t dofs = sp_space_dofs(setup->space);
  SP_TRY(sp_allocate(dofs, sizeof *own->number, "coarse rows", &own->number));
  for (size_t d = 0; d < dofs; d++) {
    local_row[d] = own->of_dof[d] < 0 ? -1 : own->count;
    if (own->of_dof[d] >= 0) own->number[own->count++] = own->of_dof[d];
  }
  for (size_t n = 0; n < elements * NODES; n++) row_of[n] = local_row[own->nodes[n]];
  SP_TRY(sp_allocate(elements, sizeof *own->matrices, "element matrices", &own->matrices));
  SP_TRY(sp_coarse_elements(setup, 0, elements, own->matrices));
  sums s = {.rows = (size_t)own->count, .add = add_element, .context = own, .out = &own->matrix};
  sp_status status = list_pieces(elements * NODES, row_of, &s);
  if (!status) s.most = NODES * most_pieces(&s);
  if (!status) status = sum_rows(&s, columns);
  if (!status) add_diagonal(setup, local_row, own);
  free(s.start);
  free(s.pieces);
  return status;
}

static sp_status create_own(const sp_operator_setup *setup, const sp_free_rows *rows,
                            own_rows *own) {
  const size_t dofs = sp_space_dofs(setup->space);
  const size_t corners = (size_t)setup->space->mesh->hexes->count * NODES;
  int *local_row, *row_of = NULL;
  *own = (own_rows){.nodes = setup->space->numbering->nodes, .of_dof = rows->of_dof};
  sp_status status = sp_allocate(dofs, sizeof *local_row, "coarse rows", &local_row);
  if (!status) status = sp_allocate(corners, sizeof *row_of, "coarse rows", &row_of);
  if (!status) status = sum_elements(setup, rows->matrix.columns, local_row, row_of, own);
  free(local_row);
  free(row_of);
  free(own->matrices);
  own->matrices = NULL;
  return status;
}

/* ---- All ranks ---- */

static void add_rows_of_rank(const void *all, int piece, void *row_) {
  const sp_csr *m = all;
  for (int e = m->start[piece]; e < m->start[piece + 1]; e++)
    add_entry(row_, m->column[e], m->values[e]);
}

/* The ranks' rows one after another, and their numbers. */
static sp_status gather_all(MPI_Comm comm, const own_rows *own, sp_csr *all, int **numbers) {
  parts by_row = {0}, by_entry = {0};
  *all = (sp_csr){0};
  *numbers = NULL;
  sp_status status = find_parts(comm, own->count, &by_row);
  if (!status) status = find_parts(comm, own->matrix.start[own->count], &by_entry);
  if (!status) {
    status = sp_csr_create(by_row.total, own->matrix.columns, (size_t)by_entry.total, all);
    if (!status) status = sp_allocate((size_t)by_row.total, sizeof **numbers, "rows", numbers);
    status = sp_agree(comm, status);
  }
  if (!status) {
    gather(comm, &by_row, MPI_INT, own->number, *numbers);
    gather(comm, &by_entry, MPI_INT, own->matrix.column, all->column);
    gather(comm, &by_entry, MPI_DOUBLE, own->matrix.values, all->values);
    gather(comm, &by_row, MPI_INT, own->matrix.start + 1, all->start + 1);
    for (int r = 0; r < by_row.ranks; r++)
      for (int n = 0; n < by_row.counts[r]; n++)
        all->start[by_row.starts[r] + n + 1] += by_entry.starts[r];
  }
  free(by_row.counts);
  free(by_entry.counts);
  return status;
}

static sp_status sum_ranks(const sp_csr *all, const int *numbers, sp_csr *matrix) {
  const int columns = matrix->columns;
  sums s = {.rows = (size_t)matrix->rows, .add = add_rows_of_rank, .context = all, .out = matrix};
  sp_status status = list_pieces((size_t)all->rows, numbers, &s);
  int longest = 0;
  for (int i = 0; i < all->rows; i++)
    if (all->start[i + 1] - all->start[i] > longest) longest = all->start[i + 1] - all->start[i];
  if (!status) s.most = longest * most_pieces(&s);
  if (!status) status = sum_rows(&s, columns);
  free(s.start);
  free(s.pieces);
  return status;
}

/* With one rank its rows are all, in their order. */
static sp_status join_ranks(MPI_Comm comm, own_rows *own, sp_csr *matrix) {
  int ranks;
  MPI_Comm_size(comm, &ranks);
  if (ranks == 1) {
    *matrix = own->matrix;
    own->matrix = (sp_csr){0};
    return SP_OK;
  }
  sp_csr all;
  int *numbers;
  sp_status status = gather_all(comm, own, &all, &numbers);
  if (!status) status = sp_agree(comm, sum_ranks(&all, numbers, matrix));
  sp_csr_free(&all);
  free(numbers);
  return status;
}

/* Double the diagonal of the first row of each component. */
static sp_status pin(const sp_space *space, const sp_constants *constants, sp_free_rows *rows) {
  const MPI_Comm comm = space->platform->comm;
  const int components = constants->components;
  int *first;
  if (components == 0) return SP_OK;
  SP_TRY(sp_agree(comm, sp_allocate((size_t)components, sizeof *first, "components", &first)));
  for (int k = 0; k < components; k++) first[k] = INT_MAX;
  for (sp_lid d = space->numbering->owned; d-- > 0;)
    if (constants->of_dof[d] >= 0) first[constants->of_dof[d]] = rows->of_dof[d];
  MPI_Allreduce(MPI_IN_PLACE, first, components, MPI_INT, MPI_MIN, comm);
  for (int k = 0; k < components; k++)
    for (int e = rows->matrix.start[first[k]]; e < rows->matrix.start[first[k] + 1]; e++)
      if (rows->matrix.column[e] == first[k]) rows->matrix.values[e] *= 2;
  free(first);
  return SP_OK;
}

sp_status sp_free_rows_create(const sp_operator_setup *setup, const sp_constants *constants,
                              sp_free_rows *out) {
  const MPI_Comm comm = setup->space->platform->comm;
  own_rows own = {0};
  *out = (sp_free_rows){0};
  sp_status status = number_rows(setup, out);
  if (!status) status = sp_agree(comm, create_own(setup, out, &own));
  if (!status) status = join_ranks(comm, &own, &out->matrix);
  if (!status) status = pin(setup->space, constants, out);
  sp_csr_free(&own.matrix);
  free(own.number);
  return status;
}
