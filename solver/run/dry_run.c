#include "solver/run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h> /* defines __GLIBC__ */
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "mesh/refine.h"
#include "operators/counts.h"
#include "operators/factors.h"
#include "solver/linear/smoother.h"
#include "solver/solve/initial.h"
#include "solver/solve/precondition.h"

static double resident_memory(void) {
  long pages = 0, resident = 0;
#ifdef __GLIBC__
  malloc_trim(0); /* free memory will be used again */
#endif
  FILE *stream = fopen("/proc/self/statm", "r");
  if (stream) {
    if (fscanf(stream, "%ld %ld", &pages, &resident) != 2) resident = 0;
    fclose(stream);
  }
  if (resident > 0) return (double)resident * (double)sysconf(_SC_PAGESIZE);
  return sp_peak_memory(); /* without /proc */
}

/* ---- Memory per DOF ---- */

/* Bytes per DOF of a rank at orders 1, 2, 4, 7 and from 11 on: the sizes of all arrays, added up.
 * For the host they agree to 3 % with the peaks of runs with 1 M DOFs on one rank, less the program
 * itself; for the device they were not compared with runs. The operator has bp3.5's factors, and
 * cycles are in single precision. */
enum { SIMPLE, DIAGONAL, BLOCKS, CYCLES, ORDERS = 5 }; /* no multigrid; multigrid by smoother */
typedef const double table[CYCLES][2][ORDERS];         /* [][0] stored, [][1] trilinear */

static const double table_orders[ORDERS] = {1, 2, 4, 7, 11};

static table on_host = {{{1089, 364, 219, 183, 169}, {837, 201, 114, 101, 98}},
                        {{1511, 562, 339, 284, 270}, {1113, 299, 168, 149, 148}},
                        {{1511, 685, 389, 316, 297}, {1113, 440, 232, 188, 175}}};

static table on_device = {{{641, 301, 194, 161, 147}, {167, 128, 89, 79, 75}},
                          {{880, 441, 283, 244, 220}, {609, 241, 147, 136, 123}},
                          {{880, 503, 318, 268, 239}, {609, 303, 182, 160, 143}}};

/* On the host of a device, with either geometry. */
static table beside_device = {{{672, 108, 48, 40, 39}, {672, 108, 48, 40, 39}},
                              {{672, 124, 57, 49, 47}, {672, 124, 57, 49, 47}},
                              {{672, 247, 124, 101, 93}, {672, 247, 124, 101, 93}}};

/* Interpolate linearly in 1/N. */
static double at_order(const double row[ORDERS], int order) {
  int i = 0;
  while (i < ORDERS - 1 && order > table_orders[i + 1]) i++;
  if (i == ORDERS - 1) return row[i];
  const double a = 1 / table_orders[i], b = 1 / table_orders[i + 1];
  return row[i] + (row[i + 1] - row[i]) * (a - 1.0 / order) / (a - b);
}

typedef struct part {
  double elements, dofs; /* DOFs of several ranks count as one in all */
  double host, device;   /* bytes */
  bool on_device;
  sp_operator_kind kind;
  sp_geometry_kind geometry;
  int order;
  double factors; /* stored at a node, of seven; 0 if trilinear */
  int cycle;      /* SIMPLE, DIAGONAL or BLOCKS */
  double cycles;  /* with bars on a level, or in double precision, they take twice as much */
} part;

static double bytes_per_dof(table costs, const part *p, int cycle) {
  const double trilinear = at_order(costs[cycle][1], p->order);
  return trilinear + p->factors * (at_order(costs[cycle][0], p->order) - trilinear);
}

/* Pages of libraries, and the ends of arrays that take whole huge pages: about this much per rank.
 */
static const double SLACK = 10e6, SLACK_OF_CYCLES = 10e6;

/* Bytes of a rank with `dofs` local DOFs. */
static double bytes_of_rank(table costs, const part *p, double dofs) {
  const double simple = bytes_per_dof(costs, p, SIMPLE);
  const double more = bytes_per_dof(costs, p, p->cycle) - simple;
  return dofs * (simple + more * p->cycles);
}

/* ---- The case ---- */

