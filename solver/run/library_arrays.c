#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/reference.h"
#include "solver/run/library.h"

/* ---- Arrays of the caller ---- */

/* *view = the caller's array as a vector, without data if it is in host memory. Local. */
static sp_status find_array(const sp_case *c, size_t count, const double *values, sp_vector *view) {
  const sp_platform *p = &c->workers.platform;
  bool here = false;
  *view = (sp_vector){.platform = p, .precision = SP_DOUBLE, .count = count};
  if (p->backend->find_memory && count > 0)
    SP_TRY(p->backend->find_memory(p->device, values, &here));
  if (here) view->data = (double *)values;
  return SP_OK;
}

/* `vector` = the owned entries of the caller's L-vector, and their copies. */
static sp_status take_array(const sp_case *c, const double *values, sp_vector *vector) {
  const sp_space *space = c->run->solver->space;
  const size_t owned = (size_t)space->numbering->owned;
  sp_vector view, copies = sp_vector_part(vector, owned, vector->count - owned);
  sp_status status = find_array(c, vector->count, values, &view);
  if (!status) status = view.data ? sp_vector_copy(&view, vector) : sp_vector_write(values, vector);
  if (!status && copies.count > 0) status = sp_vector_fill(0, &copies);
  SP_TRY(sp_agree(c->comm, status));
  return sp_agree(c->comm,
                  space->platform->backend->assemble(space->on_device, SP_DOUBLE, vector->data));
}

sp_status sp_library_give_array(const sp_case *c, size_t count, const double *host,
                                const sp_vector *vector, double *values) {
  const sp_platform *p = &c->workers.platform;
  sp_vector view;
  sp_status status = find_array(c, count, values, &view);
  if (!status && host && view.data) status = sp_vector_write(host, &view);
  if (!status && host && !view.data && count > 0) memcpy(values, host, count * sizeof *host);
  if (!status && !host && !view.data) status = sp_vector_read(vector, values);
  if (!status && !host && view.data) status = sp_vector_copy(vector, &view);
  if (!status) status = p->backend->finish(p->device);
  return sp_agree(c->comm, status);
}

static sp_status fail_infinite(const char *function) {
  return sp_fail(SP_ERR_INPUT, "%s: the array has NaN, infinity or values above 1e150", function);
}

/* Keep only the values at Dirichlet nodes; others need not be numbers. */
static sp_status mask_values(sp_case *c, sp_vector *vector) {
  const sp_solver *s = c->run->solver;
  const sp_numbering *n = s->space->numbering;
  bool finite = true;
  SP_TRY(sp_agree(c->comm, sp_vector_read(vector, s->work)));
  for (sp_lid i = 0; i < n->local; i++) {
    if (!s->system->setup.constrained[i]) s->work[i] = 0;
    finite = finite && fabs(s->work[i]) < 1e150;
  }
  SP_TRY(sp_agree(c->comm, finite ? SP_OK : fail_infinite("sp_case_set")));
  return sp_agree(c->comm, sp_vector_write(s->work, vector));
}

static sp_status check_finite(sp_case *c, const sp_vector *vector) {
  double square;
  SP_TRY(sp_operator_dot(c->run->solver->system->op, vector, vector, SP_OK, &square));
  return isfinite(square) ? SP_OK : fail_infinite("sp_case_set");
}

static sp_status set_array(sp_case *c, sp_case_array which, const double *values) {
  SP_TRY(take_array(c, values, &c->in));
  SP_TRY(which == SP_CASE_DIRICHLET ? mask_values(c, &c->in) : check_finite(c, &c->in));
  sp_vector *array = &c->arrays[which];
  sp_status status = array->data ? SP_OK : sp_space_vector(c->run->solver->space, SP_DOUBLE, array);
  SP_TRY(sp_agree(c->comm, status));
  const sp_vector taken = c->in;
  c->in = *array;
  *array = taken;
  c->is_set[which] = true;
  return SP_OK;
}

/* ---- Coefficients ---- */

static bool is_coefficient(sp_case_array which) {
  return which >= SP_CASE_KAPPA && which <= SP_CASE_CAPACITY;
}

/* Entries of contacts are not read. */
static sp_status check_coefficient(const sp_case *c, sp_case_array which, size_t points,
                                   const double *values) {
  static const char *const names[] = {"kappa", "lambda", "capacity"};
  const bool may_be_zero = which == SP_CASE_LAMBDA;
  for (sp_lid e = 0; e < c->mesh->hexes->count; e++)
    for (size_t p = 0; p < points && !sp_hexes_is_contact(c->mesh->hexes, e); p++) {
      const double value = values[(size_t)e * points + p];
      if (!isfinite(value) || value < 0 || (value == 0 && !may_be_zero))
        return sp_fail(SP_ERR_INPUT,
                       "sp_case_set: %s must be finite and %s; it is %g at point %zu of element "
                       "%d",
                       names[which - SP_CASE_KAPPA], may_be_zero ? "not negative" : "positive",
                       value, p, (int)e);
    }
  return SP_OK;
}

