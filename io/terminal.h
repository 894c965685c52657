/* Output for the user: lines and tables on standard output, written by rank 0 only, and, if
 * standard output is a terminal, a progress line that is overwritten in place. In a pipe or a file
 * the text becomes a line if nothing has been printed for ten seconds. With -q there is nothing.
 * Error messages are printed by main, to standard error. All functions Local. */
#pragma once

#include <mpi.h>
#include <stdbool.h>

#include "io/error.h"

typedef struct sp_record sp_record;

typedef struct sp_terminal {
  bool prints;         /* rank 0 without -q */
  bool progress;       /* prints, and standard output is a terminal */
  bool line_open;      /* a progress line is on screen */
  double last_shown;   /* MPI_Wtime of the last call that would show one */
  double last_printed; /* MPI_Wtime of the last output */
  sp_record *record;   /* of the tables' contents (io/record.h); borrowed; NULL for none */
} sp_terminal;

/* Call once, before MPI_Init. If standard output or standard error is closed, opens /dev/null in
 * its place: otherwise a library's file or socket could get its number and our output. Writes to
 * standard output still fail (sp_terminal_check); writes to standard error are lost. */
void sp_terminal_reserve(void);

/* Call once, after MPI_Init and before anything is printed: sets the buffer of standard output,
 * which MPI libraries may have removed. Without a buffer sp_terminal_check could not report why a
 * write failed. */
void sp_terminal_start(void);

/* A terminal for this rank. */
sp_terminal sp_terminal_open(MPI_Comm comm, bool quiet);

/* Print like printf; clears a progress line first. */
void sp_terminal_print(sp_terminal *terminal, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Replace the progress line. Without a terminal, print a line if the last one is ten seconds old.
 */
void sp_terminal_show(sp_terminal *terminal, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* True if the last sp_terminal_show was a tenth of a second ago or more. */
bool sp_terminal_is_due(const sp_terminal *terminal);

/* Remove the progress line, if there is one. */
void sp_terminal_clear(sp_terminal *terminal);

/* Flush standard output and check that everything printed was written: a full disk behind `>` must
 * not go unnoticed. Errors: SP_ERR_SYSTEM. */
sp_status sp_terminal_check(void);