static void choose_cycle(const sp_config *config, const sp_backend *backend, const sp_mesh *mesh,
                         bool is_tensor, part *p) {
  static const double BARS = 8; /* operators/schwarz/bars.h */
  bool strong[3];
  sp_multigrid_options options;
  const sp_solver_options request = sp_config_solver(config);
  sp_precondition_options(&request, &options);
  /* Refined, the shape hardly changes. */
  sp_multigrid_decide(backend, p->kind, is_tensor, &mesh->shape, &options);
  sp_mesh_strong_directions(&mesh->shape, strong);
  const sp_smoother_type *smoother = sp_smoother_type_of(options.smoother, p->order);
  p->cycle = smoother->keeps_blocks ? BLOCKS : DIAGONAL;
  const bool bars =
      smoother->keeps_bars && strong[0] + strong[1] + strong[2] == 2 && mesh->shape.stretch >= BARS;
  p->cycles = bars || options.precision == SP_CYCLE_DOUBLE ? 2 : 1;
}

static sp_status describe_solver(const sp_config *config, const sp_backend *backend,
                                 const sp_mesh *mesh, const sp_problem *problem, part *p) {
  const sp_materials *materials = &problem->materials;
  const double elements = ldexp((double)mesh->global_elements, 3 * config->mesh.refine);
  const sp_operator_row *row = &sp_operator_rows[problem->kind];
  const sp_geometry_facts op = {.kind = problem->kind,
                                .order = config->statement.order,
                                .map_order = mesh->hexes->map_order,
                                .affine = mesh->shape.affine,
                                .coefficients =
                                    materials->have_kappa || sp_materials_have_lambda(materials),
                                .by_element = sp_materials_are_constant(materials)};
  const sp_solver_options request = sp_config_solver(config);
  const char *reason;
  sp_precondition_facts facts;
  *p = (part){.on_device = !backend->on_host, .kind = op.kind, .order = op.order, .cycle = SIMPLE};
  SP_TRY(sp_geometry_choose(backend, &op, config->solver.geometry, &p->geometry, &reason));
  if (p->geometry == SP_GEOMETRY_STORED)
    p->factors = row->factors / 7.0 * (double)sp_rule_points(sp_operator_rule(op.kind, op.order)) /
                 (double)sp_element_nodes(op.order);
  sp_precondition_facts_find(&op, backend, mesh, elements, &facts);
  if (sp_precondition_type(sp_precondition_choose(&request, &facts, &reason))->has_levels)
    choose_cycle(config, backend, mesh, materials->have_tensor, p);
  return SP_OK;
}

/* Count this rank's part of the refined mesh, and estimate its memory. */
static sp_status estimate_memory(const sp_config *config, const sp_backend *backend,
                                 const sp_mesh *mesh, const sp_problem *problem, part *p) {
  sp_sizes sizes;
  SP_TRY(describe_solver(config, backend, mesh, problem, p));
  sp_sizes_count(mesh->topology, config->mesh.refine, p->order, &sizes);
  SP_TRY(sp_sizes_check(&sizes, config->mesh.where));
  if (p->on_device) SP_TRY(sp_operator_device_numbers(p->order, sizes.elements, sizes.dofs));
  p->elements = sizes.elements;
  p->dofs = sizes.owned;
  p->host = bytes_of_rank(p->on_device ? beside_device : on_host, p, sizes.dofs);
  p->host += SLACK + (p->cycle == SIMPLE ? 0 : SLACK_OF_CYCLES);
  /* The flux at nodes and its columns in the field, less the vectors of CG. */
  if (config->output.field[0] && config->output.flux) p->host += 48 * sizes.dofs;
  if (p->on_device) p->device = bytes_of_rank(on_device, p, sizes.dofs);
  return SP_OK;
}

/* Check all of a case that needs no refined mesh. */
static sp_status check_case(const sp_config *config, const sp_backend *backend, const sp_mesh *mesh,
                            part *p) {
  SP_AUTO(sp_problem) problem = NULL;
  SP_AUTO(sp_probes) probes = NULL;
  SP_AUTO(sp_quantities) quantities = NULL;
  SP_TRY(sp_problem_create(&config->statement, mesh, &problem));
  SP_TRY(sp_probes_create(&config->wanted, mesh, &probes));
  SP_TRY(
      sp_quantities_create(&config->wanted, mesh, problem, config->solver.tolerance, &quantities));
  return sp_agree(mesh->comm, estimate_memory(config, backend, mesh, problem, p));
}

/* Check the case and estimate its memory, with error bars at the order that they come from; only
 * ranks with elements call this. */
