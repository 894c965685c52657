#include "solver/solve/interrupt.h"

#include <signal.h>
#include <stddef.h>

static const int signals[] = {SIGTERM, SIGINT, SIGUSR1};
enum { SIGNALS = sizeof signals / sizeof *signals };

static volatile sig_atomic_t noted;

static void set_handlers(void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  /* Cannot fail: these signals exist and can be caught. */
  for (int s = 0; s < SIGNALS; s++) (void)sigaction(signals[s], &action, NULL);
}

static void note_signal(int signal) {
  (void)signal;
  noted = 1;
  set_handlers(SIG_DFL);
}

static bool watching; /* or never will */

void sp_interrupt_leave(void) {
  watching = true;
}

void sp_interrupt_watch(void) {
  if (watching) return;
  watching = true;
  set_handlers(note_signal);
}

bool sp_interrupt_noted(void) {
  return noted;
}
