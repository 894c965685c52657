/* The command line of sp_bench: lists of names or numbers. All functions Local. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/error.h"

/* The kinds of measurements. */
typedef enum sp_bench_what {
  SP_BENCH_COPY,        /* for the roofline */
  SP_BENCH_UNASSEMBLED, /* from E-vector to E-vector, as in the paper */
  SP_BENCH_OPERATOR,    /* from L-vector to L-vector */
  SP_BENCH_CG           /* one iteration of conjugate gradients */
} sp_bench_what;

/* "copy", "unassembled" ... by sp_bench_what, and "double", "single" by sp_precision. */
extern const char *const sp_bench_what_names[], *const sp_bench_precision_names[];

/* Options with values. Names become constants of sp_operator_kind, sp_geometry_kind, sp_precision,
 * sp_bench_what, sp_device_kind and sp_transport. */
typedef enum sp_bench_option {
  SP_BENCH_PROBLEMS,
  SP_BENCH_KERNELS, /* 0: the program's own, 1: the paper's */
  SP_BENCH_ORDERS,
  SP_BENCH_GEOMETRIES,
  SP_BENCH_PRECISIONS,
  SP_BENCH_ELEMENTS, /* of meshes; none: by SP_BENCH_DOFS */
  SP_BENCH_DOFS,
  SP_BENCH_MEASURES,
  SP_BENCH_DEVICE, /* one value, as the next two */
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
  const char *output;
} sp_bench_options;

bool sp_bench_has(const sp_bench_options *options, sp_bench_option option, int64_t value);

/* Print the text of --help. */
void sp_bench_print_usage(void);

/* Parse the command line. *out keeps a pointer into argv, whose lists are modified. Errors:
 * SP_ERR_INPUT. */
sp_status sp_bench_options_parse(int argc, char **argv, sp_bench_options *out);
