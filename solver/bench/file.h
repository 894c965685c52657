/* The results of sp_bench: rows in memory, and the HDF5 file that keeps them.
 *
 *     /        program, version, git_revision, ... (attributes)
 *     /bench   one row per measurement: the columns of sp_bench_row
 *
 * The attributes are program, version, git_revision, start_time (ISO 8601, UTC), hosts, ranks,
 * device, exchange, options (the command line) and status ("running", "complete", or the error); on
 * a GPU cuda_driver and cuda_runtime (versions), multiprocessors and, with their units as
 * NAME_unit, clock, cache, memory_bandwidth_theoretical (absent if unknown),
 * shared_bandwidth_formula, shared_bandwidth_measured and fp64_measured.
 *
 * Rank 0 writes it (io/run_log.h); every rank holds all rows. */
#pragma once

#include "io/record.h"
#include "solver/bench/options.h"

/* One measurement. The members up to warm_cache are its key, which is unique in a file. Members
 * that do not apply are 0, or NAN if they are reals. */
typedef struct sp_bench_row {
  sp_bench_what what;
  sp_operator_kind problem;
  sp_geometry_kind geometry; /* stored or trilinear */
  sp_precision precision;
  int threads; /* of the paper's kernels: dimensions of a thread block, 2 or 3; else 0 */
  int kernel;  /* number in the paper; 0: the program's own, and copies */
  int order;   /* N */
  sp_gid elements;
  int warm_cache; /* 1: all calls use the same input; always for cg */

  int sets;           /* number of input sets, used in turn */
  sp_gid dofs;        /* nodes of all elements for copy and unassembled, else degrees of freedom */
  int samples, calls; /* a sample is the time of `calls` calls */
  double seconds, seconds_min, seconds_max; /* of one call: median, smallest and largest sample */
  double flops, bytes;                      /* of one call (operators/counts.h); copy: the problem's
                                             * flops, and the bytes read and written */
  double tflops, gbytes_per_second, gdofs_per_second; /* from the median. Of a copy, tflops is the
                                                       * paper's roofline B_gl F / (d_r + d_w) */
  double error; /* of the result, relative (solver/bench/check.h); not of cg */
  int registers, shared_bytes, local_bytes, block_threads; /* operators/paper/paper.h */
  int shared_traffic; /* bytes per element, s_r + s_w of the paper's shared-memory roofline */
} sp_bench_row;

typedef struct sp_bench_file sp_bench_file;

/* Create the file `path`, or replace an older one. `record`, on rank 0, has the attributes and
 * gains the rows; it must outlive *out, which the caller closes. Errors: SP_ERR_INPUT if `path` is
 * not a regular file; SP_ERR_SYSTEM "cannot write PATH:
 * reason". Collective over `comm`, as are all functions below unless marked Local. */
sp_status sp_bench_file_open(MPI_Comm comm, const char *path, sp_record *record,
                             sp_bench_file **out);

/* Find the row of the same measurement as `key`, or NULL; valid until a row is added. Local. */
const sp_bench_row *sp_bench_file_find(const sp_bench_file *file, const sp_bench_row *key);

/* Add a row, the same on every rank. May write the file. */
sp_status sp_bench_file_add(sp_bench_file *file, const sp_bench_row *row);

/* Write the file a last time, with the status "complete" or, if `outcome` is an error, its message,
 * and free; *file becomes NULL even if writing fails. Returns `outcome` if it is an error, else the
 * status of writing. NULL-safe. */
sp_status sp_bench_file_close(sp_bench_file **file, sp_status outcome);
