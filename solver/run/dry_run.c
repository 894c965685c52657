#include "solver/run/dry_run.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h> /* defines __GLIBC__ */
#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "io/team.h"
#include "mesh/reference.h"
#include "mesh/sizes.h"
#include "operators/counts.h"
#include "operators/geometry_choice.h"
#include "solver/problem/probe.h"
#include "solver/problem/quantities.h"
#include "solver/case/mesh.h"
#include "solver/run/initial.h"
#include "solver/run/answers.h"
#include "solver/run/outputs.h"
#include "solver/run/plan.h"
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

static bool is_box(const sp_config *config) {
  return config->mesh.shape != SP_SHAPE_FILE;
}

/* Divide the refined mesh among its ranks or, if `planned` is not 0, among so many. METIS would
 * divide the elements of a file, which needs the ranks: a box of about as many stands for them. */
static sp_status divide(const sp_config *config, const sp_mesh *mesh, int planned, sp_parts **out) {
  const sp_hexes *hexes = mesh->hexes;
  const int refine = config->mesh.refine;
  const bool contacts = hexes->file.contacts > 0; /* no coarser meshes */
  bool periodic[3] = {false}, strong[3];
  const int ranks = sp_comm_size(mesh->comm);
  sp_box box = sp_case_box(config);
  if (planned == 0 && (contacts || !is_box(config))) return sp_parts_of_mesh(mesh, refine, out);
  if (is_box(config)) {
    for (int p = 0; p < hexes->pair_count; p++) periodic[hexes->pairs[p].groups[0] / 2] = true;
    return sp_parts_of_box(&box, periodic, refine, contacts ? 0 : INT_MAX,
                           planned > 0 ? planned : ranks, out);
  }
  const double elements = (double)mesh->global_elements;
  box = (sp_box){.upper = {1, 1, 1}};
  box.elements[0] = (int)round(cbrt(elements));
  box.elements[1] = (int)round(sqrt(elements / box.elements[0]));
  box.elements[2] = (int)ceil(elements / box.elements[0] / box.elements[1]);
  sp_mesh_strong_directions(&mesh->shape, strong);
  const int levels = !contacts && strong[0] && strong[1] && strong[2] ? refine : 0;
  for (int d = 0; d < 3; d++) box.upper[d] = box.elements[d]; /* cubes */
  return sp_parts_of_box(&box, periodic, refine, levels, planned, out);
}

/* Describe the operator and the preconditioner of a case with so many elements. */
static sp_status describe_operator(const sp_config *config, const sp_backend *backend,
                                   const sp_mesh *mesh, const sp_problem *problem, double elements,
                                   sp_precondition_facts *facts, sp_memory_case *c) {
  const int order = config->discretization.order;
  const sp_materials *materials = &problem->materials;
  const bool kappa = sp_materials_have_kappa(materials);
  const bool lambda = sp_materials_have_lambda(materials);
  const bool by_element = sp_materials_are_constant(materials);
  const bool is_tensor = sp_materials_have_tensor(materials);
  const sp_rule *rule = sp_operator_rule(problem->kind, order);
  const sp_geometry_facts op = {.kind = problem->kind,
                                .order = order,
                                .map_order = mesh->hexes->map_order,
                                .affine = mesh->shape.affine,
                                .coefficients = kappa || lambda,
                                .by_element = by_element};
  const char *reason;
  sp_precondition_facts_find(&op, backend, mesh, elements, facts);
  *c = (sp_memory_case){
      .backend = backend,
      .threads = sp_team_size(),
      .map_order = op.map_order,
      .coefficients = (kappa * (is_tensor ? SP_TENSOR : 1) + lambda) *
                      (by_element ? 1 : (int)sp_rule_points(rule)),
      .has_initial = config->problem.initial.text != NULL,
      .null_space = sp_operator_rows[op.kind].has_stiffness && !problem->has_dirichlet,
      .preconditioner = sp_precondition_choose(config, facts, &reason),
      .levels[0] = {.kind = op.kind, .order = order, .affine = op.affine, .is_tensor = is_tensor}};
  /* Coordinates, u, error, flux. */
  if (config->output.field[0])
    c->field_columns = 4 + sp_materials_have_solution(materials) + 3 * config->output.flux;
  c->flux = config->output.flux;
  sp_memory_level *level = &c->levels[0];
  SP_TRY(sp_geometry_choose(facts->backend, &op, config->discretization.geometry, &level->geometry,
                            &reason));
  c->one_sweep = sp_precondition_prefers_fused_cg(c->preconditioner, facts, level->geometry);
  return SP_OK;
}

/* Check the counts of the first level against their types. */
static sp_status check_sizes(const sp_config *config, const sp_plan *plan) {
  for (int r = 0; r < plan->ranks; r++) {
    const sp_sizes *s = &plan->parts[0][r];
    SP_TRY(sp_sizes_check(s, config->mesh.where));
    if (plan->memory.backend != &sp_backend_host)
      SP_TRY(sp_operator_device_numbers(config->discretization.order, s->elements, s->dofs));
  }
  return SP_OK;
}

