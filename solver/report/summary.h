/* Results of a run as one JSON document for programs: sp_solve --json FILE.
 *
 * The document exists from the end of the command line on. The report (solver/report/report.h)
 * fills its record through sp_terminal.record, until the run ends or fails. At the end,
 * sp_summary_write adds the outcome and writes it, also for a case that cannot be read.
 *
 * FILE is replaced as a whole (io/file.h). It must not be one of the run's other files. For "-" the
 * document goes to standard output, and all other output of this process to standard output goes to
 * standard error. */
#pragma once

#include "io/record.h"
#include "solver/config/config.h"

typedef struct sp_summary sp_summary;

/* Open the document. `path` is FILE; NULL: no document, and *out is NULL, which all functions here
 * accept. `case_file` is read by the run; NULL: none. Call it before anything is printed. `path`
 * must outlive *out. Errors: SP_ERR_INPUT for a FILE that the document must not replace,
 * SP_ERR_SYSTEM "cannot write json FILE: reason". Collective. */
sp_status sp_summary_open(MPI_Comm comm, const char *path, const char *case_file, sp_summary **out);

/* Its record, borrowed; NULL on ranks other than 0. Local. */
sp_record *sp_summary_record(sp_summary *summary);

/* Check FILE against the other files of the case. Errors: SP_ERR_INPUT, after which
 * sp_summary_write writes nothing. Collective. */
sp_status sp_summary_check(sp_summary *summary, const sp_config *config);

/* The document without a file: *record = a record with its first members, on this rank; *text = the
 * document with the outcome of a run, which the caller frees. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_summary_begin(sp_record **record);
sp_status sp_summary_format(sp_record *record, const sp_kept_error *outcome, char **text);

/* Add status, exit code and message, and write the document. Returns `status`, or the failure of
 * the write if there was no other. Collective. */
sp_status sp_summary_write(sp_summary *summary, sp_status status);

/* Free. NULL-safe; sets *summary to NULL. Local. */
void sp_summary_close(sp_summary **summary);
