/* The study of the operators' speed: unassembled operator (between E-vectors, what the paper
 * measures), operator between L-vectors, and CG iteration, for every order, with the copy bandwidth
 * measured in the same run. */
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/box.h"
#include "operators/counts.h"
#include "solver/cg.h"

static const char usage[] =
    "usage: sp_bench [OPTIONS]\n"
    "\n"
    "Times the operators on a sine-mapped box, random data, medians of batches.\n"
    "\n"
    "  --problem LIST    of mass, bp3.5, bp3.0          (default bp3.5)\n"
    "  --order LIST      orders, 7 or 1:15 or 3,7,11    (default 7)\n"
    "  --geometry LIST   of stored, trilinear           (default stored,trilinear)\n"
    "  --dofs NUMBER     degrees of freedom, about      (default 2.5e6)\n"
    "  --device NAME     auto, host, cuda               (default auto)\n"
    "  --repeats NUMBER  batches, of which the median is taken (default 20)\n";

typedef struct options {
  bool problems[3], geometries[3], orders[SP_MAX_ORDER + 1];
  double dofs;
  sp_device_kind device;
  int repeats;
} options;

/* What is measured: called `count` times between two looks at the clock. */
typedef sp_status measured(void *context);

typedef struct bench {
  MPI_Comm comm;
  const sp_backend *backend;
  sp_device *device;
  const options *options;
} bench;

