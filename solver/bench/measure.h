/* Measurements of operators on a deformed box: the program's own (operators/backend.h), the paper's
 * kernels (operators/paper/paper.h), and copies of as many bytes for the roofline. The inputs are
 * random. Every result is first compared with the host backend in double precision and stored
 * geometry, which tests/ compare with the bilinear forms. Functions are Collective unless marked
 * Local. */
#pragma once

#include "operators/operator.h"
#include "operators/paper/measure.h"
#include "operators/paper/paper.h"
#include "solver/bench/options.h"

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
  sp_gpu gpu;        /* all zero on the host */
  sp_stamps *stamps; /* NULL on the host, whose clock is MPI_Wtime */

  sp_bench_row made; /* the data below are for this key */
  sp_mesh *mesh;
  sp_space *space;
  bool *constrained;    /* [local DOFs]: the boundary, if the problem has boundary conditions */
  double *x, *expected; /* [local DOFs]: random, 0 where constrained; A x without constraints */
  int operator_count;   /* one per input set, since an operator contains its geometry */
  sp_operator **operators;
  int sets;
  size_t size;         /* numbers per set */
  sp_vector from, to;  /* [sets][size] */
  sp_vector factors;   /* [sets][...], of a kernel of the paper */
  sp_vector workspace; /* of a kernel of the paper */
} sp_bench;

/* `samples`: 1 to SP_BENCH_MOST_REPEATS. The caller closes *b, also after an error; the platform
 * must outlive it. Errors: SP_ERR_SYSTEM. */
sp_status sp_bench_open(const sp_platform *platform, int samples, bool warm_cache, sp_bench *b);
void sp_bench_close(sp_bench *b);

/* Check and time the measurement whose key *row has, and set its other members. Errors:
 * SP_ERR_SYSTEM, also for a wrong result. */
sp_status sp_bench_measure(sp_bench *b, sp_bench_row *row);

/* ---- For solver/bench ---- */

/* Make mesh, space, x and expected for a key, and drop the data that do not fit it; a key of zeros
 * drops all. */
sp_status sp_bench_set_key(sp_bench *b, const sp_bench_row *key);

/* Write values[size] to each of b->sets parts of a vector. Local. */
sp_status sp_bench_fill_sets(const sp_bench *b, const double *values, sp_vector *sets);

/* Make to, and from with x[nodes[i]] in each set: x[i] without nodes, random numbers without x. */
sp_status sp_bench_set_vectors(sp_bench *b, size_t size, const double *x, const sp_lid *nodes);

/* Make factors and work space of the kernel row->paper, and set row->resources. */
sp_status sp_bench_paper_create(sp_bench *b, sp_bench_row *row);

/* Queue one call; `turn` is its number, from 0, for choosing the input set. Local. */
typedef sp_status sp_bench_call(const sp_bench *b, int turn);
sp_bench_call sp_bench_paper_call;

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
