#include "solver/run/study.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/refine.h"
#include "solver/run/run.h"

enum { MAX_REFINE = 10, MAX_STEP = 10 };
enum { MAX_RUNS = SP_MAX_ORDER * (MAX_REFINE + 1) * (MAX_STEP + 1) };

static const double TOLERANCE = 1e-13;

static const struct {
  const char *name;
  int least, most;
  const char *of_errors, *of_answers; /* the rate */
} axes[SP_STUDY_AXES] = {
    [SP_ALONG_ORDERS] = {"order", 1, SP_MAX_ORDER, "along orders: log10(e_N-1 / e_N)",
                         "along orders: log10(|f2 - f3| / |f1 - f2|), f1 the finest"},
    [SP_ALONG_REFINEMENTS] = {"refine", 0, MAX_REFINE, "along refinements: log2(e_h / e_h/2)",
                              "along refinements: log2(|f2 - f3| / |f1 - f2|), f1 the finest"},
    [SP_ALONG_STEPS] = {"step", 0, MAX_STEP, "along steps: log2(e_dt / e_dt/2)",
                        "along steps: log2(|f2 - f3| / |f1 - f2|), f1 of the shortest"}};

/* A study while it runs. */
typedef struct series {
  const sp_workers *workers;
  sp_config config; /* the user's, with the changes of the study */
  sp_terminal *terminal;
  sp_report *report;
  int steps;                           /* of the case, in time */
  sp_study_axis axis;                  /* along which rates are taken */
  sp_study_range along[SP_STUDY_AXES]; /* one value if it is not given */
  sp_mesh *meshes[MAX_REFINE + 1];     /* by refinement; NULL if not made yet */
  sp_profile profile;                  /* of all runs */
  int count;                           /* number of runs so far */
  sp_study_row rows[MAX_RUNS];
  bool by_answers;              /* there is no solution to compare with */
  sp_answers answers[MAX_RUNS]; /* of the rows, then */
} series;

sp_status sp_study_parse(const char *text, sp_study *study) {
  for (int a = 0; a < SP_STUDY_AXES; a++) {
    sp_study_range *range = &study->along[a];
    const size_t length = strlen(axes[a].name);
    int first, last, end = 0;
    if (strncmp(text, axes[a].name, length) != 0 || text[length] != '=') continue;
    if (range->given)
      return sp_fail(SP_ERR_INPUT, "--study %s: %s is already given", text, axes[a].name);
    if (sscanf(text + length, "=%3d:%3d%n", &first, &last, &end) != 2 ||
        text[length + (size_t)end] || first < axes[a].least || last > axes[a].most || first >= last)
      return sp_fail(SP_ERR_INPUT, "--study %s: expected %s=A:B with %d <= A < B <= %d", text,
                     axes[a].name, axes[a].least, axes[a].most);
    *range = (sp_study_range){.given = true, .first = first, .last = last};
    study->given = true;
    return SP_OK;
  }
  return sp_fail(SP_ERR_INPUT,
                 "--study %s: expected order=A:B, refine=A:B or step=A:B, for instance --study "
                 "refine=0:3",
                 text);
}

/* The last axis with a range. */
static sp_study_axis find_axis(const sp_study *study) {
  sp_study_axis axis = SP_STUDY_AXES - 1;
  while (axis > 0 && !study->along[axis].given) axis--;
  return axis;
}

static int count_steps(const sp_time_options *time) {
  return (int)round(time->end / sp_time_step(time));
}

/* Set a tolerance that does not hide the discretization error, and raise the limit of iterations
 * with it: CG gains the same number of digits in every iteration. */
static void tighten_tolerance(sp_config *config) {
  const double given = config->solver.tolerance;
  if (given <= TOLERANCE) return;
  const double limit = ceil(config->solver.max_iterations * log(TOLERANCE) / log(given));
  config->solver.tolerance = TOLERANCE;
  config->solver.max_iterations = limit < INT_MAX ? (int)limit : INT_MAX;
}

/* Measure the diameter of the bounding box, and the width of elements if they were equal cubes that
 * fill it. */
