/* The statement of a problem, as a user gives it: formulas, materials and boundary conditions by
 * the names of groups, before there is a mesh. solver/config/ fills it from a case file. */
#pragma once

#include "io/formula/expression.h"
#include "io/formula/scope.h"
#include "operators/kinds.h"
#include "solver/problem/conditions.h"

/* A formula; text is NULL if none is given. */
typedef struct sp_formula {
  char *text;
  char *where;               /* "case.ini:12: problem.solution", prefix of messages */
  sp_expression *expression; /* NULL without text, and for a tensor, its axes and a file */
  double value;              /* if the expression is constant */
  /* Of a solution in a case with tensors: again, for K : grad grad u (io/formula/expression.h). */
  sp_expression *curvature;
  sp_expression *rate; /* of a solution that depends on the time: again, for du/dt; of a forcing
                          that depends on u: again, for its derivative by u */
  /* Of a kappa with several components (solver/problem/conductivity.h). A section with axes and
   * without a kappa has the components of [problem] in its axes. */
  struct sp_conductivity *tensor;
} sp_formula;

/* One line of [boundary]: group = condition [coefficients][, data], or group = periodic partner.
 * Lines keep the order of the file: where two Dirichlet groups meet, the first one listed gives the
 * value. */
typedef struct sp_boundary_entry {
  char *group;
  char *where; /* "case.ini:12: boundary.group", prefix of messages; NULL if not given: "default" */
  const sp_condition_type *type;
  sp_formula coefficients[SP_CONDITION_COEFFICIENTS];
  sp_formula formula; /* data; text NULL: derived from the solution; `where` is always set */
  char *partner;      /* the other group of a periodic pair, else NULL */
} sp_boundary_entry;

/* One section [material NAME]: the equation in a volume group of the mesh. [problem] has the
 * formulas whose text is NULL. */
typedef struct sp_material_entry {
  char *name;  /* of the group, its number, or "default": elements that no other section names */
  char *where; /* "case.ini:12: [material NAME]", prefix of messages */
  sp_formula kappa, axes, lambda, capacity, solution, forcing, source;
} sp_material_entry;

typedef struct sp_statement {
  sp_scope *scope; /* the constants and tables, for the formulas of the case */
  sp_operator_kind operator_kind;
  int order;             /* N, 1..15: totals of sources are divided by its quadrature */
  bool is_box;           /* volume groups of the mesh are regions of a box */
  sp_material_entry all; /* [problem]: formulas of all elements that have none of their own */
  sp_formula initial;    /* a formula, or the path of a field as the program opens it */
  struct {
    sp_material_entry *entries; /* in the order of the file */
    int count;
  } materials;
  struct {
    sp_boundary_entry *entries; /* likewise, without "default" */
    int count;
    sp_boundary_entry fallback; /* "default": every exterior face that no entry claims */
  } boundary;
} sp_statement;

/* The field file that problem.initial names, its text ends in ".hdf"; NULL for a formula or
 * nothing. Owned by the statement. Local. */
const char *sp_statement_initial_file(const sp_statement *statement);

/* Check that a line has a formula, or the case a solution, if its condition needs data. Errors:
 * SP_ERR_INPUT. Local. */
sp_status sp_statement_check_data(const sp_statement *statement, const sp_boundary_entry *entry);

/* Check that the total of a source is a finite constant. Errors: SP_ERR_INPUT. Local. */
sp_status sp_statement_check_total(const sp_formula *total);

/* True if a solution is given for some elements. Local. */
bool sp_statement_has_solution(const sp_statement *statement);
