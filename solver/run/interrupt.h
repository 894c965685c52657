/* Signals that ask the program to end: SIGTERM and SIGINT. */
#ifndef SP_SOLVER_RUN_INTERRUPT_H
#define SP_SOLVER_RUN_INTERRUPT_H

#include <stdbool.h>

/* From now on the first of them is only noted, and the program ends itself where it asks
 * (sp_interrupt_noted, in an iteration as a wish of solver/linear/cg.h); the second one ends the
 * process at once. Before, the first one does: there is nothing to save. Calls after the first do
 * nothing. Local. */
void sp_interrupt_watch(void);

/* Whether this process has been asked to end. Local. */
bool sp_interrupt_noted(void);

#endif
