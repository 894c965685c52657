/* For the tests of solver/case/config.h: a temporary folder, case files in it, and reading them. */
#ifndef SP_TESTS_CONFIG_CASE_H
#define SP_TESTS_CONFIG_CASE_H

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "solver/case/config.h"
#include "tests/check.h"

/* All paths are relative to a temporary folder. */
static char folder[] = "/tmp/sp_config_XXXXXX";

/* Begins main. */
static inline void enter_folder(int *argc, char ***argv) {
  test_begin(argc, argv);
  const bool made = world_rank > 0 || mkdtemp(folder);
  MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (!made || chdir(folder) != 0 || (world_rank == 0 && mkdir("sub", 0700) != 0)) {
    perror(folder);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static inline void write_bytes(const char *path, const char *bytes, size_t count) {
  FILE *stream = fopen(path, "wb");
  CHECK(stream, "cannot write %s", path);
  if (!stream) return;
  CHECK(fwrite(bytes, 1, count, stream) == count, "cannot write %s", path);
  CHECK(fclose(stream) == 0, "cannot write %s", path);
}

static inline void write_case(const char *text) {
  MPI_Barrier(MPI_COMM_WORLD); /* wait until all ranks have read the last one */
  if (world_rank == 0) write_bytes("case.ini", text, strlen(text));
}

/* Read a case, or none; `overrides` ends with NULL and may be NULL. */
static inline sp_status read_with(const char *text, const char *const *overrides,
                                  sp_config **config) {
  int count = 0;
  while (overrides && overrides[count]) count++;
  if (text) write_case(text);
  return sp_config_read(MPI_COMM_WORLD, text ? "case.ini" : NULL, count, overrides, config);
}

/* The configuration of a case that must be valid; NULL, with a failed check, if it is not. */
static inline sp_config *read_case(const char *text, const char *const *overrides) {
  sp_config *config;
  const sp_status status = read_with(text, overrides, &config);
  CHECK(status == SP_OK && config, "%s", sp_error_message());
  return config;
}

static inline void check_error(const char *text, const char *const *overrides,
                               const char *message) {
  sp_config *config = (sp_config *)1;
  const sp_status status = read_with(text, overrides, &config);
  CHECK(status == SP_ERR_INPUT, "status %d where '%s' was expected", (int)status, message);
  CHECK(!config, "a configuration after a failure");
  if (status == SP_OK) sp_config_destroy(&config);
  CHECK(strcmp(sp_error_message(), message) == 0, "'%s' instead of '%s'", sp_error_message(),
        message);
}

static inline bool same_text(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

static inline const char *or_null(const char *text) {
  return text ? text : "(null)";
}

#define CHECK_TEXT(a, b) CHECK(same_text((a), (b)), "'%s' instead of '%s'", or_null(a), or_null(b))

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
  char *root = calloc((size_t)length + 1, 1);
  CHECK(root, "no memory");
  if (!root) MPI_Abort(MPI_COMM_WORLD, 1);
  if (world_rank == 0) memcpy(root, first, (size_t)length);
  MPI_Bcast(root, length, MPI_CHAR, 0, MPI_COMM_WORLD);
  CHECK(strcmp(first, root) == 0, "rank 0 holds\n%s\nand this one\n%s", root, first);
  free(root);

  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0) write_bytes("sub/again.ini", first, strlen(first));
  sp_config *again = NULL;
  CHECK(sp_config_read(MPI_COMM_WORLD, "sub/again.ini", 0, NULL, &again) == SP_OK, "%s of\n%s",
        sp_error_message(), first);
  if (again) {
    char *second = format(again);
    CHECK(second && strcmp(first, second) == 0, "first\n%s\nthen\n%s", first, second);
    free(second);
    CHECK(again->problem.lambda_given == config->problem.lambda_given, "lambda_given");
    CHECK(again->problem.kappa_given == config->problem.kappa_given, "kappa_given");
    CHECK(!again->boundary.where == !config->boundary.where, "boundary.where");
    CHECK(again->mesh.shape == config->mesh.shape, "shape");
    CHECK(memcmp(again->mesh.lower, config->mesh.lower, sizeof again->mesh.lower) == 0, "lower");
    CHECK(again->solver.tolerance == config->solver.tolerance, "tolerance");
  }
  sp_config_destroy(&again);
  free(first);
}

/* Keys of most sections, written in every permitted way; those that exclude each other are tested
 * by themselves. */
static const char every_key[] = "\xEF\xBB\xBF# a case\r\n"
                                "[mesh]\r\n"
                                "shape=box ; comment\r\n"
                                "  elements =  2\t3   4  # comment\r\n"
                                "lower = -1 -.5 +0.1\r\n"
                                "upper = 1e0 2.5 3\r\n"
                                "map = kershaw\r\n"
                                "epsilon = 0.25\r\n"
                                "refine = 10\r\n"
                                "[ discretization ] # comment\n"
                                "order = 15\n"
                                "operator = bp3.0\n"
                                "geometry = trilinear\n"
                                "\n"
                                "[problem]\n"
                                "lambda = 2*pi\n"
                                "kappa = 1 + x^2\n"
                                "solution = x == 1 ? sin(pi*x) : y#z\n"
                                "forcing = z\n"
                                "[solver]\n"
                                "tolerance = 1e-3\n"
                                "max_iterations = 2147483647\n"
                                "preconditioner = jacobi\n"
                                "[boundary]\n"
                                "the left.wall = neumann  x + 1\n"
                                "default = neumann\n"
                                "1 = dirichlet\n"
                                "2 = robin max(x, (y))*2 , min(z, 1)\n"
                                "3 = robin 1\n"
                                "4 = periodic the other one\n"
                                "[backend]\n"
                                "device = host\n"
                                "share = yes\n"
                                "threads = 3\n"
                                "[output]\n"
                                "log = a b.h5\n"
                                "field =\n"
                                "flux = yes\n"
                                "accuracy = yes\n"
                                "[mesh]";

/* Ends main. */
static inline int leave_folder(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  static const char *const files[] = {"case.ini", "unset.ini", "sub/case.ini", "sub/again.ini"};
  for (size_t f = 0; f < sizeof files / sizeof files[0] && world_rank == 0; f++)
    (void)unlink(files[f]);
  /* Fails if a test has left another file. */
  CHECK(world_rank > 0 || (rmdir("sub") == 0 && chdir("/") == 0 && rmdir(folder) == 0),
        "cannot remove %s", folder);
  return check_end();
}

#endif
