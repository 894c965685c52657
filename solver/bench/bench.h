/* The study behind sp_bench. It times operators on a deformed box by order and mesh: the program's
 * own (operators/backend.h), the paper's kernels (operators/paper/paper.h), and copies of the same
 * number of bytes for the roofline. The inputs are random. Every result is first compared with the
 * host backend in double precision and stored geometry, which tests/ compare with the bilinear
 * forms.
 *
 * The file, written by rank 0 (io/run_log.h):
 *
 *     /        program, version, git_revision, start_time (ISO 8601, UTC), hosts, ranks, device,
 *              exchange, options (the command line), status ("running", "complete", or the error);
 *              on a GPU cuda_driver and cuda_runtime (versions), multiprocessors and, with their
 *              units as NAME_unit, clock, cache, memory_bandwidth_theoretical (absent if unknown),
 *              shared_bandwidth_formula, shared_bandwidth_measured and fp64_measured (attributes);
 *              at the end figure_of_merit, the highest gdofs_per_second of the program's own
 *              operators in the last measurement of sp_bench_what that was requested, and
 *              figure_of_merit_of, which row that is
 *     /bench   one row per measurement: the columns of sp_bench_row; threads and kernel, 0 without
 *              a kernel of the paper; shared_traffic, bytes per element, s_r + s_w of the paper's
 *              shared-memory roofline
 *
 * --json FILE: the same, with the rows as a list, at the end of the study, also of a failed one.
 *
 * Functions are Collective unless marked Local. */
#pragma once

#include "io/terminal.h"
#include "operators/operator.h"
#include "operators/paper/measure.h"
#include "operators/paper/paper.h"

/* ---- Options ---- */

typedef enum sp_bench_what {
  SP_BENCH_COPY,        /* for the roofline */
  SP_BENCH_UNASSEMBLED, /* from E-vector to E-vector, as in the paper */
  SP_BENCH_OPERATOR,    /* from L-vector to L-vector */
  SP_BENCH_CG           /* one iteration of conjugate gradients */
} sp_bench_what;

/* "copy", "unassembled" ... by sp_bench_what, and "double", "single" by sp_precision. */
extern const char *const sp_bench_what_names[], *const sp_bench_precision_names[];

/* Options with values: numbers, or constants of the enum whose names the command line has. A study
 * measures all combinations of the first ones, of which the last varies fastest. */
typedef enum sp_bench_option {
  SP_BENCH_DOFS,     /* of the mesh, one value; empty if there are SP_BENCH_ELEMENTS */
  SP_BENCH_ELEMENTS, /* of meshes */
  SP_BENCH_ORDERS,
  SP_BENCH_PROBLEMS,
  SP_BENCH_PRECISIONS,
  SP_BENCH_GEOMETRIES,
  SP_BENCH_MEASURES,
  SP_BENCH_VARIED,
  SP_BENCH_KERNELS = SP_BENCH_VARIED, /* 0: the program's own, 1: the paper's */
  SP_BENCH_DEVICE,                    /* one value, as the next two */
  SP_BENCH_EXCHANGE,
  SP_BENCH_REPEATS,
  SP_BENCH_LISTS
} sp_bench_option;

enum { SP_BENCH_MOST_VALUES = 16, SP_BENCH_MOST_REPEATS = 1000 };

typedef struct sp_bench_list {
  int count;
  int64_t values[SP_BENCH_MOST_VALUES]; /* each once */
} sp_bench_list;

typedef struct sp_bench_options {
  sp_bench_list lists[SP_BENCH_LISTS];
  bool warm_cache, quiet, help;
  const char *output, *json; /* json: NULL for none */
} sp_bench_options;

/* Parse the command line. *out keeps a pointer into argv, whose lists are modified. Errors:
 * SP_ERR_INPUT. Local, as are the next two. */
sp_status sp_bench_options_parse(int argc, char **argv, sp_bench_options *out);
bool sp_bench_has(const sp_bench_options *options, sp_bench_option option, int64_t value);
void sp_bench_print_usage(void);

/* ---- Measurements ---- */

/* lambda of the screened Poisson problems. */
#define SP_BENCH_LAMBDA 1.0

/* One measurement. The members up to warm_cache are its key, which is unique in a study. Members
 * that do not apply are 0, or NAN if they are reals. */
