#include "solver/run/dry_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h> /* defines __GLIBC__ */
#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "io/team.h"
#include "mesh/coarsen.h"
#include "mesh/reference.h"
#include "mesh/sizes.h"
#include "operators/counts.h"
#include "operators/geometry_choice.h"
#include "operators/separable.h"
#include "solver/problem/probe.h"
#include "solver/problem/quantities.h"
#include "solver/case/base.h"
#include "solver/run/initial.h"
#include "solver/run/answers.h"
#include "solver/run/memory.h"
#include "solver/run/outputs.h"
#include "solver/run/precondition.h"
#include "solver/run/report.h"

/* Return the peak resident size of this process so far. */
static double most_so_far(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * (double)usage.ru_maxrss;
}

double sp_memory_resident(void) {
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
  return most_so_far(); /* without /proc: at the start the peak is close to it */
}

/* Pages of the program, MPI, HDF5 and MPI-IO that the start has not touched. Measured on tiny
 * cases: 1 to 3 MB without files, 2 to 6 with a log, 7 to 9 with a field. */
static double libraries(const sp_config *config) {
  const bool parallel_files = config->output.field[0];
  return 2e6 + (config->output.log[0] ? 2e6 : 0) + (parallel_files ? 4e6 : 0);
}

/* What describes a level of multigrid, and its mesh with refinements to come. */
typedef struct outline {
  sp_geometry_facts facts;
  sp_geometry_kind geometry;
  const sp_mesh *mesh;
  sp_mesh *own_mesh; /* the same if it is a coarser one, else NULL */
  int refine;
} outline;

/* Add level `index`. */
static sp_status add_level(const outline *o, int index, bool coarser, sp_memory_case *c) {
  sp_memory_level *l = &c->levels[index];
  sp_geometry_facts facts = o->facts;
  const char *reason;
  facts.order = c->multigrid.orders[index];
  facts.by_element = facts.by_element || coarser;
  *l = (sp_memory_level){.kind = facts.kind, .order = facts.order, .coarser = coarser};
  sp_sizes_count(o->mesh->topology, o->refine, facts.order, &l->sizes);
  return sp_geometry_choose(c->backend, &facts, o->geometry, &l->geometry, &reason);
}

/* Go to the next coarser mesh: undo a refinement, or coarsen. A refined box with weak directions
 * counts as if it had none, which predicts too much. Collective. */
static sp_status coarsen(outline *o, bool *found) {
  sp_mesh *coarser;
  if (o->refine > 0) {
    bool strong[3];
    SP_TRY(sp_mesh_strong_directions(o->mesh, strong));
    *found = strong[0] && strong[1] && strong[2];
    o->refine -= *found;
    return SP_OK;
  }
  SP_TRY(sp_mesh_coarser(o->mesh, &coarser));
  *found = coarser != NULL;
  if (!coarser) return SP_OK;
  sp_mesh_destroy(&o->own_mesh);
  o->mesh = o->own_mesh = coarser;
  return SP_OK;
}

/* DOFs of the last level. Copies of shared DOFs count more than once: a few per cent. */
static void count_rows(MPI_Comm comm, sp_memory_case *c) {
  c->rows = c->levels[c->multigrid.levels - 1].sizes.dofs;
  MPI_Allreduce(MPI_IN_PLACE, &c->rows, 1, MPI_DOUBLE, MPI_SUM, comm);
}

/* Add levels as sp_levels_create does. */
static sp_status add_levels(outline *o, sp_memory_case *c) {
  sp_multigrid_options *options = &c->multigrid;
  const int orders = options->levels, smoothed = sp_multigrid_smoothed(options);
  bool found;
  for (int i = 1; i < smoothed; i++) SP_TRY(add_level(o, i, false, c));
  options->levels = smoothed;
  count_rows(o->mesh->comm, c);
  while (sp_multigrid_wants_mesh(options, o->facts.kind, c->levels[0].is_tensor, c->rows)) {
    SP_TRY(coarsen(o, &found));
    if (!found) break;
    options->orders[options->levels] = 1;
    SP_TRY(add_level(o, options->levels++, true, c));
    count_rows(o->mesh->comm, c);
  }
  if (options->levels >= orders) return SP_OK;
  options->levels = orders;
  return add_level(o, orders - 1, false, c);
}

/* Describe multigrid: its options, and operator, geometry and sizes of its levels. */
static sp_status describe_levels(const sp_config *config, const sp_mesh *mesh,
                                 const sp_precondition_facts *facts, bool is_tensor,
                                 sp_memory_case *c) {
  sp_extents extents;
  sp_multigrid_options *options = &c->multigrid;
  outline o = {facts->op, config->discretization.geometry, mesh, NULL, config->mesh.refine};
  o.facts.kind = sp_operator_rows[facts->op.kind].has_stiffness ? SP_BP35 : SP_MASS;
  sp_precondition_options(config, facts->op.order, options);
  SP_TRY(sp_multigrid_check(facts->op.order, options));
  SP_TRY(sp_separable_extents(mesh, &extents)); /* refinement hardly changes the stretch */
  if (options->smoother == SP_SMOOTHER_AUTO && is_tensor) options->smoother = SP_SMOOTHER_SCHWARZ;
  sp_multigrid_decide(facts->backend, &extents, options);
  const sp_status status = add_levels(&o, c);
  sp_mesh_destroy(&o.own_mesh);
  return status;
}

