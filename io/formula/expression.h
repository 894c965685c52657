/* Formulas of x, y and z, and of the time t if the scope has one, with exact first and second
 * derivatives in space. io/README.md (Formulas) lists operators, functions and constants.
 *
 * A condition that is NaN makes the result NaN: callers that refuse values that are not finite
 * report the point. Comparisons with NaN, !NaN and NaN ? a : b are NaN. As in C, && and || ignore
 * the right operand if the left one decides: x > 0 && log(x) > 1 is 0 at x = -1.
 *
 * Derivatives come from forward-mode automatic differentiation of jets (u, u_x, u_y, u_z, lap u):
 * these five close under every operation, since
 *     lap g(a, b) = g_a lap a + g_b lap b
 *                   + g_aa |grad a|^2 + 2 g_ab grad a . grad b + g_bb |grad b|^2.
 * Derivatives are also formulas. A common subexpression, also of the value and a derivative, is
 * computed once. Values that no requested output needs are not computed.
 *
 * Derivatives of a conditional are taken in its branch, and of abs, sign, floor, min, max and table
 * in the smooth piece at the point. If a derivative does not exist (sqrt at 0), the result is NaN
 * or infinite, which callers check. Constant integer exponents up to 8 in size are multiplications
 * and a division, x^0.5 is sqrt(x): x^2 is exact at 0.
 *
 * Accuracy: each function is within 4 units in the last place (ulp) of its exact value at the
 * rounded argument. Here sin and cos are within 1 ulp (vector.h); sqrt, abs, sign, floor, min and
 * max are exact or correctly rounded. All others come from libmvec, whose bound is 4 ulp
 * (sourceware.org/glibc/wiki/libmvec), or from libm if the build finds no libmvec. NaN, infinities
 * and signed zeros are as in libm. The bits at a point depend on the processor's instruction set,
 * but not on the other points, on n, or on the requested outputs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "io/error.h"
#include "io/formula/scope.h"

/* A formula may jump if it contains a condition, a comparison, sign or floor of something that
 * varies; have kinks if it contains abs, min, max or table of such; else it is smooth. */
typedef enum sp_regularity { SP_JUMPS, SP_KINKS, SP_SMOOTH } sp_regularity;

/* A formula; read only. Several threads may evaluate it at a time. */
typedef struct sp_expression {
  char *where, *text; /* as given to sp_expression_parse */
  bool is_constant;   /* no x, y, z, u or t occurs in it */
  bool is_of_u;       /* u occurs in it */
  bool is_of_t;       /* the time occurs in it */
  bool switches;      /* a condition, comparison, sign or floor of only the time occurs */
  sp_regularity regularity;
  struct sp_expression_code *code; /* private */
} sp_expression;

/* Parse `text`. `where` begins messages ("case.ini:12: problem.solution"), as in "WHERE: column 8:
 * expected ')', found 'y'"; columns count from 1 in `text`. For an unknown name the message lists
 * the known ones. Constants of `scope`, which may be NULL, become `used`; its tables must outlive
 * *out. Both texts are copied; the caller destroys *out. Local. Errors: SP_ERR_INPUT,
 * SP_ERR_SYSTEM. */
sp_status sp_expression_parse(const char *text, const char *where, const sp_scope *scope,
                              sp_expression **out);

/* Parse a formula that needs more data than the points. `given` is the name of a fourth variable,
 * "u" or "u0"; a formula of it has no derivatives. Or `given` is "K", a tensor; then
 *
 *     K : grad grad u = K_xx u_xx + K_yy u_yy + K_zz u_zz + 2 (K_xy u_xy + K_xz u_xz + K_yz u_yz)
 *
 * takes the place of the Laplacian. Jets (u, grad u, K : grad grad u) are closed as above, with
 * grad a . K grad b for grad a . grad b. Or it is "t": then gradient[0] is the derivative by the
 * time of the scope, and gradient[1] and gradient[2] are zero. Or it is "du": then the variable is
 * u, and gradient[0] is the derivative by it. Or it is "values": then the values
 * of the scope have names, and x, y and z have none; a name that means something else besides is
 * refused. Local. */
sp_status sp_expression_parse_given(const char *text, const char *where, const sp_scope *scope,
                                    const char *given, sp_expression **out);

/* True if this name occurs in a text. Local. */
bool sp_expression_has_name(const char *text, const char *name);

/* True if a constant may have this name: letters, digits and _, no digit first, and no other
 * meaning in formulas. Local. */
bool sp_expression_allows_name(const char *name);

/* NULL-safe; sets *expression to NULL. Local. */
void sp_expression_destroy(sp_expression **expression);

/* Evaluate at the n points (xyz[0][p], xyz[1][p], xyz[2][p]): values, and gradients and Laplacians
 * if not NULL. All arrays have n entries and do not overlap. `given` is u[n] of a formula of u,
 * K[6][n] (xx, yy, zz, xy, xz, yz) of an anisotropic one with `laplacian`, which becomes K : grad
 * grad u; else it is not read. Does not check that values are finite. Local. Errors: SP_ERR_SYSTEM.
 */
sp_status sp_expression_evaluate(const sp_expression *expression, size_t n,
                                 const double *const xyz[3], const double *given, double *value,
                                 double *const gradient[3], double *laplacian);

/* Append a constant: a number, or a formula of earlier constants. `where` begins messages. Local.
 * Errors: SP_ERR_INPUT if the name exists or has other characters than letters, digits and _, the
 * formula depends on x, y or z, or the value is not finite; SP_ERR_SYSTEM. */
sp_status sp_scope_define(sp_scope *scope, const char *name, const char *text, const char *where);