typedef struct sp_bench_row {
  sp_bench_what what;
  sp_operator_kind problem;
  sp_geometry_kind geometry; /* stored or trilinear; stored for copies */
  sp_precision precision;
  const sp_paper_kernel *paper; /* NULL: the program's own, or a copy */
  int order;                    /* N */
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
  double error; /* max |result - reference| / max |reference|; not of copy and cg */
  sp_paper_resources resources;
} sp_bench_row;

/* "bp3.5 double trilinear unassembled  N = 7, 512 elements". Local. */
void sp_bench_describe(const sp_bench_row *row, size_t size, char *text);

/* A device with its clock, and the data of the last measurement, which the next one reuses or
 * replaces. */
typedef struct sp_bench {
  const sp_platform *platform; /* borrowed */
  int samples;
  bool warm_cache;   /* all calls use the same input: as requested, or always on a host */
  sp_gpu_facts gpu;  /* all zero on the host */
  sp_stamps *stamps; /* NULL on the host, whose clock is MPI_Wtime */

  sp_bench_row made; /* the data below are for this key */
  sp_mesh *mesh;
  sp_space *space;
  bool *constrained;    /* [local DOFs]: the boundary, if the problem has boundary conditions */
  double *x, *expected; /* [local DOFs]: random, 0 where constrained; A x without constraints */
  int operator_count;   /* one per input set, since an operator contains its geometry */
  sp_operator **operators;
  int sets;
  size_t size;                  /* numbers per set */
  sp_vector from, to;           /* [sets][size] */
  sp_vector factors, workspace; /* of a kernel of the paper: [sets][...], and one for all */
} sp_bench;

/* `samples`: 1 to SP_BENCH_MOST_REPEATS. The caller closes *b, also after an error; the platform
 * must outlive it. Errors: SP_ERR_SYSTEM. */
sp_status sp_bench_open(const sp_platform *platform, int samples, bool warm_cache, sp_bench *b);
void sp_bench_close(sp_bench *b);

/* Check and time the measurement whose key *row has, and set its other members. Errors:
 * SP_ERR_SYSTEM, also for a wrong result. */
sp_status sp_bench_measure(sp_bench *b, sp_bench_row *row);

/* Queue one call; `turn` is its number, from 0, for choosing the input set. Local. */
typedef sp_status sp_bench_call(const sp_bench *b, int turn);

/* The number of input sets of `bytes` each that together are several times larger than the cache; 1
 * with warm_cache. The same on all ranks, for the largest `bytes` of any rank. */
int sp_bench_input_sets(const sp_bench *b, double bytes);

/* Time samples of row->calls calls each, queued back to back, after some to warm up. If that is 0,
 * their number is chosen: on a GPU one long call or up to ten short ones, on the host the number
 * that the clock's resolution needs. Sets the times and rates of *row; its dofs, flops and bytes
 * must be set before. */
sp_status sp_bench_time(const sp_bench *b, sp_bench_call *call, sp_bench_row *row);

/* Set the times and rates of *row from samples[count], in seconds per call; sorts them. For each
 * sample the slowest rank counts. */
void sp_bench_summarize(MPI_Comm comm, int count, double *samples, sp_bench_row *row);

/* ---- Study ---- */

typedef struct sp_bench_plan {
  int count;
  sp_bench_row *rows;
} sp_bench_plan;

/* Plan the rows, of which only the keys are set. Rows with the same data follow each other: the
 * copy, the paper's kernels at the orders that they have, the program's own. In single precision
 * there are neither conjugate gradients nor the paper's kernels. The caller destroys *plan, also
 * after an error. Errors: SP_ERR_INPUT if requested kernels are missing in this program or on this
 * device, or if there is nothing to measure. Local. */
sp_status sp_bench_plan_make(const sp_bench_options *options, const sp_bench *b,
                             sp_bench_plan *plan);
void sp_bench_plan_destroy(sp_bench_plan *plan); /* Local. */

/* Run the plan: print each measurement, and write options->output and json, replacing older files.
 * `record`, on rank 0, has the attributes and gains the rows. `is_interrupted` is called between
 * measurements. Errors: SP_ERR_INPUT also if the output is not a regular file; SP_ERR_INTERRUPTED:
 * the file has the rows measured so far. */
sp_status sp_bench_study(sp_bench *b, const sp_bench_options *options, sp_record *record,
                         sp_terminal *terminal, bool (*is_interrupted)(void));
