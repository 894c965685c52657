/* Signals that end the program: SIGTERM, SIGINT and SIGUSR1, which mpirun passes on. */
#pragma once

#include <stdbool.h>

/* Catch the signals from now on. The first signal is noted, and the program ends itself at its next
 * check (sp_interrupt_noted; is_interrupted of solver/linear/cg.h). The second ends the process at
 * once. Before this call the first signal ends it, because there is nothing to save. Repeated calls
 * do nothing. Local. */
void sp_interrupt_watch(void);

/* In a library signals belong to its caller: sp_interrupt_watch does nothing from now on. Local. */
void sp_interrupt_leave(void);

/* True if this process got such a signal. Local. */
bool sp_interrupt_noted(void);
