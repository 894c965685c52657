/* For the tests of solver/config/config.h, in a folder: case files, and reading them. */
#pragma once

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "solver/config/config.h"
#include "tests/check.h"
#include "tests/folders.h"

/* Begins main. */
static inline void begin_cases(int *argc, char ***argv) {
  test_begin(argc, argv);
  enter_folder();
  CHECK(world_rank > 0 || mkdir("sub", 0700) == 0, "no folder");
}

/* Read a case, or none; `overrides` ends with NULL and may be NULL. */
static inline sp_status read_with(const char *text, const char *const *overrides,
                                  sp_config **config) {
  int count = 0;
  while (overrides && overrides[count]) count++;
  if (text) write_text("case.ini", text);
  return sp_config_read(MPI_COMM_WORLD, text ? "case.ini" : NULL, count, overrides, config);
}

/* The configuration of a case that must be valid; NULL, with a failed check, if it is not. */
static inline sp_config *read_case(const char *text, const char *const *overrides) {
  sp_config *config;
  CHECK_OK(read_with(text, overrides, &config));
  return config;
}

static inline void check_error(const char *text, const char *const *overrides,
                               const char *message) {
  sp_config *config = (sp_config *)1;
  const sp_status status = read_with(text, overrides, &config);
  CHECK(status == SP_ERR_INPUT, "status %d where '%s' was expected", (int)status, message);
  CHECK(!config, "a configuration after a failure");
  if (status == SP_OK) sp_config_destroy(&config);
  CHECK_TEXT(sp_error_message(), message);
}

static inline char *format(const sp_config *config) {
  char *text = NULL;
  CHECK(sp_config_format(config, &text) == SP_OK && text, "%s", sp_error_message());
  return text;
}

/* Write, read from another folder, write again; check also that all ranks hold the same as rank 0.
 */
static inline void check_round_trip(const sp_config *config) {
  char *first = format(config);
  if (!first) return;
  int length = (int)strlen(first);
  MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
  char *root = (char *)test_array((size_t)length, 1);
  if (world_rank == 0) memcpy(root, first, (size_t)length);
  MPI_Bcast(root, length, MPI_CHAR, 0, MPI_COMM_WORLD);
  CHECK_TEXT(first, root);
  write_text("sub/again.ini", first);
  sp_config *again = NULL;
  CHECK(sp_config_read(MPI_COMM_WORLD, "sub/again.ini", 0, NULL, &again) == SP_OK, "%s of\n%s",
        sp_error_message(), first);
  if (again) {
    char *second = format(again);
    CHECK_TEXT(second, first);
    free(second);
    CHECK(!sp_config_where(again, "problem", "lambda") ==
                  !sp_config_where(config, "problem", "lambda") &&
              !sp_config_where(again, "problem", "kappa") ==
                  !sp_config_where(config, "problem", "kappa") &&
              again->mesh.shape == config->mesh.shape,
          "what is given, of\n%s", first);
    CHECK(memcmp(again->mesh.box.lower, config->mesh.box.lower, sizeof again->mesh.box.lower) == 0,
          "lower");
    CHECK(again->solver.tolerance == config->solver.tolerance, "tolerance");
  }
  sp_config_destroy(&again);
  free(first);
}

/* Keys of most sections, written in every permitted way; keys that exclude each other are tested
 * separately. */
static const char every_key[] =
    "\xEF\xBB\xBF# a case\r\n[mesh]\r\nshape=box ; comment\r\n  elements =  2\t3   4  # comment\r\n"
    "lower = -1 -.5 +0.1\r\nupper = 1e0 2.5 3\r\nmap = kershaw\r\nepsilon = 0.25\r\nrefine = 10\r\n"
    "[ discretization ] # comment\norder = 15\noperator = bp3.0\ngeometry = trilinear\n\n"
    "[problem]\nlambda = 2*pi\nkappa = 1 + x^2\nsolution = x == 1 ? sin(pi*x) : y*z\nforcing = z\n"
    "[solver]\ntolerance = 1e-3\nmax_iterations = 2147483647\npreconditioner = jacobi\n"
    "[boundary]\nthe left.wall = neumann  x + 1\ndefault = neumann\n1 = dirichlet\n"
    "2 = robin max(x, (y))*2 , min(z, 1)\n3 = robin 1\n4 = periodic the other one\n"
    "[backend]\ndevice = host\nshare = yes\nthreads = 3\n"
    "[output]\nlog = a b#c.h5\nfield =\nflux = yes\naccuracy = yes\n[mesh]";

/* Ends main. */
static inline int end_cases(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  static const char *const files[] = {"sub/case.ini", "sub/again.ini"};
  for (int f = 0; f < 2 && world_rank == 0; f++) (void)unlink(files[f]);
  CHECK(world_rank > 0 || rmdir("sub") == 0, "a file is left");
  leave_folder(TEXTS("case.ini", "unset.ini"));
  return check_end();
}
