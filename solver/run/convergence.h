/* Convergence of an answer (solver/run/answers.h) along refinements or orders, without an exact
 * value: grid convergence index after ASME V&V 20-2009, section 2 (Celik et al., J. Fluids Eng.
 * 130, 078001). With the values f3, f2, f1 of the last three runs, f1 the finest, and h halved from
 * run to run:
 *
 *     R = (f1 - f2) / (f2 - f3)                  monotone for 0 < R < 1
 *     p = log2(1 / |R|)                          observed rate
 *     limit = f1 + (f1 - f2) / (2^p - 1)         Richardson's extrapolation
 *     GCI = 1.25 |f2 - f3| r^2 / (1 - r)         safety factor of three grids
 *
 * With r = |R| the GCI is 1.25 |f1 - f2| / (2^p - 1), as in the standard. But R may be small by
 * chance: r is at least 1/4, along orders 1/2.
 *
 * Along orders errors fall geometrically, f_N = f + c R^N: 1 / |R| takes the place of 2^p, and the
 * rate is log10(1 / |R|), digits per order.
 *
 * Signs may alternate (-1 < R < 0) along orders, and for pointwise answers, since the place of the
 * point in its element changes. Then the limit is f1 + (f1 - f2) R / (1 - R), which is the formula
 * above for R > 0.
 *
 * All functions Local. */
#pragma once

#include <stdbool.h>

typedef struct sp_convergence {
  double rate, limit, gci; /* NaN if the answer diverges; gci in the unit of the answer */
  const char *verdict; /* "monotone", "alternating", "oscillating", "diverging", or "at the floor":
                          f1 - f2 may be the solver's error; the limit is then f1 and the GCI
                          1.25 times the floor */
  bool passes;         /* false if oscillating or diverging */
} sp_convergence;

/* Judge f = {f3, f2, f1}; differences up to `floor` may be the solver's. */
sp_convergence sp_convergence_judge(bool along_orders, bool pointwise, const double f[3],
                                    double floor);

/* The rate of the last of three values. */
double sp_convergence_rate(bool along_orders, const double f[3]);
