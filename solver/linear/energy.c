#include "solver/linear/energy.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "io/hash.h"

/* Squares of the strongest trusted contraction, and of the error reduction over which S looks
 * back. */
static const double CONTRACTION = 0.01, FALL = 1e-4;

void sp_energy_begin(double tolerance, double before, int in_a_row, sp_energy *energy) {
  *energy =
      (sp_energy){.tolerance = tolerance, .sum = before, .limit = INFINITY, .in_a_row = in_a_row};
  sp_energy_restart(energy);
}

void sp_energy_free(sp_energy *energy) {
  free(energy->steps);
  energy->steps = NULL;
  energy->count = 0;
}

double sp_energy_reference(const sp_energy *energy) {
  return fmin(energy->sum, energy->limit);
}

/* The share of `sum` that the last step has if it meets the tolerance. */
static double share_of(const sp_energy *energy, double remaining) {
  const double share = energy->tolerance * energy->tolerance / remaining;
  return energy->sum > energy->limit ? share * (energy->limit / energy->sum) : share;
}

void sp_energy_restart(sp_energy *energy) {
  energy->count = 0;
  energy->missing = -1;
  energy->error = INFINITY;
  energy->share = share_of(energy, CONTRACTION);
}

/* max(S - 1, CONTRACTION); at least two steps. */
static double remaining_share(const sp_energy *energy) {
  const double *steps = energy->steps;
  const double last = steps[energy->count - 1];
  double sum = last, largest = 1;
  for (size_t i = energy->count - 1; i > 0 && last > FALL * sum; i--) {
    sum += steps[i - 1];
    largest = fmax(largest, sum / steps[i - 1]);
  }
  return fmax(largest - 1, CONTRACTION);
}

/* Return the number of successive steps that must meet the tolerance. */
static int steps_needed(const sp_energy *energy, double remaining) {
  const int slow = energy->count < 40 ? 0 : (int)(energy->count - 40) / 20;
  return energy->in_a_row + slow + (remaining < 1 ? 0 : 1 + (int)fmin(8, log2(remaining)));
}

double sp_energy_error(const sp_energy *energy) {
  if (energy->count < 2) return INFINITY;
  if (!(energy->sum > 0)) return 0;
  const double last = energy->steps[energy->count - 1];
  return sqrt(remaining_share(energy) * last / sp_energy_reference(energy));
}

sp_status sp_energy_add(sp_energy *energy, double step) {
  SP_TRY(sp_reserve(energy->count, 1, sizeof *energy->steps, "steps of conjugate gradients",
                    &energy->steps));
  energy->steps[energy->count++] = step;
  energy->sum += step;
  energy->error = INFINITY;
  if (energy->count >= 2 && step <= energy->share * energy->sum) {
    const double remaining = remaining_share(energy);
    energy->error = sqrt(remaining * step / sp_energy_reference(energy));
    /* Estimate again at twice the step that would suffice now: the estimate may be smaller then. */
    energy->share = 2 * share_of(energy, remaining);
    if (energy->missing < 0) energy->missing = steps_needed(energy, remaining);
  }
  energy->missing = energy->error <= energy->tolerance ? energy->missing - 1 : -1;
  return SP_OK;
}

void sp_energy_limit(sp_energy *energy, double limit) {
  energy->limit = limit > 0 ? limit : INFINITY;
  energy->error = sp_energy_error(energy);
  if (energy->error <= energy->tolerance) return;
  energy->missing = -1;
  energy->share = 2 * share_of(energy, remaining_share(energy));
}

bool sp_energy_is_met(const sp_energy *energy) {
  return energy->missing == 0;
}

/* ---- Rounding ---- */

static const double OPERATIONS = 32; /* roundings per entry, in units of one, at all orders */

/* signed_x = x with pseudorandom signs. */
static sp_status sign_randomly(const sp_operator *op, const sp_vector *x, double *host,
                               sp_vector *signed_x) {
  for (sp_lid i = 0; i < op->dofs; i++)
    host[i] = sp_hash((uint64_t)sp_numbering_global(op->space->numbering, i)) >> 63 ? -1 : 1;
  SP_TRY(sp_vector_write(host, signed_x));
  return sp_vector_multiply(x, signed_x, signed_x);
}

sp_status sp_rounding_estimate(sp_operator *op, bool preconditioned, const sp_vector *x,
                               double *rounding) {
  SP_AUTO_VALUE(sp_vector) v = {0}, av = {0};
  SP_OWNED double *host = NULL;
  double sum;
  sp_status status = sp_allocate((size_t)op->dofs, sizeof *host, "random signs", &host);
  if (!status) status = sp_space_vector(op->space, SP_DOUBLE, &v);
  if (!status) status = sp_space_vector(op->space, SP_DOUBLE, &av);
  if (!status) status = sign_randomly(op, x, host, &v);
  SP_TRY(sp_agree(op->comm, status));
  status = sp_operator_apply(op, true, &v, &av);
  SP_TRY(sp_operator_dot(op, preconditioned ? &v : &av, &av, status, &sum));
  *rounding = OPERATIONS * OPERATIONS * DBL_EPSILON * DBL_EPSILON * sum;
  return SP_OK;
}
