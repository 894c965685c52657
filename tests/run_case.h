/* Run a case that is made of overrides alone ("mesh.elements=2 2 2", ...), silently and without
 * files. */
#ifndef SP_TESTS_RUN_CASE_H
#define SP_TESTS_RUN_CASE_H

#include <stdio.h>
#include <string.h>

#include "operators/platform.h"
#include "solver/run/case.h"

enum { RUN_CASE_OVERRIDES = 32, RUN_CASE_SKIPPED = 77 }; /* CTest's SKIP_RETURN_CODE */

static const char *run_case_device = "backend.device=host";

/* To be called after MPI_Init: the test's first argument names the backend, host without one. False
 * if this machine has no such device. Collective over MPI_COMM_WORLD. */
static inline bool run_case_begin(int argc, char **argv) {
  if (argc < 2 || strcmp(argv[1], "cuda") != 0) return true;
  sp_platform platform;
  run_case_device = "backend.device=cuda";
  const sp_status status =
      sp_platform_open(MPI_COMM_WORLD, SP_DEVICE_CUDA, SP_TRANSPORT_AUTO, &platform);
  if (status)
    printf("%s\n", sp_error_message());
  else
    sp_platform_close(&platform);
  return status == SP_OK;
}

/* The overrides are `common`, then `own`; both end with NULL and may be NULL. Later ones of the
 * same key win, so `own` may set output.log and output.field. Collective over `comm`. */
static inline sp_status run_case(MPI_Comm comm, const char *const *common, const char *const *own,
                                 sp_results *results) {
  const char *overrides[RUN_CASE_OVERRIDES] = {"output.log=", "output.field=", run_case_device};
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
