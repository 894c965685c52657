/* The choice of bodies from CAD that are swept: extrusions. They have two equal plane faces, the
 * source and the target. Side faces join them straight. gmsh meshes the source with triangles,
 * which become layers of prisms (sweep.c). Tetrahedra of a body thinner than they are long would be
 * slivers. The meshes of target and sides are replaced, so other bodies share with a swept one only
 * its source, or its target if they are swept from there. */
#include <gmshc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/gmsh/model.h"

/* ---- Find extrusions ---- */

static const double EQUAL = 1e-5; /* relative difference of lengths, areas and volumes */

typedef struct tags {
  int *list;
  size_t count;
} tags;

/* The entities of the next higher or lower dimension at one. */
static tags list_adjacent(int dimension, int tag, bool higher) {
  tags up = {0}, down = {0};
  int error;
  gmshModelGetAdjacencies(dimension, tag, &up.list, &up.count, &down.list, &down.count, &error);
  gmshFree(higher ? down.list : up.list);
  return higher ? up : down;
}

static bool has_tag(const tags *t, int tag) {
  bool found = false;
  for (size_t i = 0; i < t->count; i++) found = found || t->list[i] == tag;
  return found;
}

static bool are_equal(double a, double b) {
  return fabs(a - b) <= EQUAL * fabs(b);
}

static double mass_of(int dimension, int tag) {
  double mass = NAN;
  int error;
  gmshModelOccGetMass(dimension, tag, &mass, &error);
  return fabs(mass);
}

/* The vector between the centres of two entities; returns its length. */
static double find_shift(int dimension, int from, int to, double shift[3]) {
  double a[3] = {NAN, 0, 0}, b[3] = {NAN, 0, 0};
  int error;
  gmshModelOccGetCenterOfMass(dimension, from, &a[0], &a[1], &a[2], &error);
  gmshModelOccGetCenterOfMass(dimension, to, &b[0], &b[1], &b[2], &error);
  for (int d = 0; d < 3; d++) shift[d] = b[d] - a[d];
  return sqrt(shift[0] * shift[0] + shift[1] * shift[1] + shift[2] * shift[2]);
}

static bool is_plane(int face) {
  char *type = NULL;
  int error;
  gmshModelGetType(2, face, &type, &error);
  const bool plane = !error && strcmp(type, "Plane") == 0;
  gmshFree(type);
  return plane;
}

/* The distance between a plane face and its copy, moved by `shift`. */
static double find_height(int face, const double shift[3]) {
  double *normal = NULL, height = NAN;
  size_t count = 0;
  int error;
  gmshModelGetNormal(face, (double[]){0, 0}, 2, &normal, &count, &error);
  if (!error && count == 3)
    height = fabs(normal[0] * shift[0] + normal[1] * shift[1] + normal[2] * shift[2]);
  gmshFree(normal);
  return height;
}

/* The point of a curve at a share of its range of parameters. */
static bool find_point(int curve, double share, double point[3]) {
  double *low = NULL, *high = NULL, *xyz = NULL;
  size_t lows = 0, highs = 0, count = 0;
  int error;
  gmshModelGetParametrizationBounds(1, curve, &low, &lows, &high, &highs, &error);
  bool good = !error && lows == 1 && highs == 1;
  if (good) {
    double at = low[0] + share * (high[0] - low[0]);
    gmshModelGetValue(1, curve, &at, 1, &xyz, &count, &error);
    good = !error && count == 3;
  }
  if (good) memcpy(point, xyz, 3 * sizeof *point);
  gmshFree(low);
  gmshFree(high);
  gmshFree(xyz);
  return good;
}

/* True if the face contains the point, to `tolerance`. */
static bool has_point(int face, double point[3], double tolerance) {
  double *closest = NULL, *parameters = NULL, square = INFINITY;
  size_t count = 0, parameter_count = 0;
  int error;
  gmshModelGetClosestPoint(2, face, point, 3, &closest, &count, &parameters, &parameter_count,
                           &error);
  if (!error && count == 3) {
    square = 0;
    for (int d = 0; d < 3; d++) square += pow(closest[d] - point[d], 2);
  }
  gmshFree(closest);
  gmshFree(parameters);
  return square <= tolerance * tolerance;
}

/* True if the side consists of straight lines along the shift, at some points: a bulged side may
 * have the right edges and leave the volume as it is. */
