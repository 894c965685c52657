/* The command line of sp_bench. All functions Local. */
#pragma once

#include <stdbool.h>

#include "io/error.h"
#include "mesh/box.h"
#include "operators/platform.h"

/* The kinds of measurements. */
typedef enum sp_bench_what {
  SP_BENCH_COPY,        /* for the roofline */
  SP_BENCH_UNASSEMBLED, /* from E-vector to E-vector, as in the paper */
  SP_BENCH_OPERATOR,    /* from L-vector to L-vector */
  SP_BENCH_CG,          /* one iteration of conjugate gradients */
  SP_BENCH_WHATS
} sp_bench_what;

/* "copy", "unassembled" ... by sp_bench_what, and "double", "single" by sp_precision; both end in
 * NULL. */
extern const char *const sp_bench_what_names[], *const sp_bench_precision_names[];

enum { SP_BENCH_MAX_MESHES = 16, SP_BENCH_MAX_REPEATS = 1000 };

typedef struct sp_bench_options {
  bool problems[SP_OPERATORS];
  bool geometries[3]; /* by sp_geometry_kind: of the program's own kernels */
  bool precisions[SP_PRECISIONS];
  bool orders[SP_MAX_ORDER + 1];
  int paper;                    /* 1: the paper's kernels, beside the program's own */
  bool measure[SP_BENCH_WHATS]; /* `unassembled` includes the copy */
  int mesh_count;               /* 0: by `dofs` */
  int elements[SP_BENCH_MAX_MESHES];
  double dofs;
  sp_device_kind device;
  sp_transport exchange;
  int repeats;
  bool warm_cache, quiet, help;
  const char *output;
} sp_bench_options;

/* Text of --help. */
extern const char sp_bench_usage[];

/* Parse the command line. *out keeps pointers into argv, whose lists are modified. Errors:
 * SP_ERR_INPUT with what was expected and found. */
sp_status sp_bench_options_parse(int argc, char **argv, sp_bench_options *out);