static sp_status describe(const sp_config *config, const sp_backend *backend, const sp_mesh *mesh,
                          const sp_problem *problem, int planned, sp_plan *plan) {
  sp_precondition_facts facts;
  SP_AUTO(sp_parts) parts = NULL;
  SP_TRY(divide(config, mesh, planned, &parts));
  const double elements = ldexp(parts->all.elements, 3 * parts->refinements);
  SP_TRY(describe_operator(config, backend, mesh, problem, elements, &facts, &plan->memory));
  SP_TRY(sp_plan_levels(config, &facts, mesh, parts, plan));
  return check_sizes(config, plan);
}

/* Check the part of a case that needs no refined mesh, and plan it. */
static sp_status check_case(const sp_config *config, const sp_backend *backend, const sp_mesh *mesh,
                            int planned, sp_plan *plan) {
  SP_AUTO(sp_problem) problem = NULL;
  SP_AUTO(sp_probes) probes = NULL;
  SP_AUTO(sp_quantities) quantities = NULL;
  SP_TRY(sp_problem_create(config, mesh, &problem));
  SP_TRY(sp_probes_create(config, mesh, &probes));
  SP_TRY(sp_quantities_create(config, mesh, problem, &quantities));
  return sp_agree(mesh->comm, describe(config, backend, mesh, problem, planned, plan));
}

enum { ELEMENTS, DOFS, HOST, DEVICE, COLUMNS };

static void print_row(sp_terminal *t, const char *name, const double row[COLUMNS], bool on_device) {
  sp_terminal_print(t, "  %-8s %12.0f %14.0f %12.1f", name, row[ELEMENTS], row[DOFS],
                    1e-6 * row[HOST]);
  if (on_device) sp_terminal_print(t, " %12.1f", 1e-6 * row[DEVICE]);
  sp_terminal_print(t, "\n");
}

/* Print rows[size] if they are few, then the largest and the sum. */
static void print_table(sp_terminal *t, int size, double (*rows)[COLUMNS], bool on_device) {
  enum { FEW = 16 };
  double largest[COLUMNS] = {0}, sum[COLUMNS] = {0};
  sp_terminal_print(t, "\n  %-8s %12s %14s %12s%s\n", "rank", "elements", "local DOFs", "host [MB]",
                    on_device ? "  device [MB]" : "");
  for (int r = 0; r < size; r++) {
    char name[16];
    snprintf(name, sizeof name, "%d", r);
    if (size <= FEW) print_row(t, name, rows[r], on_device);
    for (int c = 0; c < COLUMNS; c++) {
      sum[c] += rows[r][c];
      if (rows[r][c] > largest[c]) largest[c] = rows[r][c];
    }
  }
  print_row(t, "largest", largest, on_device);
  print_row(t, "sum", sum, on_device);
}

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
                    "\n  %-16s the run takes %.1f MB more than now on the machine with the least "
                    "room: %.1f MB available%s\n",
                    "host", 1e-6 * memory[0], 1e-6 * memory[1],
                    memory[0] > memory[1] ? ": too little" : "");
  if (memory[0] <= memory[1]) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "the case needs %.0f MB more on a machine that has %.0f MB available; use more "
                 "machines, a lower order or fewer elements",
                 1e-6 * memory[0], 1e-6 * memory[1]);
}

/* The row of a rank in the table. */
static void fill_row(sp_plan *plan, int rank, double row[COLUMNS]) {
  sp_plan_choose(plan, rank);
  const sp_memory memory = sp_memory_predict(&plan->memory);
  const sp_sizes *s = &plan->memory.levels[0].sizes;
  row[ELEMENTS] = s->elements;
  row[DOFS] = s->dofs;
  row[HOST] = memory.host;
  row[DEVICE] = memory.device;
}

/* Check the case on its mesh without refinements, and fill rows[planned], or the row of this rank.
 */
static sp_status predict(const sp_config *config, const sp_backend *backend, const sp_mesh *mesh,
                         int planned, double at_start, sp_plan *plan, double (*rows)[COLUMNS]) {
  sp_sizes now;
  const int rank = sp_comm_rank(mesh->comm);
  SP_TRY(check_case(config, backend, mesh, planned, plan));
  sp_memory_case *c = &plan->memory;
  sp_sizes_count(mesh->topology, 0, 1, &now);
  /* Memory that the mesh library and the device driver keep. */
  const double kept = sp_memory_resident() - sp_memory_of_mesh(&now, c->map_order);
  c->at_start = fmax(kept, at_start) + libraries(config);
  for (int r = 0; r < planned; r++) fill_row(plan, r, rows[r]);
  if (planned > 0) return SP_OK;
  fill_row(plan, rank, rows[0]);
  rows[0][HOST] = fmax(rows[0][HOST], most_so_far()); /* reading a mesh file may take more */
  return SP_OK;
}

