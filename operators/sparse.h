/* Sparse matrices by rows in host memory (sp_csr, operators/backend.h): sums of rows, products,
 * transposes. They run on threads (io/threads.h), with the same bits for any number of threads. All
 * functions are Local. */
#pragma once

#include "operators/backend.h"

/* Allocate a matrix; all entries of `start` are zero. Call sp_csr_destroy also after an error. */
sp_status sp_csr_create(int rows, int columns, size_t entries, sp_csr *out);
void sp_csr_destroy(sp_csr *matrix);

/* *out = the matrix with a one in column[i] of row i, and no entry if column[i] < 0. The caller
 * frees *out, also after an error. Errors: SP_ERR_SYSTEM. */
sp_status sp_csr_select(int rows, int columns, const int *column, sp_csr *out);

/* Return the length of the longest row. */
int sp_csr_longest(const sp_csr *matrix);

/* A row during its summation, with a hash table from columns to entries. */
typedef struct sp_csr_entry {
  int column;
  double value;
} sp_csr_entry;
typedef struct sp_csr_slot {
  int row, place; /* valid for row number `row`, counted from 1 */
} sp_csr_slot;
typedef struct sp_csr_row {
  int number, count;
  unsigned mask;
  sp_csr_slot *slots;    /* [mask + 1] */
  sp_csr_entry *entries; /* [count] */
} sp_csr_row;

/* Add `value` to the entry in `column`. */
static inline void sp_csr_row_add(sp_csr_row *row, int column, double value) {
  unsigned s = (unsigned)column & row->mask;
  while (row->slots[s].row == row->number && row->entries[row->slots[s].place].column != column)
    s = (s + 1) & row->mask;
  if (row->slots[s].row != row->number) {
    row->slots[s] = (sp_csr_slot){row->number, row->count};
    row->entries[row->count++] = (sp_csr_entry){column, 0};
  }
  row->entries[row->slots[s].place].value += value;
}

/* out[rows][columns]: sum(context, i, row) makes row i by sp_csr_row_add, with at most `most`
 * columns. It is called twice per row, on several threads. Columns of a row ascend. The caller
 * frees *out, also after an error. Errors: SP_ERR_SYSTEM; SP_ERR_INPUT for more entries than int
 * counts. */
sp_status sp_csr_sum(int rows, int columns, size_t most, const void *context,
                     void (*sum)(const void *context, int i, sp_csr_row *row), sp_csr *out);

/* *out = a b. Errors and *out: as above. */
sp_status sp_csr_product(const sp_csr *a, const sp_csr *b, sp_csr *out);

/* *out = the transpose; its columns ascend. The caller frees *out, also after an error. Errors:
 * SP_ERR_SYSTEM. */
sp_status sp_csr_transpose(const sp_csr *matrix, sp_csr *out);
