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
 *
 * bdf2 and bdf3 begin with steps of sdirk2, so that they keep their order. Source of sdirk2: R.
 * Alexander, SIAM J. Numer. Anal. 14 (1977). */
#pragma once

typedef enum sp_time_scheme { SP_BDF1, SP_BDF2, SP_BDF3, SP_SDIRK2 } sp_time_scheme;

/* Words of a case, by sp_time_scheme; ends with NULL. */
extern const char *const sp_time_scheme_names[];

typedef struct sp_time_options {
  double end;  /* 0: a steady problem */
  double step; /* the largest; 0: `steps` are given */
  int steps;   /* 0: `step` is given */
  sp_time_scheme scheme;
  int every; /* results and fields after so many steps, and at the end; >= 1 */
} sp_time_options;

enum { SP_TIME_HISTORY = 3, SP_TIME_STAGES = 2 };
typedef struct sp_time_stage {
  double fraction, shift;
  double weights[SP_TIME_HISTORY]; /* of the last solutions, newest first */
  double first;                    /* of the first stage of this step */
} sp_time_stage;

typedef struct sp_time_method {
  int order, history, stages;
  sp_time_stage stage[SP_TIME_STAGES];
} sp_time_method;

/* Return the method of a step that begins with `known` solutions, 1 or more. Local. */
const sp_time_method *sp_time_method_of(sp_time_scheme scheme, int known);

/* The shift and the time of the first stage from t = 0; 0 for a steady problem. Local. */
double sp_time_first_shift(const sp_time_options *options);
double sp_time_first(const sp_time_options *options);

/* Return the number of equal steps up to the end, of at most options->step. Local. */
int sp_time_steps(const sp_time_options *options);
