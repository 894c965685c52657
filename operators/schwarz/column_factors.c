#include "operators/schwarz/column_factors.h"

#include <stddef.h>

/* One element between its ends: sums of the two rows of S, and the coupling -S_01. */
typedef struct link {
  double row[2], coupling;
} link;

/* One lateral mode of a column. */
typedef struct mode {
  const sp_column_modes *shared;
  const sp_column *column;
  double mu[2];
} mode;

static double absorption(const mode *m, int k) {
  const sp_column *c = m->column;
  return m->mu[0] * c->lateral[0][k] + m->mu[1] * c->lateral[1][k] + c->reaction[k];
}

static link condense_element(const mode *m, int k) {
  const sp_column_modes *shared = m->shared;
  const double kappa = m->column->kappa[k], s = absorption(m, k);
  const double *low = shared->couplings, *high = low + shared->n;
  double row[2] = {shared->end_weight, shared->end_weight}, across = 0;
  for (int j = 1; j < shared->n - 1; j++) {
    const double theta = shared->theta[j], factor = kappa / (theta * (kappa * theta + s));
    row[0] += low[j] * (low[j] + high[j]) * factor;
    row[1] += high[j] * (low[j] + high[j]) * factor;
    across += low[j] * high[j] * factor;
  }
  return (link){{s * row[0], s * row[1]}, kappa / 2 - s * across};
}

/* The conductance of the whole column. */
static double conductance(const sp_column *c) {
  double resistance = 0;
  for (int k = 0; k < c->length; k++) resistance += 2 / c->kappa[k];
  return 1 / resistance;
}

/* Replace the last pivot of a singular mode: constants in a column without neighbours. */
static double lift_pivot(const sp_column *c, double pivot) {
  const double own = conductance(c);
  return pivot > 1e-13 * own ? pivot : 1e-3 * own;
}

static void factorize_open(const mode *m, size_t stride, double *inverse, double *ratio) {
  const sp_column *c = m->column;
  double row = 0; /* sum of the row of interface k after elimination */
  for (int k = 0; k <= c->length; k++) {
    const bool first = k == 0, last = k == c->length;
    const link up = last ? (link){{0, 0}, 0} : condense_element(m, k);
    row += up.row[0];
    for (int end = 0; end < 2; end++)
      if (end == 0 ? first : last) {
        const int element = last ? k - 1 : k;
        row += c->kappa[element] * c->stiffness[end] + absorption(m, element) * c->mass[end];
      }
    const bool fixed = (first && c->fixed[0]) || (last && c->fixed[1]);
    const double pivot = last && !fixed ? lift_pivot(c, row) : row + up.coupling;
    inverse[(size_t)k * stride] = fixed ? 0 : 1 / pivot;
    ratio[(size_t)k * stride] = fixed ? 0 : -up.coupling / pivot;
    row = up.row[1] + (fixed ? up.coupling : up.coupling * (row / pivot));
  }
}

/* ring = 1 - y, where y solves the open part with the row sums of the closed matrix. */
static void factorize_closed(const mode *m, size_t stride, const sp_column_factors *out) {
  const int length = m->column->length;
  double *inverse = out->inverse, *ratio = out->ratio, *ring = out->ring;
  const link bottom = condense_element(m, 0);
  link below = bottom;
  double row = below.coupling, right = 0;
  for (int k = 1; k < length; k++) {
    const size_t at = (size_t)k * stride;
    const link up = condense_element(m, k);
    const double sum = below.row[1] + up.row[0];
    row += sum;
    right += sum;
    inverse[at] = 1 / (row + up.coupling);
    ratio[at] = -up.coupling * inverse[at];
    ring[at] = right;
    row = up.coupling * (row * inverse[at]);
    right *= -ratio[at];
    below = up;
  }
  for (int k = length - 1; k > 0; k--) {
    const size_t at = (size_t)k * stride;
    ring[at] *= inverse[at];
    if (k < length - 1) ring[at] -= ratio[at] * ring[at + stride];
  }
  const size_t last = (size_t)(length - 1) * stride;
  const double pivot =
      bottom.row[0] + below.row[1] + bottom.coupling * ring[stride] + below.coupling * ring[last];
  inverse[0] = 1 / lift_pivot(m->column, pivot);
  /* The coupling of a single element's end with itself cancels. */
  ratio[0] = length > 1 ? -bottom.coupling : 0;
  ratio[last + stride] = length > 1 ? -below.coupling : 0;
  for (int k = 1; k < length; k++) ring[(size_t)k * stride] = 1 - ring[(size_t)k * stride];
}

void sp_column_factorize(const sp_column_modes *modes, const sp_column *column,
                         const sp_column_factors *out) {
  const int n = modes->n;
  const size_t stride = (size_t)(n * n);
  for (int b = 0; b < n; b++)
    for (int a = 0; a < n; a++) {
      const size_t at = (size_t)(b * n + a);
      const mode m = {modes, column, {column->eigenvalues[0][a], column->eigenvalues[1][b]}};
      if (column->closed)
        factorize_closed(&m, stride,
                         &(sp_column_factors){out->inverse + at, out->ratio + at, out->ring + at});
      else
        factorize_open(&m, stride, out->inverse + at, out->ratio + at);
    }
}
