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
    "  --kernel LIST     production (the program's own), all, or numbers of the paper's kernels\n"
    "                    (default production)\n"
    "  --threads LIST    of 2d, 3d, all: the paper's kernels by thread blocks (default all)\n"
    "  --order LIST      polynomial orders                           (default 7)\n"
    "  --geometry LIST   of stored, trilinear: production's factors  (default both)\n"
    "  --precision LIST  of double, single: production's operators and vectors; cg is in double\n"
    "                    only                                       (default double)\n"
    "  --elements LIST   numbers of elements; each mesh is a box, as close to a cube as possible\n"
    "  --dofs NUMBER     instead: a cube of about that many degrees of freedom (default 2.5e6)\n"
    "  --map NAME        sine, kershaw, none: deforms the box        (default sine)\n"
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

/* The index of a name; -1 if it is none of them. */
static int find_name(const char *const *names, const char *text) {
  for (int n = 0; names[n]; n++)
    if (strcmp(names[n], text) == 0) return n;
  return -1;
}

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

/* Mark exactly the names of a list; the word "all" is one if `all` is true. */
static sp_status parse_names(const char *option, char *list, const char *const *names, bool all,
                             bool *marks) {
  for (int n = 0; names[n]; n++) marks[n] = false;
  if (!*list) return unknown_name(option, names, all, list);
  for (char *text = strtok(list, ","); text; text = strtok(NULL, ",")) {
    const int found = find_name(names, text);
    if (found < 0 && !(all && strcmp(text, "all") == 0))
      return unknown_name(option, names, all, text);
    for (int n = 0; names[n]; n++) marks[n] = marks[n] || found < 0 || n == found;
  }
  return SP_OK;
}

/* Operators have the names of a case; the paper's name of `mass` is one more. */
static sp_status parse_problems(char *list, bool problems[SP_OPERATORS]) {
  const char *names[SP_OPERATORS + 2] = {[SP_OPERATORS] = "bp1.0"};
  bool marks[SP_OPERATORS + 1];
  memcpy(names, sp_operator_names, SP_OPERATORS * sizeof *names);
  SP_TRY(parse_names("problem", list, names, true, marks));
  marks[SP_MASS] = marks[SP_MASS] || marks[SP_OPERATORS];
  memcpy(problems, marks, SP_OPERATORS * sizeof *problems);
  return SP_OK;
}

/* Parse N or N:M, from 1 to `highest`. */
static sp_status parse_range(const char *option, const char *text, long highest, long *first,
                             long *last) {
  char *end;
  *first = strtol(text, &end, 10);
  *last = *end == ':' ? strtol(end + 1, &end, 10) : *first;
  if (*end || end == text || *first < 1 || *last > highest || *first > *last)
    return sp_fail(SP_ERR_INPUT, "--%s: expected numbers from 1 to %ld (7, 1:%ld), found '%s'",
                   option, highest, highest, text);
  return SP_OK;
}

static sp_status parse_orders(char *list, bool marks[SP_MAX_ORDER + 1]) {
  long first, last;
  memset(marks, 0, (SP_MAX_ORDER + 1) * sizeof *marks);
  if (!*list) return parse_range("order", list, SP_MAX_ORDER, &first, &last);
  for (char *text = strtok(list, ","); text; text = strtok(NULL, ",")) {
    SP_TRY(parse_range("order", text, SP_MAX_ORDER, &first, &last));
    for (long order = first; order <= last; order++) marks[order] = true;
  }
  return SP_OK;
}

static sp_status parse_kernels(char *list, sp_bench_options *o) {
  memset(o->kernels, 0, sizeof o->kernels);
  o->all_kernels = false;
  if (!*list) return sp_fail(SP_ERR_INPUT, "--kernel: expected production, all or numbers");
  for (char *text = strtok(list, ","); text; text = strtok(NULL, ",")) {
    long first = SP_BENCH_PRODUCTION, last = SP_BENCH_PRODUCTION;
    if (strcmp(text, "all") == 0) {
      o->all_kernels = true;
      last = SP_BENCH_MAX_KERNEL;
    } else if (strcmp(text, "production") != 0) {
      if (!strchr("0123456789", *text))
        return sp_fail(SP_ERR_INPUT, "--kernel: expected production, all or numbers, found '%s'",
                       text);
      SP_TRY(parse_range("kernel", text, SP_BENCH_MAX_KERNEL, &first, &last));
    }
    for (long kernel = first; kernel <= last; kernel++) o->kernels[kernel] = true;
  }
  return SP_OK;
}

