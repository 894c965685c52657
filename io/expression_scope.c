#include "io/expression_scope.h"

#include <math.h>
#include <stdlib.h>

#include "io/expression.h"

static sp_status evaluate(const sp_scope *scope, const char *text, const char *where,
                          double *value) {
  static const double zero = 0, *const origin[3] = {&zero, &zero, &zero};
  SP_AUTO(sp_expression) formula = NULL;
  SP_TRY(sp_expression_parse(text, where, scope, &formula));
  SP_TRY(sp_expression_evaluate(formula, 1, origin, NULL, value, NULL, NULL));
  if (sp_expression_is_constant(formula) && isfinite(*value)) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: expected a finite number or a formula of the constants above it, found '%s'",
                 where, text);
}

sp_status sp_scope_define(sp_scope *scope, const char *name, const char *text, const char *where) {
  double value;
  if (!sp_expression_allows_name(name))
    return sp_fail(SP_ERR_INPUT,
                   "%s: expected a name of letters, digits and _ that begins with no digit and "
                   "means nothing else in formulas (as x, u, e, sin do)",
                   where);
  SP_TRY(evaluate(scope, text, where, &value));
  SP_TRY(sp_reserve((size_t)scope->count, 1, sizeof *scope->constants, "constants",
                    &scope->constants));
  scope->constants[scope->count++] = (sp_constant){name, value, false};
  return SP_OK;
}

void sp_scope_destroy(sp_scope **scope) {
  if (!*scope) return;
  sp_tables_free(&(*scope)->tables);
  SP_FREE((*scope)->constants, *scope);
  *scope = NULL;
}
