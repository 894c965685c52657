/* Results of a solution besides the error norms: probes, the balance of fluxes, and the quantities
 * of [result]. */
#pragma once

#include "operators/operator.h"
#include "solver/problem/balance.h"
#include "solver/problem/heat.h"
#include "solver/problem/probe.h"
#include "solver/problem/quantities.h"
#include "solver/run/report.h"

typedef struct sp_postprocess {
  const sp_config *config; /* borrowed, as is the mesh */
  const sp_mesh *mesh;
  sp_probes *probes;
  sp_quantities *quantities; /* created by sp_postprocess_prepare */
  sp_heat *heat;             /* likewise; [quantities->material_count], NULL for mass */
  sp_balance balance; /* likewise; the caller fills sums and removed, and calls sp_balance_keep */
} sp_postprocess;

/* Find the probes; add the time to `profile` if there are any. `config` and `mesh` must outlive
 * *out, which the caller destroys, also after an error. Errors: those of sp_probes_create;
 * SP_ERR_SYSTEM. Collective. */
sp_status sp_postprocess_create(const sp_config *config, const sp_mesh *mesh, sp_profile *profile,
                                sp_postprocess **out);

/* NULL-safe; sets *postprocess to NULL. Local. */
void sp_postprocess_destroy(sp_postprocess **postprocess);

/* Find the groups of [result] and create the balance, before the load vector is computed. Errors:
 * those of sp_quantities_create and sp_balance_create. Collective. */
sp_status sp_postprocess_prepare(sp_postprocess *postprocess, const sp_problem *problem);

/* Data of a completed solve. */
typedef struct sp_solved {
  const sp_problem *problem;
  sp_operator *op;
  const double *solution; /* L-vector on the host, with Dirichlet values */
  double *host[2];        /* scratch, [local DOFs] */
  sp_vector *scratch[2];  /* L-vectors */
} sp_solved;

/* Evaluate probes, balance, quantities and the heat of materials; add the time to `profile`.
 * Errors: those of the four. Collective. */
sp_status sp_postprocess_evaluate(sp_postprocess *postprocess, const sp_solved *solved,
                                  sp_terminal *terminal, sp_profile *profile);

/* Print their tables on the terminal and write them to the run log. Local. */
void sp_postprocess_report(const sp_postprocess *postprocess, const sp_problem *problem,
                           sp_report *report);
