/* Formulas: an input is the text of one.
 *
 * It is a formula or a message with a column. Values at several points at once are the values at
 * each point, and the same with derivatives as without. A formula without x, y and z has one value,
 * and derivatives that are zero or do not exist. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/formula/expression.h"
#include "tests/fuzz/fuzz.h"

enum { POINTS = 5 };

static const double X[POINTS] = {0, 0.5, -1, 3, 1e200}, Y[POINTS] = {0, 0.25, 2, -7.5, -1e-200},
                    Z[POINTS] = {0, 1, -0.0, 1e6, 1};

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  return 0;
}

static bool same(double a, double b) {
  return a == b || (isnan(a) && isnan(b));
}

static void check_values(const sp_expression *expression) {
  double alone[POINTS], together[POINTS], value[POINTS], slope[3][POINTS], laplacian[POINTS];
  double *const gradient[3] = {slope[0], slope[1], slope[2]};
  const double *const xyz[3] = {X, Y, Z};
  for (int p = 0; p < POINTS; p++)
    require(sp_expression_evaluate(expression, 1, (const double *const[]){&X[p], &Y[p], &Z[p]},
                                   NULL, &alone[p], NULL, NULL) == SP_OK,
            "out of memory");
  require(sp_expression_evaluate(expression, POINTS, xyz, NULL, together, NULL, NULL) == SP_OK,
          "out of memory");
  require(sp_expression_evaluate(expression, POINTS, xyz, NULL, value, gradient, laplacian) ==
              SP_OK,
          "out of memory");
  for (int p = 0; p < POINTS; p++) {
    require(same(alone[p], together[p]), "a value depends on the other points");
    require(same(alone[p], value[p]), "a value depends on whether it is differentiated");
    if (!expression->is_constant) continue;
    require(same(alone[p], alone[0]), "a constant is not constant");
    for (int d = 0; d < 3; d++)
      require(slope[d][p] == 0 || isnan(slope[d][p]), "a constant has a slope");
    require(laplacian[p] == 0 || isnan(laplacian[p]), "a constant has a Laplacian");
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  sp_expression *expression = NULL;
  require(text != NULL, "out of memory");
  memcpy(text, data, size);
  text[size] = '\0';
  const sp_status status =
      sp_expression_parse(text, "case.ini:1: problem.solution", NULL, &expression);
  if (status) {
    unsigned column = 0;
    require_message(status);
    require(sscanf(sp_error_message(), "case.ini:1: problem.solution: column %u:", &column) == 1 &&
                column >= 1 && column <= strlen(text) + 1,
            "a message without a column of the text");
  } else {
    require(strcmp(expression->text, text) == 0, "another text than was given");
    check_values(expression);
  }
  sp_expression_destroy(&expression);
  free(text);
  return 0;
}
