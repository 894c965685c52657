/* The run log: one small HDF5 file with the case, its results and its times.
 *
 *     /           attributes: texts and numbers of a record (io/record.h); a unit is NAME_unit.
 *     /NAME       rows and tables of the record: one-dimensional compound datasets, compressed if
 *                 they have many rows.
 *     /NAME       series: compound datasets with a row per iteration, or arrays [rows][width]
 *
 * A dataset has the attribute "units", one string that lists the unit of each column in order
 * ("1, s, GFLOP/s"). Columns hold doubles, 64-bit integers and strings.
 *
 * One rank owns the file and calls these functions. Everything is kept in memory. The first
 * sp_run_log_flush writes the file for the first time; afterwards a new version replaces it about
 * once a second (io/file.h), so PATH is always readable, also after a kill. Before the first flush
 * PATH is not touched, so a run that fails early does not replace the log of an earlier one. Uses
 * HDF5's serial driver. All functions Local. */
#pragma once

#include "io/record.h"

typedef struct sp_run_log sp_run_log;

/* A table that grows row by row. Its rows are `width` numbers of 8 bytes: first an int64_t, then
 * doubles. Without names of columns it is an array of doubles. */
typedef struct sp_log_series {
  const char *name, *units;
  int width;
  const char *const *columns; /* names, or NULL */
} sp_log_series;

enum { SP_LOG_SERIES_MOST = 4 };

/* Create the log in memory, and check that PATH can be written, so that a bad path fails before the
 * solve. `record` and the arrays of `series` must outlive the log. Errors: SP_ERR_SYSTEM "cannot
 * write log PATH: reason". The caller closes *out. */
sp_status sp_run_log_create(const char *path, const sp_record *record, int series_count,
                            const sp_log_series *series, sp_run_log **out);

/* Append a row to series number `which`. */
sp_status sp_run_log_append(sp_run_log *log, int which, const void *row);

/* Write now. The first call replaces an older file. */
sp_status sp_run_log_flush(sp_run_log *log);

/* Write if it has been written before, and it is time to do so again. */
sp_status sp_run_log_flush_if_due(sp_run_log *log);

/* Write a last time if the file has been written before, and free. *log becomes NULL even if
 * writing fails. NULL-safe. */
sp_status sp_run_log_close(sp_run_log **log);
