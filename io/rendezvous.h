/* Look up values by name on any rank, number names, and answer rows. The hash of a name selects the
 * rank to which owners send their rows and other ranks their requests. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "io/error.h"

/* The name of a row; two names are equal if both parts are. */
typedef struct sp_row_name {
  int64_t part[2];
} sp_row_name;

/* A row with its value, or a request for the value of a name. */
typedef struct sp_row {
  sp_row_name name;
  int64_t is_request, value;
} sp_row;

/* Fill the values of the requests in rows[count]. Several ranks may request the same row. Errors:
 * SP_ERR_INPUT if two rows have the same name or a row is missing. Collective over `comm`; all
 * ranks return the same status. */
sp_status sp_rendezvous(MPI_Comm comm, size_t count, sp_row *rows);

/* Number the distinct names of all ranks 0, 1 ... without gaps: numbers[n] becomes the number of
 * names[n], equal on all ranks. Collective over `comm`; all ranks return the same status. */
sp_status sp_rendezvous_number(MPI_Comm comm, int64_t count, const sp_row_name *names,
                               int64_t *numbers);

/* Fill the answers, initially zero, to the rows of one name, in the order of `compare`. Runs on
 * several threads at a time. */
typedef sp_status sp_rendezvous_answers(size_t count, const int64_t *const *rows,
                                        int64_t *const *answers, const void *context);

/* Rows, which begin with their names, and place for their answers. */
typedef struct sp_questions {
  size_t count, words, answer_words;
  const int64_t *rows; /* [count][words] */
  int64_t *answers;    /* [count][answer_words] */
} sp_questions;

/* Send rows to the ranks of their names; call `answer` there for all rows of one name; and return
 * the answers. `compare` gets pointers to pointers to rows; NULL: in the order of ranks. Errors: as
 * `answer`. Collective over `comm`; all ranks return the same status. */
sp_status sp_rendezvous_answer(MPI_Comm comm, const sp_questions *questions,
                               int (*compare)(const void *, const void *),
                               sp_rendezvous_answers *answer, const void *context);

/* Gather the records of all ranks, in rank order: `mine` is this rank's [count] records of `width`
 * bytes. *(void **)all becomes the array of *all_count records, which the caller frees. `what`
 * names the records in messages. Errors: SP_ERR_INPUT for 2^31 records or more, SP_ERR_SYSTEM; *all
 * is then NULL. Collective over `comm`. */
sp_status sp_gather_records(MPI_Comm comm, const void *mine, size_t count, size_t width,
                            const char *what, void *all, size_t *all_count);
