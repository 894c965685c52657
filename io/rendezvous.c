#include "io/rendezvous.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "io/threads.h"

/* Numbers of entries sent to and received from each rank, and their starts, [size + 1]. */
typedef struct routes {
  MPI_Comm comm;
  int size;
  int *memory;
  int *sent, *sent_start, *received, *received_start;
} routes;

static int rank_of_name(const sp_row_name *name, int size) {
  uint64_t hash = 0;
  for (int i = 0; i < 2; i++) hash = sp_hash_fold(hash, (uint64_t)name->part[i]);
  return (int)(hash % (uint64_t)size);
}

static int compare_names(const sp_row_name *a, const sp_row_name *b) {
  for (int i = 0; i < 2; i++)
    if (a->part[i] != b->part[i]) return a->part[i] < b->part[i] ? -1 : 1;
  return 0;
}

/* `entries` are rows or names: both begin with a name. */
static int compare(const void *left, const void *right) {
  return compare_names(left, right);
}

static sp_status sum_counts(const routes *t, const int *count, int *start) {
  int64_t sum = 0;
  for (int r = 0; r < t->size; r++) {
    start[r] = (int)sum;
    sum += count[r];
    if (sum > INT_MAX)
      return sp_fail(SP_ERR_INPUT, "more than %d rows for one rank: use more ranks", INT_MAX);
  }
  start[t->size] = (int)sum;
  return SP_OK;
}

/* Count the entries for each rank: each has `stride` bytes and begins with a name. Collective. */
static sp_status make_routes(routes *t, int64_t count, const void *entries, size_t stride) {
  const size_t ranks = (size_t)t->size + 1;
  sp_status status = sp_allocate(4 * ranks, sizeof *t->memory, "rank counts", &t->memory);
  if (!status && count > INT_MAX)
    status = sp_fail(SP_ERR_INPUT, "%lld rows on one rank: use more ranks", (long long)count);
  SP_TRY(sp_agree(t->comm, status));
  t->sent = t->memory;
  t->sent_start = t->sent + ranks;
  t->received = t->sent_start + ranks;
  t->received_start = t->received + ranks;
  for (int64_t i = 0; i < count; i++) {
    const void *entry = (const char *)entries + (size_t)i * stride;
    t->sent[rank_of_name(entry, t->size)]++;
  }
  MPI_Alltoall(t->sent, 1, MPI_INT, t->received, 1, MPI_INT, t->comm);
  status = sum_counts(t, t->sent, t->sent_start);
  if (!status) status = sum_counts(t, t->received, t->received_start);
  return sp_agree(t->comm, status);
}

/* order[i] becomes the index of entry i among the entries sent. */
static void order_entries(const routes *t, int64_t count, const void *entries, size_t stride,
                          int *order) {
  for (int64_t i = 0; i < count; i++) {
    const void *entry = (const char *)entries + (size_t)i * stride;
    order[i] = t->sent_start[rank_of_name(entry, t->size)]++;
  }
  for (int r = t->size; r > 0; r--) t->sent_start[r] = t->sent_start[r - 1];
  t->sent_start[0] = 0;
}

/* Send entries of `words` 8-byte words along the routes, or with `back` in reverse. */
static void exchange(const routes *t, bool back, int words, const void *from, void *to) {
  MPI_Datatype entry;
  MPI_Type_contiguous(words, MPI_INT64_T, &entry);
  MPI_Type_commit(&entry);
  if (back)
    MPI_Alltoallv(from, t->received, t->received_start, entry, to, t->sent, t->sent_start, entry,
                  t->comm);
  else
    MPI_Alltoallv(from, t->sent, t->sent_start, entry, to, t->received, t->received_start, entry,
                  t->comm);
  MPI_Type_free(&entry);
}

/* ---- Answers ---- */

