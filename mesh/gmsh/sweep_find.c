/* The choice of bodies from CAD that are swept: extrusions. A plane face, the target, is equal to
 * one or several faces in another plane, the sources. Side faces join them straight. gmsh meshes
 * the sources with triangles, which become layers of prisms (sweep.c). Tetrahedra of a body thinner
 * than they are long would be slivers. The meshes of target and sides are replaced, so other bodies
 * share with a swept one only sources, or its target if they are swept from there. */
#include <gmshc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/gmsh/model.h"

/* ---- Find extrusions ---- */

static const double EQUAL = 1e-5; /* relative difference of lengths, areas and volumes */

static bool has_tag(const sp_gmsh_tags *t, int tag) {
  bool found = false;
  for (size_t i = 0; i < t->count; i++) found = found || t->list[i] == tag;
  return found;
}

static bool has_source(const sp_gmsh_sweep *s, int face) {
  return has_tag(&(sp_gmsh_tags){s->sources, s->source_count}, face);
}

/* True if the curve is at the edge of one of the faces. */
static bool is_around(const int *faces, size_t count, int curve) {
  sp_gmsh_tags around = sp_gmsh_adjacent(1, curve, true);
  bool found = false;
  for (size_t f = 0; f < count; f++) found = found || has_tag(&around, faces[f]);
  gmshFree(around.list);
  return found;
}

static bool are_equal(double a, double b) {
  return fabs(a - b) <= EQUAL * fabs(b);
}

/* A plane face: its area, 0 for others, centre and normal. */
typedef struct plane {
  double area, centre[3], normal[3];
} plane;

static double dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static plane measure_plane(int face) {
  plane p = {.area = sp_gmsh_mass(2, face)};
  double *normal = NULL;
  size_t count = 0;
  int error;
  if (!sp_gmsh_is_plane(face)) p.area = 0;
  gmshModelOccGetCenterOfMass(2, face, &p.centre[0], &p.centre[1], &p.centre[2], &error);
  if (error) p.area = 0;
  gmshModelGetNormal(face, (double[]){0, 0}, 2, &normal, &count, &error);
  if (error || count != 3)
    p.area = 0;
  else
    memcpy(p.normal, normal, sizeof p.normal);
  gmshFree(normal);
  return p;
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
    good = sp_gmsh_sample_curve(side->from, 1, &(double){0.2 + 0.3 * (i % 3)}, point);
    for (int d = 0; d < 3; d++) point[d] += (0.2 + 0.4 * (i / 3)) * s->shift[d];
    good = good && has_point(side->face, point, tolerance);
  }
  return good;
}

/* True if the ends of the curve in the target are the ends of its copy, moved by the shift. */
static bool have_equal_ends(const sp_gmsh_sweep *s, const sp_gmsh_side *side) {
  const double tolerance = EQUAL * (sp_gmsh_mass(1, side->from) + sqrt(dot(s->shift, s->shift)));
  double a[2][3], b[2][3];
  bool good = true;
  for (int end = 0; end < 2; end++)
    good = good && sp_gmsh_sample_curve(side->from, 1, &(double){end}, a[end]) &&
           sp_gmsh_sample_curve(side->to, 1, &(double){end}, b[end]);
  for (int turned = 0; turned < 2 && good; turned++) {
    double most = 0;
    for (int end = 0; end < 2; end++)
      for (int d = 0; d < 3; d++)
        most = fmax(most, fabs(a[end][d] + s->shift[d] - b[turned ? 1 - end : end][d]));
    if (most <= tolerance) return true;
  }
  return false;
}

/* Add a side for each curve that the face has in the sources. Together they are as long as its one
 * curve in the target; others are as long as the shift. False if not, or if the face is not
 * straight. */
