/* Formulas parsed and evaluated at a point, for the tests of io/formula/expression.h. */
#pragma once

#include <float.h>

#include "io/formula/expression.h"
#include "tests/check.h"

typedef struct jet {
  double value, gradient[3], laplacian;
} jet;

static inline sp_expression *parse(const char *text) {
  sp_expression *expression;
  const sp_status status = sp_expression_parse(text, "f", NULL, &expression);
  CHECK(status == SP_OK, "'%.60s': %s", text, sp_error_message());
  return expression;
}

static inline double value_of(const sp_expression *expression, double x, double y, double z) {
  double value;
  CHECK_OK(sp_expression_evaluate(expression, 1, (const double *const[]){&x, &y, &z}, NULL, &value,
                                  NULL, NULL));
  return value;
}

static inline jet jet_of(const sp_expression *expression, double x, double y, double z) {
  jet j;
  double *const gradient[3] = {&j.gradient[0], &j.gradient[1], &j.gradient[2]};
  CHECK_OK(sp_expression_evaluate(expression, 1, (const double *const[]){&x, &y, &z}, NULL,
                                  &j.value, gradient, &j.laplacian));
  return j;
}

static inline jet jet_at(const char *text, double x, double y, double z) {
  jet j = {NAN, {NAN, NAN, NAN}, NAN};
  sp_expression *expression = parse(text);
  if (expression) j = jet_of(expression, x, y, z);
  sp_expression_destroy(&expression);
  return j;
}

static inline double value_at(const char *text, double x, double y, double z) {
  double value = NAN;
  sp_expression *expression = parse(text);
  if (expression) value = value_of(expression, x, y, z);
  sp_expression_destroy(&expression);
  return value;
}

static inline bool same_bits(double a, double b) {
  return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

/* Call `check` for each formula of a list, which ';' separates. */
static inline void for_each(const char *list, void (*check)(const char *formula)) {
  char *copy = strdup(list);
  if (!copy) MPI_Abort(MPI_COMM_WORLD, 1);
  for (char *rest, *text = strtok_r(copy, ";", &rest); text; text = strtok_r(NULL, ";", &rest))
    check(text);
  free(copy);
}

/* Functions of one argument that libm also has. */
#define FUNCTIONS(F)                                                                               \
  F(sin)                                                                                           \
  F(cos)                                                                                           \
  F(tan)                                                                                           \
  F(asin) F(acos) F(atan) F(sinh) F(cosh) F(tanh) F(exp) F(log) F(log10) F(sqrt) F(cbrt) F(erf)
