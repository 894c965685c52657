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

/* Counts and offsets of an MPI_Allgatherv. */
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

/* Fill rows->of_dof, first, count and counts. Copies get their owners' numbers: the exchange sums
 * those and zeros. */
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
    rows->total = p.total;
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

/* Rows of a matrix as sums of pieces, which come from elements or from ranks. The pieces of row i
 * are pieces[start[i] .. start[i + 1]). */
typedef struct sums {
  size_t rows;
  int *start;  /* [rows + 1] */
  int *pieces; /* [start[rows]] */
  int most;    /* largest number of entries in all pieces of a row */
  bool sorted; /* sort by column; false: keep the order of first entries */
  /* Adds a piece to a row, with add_entry for each entry. */
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

/* Search linearly: a row has few columns. */
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

/* Sort by column. */
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
    if (s->sorted) sort_row(r);
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

/* *s->out = the matrix. A piece has at most `longest` entries. */
static sp_status sum_listed(sums *s, int columns, int longest) {
  sp_csr *out = s->out;
  int *counts, most = 0;
  for (size_t i = 0; i < s->rows; i++)
    if (s->start[i + 1] - s->start[i] > most) most = s->start[i + 1] - s->start[i];
  s->most = longest * most;
  SP_TRY(sp_allocate(s->rows + 1, sizeof *counts, "coarse rows", &counts));
  *out = (sp_csr){.start = counts}; /* count_some writes there */
  sp_status status = visit_rows(s, count_some);
  size_t entries = 0;
  for (size_t i = 0; i < s->rows; i++) entries += (size_t)counts[i + 1];
  if (!status && entries > INT_MAX)
    status = sp_fail(SP_ERR_INPUT,
                     "a rank's part of the coarsest problem has %zu entries, but at most %d are "
                     "possible; use more ranks",
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

/* List `count` pieces and sum them. */
static sp_status sum_rows(sums *s, size_t count, const int *row_of, int columns, int longest) {
  sp_status status = list_pieces(count, row_of, s);
  if (!status) status = sum_listed(s, columns, longest);
  free(s->start);
  free(s->pieces);
  return status;
}

/* ---- This rank's elements ---- */

typedef struct elements {
  const sp_operator_setup *setup;
  const sp_lid *nodes;         /* [elements][NODES] */
  sp_coarse_element *matrices; /* [elements] */
} elements;

/* Piece NODES * element + i: row i of the element's matrix. */
static void add_element(const void *elements_, int piece, void *row_) {
  const elements *s = elements_;
  const int element = piece / NODES;
  const double *values = s->matrices[element][piece % NODES];
  const sp_lid *nodes = &s->nodes[(size_t)element * NODES];
  if (sp_coarse_is_constrained(s->setup, s->nodes[piece])) return;
  for (int j = 0; j < NODES; j++)
    if (!sp_coarse_is_constrained(s->setup, nodes[j])) add_entry(row_, nodes[j], values[j]);
}

/* Find the diagonal entry of a row; NULL if the row is empty. */
static double *diagonal_of(const sp_csr *matrix, sp_lid i) {
  for (int e = matrix->start[i]; e < matrix->start[i + 1]; e++)
    if (matrix->column[e] == i) return &matrix->values[e];
  return NULL;
}

/* Double the diagonal of the first DOF of each component. Every rank doubles its part. A component
 * of one DOF (one element across all periods) has a row of zero, which becomes one. */
static sp_status pin(const sp_space *space, const sp_constants *constants, sp_csr *matrix) {
  const MPI_Comm comm = space->platform->comm;
  const sp_numbering *numbering = space->numbering;
  const int components = constants->components;
  sp_gid *first;
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
  free(first);
  return SP_OK;
}

static sp_status sum_elements(const sp_operator_setup *setup, sp_csr *out) {
  const size_t count = (size_t)setup->space->mesh->hexes->count;
  const size_t dofs = sp_space_dofs(setup->space);
  elements e = {.setup = setup, .nodes = setup->space->numbering->nodes};
  sums s = {.rows = dofs, .add = add_element, .context = &e, .out = out};
  SP_TRY(sp_allocate(count, sizeof *e.matrices, "element matrices", &e.matrices));
  sp_status status = sp_coarse_elements(setup, count, e.matrices);
  if (!status) status = sum_rows(&s, count * NODES, e.nodes, (int)dofs, NODES);
  free(e.matrices);
  for (sp_lid n = 0; n < setup->diagonal_count && !status; n++) {
    double *diagonal = diagonal_of(out, setup->diagonal_dofs[n]);
    if (diagonal) *diagonal += setup->diagonal_values[n];
  }
  return status;
}

sp_status sp_coarse_assemble(const sp_operator_setup *setup, const sp_constants *constants,
                             sp_csr *out) {
  *out = (sp_csr){0};
  SP_TRY(sp_agree(setup->space->platform->comm, sum_elements(setup, out)));
  return pin(setup->space, constants, out);
}

/* ---- All ranks ---- */

static void add_part(const void *parts_, int piece, void *row_) {
  const sp_csr *m = parts_;
  for (int e = m->start[piece]; e < m->start[piece + 1]; e++)
    add_entry(row_, m->column[e], m->values[e]);
}

/* Gather the rows of all ranks, in the order of ranks, and their numbers. */
static sp_status gather_all(MPI_Comm comm, const int *number, const sp_csr *own, sp_csr *all,
                            int **numbers) {
  parts by_row = {0}, by_entry = {0};
  *all = (sp_csr){0};
  *numbers = NULL;
  sp_status status = find_parts(comm, own->rows, &by_row);
  if (!status) status = find_parts(comm, own->start[own->rows], &by_entry);
  if (!status) {
    status = sp_csr_create(by_row.total, own->columns, (size_t)by_entry.total, all);
    if (!status) status = sp_allocate((size_t)by_row.total, sizeof **numbers, "rows", numbers);
    status = sp_agree(comm, status);
  }
  if (!status) {
    gather(comm, &by_row, MPI_INT, number, *numbers);
    gather(comm, &by_entry, MPI_INT, own->column, all->column);
    gather(comm, &by_entry, MPI_DOUBLE, own->values, all->values);
    gather(comm, &by_row, MPI_INT, own->start + 1, all->start + 1);
    for (int r = 0; r < by_row.ranks; r++)
      for (int n = 0; n < by_row.counts[r]; n++)
        all->start[by_row.starts[r] + n + 1] += by_entry.starts[r];
  }
  free(by_row.counts);
  free(by_entry.counts);
  return status;
}

/* out->matrix = the sum of the ranks' parts. The columns of `own` become numbers of free rows. */
static sp_status join_ranks(MPI_Comm comm, sp_csr *own, sp_free_rows *out) {
  sp_csr all = {0};
  int ranks, *numbers = NULL, longest = 0;
  sp_status status = SP_OK;
  MPI_Comm_size(comm, &ranks);
  for (int e = 0; e < own->start[own->rows]; e++) own->column[e] = out->of_dof[own->column[e]];
  if (ranks > 1) status = gather_all(comm, out->of_dof, own, &all, &numbers);
  if (status) return status;
  const sp_csr *listed = ranks > 1 ? &all : own;
  for (int i = 0; i < listed->rows; i++)
    if (listed->start[i + 1] - listed->start[i] > longest)
      longest = listed->start[i + 1] - listed->start[i];
  sums s = {.rows = (size_t)out->total,
            .sorted = true,
            .add = add_part,
            .context = listed,
            .out = &out->matrix};
  status =
      sum_rows(&s, (size_t)listed->rows, ranks > 1 ? numbers : out->of_dof, out->total, longest);
  sp_csr_free(&all);
  free(numbers);
  return sp_agree(comm, status);
}

sp_status sp_free_rows_create(const sp_operator_setup *setup, const sp_constants *constants,
                              sp_free_rows *out) {
  sp_csr own = {0};
  *out = (sp_free_rows){0};
  sp_status status = number_rows(setup, out);
  if (!status) status = sp_coarse_assemble(setup, constants, &own);
  if (!status) status = join_ranks(setup->space->platform->comm, &own, out);
  sp_csr_free(&own);
  return status;
}
