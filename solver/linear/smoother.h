/* Smoothers of multigrid: S, an approximate inverse of A, symmetric and positive definite on the
 * unconstrained DOFs, for Chebyshev's iteration (chebyshev.h). A new kind is a constant in
 * options.h, and a word, a row and its functions in smoother.c. */
#pragma once

#include "operators/schwarz/schwarz.h"
#include "operators/system.h"
#include "solver/linear/options.h"

/* With all elements stretched by 3, Jacobi takes twice the iterations of Schwarz, each half as
 * long; with 3 % of them by 2 to 5, as in divided tetrahedra, one to three more (README.md). */
#define SP_SMOOTHER_STRETCH 6.0
#define SP_SMOOTHER_SHARE 0.125

/* S of an operator. Functions return this rank's failure, for the next reduction, and are
 * Collective among neighbours, `correct` and `destroy` among all ranks. */
typedef struct sp_smoother sp_smoother;
struct sp_smoother {
  sp_operator *op;   /* borrowed */
  sp_vector product; /* L-vector of its precision; scratch of sp_operator_apply_step */

  /* z = S r. */
  sp_status (*apply)(sp_smoother *self, const sp_vector *r, sp_vector *z);

  /* Take a step of Chebyshev's iteration from S b, or with y from S r, r = b - A y, and leave r in
   * step->r. All members of `step` except s, t and q are set. step->r may be b. */
  sp_status (*step)(sp_smoother *self, const sp_vector *b, const sp_vector *y, sp_smoothing *step);

  /* Invert A on the marked DOFs, marks[local DOFs] > 0, of which S corrects some modes too much
   * or not at all (sp_schwarz_correct). A later call replaces these DOFs. NULL: S cannot.
   * Collective. */
  sp_status (*correct)(sp_smoother *self, const double *marks);

  void (*destroy)(sp_smoother *self); /* Free all members except op and product. Collective. */
  sp_column_counts columns;           /* of its blocks, for a description; zeros without */
};

typedef struct sp_smoother_type {
  const char *title; /* in descriptions: "Chebyshev-Schwarz" */
  int least_order;   /* levels of a lower order take the first row */
  int low_order;     /* up to it degree 2 takes less time than degree 3 (solver/README.md) */
  int sums;          /* over the DOFs of neighbours, per application */
  bool keeps_blocks; /* it stores about as much as Schwarz, not a vector (run/dry_run.c) */
  bool keeps_bars;   /* it smooths along bars, which may be a level (operators/schwarz/bars.h) */

  /* Return the reason why S does not suit an operator, "needs ..., but ..."; NULL if it does.
   * Local. No function: it suits all. */
  const char *(*misfit)(sp_operator_kind kind);

  /* Create S for `op`, which was built from `setup`, a copy of the system's with another precision;
   * inverse[local DOFs] is its inverse diagonal. They must outlive calls of `correct`. Errors:
   * SP_ERR_SYSTEM. Collective. */
  sp_status (*create)(sp_operator *op, const sp_operator_setup *setup, sp_system *system,
                      const double *inverse, sp_smoother **out);
} sp_smoother_type;

/* Return the row of a kind, which is not auto, for levels of an order. Local. */
const sp_smoother_type *sp_smoother_type_of(sp_smoother_kind kind, int order);

/* Return the kind for an operator on a mesh if the case has auto. Local. */
sp_smoother_kind sp_smoother_choose(sp_operator_kind kind, const sp_mesh_shape *shape,
                                    bool is_tensor);

/* Check that the kind, which may be auto, suits the operator. Errors: SP_ERR_INPUT. Local. */
sp_status sp_smoother_check(sp_smoother_kind smoother, sp_operator_kind kind);

/* NULL-safe; sets *smoother to NULL. Collective. */
void sp_smoother_destroy(sp_smoother **smoother);
