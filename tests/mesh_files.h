/* Shared by the tests of mesh files, which run in a folder of their own: files and meshes. */
#pragma once

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/geometry.h"
#include "mesh/gmsh/gmsh.h"
#include "mesh/mesh.h"
#include "tests/check.h"
#include "tests/folders.h"

static inline const char *fixture(const char *name) {
  return test_text("%s/%s", test_fixtures(), name);
}

/* Exterior faces and their area by group; the last entry is for faces in no group. */
enum { MOST_GROUPS = 32, UNNAMED = MOST_GROUPS - 1 };
typedef struct sizes {
  double volume, area[MOST_GROUPS];
  sp_gid faces[MOST_GROUPS];
} sizes;

static inline sizes measure(const sp_mesh *mesh) {
  const sp_hexes *hexes = mesh->hexes;
  sizes local = {0}, all = {0};
  enum { MOST = SP_MAX_RULE };
  static double factors[SP_FACTORS * MOST * MOST * MOST], xyz[3 * MOST * MOST],
      normal[3 * MOST * MOST];
  sp_rule rule; /* |J| of a map of degree g is of degree 3 g - 1 in each direction */
  sp_rule_gl((3 * hexes->map_order + 1) / 2, &rule);
  const int n = rule.n;
  CHECK(hexes->surface.group_count <= UNNAMED, "%d groups", hexes->surface.group_count);
  for (sp_lid e = 0; e < hexes->count; e++) {
    CHECK_OK(sp_geometry_factors(hexes, e, &rule, factors));
    for (int q = 0; q < n * n * n; q++) local.volume += factors[SP_G_WJ * n * n * n + q];
    for (int f = 0; f < SP_FACES; f++) {
      const int surface = hexes->surfaces[e][f];
      if (surface == SP_SURFACE_INTERIOR) continue;
      double area = 0;
      sp_geometry_face(hexes, e, f, &rule, xyz, normal);
      for (int q = 0; q < n * n; q++)
        area += sqrt(normal[q] * normal[q] + normal[n * n + q] * normal[n * n + q] +
                     normal[2 * n * n + q] * normal[2 * n * n + q]);
      int named = 0;
      for (int g = 0; g < hexes->surface.group_count && surface >= 0; g++)
        if (sp_group_has(&hexes->surface.groups[g], surface)) {
          named++;
          local.faces[g]++;
          local.area[g] += area;
        }
      if (named) continue;
      local.faces[UNNAMED]++;
      local.area[UNNAMED] += area;
    }
  }
  MPI_Allreduce(&local.volume, &all.volume, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(local.area, all.area, MOST_GROUPS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(local.faces, all.faces, MOST_GROUPS, SP_MPI_GID, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static inline int find_group(const sp_hexes *hexes, const char *name, int number) {
  for (int g = 0; g < hexes->surface.group_count; g++)
    if (strcmp(hexes->surface.groups[g].name, name) == 0 &&
        (number == 0 || hexes->surface.groups[g].number == number))
      return g;
  CHECK(0, "no group '%s' %d", name, number);
  return UNNAMED - 1;
}

static inline sp_mesh *read_mesh(const char *path) {
  sp_hexes *hexes = NULL;
  sp_mesh *mesh = NULL;
  CHECK_OK(sp_gmsh_hexes(MPI_COMM_WORLD, path, NULL, NULL, &hexes));
  if (!hexes) return NULL;
  CHECK(hexes->count > 0, "rank %d has no elements of %s", world_rank, path);
  CHECK(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh) == SP_OK, "%s: %s", path, sp_error_message());
  return mesh;
}

/* Nodes come with 16 digits in all formats; sums of some 60 terms of order 0.1. */
static const double TOLERANCE = 1000 * DBL_EPSILON;

/* Every rank gets the same status, and a message with the path and the phrase. */
static inline void check_refused(const char *path, const char *phrase) {
  sp_hexes *hexes = NULL;
  sp_mesh *mesh = NULL;
  sp_status status = sp_gmsh_hexes(MPI_COMM_WORLD, path, NULL, NULL, &hexes);
  const bool read = status == SP_OK;
  if (read) status = sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh);
  CHECK(!hexes && !mesh, "%s: something is left after a failure", path);
  check_refusal(path, status, TEXTS(phrase, read ? phrase : path));
  sp_hexes_destroy(&hexes);
  sp_mesh_destroy(&mesh);
}

/* A mesh file in memory: text, and numbers in one of three encodings. */
typedef enum encoding_kind { ASCII, BINARY, SWAPPED, ENCODINGS } encoding_kind;
typedef struct mesh_text {
  char bytes[16384];
  size_t size;
  encoding_kind encoding;
} mesh_text;

static inline void put(mesh_text *t, const void *bytes, size_t size) {
  if (t->size + size > sizeof t->bytes) abort();
  memcpy(t->bytes + t->size, bytes, size);
  t->size += size;
}

__attribute__((format(printf, 2, 3))) static inline void say(mesh_text *t, const char *format,
                                                             ...) {
  va_list arguments;
  va_start(arguments, format);
  t->size += (size_t)vsnprintf(t->bytes + t->size, sizeof t->bytes - t->size, format, arguments);
  va_end(arguments);
  if (t->size >= sizeof t->bytes) abort();
}

/* An integer of `width` bytes, or its digits and a space. */
static inline void put_integer(mesh_text *t, size_t width, long long value) {
  char bytes[8];
  if (t->encoding == ASCII) say(t, "%lld ", value);
  for (size_t b = 0; b < width; b++)
    bytes[b] = (char)(value >> 8 * (t->encoding == SWAPPED ? width - 1 - b : b) & 255);
  if (t->encoding != ASCII) put(t, bytes, width);
}

static inline void put_real(mesh_text *t, double value) {
  long long bits;
  memcpy(&bits, &value, sizeof bits);
  if (t->encoding == ASCII)
    say(t, "%.17g ", value);
  else
    put_integer(t, sizeof bits, bits);
}

/* The end of a node or element, and of all nodes or elements. */
static inline void end_line(mesh_text *t) {
  if (t->encoding == ASCII) say(t, "\n");
}

static inline void end_lines(mesh_text *t) {
  if (t->encoding != ASCII) say(t, "\n");
}
