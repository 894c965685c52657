#include "solver/solve/march.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/problem/linearize.h"
#include "solver/solve/nonlinear.h"

enum { SOLUTIONS = SP_TIME_HISTORY };
static const double ROUNDING = 1e-9; /* of a step */

struct sp_march {
  sp_solver *solver;
  sp_problem *problem;
  sp_scope *scope;
  const sp_time_options *options;
  double dt;                       /* length of a step */
  double from, aim;                /* of automatic steps: they align to these times */
  double origin;                   /* the time of the first step of this length */
  int64_t steps;                   /* of this length, taken */
  int known;                       /* solutions at t, t - dt ... */
  bool moving_load, moving_values; /* they depend on t */
  double shift;                    /* of the solver's system; 0 before the first step */
  sp_operator *mass;               /* M_c, weighted by the capacity; NULL if it is a diagonal */
  sp_vector diagonal;              /* then that */
  sp_vector u[SOLUTIONS];          /* newest first */
  sp_vector stage, history, start, load;
  sp_vector rate;         /* history and shift of du/dt of the solution */
  double rate_shift;      /* 0: unknown */
  bool is_linearized;     /* the problem, if it depends on u, is linearized at the solution */
  sp_vector begin;        /* of automatic steps: u at t = 0 */
  double change;          /* likewise: the largest norm of u - begin so far */
  const sp_vector *extra; /* beside the problem's load, or NULL */
  double *host;           /* [local DOFs], the history for fluxes */
  double *last, *now;     /* likewise, of problems that depend on u; else NULL */
};

/* The time after `steps` steps of this length. Of equal steps, 3 of 0.1 end at 0.3, which formulas
 * may compare with, not at 3 * 0.1, which is more by rounding: 15 digits are kept. */
static double time_after(const sp_march *m, double steps) {
  const double t = m->origin + steps * m->dt;
  char text[32];
  if (m->options->tolerance > 0) return t;
  snprintf(text, sizeof text, "%.15g", t);
  return strtod(text, NULL);
}

double sp_march_time(const sp_march *march) {
  return time_after(march, (double)march->steps);
}

/* ---- Set-up ---- */

static bool is_moving(const sp_expression *formula) {
  return formula && formula->is_of_t;
}

/* Find which data depend on t. */
static void find_moving(sp_march *m) {
  const sp_problem *p = m->problem;
  bool solution = false;
  for (int i = 0; i < p->materials.count; i++) {
    const sp_material *material = &p->materials.list[i];
    solution = solution || is_moving(material->solution);
    m->moving_load = m->moving_load || is_moving(material->forcing) ||
                     (!material->forcing && is_moving(material->solution));
  }
  for (int i = 0; i < p->part_count; i++) {
    const sp_boundary_part *part = &p->parts[i];
    const bool moving = part->formula ? is_moving(part->formula) : solution && part->type->data;
    if (part->type->fixes_u)
      m->moving_values = m->moving_values || moving;
    else
      m->moving_load = m->moving_load || moving;
  }
}

/* Make M_c. For collocated quadrature it is a diagonal, M_c 1. */
static sp_status create_mass(sp_march *m) {
  const sp_space *space = m->solver->space;
  const MPI_Comm comm = space->platform->comm;
  SP_TRY(sp_problem_mass(m->problem, space, true, &m->mass));
  if (!sp_operator_rows[m->problem->kind].collocated) return SP_OK;
  sp_status status = sp_space_vector(space, SP_DOUBLE, &m->diagonal);
  if (!status) status = sp_vector_fill(1, &m->load);
  SP_TRY(sp_agree(comm, status));
  status = sp_agree(comm, sp_operator_apply(m->mass, false, &m->load, &m->diagonal));
  sp_operator_destroy(&m->mass);
  return status;
}