static sp_mesh_size measure_mesh(const sp_mesh *mesh) {
  const sp_hexes *hexes = mesh->hexes;
  const size_t points = (size_t)hexes->count * sp_hexes_lattice_size(hexes);
  double low[3] = {DBL_MAX, DBL_MAX, DBL_MAX}, high[3] = {-DBL_MAX, -DBL_MAX, -DBL_MAX};
  for (size_t p = 0; p < points; p++)
    for (size_t d = 0; d < 3; d++) {
      low[d] = fmin(low[d], hexes->lattice[3 * p + d]);
      high[d] = fmax(high[d], hexes->lattice[3 * p + d]);
    }
  MPI_Allreduce(MPI_IN_PLACE, low, 3, MPI_DOUBLE, MPI_MIN, mesh->comm);
  MPI_Allreduce(MPI_IN_PLACE, high, 3, MPI_DOUBLE, MPI_MAX, mesh->comm);
  const double x = high[0] - low[0], y = high[1] - low[1], z = high[2] - low[2];
  return (sp_mesh_size){.diameter = sqrt(x * x + y * y + z * z),
                        .width = cbrt(x * y * z / (double)mesh->global_elements)};
}

static sp_status make_mesh(series *s, int refine) {
  if (s->meshes[refine]) return SP_OK;
  const double start = sp_profile_begin(s->terminal, SP_PHASE_MESH);
  SP_TRY(sp_mesh_refined(s->meshes[refine - 1], &s->meshes[refine]));
  sp_profile_end(&s->profile, s->terminal, SP_PHASE_MESH, start);
  return SP_OK;
}

static sp_status make_first_mesh(series *s) {
  const sp_study_range *refine = &s->along[SP_ALONG_REFINEMENTS];
  SP_TRY(sp_case_mesh(s->workers, &s->config.mesh, &s->config.statement, &s->config.wanted,
                      &s->profile, s->terminal, &s->meshes[refine->first]));
  sp_sizes largest;
  sp_sizes_count(s->meshes[refine->first]->topology, refine->last - refine->first,
                 s->along[SP_ALONG_ORDERS].last, &largest);
  return sp_agree(s->workers->comm, sp_sizes_check(&largest, "--study"));
}

static void record_study_row(series *s, const sp_study_row *row) {
  static const char *const names[SP_NORMS][4] = {{"L2", "L2_rate", "L2_expected", "L2_floor"},
                                                 {"H1", "H1_rate", "H1_expected", "H1_floor"}};
  sp_record *record = s->report->record;
  sp_record_open(record, SP_RECORD_TABLE, "study");
  sp_record_open(record, SP_RECORD_ROW, NULL);
  sp_record_add(record, "order %d, refine %d", row->order, row->refine);
  if (s->axis == SP_ALONG_STEPS) sp_record_add(record, "step %d, dt %g", row->step, row->dt);
  sp_record_add(record, "elements %lld, dofs %lld, iterations %lld", (long long)row->elements,
                (long long)row->dofs, (long long)row->iterations);
  for (int n = 0; n < SP_NORMS && !s->by_answers; n++) {
    const double expected = s->axis == SP_ALONG_ORDERS ? (double)NAN : row->expected[n];
    sp_record_real(record, names[n][0], row->error[n], NULL);
    sp_record_real(record, names[n][1], row->rate[n], NULL);
    sp_record_real(record, names[n][2], expected, NULL);
    sp_record_real(record, names[n][3], row->floor[n], NULL);
  }
  sp_record_add(record, "seconds %g [s], matvec_share %g", row->seconds, row->matvec_share);
  sp_record_close(record);
  sp_record_close(record);
}

