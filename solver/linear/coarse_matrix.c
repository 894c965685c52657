#include "solver/linear/coarse_matrix.h"

#include <HYPRE_parcsr_mv.h>
#include <limits.h>
#include <stdlib.h>

#include "io/threads.h"
#include "mesh/geometry.h"
#include "operators/factors.h"

enum { NODES = 8 }; /* per element of order 1 */

sp_status sp_hypre_check(const char *what) {
  const HYPRE_Int error = HYPRE_GetError();
  HYPRE_ClearAllErrors();
  if (!error) return SP_OK;
  char text[128] = "";
  HYPRE_DescribeError(error, text);
  return sp_fail(SP_ERR_SYSTEM, "hypre failed in %s: %.100s", what, text);
}

/* ---- Assembly ---- */

/* matrix[NODES][NODES] of one element from factors at its corners, [SP_FACTORS][NODES]: with GLL
 * quadrature points are nodes, and the slope along a direction couples the two ends of an edge. */
static void element_matrix(const double *factors, double lambda, double matrix[NODES][NODES]) {
  static const int factor[3][3] = {
      {SP_G_RR, SP_G_RS, SP_G_RT}, {SP_G_RS, SP_G_SS, SP_G_ST}, {SP_G_RT, SP_G_ST, SP_G_TT}};
  for (int i = 0; i < NODES; i++)
    for (int j = 0; j < NODES; j++) matrix[i][j] = 0;
  for (int q = 0; q < NODES; q++) {
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) {
        const double g = factors[factor[a][b] * NODES + q] / 4; /* slopes are +-1/2 */
        const int ends[2][2] = {{q & ~(1 << a), q | 1 << a}, {q & ~(1 << b), q | 1 << b}};
        for (int s = 0; s < 2; s++)
          for (int t = 0; t < 2; t++) matrix[ends[0][s]][ends[1][t]] += s == t ? g : -g;
      }
    matrix[q][q] += lambda * factors[SP_G_WJ * NODES + q];
  }
}

static bool is_constrained(const sp_operator_setup *setup, sp_lid dof) {
  return setup->constrained && setup->constrained[dof];
}

/* Add an element's matrix; rows and columns of constrained DOFs stay out. Across a period of one
 * element several nodes are one DOF; hypre takes a column once per call. */
static void add_element(HYPRE_IJMatrix target, const sp_operator_setup *setup, sp_lid e,
                        double matrix[NODES][NODES]) {
  const sp_numbering *numbering = setup->space->numbering;
  const sp_lid *nodes = &numbering->nodes[(size_t)e * NODES];
  for (int i = 0; i < NODES; i++) {
    if (is_constrained(setup, nodes[i])) continue;
    const HYPRE_BigInt row = (HYPRE_BigInt)sp_numbering_global(numbering, nodes[i]);
    HYPRE_BigInt columns[NODES];
    double values[NODES];
    HYPRE_Int count = 0;
    for (int j = 0; j < NODES; j++) {
      if (is_constrained(setup, nodes[j])) continue;
      const HYPRE_BigInt column = (HYPRE_BigInt)sp_numbering_global(numbering, nodes[j]);
      HYPRE_Int at = 0;
      while (at < count && columns[at] != column) at++;
      if (at == count) {
        columns[count] = column;
        values[count++] = 0;
      }
      values[at] += matrix[i][j];
    }
    HYPRE_IJMatrixAddToValues(target, 1, &count, &row, columns, values);
  }
}

static void add_to_diagonal(HYPRE_IJMatrix target, HYPRE_BigInt row, double value) {
  HYPRE_Int one = 1;
  HYPRE_IJMatrixAddToValues(target, 1, &one, &row, &row, &value);
}

/* Elements whose matrices are computed together: 16 MB. */
enum { BATCH = 1 << 15 };

typedef struct batch {
  const sp_operator_setup *setup;
  const sp_rule *rule;
  size_t begin;                     /* the first element */
  double (*matrices)[NODES][NODES]; /* [BATCH] */
} batch;

static sp_status compute_matrices(void *context, void *workspace, size_t begin, size_t end) {
  const batch *b = context;
  (void)workspace;
  for (size_t n = begin; n < end; n++) {
    double factors[SP_FACTORS * NODES];
    SP_TRY(sp_operator_factors(b->setup, (sp_lid)(b->begin + n), b->rule, factors));
    element_matrix(factors, b->setup->lambda, b->matrices[n]);
  }
  return SP_OK;
}

