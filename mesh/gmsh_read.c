#define _GNU_SOURCE /* memfd_create, memmem */
#include "mesh/gmsh_read.h"

#include <errno.h>
#include <gmshc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mesh/divide.h"
#include "mesh/entity.h"
#include "mesh/gmsh_model.h"
#include "mesh/metis.h"

static void initialize(int *error) {
#ifdef SP_GMSH_INITIALIZE_RUN
  gmshInitialize(0, NULL, 0, 0, error);
#else
  gmshInitialize(0, NULL, 0, error);
#endif
  if (!*error) gmshOptionSetNumber("General.Terminal", 0, error);
}

const char *sp_gmsh_sdk_version(void) {
  static char version[32] = "unknown";
  char *text = NULL;
  int error;
  initialize(&error);
  if (error) return version;
  gmshOptionGetString("General.Version", &text, &error);
  if (!error && text) snprintf(version, sizeof version, "%s", text);
  if (text) gmshFree(text);
  gmshFinalize(&error);
  return version;
}

/* Open the copy of a file (mesh/gmsh_format4.h) from memory, never from a disk. */
static sp_status open_copy(const sp_gmsh_file *file, int *error) {
  const char *start = file->format4.copy, *end = start + file->format4.copy_size;
  char name[64];
  /* The SDK recognises a file by its start, but the user's own sections may come first: skip them.
   */
  start = memmem(start, file->format4.copy_size, "$MeshFormat", strlen("$MeshFormat"));
  const int copy = memfd_create("mesh", 0);
  if (copy < 0)
    return sp_fail(SP_ERR_SYSTEM, "%s: cannot copy it: %s", file->path, strerror(errno));
  ssize_t written = 1;
  while (start < end && written > 0) {
    written = write(copy, start, (size_t)(end - start));
    start += written;
  }
  sp_status status = SP_OK;
  if (written <= 0)
    status = sp_fail(SP_ERR_SYSTEM, "%s: cannot copy it: %s", file->path, strerror(errno));
  snprintf(name, sizeof name, "/proc/self/fd/%d", copy);
  if (!status) gmshOpen(name, error);
  close(copy);
  return status;
}

static sp_status open_model(const sp_gmsh_file *file, const sp_gmsh_sizes *sizes) {
  const char *path = file->path;
  int error;
  /* Parts of format 2 are not used, and the SDK fails if all elements are in one. */
  gmshOptionSetNumber("Mesh.PartitionConvertMsh2", 0, &error);
  if (sp_gmsh_is_cad(path)) return sp_gmsh_cad_mesh(path, sizes);
  if (file->format4.copy)
    SP_TRY(open_copy(file, &error));
  else
    gmshOpen(path, &error);
  if (error) {
    const sp_status status = sp_gmsh_failed(path, "read the file");
    if (file->version == 0) return status;
    return sp_fail(status, "%s; is the file damaged or cut short?", sp_error_message());
  }
  if (sp_gmsh_ends_with(path, ".geo") || sp_gmsh_ends_with(path, ".geo_unrolled")) {
    gmshModelMeshGenerate(3, &error);
    if (error) return sp_gmsh_failed(path, "mesh the geometry");
  }
  return SP_OK;
}

/* `named`: [points], true for corners of named faces. Other faces, which are most, need no search.
 */
static void fill_hexes(const sp_gmsh_cells *all, const sp_gmsh_points *points,
                       const sp_gmsh_boundary *b, const bool *named, sp_hexes *hexes) {
  const size_t n = sp_hexes_lattice_size(hexes);
  for (size_t e = 0; e < all->count; e++) {
    const size_t *nodes = &all->nodes[e * n];
    bool corner_named[SP_CORNERS];
    for (size_t p = 0; p < n; p++)
      if (nodes[p] > 0)
        memcpy(&hexes->lattice[3 * (e * n + p)],
               points->list[sp_gmsh_points_find(points, nodes[p])].xyz, 3 * sizeof(double));
    for (int c = 0; c < SP_CORNERS; c++) {
      const size_t tag = nodes[sp_corner_node(all->order, c)];
      hexes->vertices[e][c] = (sp_gid)tag - 1;
      corner_named[c] = tag > 0 && named[sp_gmsh_points_find(points, tag)];
    }
    const sp_cell_shape shape = sp_cell_shape_of(hexes->vertices[e]);
    hexes->tags[e] = all->tags[e];
    hexes->volumes[e] = all->volumes[e];
    for (int f = 0; f < SP_FACES; f++) {
      int corners[4];
      size_t face[4] = {0};
      const int count = sp_cell_face(shape, f, corners);
      bool candidate = count > 0;
      for (int c = 0; c < count; c++) {
        face[c] = nodes[sp_corner_node(all->order, corners[c])];
        candidate = candidate && corner_named[corners[c]];
      }
      hexes->surfaces[e][f] = candidate ? sp_gmsh_boundary_find(b, face) : SP_SURFACE_INTERIOR;
    }
  }
}