static sp_status parse_integer(const char *option, const char *text, int highest, int *value) {
  char *end;
  const long number = strtol(text, &end, 10);
  if (*end || end == text || number < 1 || number > highest)
    return sp_fail(SP_ERR_INPUT, "--%s: expected whole numbers from 1 to %d, found '%s'", option,
                   highest, text);
  *value = (int)number;
  return SP_OK;
}

static sp_status parse_elements(char *list, sp_bench_options *o) {
  enum { HIGHEST = 1 << 28 };
  o->mesh_count = 0;
  for (char *text = strtok(list, ","); text; text = strtok(NULL, ",")) {
    if (o->mesh_count == SP_BENCH_MAX_MESHES)
      return sp_fail(SP_ERR_INPUT, "--elements: at most %d meshes", SP_BENCH_MAX_MESHES);
    SP_TRY(parse_integer("elements", text, HIGHEST, &o->elements[o->mesh_count++]));
  }
  if (o->mesh_count == 0)
    return sp_fail(SP_ERR_INPUT, "--elements: expected numbers of elements, found none");
  return SP_OK;
}

static sp_status parse_number(const char *option, const char *text, double low, double high,
                              double *value) {
  char *end;
  *value = strtod(text, &end);
  if (*end || end == text || !(*value >= low && *value <= high))
    return sp_fail(SP_ERR_INPUT, "--%s: expected a number from %g to %g, found '%s'", option, low,
                   high, text);
  return SP_OK;
}

/* Parse one name; *choice is an enum. */
static sp_status parse_name(const char *option, const char *text, const char *const *names,
                            void *choice) {
  const int found = find_name(names, text);
  if (found < 0) return unknown_name(option, names, false, text);
  memcpy(choice, &found, sizeof found);
  return SP_OK;
}

static const char *const thread_names[] = {"2d", "3d", NULL};

static const struct option known_options[] = {
    {"problem", required_argument, NULL, 'p'},  {"kernel", required_argument, NULL, 'k'},
    {"threads", required_argument, NULL, 't'},  {"order", required_argument, NULL, 'N'},
    {"geometry", required_argument, NULL, 'g'}, {"precision", required_argument, NULL, 'P'},
    {"elements", required_argument, NULL, 'e'}, {"dofs", required_argument, NULL, 'n'},
    {"measure", required_argument, NULL, 'm'},  {"device", required_argument, NULL, 'd'},
    {"repeats", required_argument, NULL, 'r'},  {"warm-cache", no_argument, NULL, 'w'},
    {"output", required_argument, NULL, 'o'},   {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},           {"exchange", required_argument, NULL, 'x'},
    {"map", required_argument, NULL, 'M'},      {NULL, 0, NULL, 0}};

static sp_status parse_option(int letter, char *value, sp_bench_options *o) {
  switch (letter) {
  case 'p':
    return parse_problems(value, o->problems);
  case 'k':
    return parse_kernels(value, o);
  case 't':
    return parse_names("threads", value, thread_names, true, &o->threads[2]);
  case 'N':
    return parse_orders(value, o->orders);
  case 'g':
    return parse_names("geometry", value, &sp_geometry_names[SP_GEOMETRY_STORED], false,
                       &o->geometries[SP_GEOMETRY_STORED]);
  case 'P':
    return parse_names("precision", value, sp_bench_precision_names, false, o->precisions);
  case 'e':
    return parse_elements(value, o);
  case 'n':
    return parse_number("dofs", value, 1, 1e12, &o->dofs);
  case 'm':
    return parse_names("measure", value, &sp_bench_what_names[SP_BENCH_UNASSEMBLED], true,
                       &o->measure[SP_BENCH_UNASSEMBLED]);
  case 'd':
    return parse_name("device", value, sp_device_names, &o->device);
  case 'x':
    return parse_name("exchange", value, sp_transport_names, &o->exchange);
  case 'M':
    return parse_name("map", value, sp_map_names, &o->map);
  case 'r':
    return parse_integer("repeats", value, SP_BENCH_MAX_REPEATS, &o->repeats);
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
  *out = (sp_bench_options){
      .device = SP_DEVICE_AUTO, .map = SP_MAP_SINE, .repeats = 20, .output = "bench.h5"};
  out->problems[SP_BP35] = out->orders[7] = out->kernels[SP_BENCH_PRODUCTION] = true;
  out->geometries[SP_GEOMETRY_STORED] = out->geometries[SP_GEOMETRY_TRILINEAR] = true;
  out->precisions[SP_DOUBLE] = true;
  out->threads[2] = out->threads[3] = true;
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
