#include "io/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[SP_MESSAGE_SIZE];

sp_status sp_fail(sp_status status, const char *format, ...) {
  /* Format into a copy: an argument may be the old message itself. */
  char text[SP_MESSAGE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  for (char *c = text; *c; c++) /* of names and values: the message is one line, for a terminal */
    if ((unsigned char)*c < ' ' || *c == 0x7F) *c = '?';
  memcpy(message, text, sizeof message);
  return status;
}

const char *sp_error_message(void) {
  return message;
}

void sp_error_keep(sp_status status, sp_kept_error *kept) {
  kept->status = status;
  memcpy(kept->message, status ? message : "", status ? sizeof message : 1);
}

sp_status sp_error_restore(const sp_kept_error *kept) {
  return kept->status ? sp_fail(kept->status, "%s", kept->message) : SP_OK;
}

sp_status sp_agree(MPI_Comm comm, sp_status status) {
  const int rank = sp_comm_rank(comm), size = sp_comm_size(comm);
  const int failed = status == SP_OK ? 2 * size : status == SP_ERR_ELSEWHERE ? size + rank : rank;
  int first;
  MPI_Allreduce(&failed, &first, 1, MPI_INT, MPI_MIN, comm);
  if (first == 2 * size) return SP_OK;
  first %= size;
  int agreed = (int)status;
  MPI_Bcast(&agreed, 1, MPI_INT, first, comm);
  MPI_Bcast(message, SP_MESSAGE_SIZE, MPI_CHAR, first, comm);
  return (sp_status)agreed;
}

int sp_exit_code(sp_status status) {
  static const int codes[] = {[SP_OK] = 0,
                              [SP_ERR_INPUT] = 1,
                              [SP_ERR_SYSTEM] = 1,
                              [SP_ERR_ELSEWHERE] = 1,
                              [SP_ERR_NOT_CONVERGED] = 2,
                              [SP_ERR_BREAKDOWN] = 3,
                              [SP_ERR_STUDY] = 4,
                              [SP_ERR_INTERRUPTED] = 5};
  return codes[status];
}