static sp_status create_vectors(sp_march *m, const double *initial) {
  sp_vector *const others[] = {&m->stage, &m->history, &m->start, &m->load, &m->rate};
  const sp_space *space = m->solver->space;
  sp_status status = sp_allocate(sp_space_dofs(space), sizeof *m->host, "history", &m->host);
  if (!status && m->problem->of_u)
    status = SP_ALLOCATE("conditions", SP_ARRAY(m->last, sp_space_dofs(space)),
                         SP_ARRAY(m->now, sp_space_dofs(space)));
  for (int i = 0; i < SOLUTIONS && !status; i++)
    status = sp_space_vector(space, SP_DOUBLE, &m->u[i]);
  for (size_t i = 0; i < sizeof others / sizeof *others && !status; i++)
    status = sp_space_vector(space, SP_DOUBLE, others[i]);
  if (!status) status = sp_vector_write(initial, &m->u[0]);
  if (!status && m->options->tolerance > 0) status = sp_space_vector(space, SP_DOUBLE, &m->begin);
  if (!status && m->options->tolerance > 0) status = sp_vector_copy(&m->u[0], &m->begin);
  return sp_agree(space->platform->comm, status);
}

sp_status sp_march_create(sp_solver *solver, sp_problem *problem, sp_scope *scope,
                          const sp_time_options *time, const double *initial, sp_march **out) {
  SP_TRY(sp_agree(solver->platform->comm, sp_allocate(1, sizeof **out, "time steps", out)));
  sp_march *m = *out;
  *m = (sp_march){.solver = solver,
                  .problem = problem,
                  .scope = scope,
                  .options = time,
                  .dt = sp_time_step(time),
                  .aim = sp_time_next_output(time, 0),
                  .known = 1,
                  .shift = sp_time_first_shift(time)};
  find_moving(m);
  SP_TRY(create_vectors(m, initial));
  return create_mass(m);
}

const sp_vector *sp_march_solution(const sp_march *march) {
  return &march->u[0];
}

void sp_march_add_load(sp_march *march, const sp_vector *load) {
  march->extra = load;
}

/* Continue from t with steps of length dt. Automatic steps are at most that long and end at `aim`.
 */
static void direct_steps(sp_march *m, double t, double dt, double aim) {
  if (m->options->tolerance > 0) {
    m->from = t;
    m->aim = aim;
    dt = sp_time_divide(aim - t, dt);
  }
  if (fabs(dt - m->dt) > ROUNDING * dt) {
    m->dt = dt;
    m->known = 1;
  }
  m->origin = t;
  m->steps = 0;
}

sp_status sp_march_restart(sp_march *m, double t, double dt, const double *initial) {
  const double next = sp_time_next_output(m->options, t);
  direct_steps(m, t, dt, initial ? next : fmin(next, t + dt));
  if (!initial) return SP_OK;
  m->known = 1;
  m->change = m->rate_shift = 0;
  m->is_linearized = false;
  sp_status status = sp_vector_write(initial, &m->u[0]);
  if (!status && m->options->tolerance > 0) status = sp_vector_copy(&m->u[0], &m->begin);
  return sp_agree(m->solver->platform->comm, status);
}

static sp_status renew_mass(sp_march *m) {
  sp_operator_destroy(&m->mass);
  sp_vector_destroy(&m->diagonal);
  return create_mass(m);
}

sp_status sp_march_renew(sp_march *m) {
  m->shift = 0;
  return renew_mass(m);
}

sp_status sp_march_continue(sp_march *m, double t, int known, const double *solutions) {
  const size_t dofs = sp_space_dofs(m->solver->space);
  sp_status status = SP_OK;
  for (int i = 1; i < known && !status; i++)
    status = sp_vector_write(solutions + (size_t)i * dofs, &m->u[i]);
  m->known = m->options->tolerance > 0 ? 1 : known;
  direct_steps(m, t, m->options->tolerance > 0 ? m->dt * (1 - t / m->options->end) : m->dt,
               sp_time_next_output(m->options, t));
  if (m->options->tolerance == 0) { /* with the times of a march from 0 */
    m->origin = 0;
    m->steps = llround(t / m->dt);
  }
  return sp_agree(m->solver->platform->comm, status);
}