/* Threads compute the matrices. Only this thread passes them to hypre, which may call MPI. */
static sp_status add_batch(batch *b, size_t count, HYPRE_IJMatrix target) {
  SP_TRY(sp_loop_run(&(sp_loop){.what = "element matrices",
                                .count = count,
                                .chunk = sp_loop_chunk(count, NODES * NODES),
                                .context = b,
                                .compute = compute_matrices}));
  for (size_t n = 0; n < count; n++)
    add_element(target, b->setup, (sp_lid)(b->begin + n), b->matrices[n]);
  return SP_OK;
}

static sp_status add_elements(HYPRE_IJMatrix target, const sp_operator_setup *setup) {
  const sp_space *space = setup->space;
  const sp_numbering *numbering = space->numbering;
  const size_t elements = (size_t)space->mesh->hexes->count;
  batch b = {.setup = setup, .rule = &sp_reference_get(1)->gll};
  SP_TRY(sp_allocate(elements < BATCH ? elements : BATCH, sizeof *b.matrices, "element matrices",
                     &b.matrices));
  sp_status status = SP_OK;
  for (; b.begin < elements && !status; b.begin += BATCH)
    status = add_batch(&b, elements - b.begin < BATCH ? elements - b.begin : BATCH, target);
  free(b.matrices);
  SP_TRY(status);
  for (sp_lid i = 0; i < setup->diagonal_count; i++) {
    const sp_lid dof = setup->diagonal_dofs[i];
    if (is_constrained(setup, dof)) continue;
    add_to_diagonal(target, (HYPRE_BigInt)sp_numbering_global(numbering, dof),
                    setup->diagonal_values[i]);
  }
  for (sp_lid i = 0; i < numbering->owned; i++)
    if (is_constrained(setup, i)) add_to_diagonal(target, (HYPRE_BigInt)(numbering->first + i), 1);
  return SP_OK;
}

/* A row in hypre's own memory, until it is restored. */
typedef struct row {
  HYPRE_ParCSRMatrix matrix;
  HYPRE_BigInt number, *columns;
  HYPRE_Int size;
  double *values;
} row;

static row get_row(HYPRE_IJMatrix matrix, sp_gid number) {
  row r = {.number = (HYPRE_BigInt)number};
  HYPRE_IJMatrixGetObject(matrix, (void **)&r.matrix);
  HYPRE_ParCSRMatrixGetRow(r.matrix, r.number, &r.size, &r.columns, &r.values);
  return r;
}

static void restore_row(row *r) {
  HYPRE_ParCSRMatrixRestoreRow(r->matrix, r->number, &r->size, &r->columns, &r->values);
}

/* Double the diagonal of the first row of each component. */
static sp_status pin(HYPRE_IJMatrix matrix, const sp_space *space, const sp_constants *constants) {
  const MPI_Comm comm = space->platform->comm;
  const sp_numbering *numbering = space->numbering;
  const int components = constants->components;
  sp_gid *first;
  SP_TRY(sp_agree(comm, sp_allocate((size_t)components, sizeof *first, "components", &first)));
  for (int k = 0; k < components; k++) first[k] = INT64_MAX;
  for (sp_lid i = numbering->owned; i-- > 0;)
    if (constants->of_dof[i] >= 0) first[constants->of_dof[i]] = numbering->first + i;
  MPI_Allreduce(MPI_IN_PLACE, first, components, SP_MPI_GID, MPI_MIN, comm);
  for (int k = 0; k < components; k++) {
    if (first[k] < numbering->first || first[k] >= numbering->first + numbering->owned) continue;
    double diagonal = 0;
    row r = get_row(matrix, first[k]);
    for (HYPRE_Int n = 0; n < r.size; n++)
      if (r.columns[n] == r.number) diagonal = r.values[n];
    restore_row(&r);
    add_to_diagonal(matrix, r.number, diagonal);
  }
  free(first);
  return SP_OK;
}

