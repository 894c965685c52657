/* Generalized eigenvectors of one-dimensional GLL matrices on intervals, for fast diagonalization.
 */
#pragma once

#include "io/error.h"

/* K = 2 / length K^, M = length / 2 M^ with the matrices of [-1, 1], plus terms at the two ends. No
 * padding, so that memcmp can compare two of them. */
typedef struct sp_interval {
  double length;
  double stiffness[2], mass[2]; /* added to the end entries of K and M */
  long fixed[2];                /* 1 if the end's node is eliminated (Dirichlet) */
} sp_interval;

/* Queue of intervals of one order; several are solved together. */
typedef struct sp_intervals sp_intervals;

/* For order 1 .. SP_MAX_ORDER. The caller destroys *out. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_intervals_create(int order, sp_intervals **out);

/* NULL-safe; sets *intervals to NULL. Local. */
void sp_intervals_destroy(sp_intervals **intervals);

/* The matrix K^[n][n]. Local. */
const double *sp_intervals_stiffness(const sp_intervals *intervals);

/* Find basis[n][n], whose columns v satisfy V^T M V = 1 and V^T K V = diag(values[n]). The row and
 * column of an eliminated node are zero, its value is any positive number. Results are complete
 * after sp_intervals_finish. Local. */
void sp_intervals_solve(sp_intervals *intervals, const sp_interval *interval, double *basis,
                        double *values);
void sp_intervals_finish(sp_intervals *intervals);