void sp_march_destroy(sp_march **march) {
  sp_march *m = *march;
  if (!m) return;
  sp_materials_shift(&m->problem->materials, 0);
  m->problem->history = NULL;
  sp_vector *const others[] = {&m->diagonal, &m->stage, &m->history, &m->start,
                               &m->load,     &m->rate,  &m->begin};
  for (int i = 0; i < SOLUTIONS; i++) sp_vector_destroy(&m->u[i]);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) sp_vector_destroy(others[i]);
  sp_operator_destroy(&m->mass);
  m->problem->last.values = NULL;
  SP_FREE(m->host, m->last, m->now, m);
  *march = NULL;
}

/* ---- Stages ---- */

/* Make the system of a stage, and the data of its time. */
static sp_status prepare_stage(sp_march *m, double shift) {
  static const double SAME = 1e-14;
  const bool new_system = m->problem->of_u || fabs(shift - m->shift) > SAME * shift;
  if (new_system) {
    m->shift = 0; /* until the system is complete */
    SP_TRY(sp_solver_update(m->solver));
  } else if (m->moving_values) {
    SP_TRY(sp_solver_update_values(m->solver));
  }
  if (new_system || m->moving_load) SP_TRY(sp_solver_load(m->solver));
  m->shift = shift;
  return SP_OK;
}

/* history = the sum of weights times solutions, over dt. */
static sp_status make_history(sp_march *m, const sp_time_stage *stage) {
  double weights[SOLUTIONS + 1];
  const sp_vector *x[SOLUTIONS + 1];
  int terms = 0;
  for (int i = 0; i <= SOLUTIONS; i++) {
    const double weight = i < SOLUTIONS ? stage->weights[i] : stage->first;
    if (weight == 0) continue;
    weights[terms] = weight / m->dt;
    x[terms++] = i < SOLUTIONS ? &m->u[i] : &m->stage;
  }
  return sp_vector_combine(terms, weights, x, &m->history);
}

/* load = M_c history + extra. */
static sp_status make_load(sp_march *m) {
  const sp_status status = m->mass ? sp_operator_apply(m->mass, false, &m->history, &m->load)
                                   : sp_vector_multiply(&m->diagonal, &m->history, &m->load);
  return !status && m->extra ? sp_vector_axpby(1, m->extra, 1, &m->load) : status;
}

/* start = extrapolation to t + fraction dt: the polynomial through the last solutions or, after a
 * first stage, the line through u and its result. */
static sp_status extrapolate(sp_march *m, const sp_time_method *method, int stage) {
  const double s = method->stage[stage].fraction;
  const double parabola[SOLUTIONS] = {(1 + s) * (2 + s) / 2, -s * (2 + s), s * (1 + s) / 2};
  const double line[SOLUTIONS] = {1 + s, -s}, constant[SOLUTIONS] = {1};
  const double *weights = m->known == 1 ? constant : m->known == 2 ? line : parabola;
  const double slope = stage > 0 ? s / method->stage[0].fraction : 0;
  if (stage > 0)
    return sp_vector_combine(2, (double[]){slope, 1 - slope},
                             (const sp_vector *[]){&m->stage, &m->u[0]}, &m->start);
  return sp_vector_combine(m->known, weights, (const sp_vector *[]){&m->u[0], &m->u[1], &m->u[2]},
                           &m->start);
}

/* Linearize a problem that depends on u at m->last. */
static sp_status linearize(sp_march *m) {
  const sp_space *space = m->solver->space;
  SP_TRY(sp_problem_linearize(m->problem, space->mesh, space->numbering->order, space->numbering,
                              m->last));
  return m->problem->arrays_of_u[SP_CAPACITY] ? renew_mass(m) : SP_OK;
}

/* A stage and its outputs. */
typedef struct solving {
  sp_march *march;
  double shift;
  const sp_vector *start;
  int64_t *iterations;
  sp_cg_result *result;
} solving;

