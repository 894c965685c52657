/* Observed rates of convergence, compared with theory.
 *
 * Along refinements e = C h^p (1 + O(h)), with h halved from run to run:
 *     rate = log2(e_coarse / e_fine),   p = N + 1 in L2 and N in H1,
 * for the screened Poisson problem (solution and mesh smooth) and for the L2 projection. Both are
 * also upper bounds: only polynomials of degree N are approximated better (saturation).
 *
 * Along orders on one mesh the error of an analytic solution falls at least geometrically:
 *     rate = log10(e_N-1 / e_N),   digits per order.
 * A solution that is even (odd) about the centre of every element gains nothing from an odd (even)
 * order, so that single steps may be flat but no two in a row.
 *
 * Along steps in time e = C dt^p (1 + O(dt)) + the error in space, with dt halved from run to run:
 *     rate = log2(e_dt / e_dt/2),   p the order of the scheme (solver/solve/time.h) in both norms.
 *
 * Source: Brenner and Scott, The Mathematical Theory of Finite Element Methods, chapters 4 and 5;
 * Lin, Xie and Xu, Lower bounds of the discretization error, Math. Comp. 83 (2014). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/error.h"
#include "operators/kinds.h"

/* Errors above this multiple of the solver's error are due to the discretization: the solver then
 * changes a rate by less than log2(1 + 1/10) = 0.14. */
#define SP_RATES_CLEAR 10.0

typedef enum sp_norm { SP_L2, SP_H1, SP_NORMS } sp_norm;

/* The parameter that a study varies. */
typedef enum sp_study_axis {
  SP_ALONG_ORDERS,
  SP_ALONG_REFINEMENTS,
  SP_ALONG_STEPS,
  SP_STUDY_AXES
} sp_study_axis;

/* One run of a study. */
typedef struct sp_study_row {
  int order, refine, step; /* step: halvings of the case's */
  double dt;               /* in time, the length of a step */
  int64_t elements, dofs, iterations;
  double error[SP_NORMS];
  double norm[SP_NORMS];  /* of the exact solution */
  double floor[SP_NORMS]; /* smaller errors may be the solver's (sp_rates_floor) */
  double rate[SP_NORMS];  /* from the run before; NaN without one */
  int expected[SP_NORMS]; /* the rate that theory promises; not along orders */
  double seconds;         /* of the solve, longest of all ranks */
  double matvec_share;    /* of the solve */
} sp_study_row;

/* Diameter of the domain and width of its elements. */
typedef struct sp_mesh_size {
  double diameter, width;
} sp_mesh_size;

/* Return SP_RATES_CLEAR times the relative error in the energy norm that the solver may leave after
 * `iterations`, see below. Local. */
double sp_rates_relative_floor(double tolerance, int64_t iterations);

/* Set row->floor to SP_RATES_CLEAR times an estimate of the error that the solver's tolerance and
 * rounding cause. CG needs k = sqrt(kappa) / 2 ln(2 / tolerance) iterations at most, which gives
 * the condition number kappa. The error is then, relative to u in the energy norm (L2 for the mass
 * problem),
 *     tolerance sqrt(kappa) + epsilon kappa,
 * the second part being the rounding of the residual. Poincare's inequality, ||e|| <= diameter / pi
 * |e|, leads to the other norm; for mass it is the inverse one, |e| <= sqrt(12) N^2 / width ||e||.
 * Local. */
void sp_rates_floor(sp_operator_kind kind, double tolerance, const sp_mesh_size *size,
                    sp_study_row *row);

/* Fill `rate` of the last of `count` rows, which follow each other along an axis. Local. */
void sp_rates_observe(sp_study_axis axis, int count, sp_study_row *rows);

/* Describe a run, "order 3, refine 2", along steps also ", step 1", in text[size], which is
 * returned. Local. */
const char *sp_study_place(sp_study_axis axis, const sp_study_row *row, size_t size, char *text);

/* Return the rate that theory promises along refinements. Local. */
int sp_rates_expected(int order, sp_norm norm);

/* True if the error of the last of `count` rows is at the floor, an upper estimate: it is not above
 * the floor, and the previous row is also at the floor or no digit was gained since. Used only for
 * the table; sp_rates_judge does not use it. Local. */
bool sp_rates_at_floor(int count, const sp_study_row *rows, sp_norm norm);

