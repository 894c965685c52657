#include "mesh/locate.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "mesh/reference.h"

/* x(r) - point and the columns dx/dr, dx/ds, dx/dt. Summing differences from the point keeps the
 * digits of an element far from the origin: the basis functions add up to 1, their slopes to 0. */
static void evaluate_map(const sp_hexes *hexes, sp_lid element, const double point[3],
                         const double reference[3], double gap[3], double columns[3][3]) {
  const int n = hexes->map_order + 1;
  const double *lattice = sp_hexes_lattice(hexes, element);
  double nodes[SP_MAX_NQ], value[3][SP_MAX_NQ], slope[3][SP_MAX_NQ];
  for (int i = 0; i < n; i++) nodes[i] = -1 + 2.0 * i / hexes->map_order;
  for (int d = 0; d < 3; d++) {
    sp_interpolation_matrix(n, nodes, 1, &reference[d], value[d]);
    sp_derivative_matrix(n, nodes, 1, &reference[d], slope[d]);
    gap[d] = 0;
    columns[0][d] = columns[1][d] = columns[2][d] = 0;
  }
  for (int k = 0; k < n; k++)
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++, lattice += 3)
        for (int d = 0; d < 3; d++) {
          const double apart = lattice[d] - point[d];
          gap[d] += value[0][i] * value[1][j] * value[2][k] * apart;
          columns[0][d] += slope[0][i] * value[1][j] * value[2][k] * apart;
          columns[1][d] += value[0][i] * slope[1][j] * value[2][k] * apart;
          columns[2][d] += value[0][i] * value[1][j] * slope[2][k] * apart;
        }
}

static double triple(const double a[3], const double b[3], const double c[3]) {
  return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
         a[2] * (b[0] * c[1] - b[1] * c[0]);
}

/* Newton's method from `reference`. Iterates are clamped near the cube, where the map is one to
 * one; false if the clamp stops them. */
static bool newton(const sp_hexes *hexes, sp_lid element, const double point[3],
                   double reference[3]) {
  static const double NEAR = 1.5, SMALL = 1e-12;
  for (int iteration = 0; iteration < 50; iteration++) {
    double gap[3], columns[3][3], largest = 0, moved = 0;
    evaluate_map(hexes, element, point, reference, gap, columns);
    const double determinant = triple(columns[0], columns[1], columns[2]);
    if (determinant == 0) return false;
    const double step[3] = {triple(gap, columns[1], columns[2]) / determinant,
                            triple(columns[0], gap, columns[2]) / determinant,
                            triple(columns[0], columns[1], gap) / determinant};
    for (int d = 0; d < 3; d++) {
      const double next = fmax(-NEAR, fmin(NEAR, reference[d] - step[d]));
      moved = fmax(moved, fabs(next - reference[d]));
      largest = fmax(largest, fabs(step[d]));
      reference[d] = next;
    }
    if (moved <= SMALL) return largest <= SMALL;
  }
  return false;
}

/* Rounding of the point and of the element's nodes, DBL_EPSILON / 2 each, in reference coordinates.
 * dr_d/dx is the cross product of the other two columns of dx/dr over the determinant. */
static void find_rounding(const sp_hexes *hexes, sp_lid element, const double point[3],
                          const double reference[3], double out[3]) {
  double gap[3], c[3][3];
  evaluate_map(hexes, element, point, reference, gap, c);
  const double determinant = fabs(triple(c[0], c[1], c[2]));
  for (int d = 0; d < 3; d++) {
    const double *a = c[(d + 1) % 3], *b = c[(d + 2) % 3];
    out[d] = 0;
    for (int x = 0; x < 3; x++) {
      const int y = (x + 1) % 3, z = (x + 2) % 3;
      out[d] += fabs(a[y] * b[z] - a[z] * b[y]) * DBL_EPSILON * fabs(point[x]) / determinant;
    }
  }
}

