#include "io/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static const double SECONDS_BETWEEN = 0.1;

sp_terminal sp_terminal_open(MPI_Comm comm, bool quiet) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  const bool prints = rank == 0 && !quiet;
  return (sp_terminal){.prints = prints, .progress = prints && isatty(STDOUT_FILENO)};
}

void sp_terminal_clear(sp_terminal *terminal) {
  if (!terminal->line_open) return;
  printf("\r\033[K"); /* to the first column, erase to the end of the line */
  fflush(stdout);
  terminal->line_open = false;
}

void sp_terminal_print(sp_terminal *terminal, const char *format, ...) {
  if (!terminal->prints) return;
  sp_terminal_clear(terminal);
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  fflush(stdout);
}

void sp_terminal_progress(sp_terminal *terminal, const char *format, ...) {
  const double now = MPI_Wtime();
  if (!terminal->progress || now - terminal->last_shown < SECONDS_BETWEEN) return;
  sp_terminal_clear(terminal);
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  fflush(stdout);
  terminal->line_open = true;
  terminal->last_shown = now;
}