sp_status sp_coarse_matrix_create(const sp_operator_setup *setup, const sp_constants *constants,
                                  HYPRE_IJMatrix *out) {
  const MPI_Comm comm = setup->space->platform->comm;
  const sp_numbering *numbering = setup->space->numbering;
  const HYPRE_BigInt begin = (HYPRE_BigInt)numbering->first, end = begin + numbering->owned;
  *out = NULL;
  if (numbering->global > INT_MAX && sizeof(HYPRE_BigInt) <= sizeof(int))
    return sp_fail(SP_ERR_INPUT,
                   "the coarsest problem of multigrid has %lld rows, this hypre counts to %d: use "
                   "solver.preconditioner = jacobi, or a hypre with 64-bit integers",
                   (long long)numbering->global, INT_MAX);
  HYPRE_IJMatrixCreate(comm, begin, end - 1, begin, end - 1, out);
  HYPRE_IJMatrixSetObjectType(*out, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(*out);
  SP_TRY(sp_agree(comm, add_elements(*out, setup)));
  HYPRE_IJMatrixAssemble(*out);
  if (constants->components > 0) {
    SP_TRY(pin(*out, setup->space, constants));
    HYPRE_IJMatrixAssemble(*out);
  }
  return sp_agree(comm, sp_hypre_check("the assembly of the coarse matrix"));
}

/* ---- All free rows on every rank ---- */

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

/* Number the free rows: rows->of_dof, first, count and counts. Copies get their owners' numbers by
 * the exchange: the sum of those and zeros. */
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
    for (sp_lid i = 0; i < space->numbering->owned; i++) rows->count += !is_constrained(setup, i);
    status = find_parts(comm, rows->count, &p);
    rows->counts = p.counts;
  }
  if (!status) {
    int rank, next;
    MPI_Comm_rank(comm, &rank);
    next = rows->first = p.starts[rank];
    rows->matrix.rows = rows->matrix.columns = p.total;
    for (sp_lid i = 0; i < space->numbering->owned; i++)
      if (!is_constrained(setup, i)) numbers[i] = next++;
    sp_exchange_now(space->exchange, SP_SUM, numbers);
    for (size_t i = 0; i < dofs; i++)
      rows->of_dof[i] = is_constrained(setup, (sp_lid)i) ? -1 : (int)numbers[i];
  }
  free(numbers);
  return status;
}

/* This rank's rows, whose columns are numbered by row_of[global DOFs]. */
static sp_status own_rows(const sp_space *space, HYPRE_IJMatrix matrix, const sp_free_rows *rows,
                          const int *row_of, sp_csr *own) {
  const sp_numbering *numbering = space->numbering;
  size_t entries = 0;
  for (sp_lid i = 0; i < numbering->owned; i++) {
    if (rows->of_dof[i] < 0) continue;
    row r = get_row(matrix, numbering->first + i);
    entries += (size_t)r.size;
    restore_row(&r);
  }
  if (entries > INT_MAX)
    return sp_fail(SP_ERR_INPUT,
                   "a rank's part of the coarsest problem has %zu entries, at most "
                   "%d are possible: use more ranks",
                   entries, INT_MAX);
  SP_TRY(sp_csr_create(rows->count, rows->matrix.rows, entries, own));
  int n = 0, at = 0;
  for (sp_lid i = 0; i < numbering->owned; i++) {
    if (rows->of_dof[i] < 0) continue;
    row r = get_row(matrix, numbering->first + i);
    for (HYPRE_Int e = 0; e < r.size; e++) {
      own->column[at] = row_of[r.columns[e]];
      own->values[at++] = r.values[e];
    }
    restore_row(&r);
    own->start[++n] = at;
  }
  return SP_OK;
}

/* rows->matrix from the ranks' own rows. */
static sp_status join_rows(MPI_Comm comm, const sp_csr *own, sp_free_rows *rows) {
  parts by_row = {0}, by_entry = {0};
  const int count = own->rows;
  sp_status status = find_parts(comm, count, &by_row);
  if (!status) status = find_parts(comm, own->start[count], &by_entry);
  if (!status)
    status = sp_agree(
        comm, sp_csr_create(by_row.total, by_row.total, (size_t)by_entry.total, &rows->matrix));
  if (!status) {
    int *start = rows->matrix.start;
    gather(comm, &by_entry, MPI_INT, own->column, rows->matrix.column);
    gather(comm, &by_entry, MPI_DOUBLE, own->values, rows->matrix.values);
    gather(comm, &by_row, MPI_INT, own->start + 1, start + 1);
    for (int r = 0; r < by_row.ranks; r++)
      for (int n = 0; n < by_row.counts[r]; n++)
        start[by_row.starts[r] + n + 1] += by_entry.starts[r];
  }
  free(by_row.counts);
  free(by_entry.counts);
  return status;
}

sp_status sp_coarse_matrix_gather(const sp_operator_setup *setup, HYPRE_IJMatrix matrix,
                                  sp_free_rows *out) {
  const sp_space *space = setup->space;
  const MPI_Comm comm = space->platform->comm;
  parts dofs = {0};
  int *row_of = NULL;
  sp_csr own = {0};
  *out = (sp_free_rows){0};
  sp_status status = number_rows(setup, out);
  if (!status) status = find_parts(comm, (int)space->numbering->owned, &dofs);
  if (!status)
    status =
        sp_agree(comm, sp_allocate((size_t)dofs.total, sizeof *row_of, "coarse rows", &row_of));
  if (!status) {
    gather(comm, &dofs, MPI_INT, out->of_dof, row_of);
    status = sp_agree(comm, own_rows(space, matrix, out, row_of, &own));
  }
  if (!status) status = join_rows(comm, &own, out);
  sp_csr_free(&own);
  free(row_of);
  free(dofs.counts);
  return status;
}
