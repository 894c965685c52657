#include "solver/run/running.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double ROUNDING = 1e-9; /* of a step, or of the whole time */

/* Steps of a run. */
typedef struct stepping {
  sp_running *c;
  double first;                 /* time of the initial value */
  int begun, step, evaluated;   /* steps up to there, taken in all, and at the last row */
  int64_t iterations, reported; /* of all steps, and up to the last row */
  double begin;                 /* MPI_Wtime */
} stepping;

/* ---- Rows of the history ---- */

/* The name of a column: "results.hottest", "balance.lid". */
enum { NAME_SIZE = 300 };
static void name_column(const sp_answer *a, char name[NAME_SIZE]) {
  const bool extremum = a->table[0] == 'e';
  snprintf(name, NAME_SIZE, "%s.%s", a->table, extremum ? a->kind : a->name);
}

static void record_row(const stepping *s, const sp_answers *answers) {
  sp_record *record = s->c->report->record;
  const sp_units *units = &s->c->config->wanted.units;
  char name[NAME_SIZE], unit[SP_UNIT_SIZE];
  sp_unit_text(units, SP_OF_POWER, unit);
  sp_record_open(record, SP_RECORD_TABLE, "history");
  sp_record_open(record, SP_RECORD_ROW, NULL);
  sp_record_real(record, "time", sp_march_time(s->c->march), "1");
  sp_record_integer(record, "iterations", s->iterations - s->reported);
  if (sp_running_has_balance(s->c)) {
    sp_record_add(record, "heat.source %g [%s], heat.stored %g [%s], heat.imbalance %g [%s]",
                  s->c->values.balance.source, unit, s->c->values.balance.stored, unit,
                  s->c->values.balance.imbalance, unit);
  }
  for (int i = 0; i < answers->count; i++) {
    name_column(&answers->list[i], name);
    sp_record_real(record, name, answers->list[i].value,
                   sp_unit_text(units, answers->list[i].dimension, unit));
  }
  sp_record_close(record);
  sp_record_close(record);
}

/* Keep the first failure of a row: the steps go on, and the run fails at its end. */
static void check_row(sp_running *c) {
  sp_status status =
      c->values.failure.status ? SP_OK : sp_quantities_check_finite(c->values.quantities);
  if (!status) return;
  status = sp_fail(status, "%s, t = %.9g", sp_error_message(), sp_march_time(c->march));
  sp_error_keep(status, &c->values.failure);
}

/* Evaluate and write the solution, and add a row. */
static sp_status evaluate_step(stepping *s) {
  sp_running *c = s->c;
  sp_answers answers = {0};
  SP_TRY(sp_march_fetch(c->march, c->solution));
  if (!c->evaluates) return SP_OK;
  SP_TRY(sp_running_find_sums(c));
  SP_TRY(sp_running_evaluate(c));
  check_row(c);
  const sp_status status = sp_running_collect(c, &answers);
  if (!status && c->report) record_row(s, &answers);
  s->reported = s->iterations;
  s->evaluated = s->step;
  sp_answers_free(&answers);
  return status ? status : sp_running_write_field(c, SP_OK);
}

/* ---- Steps ---- */

/* The part of the run that is done. */
static double find_progress(const stepping *s) {
  return (sp_march_time(s->c->march) - s->first) / (s->c->config->time.end - s->first);
}

static void show_progress(const stepping *s) {
  sp_terminal *terminal = s->c->report ? s->c->report->terminal : NULL;
  if (!terminal || !sp_terminal_is_due(terminal)) return;
  const double seconds = MPI_Wtime() - s->begin, done = find_progress(s);
  sp_terminal_show(terminal, "  step %d, t = %.6g of %.6g, %.1f iterations per step, %.0f s left",
                   s->step, sp_march_time(s->c->march), s->c->config->time.end,
                   (double)s->iterations / (s->step - s->begun), seconds * (1 - done) / done);
}

/* The initial value is the first row, unless it is the last one of another series. */
static sp_status evaluate_initial(stepping *s) {
  if (!s->c->report || s->c->state.length > 0) return SP_OK;
  const sp_status status = evaluate_step(s);
  return status == SP_ERR_INPUT ? sp_fail(status, "%s, t = 0", sp_error_message()) : status;
}