static void print_heading(const series *s, double case_tolerance) {
  sp_terminal *t = s->terminal;
  sp_terminal_print(t, "  %-16s ", "study");
  for (int a = 0; a < SP_STUDY_AXES; a++)
    if (s->along[a].given)
      sp_terminal_print(t, "%s = %d to %d, ", axes[a].name, s->along[a].first, s->along[a].last);
  sp_terminal_print(t, "%s\n", sp_operator_names[s->config.statement.operator_kind]);
  sp_report_device(s->workers, t);
  sp_terminal_print(t, "  %-16s relative tolerance %.3g", "solver", s->config.solver.tolerance);
  if (s->config.solver.tolerance < case_tolerance)
    sp_terminal_print(t, " instead of %.3g", case_tolerance);
  sp_terminal_print(t, ", at most %d iterations\n", s->config.solver.max_iterations);
  sp_record_print(s->report->record, t,
                  "  rates            {study_rate:s}\n  rule             {study_rule:s}\n\n");
  sp_terminal_print(t, "  %2s %6s", "N", "refine");
  if (s->axis == SP_ALONG_STEPS) sp_terminal_print(t, " %4s %10s", "step", "dt");
  sp_terminal_print(t, " %10s %12s %10s", "elements", "DOFs", "iterations");
  if (!s->by_answers)
    sp_terminal_print(t, " %11s %6s %11s %6s", "L2 error", "rate", "H1 error", "rate");
  sp_terminal_print(t, " %10s %7s\n", "solve [s]", "matvec");
}

static void print_rate(sp_terminal *t, double error, double rate) {
  sp_terminal_print(t, " %11.3e", error);
  if (isfinite(rate))
    sp_terminal_print(t, " %6.2f", rate);
  else
    sp_terminal_print(t, " %6s", "");
}

/* Print the last of `place` rows of a series. */
static void print_study_row(const series *s, int place, const sp_study_row *row) {
  sp_terminal *t = s->terminal;
  const sp_study_row *first = row - place + 1;
  static const char *const floors[2][2] = {{"", "  H1 at the floor"},
                                           {"  L2 at the floor", "  at the floor"}};
  sp_terminal_print(t, "  %2d %6d", row->order, row->refine);
  if (s->axis == SP_ALONG_STEPS) sp_terminal_print(t, " %4d %10.4g", row->step, row->dt);
  sp_terminal_print(t, " %10lld %12lld %10lld", (long long)row->elements, (long long)row->dofs,
                    (long long)row->iterations);
  for (int n = 0; n < SP_NORMS && !s->by_answers; n++) print_rate(t, row->error[n], row->rate[n]);
  sp_terminal_print(t, " %10.4f %5.1f %%", row->seconds, 100 * row->matvec_share);
  const char *floor =
      floors[sp_rates_at_floor(place, first, SP_L2)][sp_rates_at_floor(place, first, SP_H1)];
  sp_terminal_print(t, "%s\n", s->by_answers ? "" : floor);
}

/* Along steps the floor includes the error in space, which the interpolated solution shows, and the
 * rate is the order of the scheme. */
static void expect_steps(const series *s, const sp_error_norms *in_space, sp_study_row *row) {
  row->floor[SP_L2] += SP_RATES_CLEAR * in_space->l2;
  row->floor[SP_H1] += SP_RATES_CLEAR * in_space->h1;
  row->expected[SP_L2] = row->expected[SP_H1] =
      sp_time_method_of(s->config.time.scheme, SP_TIME_HISTORY)->order;
}

/* Fill the last of `place` rows of a series. */
static void add_study_row(series *s, const sp_results *results, int place) {
  const sp_operator_kind kind = s->config.statement.operator_kind;
  sp_phase_row phases[SP_PHASES];
  sp_profile_rows(s->workers->comm, &results->profile, phases);
  sp_profile_merge(&s->profile, &results->profile);
  const sp_error_norms *norms = &results->norms;
  sp_study_row *row = &s->rows[s->count++];
  const sp_mesh_size size = measure_mesh(s->meshes[row->refine]);
  *row = (sp_study_row){
      .order = row->order,
      .refine = row->refine,
      .step = row->step,
      .dt = row->dt,
      .elements = results->elements,
      .dofs = results->dofs,
      .iterations = results->cg.iterations,
      .error = {norms->l2, norms->h1},
      .norm = {norms->solution_l2, norms->solution_h1},
      .expected = {sp_rates_expected(row->order, SP_L2), sp_rates_expected(row->order, SP_H1)},
      .seconds = phases[SP_PHASE_SOLVE].seconds_max,
      .matvec_share = phases[SP_PHASE_MATVEC].share};
  sp_rates_floor(kind, s->config.solver.tolerance, &size, row);
  if (s->axis == SP_ALONG_STEPS) expect_steps(s, &results->in_space, row);
  sp_rates_observe(s->axis, place, row - place + 1);
  print_study_row(s, place, row);
  record_study_row(s, row);
  sp_report_begin(s->report, &s->profile);
}