sp_status sp_rendezvous_answer(MPI_Comm comm, int64_t count, int words, const int64_t *rows,
                               int answer_words, int64_t *answers,
                               sp_rendezvous_answers *answer_all, const void *context) {
  routes t = {.comm = comm, .size = sp_comm_size(comm)};
  const size_t w = (size_t)words, a = (size_t)answer_words;
  int64_t *sent = NULL, *received = NULL, *found = NULL, *back = NULL;
  int *order = NULL;
  sp_status status = make_routes(&t, count, rows, w * sizeof *rows);
  if (!status) {
    const size_t arrived = (size_t)t.received_start[t.size];
    status = sp_allocate((size_t)count, w * sizeof *sent, "rows", &sent);
    if (!status) status = sp_allocate((size_t)count, sizeof *order, "rows", &order);
    if (!status) status = sp_allocate((size_t)count, a * sizeof *back, "answers", &back);
    if (!status) status = sp_allocate(arrived, w * sizeof *received, "rows", &received);
    if (!status) status = sp_allocate(arrived, a * sizeof *found, "answers", &found);
    status = sp_agree(comm, status);
    if (!status) {
      order_entries(&t, count, rows, w * sizeof *rows, order);
      for (size_t n = 0; n < (size_t)count; n++)
        memcpy(&sent[w * (size_t)order[n]], &rows[w * n], w * sizeof *rows);
      exchange(&t, false, words, sent, received);
      status = answer_all(comm, arrived, received, found, context);
    }
    if (!status) {
      exchange(&t, true, answer_words, found, back);
      for (size_t n = 0; n < (size_t)count; n++)
        memcpy(&answers[a * n], &back[a * (size_t)order[n]], a * sizeof *answers);
    }
  }
  SP_FREE(t.memory, sent, received, found, back, order);
  return status;
}

/* ---- Values ---- */

/* A row, or the request for one. */
typedef struct entry {
  sp_row_name name;
  int64_t is_request;
  double values[SP_ROW_VALUES];
} entry;

enum { ENTRY_WORDS = sizeof(entry) / 8, NAME_WORDS = sizeof(sp_row_name) / 8 };

/* Rows before requests for them. */
static int compare_entries(const void *left, const void *right) {
  const entry *a = *(const entry *const *)left, *b = *(const entry *const *)right;
  const int order = compare_names(&a->name, &b->name);
  return order ? order : (a->is_request > b->is_request) - (a->is_request < b->is_request);
}

static sp_status look_up(const entry *all, size_t count, const entry **sorted,
                         double (*answers)[SP_ROW_VALUES]) {
  const entry *row = NULL;
  for (size_t i = 0; i < count; i++) sorted[i] = &all[i];
  qsort(sorted, count, sizeof *sorted, compare_entries);
  for (size_t i = 0; i < count; i++) {
    const entry *e = sorted[i];
    const bool known = row && compare_names(&row->name, &e->name) == 0;
    if (known != (bool)e->is_request)
      return sp_fail(SP_ERR_INPUT, "%s the name (%lld, %lld)",
                     known ? "two rows have" : "no row has", (long long)e->name.part[0],
                     (long long)e->name.part[1]);
    if (known)
      memcpy(answers[e - all], row->values, sizeof row->values);
    else
      row = e;
  }
  return SP_OK;
}

static sp_status answer_entries(MPI_Comm comm, size_t count, const int64_t *rows, int64_t *answers,
                                const void *context) {
  (void)context;
  const entry **sorted;
  sp_status status = sp_allocate(count, sizeof *sorted, "rows", &sorted);
  if (!status)
    status = look_up((const entry *)rows, count, sorted, (double(*)[SP_ROW_VALUES])answers);
  free(sorted);
  return sp_agree(comm, status);
}

sp_status sp_rendezvous(MPI_Comm comm, int64_t row_count, const sp_row *rows, int64_t wanted_count,
                        const sp_row_name *wanted, double (*values)[SP_ROW_VALUES]) {
  const size_t own = (size_t)row_count, all = own + (size_t)wanted_count;
  entry *entries;
  double(*found)[SP_ROW_VALUES] = NULL;
  sp_status status = sp_allocate(all, sizeof *entries, "rows", &entries);
  if (!status) status = sp_allocate(all, sizeof *found, "rows", &found);
  status = sp_agree(comm, status);
  if (!status) {
    for (size_t i = 0; i < own; i++) {
      entries[i].name = rows[i].name;
      memcpy(entries[i].values, rows[i].values, sizeof rows[i].values);
    }
    for (size_t i = own; i < all; i++)
      entries[i] = (entry){.name = wanted[i - own], .is_request = true};
    status = sp_rendezvous_answer(comm, (int64_t)all, ENTRY_WORDS, (const int64_t *)entries,
                                  SP_ROW_VALUES, (int64_t *)found, answer_entries, NULL);
  }
  for (size_t i = own; i < all && !status; i++) memcpy(values[i - own], found[i], sizeof found[i]);
  SP_FREE(entries, found);
  return status;
}