static sp_status take_steps(stepping *s) {
  sp_running *c = s->c;
  const sp_time_options *time = &c->config->time;
  const bool by_time = time->at.count > 0 || time->interval > 0;
  SP_TRY(evaluate_initial(s));
  double next = sp_time_next_output(time, s->first);
  for (bool ends = false; !ends;) {
    SP_TRY(sp_march_step(c->march, &s->iterations, &c->results->cg));
    s->step++;
    show_progress(s);
    ends = find_progress(s) > 1 - ROUNDING;
    const double t = sp_march_time(c->march);
    const bool is_due =
        by_time ? t > next - ROUNDING * sp_march_length(c->march) : s->step % time->every == 0;
    if (by_time && is_due) next = sp_time_next_output(time, t);
    if (ends || (c->report && is_due)) SP_TRY(evaluate_step(s)); /* of a series only the end */
  }
  return SP_OK;
}

/* Check that equal steps meet the time of the initial value. */
static sp_status check_first(const sp_running *c, double dt) {
  const double t = c->state.time, steps = t / dt;
  const char *where = c->config->statement.initial.where;
  if (t > c->config->time.end - ROUNDING * dt)
    return sp_fail(SP_ERR_INPUT, "%s: the field is at t = %.9g; expected time.end > %.9g", where, t,
                   t);
  if (c->config->time.tolerance > 0 || fabs(steps - round(steps)) <= ROUNDING * fmax(steps, 1))
    return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%s: the field is at t = %.9g, no multiple of the step %.9g", where,
                 t, dt);
}

/* Continue from the initial value, with the solutions before it if they are a step apart. */
sp_status sp_stepping_begin(sp_running *c) {
  c->solver->sums = NULL; /* sp_running_find_sums fills them */
  SP_TRY(sp_march_create(c->solver, c->problem, c->config->statement.scope, &c->config->time,
                         c->initial, &c->march));
  const double dt = sp_march_length(c->march);
  SP_TRY(check_first(c, dt));
  const bool same = fabs(c->state.length - dt) <= ROUNDING * dt;
  return sp_march_continue(c->march, c->state.time, same ? (int)c->state.known : 1, c->initial);
}

sp_status sp_stepping_run(sp_running *c) {
  stepping s = {.c = c, .first = c->state.time, .begin = MPI_Wtime()};
  sp_status status = sp_stepping_begin(c);
  if (!status && c->config->time.tolerance == 0)
    s.begun = s.step = (int)round(s.first / sp_march_length(c->march));
  s.evaluated = s.begun - 1;
  if (!status) status = take_steps(&s);
  sp_kept_error kept;
  sp_error_keep(status, &kept);
  if (status && sp_solver_has_solution(status) && s.evaluated < s.step) {
    const sp_status evaluated = evaluate_step(&s);
    if (evaluated) sp_error_keep(evaluated, &kept);
  }
  c->results->cg.iterations = s.iterations;
  return kept.status ? sp_error_restore(&kept) : SP_OK;
}

/* ---- Report ---- */

typedef struct range {
  double least, greatest, at_least, at_greatest, last;
} range;

/* The range of column `index` of the history. */
static range find_range(const sp_record_node *table, int index) {
  range r = {.least = INFINITY, .greatest = -INFINITY};
  for (const sp_record_node *row = table->first; row; row = row->next) {
    const sp_record_node *value = row->first;
    for (int i = 0; i < index; i++) value = value->next;
    const double t = row->first->real;
    r.last = value->real;
    if (value->real < r.least) r.least = value->real, r.at_least = t;
    if (value->real > r.greatest) r.greatest = value->real, r.at_greatest = t;
  }
  return r;
}

void sp_stepping_report(const sp_running *c) {
  const sp_record *record = c->report->record;
  const sp_record_node *table = record ? sp_record_root(record)->first : NULL;
  while (table && !(table->name && !strcmp(table->name, "history"))) table = table->next;
  if (!table || !table->first) return;
  sp_terminal_print(c->report->terminal, "\n  %-32s %12s %12s %10s %12s %10s\n", "history", "last",
                    "least", "at t", "greatest", "at t");
  int index = 2;
  for (const sp_record_node *v = table->first->first->next->next; v; v = v->next, index++) {
    const range r = find_range(table, index);
    sp_terminal_print(c->report->terminal, "  %-32.32s %12.6g %12.6g %10.4g %12.6g %10.4g\n",
                      v->name, r.last, r.least, r.at_least, r.greatest, r.at_greatest);
  }
}