/* Run the case of the next row; `place` is its place, from 1, in the series that rates are taken
 * along. */
static sp_status run_one(series *s, int place) {
  sp_study_row *row = &s->rows[s->count];
  char text[64];
  SP_TRY(make_mesh(s, row->refine));
  s->config.statement.order = row->order;
  s->config.mesh.refine = row->refine;
  if (s->axis == SP_ALONG_STEPS) {
    s->config.time.step = 0;
    s->config.time.steps = s->steps << row->step;
    row->dt = s->config.time.end / s->config.time.steps;
  }
  sp_study_place(s->axis, row, sizeof text, text);
  sp_terminal_show(s->terminal, "  %s ...", text);
  sp_results results;
  const sp_status status =
      sp_run_one(s->workers, s->meshes[row->refine], &s->config, NULL, s->report,
                 s->by_answers ? &s->answers[s->count] : NULL, &results);
  if (!status || status == SP_ERR_NOT_CONVERGED) {
    sp_kept_error kept;
    sp_error_keep(status, &kept);
    add_study_row(s, &results, place);
    (void)sp_error_restore(&kept);
  }
  if (status == SP_ERR_NOT_CONVERGED || status == SP_ERR_INTERRUPTED)
    return sp_fail(status, "%s: %s", text, sp_error_message());
  return status;
}

/* Judge the series of `count` runs from `first` on. *judged gains the number of steps, or of
 * answers. */
static sp_status judge_series(series *s, int first, int count, int *judged) {
  int steps;
  if (s->by_answers) {
    *judged += s->answers[first].count;
    return sp_answers_judge(s->report, s->axis, count, &s->rows[first], &s->answers[first]);
  }
  const sp_status status =
      sp_rates_judge(s->config.statement.operator_kind, s->axis, count, &s->rows[first], &steps);
  *judged += steps;
  return status;
}

/* Run every combination and judge each series. The first failure is kept, and the rest of the table
 * still printed. */
static sp_status run_all(series *s) {
  const sp_study_range *order = &s->along[0], *refine = &s->along[1], *step = &s->along[2];
  const int length = 1 + s->along[s->axis].last - s->along[s->axis].first;
  sp_kept_error verdict = {0};
  int judged = 0;
  for (int n = order->first; n <= order->last; n++)
    for (int r = refine->first; r <= refine->last; r++)
      for (int k = step->first; k <= step->last; k++) {
        s->rows[s->count] = (sp_study_row){.order = n, .refine = r, .step = k};
        SP_TRY(run_one(s, s->count % length + 1));
      }
  if (s->report->note_count > 0) sp_terminal_print(s->terminal, "\n");
  sp_report_print_notes(s->report);
  const sp_note *contradiction = sp_report_note(s->report, "forcing");
  if (contradiction) sp_error_keep(sp_fail(SP_ERR_STUDY, "%s", contradiction->text), &verdict);
  for (int first = 0; first < s->count; first += length) {
    const sp_status status = judge_series(s, first, length, &judged);
    if (!verdict.status) sp_error_keep(status, &verdict);
  }
  sp_report_phases(s->report, &s->profile);
  if (verdict.status) return sp_error_restore(&verdict);
  if (s->by_answers)
    sp_terminal_print(s->terminal, "\n  %-16s all %d converge\n", "answers", judged);
  else if (judged > 0)
    sp_terminal_print(s->terminal, "\n  %-16s as expected in all %d judged steps\n", "rates",
                      judged);
  else
    sp_terminal_print(
        s->terminal,
        "\n  %-16s no step can be judged: all errors are at the floor of %stolerance and "
        "rounding\n",
        "rates", s->axis == SP_ALONG_STEPS ? "space, " : "");
  return SP_OK;
}

static void series_destroy(series **s) {
  if (!*s) return;
  for (int r = 0; r <= MAX_REFINE; r++) sp_mesh_destroy(&(*s)->meshes[r]);
  for (int r = 0; r < MAX_RUNS; r++) sp_answers_free(&(*s)->answers[r]);
  sp_report_destroy(&(*s)->report);
  free(*s);
}

