/* Run a case given by overrides only ("mesh.elements=2 2 2", ...), silently and without files. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "solver/run/run.h"
#include "tests/check.h"
#include "tests/device.h"

enum { RUN_CASE_OVERRIDES = 32 };

/* The operators of the screened Poisson equation. */
static const char *const KINDS[] = {"discretization.operator=bp3.5",
                                    "discretization.operator=bp3.0"};

static const char *run_case_device = "backend.device=host";

/* Begin the test, whose first argument is the device (tests/device.h). Collective over
 * MPI_COMM_WORLD. */
static inline void run_case_begin(int *argc, char ***argv) {
  sp_platform platform;
  test_begin(argc, argv);
  if (!device_is_cuda(*argc, *argv)) return;
  run_case_device = "backend.device=cuda";
  device_open(*argc, *argv, &platform);
  sp_platform_close(&platform);
}

/* Append the settings of a list that ends with NULL and may be NULL, each of whose texts is one
 * setting or several, "mesh.elements=2 2 2; problem.lambda=1; ". Returns the new count. */
static inline int run_case_append(const char *const *list, int count, const char **overrides) {
  for (; list && *list; list++)
    for (char *next, *text = (char *)test_text("%s", *list); text && *text; text = next) {
      next = strstr(text, "; ");
      if (next) {
        *next = '\0';
        next += 2;
      }
      CHECK(count < RUN_CASE_OVERRIDES, "more than %d overrides", RUN_CASE_OVERRIDES);
      if (count < RUN_CASE_OVERRIDES) overrides[count++] = text;
    }
  return count;
}

/* The overrides are `common`, then `own`. Later ones of the same key win, so `own` may set
 * output.log and output.field. Collective over `comm`. */
static inline sp_status run_case(MPI_Comm comm, const char *const *common, const char *const *own,
                                 sp_results *results) {
  /* All ranks have elements, also on a machine with one GPU. */
  const char *threads = getenv("SP_TEST_THREADS");
  const char *overrides[RUN_CASE_OVERRIDES] = {
      "output.log=", "output.field=", run_case_device, "backend.share=yes",
      test_text("backend.threads=%s", threads ? threads : "")};
  const int count = run_case_append(own, run_case_append(common, 5, overrides), overrides);
  sp_config *config;
  *results = (sp_results){0};
  SP_TRY(sp_config_read(comm, NULL, count, overrides, &config));
  sp_terminal terminal = sp_terminal_open(comm, true);
  const sp_profile profile = sp_profile_from_now();
  sp_workers workers;
  sp_status status = sp_workers_open(comm, &config->backend, &workers);
  if (!status) status = sp_run(&workers, config, &profile, &terminal, results);
  sp_workers_close(&workers);
  sp_config_destroy(&config);
  return status;
}

/* Run a case that must end well. Collective over MPI_COMM_WORLD. */
static inline sp_results run_good(const char *const *common, const char *const *own) {
  sp_results results;
  const sp_status status = run_case(MPI_COMM_WORLD, common, own, &results);
  CHECK(!status, "%s; %s: %s", common && *common ? *common : "", own && *own ? *own : "",
        sp_error_message());
  return results;
}

/* Check that a case is refused with all of `parts` in the message. Collective over MPI_COMM_WORLD.
 */
static inline void run_case_refused(const char *const *common, const char *const *own,
                                    const char *const *parts) {
  sp_results results;
  check_refusal(own[0], run_case(MPI_COMM_WORLD, common, own, &results), parts);
}
