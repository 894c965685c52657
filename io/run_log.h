/* The run log: one small HDF5 file that records what ran, where, and how fast.
 *
 *     /           attributes: program, version, git_revision, start_time (ISO 8601, UTC), hosts
 *                 (comma-separated), ranks, device, case (the resolved INI text), status, and what
 *                 sp_run_log_attribute_* added (sizes, results)
 *     /matvec     one row per operator application: iteration, seconds, gflops, gbytes_per_second,
 *                 gdofs_per_second
 *     /matvec_seconds_by_rank   [rows of /matvec][ranks], seconds
 *     /residual   one row per iteration: iteration, absolute, relative, error, seconds
 *     /phases     one row per phase: name, calls, seconds_min, seconds_mean, seconds_max, share,
 *                 share_of_total, part_of
 *     /errors     one row: L2, H1, max; absent until sp_run_log_errors is called
 *     /NAME       what sp_run_log_table adds, for instance /study (solver/run/study.h)
 *
 * Tables are one-dimensional compound datasets; a table has the attribute "units", one string that
 * lists the unit of each column in order ("1, s, GFLOP/s, GB/s, GDOF/s"). Columns hold doubles and
 * 64-bit integers, names are strings.
 *
 * Rank 0 alone owns the file and calls these functions. Rows are kept in memory. The first
 * sp_run_log_flush writes the file for the first time; afterwards a new version
 * replaces it about once a second (io/file.h), so PATH is always readable, also after a kill.
 * Before the first flush PATH is not touched, so a run that fails early does not replace the log of
 * an earlier one: sp_solve flushes when the iteration begins, a study after its first row. Uses
 * HDF5's serial driver. All functions Local. */
#ifndef SP_IO_RUN_LOG_H
#define SP_IO_RUN_LOG_H

#include <stdint.h>

#include "io/error.h"

typedef struct sp_run_log sp_run_log;

typedef struct sp_matvec_row {
  int64_t iteration;
  double seconds, gflops, gbytes_per_second, gdofs_per_second;
} sp_matvec_row;

typedef struct sp_residual_row {
  int64_t iteration;
  double absolute, relative; /* ||r||, ||r|| / ||b|| */
  double error;              /* estimated in the energy norm, relative */
  double seconds;            /* since the iteration began */
} sp_residual_row;

typedef struct sp_phase_row {
  const char *name, *part_of; /* the row that this one is a part of, "" for the whole */
  int64_t calls;
  double seconds_min, seconds_mean, seconds_max; /* over ranks */
  double share, share_of_total;                  /* of the solve, 0..1; of the whole run */
} sp_phase_row;

/* Create the log in memory, and check that PATH can be written, so that a bad path fails before
 * the solve. Errors: SP_ERR_SYSTEM "cannot write log PATH: reason". The caller closes *out.
 */
sp_status sp_run_log_create(const char *path, int ranks, sp_run_log **out);

/* Root attributes; a second call with the same name replaces the value. Strings are copied. A unit
 * (NULL or "": none) becomes the attribute NAME_unit. sp_run_log_create sets ranks, start_time and
 * status = "running"; all other attributes are the caller's. */
sp_status sp_run_log_attribute_string(sp_run_log *log, const char *name, const char *value);
sp_status sp_run_log_attribute_integer(sp_run_log *log, const char *name, int64_t value);
sp_status sp_run_log_attribute_double(sp_run_log *log, const char *name, double value,
                                      const char *unit);

/* Append rows; `seconds_by_rank` has one entry per rank. May rewrite the file (see above). */
sp_status sp_run_log_matvec(sp_run_log *log, const sp_matvec_row *row,
                            const double *seconds_by_rank);
sp_status sp_run_log_residual(sp_run_log *log, const sp_residual_row *row);

/* Tables that are written as a whole: a column is 64-bit integers, doubles or strings. */
typedef enum sp_log_kind { SP_LOG_INTEGER, SP_LOG_REAL, SP_LOG_TEXT } sp_log_kind;

typedef struct sp_log_column {
  const char *name, *unit; /* "1" for a pure number */
  sp_log_kind kind;
} sp_log_column;

typedef union sp_log_cell {
  int64_t integer;
  double real;
  const char *text;
} sp_log_cell;

/* Create or replace the table /NAME from cells[row_count][column_count]. Everything is copied. */
sp_status sp_run_log_table(sp_run_log *log, const char *name, int column_count,
                           const sp_log_column *columns, int row_count, const sp_log_cell *cells);

/* Replace the phase table, the error norms. */
sp_status sp_run_log_phases(sp_run_log *log, int count, const sp_phase_row *rows);
sp_status sp_run_log_errors(sp_run_log *log, double l2, double h1, double max);

/* Write now. The first call replaces an older file. */
sp_status sp_run_log_flush(sp_run_log *log);

/* Write a last time, unless nothing has been written, and free; *log becomes NULL even if writing
 * fails. NULL-safe. */
sp_status sp_run_log_close(sp_run_log **log);

#endif
