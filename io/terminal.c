#include "io/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double SECONDS_BETWEEN = 0.1;
static const double SECONDS_OF_SILENCE = 10; /* without a terminal */

/* Launchers give every rank a pseudo-terminal, even if their own output goes to a file. So on Linux
 * the parent's standard output decides; if it is unknown, our own. */
static bool reaches_terminal(void) {
  if (!isatty(STDOUT_FILENO)) return false;
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/fd/1", (long)getppid());
  const int parent = open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK);
  if (parent < 0) return errno == ENOENT; /* ENOENT: no /proc here; else a pipe, or no permission */
  const bool terminal = isatty(parent);
  close(parent);
  return terminal;
}

static void reserve_descriptor(int number, int access) {
  if (fcntl(number, F_GETFD) >= 0) return;
  const int file = open("/dev/null", access);
  if (file < 0 || file == number) return;
  (void)dup2(file, number);
  close(file);
}

void sp_terminal_reserve(void) {
  reserve_descriptor(STDOUT_FILENO, O_RDONLY);
  reserve_descriptor(STDERR_FILENO, O_WRONLY);
}

void sp_terminal_start(void) {
  /* Pass a buffer: otherwise glibc keeps the one-byte buffer of an unbuffered stream. */
  static char buffer[BUFSIZ];
  (void)setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
}

/* The errno of the first write that failed; later ones may succeed. */
static int write_error;

static void flush_output(void) {
  errno = 0;
  if (fflush(stdout) != 0 && write_error == 0) write_error = errno;
}

sp_terminal sp_terminal_open(MPI_Comm comm, bool quiet) {
  const bool prints = sp_comm_rank(comm) == 0 && !quiet;
  return (sp_terminal){
      .prints = prints, .progress = prints && reaches_terminal(), .last_printed = MPI_Wtime()};
}

void sp_terminal_clear(sp_terminal *terminal) {
  if (!terminal->line_open) return;
  printf("\r\033[K"); /* to the first column, erase to the end of the line */
  flush_output();
  terminal->line_open = false;
}

sp_status sp_terminal_check(void) {
  flush_output();
  if (!ferror(stdout)) return SP_OK;
  return sp_fail(SP_ERR_SYSTEM, "cannot write to standard output%s%s", write_error ? ": " : "",
                 write_error ? strerror(write_error) : "");
}

void sp_terminal_print(sp_terminal *terminal, const char *format, ...) {
  if (!terminal->prints) return;
  sp_terminal_clear(terminal);
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  flush_output();
  terminal->last_printed = MPI_Wtime();
  va_end(arguments);
}

void sp_terminal_show(sp_terminal *terminal, const char *format, ...) {
  if (!terminal->prints) return;
  terminal->last_shown = MPI_Wtime();
  if (!terminal->progress && terminal->last_shown - terminal->last_printed < SECONDS_OF_SILENCE)
    return;
  sp_terminal_clear(terminal);
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  if (!terminal->progress) printf("\n");
  flush_output();
  terminal->line_open = terminal->progress;
  terminal->last_printed = terminal->last_shown;
}

bool sp_terminal_is_due(const sp_terminal *terminal) {
  return terminal->prints && MPI_Wtime() - terminal->last_shown >= SECONDS_BETWEEN;
}