static bool match_side(int face, double height, sp_gmsh_sweep *s) {
  sp_gmsh_tags curves = sp_gmsh_adjacent(2, face, false);
  const size_t first = s->side_count;
  double length = 0;
  int tos = 0, to = 0;
  bool good = true;
  for (size_t c = 0; c < curves.count && good; c++) {
    const int curve = curves.list[c];
    const bool in_source = is_around(s->sources, s->source_count, curve);
    const bool in_target = is_around(&s->target, 1, curve);
    if (in_source) s->sides[s->side_count++] = (sp_gmsh_side){.from = curve, .face = face};
    if (in_source) length += sp_gmsh_mass(1, curve);
    if (in_target) to = curve;
    tos += in_target;
    good = in_source || in_target || are_equal(sp_gmsh_mass(1, curve), height);
  }
  gmshFree(curves.list);
  good = good && tos == 1 && are_equal(length, sp_gmsh_mass(1, to));
  for (size_t i = first; i < s->side_count && good; i++) {
    s->sides[i].to = to;
    good = is_straight(s, &s->sides[i], EQUAL * (height + length));
  }
  return good;
}

/* Fill the sides; false if the body is no extrusion from the sources to the target. */
static bool match_sides(const sp_gmsh_tags *faces, double height, sp_gmsh_sweep *s) {
  bool good = true;
  s->side_count = 0;
  for (size_t f = 0; f < faces->count && good; f++)
    if (faces->list[f] != s->target && !has_source(s, faces->list[f]))
      good = match_side(faces->list[f], height, s);
  return good;
}

/* Fill the sources, the faces at `height` from face t that are as large together, and the shift. */
static bool match_sources(const sp_gmsh_tags *faces, const plane *planes, size_t t, double height,
                          sp_gmsh_sweep *s) {
  double area = 0, centre[3] = {0}, way[3];
  s->source_count = 0;
  for (size_t f = 0; f < faces->count; f++) {
    for (int d = 0; d < 3; d++) way[d] = planes[t].centre[d] - planes[f].centre[d];
    if (f == t || planes[f].area == 0 || !are_equal(fabs(dot(way, planes[t].normal)), height) ||
        !are_equal(fabs(dot(planes[f].normal, planes[t].normal)), 1))
      continue;
    s->sources[s->source_count++] = faces->list[f];
    area += planes[f].area;
    for (int d = 0; d < 3; d++) centre[d] += planes[f].area * planes[f].centre[d];
  }
  for (int d = 0; d < 3; d++) s->shift[d] = planes[t].centre[d] - centre[d] / area;
  return are_equal(area, planes[t].area);
}

/* Find the direction of the least height in which the body is an extrusion, if there is one. */
static sp_status find_extrusion(int volume, double size, sp_gmsh_sweep *best) {
  sp_gmsh_tags faces = sp_gmsh_adjacent(3, volume, false);
  SP_OWNED plane *planes = NULL;
  sp_gmsh_sweep s = {.volume = volume};
  double least = INFINITY;
  const double mass = sp_gmsh_mass(3, volume);
  size_t curves = 0;
  for (size_t f = 0; f < faces.count; f++) {
    sp_gmsh_tags edges = sp_gmsh_adjacent(2, faces.list[f], false);
    curves += edges.count;
    gmshFree(edges.list);
  }
  sp_status status = SP_ALLOCATE("faces", SP_ARRAY(planes, faces.count), SP_ARRAY(s.sides, curves),
                                 SP_ARRAY(s.sources, faces.count), SP_ARRAY(best->sides, curves),
                                 SP_ARRAY(best->sources, faces.count));
  for (size_t f = 0; f < faces.count && !status; f++) planes[f] = measure_plane(faces.list[f]);
  for (size_t t = 0; t < faces.count && !status; t++) {
    const double apart = mass / planes[t].area;
    s.target = faces.list[t];
    if (planes[t].area == 0 || !match_sources(&faces, planes, t, apart, &s)) continue;
    const double height = sqrt(dot(s.shift, s.shift));
    if (!(height < least) || !match_sides(&faces, height, &s)) continue;
    const sp_gmsh_sweep before = *best;
    *best = s;
    best->layers = (int)fmax(1, ceil(height / size));
    least = height;
    s.sides = before.sides, s.sources = before.sources;
  }
  SP_FREE(s.sides, s.sources);
  gmshFree(faces.list);
  return status;
}

/* ---- Choose from them ---- */