/* *out = a copy on the host. Local. */
static sp_status take_coefficient(const sp_case *c, sp_case_array which, size_t count,
                                  const double *values, double **out) {
  const sp_rule *rule = sp_library_rule(c->config);
  const size_t points = sp_rule_points(rule);
  sp_vector view;
  SP_TRY(sp_running_check_arrays(c->run->problem));
  if (which == SP_CASE_CAPACITY && !sp_library_in_time(c))
    return sp_fail(SP_ERR_INPUT, "sp_case_set: capacity needs a case in time, with time.end");
  SP_TRY(sp_library_check("sp_case_set", (size_t)c->mesh->hexes->count * points, count, values));
  SP_TRY(find_array(c, count, values, &view));
  SP_TRY(sp_allocate(count, sizeof **out, "coefficients", out));
  if (view.data)
    SP_TRY(sp_vector_read(&view, *out));
  else if (count > 0)
    memcpy(*out, values, count * sizeof **out);
  return check_coefficient(c, which, points, *out);
}

/* `given` is false on all ranks to unset it. */
static sp_status set_coefficient(sp_case *c, sp_case_array which, bool given, size_t count,
                                 const double *values) {
  double **kept = &c->coefficients[which - SP_CASE_KAPPA];
  SP_OWNED double *taken = NULL;
  if (!given && !*kept) return SP_OK;
  if (given) SP_TRY(sp_agree(c->comm, take_coefficient(c, which, count, values, &taken)));
  sp_library_forget(c);
  double *before = *kept;
  *kept = taken;
  taken = before;
  c->rule = sp_library_rule(c->config);
  c->coefficients_changed = true;
  memcpy(c->run->problem->arrays, c->coefficients, sizeof c->coefficients);
  return SP_OK;
}

int sp_case_set(sp_case *c, sp_case_array which, size_t count, const double *values) {
  if (!c) return sp_library_fail("sp_case_set", "no case, it is NULL");
  const size_t local = sp_space_dofs(c->run->solver->space);
  sp_status status = SP_OK;
  bool given = values;
  MPI_Allreduce(MPI_IN_PLACE, &given, 1, MPI_C_BOOL, MPI_LOR, c->comm);
  if (is_coefficient(which))
    return sp_library_code(set_coefficient(c, which, given, count, values));
  if ((int)which < 0 || (int)which >= SP_CASE_SETTABLE)
    status = sp_fail(SP_ERR_INPUT, "sp_case_set: this array can only be read");
  else if (given && which == SP_CASE_DIRICHLET && !c->run->problem->has_dirichlet)
    status = sp_fail(SP_ERR_INPUT, "sp_case_set: the case has no Dirichlet nodes");
  else if (given)
    status = sp_library_check("sp_case_set", local, count, values);
  status = sp_agree(c->comm, status);
  if (!status) status = sp_library_restore(c);
  if (!status && given) status = set_array(c, which, values);
  if (status) return sp_library_code(status);
  if (which == SP_CASE_DIRICHLET) c->values_changed = true;
  if (!given) sp_vector_destroy(&c->arrays[which]);
  c->is_set[which] = given;
  return SP_CASE_OK;
}

/* ---- Loads and Dirichlet values ---- */

/* y = M x */
static sp_status apply_mass(sp_case *c, const sp_vector *x, sp_vector *y) {
  const sp_running *run = c->run;
  if (!c->mass) SP_TRY(sp_problem_mass(run->problem, run->solver->space, false, &c->mass));
  return sp_agree(c->comm, sp_operator_apply(c->mass, false, x, y));
}

