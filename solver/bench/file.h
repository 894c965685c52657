/* The results of sp_bench: rows in memory, and the HDF5 file that keeps them.
 *
 *     /        program, version, git_revision, ... (attributes)
 *     /bench   one row a measurement: the columns of sp_bench_row, compressed; its attribute
 *              "units" lists the unit of each in order
 *
 * The attributes are program, version, git_revision, start_time (ISO 8601, UTC), hosts, ranks,
 * device, options (the command line, one a line if resumed) and status ("running", "complete", or
 * the error); on a GPU cuda_driver and cuda_runtime (versions), multiprocessors and, with their
 * units as NAME_unit, clock, cache, memory_bandwidth_theoretical (absent where unknown),
 * shared_bandwidth_formula, shared_bandwidth_measured and fp64_measured.
 *
 * About once a second the file is written anew beside the old one and renamed (io/file.h), so that
 * it is readable at every moment and a study that was cut short can be resumed. Every rank
 * holds all rows, rank 0 writes them. */
#ifndef SP_SOLVER_BENCH_FILE_H
#define SP_SOLVER_BENCH_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "io/error.h"
#include "operators/paper/measure.h"

enum { SP_BENCH_WORD = 16 };

/* One measurement. What it is of, down to warm_cache, is unique in a file. Numbers that do not
 * apply are 0, or NAN if they are reals. */
typedef struct sp_bench_row {
  char what[SP_BENCH_WORD];     /* copy, unassembled, operator, cg */
  char problem[SP_BENCH_WORD];  /* the operator's name */
  char geometry[SP_BENCH_WORD]; /* stored, trilinear */
  int64_t threads;              /* of the paper's kernels: 2 or 3, dimensions of a block; else 0 */
  int64_t kernel;               /* number of the paper's; 0: the program's own, and copies */
  int64_t order;                /* N */
  int64_t elements;
  int64_t warm_cache; /* 1: inputs were not changed from call to call; always so for cg */

  int64_t dofs; /* nodes of all elements for copy and unassembled, else degrees of freedom */
  int64_t sets; /* input sets, taken in turn */
  int64_t samples, calls;                   /* the time of a sample is that of so many calls */
  double seconds, seconds_min, seconds_max; /* of one call: median, smallest and largest sample */
  double flops, bytes;                      /* of one call (operators/counts.h); copy: the problem's
                                             * flops, and the bytes read and written */
  double tflops, gbytes_per_second, gdofs_per_second; /* from the median. Of a copy, tflops is the
                                                       * paper's roofline B_gl F / (d_r + d_w) */
  double error; /* of the result against the reference, relative (solver/bench/check.h) */
  int64_t registers, shared_bytes, local_bytes, block_threads; /* operators/paper/paper.h */
  int64_t shared_traffic; /* bytes an element, s_r + s_w of the paper's shared-memory roofline */
} sp_bench_row;

/* What ran where. It and its strings stay with the caller until the file is closed. */
typedef struct sp_bench_provenance {
  const char *device, *exchange, *options;
  bool gpu; /* the rest is known */
  sp_gpu properties;
  double shared_bandwidth, fp64_rate; /* measured */
} sp_bench_provenance;

typedef struct sp_bench_file sp_bench_file;

/* Start the file `path`; with `resume` and if it exists, with its rows. Without, an old file is
 * replaced. No other run may write it until it is closed (io/file_lock.h). The caller closes *out.
 * Errors: SP_ERR_INPUT for a path that is no regular file, for one that another run writes or that
 * holds something else and would be replaced, and for a file to resume that is not of this
 * program, version, revision, device, exchange and number of ranks; SP_ERR_SYSTEM "cannot write
 * PATH: reason". Collective over `comm`, as are all functions here but sp_bench_file_find and
 * sp_bench_file_rows. */
sp_status sp_bench_file_open(MPI_Comm comm, const char *path, const sp_bench_provenance *provenance,
                             bool resume, sp_bench_file **out);

/* The row of the same measurement as `key`, or NULL; valid until a row is added. Local. */
const sp_bench_row *sp_bench_file_find(const sp_bench_file *file, const sp_bench_row *key);

/* All rows, valid until one is added. Local. */
const sp_bench_row *sp_bench_file_rows(const sp_bench_file *file, int *count);

/* Add a row, the same on every rank. May write the file. */
sp_status sp_bench_file_add(sp_bench_file *file, const sp_bench_row *row);

/* Write the file a last time, with `outcome` for its status (the message if that is an error), and
 * free; *file becomes NULL even if that fails. Returns `outcome` unless it is SP_OK. NULL-safe. */
sp_status sp_bench_file_close(sp_bench_file **file, sp_status outcome);

#endif
