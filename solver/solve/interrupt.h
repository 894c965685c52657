/* Signals that ask the program to end: SIGTERM, SIGINT and SIGUSR1, which mpirun passes on. */
#pragma once

#include <stdbool.h>

/* Catch the signals from now on. The first signal is noted, and the program ends itself when it
 * next asks (sp_interrupt_noted; is_interrupted of solver/linear/cg.h). The second ends the process
 * at once. Before this call the first one does, because there is nothing to save. Repeated calls do
 * nothing. Local. */
void sp_interrupt_watch(void);

/* In a library signals belong to its caller: sp_interrupt_watch does nothing from now on. Local. */
void sp_interrupt_leave(void);

/* True if this process has been asked to end. Local. */
bool sp_interrupt_noted(void);