/* c->added = the load that arrays add to the case's; no vector if none do. */
static sp_status add_loads(sp_case *c) {
  const sp_space *space = c->run->solver->space;
  sp_status status = SP_OK;
  c->run->problem->extra = NULL;
  if (!c->is_set[SP_CASE_LOAD] && !c->is_set[SP_CASE_SOURCE]) {
    sp_vector_destroy(&c->added);
    return SP_OK;
  }
  if (!c->added.data) status = sp_space_vector(space, SP_DOUBLE, &c->added);
  if (!c->extra && !status)
    status = sp_allocate(sp_space_dofs(space), sizeof *c->extra, "load", &c->extra);
  SP_TRY(sp_agree(c->comm, status));
  status = c->is_set[SP_CASE_LOAD] ? sp_vector_copy(&c->arrays[SP_CASE_LOAD], &c->added)
                                   : sp_vector_fill(0, &c->added);
  SP_TRY(sp_agree(c->comm, status));
  if (!c->is_set[SP_CASE_SOURCE]) return SP_OK;
  SP_TRY(apply_mass(c, &c->arrays[SP_CASE_SOURCE], &c->out));
  return sp_agree(c->comm, sp_vector_axpby(1, &c->out, 1, &c->added));
}

static sp_status set_values(sp_case *c) {
  SP_OWNED double *values = NULL;
  const size_t dofs = sp_space_dofs(c->run->solver->space);
  if (!c->is_set[SP_CASE_DIRICHLET]) return sp_solver_set_values(c->run->solver, NULL);
  sp_status status = sp_allocate(dofs, sizeof *values, "Dirichlet values", &values);
  if (!status) status = sp_vector_read(&c->arrays[SP_CASE_DIRICHLET], values);
  SP_TRY(sp_agree(c->comm, status));
  return sp_solver_set_values(c->run->solver, values);
}

sp_status sp_library_take_data(sp_case *c) {
  sp_library_forget(c);
  c->run->stopped = false;
  if (c->values_changed) SP_TRY(set_values(c));
  c->values_changed = false;
  return add_loads(c);
}

sp_status sp_library_extend_problem(sp_case *c) {
  if (!c->added.data) return SP_OK;
  SP_TRY(sp_agree(c->comm, sp_vector_read(&c->added, c->extra)));
  c->run->problem->extra = c->extra;
  return SP_OK;
}

sp_status sp_library_load(sp_case *c) {
  sp_solver *s = c->run->solver;
  SP_TRY(sp_library_take_data(c));
  if (s->facts.exact) SP_TRY(sp_library_extend_problem(c));
  return sp_solver_add_load(s, c->added.data ? &c->added : NULL);
}

/* ---- Operators ---- */

static sp_status precondition(sp_case *c) {
  sp_solver *s = c->run->solver;
  sp_preconditioner *p = s->preconditioner;
  double square;
  SP_TRY(sp_solver_make_free(s));
  const sp_status status = sp_vector_multiply(&s->free, &c->in, &c->in);
  SP_TRY(sp_operator_dot(s->system->op, &c->in, &c->in, status, &square));
  if (!p) return sp_agree(c->comm, sp_vector_copy(&c->in, &c->out));
  if (p->inverse_diagonal)
    return sp_agree(c->comm, sp_vector_multiply(p->inverse_diagonal, &c->in, &c->out));
  if (square == 0) return sp_agree(c->comm, sp_vector_fill(0, &c->out));
  return sp_agree(c->comm, p->apply(p, sqrt(square), &c->in, &c->out));
}

static sp_status apply(sp_case *c, sp_case_operator which) {
  switch (which) {
  case SP_CASE_A:
    return sp_agree(c->comm, sp_operator_apply(c->run->solver->system->op, true, &c->in, &c->out));
  case SP_CASE_PRECONDITIONER:
    return precondition(c);
  case SP_CASE_MASS:
    return apply_mass(c, &c->in, &c->out);
  }
  return sp_fail(SP_ERR_INPUT, "sp_case_apply: there is no operator %d", (int)which);
}

int sp_case_apply(sp_case *c, sp_case_operator which, size_t count, const double *x, double *y) {
  if (!c) return sp_library_fail("sp_case_apply", "no case, it is NULL");
  const size_t local = sp_space_dofs(c->run->solver->space);
  sp_status status = sp_library_check("sp_case_apply", local, count, x);
  if (!status) status = sp_library_check("sp_case_apply", local, count, y);
  status = sp_agree(c->comm, status);
  if (!status) status = sp_library_renew(c);
  if (!status) status = take_array(c, x, &c->in);
  if (!status) status = apply(c, which);
  if (!status) status = sp_library_give_array(c, count, NULL, &c->out, y);
  return sp_library_code(status);
}

int sp_case_watch(sp_case *c, sp_case_progress *progress, void *context) {
  if (!c) return sp_library_fail("sp_case_watch", "no case, it is NULL");
  c->progress = progress;
  c->context = context;
  return SP_CASE_OK;
}

/* ---- Arrays of the case ---- */

