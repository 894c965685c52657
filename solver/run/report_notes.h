/* Notes on what users forget: a line each, only where it applies. */
#ifndef SP_SOLVER_RUN_REPORT_NOTES_H
#define SP_SOLVER_RUN_REPORT_NOTES_H

#include "io/terminal.h"
#include "solver/problem/problem.h"

/* What the set-up found; zeros: nothing to tell. */
typedef struct sp_notes {
  int parts;       /* connected parts of the mesh */
  sp_gid contacts; /* pairs of exterior faces that lie on each other */
} sp_notes;

/* Print the notes, also on groups that no line of [boundary] names. Local. */
void sp_report_notes(sp_terminal *terminal, const sp_problem *problem, const sp_hexes *hexes,
                     const sp_notes *notes);

#endif
