/* The kinds of results, a row each. No other code tests the kind of a result: config reads a line,
 * quantities.c finds groups, quantities_evaluate.c adds up, answers.c finds scales, and the report
 * prints, by the members of its row. A new kind is a row in result_types.c, with its functions. */
#pragma once

#include <stdbool.h>

#include "solver/results/units.h"

struct sp_quantities;
struct sp_quantity;
struct sp_balance;

/* The parts of a pair: averages over both groups, and the flux that it may be divided by. */
enum { SP_PAIR_PARTS = 3 };

typedef struct sp_result_type {
  const char *name;
  const char *usage;  /* "flux over GROUP" */
  bool takes_formula; /* `of FORMULA`, v; else v = u */
  bool of_results;    /* the line is a formula of results; it has no group */
  bool through;       /* the flux through its group, of surfaces (fluxes.h) */
  bool of_pair;       /* over two groups, from the parts */
  int sign;           /* of an extremum: 1, the least v, or -1, the largest; else 0 */

  /* The unit of the value for v = u: this, times volume or area to the power of_size. */
  sp_dimension unit;
  double of_size;

  /* The summand at a point; NULL: v. */
  double (*summand)(double v);

  /* The value from the integrals of the summand and of 1; NULL: the first. For a sum of
   * summand(v) * size, v the largest |u|, it is the scale of a result of u. */
  double (*value)(double sum, double size);

  /* The value from the results before it or, also of `size`, from its parts; NULL: none. */
  double (*combine)(const struct sp_quantities *, const struct sp_balance *, struct sp_quantity *);
} sp_result_type;

/* Ends with a row without a name. */
extern const sp_result_type sp_result_types[];

/* Return the kind that the first word of a text names; NULL if there is none. Local. */
const sp_result_type *sp_result_type_of(const char *text);
