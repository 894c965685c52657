/* Schemes in time for
 *
 *     c du/dt = div(kappa grad u) - lambda u + f,   c the capacity.
 *
 * Every stage of a step of length dt solves one steady problem at the time t + fraction dt,
 *
 *     -div(kappa grad v) + (lambda + (shift / dt) c) v  =  f + (c / dt) (sum of weights times u),
 *
 * where u are the last solutions, the newest first, and then the stages of this step. The result of
 * the last stage is the solution at t + dt.
 *
 *     bdf1, bdf2, bdf3    backward differences, L-stable (bdf3: nearly)
 *     sdirk2              two stages of order 2, L-stable
 *     cn                  Crank-Nicolson, order 2; does not damp the stiffest modes
 *
 * The first step of bdf2 and cn is two steps of bdf1 of half the length. They keep order 2, and
 * damp a jump of the data at t = 0 without overshoot, which sdirk2 does not. Source: R. Rannacher,
 * Numer. Math. 43 (1984). bdf3 begins with two steps of sdirk2, which keep its order. Source of
 * sdirk2: R. Alexander, SIAM J. Numer. Anal. 14 (1977).
 *
 * cn needs du/dt at t. It is kept as a point of the tangent, u - dt du/dt, in place of the previous
 * solution, so that the stage has the form of the other schemes. The first step has the same system
 * and gives a du/dt.
 *
 * Automatic steps, of sdirk2. The same stages with the weights 1/2, 1/2 are a method of order 1;
 * the difference estimates the error of a step. A step above the tolerance is halved and tried
 * again; below an eighth of it (the estimate is of order 2) the next one is twice as long. A length
 * is the time between two outputs divided by a power of two, and steps begin at a multiple of their
 * length. So few systems are set up, and steps meet the times of output and the end. */
#pragma once

#include <stdbool.h>

typedef enum sp_time_scheme { SP_BDF1, SP_BDF2, SP_BDF3, SP_SDIRK2, SP_CN } sp_time_scheme;

/* Words of a case, by sp_time_scheme; ends with NULL. */
extern const char *const sp_time_scheme_names[];

enum { SP_TIMES_MOST = 256 };
typedef struct sp_times {
  int count;
  double values[SP_TIMES_MOST]; /* increasing, > 0 */
} sp_times;

typedef struct sp_time_options {
  double end; /* 0: a steady problem */
  /* One of them is given, the others are 0. */
  double step; /* the largest */
  int steps;
  double tolerance; /* automatic steps: the error of each (sp_march_create) */
  sp_time_scheme scheme;
  /* Times of results and fields, besides the end; the first of these that is given counts. Equal
   * steps end at all these times; automatic steps are chosen so. */
  sp_times at;     /* at these times */
  double interval; /* at its multiples; 0: not given */
  int every;       /* number of steps between two; >= 1 */
} sp_time_options;

enum { SP_TIME_HISTORY = 3, SP_TIME_STAGES = 2 };
typedef struct sp_time_stage {
  double fraction, shift;
  double weights[SP_TIME_HISTORY]; /* of the last solutions, newest first */
  double first;                    /* of the first stage of this step */
} sp_time_stage;

/* The estimated error of a step: weights of the last stage's history times dt, and of the solutions
 * before and after the step. */
typedef struct sp_time_error {
  double history, before, after;
} sp_time_error;

typedef struct sp_time_method {
  int order, history, stages;
  sp_time_stage stage[SP_TIME_STAGES];
  bool tangent;        /* keeps u - dt du/dt as the solution before */
  sp_time_error error; /* zeros: no estimate */
} sp_time_method;

/* Return the method of a step that begins with `known` solutions, 1 or more. Local. */
const sp_time_method *sp_time_method_of(sp_time_scheme scheme, int known);

/* The length, the shift and the time of the first stage of the first step from t = 0; 0 for a
 * steady problem. Equal steps are at most options->step long. Local. */
double sp_time_step(const sp_time_options *options);
double sp_time_first_shift(const sp_time_options *options);
double sp_time_first(const sp_time_options *options);

/* Return the first time after t, by more than rounding, with results by `at` or `interval`, or the
 * end; after the end, one end later. Local. */
double sp_time_next_output(const sp_time_options *options, double t);

/* Return span divided by the smallest power of two that makes it at most `most`, to rounding.
 * Local. */
double sp_time_divide(double span, double most);
