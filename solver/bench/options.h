/* The command line of sp_bench. All functions Local. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/error.h"

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

enum { SP_BENCH_MOST_VALUES = 16, SP_BENCH_MOST_REPEATS = 1000 };

/* Values of an option, each once: numbers, or constants of an enum. */
typedef struct sp_bench_list {
  int count;
  int64_t values[SP_BENCH_MOST_VALUES];
} sp_bench_list;

enum { SP_BENCH_PRODUCTION, SP_BENCH_PAPER }; /* of sp_bench_options.kernels */

typedef struct sp_bench_options {
  sp_bench_list problems, kernels, orders, geometries, precisions, measures;
  sp_bench_list elements, dofs;            /* elements is empty, or dofs has no meaning */
  sp_bench_list device, exchange, repeats; /* one value each */
  bool warm_cache, quiet, help;
  const char *output;
} sp_bench_options;

bool sp_bench_has(const sp_bench_list *list, int64_t value);

/* Print the text of --help. */
void sp_bench_print_usage(void);

/* Parse the command line; *out keeps pointers into argv. Errors: SP_ERR_INPUT. */
sp_status sp_bench_options_parse(int argc, char **argv, sp_bench_options *out);