static sp_status describe_operator(const sp_config *config, const sp_case_base *base,
                                   const sp_problem *problem, sp_memory_case *c) {
  const int order = config->discretization.order;
  const sp_materials *materials = &problem->materials;
  const bool kappa = sp_materials_have_kappa(materials);
  const bool lambda = sp_materials_have_lambda(materials);
  const bool by_element = sp_materials_are_constant(materials);
  const bool is_tensor = sp_materials_have_tensor(materials);
  const sp_rule *rule = sp_operator_rule(problem->kind, order);
  const sp_geometry_facts op = {.kind = problem->kind,
                                .order = order,
                                .map_order = base->mesh->hexes->map_order,
                                .coefficients = kappa || lambda,
                                .by_element = by_element};
  const double elements = (double)base->mesh->global_elements * pow(8, config->mesh.refine);
  sp_precondition_facts facts;
  const char *reason;
  SP_TRY(sp_precondition_facts_find(&op, base->platform->backend, base->mesh, elements, &facts));
  *c = (sp_memory_case){.backend = base->platform->backend,
                        .threads = sp_team_size(),
                        .map_order = op.map_order,
                        .coefficients = (kappa * (is_tensor ? SP_TENSOR : 1) + lambda) *
                                        (by_element ? 1 : (int)sp_rule_points(rule)),
                        .null_space =
                            sp_operator_rows[op.kind].has_stiffness && !problem->has_dirichlet,
                        .preconditioner = sp_precondition_choose(config, &facts, &reason),
                        .levels[0] = {.kind = op.kind, .order = order, .is_tensor = is_tensor}};
  /* Coordinates, u, error, flux. */
  if (config->output.field[0])
    c->field_columns = 4 + sp_materials_have_solution(materials) + 3 * config->output.flux;
  c->flux = config->output.flux;
  sp_memory_level *level = &c->levels[0];
  sp_sizes_count(base->mesh->topology, config->mesh.refine, order, &level->sizes);
  SP_TRY(sp_geometry_choose(facts.backend, &op, config->discretization.geometry, &level->geometry,
                            &reason));
  c->one_sweep = sp_precondition_prefers_fused_cg(c->preconditioner, &facts, level->geometry);
  if (c->preconditioner != SP_PRECONDITIONER_MULTIGRID) return SP_OK;
  return describe_levels(config, base->mesh, &facts, is_tensor, c);
}

/* Check the part of a case that needs no refined mesh. */
static sp_status check_case(const sp_config *config, const sp_case_base *base, sp_memory_case *c) {
  sp_problem *problem = NULL;
  sp_probes *probes = NULL;
  sp_quantities *quantities = NULL;
  sp_status status = sp_problem_create(config, base->mesh, &problem);
  if (!status) status = sp_probes_create(config, base->mesh, &probes);
  if (!status) status = sp_quantities_create(config, base->mesh, problem, &quantities);
  if (!status) status = sp_agree(base->comm, describe_operator(config, base, problem, c));
  sp_quantities_destroy(&quantities);
  sp_probes_destroy(&probes);
  sp_problem_destroy(&problem);
  return status;
}

enum { ELEMENTS, DOFS, HOST, DEVICE, COLUMNS };

static void print_row(sp_terminal *t, const char *name, const double row[COLUMNS], bool on_device) {
  sp_terminal_print(t, "  %-8s %12.0f %14.0f %12.1f", name, row[ELEMENTS], row[DOFS],
                    1e-6 * row[HOST]);
  if (on_device) sp_terminal_print(t, " %12.1f", 1e-6 * row[DEVICE]);
  sp_terminal_print(t, "\n");
}

/* Print all ranks if they are few, then the largest and the sum. */
static sp_status print_table(MPI_Comm comm, sp_terminal *t, const double mine[COLUMNS],
                             bool on_device) {
  enum { FEW = 16 };
  int size;
  MPI_Comm_size(comm, &size);
  double(*all)[COLUMNS];
  SP_TRY(sp_agree(comm, sp_allocate((size_t)size, sizeof *all, "predictions", &all)));
  MPI_Allgather(mine, COLUMNS, MPI_DOUBLE, all, COLUMNS, MPI_DOUBLE, comm);
  double largest[COLUMNS] = {0}, sum[COLUMNS] = {0};
  sp_terminal_print(t, "\n  %-8s %12s %14s %12s%s\n", "rank", "elements", "local DOFs", "host [MB]",
                    on_device ? "  device [MB]" : "");
  for (int r = 0; r < size; r++) {
    char name[16];
    snprintf(name, sizeof name, "%d", r);
    if (size <= FEW) print_row(t, name, all[r], on_device);
    for (int c = 0; c < COLUMNS; c++) {
      sum[c] += all[r][c];
      if (all[r][c] > largest[c]) largest[c] = all[r][c];
    }
  }
  print_row(t, "largest", largest, on_device);
  print_row(t, "sum", sum, on_device);
  free(all);
  return SP_OK;
}