/* The least coordinates of each node: in two elements they may differ by rounding or a period. */
static sp_status find_points(const sp_case *c, double *points) {
  const sp_space *space = c->run->solver->space;
  const sp_numbering *n = space->numbering;
  const size_t local = (size_t)n->local, nodes = sp_element_nodes(n->order);
  SP_OWNED double *xyz = NULL;
  SP_TRY(sp_agree(c->comm, sp_allocate(3 * nodes, sizeof *xyz, "points", &xyz)));
  for (size_t i = 0; i < 3 * local; i++) points[i] = DBL_MAX;
  for (sp_lid e = 0; e < c->mesh->hexes->count; e++) {
    const sp_lid *dofs = sp_numbering_nodes(n, e);
    sp_hexes_map(c->mesh->hexes, e, n->order + 1, sp_reference_get(n->order)->gll.nodes, xyz);
    for (size_t d = 0; d < 3; d++)
      for (size_t i = 0; i < nodes; i++) {
        double *point = &points[d * local + (size_t)dofs[i]];
        *point = fmin(*point, xyz[d * nodes + i]);
      }
  }
  for (size_t d = 0; d < 3; d++) sp_exchange_now(space->exchange, SP_MIN, &points[d * local]);
  return SP_OK;
}

/* [3][elements][points] */
static sp_status find_quadrature(const sp_case *c, double *host) {
  const sp_rule *rule = sp_library_rule(c->config);
  const size_t points = sp_rule_points(rule), all = points * (size_t)c->mesh->hexes->count;
  SP_OWNED double *xyz = NULL;
  SP_TRY(sp_agree(c->comm, sp_allocate(3 * points, sizeof *xyz, "points", &xyz)));
  for (sp_lid e = 0; e < c->mesh->hexes->count; e++) {
    sp_hexes_coordinates(c->mesh->hexes, e, rule->n, rule->nodes, xyz);
    for (size_t d = 0; d < 3; d++)
      memcpy(&host[d * all + (size_t)e * points], &xyz[d * points], points * sizeof *xyz);
  }
  return SP_OK;
}

static sp_status find_right_hand_side(sp_case *c, double *host) {
  SP_TRY(sp_library_renew(c));
  SP_TRY(sp_library_load(c));
  return sp_agree(c->comm, sp_vector_read(&c->run->solver->b, host));
}

static sp_status fill_array(sp_case *c, sp_case_array which, size_t count, double *host) {
  const sp_solver *s = c->run->solver;
  /* The problem's if others have been unset since the solve. */
  const double *values = c->values_changed ? s->facts.boundary_values : sp_solver_values(s);
  if (which == SP_CASE_POINTS) return find_points(c, host);
  if (which == SP_CASE_QUADRATURE) return find_quadrature(c, host);
  if (which == SP_CASE_RHS) return find_right_hand_side(c, host);
  if (which == SP_CASE_DIRICHLET && c->is_set[which])
    return sp_agree(c->comm, sp_vector_read(&c->arrays[which], host));
  for (size_t i = 0; i < count; i++)
    host[i] = which == SP_CASE_FIXED ? s->system->setup.constrained[i] : values ? values[i] : 0;
  return SP_OK;
}

int sp_case_get(sp_case *c, sp_case_array which, size_t count, double *values) {
  if (!c) return sp_library_fail("sp_case_get", "no case, it is NULL");
  SP_OWNED double *host = NULL;
  const size_t expected =
      which == SP_CASE_QUADRATURE
          ? 3 * (size_t)c->mesh->hexes->count * sp_rule_points(sp_library_rule(c->config))
          : (which == SP_CASE_POINTS ? 3 : 1) * sp_space_dofs(c->run->solver->space);
  sp_status status = SP_OK;
  if (is_coefficient(which) || (which != SP_CASE_DIRICHLET && (int)which < SP_CASE_SETTABLE))
    status = sp_fail(SP_ERR_INPUT, "sp_case_get: this array can only be set");
  if (!status) status = sp_library_check("sp_case_get", expected, count, values);
  if (!status && which > SP_CASE_QUADRATURE)
    status = sp_fail(SP_ERR_INPUT, "sp_case_get: there is no array %d", (int)which);
  if (!status && which == SP_CASE_RHS && (sp_library_in_time(c) || c->run->problem->of_u))
    status = sp_fail(SP_ERR_INPUT, "sp_case_get: a case in time, or that depends on u, has more "
                                   "than one right-hand side");
  if (!status) status = sp_allocate(count, sizeof *host, "array", &host);
  status = sp_agree(c->comm, status);
  if (!status) status = sp_library_restore(c);
  if (!status) status = fill_array(c, which, count, host);
  if (!status) status = sp_library_give_array(c, count, host, NULL, values);
  return sp_library_code(status);
}
