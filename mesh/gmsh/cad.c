/* Geometries from CAD, meshed with tetrahedra and prisms (mesh/divide.h makes hexahedra of them).
 */
#include <gmshc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/gmsh/model.h"

/* The name of an entity in the file, without its assemblies; "WHAT N" if it has none or
 * OpenCASCADE's default name. */
static void name_entity(int dimension, int number, const char *what, size_t n, char name[128]) {
  char *label = NULL;
  int error;
  gmshModelGetEntityName(dimension, number, &label, &error);
  const char *slash = !error && label ? strrchr(label, '/') : NULL;
  const char *last = slash ? slash + 1 : !error && label ? label : "";
  if (!last[0] || strncmp(last, "Open CASCADE", 12) == 0)
    snprintf(name, 128, "%s %zu", what, n);
  else
    snprintf(name, 128, "%s", last);
  gmshFree(label);
}

static sp_status add_group(const char *path, int dimension, int *numbers, size_t count,
                           size_t group, const char *name) {
  int error;
#ifdef SP_GMSH_GROUP_NAMED
  gmshModelAddPhysicalGroup(dimension, numbers, count, (int)group, name, &error);
#else
  gmshModelAddPhysicalGroup(dimension, numbers, count, (int)group, &error);
  if (!error) gmshModelSetPhysicalName(dimension, (int)group, name, &error);
#endif
  return error ? sp_gmsh_failed(path, "name a group") : SP_OK;
}

/* Make touching bodies share their faces: pieces[b] of count[b] ints becomes body b. */
static sp_status fragment_bodies(const char *path, const sp_gmsh_tags *bodies, int ***pieces,
                                 size_t **count, size_t *pieces_count) {
  int *all = NULL, error;
  size_t all_count = 0;
  gmshModelOccFragment(bodies->list, bodies->count, NULL, 0, &all, &all_count, pieces, count,
                       pieces_count, -1, 1, 1, &error);
  gmshFree(all);
  if (!error) gmshModelOccSynchronize(&error);
  return error ? sp_gmsh_failed(path, "join the bodies where they touch") : SP_OK;
}

/* Add a group per body, of its pieces if it was fragmented. */
static sp_status group_bodies(const char *path, const sp_gmsh_tags *bodies) {
  const size_t count = bodies->count / 2;
  char(*names)[128];
  int **pieces = NULL;
  size_t *piece_counts = NULL, pieces_count = 0;
  SP_TRY(sp_allocate(count, sizeof *names, "names of bodies", &names));
  for (size_t b = 0; b < count; b++)
    name_entity(3, bodies->list[2 * b + 1], "volume", b + 1, names[b]);
  sp_status status = SP_OK;
  if (count > 1) status = fragment_bodies(path, bodies, &pieces, &piece_counts, &pieces_count);
  for (size_t b = 0; b < count && !status; b++) {
    int *numbers = &bodies->list[2 * b + 1];
    size_t n = 1;
    if (count > 1) {
      numbers = pieces[b];
      for (n = 0; n < piece_counts[b] / 2; n++) numbers[n] = numbers[2 * n + 1];
    }
    status = add_group(path, 3, numbers, n, b + 1, names[b]);
  }
  for (size_t b = 0; b < pieces_count; b++) gmshFree(pieces[b]);
  gmshFree(pieces);
  gmshFree(piece_counts);
  free(names);
  return status;
}

/* Add a group per face; *curved is true if a face is not plane. */
static sp_status group_faces(const char *path, bool *curved) {
  sp_gmsh_tags faces = {0};
  sp_status status = sp_gmsh_list(path, 2, &faces);
  *curved = false;
  for (size_t f = 0; f < faces.count / 2 && !status; f++) {
    int *number = &faces.list[2 * f + 1];
    char name[128];
    name_entity(2, *number, "surface", f + 1, name);
    status = add_group(path, 2, number, 1, f + 1, name);
    *curved = *curved || !sp_gmsh_is_plane(*number);
  }
  gmshFree(faces.list);
  return status;
}

/* Refuse a size with more hexahedra than a rank can hold, for example in a wrong unit: gmsh would
 * fill the memory. A tetrahedron with edges h has the volume h^3 / 8.5. */
static sp_status check_size(const char *path, double size) {
  sp_gmsh_tags bodies = {0};
  double volume = 0;
  SP_TRY(sp_gmsh_list(path, 3, &bodies));
  for (size_t b = 1; b < bodies.count; b += 2)
    volume += fmax(0, sp_gmsh_mass(3, bodies.list[b])); /* 0 for NaN */
  gmshFree(bodies.list);
  const double count = 8.5 * volume / (size * size * size);
  if (!(size > 0 && count > SP_LID_MAX / 4)) return SP_OK;
  const char *unit = sp_gmsh_unit(path);
  return sp_fail(SP_ERR_INPUT,
                 "%s: mesh.size = %.4g%s%s would give about %.1g tetrahedra, for a volume of "
                 "%.4g%s%s%s: give it in %s, or larger",
                 path, size, *unit ? " " : "", unit, count, volume, *unit ? " " : "", unit,
                 *unit ? "^3" : "", *unit ? unit : "the unit of the file");
}

