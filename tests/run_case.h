/* Run a case that is made of overrides alone ("mesh.elements=2 2 2", ...), silently and without
 * files. */
#ifndef SP_TESTS_RUN_CASE_H
#define SP_TESTS_RUN_CASE_H

#include "solver/case.h"

enum { RUN_CASE_OVERRIDES = 32 };

/* The overrides are `common`, then `own`; both end with NULL and may be NULL. Later ones of the
 * same key win, so `own` may set output.log and output.field. Collective over `comm`. */
static inline sp_status run_case(MPI_Comm comm, const char *const *common, const char *const *own,
                                 sp_results *results) {
  const char *overrides[RUN_CASE_OVERRIDES] = {
      "output.log=", "output.field=", "backend.device=host"};
  int count = 3;
  for (; common && *common && count < RUN_CASE_OVERRIDES; common++) overrides[count++] = *common;
  for (; own && *own && count < RUN_CASE_OVERRIDES; own++) overrides[count++] = *own;
  sp_config *config;
  *results = (sp_results){0};
  SP_TRY(sp_config_read(comm, NULL, count, overrides, &config));
  sp_terminal terminal = sp_terminal_open(comm, true);
  const sp_status status = sp_case_run(comm, config, &terminal, results);
  sp_config_destroy(&config);
  return status;
}

#endif
