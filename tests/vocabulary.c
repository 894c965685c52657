/* The words of a case and the enums agree: the index of a word is the constant of the enum. */
#include "solver/run/vocabulary.h"

#include <string.h>

#include "mesh/box.h"
#include "operators/kinds.h"
#include "operators/platform.h"
#include "solver/linear/coarse.h"
#include "solver/linear/multigrid.h"
#include "solver/linear/preconditioner.h"
#include "tests/check.h"

typedef struct word {
  const char *text;
  int constant;
} word;

/* `list` has these words and no others. */
static void check_list(const char *const *list, int count, const word *words) {
  int length = 0;
  while (list[length]) length++;
  CHECK(length == count, "%d words from '%s', expected %d", length, list[0], count);
  for (int w = 0; w < count && length == count; w++)
    CHECK(strcmp(list[words[w].constant], words[w].text) == 0, "'%s' at %d, expected '%s'",
          list[words[w].constant], words[w].constant, words[w].text);
}

#define CHECK_LIST(list, ...)                                                                      \
  do {                                                                                             \
    const word words[] = {__VA_ARGS__};                                                            \
    check_list(list, sizeof words / sizeof *words, words);                                         \
  } while (0)

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const sp_vocabulary *vocabulary = sp_case_vocabulary();
  CHECK_LIST(vocabulary->maps, {"none", SP_MAP_NONE}, {"sine", SP_MAP_SINE},
             {"kershaw", SP_MAP_KERSHAW});
  CHECK_LIST(vocabulary->steps, {"quintic", SP_STEP_QUINTIC}, {"linear", SP_STEP_LINEAR});
  CHECK_LIST(vocabulary->geometries, {"auto", SP_GEOMETRY_AUTO}, {"stored", SP_GEOMETRY_STORED},
             {"trilinear", SP_GEOMETRY_TRILINEAR});
  CHECK_LIST(vocabulary->preconditioners, {"auto", SP_PRECONDITIONER_AUTO},
             {"none", SP_PRECONDITIONER_NONE}, {"jacobi", SP_PRECONDITIONER_JACOBI},
             {"multigrid", SP_PRECONDITIONER_MULTIGRID});
  CHECK_LIST(vocabulary->smoothers, {"auto", SP_SMOOTHER_AUTO}, {"jacobi", SP_SMOOTHER_JACOBI},
             {"schwarz", SP_SMOOTHER_SCHWARZ});
  CHECK_LIST(vocabulary->precisions, {"auto", SP_CYCLE_AUTO}, {"single", SP_CYCLE_SINGLE},
             {"double", SP_CYCLE_DOUBLE});
  CHECK_LIST(vocabulary->coarse_solvers, {"auto", SP_COARSE_AUTO}, {"amg", SP_COARSE_AMG},
             {"direct", SP_COARSE_DIRECT}, {"chebyshev", SP_COARSE_CHEBYSHEV});
  CHECK_LIST(vocabulary->devices, {"auto", SP_DEVICE_AUTO}, {"host", SP_DEVICE_HOST},
             {"cuda", SP_DEVICE_CUDA});
  CHECK_LIST(vocabulary->transports, {"auto", SP_TRANSPORT_AUTO}, {"peer", SP_TRANSPORT_PEER},
             {"cuda-aware", SP_TRANSPORT_CUDA_AWARE}, {"nccl", SP_TRANSPORT_NCCL},
             {"staged", SP_TRANSPORT_STAGED});
  CHECK_LIST(vocabulary->shares, {"no", SP_SHARE_NO}, {"yes", SP_SHARE_YES});

  /* Operators are in a table of their own. */
  for (int k = 0; k < SP_OPERATORS; k++)
    CHECK(vocabulary->operators[k] == sp_operator_rows[k].name, "operator %d", k);
  CHECK(!vocabulary->operators[SP_OPERATORS], "more words than operators");
  CHECK(strcmp(sp_operator_name(SP_MASS), "mass") == 0 &&
            strcmp(sp_operator_name(SP_BP35), "bp3.5") == 0 &&
            strcmp(sp_operator_name(SP_BP30), "bp3.0") == 0,
        "names of operators");

  /* The defaults of the keys are among these words. */
  sp_config *config;
  CHECK(sp_config_read(MPI_COMM_WORLD, vocabulary, NULL, 0, NULL, &config) == SP_OK, "%s",
        sp_error_message());
  CHECK(config && config->discretization.operator_kind == SP_BP35, "the default operator");
  sp_config_destroy(&config);

  const int result = check_end(MPI_COMM_WORLD);
  MPI_Finalize();
  return result;
}