static int compare_seconds(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Median seconds of one call. Batches are long enough that looking at the clock does not count. */
static sp_status time_calls(const bench *b, measured *call, void *context, double *median) {
  enum { MOST = 1000 };
  static const double SHORTEST_BATCH = 2e-3;
  double seconds[MOST];
  int count = 1;
  const int repeats = b->options->repeats;
  for (int warm = 0; warm < 8; warm++) {
    const double start = MPI_Wtime();
    for (int c = 0; c < count; c++) SP_TRY(call(context));
    SP_TRY(b->backend->finish(b->device));
    double batch = MPI_Wtime() - start;
    MPI_Bcast(&batch, 1, MPI_DOUBLE, 0, b->comm);
    if (batch < SHORTEST_BATCH) count *= 2;
  }
  for (int r = 0; r < repeats; r++) {
    MPI_Barrier(b->comm);
    const double start = MPI_Wtime();
    for (int c = 0; c < count; c++) SP_TRY(call(context));
    SP_TRY(b->backend->finish(b->device));
    seconds[r] = (MPI_Wtime() - start) / count;
  }
  MPI_Allreduce(MPI_IN_PLACE, seconds, repeats, MPI_DOUBLE, MPI_MAX, b->comm);
  qsort(seconds, (size_t)repeats, sizeof *seconds, compare_seconds);
  *median = seconds[repeats / 2];
  return SP_OK;
}

/* Uniform in (-1, 1), the same for the same number on every rank. */
static double random_value(sp_gid number) {
  uint64_t h = (uint64_t)number * 0x9e3779b97f4a7c15u;
  h ^= h >> 31;
  h *= 0xbf58476d1ce4e5b9u;
  h ^= h >> 27;
  return (double)(h >> 11) * 0x1p-52 - 1;
}

/* One problem at one order: the operator and vectors to run it on. */
typedef struct subject {
  const bench *bench;
  sp_mesh *mesh;
  sp_numbering *numbering;
  sp_exchange *exchange;
  bool *constrained;
  sp_operator *op;
  size_t e_size;
  double *x, *y;     /* L-vectors */
  double *e_x, *e_y; /* E-vectors, also for the copy */
} subject;

static void subject_free(subject *s) {
  const bench *b = s->bench;
  b->backend->vector_destroy(b->device, &s->x);
  b->backend->vector_destroy(b->device, &s->y);
  b->backend->vector_destroy(b->device, &s->e_x);
  b->backend->vector_destroy(b->device, &s->e_y);
  sp_operator_destroy(&s->op);
  sp_exchange_destroy(&s->exchange);
  sp_numbering_destroy(&s->numbering);
  sp_mesh_destroy(&s->mesh);
  free(s->constrained);
}

/* A cube with about as many degrees of freedom as asked for. */
static sp_status make_mesh(const bench *b, int order, sp_mesh **mesh) {
  const int side = (int)fmax(1, round(cbrt(b->options->dofs) / order));
  const sp_box box = {
      .elements = {side, side, side}, .upper = {1, 1, 1}, .map = SP_MAP_SINE, .epsilon = 1};
  sp_hexes *hexes;
  SP_TRY(sp_box_hexes(b->comm, &box, &hexes));
  return sp_mesh_create(b->comm, &hexes, mesh);
}

/* Boundary DOFs are constrained, as in a solve. */
static void constrain_boundary(subject *s, int order) {
  int places[SP_MAX_NQ * SP_MAX_NQ];
  const size_t nq = (size_t)order + 1;
  for (sp_lid e = 0; e < s->mesh->hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      if (s->mesh->hexes->surfaces[e][f] == SP_SURFACE_INTERIOR) continue;
      sp_face_places(order, f, places);
      for (size_t n = 0; n < nq * nq; n++)
        s->constrained[s->numbering->nodes[(size_t)e * nq * nq * nq + (size_t)places[n]]] = true;
    }
}

static sp_status fill_random(subject *s, size_t count, bool global, double *vector) {
  double *values;
  SP_TRY(sp_allocate(count, sizeof *values, "random data", &values));
  for (size_t i = 0; i < count; i++)
    values[i] = random_value(global ? sp_numbering_global(s->numbering, (sp_lid)i) : (sp_gid)i);
  const sp_status status = s->bench->backend->upload(s->bench->device, count, values, vector);
  free(values);
  return status;
}

static sp_status subject_create(const bench *b, sp_problem_kind kind, sp_geometry_kind geometry,
                                int order, subject *s) {
  SP_TRY(make_mesh(b, order, &s->mesh));
  SP_TRY(sp_numbering_create(s->mesh, order, &s->numbering));
  SP_TRY(sp_exchange_create(b->comm, s->numbering, &s->exchange));
  const size_t dofs = (size_t)s->numbering->local;
  SP_TRY(sp_agree(b->comm, sp_allocate(dofs, sizeof(bool), "mask", &s->constrained)));
  if (sp_problem_has_stiffness(kind)) constrain_boundary(s, order);
  const sp_operator_setup setup = {.mesh = s->mesh,
                                   .numbering = s->numbering,
                                   .kind = kind,
                                   .geometry = geometry,
                                   .lambda = 1,
                                   .constrained = s->constrained};
  SP_TRY(sp_operator_create(b->backend, b->device, &setup, &s->exchange, &s->op));
  s->e_size = b->backend->e_vector_size(s->op->local);
  sp_status status = b->backend->vector_create(b->device, dofs, &s->x);
  if (!status) status = b->backend->vector_create(b->device, dofs, &s->y);
  if (!status) status = b->backend->vector_create(b->device, s->e_size, &s->e_x);
  if (!status) status = b->backend->vector_create(b->device, s->e_size, &s->e_y);
  if (!status) status = fill_random(s, dofs, true, s->x);
  if (!status) status = fill_random(s, s->e_size, false, s->e_x);
  return sp_agree(b->comm, status);
}

static sp_status run_copy(void *context) {
  const subject *s = context;
  return s->bench->backend->copy(s->bench->device, s->e_size, s->e_x, s->e_y);
}

static sp_status run_unassembled(void *context) {
  const subject *s = context;
  return s->bench->backend->apply_unassembled(s->op->local, s->e_x, s->e_y);
}

static sp_status run_assembled(void *context) {
  const subject *s = context;
  return sp_operator_apply(s->op, true, s->x, s->y);
}

/* Seconds of one CG iteration: a solve that cannot reach its tolerance, twice, the second one
 * counts. */
static sp_status time_iteration(subject *s, double *seconds) {
  enum { ITERATIONS = 192 };
  const bench *b = s->bench;
  const sp_cg_options limits = {.tolerance = 1e-300, .max_iterations = ITERATIONS};
  sp_cg_result result;
  *seconds = NAN;
  for (int pass = 0; pass < 2; pass++) {
    const size_t dofs = (size_t)s->op->dofs;
    double *zero;
    SP_TRY(sp_allocate(dofs, sizeof *zero, "zeros", &zero));
    sp_status status = b->backend->upload(b->device, dofs, zero, s->x);
    /* The right-hand side must vanish where the operator does. */
    for (size_t i = 0; i < dofs; i++)
      if (!s->constrained[i]) zero[i] = random_value(sp_numbering_global(s->numbering, (sp_lid)i));
    if (!status) status = b->backend->upload(b->device, dofs, zero, s->y);
    free(zero);
    SP_TRY(sp_agree(b->comm, status));
    status = sp_cg_solve(s->op, NULL, &limits, s->y, s->x, &result);
    if (status != SP_ERR_NOT_CONVERGED) return status;
    *seconds = result.seconds / (double)result.iterations;
  }
  MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, b->comm);
  return SP_OK;
}