/* Find r = (r, s, t) with x(r) = point by Newton's method. *outside is false if the element
 * contains the point: |r_d| <= 1 + 1e-8 + the rounding of the coordinates. The margin keeps points
 * on faces that rounding moves outside; reference[d] is clamped to [-1, 1].
 *
 * Returns true up to |r_d| = 1 + 2e-4, 1e-4 of the width. Points on a curved surface may be
 * outside, because elements only interpolate it. For a circle of radius R and elements of angle h
 * the error is R h^4 / 512 at order 2, R h^4 / 1944 at order 3: with h = 2 pi / 16, 1e-4 of an
 * element of width R / 2 or R / 8. Moving the point by 1e-4 of the width changes u by about 1e-4 of
 * its change across the element. */
static bool find_in_element(const sp_hexes *hexes, sp_lid element, const double point[3],
                            double reference[3], bool *outside) {
  static const double INSIDE = 1 + 1e-8, CLOSE = 1 + 2e-4;
  /* Start at the centre, then in the middle of each octant for strongly curved elements. */
  for (int start = -1; start < SP_CORNERS; start++) {
    double margin[3];
    for (int d = 0; d < 3; d++) reference[d] = start < 0 ? 0 : (start >> d & 1) - 0.5;
    if (!newton(hexes, element, point, reference)) continue;
    bool close = true;
    *outside = false;
    find_rounding(hexes, element, point, reference, margin);
    for (int d = 0; d < 3; d++) {
      close = close && fabs(reference[d]) <= CLOSE + margin[d];
      *outside = *outside || !(fabs(reference[d]) <= INSIDE + margin[d]);
      reference[d] = fmax(-1, fmin(1, reference[d]));
    }
    return close;
  }
  return false;
}

void sp_locate_map(const sp_hexes *hexes, sp_lid element, const double reference[3], double x[3],
                   double columns[3][3]) {
  const double *corner = sp_hexes_lattice(hexes, element);
  evaluate_map(hexes, element, corner, reference, x, columns);
  for (int d = 0; d < 3; d++) x[d] += corner[d];
}

/* The bounding box of the lattice, extended by half its width on each side, relative to a point.
 * Curved elements extend beyond the box of their lattice, but by less. */
static void bounding_box(const sp_hexes *hexes, sp_lid element, const double point[3],
                         double box[3][2]) {
  const size_t points = sp_hexes_lattice_size(hexes);
  const double *lattice = sp_hexes_lattice(hexes, element);
  for (int d = 0; d < 3; d++) {
    double low = lattice[d], high = lattice[d];
    for (size_t p = 1; p < points; p++) {
      low = fmin(low, lattice[3 * p + (size_t)d]);
      high = fmax(high, lattice[3 * p + (size_t)d]);
    }
    const double margin = 0.5 * (high - low);
    box[d][0] = low - (margin + point[d]);
    box[d][1] = high + (margin - point[d]);
  }
}

/* The part a + t (b - a), range[0] <= t <= range[1], of a line in this box; false if there is none.
 */
static bool clip_line(const sp_hexes *hexes, sp_lid element, const double a[3], const double b[3],
                      double range[2]) {
  double box[3][2];
  bounding_box(hexes, element, a, box);
  range[0] = 0;
  range[1] = 1;
  for (int d = 0; d < 3; d++) {
    const double low = box[d][0], high = box[d][1], step = b[d] - a[d];
    if (fabs(step) > 0) {
      range[0] = fmax(range[0], fmin(low / step, high / step));
      range[1] = fmin(range[1], fmax(low / step, high / step));
    } else if (!(low <= 0 && high >= 0)) {
      return false;
    }
  }
  return range[0] <= range[1];
}

void sp_locate_sample(const double a[3], const double b[3], int n, int i, double point[3]) {
  const double t = n > 1 ? (double)i / (n - 1) : 0;
  for (int d = 0; d < 3; d++) point[d] = (1 - t) * a[d] + t * b[d];
}

/* True if element a comes before b in an order that does not depend on the ranks. */
static bool element_precedes(const sp_hexes *hexes, sp_lid a, sp_lid b) {
  const sp_gid tag = hexes->tags[a], other = hexes->tags[b];
  return tag != other ? tag < other : hexes->octants[a] < hexes->octants[b];
}

