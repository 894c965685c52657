#include "solver/bench/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char sp_bench_usage[] =
    "usage: sp_bench [OPTIONS]\n"
    "\n"
    "Times operators on a deformed box with random data, by order, against copies of as many\n"
    "bytes; checks every result first. A LIST is separated by commas; of numbers, ranges are\n"
    "allowed: 1:15 or 3,7,11.\n"
    "\n"
    "  --problem LIST    operators as named in a case (bp1.0 is mass), or all (default bp3.5)\n"
    "  --kernel NAME     production (the program's own), or all: the paper's, too\n"
    "                                                                (default production)\n"
    "  --order LIST      polynomial orders                           (default 7)\n"
    "  --geometry LIST   of stored, trilinear: production's factors  (default both)\n"
    "  --precision LIST  of double, single: production's operators and vectors; cg is in double\n"
    "                    only                                       (default double)\n"
    "  --elements LIST   numbers of elements; each mesh is a box, as close to a cube as possible\n"
    "  --dofs NUMBER     instead: a cube of about that many degrees of freedom (default 2.5e6)\n"
    "  --measure LIST    of unassembled, operator, cg, all           (default all; of the paper's\n"
    "                    kernels there is unassembled only)\n"
    "  --device NAME     auto, host, cuda                            (default auto)\n"
    "  --exchange NAME   auto, peer, cuda-aware, nccl, staged: between GPUs (default auto)\n"
    "  --repeats NUMBER  samples, of which the median is taken       (default 20)\n"
    "  --warm-cache      use the same input for all calls, so that it stays in the GPU's\n"
    "                    cache; the default uses several in turn, which together exceed the cache\n"
    "  -o, --output FILE results (HDF5); replaces an older file (default bench.h5)\n"
    "  -q, --quiet       print errors only\n"
    "\n"
    "The study of the paper:\n"
    "  sp_bench --problem all --kernel all --order 1:15 --elements 512,4096 --device cuda\n";

const char *const sp_bench_what_names[] = {[SP_BENCH_COPY] = "copy",
                                           [SP_BENCH_UNASSEMBLED] = "unassembled",
                                           [SP_BENCH_OPERATOR] = "operator",
                                           [SP_BENCH_CG] = "cg",
                                           NULL};

const char *const sp_bench_precision_names[] = {
    [SP_DOUBLE] = "double", [SP_SINGLE] = "single", NULL};

static sp_status unknown_name(const char *option, const char *const *names, bool all,
                              const char *text) {
  char known[256] = "";
  for (int n = 0; names[n]; n++) {
    const size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s%s", n > 0 ? ", " : "", names[n]);
  }
  return sp_fail(SP_ERR_INPUT, "--%s: expected one of %s%s, found '%s'", option, known,
                 all ? ", all" : "", text);
}

/* Parse one name; *choice is an enum. */
static sp_status parse_name(const char *option, const char *text, const char *const *names,
                            void *choice) {
  int found = 0;
  while (names[found] && strcmp(names[found], text) != 0) found++;
  if (!names[found]) return unknown_name(option, names, false, text);
  memcpy(choice, &found, sizeof found);
  return SP_OK;
}

/* Mark exactly the names of a list, or all. */
static sp_status parse_names(const char *option, char *list, const char *const *names,
                             bool *marks) {
  for (int n = 0; names[n]; n++) marks[n] = false;
  if (!*list) return unknown_name(option, names, true, list);
  for (char *text = strtok(list, ","); text; text = strtok(NULL, ",")) {
    bool known = strcmp(text, "all") == 0;
    const bool all = known;
    for (int n = 0; names[n]; n++) {
      const bool found = strcmp(names[n], text) == 0;
      marks[n] = marks[n] || all || found;
      known = known || found;
    }
    if (!known) return unknown_name(option, names, true, text);
  }
  return SP_OK;
}

/* Operators have the names of a case; the paper's name of `mass` is one more. */
static sp_status parse_problems(char *list, bool problems[SP_OPERATORS]) {
  const char *names[SP_OPERATORS + 2] = {[SP_OPERATORS] = "bp1.0"};
  bool marks[SP_OPERATORS + 1];
  memcpy(names, sp_operator_names, SP_OPERATORS * sizeof *names);
  SP_TRY(parse_names("problem", list, names, marks));
  marks[SP_MASS] = marks[SP_MASS] || marks[SP_OPERATORS];
  memcpy(problems, marks, SP_OPERATORS * sizeof *problems);
  return SP_OK;
}

/* Parse at most `most` numbers from 1 to `highest`: N or N:M, separated by commas. */
static sp_status parse_numbers(const char *option, char *list, int highest, int most, int *values,
                               int *count) {
  *count = 0;
  for (char *text = strtok(list, ","); text; text = strtok(NULL, ",")) {
    char *end;
    const long first = strtol(text, &end, 10);
    const long last = *end == ':' ? strtol(end + 1, &end, 10) : first;
    if (*end || end == text || first < 1 || last > highest || first > last)
      return sp_fail(SP_ERR_INPUT, "--%s: expected whole numbers from 1 to %d, found '%s'", option,
                     highest, text);
    if (last - first >= most - *count)
      return sp_fail(SP_ERR_INPUT, "--%s: expected at most %d numbers", option, most);
    for (long n = first; n <= last; n++) values[(*count)++] = (int)n;
  }
  if (*count == 0) return sp_fail(SP_ERR_INPUT, "--%s: expected numbers, found none", option);
  return SP_OK;
}