/* Return how far the rate from a mesh of `elements` elements to its refinement may fall short: 0.2,
 * for the O(h) term; a lost order shows as 1. Operators with a boundary_layer (operators/kinds.h)
 * have, at even order, larger errors in the elements along the boundary. Their share in the squared
 * norm falls with 1 / n, n = elements^(1/3), so 1 / n is added (0.8 / n for N = 2 on cubes). Local.
 */
double sp_rates_shortfall(sp_operator_kind kind, int order, int64_t elements);

/* Judge a series by sp_rates_rule and sp_rates_shortfall. Along orders, steps from an error of half
 * the solution's norm or more, which resolve nothing yet, are accepted unless they are the last.
 * *judged = the number of steps that could be judged. Errors: SP_ERR_STUDY with the step. Local. */
sp_status sp_rates_judge(sp_operator_kind kind, sp_study_axis axis, int count,
                         const sp_study_row *rows, int *judged);

/* Return the rule of sp_rates_judge in one line for users. Local. */
const char *sp_rates_rule(sp_operator_kind kind, sp_study_axis axis);

/* ---- Answers ---- */

/* Convergence of an answer (answers.h) without an exact value: grid convergence index after ASME
 * V&V 20-2009, section 2 (Celik et al., J. Fluids Eng. 130, 078001). With the values f3, f2, f1 of
 * the last three runs, f1 the finest, and h or dt halved from run to run:
 *
 *     R = (f1 - f2) / (f2 - f3)                  monotone for 0 < R < 1
 *     p = log2(1 / |R|)                          observed rate
 *     limit = f1 + (f1 - f2) / (2^p - 1)         Richardson's extrapolation
 *     GCI = 1.25 |f2 - f3| r^2 / (1 - r)         safety factor of three grids
 *
 * r is |R| as in the standard, but at least 1/4, along orders 1/2: R may be small by chance. Along
 * orders f_N = f + c R^N: 1 / |R| takes the place of 2^p, and the rate is log10(1 / |R|), digits
 * per order.
 *
 * A limit needs differences that fall fast enough. Along refinements log(1 / h) has R = 1 and h^-s
 * has R = 2^s. Near an edge u is smooth + c r^a, with a >= 1/4 for any angle and any pair of
 * conditions in one material (pi / (2 omega), omega <= 2 pi: Grisvard, Elliptic Problems in
 * Nonsmooth Domains, 1985). A value at the edge then converges like h^a, an integral or a flux like
 * h^(2a); along orders N^-2 takes the place of h (Babuska and Suri, SIAM J. Numer. Anal. 24, 1987).
 * So R must be at most the ratio of the power 1/4: 0.84 along refinements, 0.44 for orders 1 to 3,
 * where log(N) has 0.58. Otherwise the answer is diverging or singular: it may be infinite, and
 * three values do not determine its limit.
 *
 * Signs may alternate (R < 0) along orders, and for pointwise answers, since the place of the
 * point in its element changes. Then the limit is f1 + (f1 - f2) R / (1 - R), as for R > 0. */
#define SP_CONVERGENCE_LEAST 0.25
typedef struct sp_convergence {
  double rate, limit, gci; /* NaN if the answer diverges; gci in the unit of the answer */
  const char *verdict; /* "monotone", "alternating", "oscillating", "diverging or singular", or "at
                          the floor": f1 - f2 may be the solver's error; the limit is then f1 and
                          the GCI 1.25 times the floor */
  bool passes;         /* false if oscillating or diverging or singular */
} sp_convergence;

/* Judge f = {f3, f2, f1}; differences up to `floor` may be the solver's. `order` belongs to f1
 * along orders, three at least; 0 along refinements and steps. Local. */
sp_convergence sp_convergence_judge(int order, bool pointwise, const double f[3], double floor);

/* The rate of the last of three values. Local. */
double sp_convergence_rate(int order, const double f[3]);

/* Describe how three values grow, ", like log(1/h)", in text[size], which is returned; empty if
 * they do not. `h` is "h" or "dt", the size that is halved. Local. */
const char *sp_convergence_growth(int order, const double f[3], const char *h, size_t size,
                                  char *text);

/* The ratio R of f = limit + c h^power along refinements, and along orders of f = limit +
 * c N^(-2 power). Negative powers grow. Local. */
double sp_convergence_ratio(int order, double power);