/* Return the memory available on this machine; 0 if unknown. */
static double memory_available(void) {
  FILE *stream = fopen("/proc/meminfo", "r");
  char line[128];
  double kilobytes = 0;
  while (stream && !kilobytes && fgets(line, sizeof line, stream))
    if (sscanf(line, "MemAvailable: %lf kB", &kilobytes) != 1) kilobytes = 0;
  if (stream) fclose(stream);
  return 1024 * kilobytes;
}

/* Compare the memory that the ranks of each machine still need with the memory available there.
 * Print both for the machine with the least room; fail on all ranks if it is too little. */
static sp_status check_machine(MPI_Comm comm, sp_terminal *t, double host) {
  MPI_Comm machine;
  int rank;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  const double mine = fmax(0, host - sp_memory_resident());
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
                    "\n  %-16s %.1f MB more on the machine with the least room, which has "
                    "%.1f MB available%s\n",
                    "host", 1e-6 * memory[0], 1e-6 * memory[1],
                    memory[0] > memory[1] ? ": too little" : "");
  if (memory[0] <= memory[1]) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "the case needs %.0f MB more on a machine that has %.0f MB available; use more "
                 "machines, a lower order or fewer elements",
                 1e-6 * memory[0], 1e-6 * memory[1]);
}

/* Predict the row of a rank with elements; on entry `row` has the memory used so far. */
static sp_status predict(const sp_config *config, const sp_case_base *base, double at_start,
                         sp_terminal *terminal, double row[COLUMNS]) {
  sp_memory_case c;
  sp_sizes now, later;
  const int order = config->discretization.order;
  sp_sizes_count(base->mesh->topology, 0, 1, &now);
  sp_sizes_count(base->mesh->topology, config->mesh.refine, order, &later);
  SP_TRY(sp_agree(base->comm, sp_sizes_check(&later, config->mesh.where)));
  SP_TRY(check_case(config, base, &c));
  if (c.backend != &sp_backend_host)
    SP_TRY(sp_agree(base->comm, sp_operator_device_numbers(order, later.elements, later.dofs)));
  /* Memory that the mesh library and the device driver keep. */
  const double kept = sp_memory_resident() - sp_memory_of_mesh(&now, c.map_order);
  c.at_start = fmax(kept, at_start) + libraries(config);
  const sp_memory memory = sp_memory_predict(&c);
  row[ELEMENTS] = later.elements;
  row[DOFS] = later.dofs;
  row[HOST] = fmax(memory.host, most_so_far()); /* reading a mesh file may take more */
  row[DEVICE] = memory.device;
  sp_terminal_print(terminal, "dry run: the case is read and checked, nothing is solved\n\n");
  sp_report_device(base->workers, terminal);
  sp_terminal_print(terminal, "  %-16s %s, N = %d, %s geometry\n", "operator",
                    sp_operator_name(c.levels[0].kind), order,
                    sp_geometry_kind_name(c.levels[0].geometry));
  return SP_OK;
}

/* Check and predict, with error bars at the order that they come from; only ranks with elements
 * call this. */
static sp_status check_and_predict(const sp_workers *workers, const sp_config *config,
                                   double at_start, sp_terminal *terminal, double row[COLUMNS]) {
  sp_case_base base;
  sp_profile profile = sp_profile_from_now();
  sp_config coarse = *config, larger = *config;
  coarse.mesh.refine = 0;
  if (config->output.accuracy && config->discretization.order < SP_MAX_ORDER) {
    larger.discretization.order = sp_answers_other_order(config->discretization.order);
    larger.solver.orders.count = 0;
  }
  SP_TRY(sp_outputs_check(workers->comm, config));
  SP_TRY(sp_initial_check(workers->comm, config));
  SP_TRY(sp_case_base_create(workers, &coarse, &profile, terminal, &base));
  const sp_status status = predict(&larger, &base, at_start, terminal, row);
  sp_case_base_destroy(&base);
  return status;
}

sp_status sp_dry_run_on(const sp_workers *workers, const sp_config *config, double at_start,
                        sp_terminal *terminal) {
  const sp_workers *w = workers;
  double row[COLUMNS] = {[HOST] = most_so_far()};
  bool on_device = w->has_elements && w->platform.backend != &sp_backend_host;
  SP_TRY(sp_workers_meet(w, w->has_elements ? check_and_predict(w, config, at_start, terminal, row)
                                            : SP_OK));
  MPI_Bcast(&on_device, 1, MPI_C_BOOL, w->leader, w->all);
  SP_TRY(print_table(w->all, terminal, row, on_device));
  return check_machine(w->all, terminal, row[HOST]);
}

sp_status sp_dry_run(MPI_Comm comm, const sp_config *config, double at_start,
                     sp_terminal *terminal) {
  sp_workers workers;
  sp_status status = sp_workers_open(comm, config, &workers);
  if (!status) status = sp_dry_run_on(&workers, config, at_start, terminal);
  sp_workers_close(&workers);
  return status;
}
