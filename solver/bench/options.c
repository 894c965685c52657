#include "solver/bench/bench.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/platform.h"

const char *const sp_bench_what_names[] = {"copy", "unassembled", "operator", "cg"};
const char *const sp_bench_precision_names[] = {"double", "single"};
static const char *const kernel_names[] = {"production", "paper"};

enum { MANY = SP_BENCH_MOST_VALUES };

/* An option with at most `most` values from `first` to `last`: names or, without, whole numbers. */
typedef struct option_row {
  const char *name, *help;
  const char *const *names;
  int64_t first, last;
  int most;
  char preset[12]; /* "": none */
} option_row;

static option_row rows[SP_BENCH_LISTS] = {
    {"dofs", "mesh: a cube of about that many DOFs", NULL, 1, 1000000000000, 1, "2.5e6"},
    {"elements", "meshes: boxes, as close to cubes as possible", NULL, 1, 1 << 28, MANY, ""},
    {"order", "polynomial orders", NULL, 1, SP_MAX_ORDER, MANY, "7"},
    {"problem", "operators", sp_operator_names, 0, SP_OPERATORS - 1, MANY, "bp3.5"},
    {"precision", "of production; cg is in double only", sp_bench_precision_names, SP_DOUBLE,
     SP_SINGLE, MANY, "double"},
    {"geometry", "factors in production", sp_geometry_names, SP_GEOMETRY_STORED,
     SP_GEOMETRY_TRILINEAR, MANY, "all"},
    {"measure", "of the paper's kernels there is unassembled only", sp_bench_what_names,
     SP_BENCH_UNASSEMBLED, SP_BENCH_CG, MANY, "all"},
    {"kernel", "kernels of this program or of the paper", kernel_names, 0, 1, MANY, "production"},
    {"device", "where to compute", sp_device_names, 0, SP_DEVICE_CUDA, 1, "auto"},
    {"exchange", "between GPUs", sp_transport_names, 0, SP_TRANSPORT_STAGED, 1, "auto"},
    {"repeats", "samples; the median counts", NULL, 1, SP_BENCH_MOST_REPEATS, 1, "20"}};

static void describe_values(const option_row *row, size_t size, char *text) {
  int used = row->names ? snprintf(text, size, "one of")
                        : snprintf(text, size, "whole numbers from %lld to %lld",
                                   (long long)row->first, (long long)row->last);
  for (int64_t n = row->first; row->names && n <= row->last; n++)
    used += snprintf(text + used, size - (size_t)used, "%s %s", n > row->first ? "," : "",
                     row->names[n]);
  if (row->names && row->most > 1) snprintf(text + used, size - (size_t)used, ", all");
}

void sp_bench_print_usage(void) {
  fputs("usage: sp_bench [OPTIONS]\n\n"
        "Times operators on a deformed box with random data, by order, against copies of as many\n"
        "bytes; checks every result first. A list is separated by commas; of numbers, ranges are\n"
        "allowed: 1:15.\n\n",
        stdout);
  for (const option_row *row = rows; row < rows + SP_BENCH_LISTS; row++) {
    char values[256];
    describe_values(row, sizeof values, values);
    printf("  --%-11s %s (default %s)\n%16s%s\n", row->name, row->help,
           row->preset[0] ? row->preset : "by --dofs", "", values);
  }
  fputs(
      "  --warm-cache  use the same input for all calls, so that it stays in the GPU's cache; the\n"
      "                default uses several in turn, which together exceed the cache\n"
      "  -o, --output FILE\n"
      "                results (HDF5); replaces an older file (default bench.h5)\n"
      "  --json FILE   the same as JSON, for programs\n"
      "  -q, --quiet   print errors only\n",
      stdout);
}

