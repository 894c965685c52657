/* Results and balance of a case, from its run log. */
#pragma once

#include "tests/folders.h"
#include "tests/log_table.h"
#include "tests/run_case.h"

enum { ROWS = 24 };

typedef struct result_row {
  double value, size, place[3];
} result_row;

/* Contents of a run log; equal on all ranks of the communicator. */
typedef struct logged {
  int result_count, term_count; /* -1 without the table */
  result_row results[ROWS];
  double terms[ROWS]; /* the last one is the imbalance */
  sp_error_norms norms;
} logged;

static inline void read_log(const char *path, logged *out) {
  static const char *const of_result[] = {"value", "size", "x", "y", "z"};
  static const char *const of_term[] = {"value"};
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(file >= 0, "cannot open %s", path);
  if (file < 0) return;
  out->result_count = log_table(file, "results", 5, of_result, ROWS, &out->results[0].value);
  out->term_count = log_table(file, "balance", 1, of_term, ROWS, out->terms);
  H5Fclose(file);
}

/* Run a case on `comm` and read its log. */
static inline logged run(MPI_Comm comm, const char *const *common, const char *const *own) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  const char *path = comm == MPI_COMM_WORLD ? "world.h5" : "self.h5";
  const char *overrides[RUN_CASE_OVERRIDES + 1] = {test_text("output.log=%s", path)};
  run_case_append(own, 1, overrides);
  sp_results results;
  const sp_status status = run_case(comm, common, overrides, &results);
  CHECK(!status, "%s %s: %s", common[0], own && own[0] ? own[0] : "", sp_error_message());
  logged out = {.result_count = -1, .term_count = -1, .norms = results.norms};
  if (rank == 0 && !status) read_log(path, &out);
  MPI_Bcast(&out, sizeof out, MPI_BYTE, 0, comm);
  return out;
}