static sp_status measure(const bench *b, sp_problem_kind kind, sp_geometry_kind geometry,
                         int order) {
  subject s = {.bench = b};
  double copy = 0, unassembled = 0, assembled = 0, iteration = 0;
  sp_status status = subject_create(b, kind, geometry, order, &s);
  if (!status) status = time_calls(b, run_copy, &s, &copy);
  if (!status) status = time_calls(b, run_unassembled, &s, &unassembled);
  if (!status) status = time_calls(b, run_assembled, &s, &assembled);
  if (!status) status = time_iteration(&s, &iteration);
  int rank;
  MPI_Comm_rank(b->comm, &rank);
  if (!status && rank == 0) {
    const double elements = (double)s.mesh->global_elements, nodes = pow(order + 1, 3) * elements;
    const double dofs = (double)s.numbering->global;
    const double bandwidth = 16 * (double)s.e_size / copy;
    const double roofline =
        bandwidth / (sp_problem_bytes(kind, SP_GEOMETRY_STORED, order) * elements / nodes);
    printf("%-6s %-9s %3d %9.0f %7.2f %8.0f %9.2f %9.2f %9.2f %8.1f %9.2f %9.2f\n",
           sp_problem_kind_name(kind), sp_geometry_kind_name(geometry), order, elements,
           dofs * 1e-6, bandwidth * 1e-9, nodes / unassembled * 1e-9,
           sp_problem_flops(kind, order) * elements / unassembled * 1e-12,
           100 * nodes / unassembled / roofline, dofs / assembled * 1e-9, iteration * 1e6,
           dofs / iteration * 1e-9);
    fflush(stdout);
  }
  subject_free(&s);
  return status;
}

static sp_status run(const options *o) {
  bench b = {.comm = MPI_COMM_WORLD, .options = o};
  int rank;
  MPI_Comm_rank(b.comm, &rank);
  SP_TRY(sp_backend_open(b.comm, o->device, &b.backend, &b.device));
  if (rank == 0)
    printf("%s\n\n%-6s %-9s %3s %9s %7s %8s %9s %9s %9s %8s %9s %9s\n",
           b.backend->describe(b.device), "", "geometry", "N", "elements", "MDOF", "copy", "local",
           "local", "of paper", "L to L", "CG", "CG");
  if (rank == 0)
    printf("%-6s %-9s %3s %9s %7s %8s %9s %9s %9s %8s %9s %9s\n", "", "", "", "", "", "GB/s",
           "Gnode/s", "TFLOP/s", "roof %", "GDOF/s", "us", "GDOF/s");
  sp_status status = SP_OK;
  for (int kind = SP_MASS; kind <= SP_BP30; kind++)
    for (int geometry = SP_GEOMETRY_STORED; geometry <= SP_GEOMETRY_TRILINEAR; geometry++)
      for (int order = 1; order <= SP_MAX_ORDER && !status; order++)
        if (o->problems[kind] && o->geometries[geometry] && o->orders[order])
          status = measure(&b, (sp_problem_kind)kind, (sp_geometry_kind)geometry, order);
  b.backend->close(&b.device);
  return status;
}