/* For a plan, let few elements of about the same shape stand for those of a large box. */
static sp_status reduce(sp_config *config) {
  enum { MANY = 1 << 17 };
  int *n = config->mesh.elements;
  const double elements = (double)n[0] * n[1] * n[2];
  const int factor = (int)ceil(cbrt(elements / MANY));
  config->discretization.order = 1; /* no rank has all DOFs */
  if (!is_box(config) || factor == 1) return SP_OK;
  if (config->regions.count > 0)
    return sp_fail(SP_ERR_INPUT,
                   "--ranks: a box with regions needs all its elements, %.0f, but a plan makes at "
                   "most %d; use fewer elements and mesh.refine",
                   elements, MANY);
  for (int d = 0; d < 3; d++) n[d] = n[d] > factor ? n[d] / factor : 1;
  return SP_OK;
}

/* Check and predict, with error bars at the order that they come from; only ranks with elements
 * call this. */
static sp_status check_and_predict(const sp_workers *workers, const sp_config *config, int planned,
                                   double at_start, sp_terminal *terminal, double (*rows)[COLUMNS],
                                   sp_plan *plan) {
  SP_AUTO(sp_mesh) mesh = NULL;
  sp_profile profile = sp_profile_from_now();
  sp_config coarse = *config, larger = *config;
  coarse.mesh.refine = 0;
  if (planned > 0) SP_TRY(reduce(&coarse));
  if (config->output.accuracy && config->discretization.order < SP_MAX_ORDER) {
    larger.discretization.order = sp_answers_other_order(config->discretization.order);
    larger.solver.orders.count = 0;
  }
  SP_TRY(sp_outputs_check(workers->comm, config));
  SP_TRY(sp_initial_check(workers->comm, config));
  SP_TRY(sp_case_mesh(workers, &coarse, &profile, terminal, &mesh));
  SP_TRY(predict(&larger, workers->platform.backend, mesh, planned, at_start, plan, rows));
  sp_terminal_print(terminal, "dry run: the case is read and checked, nothing is solved\n\n");
  sp_report_device(workers, terminal);
  sp_terminal_print(terminal, "  %-16s %s, N = %d, %s geometry\n", "operator",
                    sp_operator_names[plan->memory.levels[0].kind], larger.discretization.order,
                    sp_geometry_names[plan->memory.levels[0].geometry]);
  if (planned > 0)
    sp_terminal_print(terminal, "  %-16s %d ranks like this one, %s\n", "plan", planned,
                      is_box(config) ? "a brick for each"
                                     : "estimated for a box of as many elements");
  return SP_OK;
}

/* Fill rows[size], one per rank of the run or of the plan. */
static sp_status fill_rows(const sp_workers *w, const sp_config *config, int planned,
                           double at_start, sp_terminal *terminal, double (*rows)[COLUMNS],
                           sp_plan *plan) {
  double own[1][COLUMNS] = {{[HOST] = most_so_far()}};
  double(*mine)[COLUMNS] = planned > 0 ? rows : own;
  SP_TRY(sp_workers_meet(
      w, w->has_elements ? check_and_predict(w, config, planned, at_start, terminal, mine, plan)
                         : SP_OK));
  if (planned == 0) MPI_Allgather(own, COLUMNS, MPI_DOUBLE, rows, COLUMNS, MPI_DOUBLE, w->all);
  return SP_OK;
}

sp_status sp_dry_run_on(const sp_workers *workers, const sp_config *config, int planned,
                        double at_start, sp_terminal *terminal) {
  const sp_workers *w = workers;
  const int size = planned > 0 ? planned : w->ranks;
  bool on_device = w->has_elements && w->platform.backend != &sp_backend_host;
  sp_plan plan = {0};
  SP_OWNED double(*rows)[COLUMNS] = NULL;
  if (planned > 0 && w->ranks > 1)
    return sp_fail(SP_ERR_INPUT,
                   "--ranks plans for ranks that need not exist: start one process, "
                   "not %d",
                   w->ranks);
  SP_TRY(sp_agree(w->all, sp_allocate((size_t)size, sizeof *rows, "predictions", &rows)));
  MPI_Bcast(&on_device, 1, MPI_C_BOOL, w->leader, w->all);
  sp_status status = fill_rows(w, config, planned, at_start, terminal, rows, &plan);
  if (!status) {
    print_table(terminal, size, rows, on_device);
    sp_plan_print(&plan, terminal);
    if (planned == 0) status = check_machine(w->all, terminal, rows[sp_comm_rank(w->all)][HOST]);
  }
  sp_plan_free(&plan);
  return status;
}

sp_status sp_dry_run(MPI_Comm comm, const sp_config *config, int planned, double at_start,
                     sp_terminal *terminal) {
  sp_workers workers;
  sp_status status = sp_workers_open(comm, config, &workers);
  if (!status) status = sp_dry_run_on(&workers, config, planned, at_start, terminal);
  sp_workers_close(&workers);
  return status;
}
