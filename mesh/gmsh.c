#include "mesh/gmsh.h"

#include <errno.h>
#include <gmshc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "mesh/gmsh_child.h"
#include "mesh/gmsh_model.h"
#include "mesh/partition.h"
#include "mesh/topology.h"

static void initialize(int *error) {
#ifdef SP_GMSH_INITIALIZE_RUN
  gmshInitialize(0, NULL, 0, 0, error);
#else
  gmshInitialize(0, NULL, 0, error);
#endif
}

const char *sp_gmsh_version(void) {
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

sp_status sp_gmsh_failed(const char *path, const char *what) {
  char *reason = NULL;
  int error;
  gmshLoggerGetLastError(&reason, &error);
  const bool known = !error && reason && reason[0];
  const sp_status status = sp_fail(SP_ERR_INPUT, "%s: gmsh could not %s%s%s", path, what,
                                   known ? ": " : "", known ? reason : "");
  if (reason) gmshFree(reason);
  return status;
}

static bool ends_with(const char *text, const char *end) {
  const size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

/* gmsh takes what does not begin as a .msh file for a script. */
static sp_status check_head(const char *path, FILE *stream) {
  char line[64] = "";
  double version = 0;
  bool comments = true;
  while (comments && fgets(line, sizeof line, stream)) comments = line[0] == '\n';
  /* A file may begin with sections of the user's own. */
  if (line[0] != '$' || strchr(line, '\n') == NULL)
    return sp_fail(SP_ERR_INPUT,
                   "%s:1: expected a gmsh mesh, which begins with a line $MeshFormat; is the file "
                   "damaged or cut short?",
                   path);
  if (strncmp(line, "$MeshFormat", 11) != 0) return SP_OK;
  if (fscanf(stream, "%lf", &version) != 1 || version < 2 || version >= 5)
    return sp_fail(SP_ERR_INPUT,
                   "%s:2: expected the version of the format, 2.2 or 4.1; is the file damaged or "
                   "cut short?",
                   path);
  return SP_OK;
}

/* gmsh answers a missing or empty file with an empty model and no error: look first. */
static sp_status check_file(const char *path) {
  struct stat file;
  if (stat(path, &file)) return sp_fail(SP_ERR_INPUT, "%s: %s", path, strerror(errno));
  if (S_ISDIR(file.st_mode))
    return sp_fail(SP_ERR_INPUT, "%s: is a directory, expected a mesh file", path);
  if (file.st_size == 0) return sp_fail(SP_ERR_INPUT, "%s: the file is empty", path);
  FILE *stream = fopen(path, "rb");
  if (!stream) return sp_fail(SP_ERR_INPUT, "%s: %s", path, strerror(errno));
  const sp_status status = ends_with(path, ".msh") ? check_head(path, stream) : SP_OK;
  fclose(stream);
  return status;
}

static sp_status open_model(const char *path) {
  int error;
  gmshOptionSetNumber("General.Terminal", 0, &error);
  gmshOpen(path, &error);
  if (error) {
    const sp_status status = sp_gmsh_failed(path, "read the file");
    if (!ends_with(path, ".msh")) return status;
    return sp_fail(status, "%s; is the file damaged or cut short?", sp_error_message());
  }
  if (ends_with(path, ".geo") || ends_with(path, ".geo_unrolled")) {
    gmshModelMeshGenerate(3, &error);
    if (error) return sp_gmsh_failed(path, "mesh the geometry");
  }
  return SP_OK;
}

void sp_gmsh_block_free(sp_gmsh_block *b) {
  for (size_t t = 0; t < b->type_count; t++) {
    gmshFree(b->tags[t]);
    gmshFree(b->nodes[t]);
  }
  gmshFree(b->types);
  gmshFree(b->tags);
  gmshFree(b->nodes);
  gmshFree(b->tag_counts);
  gmshFree(b->node_counts);
}

sp_status sp_gmsh_block_get(const char *path, int dimension, int entity, sp_gmsh_block *b) {
  int error;
  *b = (sp_gmsh_block){0};
  gmshModelMeshGetElements(&b->types, &b->type_count, &b->tags, &b->tag_counts, &b->unused,
                           &b->nodes, &b->node_counts, &b->unused, dimension, entity, &error);
  return error ? sp_gmsh_failed(path, "list the elements") : SP_OK;
}

/* What a type of element is; `lattice` is [nodes], each node's place in the lattice of order^3, or
 * NULL if the nodes are not a full lattice. The SDK's reference coordinates decide; no table is
 * hard-coded. */
typedef struct element_type {
  char name[64];
  int order, nodes;
  int *lattice;
} element_type;

static sp_status type_get(const char *path, int type, element_type *out) {
  char *name = NULL;
  double *coordinates = NULL;
  size_t coordinate_count;
  int dimension, primary, error;
  *out = (element_type){0};
  gmshModelMeshGetElementProperties(type, &name, &dimension, &out->order, &out->nodes, &coordinates,
                                    &coordinate_count, &primary, &error);
  if (error) return sp_gmsh_failed(path, "describe an element type");
  snprintf(out->name, sizeof out->name, "%s", name);
  const int n = out->order + 1;
  sp_status status = SP_OK;
  if (dimension == 3 && primary == SP_CORNERS && out->nodes == n * n * n) {
    status = sp_allocate((size_t)out->nodes, sizeof *out->lattice, "element type", &out->lattice);
    for (int p = 0; p < out->nodes && !status; p++) {
      int place[3];
      for (int d = 0; d < 3; d++)
        place[d] = (int)lround((coordinates[3 * p + d] + 1) / 2 * out->order);
      out->lattice[p] = (place[2] * n + place[1]) * n + place[0];
    }
  }
  gmshFree(name);
  gmshFree(coordinates);
  return status;
}

/* A split file lists the neighbours' elements too, in entities of their own. */
static bool is_ghost(int volume) {
  char *type = NULL;
  int error;
  gmshModelGetType(3, volume, &type, &error);
  const bool ghost = !error && type && strncmp(type, "Ghost", 5) == 0;
  gmshFree(type);
  return ghost;
}

/* Entities of dimension 3 to read. */
static sp_status list_volumes(const char *path, int **volumes, size_t *count) {
  int *pairs = NULL, *groups = NULL, error;
  size_t pair_count = 0, group_count = 0;
  *count = 0;
  gmshModelGetEntities(&pairs, &pair_count, 3, &error);
  if (error) return sp_gmsh_failed(path, "list the volumes");
  gmshModelGetPhysicalGroups(&groups, &group_count, -1, &error);
  if (error) {
    gmshFree(pairs);
    return sp_gmsh_failed(path, "list the physical groups");
  }
  /* A .msh file holds what was chosen when it was saved; for a .geo the same choice is made here.
   */
  const bool choose = group_count > 0 && !ends_with(path, ".msh");
  const sp_status status = sp_allocate(pair_count / 2, sizeof **volumes, "volumes", volumes);
  for (size_t p = 0; p < pair_count && !status; p += 2) {
    bool wanted = true;
    if (choose) {
      int *tags = NULL;
      size_t tag_count = 0;
      gmshModelGetPhysicalGroupsForEntity(3, pairs[p + 1], &tags, &tag_count, &error);
      wanted = !error && tag_count > 0;
      gmshFree(tags);
    }
    if (wanted && !is_ghost(pairs[p + 1])) (*volumes)[(*count)++] = pairs[p + 1];
  }
  gmshFree(pairs);
  gmshFree(groups);
  return status;
}

/* The hexahedra of the model as node tags (from 1) in lattice order. */
typedef struct cells {
  int order;
  size_t count;
  size_t *nodes; /* [count][(order+1)^3] */
  sp_gid *tags;  /* [count] */
} cells;

static sp_status append_cells(const sp_gmsh_block *b, size_t t, const element_type *type,
                              cells *all) {
  const size_t added = b->tag_counts[t], n = (size_t)type->nodes;
  void *nodes = realloc(all->nodes, (all->count + added) * n * sizeof *all->nodes);
  if (nodes) all->nodes = nodes;
  void *tags = realloc(all->tags, (all->count + added) * sizeof *all->tags);
  if (tags) all->tags = tags;
  if (!nodes || !tags) return sp_fail(SP_ERR_SYSTEM, "out of memory: %zu elements", added);
  for (size_t e = 0; e < added; e++) {
    for (size_t p = 0; p < n; p++)
      all->nodes[(all->count + e) * n + (size_t)type->lattice[p]] = b->nodes[t][e * n + p];
    all->tags[all->count + e] = (sp_gid)b->tags[t][e];
  }
  all->order = type->order;
  all->count += added;
  return SP_OK;
}

static sp_status append_block(const char *path, const sp_gmsh_block *b, cells *all) {
  for (size_t t = 0; t < b->type_count; t++) {
    element_type type;
    sp_status status = type_get(path, b->types[t], &type);
    const long long count = (long long)b->tag_counts[t];
    if (!status && !type.lattice)
      status = sp_fail(SP_ERR_INPUT,
                       "%s: %lld elements of type '%s' (the first is element %lld); only hexahedra "
                       "with a full lattice of nodes (8, 27, 64 ...) can be used: mesh all volumes "
                       "with transfinite or recombined hexahedra",
                       path, count, type.name, (long long)b->tags[t][0]);
    else if (!status && all->count > 0 && all->order != type.order)
      status =
          sp_fail(SP_ERR_INPUT, "%s: hexahedra of order %d and %d; all must have the same order",
                  path, all->order, type.order);
    else if (!status)
      status = append_cells(b, t, &type, all);
    free(type.lattice);
    if (status) return status;
  }
  return SP_OK;
}

static sp_status no_hexahedra(const char *path) {
  int *groups = NULL, error;
  size_t count = 0;
  bool volume = false;
  gmshModelGetPhysicalGroups(&groups, &count, -1, &error);
  for (size_t g = 0; g < count; g += 2) volume = volume || groups[g] == 3;
  gmshFree(groups);
  return sp_fail(
      SP_ERR_INPUT, "%s: no hexahedra in this file%s", path,
      count > 0 && !volume
          ? "; it names physical groups but no Physical Volume, and gmsh saves only what "
            "is named: add one, or set Mesh.SaveAll = 1"
          : "; expected a mesh of three-dimensional hexahedra");
}

static sp_status read_cells(const char *path, int files, cells *all) {
  int *volumes = NULL;
  size_t count;
  sp_status status = list_volumes(path, &volumes, &count);
  if (!status) status = sp_gmsh_check_complete(path, files, count, volumes);
  for (size_t v = 0; v < count && !status; v++) {
    sp_gmsh_block b;
    status = sp_gmsh_block_get(path, 3, volumes[v], &b);
    if (!status) {
      status = append_block(path, &b, all);
      sp_gmsh_block_free(&b);
    }
  }
  free(volumes);
  if (!status && all->count == 0) status = no_hexahedra(path);
  return status;
}

typedef struct corner_set {
  size_t nodes[SP_CORNERS]; /* ascending */
  size_t element;
} corner_set;

static int compare_sets(const void *left, const void *right) {
  const corner_set *a = left, *b = right;
  for (int c = 0; c < SP_CORNERS; c++)
    if (a->nodes[c] != b->nodes[c]) return a->nodes[c] < b->nodes[c] ? -1 : 1;
  return (a->element > b->element) - (a->element < b->element);
}

static int compare_sizes(const void *left, const void *right) {
  const size_t a = *(const size_t *)left, b = *(const size_t *)right;
  return (a > b) - (a < b);
}

/* Whether two elements have the same nodes, however turned. `room`: for 2 n numbers. */
static bool has_nodes_of(const cells *all, size_t n, size_t a, size_t b, size_t *room) {
  memcpy(room, &all->nodes[a * n], n * sizeof *room);
  memcpy(room + n, &all->nodes[b * n], n * sizeof *room);
  qsort(room, n, sizeof *room, compare_sizes);
  qsort(room + n, n, sizeof *room, compare_sizes);
  return memcmp(room, room + n, n * sizeof *room) == 0;
}

/* Format 2.2 lists an element once for each physical group of its volume. Others with the same
 * corners are curved ones that would be glued together on all sides: vertices name faces. */
static sp_status drop_repeated(const char *path, cells *all) {
  const size_t n = (size_t)((all->order + 1) * (all->order + 1) * (all->order + 1));
  corner_set *sets;
  bool *repeated = NULL;
  size_t *room = NULL;
  SP_TRY(sp_allocate(all->count, sizeof *sets, "element corners", &sets));
  sp_status status = sp_allocate(all->count, sizeof *repeated, "repeated elements", &repeated);
  if (!status) status = sp_allocate(2 * n, sizeof *room, "element nodes", &room);
  if (!status) {
    for (size_t e = 0; e < all->count; e++) {
      for (int c = 0; c < SP_CORNERS; c++)
        sets[e].nodes[c] = all->nodes[e * n + sp_hexes_corner_place(all->order, c)];
      qsort(sets[e].nodes, SP_CORNERS, sizeof(size_t), compare_sizes);
      sets[e].element = e;
    }
    qsort(sets, all->count, sizeof *sets, compare_sets);
    for (size_t s = 1; s < all->count && !status; s++) {
      const size_t e = sets[s].element, before = sets[s - 1].element;
      if (memcmp(sets[s].nodes, sets[s - 1].nodes, sizeof sets[s].nodes) != 0) continue;
      repeated[e] = true;
      if (!has_nodes_of(all, n, e, before, room))
        status = sp_fail(SP_ERR_INPUT,
                         "%s: elements %lld and %lld have the same corners, but other nodes "
                         "between: divide them, so that they share one face at most",
                         path, (long long)all->tags[before], (long long)all->tags[e]);
    }
    size_t kept = 0;
    for (size_t e = 0; e < all->count; e++) {
      if (repeated[e]) continue;
      memmove(&all->nodes[kept * n], &all->nodes[e * n], n * sizeof *all->nodes);
      all->tags[kept++] = all->tags[e];
    }
    all->count = kept;
  }
  free(sets);
  free(repeated);
  free(room);
  return status;
}

/* Tags without a point are damage that the SDK lets pass. */
static sp_status check_nodes(const char *path, const cells *all, const sp_gmsh_points *points) {
  const size_t n = (size_t)((all->order + 1) * (all->order + 1) * (all->order + 1));
  for (size_t i = 0; i < all->count * n; i++)
    if (sp_gmsh_points_find(points, all->nodes[i]) == points->count)
      return sp_fail(SP_ERR_INPUT, "%s: element %lld refers to node %zu, which does not exist",
                     path, (long long)all->tags[i / n], all->nodes[i]);
  return SP_OK;
}

/* `named` [points]: on a named face, which most faces of a mesh are not and then need no search. */
static void fill_hexes(const cells *all, const sp_gmsh_points *points, const sp_gmsh_boundary *b,
                       const bool *named, sp_hexes *hexes) {
  const size_t n = (size_t)sp_hexes_lattice_size(hexes);
  for (size_t e = 0; e < all->count; e++) {
    const size_t *nodes = &all->nodes[e * n];
    bool corner_named[SP_CORNERS];
    for (size_t p = 0; p < n; p++)
      memcpy(&hexes->lattice[3 * (e * n + p)],
             points->list[sp_gmsh_points_find(points, nodes[p])].xyz, 3 * sizeof(double));
    for (int c = 0; c < SP_CORNERS; c++) {
      const size_t tag = nodes[sp_hexes_corner_place(all->order, c)];
      hexes->vertices[e][c] = (sp_gid)tag - 1;
      corner_named[c] = named[sp_gmsh_points_find(points, tag)];
    }
    hexes->tags[e] = all->tags[e];
    for (int f = 0; f < SP_FACES; f++) {
      int corners[4];
      bool candidate = true;
      size_t face[4];
      sp_slot_corners(SP_FACE_SLOT + f, corners);
      for (int c = 0; c < 4; c++) {
        face[c] = nodes[sp_hexes_corner_place(all->order, corners[c])];
        candidate = candidate && corner_named[corners[c]];
      }
      hexes->surfaces[e][f] = candidate ? sp_gmsh_boundary_find(b, face) : SP_SURFACE_INTERIOR;
    }
  }
}

static sp_status make_hexes(const char *path, const cells *all, const sp_gmsh_boundary *b,
                            sp_hexes **out) {
  sp_gmsh_points points;
  bool *named = NULL;
  SP_TRY(sp_gmsh_points_read(path, &points));
  sp_status status = check_nodes(path, all, &points);
  if (!status)
    status = sp_hexes_create((sp_gid)all->count, all->order, b->entity_count + b->union_count,
                             (int)(b->group_count / 2), out);
  if (!status) status = sp_gmsh_boundary_set_groups(path, b, *out);
  if (!status) status = sp_allocate(points.count, sizeof *named, "boundary nodes", &named);
  if (!status) {
    for (size_t f = 0; f < b->face_count; f++)
      for (int c = 0; c < 4; c++) {
        const size_t place = sp_gmsh_points_find(&points, b->faces[f].nodes[c]);
        if (place < points.count) named[place] = true;
      }
    fill_hexes(all, &points, b, named, *out);
  }
  sp_gmsh_points_free(&points);
  free(named);
  return status;
}

/* One of so many files, or with 0 the whole. */
static sp_status read_model(const char *path, int files, sp_hexes **hexes) {
  cells all = {0};
  sp_gmsh_boundary b = {0};
  sp_status status = open_model(path);
  if (!status) status = read_cells(path, files, &all);
  if (!status) status = drop_repeated(path, &all);
  if (!status) status = sp_gmsh_boundary_read(path, &b);
  if (!status) status = make_hexes(path, &all, &b, hexes);
  free(all.nodes);
  free(all.tags);
  sp_gmsh_boundary_free(&b);
  return status;
}

/* See read_file(). */
static sp_status read_and_partition(const char *path, int size, sp_hexes **hexes, int **parts) {
  int error;
  initialize(&error);
  if (error) return sp_fail(SP_ERR_SYSTEM, "gmsh could not be initialized");
  sp_status status = read_model(path, parts ? 0 : size, hexes);
  if (!status && parts) {
    status = sp_allocate((size_t)(*hexes)->count, sizeof **parts, "partition", parts);
    if (!status) status = sp_gmsh_partition(path, *hexes, size, *parts);
  }
  gmshFinalize(&error);
  return status;
}

/* With `parts` also the part of each element, of `size` parts; without, one of `size` files. */
static sp_status read_file(const char *path, int size, sp_hexes **hexes, int **parts) {
  SP_TRY(check_file(path));
  return sp_gmsh_in_child(read_and_partition, path, size, hexes, parts);
}

/* Every rank reads its own file. */
static sp_status read_split(MPI_Comm comm, const char *path, int files, sp_hexes **out) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  char *part = NULL;
  if (files != size) {
    SP_TRY(sp_agree(comm, sp_gmsh_part_path(path, files + 1, &part)));
    sp_fail(SP_ERR_INPUT,
            "%s: the mesh is split into %d files (there is no %s), but there are %d ranks: run on "
            "%d, or split it for %d",
            path, files, part, size, files, size);
    free(part);
    return SP_ERR_INPUT;
  }
  sp_status status = sp_gmsh_part_path(path, rank + 1, &part);
  if (!status) status = sp_gmsh_check_part(part);
  if (!status) status = read_file(part, files, out, NULL);
  free(part);
  status = sp_agree(comm, status);
  return status ? status : sp_gmsh_unify(comm, path, *out);
}

bool sp_gmsh_is_split(const char *path) {
  int files = 0;
  return sp_gmsh_count_parts(path, &files) == SP_OK && files > 0;
}

sp_status sp_gmsh_hexes(MPI_Comm comm, const char *path, sp_hexes **out) {
  int rank, size, files = 0, *parts = NULL;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  *out = NULL;
  sp_status status = SP_OK;
  if (rank == 0) status = sp_gmsh_count_parts(path, &files);
  SP_TRY(sp_agree(comm, status));
  MPI_Bcast(&files, 1, MPI_INT, 0, comm);
  if (files > 0) {
    status = read_split(comm, path, files, out);
    if (status) sp_hexes_destroy(out);
    return status;
  }
  if (rank == 0) status = read_file(path, size, out, &parts);
  status = sp_agree(comm, status);
  if (status)
    sp_hexes_destroy(out);
  else
    status = sp_partition_distribute(comm, out, parts);
  free(parts);
  return status;
}