/* m->stage = the solution with m->history. */
static sp_status solve_linear(const solving *p) {
  sp_march *m = p->march;
  sp_solver *s = m->solver;
  SP_TRY(prepare_stage(m, p->shift));
  SP_TRY(sp_agree(s->platform->comm, make_load(m)));
  SP_TRY(sp_solver_add_load(s, &m->load));
  SP_TRY(sp_agree(s->platform->comm, sp_vector_multiply(&s->free, p->start, &m->start)));
  SP_TRY(sp_solver_start(s, &m->start));
  SP_TRY(sp_solver_iterate(s, p->result));
  *p->iterations += p->result->iterations;
  return sp_solver_copy(s, &m->stage);
}

/* Likewise near `last`, which is m->last; x gets it. */
static sp_status solve_near(void *solving_, const double *last, double *x) {
  solving *p = solving_;
  sp_march *m = p->march;
  (void)last;
  SP_TRY(linearize(m));
  SP_TRY(solve_linear(p));
  p->start = &m->stage;
  return sp_agree(m->solver->platform->comm, sp_vector_read(&m->stage, x));
}

/* m->stage = the solution of a stage. */
static sp_status solve_stage(sp_march *m, const sp_time_method *method, int index,
                             int64_t *iterations, sp_cg_result *result) {
  const sp_time_stage *stage = &method->stage[index];
  solving p = {.march = m,
               .shift = stage->shift / m->dt,
               .start = &m->start,
               .iterations = iterations,
               .result = result};
  int solves;
  m->is_linearized = false;
  sp_scope_set_time(m->scope, time_after(m, (double)m->steps + stage->fraction));
  sp_materials_shift(&m->problem->materials, p.shift);
  sp_status status = make_history(m, stage);
  if (!status) status = extrapolate(m, method, index);
  if (!status && m->problem->of_u) status = sp_vector_read(&m->start, m->last);
  if (!status && m->problem->of_u) status = sp_vector_read(&m->u[0], m->now);
  SP_TRY(sp_agree(m->solver->platform->comm, status));
  if (!m->problem->of_u) return solve_linear(&p);
  return sp_nonlinear_iterate(m->solver, solve_near, &p, true, m->last, m->now, &solves);
}

/* ---- Steps ---- */

/* m->stage = the solution at t + dt. */
static sp_status solve_stages(sp_march *m, const sp_time_method *method, int64_t *iterations,
                              sp_cg_result *result) {
  for (int s = 0; s < method->stages; s++) SP_TRY(solve_stage(m, method, s, iterations, result));
  return SP_OK;
}

/* m->stage becomes the newest solution, and the others one step older. */
static sp_status accept_stage(sp_march *m, const sp_time_method *method) {
  const sp_vector oldest = m->u[SOLUTIONS - 1];
  memmove(&m->u[1], &m->u[0], (SOLUTIONS - 1) * sizeof *m->u);
  m->u[0] = m->stage;
  m->stage = oldest;
  m->known = method->tangent ? 2 : m->known + (m->known < SOLUTIONS);
  m->steps++;
  const sp_vector history = m->rate;
  m->rate = m->history;
  m->history = history;
  m->rate_shift = m->shift;
  m->is_linearized = true;
  if (!method->tangent) return SP_OK;
  /* du/dt = shift u - rate, and dt shift = 2 */
  return sp_agree(m->solver->platform->comm,
                  sp_vector_combine(2, (double[]){-1, m->dt},
                                    (const sp_vector *[]){&m->u[0], &m->rate}, &m->u[1]));
}

/* *norm = the norm of a sum of weights times vectors, weighted by the capacity, over free DOFs.
 * Overwrites m->start and m->load. */
static sp_status find_norm(sp_march *m, int terms, const double *weights, const sp_vector *const *x,
                           double *norm) {
  sp_status status = sp_vector_combine(terms, weights, x, &m->start);
  if (!status) status = sp_vector_multiply(&m->solver->free, &m->start, &m->start);
  if (!status)
    status = m->mass ? sp_operator_apply(m->mass, false, &m->start, &m->load)
                     : sp_vector_multiply(&m->diagonal, &m->start, &m->load);
  SP_TRY(sp_operator_dot(m->solver->system->op, &m->start, &m->load, status, norm));
  *norm = sqrt(fmax(*norm, 0));
  return SP_OK;
}

