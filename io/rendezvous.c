#include "io/rendezvous.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "io/threads.h"

/* Numbers of entries sent to and received from each rank, and their starts, [size + 1]. */
typedef struct routes {
  MPI_Comm comm;
  int size;
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

/* Count the entries for each rank: each has `stride` bytes and begins with a name. The caller frees
 * *memory, also after an error. Collective. */
static sp_status make_routes(routes *t, int64_t count, const void *entries, size_t stride,
                             int **memory) {
  const size_t ranks = (size_t)t->size + 1;
  sp_status status = sp_allocate(4 * ranks, sizeof **memory, "rank counts", memory);
  if (!status && count > INT_MAX)
    status = sp_fail(SP_ERR_INPUT, "%lld rows on one rank: use more ranks", (long long)count);
  SP_TRY(sp_agree(t->comm, status));
  t->sent = *memory;
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
static void exchange_entries(const routes *t, bool back, int words, const void *from, void *to) {
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

/* Answer the questions that arrived at this rank. Collective. */
typedef sp_status answer_arrived(MPI_Comm comm, const sp_questions *arrived, const void *context);

/* Send the rows to the ranks of their names, and return the answers of `answer` there. */
static sp_status exchange_rows(MPI_Comm comm, const sp_questions *own, answer_arrived *answer,
                               const void *context) {
  const size_t count = own->count, w = own->words, a = own->answer_words;
  routes t = {.comm = comm, .size = sp_comm_size(comm)};
  SP_OWNED int64_t *sent = NULL, *received = NULL, *found = NULL, *back = NULL;
  SP_OWNED int *order = NULL, *memory = NULL;
  if (t.size == 1) {
    memset(own->answers, 0, a * count * sizeof *own->answers);
    return answer(comm, own, context);
  }
  SP_TRY(make_routes(&t, (int64_t)count, own->rows, w * sizeof *own->rows, &memory));
  const size_t total = (size_t)t.received_start[t.size];
  SP_TRY(sp_agree(comm, SP_ALLOCATE("rows", SP_ARRAY(sent, w * count), SP_ARRAY(order, count),
                                    SP_ARRAY(back, a * count), SP_ARRAY(received, w * total),
                                    SP_ARRAY(found, a * total))));
  order_entries(&t, (int64_t)count, own->rows, w * sizeof *own->rows, order);
  for (size_t n = 0; n < count; n++)
    memcpy(&sent[w * (size_t)order[n]], &own->rows[w * n], w * sizeof *sent);
  exchange_entries(&t, false, (int)w, sent, received);
  SP_TRY(answer(comm, &(sp_questions){total, w, a, received, found}, context));
  exchange_entries(&t, true, (int)a, found, back);
  for (size_t n = 0; n < count; n++)
    memcpy(&own->answers[a * n], &back[a * (size_t)order[n]], a * sizeof *back);
  return SP_OK;
}

/* ---- Buckets ---- */

/* A row that arrived, by its index. */
typedef struct arrival {
  sp_row_name name;
  size_t row;
} arrival;

/* Rows that arrived, in buckets by their hash. */
enum { BUCKETS = 1024 };
typedef struct buckets {
  size_t count, words;
  const int64_t *rows;
  size_t start[BUCKETS + 1];
  arrival *list;
  int64_t first[BUCKETS]; /* number of different names in the bucket, then the first number */
  int64_t *numbers;
} buckets;

/* Not the hash of rank_of_name, which would put all names of a rank into few buckets. */
static size_t bucket_of(const int64_t *name) {
  return sp_hash_fold(sp_hash_fold(1, (uint64_t)name[0]), (uint64_t)name[1]) % BUCKETS;
}

static void count_some(void *buckets_, size_t begin, size_t end) {
  buckets *b = buckets_;
  for (size_t n = begin; n < end; n++)
    __atomic_fetch_add(&b->start[bucket_of(&b->rows[b->words * n])], 1, __ATOMIC_RELAXED);
}

/* Fill each bucket from its end to its start, in any order; sort_bucket makes it definite. */
static void store_some(void *buckets_, size_t begin, size_t end) {
  buckets *b = buckets_;
  for (size_t n = begin; n < end; n++) {
    const int64_t *name = &b->rows[b->words * n];
    const size_t to = __atomic_sub_fetch(&b->start[bucket_of(name)], 1, __ATOMIC_RELAXED);
    b->list[to] = (arrival){{{name[0], name[1]}}, n};
  }
}

static int compare_arrivals(const void *left, const void *right) {
  const arrival *a = left, *b = right;
  const int order = compare_names(&a->name, &b->name);
  return order ? order : (a->row > b->row) - (a->row < b->row);
}

/* Loop over the buckets. */
static sp_status visit_buckets(buckets *b, void *context, sp_loop_compute *visit) {
  return sp_loop_sum("names", BUCKETS, 1 + b->count / BUCKETS, context, 0, visit, NULL);
}

static void sort_bucket(const buckets *b, size_t k) {
  qsort(&b->list[b->start[k]], b->start[k + 1] - b->start[k], sizeof *b->list, compare_arrivals);
}

/* Deal the rows out; the caller frees the list. */
static sp_status fill_buckets(const sp_questions *arrived, buckets *b) {
  *b = (buckets){.count = arrived->count, .words = arrived->words, .rows = arrived->rows};
  SP_TRY(sp_allocate(b->count, sizeof *b->list, "names", &b->list));
  SP_TRY(sp_loop_over("names", b->count, b->words, b, count_some));
  for (size_t k = 0; k < BUCKETS; k++) b->start[k + 1] += b->start[k];
  return sp_loop_over("names", b->count, b->words, b, store_some);
}

/* Return the end of the arrivals with the name of `first`; the bucket is sorted. */
static size_t end_of_name(const buckets *b, size_t first, size_t last) {
  size_t end = first + 1;
  while (end < last && compare_names(&b->list[first].name, &b->list[end].name) == 0) end++;
  return end;
}

/* ---- Answers ---- */

/* Shared by the loop over buckets; arrays like the list of the buckets. */
typedef struct answering {
  buckets *buckets;
  const sp_questions *arrived;
  const int64_t **sorted; /* [count] */
  int64_t **found;
  int (*compare)(const void *, const void *);
  sp_rendezvous_answers *answer;
  const void *context;
} answering;

static sp_status answer_some(void *answering_, void *none, size_t begin, size_t end) {
  (void)none;
  const answering *a = answering_;
  const buckets *b = a->buckets;
  for (size_t k = begin; k < end; k++) {
    sort_bucket(b, k);
    for (size_t first = b->start[k], next; first < b->start[k + 1]; first = next) {
      next = end_of_name(b, first, b->start[k + 1]);
      for (size_t n = first; n < next; n++) a->sorted[n] = &b->rows[b->words * b->list[n].row];
      if (a->compare) qsort(&a->sorted[first], next - first, sizeof *a->sorted, a->compare);
      for (size_t n = first; n < next; n++)
        a->found[n] =
            &a->arrived
                 ->answers[(size_t)(a->sorted[n] - b->rows) / b->words * a->arrived->answer_words];
      SP_TRY(a->answer(next - first, &a->sorted[first], &a->found[first], a->context));
    }
  }
  return SP_OK;
}

static sp_status answer_names(MPI_Comm comm, const sp_questions *arrived, const void *answering_) {
  answering a = *(const answering *)answering_;
  const size_t count = arrived->count;
  sp_status status = sp_allocate(1, sizeof *a.buckets, "names", &a.buckets);
  a.arrived = arrived;
  if (!status) status = fill_buckets(arrived, a.buckets);
  if (!status) status = SP_ALLOCATE("names", SP_ARRAY(a.sorted, count), SP_ARRAY(a.found, count));
  if (!status) status = visit_buckets(a.buckets, &a, answer_some);
  if (a.buckets) free(a.buckets->list);
  SP_FREE(a.buckets, a.sorted, a.found);
  return sp_agree(comm, status);
}

sp_status sp_rendezvous_answer(MPI_Comm comm, const sp_questions *questions,
                               int (*compare)(const void *, const void *),
                               sp_rendezvous_answers *answer, const void *context) {
  const answering a = {.compare = compare, .answer = answer, .context = context};
  return exchange_rows(comm, questions, answer_names, &a);
}

/* ---- Values ---- */

enum { ROW_WORDS = sizeof(sp_row) / 8, NAME_WORDS = sizeof(sp_row_name) / 8 };

/* Rows with values before requests. */
static int compare_rows(const void *left, const void *right) {
  const sp_row *a = *(const sp_row *const *)left, *b = *(const sp_row *const *)right;
  return (a->is_request > b->is_request) - (a->is_request < b->is_request);
}

static sp_status look_up(size_t count, const int64_t *const *words, int64_t *const *answers,
                         const void *none) {
  (void)none;
  const sp_row *const *rows = (const sp_row *const *)words, *row = rows[0];
  const bool twice = count > 1 && !rows[1]->is_request;
  if (row->is_request || twice)
    return sp_fail(SP_ERR_INPUT, "%s the name (%lld, %lld)", twice ? "two rows have" : "no row has",
                   (long long)row->name.part[0], (long long)row->name.part[1]);
  for (size_t i = 1; i < count; i++) *answers[i] = row->value;
  return SP_OK;
}

sp_status sp_rendezvous(MPI_Comm comm, size_t count, sp_row *rows) {
  SP_OWNED int64_t *found = NULL;
  SP_TRY(sp_agree(comm, sp_allocate(count, sizeof *found, "rows", &found)));
  const sp_questions questions = {count, ROW_WORDS, 1, (const int64_t *)rows, found};
  SP_TRY(sp_rendezvous_answer(comm, &questions, compare_rows, look_up, NULL));
  for (size_t i = 0; i < count; i++)
    if (rows[i].is_request) rows[i].value = found[i];
  return SP_OK;
}

/* ---- Numbers ---- */

/* Number the names of each bucket from 0 on, in their order. */
static sp_status number_some(void *buckets_, void *none, size_t begin, size_t end) {
  (void)none;
  buckets *b = buckets_;
  for (size_t k = begin; k < end; k++) {
    sort_bucket(b, k);
    for (size_t first = b->start[k], next; first < b->start[k + 1]; first = next) {
      next = end_of_name(b, first, b->start[k + 1]);
      for (size_t n = first; n < next; n++) b->numbers[b->list[n].row] = b->first[k];
      b->first[k]++;
    }
  }
  return SP_OK;
}

static sp_status shift_some(void *buckets_, void *none, size_t begin, size_t end) {
  (void)none;
  const buckets *b = buckets_;
  for (size_t k = begin; k < end; k++)
    for (size_t n = b->start[k]; n < b->start[k + 1]; n++)
      b->numbers[b->list[n].row] += b->first[k];
  return SP_OK;
}

static sp_status number_names(MPI_Comm comm, const sp_questions *arrived, const void *none) {
  (void)none;
  SP_OWNED buckets *b = NULL;
  int64_t different = 0, before = 0;
  sp_status status = sp_allocate(1, sizeof *b, "names", &b);
  if (!status) status = fill_buckets(arrived, b);
  if (!status) {
    b->numbers = arrived->answers;
    status = visit_buckets(b, b, number_some);
  }
  status = sp_agree(comm, status);
  for (size_t k = 0; k < BUCKETS && !status; k++) different += b->first[k];
  if (!status) MPI_Exscan(&different, &before, 1, MPI_INT64_T, MPI_SUM, comm);
  for (size_t k = 0; k < BUCKETS && !status; k++) {
    const int64_t own = b->first[k];
    b->first[k] = before;
    before += own;
  }
  if (!status) status = sp_agree(comm, visit_buckets(b, b, shift_some));
  if (b) free(b->list);
  return status;
}

sp_status sp_rendezvous_number(MPI_Comm comm, int64_t count, const sp_row_name *names,
                               int64_t *numbers) {
  const sp_questions questions = {(size_t)count, NAME_WORDS, 1, (const int64_t *)names, numbers};
  return exchange_rows(comm, &questions, number_names, NULL);
}

/* ---- Gathering ---- */

sp_status sp_gather_records(MPI_Comm comm, const void *mine, size_t count, size_t width,
                            const char *what, void *all, size_t *all_count) {
  SP_OWNED int *lengths = NULL, *starts = NULL;
  SP_OWNED char *records = NULL;
  const int size = sp_comm_size(comm), own = (int)count;
  int64_t total = (int64_t)count;
  memcpy(all, &records, sizeof records);
  *all_count = 0;
  MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT64_T, MPI_SUM, comm);
  if (total > INT_MAX)
    return sp_fail(SP_ERR_INPUT, "%s: more than %d; every rank would have to hold them all", what,
                   INT_MAX);
  SP_TRY(sp_agree(comm, SP_ALLOCATE(what, SP_ARRAY(lengths, size), SP_ARRAY(starts, size),
                                    (sp_array){(size_t)total, width, &records})));
  MPI_Allgather(&own, 1, MPI_INT, lengths, 1, MPI_INT, comm);
  for (int r = 1; r < size; r++) starts[r] = starts[r - 1] + lengths[r - 1];
  MPI_Datatype record;
  MPI_Type_contiguous((int)width, MPI_BYTE, &record);
  MPI_Type_commit(&record);
  MPI_Allgatherv(mine, own, record, records, lengths, starts, record, comm);
  MPI_Type_free(&record);
  *all_count = (size_t)total;
  memcpy(all, &records, sizeof records);
  records = NULL;
  return SP_OK;
}
