/* The largest eigenvalue of S A by Lanczos' method: preconditioned conjugate gradients with S,
 * whose scalars make a symmetric tridiagonal matrix. The caller iterates:
 *
 *     beta = sp_lanczos_beta(l, r.z),  p = z + beta p,  alpha = sp_lanczos_add(l, r.z, p.Ap),
 *     r -= alpha A p,  z = S r,        at most SP_LANCZOS_STEPS times
 *
 * All functions are Local. */
#pragma once

enum { SP_LANCZOS_STEPS = 12 };

/* All zero before the first step. */
typedef struct sp_lanczos {
  int steps;
  double diagonal[SP_LANCZOS_STEPS], off_diagonal[SP_LANCZOS_STEPS];
  double rz, alpha; /* of the last step */
} sp_lanczos;

double sp_lanczos_beta(const sp_lanczos *lanczos, double rz);
double sp_lanczos_add(sp_lanczos *lanczos, double rz, double p_ap);

/* Return 1.1 times the largest eigenvalue found; 1.1 without steps. */
double sp_lanczos_bound(const sp_lanczos *lanczos);

/* Return the largest eigenvalue of the symmetric tridiagonal matrix with diagonal[n] and
 * off_diagonal[n - 1]. */
double sp_tridiagonal_largest(int n, const double *diagonal, const double *off_diagonal);
