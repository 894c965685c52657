#include "solver/bench/options.h"

#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/platform.h"

const char *const sp_bench_what_names[] = {[SP_BENCH_COPY] = "copy",
                                           [SP_BENCH_UNASSEMBLED] = "unassembled",
                                           [SP_BENCH_OPERATOR] = "operator",
                                           [SP_BENCH_CG] = "cg",
                                           NULL};

const char *const sp_bench_precision_names[] = {
    [SP_DOUBLE] = "double", [SP_SINGLE] = "single", NULL};

static const char *const kernel_names[] = {
    [SP_BENCH_PRODUCTION] = "production", [SP_BENCH_PAPER] = "paper", NULL};

/* An option with a value, a list of at most `most` names or whole numbers. */
typedef struct option_row {
  const char *name;
  size_t member;            /* offset of the list in sp_bench_options */
  const char *const *names; /* by value, ends in NULL; NULL: numbers */
  int64_t first, last;      /* values; of names, the last one is known from `names` */
  int most;
  const char *preset, *help;
} option_row;

#define MEMBER(name) offsetof(sp_bench_options, name)
enum { MANY = SP_BENCH_MOST_VALUES };

static const option_row rows[] = {
    {"problem", MEMBER(problems), sp_operator_names, 0, 0, MANY, "bp3.5", "operators"},
    {"kernel", MEMBER(kernels), kernel_names, 0, 0, MANY, "production",
     "kernels of this program, or of the paper"},
    {"order", MEMBER(orders), NULL, 1, SP_MAX_ORDER, MANY, "7", "polynomial orders"},
    {"geometry", MEMBER(geometries), sp_geometry_names, SP_GEOMETRY_STORED, 0, MANY, "all",
     "geometric factors of production"},
    {"precision", MEMBER(precisions), sp_bench_precision_names, 0, 0, MANY, "double",
     "of production; cg is in double only"},
    {"elements", MEMBER(elements), NULL, 1, 1 << 28, MANY, NULL,
     "numbers of elements; each mesh is a box, as close to a cube as possible"},
    {"dofs", MEMBER(dofs), NULL, 1, 1000000000000, MANY, "2.5e6",
     "instead: cubes of about that many degrees of freedom"},
    {"measure", MEMBER(measures), sp_bench_what_names, SP_BENCH_UNASSEMBLED, 0, MANY, "all",
     "of the paper's kernels there is unassembled only"},
    {"device", MEMBER(device), sp_device_names, 0, 0, 1, "auto", "where to compute"},
    {"exchange", MEMBER(exchange), sp_transport_names, 0, 0, 1, "auto", "between GPUs"},
    {"repeats", MEMBER(repeats), NULL, 1, SP_BENCH_MOST_REPEATS, 1, "20",
     "samples, of which the median is taken"}};
enum { ROWS = sizeof rows / sizeof *rows };

static sp_bench_list *list_of(sp_bench_options *options, const option_row *row) {
  return (sp_bench_list *)((char *)options + row->member);
}

/* "one of host, cuda", "whole numbers from 1 to 15" */
static void describe_values(const option_row *row, size_t size, char *text) {
  if (!row->names)
    snprintf(text, size, "whole numbers from %lld to %lld", (long long)row->first,
             (long long)row->last);
  size_t used = row->names ? (size_t)snprintf(text, size, "one of ") : 0;
  for (int64_t n = row->first; row->names && row->names[n]; n++)
    used += (size_t)snprintf(text + used, size - used, "%s%s", n > row->first ? ", " : "",
                             row->names[n]);
  if (row->names && row->most > 1) snprintf(text + used, size - used, ", all");
}

void sp_bench_print_usage(void) {
  char values[256];
  fputs("usage: sp_bench [OPTIONS]\n\n"
        "Times operators on a deformed box with random data, by order, against copies of as many\n"
        "bytes; checks every result first. Values are lists separated by commas; numbers may be\n"
        "ranges: 1:15 or 3,7,11.\n\n",
        stdout);
  for (const option_row *row = rows; row < rows + ROWS; row++) {
    describe_values(row, sizeof values, values);
    printf("  --%-11s %s\n%16s%s%s%s\n", row->name, row->help, "", values,
           row->preset ? "; default " : "", row->preset ? row->preset : "");
  }
  fputs(
      "  --warm-cache  use the same input for all calls, so that it stays in the GPU's cache; the\n"
      "                default uses several in turn, which together exceed the cache\n"
      "  -o, --output FILE\n"
      "                results (HDF5); replaces an older file; default bench.h5\n"
      "  -q, --quiet   print errors only\n\n"
      "The study of the paper:\n"
      "  sp_bench --problem all --kernel all --order 1:15 --elements 512,4096 --device cuda\n",
      stdout);
}