/* ---- Numbers ---- */

typedef struct numbered {
  sp_row_name name;
  int64_t *number;
} numbered;

/* Names that arrived, in buckets by their hash. */
enum { BUCKETS = 1024 };
typedef struct buckets {
  size_t start[BUCKETS + 1];
  numbered *names;
  int64_t first[BUCKETS]; /* number of different names in the bucket, then the first number */
} buckets;

/* Another hash than that of rank_of_name: it spreads the names of one rank over all buckets. */
static size_t bucket_of(const int64_t *name) {
  return sp_hash_fold(sp_hash_fold(1, (uint64_t)name[0]), (uint64_t)name[1]) % BUCKETS;
}

static void fill_buckets(size_t count, const int64_t *names, int64_t *numbers, buckets *b) {
  for (size_t n = 0; n < count; n++) b->start[bucket_of(&names[2 * n]) + 1]++;
  for (size_t k = 0; k < BUCKETS; k++) b->start[k + 1] += b->start[k];
  for (size_t n = 0; n < count; n++)
    b->names[b->start[bucket_of(&names[2 * n])]++] =
        (numbered){{{names[2 * n], names[2 * n + 1]}}, &numbers[n]};
  memmove(&b->start[1], &b->start[0], BUCKETS * sizeof *b->start);
  b->start[0] = 0;
}

/* Number the names of each bucket from 0 on, in their order. */
static sp_status number_some(void *buckets_, void *none, size_t begin, size_t end) {
  (void)none;
  buckets *b = buckets_;
  for (size_t k = begin; k < end; k++) {
    numbered *const first = &b->names[b->start[k]], *const last = &b->names[b->start[k + 1]];
    qsort(first, (size_t)(last - first), sizeof *first, compare);
    int64_t different = 0;
    for (numbered *n = first; n < last; n++) {
      if (n > first && compare(n - 1, n) != 0) different++;
      *n->number = different;
    }
    b->first[k] = different + (last > first);
  }
  return SP_OK;
}

static sp_status shift_some(void *buckets_, void *none, size_t begin, size_t end) {
  (void)none;
  const buckets *b = buckets_;
  for (size_t k = begin; k < end; k++)
    for (size_t n = b->start[k]; n < b->start[k + 1]; n++) *b->names[n].number += b->first[k];
  return SP_OK;
}

static sp_status number_arrived(MPI_Comm comm, size_t count, const int64_t *names, int64_t *numbers,
                                const void *context) {
  (void)context;
  buckets *b;
  int64_t different = 0, before = 0;
  sp_status status = sp_allocate(1, sizeof *b, "names", &b);
  if (!status) status = sp_allocate(count, sizeof *b->names, "names", &b->names);
  if (!status) {
    fill_buckets(count, names, numbers, b);
    status = sp_loop_over("names", BUCKETS, 1 + count / BUCKETS, b, number_some);
  }
  status = sp_agree(comm, status);
  for (size_t k = 0; k < BUCKETS && !status; k++) different += b->first[k];
  if (!status) MPI_Exscan(&different, &before, 1, MPI_INT64_T, MPI_SUM, comm);
  for (size_t k = 0; k < BUCKETS && !status; k++) {
    const int64_t own = b->first[k];
    b->first[k] = before;
    before += own;
  }
  if (!status)
    status = sp_agree(comm, sp_loop_over("names", BUCKETS, 1 + count / BUCKETS, b, shift_some));
  if (b) free(b->names);
  free(b);
  return status;
}

sp_status sp_rendezvous_number(MPI_Comm comm, int64_t count, const sp_row_name *names,
                               int64_t *numbers) {
  return sp_rendezvous_answer(comm, count, NAME_WORDS, (const int64_t *)names, 1, numbers,
                              number_arrived, NULL);
}
