/* The values of a run for programs: each goes to the run log and to the JSON document, under the
 * same name. A failure of the log is kept, and nothing is written to it afterwards; the run goes
 * on. Ranks that have neither pass through. All functions Local. */
#ifndef SP_SOLVER_RUN_RECORD_H
#define SP_SOLVER_RUN_RECORD_H

#include <stdbool.h>

#include "io/json.h"
#include "io/run_log.h"
#include "solver/problem/errors.h"

typedef struct sp_record {
  sp_run_log *log;   /* NULL for none */
  sp_json *json;     /* NULL for none; borrowed */
  char failure[512]; /* the log's first failure, "" if none */
} sp_record;

/* Keep the log's failure, if `status` is one and the first. */
void sp_record_keep(sp_record *record, sp_status status);

/* Whether there is a log, and none of its writes has failed. */
bool sp_record_logs(const sp_record *record);

/* A root attribute of the log, and a member of the document. */
void sp_record_text(sp_record *record, const char *name, const char *value);
void sp_record_integer(sp_record *record, const char *name, int64_t value);
void sp_record_real(sp_record *record, const char *name, double value, const char *unit);

/* Text with commas between its words; in the document an array. */
void sp_record_words(sp_record *record, const char *name, const char *words);

/* A table of the log (io/run_log.h); in the document an array with one object per row. */
void sp_record_table(sp_record *record, const char *name, int column_count,
                     const sp_log_column *columns, int row_count, const sp_log_cell *cells);

/* The phase table. */
void sp_record_phases(sp_record *record, int count, const sp_phase_row *rows);

/* The error norms; in the document an object. */
void sp_record_errors(sp_record *record, const sp_error_norms *norms);

#endif