static bool is_straight(const sp_gmsh_sweep *s, const sp_gmsh_side *side, double tolerance) {
  bool good = true;
  for (int i = 0; i < 9 && good; i++) {
    double point[3] = {0};
    good = find_point(side->from, 0.2 + 0.3 * (i % 3), point);
    for (int d = 0; d < 3; d++) point[d] += (0.2 + 0.3 * (i / 3)) * s->shift[d];
    good = good && has_point(side->face, point, tolerance);
  }
  return good;
}

/* Find the curves of a side face: one in the source, its copy in the target, and others as long as
 * the shift. False if there are others, or if the face is not straight. */
static bool match_side(const sp_gmsh_sweep *s, const tags *from, const tags *to, double height,
                       sp_gmsh_side *side) {
  tags curves = list_adjacent(2, side->face, false);
  int froms = 0, tos = 0;
  bool good = true;
  for (size_t c = 0; c < curves.count && good; c++) {
    const int curve = curves.list[c];
    const bool in_source = has_tag(from, curve), in_target = has_tag(to, curve);
    if (in_source) side->from = curve;
    if (in_target) side->to = curve;
    froms += in_source;
    tos += in_target;
    good = in_source || in_target || are_equal(mass_of(1, curve), height);
  }
  gmshFree(curves.list);
  double shift[3];
  if (!good || froms != 1 || tos != 1) return false;
  (void)find_shift(1, side->from, side->to, shift);
  for (int d = 0; d < 3; d++) good = good && fabs(shift[d] - s->shift[d]) <= EQUAL * height;
  const double length = mass_of(1, side->from);
  return good && are_equal(length, mass_of(1, side->to)) &&
         is_straight(s, side, EQUAL * (height + length));
}

/* Fill the sides; false if the body is no extrusion from source to target. */
static bool match_sides(const tags *faces, double height, sp_gmsh_sweep *s) {
  tags from = list_adjacent(2, s->source, false), to = list_adjacent(2, s->target, false);
  bool good = from.count == to.count && from.count + 2 == faces->count;
  s->side_count = 0;
  for (size_t f = 0; f < faces->count && good; f++) {
    if (faces->list[f] == s->source || faces->list[f] == s->target) continue;
    sp_gmsh_side *side = &s->sides[s->side_count++];
    side->face = faces->list[f];
    good = match_side(s, &from, &to, height, side);
  }
  gmshFree(from.list);
  gmshFree(to.list);
  return good;
}

/* Find the direction of the least height in which the body is an extrusion, if there is one. */
static sp_status find_extrusion(int volume, double size, sp_gmsh_sweep *best) {
  tags faces = list_adjacent(3, volume, false);
  SP_OWNED double *areas = NULL; /* 0 for faces that are not plane */
  sp_gmsh_sweep s = {.volume = volume};
  double least = INFINITY;
  const double mass = mass_of(3, volume);
  sp_status status =
      SP_ALLOCATE("faces", SP_ARRAY(areas, faces.count), SP_ARRAY(s.sides, faces.count),
                  SP_ARRAY(best->sides, faces.count));
  for (size_t f = 0; f < faces.count && !status; f++)
    areas[f] = is_plane(faces.list[f]) ? mass_of(2, faces.list[f]) : 0;
  for (size_t i = 0; i < faces.count && !status; i++)
    for (size_t j = 0; j < i; j++) {
      if (areas[i] == 0 || !are_equal(areas[i], areas[j])) continue;
      s.source = faces.list[i], s.target = faces.list[j];
      const double height = find_shift(2, s.source, s.target, s.shift);
      const double apart = find_height(s.source, s.shift);
      if (!(height < least) || !are_equal(areas[i] * apart, mass)) continue;
      if (!match_sides(&faces, height, &s)) continue;
      sp_gmsh_side *sides = best->sides;
      *best = s;
      best->sides = memcpy(sides, s.sides, s.side_count * sizeof *sides);
      best->layers = (int)fmax(1, ceil(height / size));
      least = height;
    }
  free(s.sides);
  gmshFree(faces.list);
  return status;
}

/* ---- Choose from them ---- */

/* Make `face` the source. */
static bool orient_sweep(sp_gmsh_sweep *s, int face) {
  if (face != s->source && face != s->target) return false;
  if (face == s->source) return true;
  s->target = s->source;
  s->source = face;
  for (int d = 0; d < 3; d++) s->shift[d] = -s->shift[d];
  for (size_t i = 0; i < s->side_count; i++)
    s->sides[i] = (sp_gmsh_side){s->sides[i].to, s->sides[i].face, s->sides[i].from};
  return true;
}

