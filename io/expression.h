/* Formulas of x, y and z, with exact first and second derivatives.
 *
 *     sin(pi*x) * (y < 0.5 ? exp(-z) : 2^z)
 *
 * Operators, from weak to strong: c ? a : b (right to left), ||, &&, == != (no chains), < <= > >=,
 * + -, * /, unary - + !, ^ and its synonym ** (right to left; -x^2 is -(x^2)). Conditions count as
 * true where they are not zero; comparisons give 1 or 0. Functions: sin cos tan asin acos atan
 * sinh cosh tanh exp log log10 sqrt cbrt abs erf sign floor (one argument), atan2 pow min max
 * (two), if(c, a, b) (three). Constants: pi, e. Numbers as in C (1, .5, 1e-3). No implicit
 * multiplication.
 *
 * Derivatives come from forward-mode automatic differentiation of jets (u, u_x, u_y, u_z, lap u):
 * these five close under every operation, since
 *     lap g(a, b) = g_a lap a + g_b lap b
 *                   + g_aa |grad a|^2 + 2 g_ab grad a . grad b + g_bb |grad b|^2.
 *
 * A conditional takes the derivatives of the branch taken; abs, sign, floor, min and max
 * those of the smooth piece at hand. Where an exact derivative does not exist the result is not a
 * number or infinite, which callers check (sqrt at 0, for instance); x^2 at x = 0 is exact, because
 * an exponent that is an integer constant never goes through a logarithm. */
#ifndef SP_IO_EXPRESSION_H
#define SP_IO_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "io/error.h"

/* Holds what its evaluation needs, so that one thread at a time may evaluate it. */
typedef struct sp_expression sp_expression;

/* Parse `text`. `where` names its place for messages ("case.ini:12: problem.solution"); an error
 * reads WHERE: column 8: expected ')', found 'y' with the column counted from 1 in `text`; an
 * unknown name is answered with the known ones. *out is destroyed by the caller. Local. Errors:
 * SP_ERR_INPUT. */
sp_status sp_expression_parse(const char *text, const char *where, sp_expression **out);

/* NULL-safe; sets *expression to NULL. Local. */
void sp_expression_destroy(sp_expression **expression);

/* The place and the text that it was parsed from, owned by the expression. Local. */
const char *sp_expression_where(const sp_expression *expression);
const char *sp_expression_text(const sp_expression *expression);

/* True if x, y and z do not occur in it. Local. */
bool sp_expression_is_constant(const sp_expression *expression);

/* Values at n points: value[p] = u(x[p], y[p], z[p]). No check for finite values. Local. */
void sp_expression_evaluate(const sp_expression *expression, size_t n, const double *x,
                            const double *y, const double *z, double *value);

/* Values, gradients and Laplacians at n points; `value`, `laplacian` and each gradient[d] have n
 * entries. Any of value, gradient[0..2], laplacian may be NULL and is then not stored. Local. */
void sp_expression_evaluate_jet(const sp_expression *expression, size_t n, const double *x,
                                const double *y, const double *z, double *value,
                                double *const gradient[3], double *laplacian);

#endif
