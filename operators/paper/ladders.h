/* Interfaces of the ladders to the table (table.c), and of matrices.cu to the ladders. To add a
 * rung, change only the file of its ladder: a kernel, and a row at the end. */
#pragma once

#include "mesh/reference.h"
#include "operators/paper/paper.h"

/* A kernel at the order that its file was compiled for. */
typedef struct sp_paper_rung {
  const char *adds;
  size_t (*workspace)(int order, int elements); /* bytes, for any order; NULL: none */
  sp_paper_instance instance;
} sp_paper_rung;

/* One ladder at one order: `sp_paper_<problem>_<threads>_<order>`. */
typedef struct sp_paper_ladder {
  sp_operator_kind problem;
  int threads; /* 2 or 3 */
  int order;
  int count;
  const sp_paper_rung *rungs; /* [count], numbers 1 .. count */
} sp_paper_ladder;

#ifdef __cplusplus
extern "C" {
#endif
/* *out = the matrices of an order, in device memory, which sp_paper_prepare sends there. */
sp_status sp_paper_reference_get(int order, sp_reference **out);
#ifdef __cplusplus
}
#endif
