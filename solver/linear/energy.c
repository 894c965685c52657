#include "solver/linear/energy.h"

#include <math.h>
#include <stdlib.h>

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
