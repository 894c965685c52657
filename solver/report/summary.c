#define _POSIX_C_SOURCE 200809L /* F_DUPFD_CLOEXEC */
#include "solver/report/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file.h"
#include "solver/report/provenance.h"
#include "solver/report/report.h"

struct sp_summary {
  MPI_Comm comm;
  sp_output_path path;
  sp_record *record; /* on rank 0 */
  int stream;        /* where standard output was; -1 for a file */
  bool refused;      /* FILE may not be written */
};

static sp_status fail_write(const sp_summary *summary, sp_status status) {
  return sp_fail(status, "cannot write json %s: %s",
                 summary->stream < 0 ? summary->path.path : "to standard output",
                 sp_error_message());
}

/* Keep standard output for the document only; libraries also print. */
static sp_status take_standard_output(sp_summary *summary) {
  summary->stream = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int flags = fcntl(summary->stream, F_GETFL);
  const bool is_open = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY; /* sp_terminal_reserve */
  if (flags >= 0 && !is_open) errno = EBADF;
  if (!is_open)
    return sp_fail(SP_ERR_SYSTEM, "cannot write json to standard output: %s", strerror(errno));
  if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return SP_OK;
  return sp_fail(SP_ERR_SYSTEM, "cannot write tables to standard error: %s", strerror(errno));
}

static sp_status check_file(sp_summary *summary, const char *case_file) {
  const sp_input_path input = {.what = "the case file", .path = case_file};
  SP_TRY(sp_output_paths_check(&summary->path, 1, &input, 1));
  const sp_status status = sp_file_try(summary->path.path, SP_FILE_JSON);
  return status ? fail_write(summary, status) : SP_OK;
}

sp_status sp_summary_begin(sp_record **record) {
  SP_TRY(sp_record_create(record));
  sp_record_program(*record, "sp_solve");
  /* First, because readers look there; sp_summary_format sets the values. */
  sp_record_text(*record, "status", NULL);
  sp_record_text(*record, "exit_code", NULL);
  sp_record_text(*record, "message", NULL);
  return SP_OK;
}

sp_status sp_summary_format(sp_record *record, const sp_kept_error *outcome, char **text) {
  sp_record_text(record, "status", sp_outcome_word(outcome->status));
  sp_record_integer(record, "exit_code", sp_exit_code(outcome->status));
  sp_record_text(record, "message", outcome->status ? outcome->message : NULL);
  return sp_record_format(record, text);
}

static sp_status open_on_rank(sp_summary *summary, const char *case_file) {
  const int rank = sp_comm_rank(summary->comm);
  if (strcmp(summary->path.path, "-") == 0)
    SP_TRY(take_standard_output(summary));
  else if (rank == 0)
    SP_TRY(check_file(summary, case_file));
  return rank == 0 ? sp_summary_begin(&summary->record) : SP_OK;
}

sp_status sp_summary_open(MPI_Comm comm, const char *path, const char *case_file,
                          sp_summary **out) {
  *out = NULL;
  if (!path) return SP_OK;
  sp_status status = sp_allocate(1, sizeof **out, "summary", out);
  if (!status) {
    **out = (sp_summary){.comm = comm,
                         .path = {.name = "--json",
                                  .path = path,
                                  .purpose = "",
                                  .where = "--json",
                                  .is_option = true},
                         .stream = -1};
    status = open_on_rank(*out, case_file);
  }
  status = sp_agree(comm, status);
  if (status) sp_summary_close(out);
  return status;
}

sp_record *sp_summary_record(sp_summary *summary) {
  return summary ? summary->record : NULL;
}

sp_status sp_summary_check(sp_summary *summary, const sp_config *config) {
  if (!summary || summary->stream >= 0) return SP_OK;
  const sp_status status = sp_agree(summary->comm, sp_outputs_check_beside(config, &summary->path));
  summary->refused = status;
  return status;
}

static sp_status write_document(sp_summary *summary, const sp_kept_error *outcome) {
  SP_OWNED char *text = NULL;
  sp_status status = sp_summary_format(summary->record, outcome, &text);
  if (!status)
    status = summary->stream < 0 ? sp_file_replace(summary->path.path, text, strlen(text))
                                 : sp_file_write(summary->stream, text, strlen(text));
  return status ? fail_write(summary, status) : SP_OK;
}

sp_status sp_summary_write(sp_summary *summary, sp_status status) {
  if (!summary || summary->refused) return status;
  sp_kept_error outcome;
  sp_error_keep(status, &outcome);
  const sp_status written =
      sp_agree(summary->comm, summary->record ? write_document(summary, &outcome) : SP_OK);
  if (!written) return sp_error_restore(&outcome);
  return status ? sp_fail(status, "%s; besides, %s", outcome.message, sp_error_message()) : written;
}

void sp_summary_close(sp_summary **summary) {
  if (!*summary) return;
  if ((*summary)->stream >= 0) close((*summary)->stream);
  sp_record_destroy(&(*summary)->record);
  free(*summary);
  *summary = NULL;
}