/* True if all bodies at the curve are the two. */
static bool is_between(int curve, int volume, int next) {
  tags faces = list_adjacent(1, curve, true);
  bool good = true;
  for (size_t f = 0; f < faces.count; f++) {
    tags volumes = list_adjacent(2, faces.list[f], true);
    for (size_t v = 0; v < volumes.count; v++)
      good = good && (volumes.list[v] == volume || volumes.list[v] == next);
    gmshFree(volumes.list);
  }
  gmshFree(faces.list);
  return good;
}

/* True if sides and target touch only the body `next` behind the target. */
static bool are_sides_free(const sp_gmsh_sweep *s, int next) {
  bool good = true;
  for (size_t i = 0; i < s->side_count && good; i++) {
    tags volumes = list_adjacent(2, s->sides[i].face, true),
         curves = list_adjacent(2, s->sides[i].face, false);
    good = volumes.count == 1;
    for (size_t c = 0; c < curves.count && good; c++)
      good = curves.list[c] == s->sides[i].from || is_between(curves.list[c], s->volume, next);
    gmshFree(volumes.list);
    gmshFree(curves.list);
  }
  return good;
}

/* The body on the other side of the target; 0 if there is none. */
static int find_next(const sp_gmsh_sweep *s) {
  tags volumes = list_adjacent(2, s->target, true);
  int next = 0;
  for (size_t v = 0; v < volumes.count; v++)
    if (volumes.list[v] != s->volume) next = volumes.list[v];
  gmshFree(volumes.list);
  return next;
}

/* True if a body is swept from `face` already. */
static bool is_swept_from(const sp_gmsh_model *m, int face) {
  bool swept = false;
  for (size_t i = 0; i < m->sweep_count; i++) swept = swept || m->sweeps[i].source == face;
  return swept;
}

/* Choose to sweep all[i] from `face`, and the bodies behind it. Appends to m->sweeps, last body
 * first. */
static bool choose_sweep(sp_gmsh_model *m, sp_gmsh_sweep *all, size_t count, size_t i, int face) {
  sp_gmsh_sweep *s = &all[i];
  if (s->source == 0 || s->chosen || !orient_sweep(s, face)) return false;
  const int next = find_next(s);
  size_t n = 0;
  while (n < count && all[n].volume != next) n++;
  if (!are_sides_free(s, next)) return false;
  s->chosen = true;
  s->chosen = next == 0 || is_swept_from(m, s->target) ||
              (n < count && choose_sweep(m, all, count, n, s->target));
  if (s->chosen) m->sweeps[m->sweep_count++] = *s;
  return s->chosen;
}

/* gmsh needs not mesh the body, its target and its sides, which may be difficult. */
static void hide_replaced(const sp_gmsh_sweep *s) {
  int error;
  gmshModelSetVisibility((int[]){3, s->volume}, 2, 0, 0, &error);
  gmshModelSetVisibility((int[]){2, s->target}, 2, 0, 0, &error);
  for (size_t i = 0; i < s->side_count; i++)
    gmshModelSetVisibility((int[]){2, s->sides[i].face}, 2, 0, 0, &error);
}

sp_status sp_gmsh_sweeps_find(sp_gmsh_model *m, const int *bodies, size_t count, double size) {
  SP_OWNED sp_gmsh_sweep *all = NULL;
  int error;
  SP_TRY(SP_ALLOCATE("bodies", SP_ARRAY(all, count), SP_ARRAY(m->sweeps, count)));
  sp_status status = SP_OK;
  for (size_t b = 0; b < count && !status; b++)
    status = find_extrusion(all[b].volume = bodies[2 * b + 1], size, &all[b]);
  for (size_t b = 0; b < count && !status; b++)
    if (!choose_sweep(m, all, count, b, all[b].source))
      (void)choose_sweep(m, all, count, b, all[b].target);
  for (size_t b = 0; b < count; b++)
    if (!all[b].chosen) free(all[b].sides);
  for (size_t s = 0; s < m->sweep_count; s++) hide_replaced(&m->sweeps[s]);
  gmshOptionSetNumber("Mesh.MeshOnlyVisible", m->sweep_count > 0, &error);
  return status;
}

bool sp_gmsh_is_swept(const sp_gmsh_model *m, int dimension, int tag) {
  bool swept = false;
  for (size_t i = 0; i < m->sweep_count; i++) {
    const sp_gmsh_sweep *s = &m->sweeps[i];
    swept = swept || (dimension == 2 && tag == s->target);
    for (size_t n = 0; n < s->side_count; n++)
      swept = swept || (dimension == 2 && tag == s->sides[n].face) ||
              (dimension == 1 && tag == s->sides[n].to);
  }
  return swept;
}