/* Make `face` a source. */
static bool orient_sweep(sp_gmsh_sweep *s, int face) {
  if (has_source(s, face)) return true;
  if (face != s->target || s->source_count != 1) return false;
  for (size_t i = 1; i < s->side_count; i++)
    if (s->sides[i].to == s->sides[i - 1].to) return false;
  s->target = s->sources[0];
  s->sources[0] = face;
  for (int d = 0; d < 3; d++) s->shift[d] = -s->shift[d];
  for (size_t i = 0; i < s->side_count; i++)
    s->sides[i] = (sp_gmsh_side){s->sides[i].to, s->sides[i].face, s->sides[i].from, false};
  return true;
}

/* True if all bodies at the curve are the two. */
static bool is_between(int curve, int volume, int next) {
  sp_gmsh_tags faces = sp_gmsh_adjacent(1, curve, true);
  bool good = true;
  for (size_t f = 0; f < faces.count; f++) {
    sp_gmsh_tags volumes = sp_gmsh_adjacent(2, faces.list[f], true);
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
    sp_gmsh_tags volumes = sp_gmsh_adjacent(2, s->sides[i].face, true),
                 curves = sp_gmsh_adjacent(2, s->sides[i].face, false);
    good = volumes.count == 1;
    for (size_t c = 0; c < curves.count && good; c++)
      good = is_around(s->sources, s->source_count, curves.list[c]) ||
             is_between(curves.list[c], s->volume, next);
    gmshFree(volumes.list);
    gmshFree(curves.list);
  }
  return good;
}

/* The body on the other side of the target; 0 if there is none. */
static int find_next(const sp_gmsh_sweep *s) {
  sp_gmsh_tags volumes = sp_gmsh_adjacent(2, s->target, true);
  int next = 0;
  for (size_t v = 0; v < volumes.count; v++)
    if (volumes.list[v] != s->volume) next = volumes.list[v];
  gmshFree(volumes.list);
  return next;
}

/* The first of all curves that side->from is a copy of; adds the shifts between them to `shift`. */
static int find_first(const sp_gmsh_model *m, const sp_gmsh_side *side, double *shift) {
  int from = side->from;
  for (size_t i = 0; i < m->sweep_count; i++) /* the body behind another comes before it */
    for (size_t n = 0; n < m->sweeps[i].side_count; n++) {
      if (m->sweeps[i].sides[n].to != from) continue;
      from = m->sweeps[i].sides[n].from;
      for (int d = 0; d < 3 && shift; d++) shift[d] += m->sweeps[i].shift[d];
    }
  return from;
}

/* True if a body behind the target copies a mesh from a curve that has several pieces here. */
static bool is_copied_in_pieces(const sp_gmsh_model *m, const sp_gmsh_sweep *s) {
  bool copied = false;
  for (size_t i = 1; i < s->side_count; i++)
    for (size_t n = 0; n < m->sweep_count && s->sides[i].to == s->sides[i - 1].to; n++)
      for (size_t k = 0; k < m->sweeps[n].side_count; k++)
        copied = copied || (m->sweeps[n].sides[k].keeps_mesh &&
                            find_first(m, &m->sweeps[n].sides[k], NULL) == s->sides[i].to);
  return copied;
}

/* Find the sides whose curve `to` is at the edge of other sources of the body behind the target:
 * gmsh meshes it. False if it cannot copy the mesh of `from`. */
static bool match_kept_curves(const sp_gmsh_model *m, sp_gmsh_sweep *s) {
  bool good = true;
  for (size_t i = 0; i < s->side_count; i++) {
    sp_gmsh_side *side = &s->sides[i];
    for (size_t n = 0; n < m->sweep_count; n++)
      for (size_t f = 0; f < m->sweeps[n].source_count && has_source(&m->sweeps[n], s->target); f++)
        if (m->sweeps[n].sources[f] != s->target &&
            is_around(&m->sweeps[n].sources[f], 1, side->to))
          side->keeps_mesh = true;
    good = good && (!side->keeps_mesh || have_equal_ends(s, side));
  }
  return good && !is_copied_in_pieces(m, s);
}

