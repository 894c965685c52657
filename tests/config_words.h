/* A vocabulary for the tests of solver/case/config.h, which know no mesh and no operator: the words
 * that the defaults of keys need, and some more. The constants are their indices. */
#ifndef SP_TESTS_CONFIG_WORDS_H
#define SP_TESTS_CONFIG_WORDS_H

#include "solver/case/config.h"

enum { MAP_NONE, MAP_SINE, MAP_KERSHAW };
enum { STEP_QUINTIC, STEP_LINEAR };
enum { OPERATOR_MASS, OPERATOR_BP35, OPERATOR_BP30 };
enum { GEOMETRY_AUTO, GEOMETRY_STORED, GEOMETRY_TRILINEAR };
enum { PRECONDITIONER_AUTO, PRECONDITIONER_NONE, PRECONDITIONER_JACOBI, PRECONDITIONER_MULTIGRID };
enum { SMOOTHER_AUTO, SMOOTHER_JACOBI, SMOOTHER_SCHWARZ };
enum { PRECISION_AUTO, PRECISION_SINGLE, PRECISION_DOUBLE };
enum { COARSE_AUTO, COARSE_AMG, COARSE_DIRECT, COARSE_CHEBYSHEV };
enum { DEVICE_AUTO, DEVICE_HOST, DEVICE_CUDA };
enum { TRANSPORT_AUTO, TRANSPORT_PEER, TRANSPORT_CUDA_AWARE, TRANSPORT_NCCL, TRANSPORT_STAGED };
enum { SHARE_NO, SHARE_YES };

static const sp_vocabulary config_words = {
    .maps = (const char *const[]){"none", "sine", "kershaw", NULL},
    .steps = (const char *const[]){"quintic", "linear", NULL},
    .operators = (const char *const[]){"mass", "bp3.5", "bp3.0", NULL},
    .geometries = (const char *const[]){"auto", "stored", "trilinear", NULL},
    .preconditioners = (const char *const[]){"auto", "none", "jacobi", "multigrid", NULL},
    .smoothers = (const char *const[]){"auto", "jacobi", "schwarz", NULL},
    .precisions = (const char *const[]){"auto", "single", "double", NULL},
    .coarse_solvers = (const char *const[]){"auto", "amg", "direct", "chebyshev", NULL},
    .devices = (const char *const[]){"auto", "host", "cuda", NULL},
    .transports = (const char *const[]){"auto", "peer", "cuda-aware", "nccl", "staged", NULL},
    .shares = (const char *const[]){"no", "yes", NULL}};

#endif