static sp_status refuse_value(const option_row *row, size_t length, const char *text) {
  char values[256];
  describe_values(row, sizeof values, values);
  return sp_fail(SP_ERR_INPUT, "--%s: expected %s, found '%.*s'", row->name, values, (int)length,
                 text);
}

/* Parse a name, `all`, N or N:M as a range of values. */
static sp_status parse_range(const option_row *row, size_t length, const char *text,
                             int64_t range[2]) {
  range[0] = range[1] = row->first;
  if (row->names) {
    const bool all = row->most > 1 && length == 3 && strncmp(text, "all", 3) == 0;
    while (all && row->names[range[1] + 1]) range[1]++;
    for (; !all && row->names[range[0]]; range[0]++) {
      const char *name = row->names[range[0]];
      if (strlen(name) == length && strncmp(name, text, length) == 0) break;
    }
    if (!all) range[1] = range[0];
    return row->names[range[0]] ? SP_OK : refuse_value(row, length, text);
  }
  char *end;
  double ends[2];
  ends[0] = ends[1] = strtod(text, &end);
  if (end > text && *end == ':') ends[1] = strtod(end + 1, &end);
  const bool whole = ends[0] == floor(ends[0]) && ends[1] == floor(ends[1]);
  if (end != text + length || length == 0 || !whole || !(ends[0] >= (double)row->first) ||
      !(ends[0] <= ends[1]) || !(ends[1] <= (double)row->last))
    return refuse_value(row, length, text);
  for (int n = 0; n < 2; n++) range[n] = (int64_t)ends[n];
  return SP_OK;
}

bool sp_bench_has(const sp_bench_list *list, int64_t value) {
  for (int n = 0; n < list->count; n++)
    if (list->values[n] == value) return true;
  return false;
}

static sp_status parse_list(const option_row *row, const char *text, sp_bench_list *list) {
  list->count = 0;
  do {
    int64_t range[2];
    const size_t length = strcspn(text, ",");
    SP_TRY(parse_range(row, length, text, range));
    for (int64_t value = range[0]; value <= range[1]; value++) {
      if (sp_bench_has(list, value)) continue;
      if (list->count == row->most)
        return sp_fail(SP_ERR_INPUT, "--%s: expected at most %d value%s", row->name, row->most,
                       sp_plural(row->most));
      list->values[list->count++] = value;
    }
    text += length;
  } while (*text++);
  return SP_OK;
}

static sp_status parse_arguments(int argc, char **argv, sp_bench_options *out) {
  struct option known[ROWS + 5] = {{"warm-cache", no_argument, NULL, 'w'},
                                   {"output", required_argument, NULL, 'o'},
                                   {"quiet", no_argument, NULL, 'q'},
                                   {"help", no_argument, NULL, 'h'}};
  for (int r = 0; r < ROWS; r++)
    known[4 + r] = (struct option){rows[r].name, required_argument, NULL, r};
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, "hqo:", known, NULL)) != -1;) {
    if (c == '?')
      return sp_fail(SP_ERR_INPUT, "unknown option or missing value: '%s'; see sp_bench --help",
                     argv[optind - 1]);
    if (c < ROWS) SP_TRY(parse_list(&rows[c], optarg, list_of(out, &rows[c])));
    out->warm_cache |= c == 'w';
    out->quiet |= c == 'q';
    out->help |= c == 'h';
    if (c == 'o') out->output = optarg;
  }
  if (optind < argc)
    return sp_fail(SP_ERR_INPUT, "unexpected argument '%s'; see sp_bench --help", argv[optind]);
  return SP_OK;
}

sp_status sp_bench_options_parse(int argc, char **argv, sp_bench_options *out) {
  *out = (sp_bench_options){.output = "bench.h5"};
  SP_TRY(parse_arguments(argc, argv, out));
  if (out->dofs.count > 0 && out->elements.count > 0)
    return sp_fail(SP_ERR_INPUT, "--elements and --dofs both give the size: use one of the two");
  for (int r = 0; r < ROWS; r++)
    if (rows[r].preset && list_of(out, &rows[r])->count == 0)
      SP_TRY(parse_list(&rows[r], rows[r].preset, list_of(out, &rows[r])));
  return SP_OK;
}