/* Mark the names of a comma-separated list; names[i] is the word for marks[i], NULL where there is
 * none. */
static sp_status parse_names(const char *option, char *list, int count, const char *const *names,
                             bool *marks) {
  for (int i = 0; i < count; i++) marks[i] = false;
  for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
    int found = -1;
    for (int i = 0; i < count; i++)
      if (names[i] && strcmp(word, names[i]) == 0) found = i;
    if (found < 0)
      return sp_fail(SP_ERR_INPUT, "--%s: unknown name '%s'; see --help", option, word);
    marks[found] = true;
  }
  return SP_OK;
}

static sp_status parse_orders(char *list, bool marks[SP_MAX_ORDER + 1]) {
  memset(marks, 0, (SP_MAX_ORDER + 1) * sizeof *marks);
  for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
    char *end;
    const long first = strtol(word, &end, 10);
    const long last = *end == ':' ? strtol(end + 1, &end, 10) : first;
    if (*end || first < 1 || last > SP_MAX_ORDER || first > last)
      return sp_fail(SP_ERR_INPUT, "--order: expected orders from 1 to %d, found '%s'",
                     SP_MAX_ORDER, word);
    for (long order = first; order <= last; order++) marks[order] = true;
  }
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

static sp_status parse(int argc, char **argv, options *o, bool *help) {
  static const char *const problems[] = {
      [SP_MASS] = "mass", [SP_BP35] = "bp3.5", [SP_BP30] = "bp3.0"};
  static const char *const geometries[] = {
      [SP_GEOMETRY_STORED] = "stored", [SP_GEOMETRY_TRILINEAR] = "trilinear"};
  static const char *const devices[] = {"auto", "host", "cuda"};
  static const struct option known[] = {
      {"problem", required_argument, NULL, 'p'},  {"order", required_argument, NULL, 'o'},
      {"geometry", required_argument, NULL, 'g'}, {"dofs", required_argument, NULL, 'n'},
      {"device", required_argument, NULL, 'd'},   {"repeats", required_argument, NULL, 'r'},
      {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0}};
  bool marks[3];
  double repeats;
  *o = (options){.dofs = 2.5e6, .device = SP_DEVICE_AUTO, .repeats = 20};
  o->problems[SP_BP35] = o->orders[7] = true;
  o->geometries[SP_GEOMETRY_STORED] = o->geometries[SP_GEOMETRY_TRILINEAR] = true;
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
    switch (c) {
    case 'p':
      SP_TRY(parse_names("problem", optarg, 3, problems, o->problems));
      break;
    case 'o':
      SP_TRY(parse_orders(optarg, o->orders));
      break;
    case 'g':
      SP_TRY(parse_names("geometry", optarg, 3, geometries, o->geometries));
      break;
    case 'n':
      SP_TRY(parse_number("dofs", optarg, 1, 1e12, &o->dofs));
      break;
    case 'r':
      SP_TRY(parse_number("repeats", optarg, 1, 1000, &repeats));
      o->repeats = (int)repeats;
      break;
    case 'd':
      SP_TRY(parse_names("device", optarg, 3, devices, marks));
      o->device = marks[2] ? SP_DEVICE_CUDA : marks[1] ? SP_DEVICE_HOST : SP_DEVICE_AUTO;
      break;
    case 'h':
      *help = true;
      return SP_OK;
    default:
      return sp_fail(SP_ERR_INPUT, "unknown option or missing value: '%s'; see --help",
                     argv[optind - 1]);
    }
  }
  if (optind < argc) return sp_fail(SP_ERR_INPUT, "unexpected argument '%s'", argv[optind]);
  return SP_OK;
}

int main(int argc, char **argv) {
  int rank;
  bool help = false;
  options o;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  sp_status status = parse(argc, argv, &o, &help);
  if (!status && help && rank == 0) fputs(usage, stdout);
  if (!status && !help) status = run(&o);
  if (status && rank == 0) fprintf(stderr, "sp_bench: %s\n", sp_error_message());
  MPI_Finalize();
  return sp_exit_code(status);
}
