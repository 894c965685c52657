#include "solver/problem/statement.h"

#include <math.h>
#include <string.h>

const char *sp_statement_initial_file(const sp_statement *statement) {
  const char *text = statement->initial.text;
  const size_t length = text ? strlen(text) : 0;
  return length > 4 && strcmp(text + length - 4, ".hdf") == 0 ? text : NULL;
}

sp_status sp_statement_check_data(const sp_statement *statement, const sp_boundary_entry *entry) {
  const sp_condition_type *type = entry->type;
  const char *last = NULL;
  for (int c = 0; c < SP_CONDITION_COEFFICIENTS; c++)
    if (type->coefficients[c]) last = type->coefficients[c];
  if (entry->formula.text || !type->data || type->no_solution ||
      sp_statement_has_solution(statement))
    return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: '%s = %s' needs a formula%s%s, because there is no problem.solution to take "
                 "the boundary values from",
                 entry->formula.where, entry->group, type->name, last ? " after its " : "",
                 last ? last : "");
}

sp_status sp_statement_check_total(const sp_formula *total) {
  if (!total->text || (total->expression->is_constant && isfinite(total->value))) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: expected a finite number, the total of the source, found '%s'; a formula of "
                 "x, y and z is a forcing or, on a surface, neumann",
                 total->where, total->text);
}

bool sp_statement_has_solution(const sp_statement *statement) {
  bool found = statement->all.solution.text;
  for (int m = 0; m < statement->materials.count; m++)
    found = found || statement->materials.entries[m].solution.text;
  return found;
}
