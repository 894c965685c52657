/* Output in a pipe: a program that does not print is silent for less than ten seconds, and says
 * what it does. */
#include "io/terminal.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "tests/check.h"

static void wait_for(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
}

/* What has come through the pipe. */
static const char *take(int pipe) {
  static char text[256];
  const ssize_t size = read(pipe, text, sizeof text - 1);
  text[size > 0 ? size : 0] = '\0';
  return text;
}

static void test_pipe(int pipe, char text[4][256]) {
  sp_terminal terminal = sp_terminal_open(MPI_COMM_WORLD, false);
  sp_terminal_print(&terminal, "heading\n");
  sp_terminal_show(&terminal, "  %s ...", "mesh");
  snprintf(text[0], sizeof text[0], "%s", take(pipe));
  wait_for(10);
  snprintf(text[1], sizeof text[1], "%s", take(pipe));
  CHECK(sp_terminal_is_silent(&terminal, 0) && !sp_terminal_is_silent(&terminal, 10), "silent");
  sp_terminal_print(&terminal, "result\n");
  CHECK(!sp_terminal_is_silent(&terminal, 5), "not silent");
  snprintf(text[2], sizeof text[2], "%s", take(pipe));
  sp_terminal_clear(&terminal);
  wait_for(10);
  snprintf(text[3], sizeof text[3], "%s", take(pipe));
  sp_terminal quiet = sp_terminal_open(MPI_COMM_WORLD, true);
  CHECK(!sp_terminal_is_silent(&quiet, 0) && !sp_terminal_is_due(&quiet), "quiet");
}

int main(int argc, char **argv) {
  int ends[2];
  char text[4][256];
  test_begin(&argc, &argv);
  sp_terminal_start();
  const int out = dup(STDOUT_FILENO);
  CHECK(pipe(ends) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0, "pipe");
  CHECK(dup2(ends[1], STDOUT_FILENO) >= 0, "dup2");
  test_pipe(ends[0], text);
  fflush(stdout);
  dup2(out, STDOUT_FILENO);
  CHECK_TEXT(text[0], "heading\n");
  CHECK_TEXT(text[1], "  mesh ...\n");
  CHECK_TEXT(text[2], "result\n");
  CHECK(text[3][0] == '\0', "'%s'", text[3]);
  return check_end();
}