/* Parse a name, `all`, N or N:M as a range of values. */
static sp_status parse_range(const option_row *row, const char *word, int64_t range[2]) {
  char values[256], *end;
  double first = (double)row->first, last = (double)row->last;
  if (!row->names) {
    first = last = strtod(word, &end);
    if (*end == ':') last = strtod(end + 1, &end);
    if (*end) last = NAN;
  } else if (row->most == 1 || strcmp(word, "all") != 0) {
    while (first <= last && strcmp(word, row->names[(int64_t)first]) != 0) first++;
    if (first <= last) last = first;
  }
  if (first >= (double)row->first && first <= last && last <= (double)row->last &&
      first == floor(first) && last == floor(last)) {
    range[0] = (int64_t)first, range[1] = (int64_t)last;
    return SP_OK;
  }
  describe_values(row, sizeof values, values);
  return sp_fail(SP_ERR_INPUT, "--%s: expected %s, found '%s'", row->name, values, word);
}

bool sp_bench_has(const sp_bench_options *options, sp_bench_option option, int64_t value) {
  int n = 0;
  while (n < options->lists[option].count && options->lists[option].values[n] != value) n++;
  return n < options->lists[option].count;
}

static sp_status parse_list(sp_bench_option option, char *text, sp_bench_options *out) {
  const option_row *row = &rows[option];
  sp_bench_list *list = &out->lists[option];
  list->count = 0;
  for (char *word; (word = strsep(&text, ","));) {
    int64_t range[2];
    SP_TRY(parse_range(row, word, range));
    for (int64_t value = range[0]; value <= range[1]; value++) {
      if (sp_bench_has(out, option, value)) continue;
      if (list->count == row->most)
        return sp_fail(SP_ERR_INPUT, "--%s: expected at most %d value%s", row->name, row->most,
                       sp_plural(row->most));
      list->values[list->count++] = value;
    }
  }
  return SP_OK;
}

sp_status sp_bench_options_parse(int argc, char **argv, sp_bench_options *out) {
  enum { OTHERS = 5 };
  struct option known[SP_BENCH_LISTS + OTHERS + 1] = {{"warm-cache", no_argument, NULL, 'w'},
                                                      {"output", required_argument, NULL, 'o'},
                                                      {"json", required_argument, NULL, 'j'},
                                                      {"quiet", no_argument, NULL, 'q'},
                                                      {"help", no_argument, NULL, 'h'}};
  *out = (sp_bench_options){.output = "bench.h5"};
  for (int r = 0; r < SP_BENCH_LISTS; r++) {
    known[OTHERS + r] = (struct option){rows[r].name, required_argument, NULL, r};
    if (rows[r].preset[0] && r != SP_BENCH_DOFS)
      SP_TRY(parse_list((sp_bench_option)r, rows[r].preset, out));
  }
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, "hqo:", known, NULL)) != -1;) {
    if (c == '?')
      return sp_fail(SP_ERR_INPUT, "unknown option or missing value: '%s'; see sp_bench --help",
                     argv[optind - 1]);
    if (c < SP_BENCH_LISTS) SP_TRY(parse_list((sp_bench_option)c, optarg, out));
    out->warm_cache |= c == 'w';
    out->quiet |= c == 'q';
    out->help |= c == 'h';
    if (c == 'o') out->output = optarg;
    if (c == 'j') out->json = optarg;
  }
  if (optind < argc)
    return sp_fail(SP_ERR_INPUT, "unexpected argument '%s'; see sp_bench --help", argv[optind]);
  if (out->json && strcmp(out->json, out->output) == 0)
    return sp_fail(SP_ERR_INPUT, "--json and --output are one file: '%s'", out->json);
  if (out->lists[SP_BENCH_DOFS].count > 0 && out->lists[SP_BENCH_ELEMENTS].count > 0)
    return sp_fail(SP_ERR_INPUT, "--elements and --dofs both give the size: use one of the two");
  if (out->lists[SP_BENCH_DOFS].count > 0 || out->lists[SP_BENCH_ELEMENTS].count > 0) return SP_OK;
  return parse_list(SP_BENCH_DOFS, rows[SP_BENCH_DOFS].preset, out);
}
