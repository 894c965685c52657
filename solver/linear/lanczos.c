#include "solver/linear/lanczos.h"

#include <float.h>
#include <math.h>

static const double SAFETY = 1.1;

/* Count the eigenvalues below x by the signs of Sturm's sequence. */
static int count_below(int n, const double *diagonal, const double *off_diagonal, double x) {
  int count = 0;
  double q = 1;
  for (int i = 0; i < n; i++) {
    const double off = i > 0 ? off_diagonal[i - 1] : 0;
    q = diagonal[i] - x - (i > 0 ? off * off / q : 0);
    if (q == 0) q = DBL_MIN;
    count += q < 0;
  }
  return count;
}

double sp_tridiagonal_largest(int n, const double *diagonal, const double *off_diagonal) {
  double low = diagonal[0], high = -INFINITY;
  for (int i = 0; i < n; i++) {
    const double left = i > 0 ? fabs(off_diagonal[i - 1]) : 0;
    const double right = i + 1 < n ? fabs(off_diagonal[i]) : 0;
    low = fmin(low, diagonal[i] - left - right);
    high = fmax(high, diagonal[i] + left + right);
  }
  for (int step = 0; step < 100; step++) {
    const double middle = (low + high) / 2;
    if (count_below(n, diagonal, off_diagonal, middle) < n)
      low = middle;
    else
      high = middle;
  }
  return high;
}

double sp_lanczos_beta(const sp_lanczos *l, double rz) {
  return l->steps > 0 ? rz / l->rz : 0;
}

double sp_lanczos_add(sp_lanczos *l, double rz, double p_ap) {
  const double alpha = rz / p_ap, beta = sp_lanczos_beta(l, rz);
  l->diagonal[l->steps] = 1 / alpha + (l->steps > 0 ? beta / l->alpha : 0);
  if (l->steps > 0) l->off_diagonal[l->steps - 1] = sqrt(beta) / l->alpha;
  l->steps++;
  l->rz = rz;
  l->alpha = alpha;
  return alpha;
}

double sp_lanczos_bound(const sp_lanczos *l) {
  return SAFETY *
         (l->steps > 0 ? sp_tridiagonal_largest(l->steps, l->diagonal, l->off_diagonal) : 1);
}