void sp_locate_line(const sp_hexes *hexes, const double a[3], const double b[3], int n,
                    sp_lid *elements, double (*references)[3], bool *outside) {
  double range[2], point[3], reference[3];
  bool leaves;
  for (int i = 0; i < n; i++) {
    elements[i] = -1;
    outside[i] = true;
  }
  for (sp_lid e = 0; e < hexes->count; e++) {
    if (sp_hexes_is_contact(hexes, e) || !clip_line(hexes, e, a, b, range)) continue;
    for (int i = (int)ceil(range[0] * (n - 1)); i <= range[1] * (n - 1); i++) {
      const bool first = elements[i] < 0 || element_precedes(hexes, e, elements[i]);
      if (!first && !outside[i]) continue;
      sp_locate_sample(a, b, n, i, point);
      if (!find_in_element(hexes, e, point, reference, &leaves)) continue;
      if (leaves != outside[i] ? leaves : !first) continue;
      memcpy(references[i], reference, sizeof reference);
      elements[i] = e;
      outside[i] = leaves;
    }
  }
}

/* ---- The nearest element ---- */

/* Finite, so that even a point near 1e308 has a nearest element. */
static double length(const double v[3]) {
  return fmin(hypot(hypot(v[0], v[1]), v[2]), DBL_MAX);
}

/* Minimize the distance |gap| of x(r) from the point over [-1, 1]^3, one coordinate at a time.
 * Gauss-Newton steps are halved until the distance falls, since they are too long far outside a
 * convex face. */
static double approach_point(const sp_hexes *hexes, sp_lid element, const double point[3],
                             double gap[3]) {
  enum { STEPS = 300, HALVINGS = 40 };
  static const double SMALL = 1e-10;
  double r[3] = {0, 0, 0}, next[3] = {0, 0, 0}, columns[3][3], there[3], ignored[3][3], moved = 0;
  evaluate_map(hexes, element, point, r, gap, columns);
  double distance = length(gap);
  for (int step = 0; step < STEPS; step++) {
    const int d = step % 3;
    const double *c = columns[d], size = length(c);
    const double along = c[0] / size * gap[0] + c[1] / size * gap[1] + c[2] / size * gap[2];
    next[d] = fmax(-1, fmin(1, r[d] - along / size));
    double trial = INFINITY;
    for (int h = 0; h < HALVINGS && fabs(next[d] - r[d]) > SMALL; h++) {
      evaluate_map(hexes, element, point, next, there, ignored);
      trial = length(there);
      if (trial < distance) break;
      next[d] = (next[d] + r[d]) / 2;
    }
    if (d == 0) moved = 0;
    if (trial < distance) {
      moved = fmax(moved, fabs(next[d] - r[d]));
      r[d] = next[d];
      distance = trial;
      evaluate_map(hexes, element, point, r, gap, columns);
    }
    next[d] = r[d];
    if (d == 2 && moved <= SMALL) break;
  }
  return distance;
}

sp_lid sp_locate_nearest(const sp_hexes *hexes, const double point[3], double nearest[3],
                         double *distance) {
  sp_lid found = -1;
  *distance = INFINITY;
  for (sp_lid e = 0; e < hexes->count; e++) {
    double box[3][2], gap[3];
    if (sp_hexes_is_contact(hexes, e)) continue;
    bounding_box(hexes, e, point, box);
    for (int d = 0; d < 3; d++) gap[d] = fmax(0, fmax(box[d][0], -box[d][1]));
    if (length(gap) > *distance) continue;
    const double here = approach_point(hexes, e, point, gap);
    if (!(here < *distance ||
          (here == *distance && found >= 0 && element_precedes(hexes, e, found))))
      continue;
    found = e;
    *distance = here;
    for (int d = 0; d < 3; d++) nearest[d] = point[d] + gap[d];
  }
  return found;
}