static sp_status parse_orders(char *list, bool marks[SP_MAX_ORDER + 1]) {
  int orders[SP_MAX_ORDER], count;
  SP_TRY(parse_numbers("order", list, SP_MAX_ORDER, SP_MAX_ORDER, orders, &count));
  memset(marks, 0, (SP_MAX_ORDER + 1) * sizeof *marks);
  for (int n = 0; n < count; n++) marks[orders[n]] = true;
  return SP_OK;
}

static sp_status parse_dofs(const char *text, double *value) {
  char *end;
  *value = strtod(text, &end);
  if (*end || end == text || !(*value >= 1 && *value <= 1e12))
    return sp_fail(SP_ERR_INPUT, "--dofs: expected a number from 1 to 1e12, found '%s'", text);
  return SP_OK;
}

static const char *const kernel_names[] = {"production", "all", NULL};

static const struct option known_options[] = {
    {"problem", required_argument, NULL, 'p'},   {"kernel", required_argument, NULL, 'k'},
    {"order", required_argument, NULL, 'N'},     {"geometry", required_argument, NULL, 'g'},
    {"precision", required_argument, NULL, 'P'}, {"elements", required_argument, NULL, 'e'},
    {"dofs", required_argument, NULL, 'n'},      {"measure", required_argument, NULL, 'm'},
    {"device", required_argument, NULL, 'd'},    {"repeats", required_argument, NULL, 'r'},
    {"warm-cache", no_argument, NULL, 'w'},      {"output", required_argument, NULL, 'o'},
    {"quiet", no_argument, NULL, 'q'},           {"help", no_argument, NULL, 'h'},
    {"exchange", required_argument, NULL, 'x'},  {NULL, 0, NULL, 0}};

static sp_status parse_option(int letter, char *value, sp_bench_options *o) {
  int count;
  switch (letter) {
  case 'p':
    return parse_problems(value, o->problems);
  case 'k':
    return parse_name("kernel", value, kernel_names, &o->paper);
  case 'N':
    return parse_orders(value, o->orders);
  case 'g':
    return parse_names("geometry", value, &sp_geometry_names[SP_GEOMETRY_STORED],
                       &o->geometries[SP_GEOMETRY_STORED]);
  case 'P':
    return parse_names("precision", value, sp_bench_precision_names, o->precisions);
  case 'e':
    return parse_numbers("elements", value, 1 << 28, SP_BENCH_MAX_MESHES, o->elements,
                         &o->mesh_count);
  case 'n':
    return parse_dofs(value, &o->dofs);
  case 'm':
    return parse_names("measure", value, &sp_bench_what_names[SP_BENCH_UNASSEMBLED],
                       &o->measure[SP_BENCH_UNASSEMBLED]);
  case 'd':
    return parse_name("device", value, sp_device_names, &o->device);
  case 'x':
    return parse_name("exchange", value, sp_transport_names, &o->exchange);
  case 'r':
    return parse_numbers("repeats", value, SP_BENCH_MAX_REPEATS, 1, &o->repeats, &count);
  case 'o':
    if (!*value) return sp_fail(SP_ERR_INPUT, "--output: expected the name of a file");
    o->output = value;
    return SP_OK;
  case 'w':
    o->warm_cache = true;
    return SP_OK;
  case 'q':
    o->quiet = true;
    return SP_OK;
  default:
    o->help = true;
    return SP_OK;
  }
}

sp_status sp_bench_options_parse(int argc, char **argv, sp_bench_options *out) {
  *out = (sp_bench_options){.device = SP_DEVICE_AUTO, .repeats = 20, .output = "bench.h5"};
  out->problems[SP_BP35] = out->orders[7] = true;
  out->geometries[SP_GEOMETRY_STORED] = out->geometries[SP_GEOMETRY_TRILINEAR] = true;
  out->precisions[SP_DOUBLE] = true;
  for (int w = SP_BENCH_UNASSEMBLED; w < SP_BENCH_WHATS; w++) out->measure[w] = true;
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, "hqo:", known_options, NULL)) != -1 && !out->help;) {
    if (c == '?')
      return sp_fail(SP_ERR_INPUT, "unknown option or missing value: '%s'; see sp_bench --help",
                     argv[optind - 1]);
    SP_TRY(parse_option(c, optarg, out));
  }
  if (optind < argc && !out->help)
    return sp_fail(SP_ERR_INPUT, "unexpected argument '%s'; see sp_bench --help", argv[optind]);
  if (out->dofs > 0 && out->mesh_count > 0)
    return sp_fail(SP_ERR_INPUT, "--elements and --dofs both give the size: use one of the two");
  if (out->dofs == 0) out->dofs = 2.5e6;
  return SP_OK;
}