static sp_status check_and_estimate(const sp_workers *workers, const sp_config *config,
                                    sp_terminal *terminal, part *p) {
  SP_AUTO(sp_mesh) mesh = NULL;
  sp_profile profile = sp_profile_from_now();
  const double before = resident_memory();
  sp_config larger = *config;
  sp_mesh_options coarse = config->mesh;
  coarse.refine = 0;
  if (config->output.accuracy && config->statement.order < SP_MAX_ORDER) {
    larger.statement.order = sp_answers_other_order(config->statement.order);
    larger.solver.orders.count = 0;
  }
  SP_TRY(sp_outputs_check(workers->comm, config));
  SP_TRY(sp_initial_check(workers->comm, &config->statement));
  SP_TRY(sp_case_mesh(workers, &coarse, &config->statement, &config->wanted, &profile, terminal,
                      &mesh));
  SP_TRY(check_case(&larger, workers->platform.backend, mesh, p));
  p->host = fmax(p->host + before, sp_peak_memory()); /* reading a mesh file may take more */
  sp_terminal_print(terminal, "dry run: the case is read and checked, nothing is solved\n\n");
  sp_report_device(workers, terminal);
  sp_terminal_print(terminal, "  %-16s %s, N = %d, %s geometry\n", "operator",
                    sp_operator_names[p->kind], p->order, sp_geometry_names[p->geometry]);
  return SP_OK;
}

/* ---- The machine ---- */

/* Return the memory available on this machine; 0 if unknown. */
static double memory_available(void) {
  FILE *stream = fopen("/proc/meminfo", "r");
  char line[128];
  double kilobytes = 0;
  while (stream && kilobytes == 0 && fgets(line, sizeof line, stream))
    if (sscanf(line, "MemAvailable: %lf kB", &kilobytes) != 1) kilobytes = 0;
  if (stream) fclose(stream);
  return 1024 * kilobytes;
}

/* Compare the memory that the ranks of each machine still need with the memory available there.
 * Print both for the machine with the least room; fail on all ranks if it is too little. */
static sp_status check_machine(MPI_Comm comm, sp_terminal *t, double host) {
  MPI_Comm machine;
  const int rank = sp_comm_rank(comm);
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  const double mine = fmax(0, host - resident_memory());
  double memory[2]; /* needed, available */
  MPI_Allreduce(&mine, &memory[0], 1, MPI_DOUBLE, MPI_SUM, machine);
  MPI_Comm_free(&machine);
  memory[1] = memory_available();
  struct {
    double ratio;
    int rank;
  } tightest = {memory[1] > 0 ? memory[0] / memory[1] : 0, rank};
  MPI_Allreduce(MPI_IN_PLACE, &tightest, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
  MPI_Bcast(memory, 2, MPI_DOUBLE, tightest.rank, comm);
  if (memory[1] <= 0) return SP_OK;
  sp_terminal_print(t,
                    "  %-16s the run takes %.1f MB more than now on the machine with the least "
                    "room: %.1f MB available%s\n",
                    "host", 1e-6 * memory[0], 1e-6 * memory[1],
                    memory[0] > memory[1] ? ": too little" : "");
  if (memory[0] <= memory[1]) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "the case needs %.0f MB more on a machine that has %.0f MB available; use more "
                 "machines, a lower order or fewer elements",
                 1e-6 * memory[0], 1e-6 * memory[1]);
}

static void print_memory(sp_terminal *t, const char *name, double all, double largest) {
  sp_terminal_print(t, "  %-16s about %.0f MB, %.0f MB on the largest rank\n", name, 1e-6 * all,
                    1e-6 * largest);
}

sp_status sp_dry_run(const sp_workers *w, const sp_config *config, sp_terminal *terminal) {
  part p = {.host = sp_peak_memory()};
  SP_TRY(sp_workers_meet(w, w->has_elements ? check_and_estimate(w, config, terminal, &p) : SP_OK));
  const double own[] = {p.elements, p.dofs, p.host, p.device};
  double sum[4], largest[4];
  MPI_Allreduce(own, sum, 4, MPI_DOUBLE, MPI_SUM, w->all);
  MPI_Allreduce(own, largest, 4, MPI_DOUBLE, MPI_MAX, w->all);
  sp_terminal_print(terminal, "  %-16s %.0f, %.0f on the largest rank\n", "elements", sum[0],
                    largest[0]);
  sp_terminal_print(terminal, "  %-16s %.0f degrees of freedom\n", "discretization", sum[1]);
  print_memory(terminal, "memory", sum[2], largest[2]);
  if (sum[3] > 0) print_memory(terminal, "device memory", sum[3], largest[3]);
  return check_machine(w->all, terminal, p.host);
}
