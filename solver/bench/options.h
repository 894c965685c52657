/* The command line of sp_bench. All functions Local. */
#ifndef SP_SOLVER_BENCH_OPTIONS_H
#define SP_SOLVER_BENCH_OPTIONS_H

#include <stdbool.h>

#include "io/error.h"
#include "mesh/types.h"
#include "operators/platform.h"

/* What is measured of a kernel, and the copy that its roofline rests on. */
typedef enum sp_bench_what {
  SP_BENCH_COPY,
  SP_BENCH_UNASSEMBLED, /* between E-vectors, what the paper measures */
  SP_BENCH_OPERATOR,    /* between L-vectors */
  SP_BENCH_CG,          /* one iteration */
  SP_BENCH_WHATS
} sp_bench_what;

enum {
  SP_BENCH_MAX_MESHES = 16,
  SP_BENCH_MAX_KERNEL = 63, /* highest number of a kernel */
  SP_BENCH_MAX_REPEATS = 1000,
  SP_BENCH_PRODUCTION = 0 /* the number of the program's own kernels */
};

typedef struct sp_bench_options {
  bool problems[SP_OPERATORS];
  bool geometries[3]; /* by sp_geometry_kind: of the program's own kernels */
  bool orders[SP_MAX_ORDER + 1];
  bool threads[4];                       /* [2], [3]: the paper's 2D and 3D ladders */
  bool kernels[SP_BENCH_MAX_KERNEL + 1]; /* by number; [SP_BENCH_PRODUCTION] */
  bool all_kernels;                      /* the paper's were asked for as a whole */
  bool measure[SP_BENCH_WHATS];          /* the copy comes with `unassembled` */
  int mesh_count;                        /* 0: by `dofs` */
  int elements[SP_BENCH_MAX_MESHES];
  double dofs;
  sp_device_kind device;
  sp_transport exchange;
  int repeats;
  bool warm_cache, resume, quiet, help;
  const char *output;
} sp_bench_options;

/* Text of --help. */
extern const char sp_bench_usage[];

/* "copy", "unassembled", "operator", "cg". */
const char *sp_bench_what_name(sp_bench_what what);

/* Errors: SP_ERR_INPUT with what was expected and found. *out keeps pointers into argv. */
sp_status sp_bench_options_parse(int argc, char **argv, sp_bench_options *out);

#endif
