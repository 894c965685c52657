/* Constants and tables of a case, which its formulas may use; a constant may use those before it.
 */
#pragma once

#include <stdbool.h>

#include "io/error.h"
#include "io/expression_table.h"

typedef struct sp_constant {
  const char *name; /* owned by the caller of sp_scope_define */
  double value;
  bool used; /* in a formula that has been parsed */
} sp_constant;

typedef struct sp_scope {
  int count;
  sp_constant *constants;
  sp_tables tables;
} sp_scope;

/* Append a constant: a number, or a formula of the constants before it. `where` begins messages.
 * Local. Errors: SP_ERR_INPUT for a name that is not made of letters, digits and _ or that formulas
 * have already, for a formula that depends on x, y or z, and for a value that is not finite;
 * SP_ERR_SYSTEM. */
sp_status sp_scope_define(sp_scope *scope, const char *name, const char *text, const char *where);

/* NULL-safe; sets *scope to NULL. Local. */
void sp_scope_destroy(sp_scope **scope);