/* True if a body is swept from `face` already. */
static bool is_swept_from(const sp_gmsh_model *m, int face) {
  bool swept = false;
  for (size_t i = 0; i < m->sweep_count; i++) swept = swept || has_source(&m->sweeps[i], face);
  return swept;
}

/* Choose to sweep all[i] from `face`, and the bodies behind it. Appends to m->sweeps, last body
 * first. */
static bool choose_sweep(sp_gmsh_model *m, sp_gmsh_sweep *all, size_t count, size_t i, int face) {
  sp_gmsh_sweep *s = &all[i];
  if (s->source_count == 0 || s->chosen || !orient_sweep(s, face)) return false;
  const int next = find_next(s);
  size_t n = 0;
  while (n < count && all[n].volume != next) n++;
  if (!are_sides_free(s, next)) return false;
  s->chosen = true;
  s->chosen = (next == 0 || is_swept_from(m, s->target) ||
               (n < count && choose_sweep(m, all, count, n, s->target))) &&
              match_kept_curves(m, s);
  if (s->chosen) m->sweeps[m->sweep_count++] = *s;
  return s->chosen;
}

/* Let gmsh mesh the curve `to` as the first of all curves that `from` is a copy of. */
static sp_status copy_curve(const sp_gmsh_model *m, const sp_gmsh_sweep *s,
                            const sp_gmsh_side *side) {
  static const double LOOSE = 1e-4; /* gmsh ignores a copy whose ends differ more */
  double shift[3] = {s->shift[0], s->shift[1], s->shift[2]}, tolerance;
  int from = find_first(m, side, shift), to = side->to, error;
  double map[16] = {1, 0, 0, shift[0], 0, 1, 0, shift[1], 0, 0, 1, shift[2], 0, 0, 0, 1};
  gmshOptionGetNumber("Geometry.Tolerance", &tolerance, &error);
  gmshOptionSetNumber("Geometry.Tolerance", LOOSE, &error);
  gmshModelMeshSetPeriodic(1, &to, 1, &from, 1, map, 16, &error);
  int unused;
  gmshOptionSetNumber("Geometry.Tolerance", tolerance, &unused);
  return error ? sp_gmsh_failed(m->path, "copy the mesh of an edge") : SP_OK;
}

/* gmsh needs not mesh the body, its target and its sides, which may be difficult. */
static void hide_replaced(const sp_gmsh_sweep *s) {
  int error;
  gmshModelSetVisibility((int[]){3, s->volume}, 2, 0, 0, &error);
  gmshModelSetVisibility((int[]){2, s->target}, 2, 0, 0, &error);
  for (size_t i = 0; i < s->side_count; i++)
    gmshModelSetVisibility((int[]){2, s->sides[i].face}, 2, 0, 0, &error);
}

sp_status sp_gmsh_sweeps_find(sp_gmsh_model *m, const sp_gmsh_tags *bodies, double size) {
  const size_t count = bodies->count / 2;
  SP_OWNED sp_gmsh_sweep *all = NULL;
  int error;
  SP_TRY(SP_ALLOCATE("bodies", SP_ARRAY(all, count), SP_ARRAY(m->sweeps, count)));
  sp_status status = SP_OK;
  for (size_t b = 0; b < count && !status; b++)
    status = find_extrusion(all[b].volume = bodies->list[2 * b + 1], size, &all[b]);
  for (size_t b = 0; b < count && !status; b++)
    if (all[b].source_count > 0 && !choose_sweep(m, all, count, b, all[b].sources[0]))
      (void)choose_sweep(m, all, count, b, all[b].target);
  for (size_t b = 0; b < count; b++)
    if (!all[b].chosen) SP_FREE(all[b].sides, all[b].sources);
  for (size_t s = 0; s < m->sweep_count; s++) hide_replaced(&m->sweeps[s]);
  for (size_t s = 0; s < m->sweep_count; s++)
    for (size_t i = 0; i < m->sweeps[s].side_count && !status; i++)
      if (m->sweeps[s].sides[i].keeps_mesh)
        status = copy_curve(m, &m->sweeps[s], &m->sweeps[s].sides[i]);
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
              (dimension == 1 && tag == s->sides[n].to && !s->sides[n].keeps_mesh);
  }
  return swept;
}