/* *ratio = the error of m->stage over the tolerance, both relative to the largest change of u since
 * the beginning. The solver's own error of u does not count. */
static sp_status find_error(sp_march *m, const sp_time_error *weights, double *ratio) {
  const double change_of[] = {1, -1};
  const double error_of[] = {weights->after, weights->before, weights->history * m->dt};
  double change, size, error;
  SP_TRY(find_norm(m, 1, change_of, (const sp_vector *[]){&m->stage}, &size));
  SP_TRY(find_norm(m, 2, change_of, (const sp_vector *[]){&m->stage, &m->begin}, &change));
  SP_TRY(
      find_norm(m, 3, error_of, (const sp_vector *[]){&m->stage, &m->u[0], &m->history}, &error));
  m->change = fmax(change, m->change);
  const double most = m->options->tolerance * m->change + m->solver->options.tolerance * size;
  *ratio = error > 0 ? error / most : 0;
  return SP_OK;
}

/* Halve or double the length of steps, from t on. */
static void change_length(sp_march *m, double factor) {
  m->origin = sp_march_time(m);
  m->steps = 0;
  m->dt *= factor;
  m->known = 1;
}

static sp_status step_automatically(sp_march *m, const sp_time_method *method, int64_t *iterations,
                                    sp_cg_result *result) {
  static const double DOUBLE = 0.125;
  const double shortest = (m->aim - m->from) / (1 << 20) * (1 + ROUNDING);
  double ratio;
  for (;;) {
    const sp_status status = solve_stages(m, method, iterations, result);
    /* A problem that depends on u may have no solution near the last one. */
    const bool too_far = m->problem->of_u && m->dt > shortest &&
                         (status == SP_ERR_NOT_CONVERGED || status == SP_ERR_INPUT);
    if (!too_far) SP_TRY(status);
    if (!too_far) SP_TRY(find_error(m, &method->error, &ratio));
    if (!too_far && (ratio <= 1 || m->dt <= shortest)) break;
    change_length(m, 0.5);
  }
  SP_TRY(accept_stage(m, method));
  const double twice = 2 * m->dt, t = sp_march_time(m), begun = (t - m->from) / twice;
  const bool fits = fabs(begun - round(begun)) < ROUNDING;
  if (t > m->aim - ROUNDING * m->dt)
    direct_steps(m, m->aim, ratio < DOUBLE ? twice : m->dt,
                 sp_time_next_output(m->options, m->aim));
  else if (ratio < DOUBLE && fits)
    change_length(m, 2);
  return SP_OK;
}

sp_status sp_march_step(sp_march *m, int64_t *iterations, sp_cg_result *result) {
  const sp_time_method *method = sp_time_method_of(m->options->scheme, m->known);
  if (m->options->tolerance > 0) return step_automatically(m, method, iterations, result);
  SP_TRY(solve_stages(m, method, iterations, result));
  return accept_stage(m, method);
}

sp_status sp_march_fetch(sp_march *m, double *x) {
  const bool has_rate = m->rate_shift > 0;
  sp_status status = sp_vector_read(&m->u[0], x);
  if (!status && has_rate) status = sp_vector_read(&m->rate, m->host);
  for (size_t i = 0; i < sp_space_dofs(m->solver->space) && !has_rate; i++) m->host[i] = NAN;
  m->problem->history = m->host;
  if (has_rate) sp_materials_shift(&m->problem->materials, m->rate_shift);
  sp_scope_set_time(m->scope, sp_march_time(m));
  const bool linearizes = m->problem->of_u && !m->is_linearized;
  if (!status && linearizes) status = sp_vector_read(&m->u[0], m->last);
  SP_TRY(sp_agree(m->solver->platform->comm, status));
  return linearizes ? linearize(m) : SP_OK;
}

sp_status sp_march_fetch_before(const sp_march *m, int back, double *x) {
  return sp_agree(m->solver->platform->comm, sp_vector_read(&m->u[back], x));
}

double sp_march_length(const sp_march *march) {
  return march->dt;
}

int sp_march_known(const sp_march *march) {
  return march->known;
}
