#include "solver/solve/time.h"

#include <math.h>
#include <stddef.h>

const char *const sp_time_scheme_names[] = {
    [SP_BDF1] = "bdf1",     [SP_BDF2] = "bdf2", [SP_BDF3] = "bdf3",
    [SP_SDIRK2] = "sdirk2", [SP_CN] = "cn",     NULL};

/* gamma = 1 - 1 / sqrt(2). The second stage, at t + dt, starts from u plus (1 - gamma) / gamma
 * times its change in the first stage. */
#define GAMMA 0.29289321881345247560
#define GAIN ((1 - GAMMA) / GAMMA)

/* Factor of the difference to the weights 1/2, 1/2, with the first stage from the history. */
#define DIFFERENCE ((0.5 - GAMMA) / GAMMA)

static const sp_time_method methods[] = {
    [SP_BDF1] = {1, 1, 1, {{1, 1, {1}, 0}}},
    [SP_BDF2] = {2, 2, 1, {{1, 1.5, {2, -0.5}, 0}}},
    [SP_BDF3] = {3, 3, 1, {{1, 11.0 / 6, {3, -1.5, 1.0 / 3}, 0}}},
    [SP_SDIRK2] = {2,
                   1,
                   2,
                   {{GAMMA, 1 / GAMMA, {1 / GAMMA}, 0},
                    {1, 1 / GAMMA, {(1 - GAIN) / GAMMA}, GAIN / GAMMA}},
                   .error = {DIFFERENCE / GAIN, -DIFFERENCE *(GAIN + (1 - GAIN) / (GAMMA * GAIN)),
                             -DIFFERENCE}},
    [SP_CN] = {2, 2, 1, {{1, 2, {3, -1}, 0}}, .tangent = true},
};
static const sp_time_method starts[] = {
    [SP_BDF2] = {2, 1, 2, {{0.5, 2, {2}, 0}, {1, 2, {0}, 2}}},
    [SP_CN] = {2, 1, 2, {{0.5, 2, {2}, 0}, {1, 2, {0}, 2}}, .tangent = true},
};

const sp_time_method *sp_time_method_of(sp_time_scheme scheme, int known) {
  if (known >= methods[scheme].history) return &methods[scheme];
  return scheme == SP_BDF3 ? &methods[SP_SDIRK2] : &starts[scheme];
}

static const double ROUNDING = 1e-9; /* 1 / 0.1 are ten steps */

double sp_time_next_output(const sp_time_options *options, double t) {
  const double beyond = t + ROUNDING * fabs(t), interval = options->interval;
  double next = options->end;
  if (beyond >= next) return t + next;
  if (interval > 0) next = fmin(next, (floor(beyond / interval) + 1) * interval);
  for (int i = options->at.count - 1; i >= 0 && options->at.values[i] > beyond; i--)
    next = fmin(next, options->at.values[i]);
  return next;
}

double sp_time_divide(double span, double most) {
  while (span > most * (1 + ROUNDING)) span /= 2;
  return span;
}

double sp_time_step(const sp_time_options *options) {
  enum { AUTOMATIC = 1024 }; /* a guess that automatic steps begin with */
  const double end = options->end;
  if (end == 0) return 0;
  if (options->tolerance > 0)
    return sp_time_divide(sp_time_next_output(options, 0), end / AUTOMATIC);
  if (options->steps > 0) return end / options->steps;
  return end / ceil(end / options->step * (1 - ROUNDING));
}

static const sp_time_stage *first_stage(const sp_time_options *options) {
  return &sp_time_method_of(options->scheme, 1)->stage[0];
}

double sp_time_first_shift(const sp_time_options *options) {
  return options->end == 0 ? 0 : first_stage(options)->shift / sp_time_step(options);
}

double sp_time_first(const sp_time_options *options) {
  return first_stage(options)->fraction * sp_time_step(options);
}
