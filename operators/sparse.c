#include "operators/sparse.h"

#include <limits.h>
#include <stdint.h>

#include "io/threads.h"

sp_status sp_csr_create(int rows, int columns, size_t entries, sp_csr *out) {
  *out = (sp_csr){.rows = rows, .columns = columns};
  return SP_ALLOCATE("a matrix", SP_ARRAY(out->start, (size_t)rows + 1),
                     SP_ARRAY(out->column, entries), SP_ARRAY(out->values, entries));
}

void sp_csr_destroy(sp_csr *matrix) {
  SP_FREE(matrix->start, matrix->column, matrix->values);
  *matrix = (sp_csr){0};
}

sp_status sp_csr_select(int rows, int columns, const int *column, sp_csr *out) {
  int n = 0;
  SP_TRY(sp_csr_create(rows, columns, (size_t)rows, out));
  for (int i = 0; i < rows; i++) {
    if (column[i] >= 0) {
      out->column[n] = column[i];
      out->values[n++] = 1;
    }
    out->start[i + 1] = n;
  }
  return SP_OK;
}

int sp_csr_longest(const sp_csr *m) {
  int longest = 0;
  for (int i = 0; i < m->rows; i++)
    if (m->start[i + 1] - m->start[i] > longest) longest = m->start[i + 1] - m->start[i];
  return longest;
}

/* ---- Sums of rows ---- */

typedef struct sums {
  const void *context;
  void (*sum)(const void *context, int i, sp_csr_row *row);
  size_t slots; /* of a row's table, a power of two */
  int *counts;  /* [rows], NULL while *out is filled */
  sp_csr *out;
} sums;

static void sort_row(sp_csr_row *row) {
  for (int n = 1; n < row->count; n++) {
    const sp_csr_entry moved = row->entries[n];
    int to = n;
    for (; to > 0 && row->entries[to - 1].column > moved.column; to--)
      row->entries[to] = row->entries[to - 1];
    row->entries[to] = moved;
  }
}

static sp_status sum_some(void *sums_, void *workspace, size_t begin, size_t end) {
  const sums *s = sums_;
  sp_csr_row row = {.mask = (unsigned)(s->slots - 1), .slots = workspace};
  row.entries = (sp_csr_entry *)(row.slots + s->slots);
  for (size_t i = begin; i < end; i++) {
    row.number = (int)i + 1;
    row.count = 0;
    s->sum(s->context, (int)i, &row);
    if (s->counts) {
      s->counts[i] = row.count;
      continue;
    }
    sort_row(&row);
    for (int n = 0, at = s->out->start[i]; n < row.count; n++, at++) {
      s->out->column[at] = row.entries[n].column;
      s->out->values[at] = row.entries[n].value;
    }
  }
  return SP_OK;
}

static sp_status visit_rows(sums *s, int rows, size_t most) {
  enum { CHUNK = 512 }; /* rows: some ten microseconds of work */
  const size_t bytes = s->slots * sizeof(sp_csr_slot) + most * sizeof(sp_csr_entry);
  return sp_loop_run(&(sp_loop){.what = "a matrix",
                                .count = (size_t)rows,
                                .chunk = CHUNK,
                                .workspace_bytes = bytes,
                                .context = s,
                                .compute = sum_some});
}

sp_status sp_csr_sum(int rows, int columns, size_t most, const void *context,
                     void (*sum)(const void *, int, sp_csr_row *), sp_csr *out) {
  SP_OWNED int *counts = NULL;
  sums s = {.context = context, .sum = sum, .slots = 1, .out = out};
  *out = (sp_csr){0};
  if (most > (size_t)columns) most = (size_t)columns;
  while (s.slots < 2 * most + 1) s.slots *= 2;
  SP_TRY(sp_allocate((size_t)rows, sizeof *counts, "a matrix", &counts));
  s.counts = counts;
  SP_TRY(visit_rows(&s, rows, most));
  size_t entries = 0;
  for (int i = 0; i < rows; i++) entries += (size_t)counts[i];
  if (entries > INT_MAX)
    return sp_fail(SP_ERR_INPUT,
                   "a rank's part of the coarsest problem has %zu entries, but at most %d are "
                   "possible; use more ranks",
                   entries, INT_MAX);
  SP_TRY(sp_csr_create(rows, columns, entries, out));
  for (int i = 0; i < rows; i++) out->start[i + 1] = out->start[i] + counts[i];
  s.counts = NULL;
  return visit_rows(&s, rows, most);
}

/* ---- Products and transposes ---- */

typedef struct factors {
  const sp_csr *a, *b;
} factors;

static void multiply_row(const void *factors_, int i, sp_csr_row *row) {
  const factors *f = factors_;
  for (int n = f->a->start[i]; n < f->a->start[i + 1]; n++) {
    const int k = f->a->column[n];
    for (int m = f->b->start[k]; m < f->b->start[k + 1]; m++)
      sp_csr_row_add(row, f->b->column[m], f->a->values[n] * f->b->values[m]);
  }
}

sp_status sp_csr_product(const sp_csr *a, const sp_csr *b, sp_csr *out) {
  const size_t most = (size_t)sp_csr_longest(a) * (size_t)sp_csr_longest(b);
  return sp_csr_sum(a->rows, b->columns, most, &(factors){a, b}, multiply_row, out);
}

typedef struct transposition {
  const sp_csr *from;
  int *start, *column;
  double *values;
  int *first; /* [parts + 1], the first row of each part of the transpose */
} transposition;

/* Fill the rows of a part. Reading all entries costs less than writing them in random order. */
static void transpose_part(void *transposition_, size_t part, size_t end) {
  const transposition *t = transposition_;
  const int first = t->first[part], last = t->first[end];
  for (int i = 0; i < t->from->rows; i++)
    for (int n = t->from->start[i]; n < t->from->start[i + 1]; n++) {
      const int to = t->from->column[n];
      if (to < first || to >= last) continue;
      const int at = t->start[to]++; /* later the start of the next row */
      t->column[at] = i;
      t->values[at] = t->from->values[n];
    }
}

sp_status sp_csr_transpose(const sp_csr *m, sp_csr *out) {
  const int parts = sp_threads(), entries = m->start[m->rows];
  SP_TRY(sp_csr_create(m->columns, m->rows, (size_t)entries, out));
  SP_OWNED int *first = NULL;
  SP_TRY(sp_allocate((size_t)parts + 1, sizeof *first, "a matrix", &first));
  transposition t = {m, out->start, out->column, out->values, first};
  for (int n = 0; n < entries; n++) t.start[m->column[n] + 1]++;
  for (int i = 0, part = 1; i < out->rows; i++) {
    t.start[i + 1] += t.start[i];
    while (part <= parts && (int64_t)t.start[i + 1] * parts >= (int64_t)entries * part)
      first[part++] = i + 1;
  }
  const sp_status status = sp_loop_run(&(sp_loop){.what = "a matrix",
                                                  .count = (size_t)parts,
                                                  .chunk = 1,
                                                  .context = &t,
                                                  .visit = transpose_part});
  for (int i = out->rows; i > 0; i--) t.start[i] = t.start[i - 1];
  t.start[0] = 0;
  return status;
}