static sp_status run_series(series *s, double case_tolerance) {
  static const char *const answers_rule[] = {
      "all answers must converge monotonically; limit and grid convergence index after ASME V&V 20",
      "differences of all answers must fall; limit and grid convergence index after ASME V&V 20"};
  SP_TRY(make_first_mesh(s));
  const sp_platform *platform = &s->workers->platform;
  sp_record *record = s->report->record;
  sp_record_text(record, "device", platform->backend->describe(platform->device));
  sp_record_text(record, "study_rate",
                 s->by_answers ? axes[s->axis].of_answers : axes[s->axis].of_errors);
  sp_record_text(record, "study_rule",
                 s->by_answers ? answers_rule[s->axis == SP_ALONG_ORDERS]
                               : sp_rates_rule(s->config.statement.operator_kind, s->axis));
  print_heading(s, case_tolerance);
  return run_all(s);
}

/* Run the study; only ranks with elements call this. */
static sp_status run_on(const sp_workers *workers, const sp_config *config, const sp_study *study,
                        const sp_profile *profile, sp_terminal *terminal) {
  static char none[] = "";
  const int own[] = {config->statement.order, config->mesh.refine, 0};
  MPI_Comm comm = workers->comm;
  SP_AUTO(series) s = NULL;
  SP_TRY(sp_agree(comm, sp_allocate(1, sizeof *s, "study", &s)));
  *s = (series){.workers = workers,
                .config = *config,
                .terminal = terminal,
                .profile = *profile,
                .axis = find_axis(study),
                .steps = config->time.end > 0 ? count_steps(&config->time) : 0,
                .by_answers = !sp_statement_has_solution(&config->statement)};
  for (int a = 0; a < SP_STUDY_AXES; a++)
    s->along[a] = study->along[a].given ? study->along[a] : (sp_study_range){false, own[a], own[a]};
  tighten_tolerance(&s->config);
  s->config.output.field = none;
  s->config.statement.order = s->along[SP_ALONG_ORDERS].first;
  s->config.mesh.refine = s->along[SP_ALONG_REFINEMENTS].first;
  const double start = MPI_Wtime();
  SP_TRY(sp_outputs_check(comm, &s->config));
  SP_TRY(sp_report_open(workers, &s->config, true, terminal, &s->report));
  sp_profile_add(&s->profile, SP_PHASE_CASE, 0, MPI_Wtime() - start);
  return sp_report_finish(s->report, run_series(s, config->solver.tolerance));
}

/* Check that the case has equal steps, and not too many after all halvings. */
static sp_status check_steps(const sp_time_options *time, const sp_study_range *step) {
  const char *misfit = time->end == 0        ? "this case is steady, without time.end"
                       : time->tolerance > 0 ? "time.tolerance makes them automatic"
                       : count_steps(time) > INT_MAX >> step->last ? "they would be too many"
                                                                   : NULL;
  if (!step->given || !misfit) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "--study step=%d:%d: expected equal steps to halve, by time.step or "
                 "time.steps; %s",
                 step->first, step->last, misfit);
}

sp_status sp_study_run(const sp_workers *workers, const sp_config *config, const sp_study *study,
                       const sp_profile *profile, sp_terminal *terminal) {
  const sp_study_range *along = &study->along[find_axis(study)];
  SP_TRY(check_steps(&config->time, &study->along[SP_ALONG_STEPS]));
  if (!sp_statement_has_solution(&config->statement) && along->last < along->first + 2)
    return sp_fail(SP_ERR_INPUT,
                   "--study: without problem.solution the answers of three runs or more are "
                   "compared: give %s=%d:%d",
                   axes[find_axis(study)].name, along->first, along->first + 2);
  if (study->along[SP_ALONG_ORDERS].given && config->solver.orders.count > 0)
    return sp_fail(
        SP_ERR_INPUT,
        "--study: solver.orders is for one order: leave it empty in a study over orders");
  const sp_workers *w = workers;
  return sp_workers_meet(w, w->has_elements ? run_on(w, config, study, profile, terminal) : SP_OK);
}