static sp_status make_hexes(const sp_gmsh_file *file, const sp_gmsh_cells *all,
                            const sp_gmsh_volumes *volumes, const sp_gmsh_boundary *b,
                            sp_hexes **out) {
  sp_gmsh_points points;
  bool *named = NULL;
  SP_TRY(sp_gmsh_points_read(file, &points));
  sp_status status = sp_gmsh_cells_check(file->path, all, &points);
  if (!status)
    status = sp_hexes_create((sp_gid)all->count, all->order, b->number_count + b->union_count,
                             (int)(b->group_count / 2), out);
  if (!status) status = sp_gmsh_boundary_set_groups(file, b, *out);
  if (!status) status = sp_gmsh_volumes_set_groups(file, volumes, *out);
  if (!status) status = sp_allocate(points.count, sizeof *named, "boundary nodes", &named);
  if (!status) {
    for (size_t f = 0; f < b->face_count; f++)
      for (int c = 0; c < 4; c++) {
        const size_t place = sp_gmsh_points_find(&points, b->faces[f].nodes[c]);
        if (place < points.count) named[place] = true;
      }
    fill_hexes(all, &points, b, named, *out);
    (*out)->file.left_out = all->left_out;
  }
  sp_gmsh_points_free(&points);
  free(named);
  return status;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Read one part of a split mesh; files = 0: unsplit. */
static sp_status read_model(sp_gmsh_file *file, const sp_gmsh_sizes *sizes, int files,
                            sp_hexes **hexes) {
  sp_gmsh_cells all = {0};
  sp_gmsh_volumes volumes = {0};
  sp_gmsh_boundary b = {0};
  const double start = seconds();
  sp_status status = open_model(file, sizes);
  const double read_seconds = seconds() - start;
  if (!status) status = sp_gmsh_volumes_read(file->path, &volumes);
  if (!status) status = sp_gmsh_cells_read(file, files, &volumes, &all);
  if (!status) status = sp_gmsh_boundary_read(file, &b);
  if (!status) status = sp_gmsh_file_check_returned(file);
  if (!status) status = make_hexes(file, &all, &volumes, &b, hexes);
  if (!status) (*hexes)->file.read_seconds = read_seconds;
  sp_gmsh_cells_free(&all);
  sp_gmsh_volumes_free(&volumes);
  sp_gmsh_boundary_free(&b);
  return status;
}

sp_status sp_gmsh_read(const char *path, const sp_gmsh_sizes *sizes, int size, sp_hexes **hexes,
                       int **parts) {
  sp_gmsh_file file;
  int error;
  initialize(&error);
  if (error) return sp_fail(SP_ERR_SYSTEM, "gmsh could not be initialized");
  sp_status status = sp_gmsh_file_read(path, &file);
  if (!status) status = read_model(&file, sizes, parts ? 0 : size, hexes);
  if (!status && parts) {
    const double start = seconds();
    status = sp_allocate((size_t)(*hexes)->count, sizeof **parts, "partition", parts);
    gmshClear(&error);
    if (!status) status = sp_metis_divide(*hexes, size, *parts);
    if (status) status = sp_fail(status, "%s: %s", path, sp_error_message());
    if (size > 1) (*hexes)->file.metis_seconds = seconds() - start;
  }
  sp_gmsh_file_free(&file);
  gmshFinalize(&error);
  return status;
}

/* The SDK allocates memory for any count that a damaged file gives. The limit is far above the need
 * of a sound file of this size. A .geo has no limit: a short one may make a large mesh. */
static void limit_memory(const char *path) {
  enum { LEAST = 1 << 30, TIMES_FILE = 300 };
  struct stat file;
  unsigned long pages = 0;
  if (!sp_gmsh_ends_with(path, ".msh") || stat(path, &file)) return;
  FILE *taken = fopen("/proc/self/statm", "r"); /* libraries, and a sanitizer's own memory */
  if (!taken) return;
  const bool known = fscanf(taken, "%lu", &pages) == 1;
  fclose(taken);
  const rlim_t bytes =
      (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + LEAST + TIMES_FILE * (rlim_t)file.st_size;
  struct rlimit limit;
  if (!known || getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur <= bytes) return;
  limit.rlim_cur = bytes;
  setrlimit(RLIMIT_AS, &limit);
}

void sp_gmsh_serve(sp_gmsh_wire *wire, bool whole, int size, const char *path,
                   const sp_gmsh_sizes *sizes) {
  sp_hexes *hexes = NULL;
  int *parts = NULL;
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* a crash is expected */
  limit_memory(path);
  const sp_status status = sp_gmsh_read(path, sizes, size, &hexes, whole ? &parts : NULL);
  sp_gmsh_send(wire, status, hexes, parts);
}
