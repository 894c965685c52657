#include "solver/solve/solver.h"

#include <math.h>
#include <stdlib.h>

#include "io/threads.h"

/* ---- Right-hand sides ---- */

/* Sum a load vector over all ranks. */
static sp_status sum_load(const sp_solver *s, const double *load, double *sum) {
  *sum = 0;
  for (sp_lid i = 0; i < s->space->numbering->owned; i++) *sum += load[i];
  return sp_reduction_sum(s->platform->reduction, 1, sum, SP_OK);
}

static sp_status check_ties(sp_solver *s, const double *load) {
  const int parts = s->system->constants.parts;
  if (parts == 0 || s->mesh->hexes->file.bodies <= parts) return SP_OK;
  return sp_null_space_check_ties(s->problem, s->space, s->system->setup.constrained, load,
                                  &s->tied);
}

/* Project the load of pure Neumann problems. */
static sp_status project_load(sp_solver *s, double *load) {
  double before, after;
  SP_TRY(sum_load(s, load, &before));
  SP_TRY(sp_null_space_project(s->facts.exact, s->problem, s->space, load, &s->defect));
  SP_TRY(sum_load(s, load, &after));
  s->removed += before - after;
  return SP_OK;
}

sp_status sp_solver_balance(sp_solver *s, double *load) {
  SP_TRY(check_ties(s, load));
  return s->facts.exact ? project_load(s, load) : SP_OK;
}

typedef struct largest_entry {
  const double *values;
  double size;
} largest_entry;

static sp_status find_largest(void *largest, void *size, size_t begin, size_t end) {
  const double *values = ((const largest_entry *)largest)->values;
  double most = 0;
  for (size_t i = begin; i < end; i++)
    if (!(fabs(values[i]) <= most)) most = isnan(values[i]) ? INFINITY : fabs(values[i]);
  *(double *)size = most;
  return SP_OK;
}

static void join_largest(void *largest, void *size, size_t begin, size_t end) {
  (void)begin, (void)end;
  largest_entry *all = largest;
  all->size = fmax(all->size, *(const double *)size);
}

/* Check that the squares of CG's vectors stay far from overflow, and from underflow, which makes a
 * residual look like zero. */
static sp_status check_load(const sp_solver *s) {
  const double smallest = 1e-140, largest = 1e140;
  largest_entry entry = {.values = s->work};
  double size;
  SP_TRY(
      sp_agree(s->platform->comm, sp_loop_sum("load vector", (size_t)s->space->numbering->owned, 1,
                                              &entry, sizeof size, find_largest, join_largest)));
  MPI_Allreduce(&entry.size, &size, 1, MPI_DOUBLE, MPI_MAX, s->platform->comm);
  if (size == 0 || (size * s->options.tolerance > smallest && size < largest)) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "the right-hand side has entries of up to %.3g; its squares would leave the range "
                 "of double precision: give the data in other units, so that this lies between "
                 "%.0e / solver.tolerance and %.0e",
                 size, smallest, largest);
}

sp_status sp_solver_make_rhs(sp_solver *s, const double *load) {
  SP_TRY(sp_system_lift(s->system, sp_solver_values(s), load, s->work, &s->boundary, &s->b));
  SP_TRY(check_load(s));
  s->has_b = true;
  return sp_agree(s->platform->comm, sp_vector_write(s->work, &s->b));
}

/* ---- Other data ---- */

static sp_status write_free(sp_solver *s) {
  SP_TRY(sp_space_vector(s->space, SP_DOUBLE, &s->free));
  for (sp_lid i = 0; i < s->space->numbering->local; i++)
    s->work[i] = !s->system->setup.constrained[i];
  if (!s->system->constants.of_dof) s->start.ones = &s->free;
  return sp_vector_write(s->work, &s->free);
}

sp_status sp_solver_make_free(sp_solver *s) {
  return s->free.data ? SP_OK : sp_agree(s->platform->comm, write_free(s));
}

/* Keep the data that do not change from load to load. */
static sp_status keep_own(sp_solver *s) {
  if (s->own.data) return SP_OK;
  SP_TRY(sp_agree(s->platform->comm, sp_space_vector(s->space, SP_DOUBLE, &s->own)));
  if (!s->has_b) SP_TRY(sp_solver_make_rhs(s, s->load));
  return sp_vector_copy(&s->b, &s->own);
}

/* Check that ||b|| is in the range of check_load; the host has not seen the entries. */
static sp_status check_norm(sp_solver *s, sp_status status) {
  double square;
  SP_TRY(sp_operator_dot(s->system->op, &s->b, &s->b, status, &square));
  if (isfinite(square) && (square == 0 || sqrt(square) * s->options.tolerance > 1e-140))
    return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "the norm of the right-hand side is %.3g; its squares would leave the range of "
                 "double precision: give the data in other units",
                 sqrt(square));
}

/* The part of a null space must be zero, and is removed, on the host. */
static sp_status add_balanced(sp_solver *s) {
  const double *extra = s->problem->extra;
  SP_OWNED double *load = NULL;
  const size_t dofs = sp_space_dofs(s->space);
  SP_TRY(sp_agree(s->platform->comm, sp_allocate(dofs, sizeof *load, "load vector", &load)));
  for (size_t i = 0; i < dofs; i++) load[i] = s->load[i] + (extra ? extra[i] : 0);
  s->removed = s->own_removed;
  if (extra) SP_TRY(sp_solver_balance(s, load));
  return sp_solver_make_rhs(s, load);
}

sp_status sp_solver_add_load(sp_solver *s, const sp_vector *load) {
  SP_TRY(sp_solver_make_free(s));
  if (s->facts.exact) return add_balanced(s);
  sp_status status = keep_own(s);
  s->has_b = false;
  if (!status && load) status = sp_vector_multiply(&s->free, load, &s->b);
  if (!status) status = sp_vector_axpby(1, &s->own, load ? 1 : 0, &s->b);
  SP_TRY(check_norm(s, status));
  s->has_b = true;
  return SP_OK;
}

/* Dirichlet values have changed. */
static sp_status renew_values(sp_solver *s) {
  s->has_b = false;
  sp_vector_destroy(&s->own);
  if (s->boundary.data || !sp_solver_values(s)) return SP_OK;
  return sp_agree(s->platform->comm, sp_space_vector(s->space, SP_DOUBLE, &s->boundary));
}

sp_status sp_solver_set_values(sp_solver *s, const double *values) {
  const bool *constrained = s->system->setup.constrained;
  const size_t dofs = sp_space_dofs(s->space);
  if (values && !s->values)
    SP_TRY(sp_agree(s->platform->comm,
                    sp_allocate(dofs, sizeof *s->values, "Dirichlet values", &s->values)));
  for (size_t i = 0; i < dofs && values; i++) s->values[i] = constrained[i] ? values[i] : 0;
  if (!values) {
    free(s->values);
    s->values = NULL;
  }
  return renew_values(s);
}

sp_status sp_solver_update_values(sp_solver *s) {
  const size_t dofs = sp_space_dofs(s->space);
  SP_OWNED bool *constrained = NULL;
  SP_OWNED double *values = NULL;
  SP_TRY(sp_agree(s->platform->comm, SP_ALLOCATE("Dirichlet values", SP_ARRAY(constrained, dofs),
                                                 SP_ARRAY(values, dofs))));
  SP_TRY(sp_problem_constraints(s->problem, s->space, constrained, values, NULL));
  free(s->facts.boundary_values);
  s->facts.boundary_values = values;
  values = NULL;
  return renew_values(s);
}
