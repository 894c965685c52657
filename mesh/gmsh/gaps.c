/* Default sizes of a geometry from CAD. Where two outlines of a face are closer to each other than
 * the default size, gmsh would fill the gap with slivers. So curves get sizes of about the gap. */
#include <gmshc.h>
#include <math.h>
#include <stdlib.h>

#include "mesh/gmsh/model.h"

enum { SAMPLES = 33 }; /* of a curve */

/* The least size, relative to the default: narrower gaps would take most of the elements. */
static const double LEAST = 0.1;

typedef struct outline {
  double parameters[SAMPLES], points[SAMPLES][3], sizes[SAMPLES];
  double lower[3], upper[3]; /* the box around the points */
  int ends[2];               /* tags of points; -1: closed */
  bool is_sampled;
} outline;

static void sample_outline(int curve, outline *o) {
  sp_gmsh_tags ends = sp_gmsh_adjacent(1, curve, false);
  for (int s = 0; s < SAMPLES; s++) o->parameters[s] = s / (SAMPLES - 1.0);
  o->is_sampled = sp_gmsh_sample_curve(curve, SAMPLES, o->parameters, o->points[0]);
  for (size_t e = 0; e < 2; e++) o->ends[e] = ends.count == 2 ? ends.list[e] : -1;
  gmshFree(ends.list);
}

static void find_box(outline *o, double size) {
  for (int s = 0; s < SAMPLES; s++) {
    o->sizes[s] = size;
    for (int d = 0; d < 3; d++) {
      o->lower[d] = s == 0 ? o->points[s][d] : fmin(o->lower[d], o->points[s][d]);
      o->upper[d] = s == 0 ? o->points[s][d] : fmax(o->upper[d], o->points[s][d]);
    }
  }
}

/* The square of the distance from a point to the segment from a to b. */
static double square_distance(const double p[3], const double a[3], const double b[3]) {
  double along = 0, length = 0, sum = 0;
  for (int d = 0; d < 3; d++) {
    along += (p[d] - a[d]) * (b[d] - a[d]);
    length += (b[d] - a[d]) * (b[d] - a[d]);
  }
  const double t = length > 0 ? fmin(1, fmax(0, along / length)) : 0;
  for (int d = 0; d < 3; d++) sum += pow(a[d] + t * (b[d] - a[d]) - p[d], 2);
  return sum;
}

/* True if the curves have a common end, or are further from each other than the size. */
static bool are_apart(const outline *a, const outline *b, double size) {
  bool apart = false;
  for (int d = 0; d < 3; d++)
    apart = apart || a->lower[d] > b->upper[d] + size || b->lower[d] > a->upper[d] + size;
  for (int i = 0; i < 4; i++)
    apart = apart || (a->ends[i / 2] == b->ends[i % 2] && a->ends[i / 2] >= 0);
  return apart;
}

/* Shorten the sizes of a curve to its distances from another one. */
static void measure_gaps(outline *a, const outline *b, double least) {
  for (int s = 0; s < SAMPLES; s++) {
    double square = INFINITY;
    for (int n = 1; n < SAMPLES; n++)
      square = fmin(square, square_distance(a->points[s], b->points[n - 1], b->points[n]));
    a->sizes[s] = fmin(a->sizes[s], fmax(sqrt(square), least));
  }
}

static void measure_face(int face, outline *outlines, double size) {
  sp_gmsh_tags curves = sp_gmsh_adjacent(2, face, false);
  for (size_t i = 0; i < curves.count; i++)
    for (size_t j = 0; j < curves.count; j++) {
      outline *a = &outlines[abs(curves.list[i])], *b = &outlines[abs(curves.list[j])];
      if (a != b && a->is_sampled && b->is_sampled && !are_apart(a, b, size))
        measure_gaps(a, b, LEAST * size);
    }
  gmshFree(curves.list);
}

sp_status sp_gmsh_gaps(const sp_gmsh_model *m, const sp_gmsh_tags *faces, double size) {
  SP_OWNED outline *outlines = NULL; /* by tag */
  sp_gmsh_tags curves = {0};
  int error, most = 0;
  SP_TRY(sp_gmsh_list(m->path, 1, &curves));
  for (size_t c = 1; c < curves.count; c += 2) most = curves.list[c] > most ? curves.list[c] : most;
  const sp_status status = sp_allocate((size_t)most + 1, sizeof *outlines, "curves", &outlines);
  for (size_t c = 1; c < curves.count && !status; c += 2) {
    sample_outline(curves.list[c], &outlines[curves.list[c]]);
    find_box(&outlines[curves.list[c]], size);
  }
  for (size_t f = 1; f < faces->count && !status; f += 2)
    if (!sp_gmsh_is_swept(m, 2, faces->list[f])) measure_face(faces->list[f], outlines, size);
  for (size_t c = 1; c < curves.count && !status; c += 2) {
    outline *o = &outlines[curves.list[c]];
    if (o->is_sampled)
      gmshModelMeshSetSizeAtParametricPoints(1, curves.list[c], o->parameters, SAMPLES, o->sizes,
                                             SAMPLES, &error);
  }
  gmshFree(curves.list);
  return status;
}