sp_status sp_gmsh_generate(sp_gmsh_model *m) {
  int error, unused;
  const double start = gmshLoggerGetWallTime(&unused);
  gmshModelMeshGenerate(3, &error);
  m->mesher_seconds = gmshLoggerGetWallTime(&unused) - start;
  return error ? sp_gmsh_failed(m->path, "mesh the geometry") : SP_OK;
}

void sp_gmsh_cad_describe(sp_gmsh_model *m) {
  sp_gmsh_entity *entity = &m->entities[m->entity_count - 1];
  if (entity->dimension == 2) entity->is_plane = sp_gmsh_is_plane(entity->tag);
  if (entity->dimension == 3) entity->kernel_volume = fmax(0, sp_gmsh_mass(3, entity->tag));
}

void sp_gmsh_cad_compare(sp_gmsh_model *m) {
  double lower[3], upper[3], worst = 0;
  sp_hexes_cad *cad = &m->cad;
  for (int d = 0; d < 3; d++) {
    lower[d] = INFINITY, upper[d] = -INFINITY;
    for (size_t p = 0; p < m->point_count; p++) {
      lower[d] = fmin(lower[d], m->points[p].xyz[d]);
      upper[d] = fmax(upper[d], m->points[p].xyz[d]);
    }
    cad->extent[d] = upper[d] - lower[d];
  }
  for (sp_gmsh_entity *e = m->entities; e < m->entities + m->entity_count; e++) {
    const double difference = fabs(e->volume - e->kernel_volume);
    if (e->kernel_volume == 0 || difference <= worst * e->kernel_volume) continue;
    worst = difference / e->kernel_volume;
    cad->volume = e->volume;
    cad->kernel_volume = e->kernel_volume;
    snprintf(cad->body, sizeof cad->body, "%s",
             e->group_count > 0 ? sp_gmsh_group_name(m, 3, e->groups[0]) : "");
    cad->pieces = 0;
    for (size_t i = 0; i < m->entity_count; i++)
      cad->pieces += m->entities[i].dimension == 3 && m->entities[i].group_count > 0 &&
                     e->group_count > 0 && m->entities[i].groups[0] == e->groups[0];
  }
}

/* The default size of gmsh: a tenth of the diagonal. */
static double default_size(void) {
  double lower[3], upper[3], square = 0;
  int error;
  gmshModelGetBoundingBox(-1, -1, &lower[0], &lower[1], &lower[2], &upper[0], &upper[1], &upper[2],
                          &error);
  for (int d = 0; d < 3; d++) square += pow(upper[d] - lower[d], 2);
  return error ? 0 : sqrt(square) / 10;
}

/* Choose the bodies that are swept and, if the case gives no size, sizes from gaps. */
static sp_status prepare_bodies(const sp_gmsh_sizes *sizes, sp_gmsh_model *m) {
  const double size = sizes->largest > 0 ? sizes->largest : default_size();
  sp_gmsh_tags bodies = {0}, faces = {0};
  sp_status status = sp_gmsh_list(m->path, 3, &bodies);
  if (!status) status = sp_gmsh_list(m->path, 2, &faces);
  if (!status) status = sp_gmsh_sweeps_find(m, &bodies, size);
  if (!status && sizes->largest == 0) status = sp_gmsh_gaps(m, &faces, size);
  gmshFree(bodies.list);
  gmshFree(faces.list);
  return status;
}

sp_status sp_gmsh_cad_mesh(const sp_gmsh_sizes *sizes, sp_gmsh_model *m) {
  const char *path = m->path;
  sp_gmsh_tags bodies = {0};
  bool curved;
  int error;
  gmshOpen(path, &error);
  if (error) return sp_gmsh_failed(path, "read the file");
  sp_status status = sp_gmsh_list(path, 3, &bodies);
  if (!status && bodies.count == 0)
    status = sp_fail(SP_ERR_INPUT,
                     "%s: no solid body in this file: export closed solids, no surfaces", path);
  if (!status) status = group_bodies(path, &bodies);
  gmshFree(bodies.list);
  if (!status) status = group_faces(path, &curved);
  if (!status) status = check_size(path, sizes->largest);
  if (!status) status = prepare_bodies(sizes, m);
  SP_TRY(status);
  if (sizes->largest > 0) gmshOptionSetNumber("Mesh.MeshSizeMax", sizes->largest, &error);
  gmshOptionSetNumber("Mesh.MeshSizeMin", sizes->smallest, &error);
  gmshOptionSetNumber("Mesh.MeshSizeFromCurvature", sizes->per_circle, &error);
  gmshOptionSetNumber("Mesh.ElementOrder", curved ? 2 : 1, &error);
  gmshOptionSetNumber("Mesh.HighOrderOptimize", 0, &error); /* curve.c has the reason */
  return sp_gmsh_generate(m);
}
