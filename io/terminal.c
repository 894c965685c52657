#include "io/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double SECONDS_BETWEEN = 0.1;

/* ---- Without a terminal ---- */

/* With the second between two looks, below ten. */
static const double SECONDS_OF_SILENCE = 8;

/* The progress line. A separate thread prints it, because the main thread may be inside a library
 * for minutes. */
static struct {
  pthread_mutex_t lock; /* of standard output and the rest */
  bool watched;
  char doing[160]; /* "" for nothing */
  double printed;  /* time of the last line */
} batch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Launchers give every rank a pseudo-terminal, even if their own output goes to a file: on Linux,
 * ask what the parent process writes to. If that is unknown, our own standard output decides. */
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

static void reserve(int number, int access) {
  if (fcntl(number, F_GETFD) >= 0) return;
  const int file = open("/dev/null", access);
  if (file < 0 || file == number) return;
  (void)dup2(file, number);
  close(file);
}

void sp_terminal_reserve(void) {
  reserve(STDOUT_FILENO, O_RDONLY);
  reserve(STDERR_FILENO, O_WRONLY);
}

void sp_terminal_start(void) {
  /* Pass a buffer: without one, glibc keeps that of an unbuffered stream, one byte. */
  static char buffer[BUFSIZ];
  (void)setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
}

/* The errno of the first write that failed; later ones may succeed. */
static int write_error;

static void flush(void) {
  errno = 0;
  if (fflush(stdout) != 0 && write_error == 0) write_error = errno;
}

static void *watch(void *unused) {
  for (;;) {
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    pthread_mutex_lock(&batch.lock);
    if (batch.doing[0] && seconds_now() - batch.printed >= SECONDS_OF_SILENCE) {
      printf("%s\n", batch.doing);
      flush();
      batch.printed = seconds_now();
    }
    pthread_mutex_unlock(&batch.lock);
  }
  return unused;
}

/* Signals are the main thread's. Without the thread only these lines are missing. */
static void start_watch(void) {
  sigset_t all, before;
  pthread_t thread;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  if (pthread_create(&thread, NULL, watch, NULL) == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  batch.watched = true;
  batch.printed = seconds_now();
}

static void keep(const char *format, va_list arguments) {
  if (!batch.watched) start_watch();
  pthread_mutex_lock(&batch.lock);
  vsnprintf(batch.doing, sizeof batch.doing, format, arguments);
  pthread_mutex_unlock(&batch.lock);
}

sp_terminal sp_terminal_open(MPI_Comm comm, bool quiet) {
  const bool prints = sp_comm_rank(comm) == 0 && !quiet;
  return (sp_terminal){.prints = prints, .progress = prints && reaches_terminal()};
}

static void clear_line(sp_terminal *terminal) {
  if (!terminal->line_open) return;
  printf("\r\033[K"); /* to the first column, erase to the end of the line */
  flush();
  terminal->line_open = false;
}

void sp_terminal_clear(sp_terminal *terminal) {
  clear_line(terminal);
  pthread_mutex_lock(&batch.lock);
  batch.doing[0] = '\0';
  pthread_mutex_unlock(&batch.lock);
}

sp_status sp_terminal_check(void) {
  flush();
  if (!ferror(stdout)) return SP_OK;
  return sp_fail(SP_ERR_SYSTEM, "cannot write to standard output%s%s", write_error ? ": " : "",
                 write_error ? strerror(write_error) : "");
}

void sp_terminal_print(sp_terminal *terminal, const char *format, ...) {
  if (!terminal->prints) return;
  clear_line(terminal);
  va_list arguments;
  va_start(arguments, format);
  pthread_mutex_lock(&batch.lock);
  vprintf(format, arguments);
  flush();
  batch.printed = seconds_now();
  pthread_mutex_unlock(&batch.lock);
  va_end(arguments);
}

static void show(sp_terminal *terminal, const char *format, va_list arguments) {
  if (!terminal->prints) return;
  terminal->last_shown = MPI_Wtime();
  if (!terminal->progress) {
    keep(format, arguments);
    return;
  }
  clear_line(terminal);
  vprintf(format, arguments);
  flush();
  terminal->line_open = true;
}

void sp_terminal_show(sp_terminal *terminal, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  show(terminal, format, arguments);
  va_end(arguments);
}

bool sp_terminal_is_due(const sp_terminal *terminal) {
  return terminal->prints && MPI_Wtime() - terminal->last_shown >= SECONDS_BETWEEN;
}

bool sp_terminal_is_silent(const sp_terminal *terminal, double seconds) {
  if (!terminal->prints || terminal->progress) return false;
  pthread_mutex_lock(&batch.lock);
  const double since = seconds_now() - batch.printed;
  pthread_mutex_unlock(&batch.lock);
  return since >= seconds;
}

void sp_terminal_progress(sp_terminal *terminal, const char *format, ...) {
  va_list arguments;
  if (!sp_terminal_is_due(terminal)) return;
  va_start(arguments, format);
  show(terminal, format, arguments);
  va_end(arguments);
}
