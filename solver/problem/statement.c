#include "solver/problem/statement.h"

#include <string.h>

const char *const sp_condition_names[] = {[SP_DIRICHLET] = "dirichlet",
                                          [SP_NEUMANN] = "neumann",
                                          [SP_ROBIN] = "robin",
                                          [SP_PERIODIC] = "periodic",
                                          [SP_SOURCE] = "source",
                                          [SP_CONTACT] = "contact",
                                          NULL};

const char *sp_statement_initial_file(const sp_statement *statement) {
  const char *text = statement->initial.text;
  const size_t length = text ? strlen(text) : 0;
  return length > 4 && strcmp(text + length - 4, ".hdf") == 0 ? text : NULL;
}

sp_status sp_statement_check_data(const sp_statement *statement, const sp_boundary_entry *entry) {
  if (entry->formula.text || entry->condition == SP_PERIODIC ||
      sp_statement_has_solution(statement))
    return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: '%s = %s' needs a formula%s, because there is no problem.solution to take "
                 "the boundary values from",
                 entry->formula.where, entry->group, sp_condition_names[entry->condition],
                 entry->condition == SP_ROBIN ? " after its alpha" : "");
}

bool sp_statement_has_solution(const sp_statement *statement) {
  bool found = statement->all.solution.text;
  for (int m = 0; m < statement->materials.count; m++)
    found = found || statement->materials.entries[m].solution.text;
  return found;
}
