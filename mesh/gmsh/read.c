#include "mesh/gmsh/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "io/hash.h"
#include "mesh/divide.h"
#include "mesh/partition.h"

/* ---- The file ---- */

static sp_status fail_damaged(const char *path, size_t line, const char *expected) {
  return sp_fail(SP_ERR_INPUT, "%s:%zu: expected %s; is the file damaged or cut short?", path, line,
                 expected);
}

/* Find the version of a mesh, behind $MeshFormat; 0 for other files. Custom sections may precede
 * it. */
static sp_status find_version(sp_scan s, double *version) {
  sp_span line = {0}, word;
  const char *ending = strrchr(s.path, '.');
  *version = 0;
  while (sp_scan_line(&s, &line) && line.at == line.end) continue;
  const bool mesh = line.at < line.end && *line.at == '$';
  const bool format1 = mesh && sp_span_begins(&line, "$NOD") && line.end == line.at + 4;
  bool found = mesh && sp_span_begins(&line, "$MeshFormat");
  while (mesh && !found && sp_scan_line(&s, &line)) found = sp_span_begins(&line, "$MeshFormat");
  if (!mesh && !(ending && strcmp(ending, ".msh") == 0)) return SP_OK;
  if (format1)
    return sp_fail(SP_ERR_INPUT,
                   "%s: this is gmsh's format 1, which is not read: convert it with `gmsh %s -save "
                   "-format msh41 -o NEW.msh`",
                   s.path, s.path);
  if (!found) return fail_damaged(s.path, 1, "a gmsh mesh, which begins with a line $MeshFormat");
  const size_t number = s.line + 1;
  if (sp_scan_line(&s, &line) && sp_span_word(&line, &word)) (void)sp_span_real(&word, version);
  if ((*version >= 2 && *version < 3) || (*version >= 4 && *version < 5)) return SP_OK;
  return fail_damaged(s.path, number, "the version of the format, 2.2 or 4.1");
}

/* Set *before; fail if it is set, for a repeated section `name`, of which gmsh keeps the last. */
static sp_status begin_once(const sp_scan *s, const char *name, bool *before) {
  char where[24];
  if (*before)
    return sp_fail(SP_ERR_INPUT, "%s%s: a second section %s: put all into one", s->path,
                   sp_scan_where(s, s->line, where), name);
  *before = true;
  return SP_OK;
}

/* Fail if a line outside sections ends a known section, whose first line must be damaged. */
static sp_status check_no_end(const sp_scan *s, const sp_span *line) {
  static const char *const ends[] = {"$EndPhysicalNames", "$EndEntities", "$EndPartitionedEntities",
                                     "$EndNodes", "$EndElements"};
  char where[24];
  for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
    if (sp_span_begins(line, ends[e]))
      return sp_fail(SP_ERR_INPUT, "%s%s: expected $%s before %s, found none", s->path,
                     sp_scan_where(s, s->line, where), ends[e] + strlen("$End"), ends[e]);
  return SP_OK;
}

sp_status sp_gmsh_read_sections(sp_scan *s, sp_gmsh_model *m) {
  bool format = false, names = false, nodes = false, elements = false;
  sp_span line;
  while (sp_scan_line(s, &line)) {
    const bool old = s->version < 4, parametric = old && sp_span_begins(&line, "$ParametricNodes");
    const bool partitioned = !old && sp_span_begins(&line, "$PartitionedEntities");
    const bool has_names = sp_span_begins(&line, "$PhysicalNames");
    const bool has_nodes = parametric || sp_span_begins(&line, "$Nodes");
    const bool has_elements = sp_span_begins(&line, "$Elements");
    const bool has_entities = partitioned || (!old && sp_span_begins(&line, "$Entities"));
    if ((has_names || has_nodes || has_elements || has_entities) && !format)
      return sp_fail(SP_ERR_INPUT, "%s:%zu: expected $MeshFormat before this section", s->path,
                     s->line);
    if (sp_span_begins(&line, "$MeshFormat")) {
      SP_TRY(begin_once(s, "$MeshFormat", &format));
      SP_TRY(sp_scan_format(s));
    } else if (has_names) {
      SP_TRY(begin_once(s, "$PhysicalNames", &names));
      SP_TRY(sp_gmsh_read_names(s, m));
    } else if (has_nodes) {
      SP_TRY(begin_once(s, "$Nodes", &nodes));
      SP_TRY(old ? sp_gmsh_format2_nodes(s, parametric, m) : sp_gmsh_format4_nodes(s, m));
    } else if (has_elements) {
      SP_TRY(begin_once(s, "$Elements", &elements));
      SP_TRY(old ? sp_gmsh_format2_elements(s, m) : sp_gmsh_format4_elements(s, m));
    } else if (has_entities) {
      SP_TRY(sp_gmsh_format4_entities(s, partitioned, m));
    } else if (old && (sp_span_begins(&line, "$NodeData") || sp_span_begins(&line, "$Element"))) {
      break; /* results of a solver: stop, as gmsh does */
    } else {
      SP_TRY(check_no_end(s, &line));
    }
  }
  return SP_OK;
}

/* The SDK would read a missing or empty file as an empty model, and any other file without a mesh's
 * start as a script. */
static sp_status read_model(const sp_gmsh_sizes *sizes, int files, sp_gmsh_model *m) {
  struct stat file;
  sp_scan s;
  if (stat(m->path, &file)) return sp_fail(SP_ERR_INPUT, "%s: %s", m->path, strerror(errno));
  if (S_ISDIR(file.st_mode))
    return sp_fail(SP_ERR_INPUT, "%s: is a directory, expected a mesh file", m->path);
  if (file.st_size == 0) return sp_fail(SP_ERR_INPUT, "%s: the file is empty", m->path);
  SP_TRY(sp_scan_open(m->path, &s));
  sp_status status = find_version(s, &m->version);
  s.version = m->version;
  if (!status && files > 0 && m->version < 4.05)
    status = sp_fail(SP_ERR_INPUT,
                     "%s: expected a part of a split mesh in format 4.1, found %g: split the mesh "
                     "with -format msh41",
                     m->path, m->version);
  if (!status && m->version > 0) status = sp_gmsh_read_sections(&s, m);
  sp_scan_close(&s);
  return !status && m->version == 0 ? sp_gmsh_sdk_read(sizes, m) : status;
}

/* ---- The faces in physical groups ---- */

/* A face in a physical group: its corner nodes as in sp_gmsh_cells, ascending (a triangle begins
 * with 0), and its surface. */
typedef struct named_face {
  size_t nodes[4];
  int surface;
  bool found; /* find_face has found it */
} named_face;

/* The faces in physical groups, sorted by their nodes. A face that is listed several times, once
 * per group, is in all these groups. Surfaces between the parts of a partitioned mesh are left out.
 */
typedef struct boundary {
  size_t count;
  named_face *faces;
} boundary;

static int compare_faces(const void *left, const void *right) {
  const named_face *a = left, *b = right;
  for (int c = 0; c < 4; c++)
    if (a->nodes[c] != b->nodes[c]) return a->nodes[c] < b->nodes[c] ? -1 : 1;
  return 0;
}

static int compare_listed(const void *left, const void *right) {
  const int order = compare_faces(left, right), a = ((const named_face *)left)->surface;
  return order ? order : a - ((const named_face *)right)->surface;
}

/* Sort the faces, and merge repeated ones. */
static sp_status merge_faces(sp_gmsh_sets *surfaces, boundary *b) {
  size_t kept = 0;
  qsort(b->faces, b->count, sizeof *b->faces, compare_listed);
  for (size_t f = 0; f < b->count; f++) {
    named_face *last = &b->faces[kept > 0 ? kept - 1 : 0];
    if (kept == 0 || compare_faces(last, &b->faces[f]) != 0)
      b->faces[kept++] = b->faces[f];
    else
      SP_TRY(sp_gmsh_sets_unite(surfaces, b->faces[f].surface, &last->surface));
  }
  b->count = kept;
  return SP_OK;
}

/* Fill *b. `surfaces` gains the surfaces. The caller frees b->faces, also after a failure. */
static sp_status read_boundary(const sp_gmsh_model *m, sp_gmsh_sets *surfaces, boundary *b) {
  int entity = -1, surface = 0;
  SP_TRY(sp_allocate(m->element_count, sizeof *b->faces, "boundary faces", &b->faces));
  for (size_t i = 0; i < m->element_count; i++) {
    const sp_gmsh_element *e = &m->elements[i];
    const sp_gmsh_entity *own = &m->entities[e->entity];
    if (own->dimension != 2 || own->group_count == 0) continue;
    if (e->entity != entity) SP_TRY(sp_gmsh_sets_find(surfaces, own, &surface));
    entity = e->entity;
    named_face *new = &b->faces[b->count++];
    *new = (named_face){.surface = surface};
    for (int c = 0; c < sp_gmsh_type_of(e->type)->corners; c++) /* corners are the first nodes */
      new->nodes[c] = m->nodes[e->first + (size_t)c] + 1;
    qsort(new->nodes, 4, sizeof(size_t), sp_gmsh_compare_sizes);
  }
  return merge_faces(surfaces, b);
}

/* The surface of the face with these corner nodes (one is 0 for a triangle); SP_SURFACE_INTERIOR
 * for none. */
static int find_face(boundary *b, const size_t nodes[4]) {
  named_face wanted;
  memcpy(wanted.nodes, nodes, sizeof wanted.nodes);
  qsort(wanted.nodes, 4, sizeof(size_t), sp_gmsh_compare_sizes);
  named_face *found = bsearch(&wanted, b->faces, b->count, sizeof wanted, compare_faces);
  if (!found) return SP_SURFACE_INTERIOR;
  found->found = true;
  return found->surface;
}

/* Count the faces of each group, and the ones that were not found. */
static sp_status count_faces(const boundary *b, sp_family *surfaces) {
  SP_OWNED sp_gid(*counts)[2] = NULL; /* of each surface */
  SP_TRY(sp_allocate((size_t)surfaces->count, sizeof *counts, "surfaces", &counts));
  for (size_t f = 0; f < b->count; f++) {
    counts[b->faces[f].surface][0]++;
    counts[b->faces[f].surface][1] += !b->faces[f].found;
  }
  for (int g = 0; g < surfaces->group_count; g++)
    for (int p = 0; p < surfaces->groups[g].part_count; p++) {
      const sp_gid *count = counts[surfaces->groups[g].parts[p]];
      surfaces->groups[g].listed += count[0];
      surfaces->groups[g].lost += count[1];
    }
  return SP_OK;
}

/* ---- Hexahedra ---- */

/* `named`: [points], true for corners of named faces; most other faces then need no search. */
static void fill_hexes(const sp_gmsh_cells *all, const sp_gmsh_point *points, boundary *b,
                       const bool *named, sp_hexes *hexes) {
  const size_t n = sp_hexes_lattice_size(hexes);
  for (size_t e = 0; e < all->count; e++) {
    const size_t *nodes = &all->nodes[e * n];
    for (size_t p = 0; p < n; p++)
      if (nodes[p] > 0)
        memcpy(&hexes->lattice[3 * (e * n + p)], points[nodes[p] - 1].xyz, 3 * sizeof(double));
    for (int c = 0; c < SP_CORNERS; c++) {
      const size_t node = nodes[sp_corner_node(all->order, c)];
      hexes->vertices[e][c] = node > 0 ? (sp_gid)points[node - 1].tag - 1 : -1;
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
        candidate = candidate && named[face[c] - 1];
      }
      hexes->surfaces[e][f] = candidate ? find_face(b, face) : SP_SURFACE_INTERIOR;
    }
  }
}

static uint64_t hash_hexes(const sp_hexes *hexes) {
  const size_t n = 3 * sp_hexes_lattice_size(hexes);
  uint64_t sum = 0;
  for (size_t e = 0; e < (size_t)hexes->count; e++) {
    uint64_t hash = sp_hash((uint64_t)hexes->tags[e]), word;
    for (int c = 0; c < SP_CORNERS; c++) hash = sp_hash_fold(hash, (uint64_t)hexes->vertices[e][c]);
    for (size_t i = 0; i < n; i++) {
      memcpy(&word, &hexes->lattice[e * n + i], sizeof word);
      hash = sp_hash_fold(hash, word);
    }
    sum += hash;
  }
  return sum;
}

static void swap_rows(void *a, void *b, size_t size) {
  char kept[3 * sizeof(double)];
  memcpy(kept, a, size);
  memcpy(a, b, size);
  memcpy(b, kept, size);
}

/* Swap the directions r and s of a cell. Only a hexahedron has a face 3. */
static void turn_cell(sp_hexes *hexes, sp_lid e) {
  const size_t n = (size_t)hexes->map_order + 1;
  double *lattice = &hexes->lattice[3 * (size_t)e * n * n * n];
  for (size_t k = 0; k < n; k++)
    for (size_t j = 0; j < n; j++)
      for (size_t i = 0; i < j; i++)
        swap_rows(&lattice[3 * ((k * n + j) * n + i)], &lattice[3 * ((k * n + i) * n + j)],
                  3 * sizeof *lattice);
  sp_gid *vertices = hexes->vertices[e];
  int *surfaces = hexes->surfaces[e];
  const bool is_hexahedron = sp_cell_shape_of(vertices) == SP_HEXAHEDRON;
  swap_rows(&vertices[1], &vertices[2], sizeof *vertices);
  swap_rows(&vertices[5], &vertices[6], sizeof *vertices);
  swap_rows(&surfaces[0], &surfaces[2], sizeof *surfaces);
  if (is_hexahedron) swap_rows(&surfaces[1], &surfaces[3], sizeof *surfaces);
}

/* Turn the cells if all are left-handed, as in a mirrored mesh. A mesh with both has folds. */
static void turn_cells(sp_hexes *hexes) {
  double map[3][3];
  for (sp_lid e = 0; e < hexes->count; e++)
    if (!(sp_hexes_mean_map(hexes, e, map) < 0)) return;
  for (sp_lid e = 0; e < hexes->count; e++) turn_cell(hexes, e);
  hexes->file.turned = hexes->count;
}

/* List the names of groups that have no faces, for messages. */
static void list_names(const sp_gmsh_model *m, sp_hexes_file *file) {
  for (size_t n = 0; n < m->name_count; n++) {
    const sp_gmsh_name *name = &m->names[n];
    if (name->dimension < 0 || name->dimension > 1) continue;
    char *list = file->names[name->dimension];
    const size_t used = strlen(list), room = sizeof file->names[0] - used;
    const int length = snprintf(&list[used], room, "%s%s\n", used ? "" : "\n", name->text);
    if (length < 0 || (size_t)length >= room) list[used] = '\0';
  }
}

static sp_status make_hexes(const sp_gmsh_model *m, const sp_gmsh_cells *all,
                            const sp_gmsh_sets *volumes, const sp_gmsh_sets *surfaces, boundary *b,
                            sp_hexes **out) {
  SP_OWNED bool *named = NULL;
  SP_TRY(sp_hexes_create((sp_gid)all->count, all->order, out));
  SP_TRY(sp_gmsh_sets_copy(m, surfaces, &(*out)->surface));
  SP_TRY(sp_gmsh_sets_copy(m, volumes, &(*out)->volume));
  SP_TRY(sp_allocate(m->point_count, sizeof *named, "boundary nodes", &named));
  for (size_t f = 0; f < b->count; f++)
    for (int c = 0; c < 4; c++)
      if (b->faces[f].nodes[c] > 0) named[b->faces[f].nodes[c] - 1] = true;
  fill_hexes(all, m->points, b, named, *out);
  turn_cells(*out);
  list_names(m, &(*out)->file);
  (*out)->file.left_out = all->left_out;
  (*out)->file.hash = hash_hexes(*out);
  (*out)->file.cad = m->cad;
  (*out)->file.mesher_seconds = m->mesher_seconds;
  return count_faces(b, &(*out)->surface);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Read one part of a split mesh; files = 0: unsplit. */
static sp_status read_hexes(const char *path, const sp_gmsh_sizes *sizes, int files,
                            sp_hexes **hexes) {
  sp_gmsh_model m = {.path = path};
  sp_gmsh_cells all = {0};
  sp_gmsh_sets volumes = {0}, surfaces = {0};
  boundary b = {0};
  const double start = seconds();
  sp_status status = read_model(sizes, files, &m);
  const double read_seconds = seconds() - start;
  if (!status) status = sp_gmsh_model_complete(&m);
  if (!status && sp_gmsh_is_cad(path)) {
    status = sp_gmsh_sweep_bodies(&m);
    if (!status) status = sp_gmsh_curve(&m);
    if (!status) sp_gmsh_cad_compare(&m);
  }
  if (!status) status = sp_gmsh_sets_create(&m, 3, &volumes);
  if (!status) status = sp_gmsh_sets_create(&m, 2, &surfaces);
  if (!status) status = sp_gmsh_cells_read(&m, files, &volumes, &all);
  if (!status) status = read_boundary(&m, &surfaces, &b);
  if (!status) status = make_hexes(&m, &all, &volumes, &surfaces, &b, hexes);
  if (!status) (*hexes)->file.read_seconds = read_seconds;
  sp_gmsh_cells_free(&all);
  sp_gmsh_sets_free(&volumes);
  sp_gmsh_sets_free(&surfaces);
  sp_gmsh_model_free(&m);
  free(b.faces);
  return status;
}

sp_status sp_gmsh_read(const char *path, const sp_gmsh_sizes *sizes, int size, sp_hexes **hexes,
                       int **parts) {
  sp_status status = read_hexes(path, sizes, parts ? 0 : size, hexes);
  if (!status && parts) {
    const double start = seconds();
    status = sp_allocate((size_t)(*hexes)->count, sizeof **parts, "partition", parts);
    if (!status) status = sp_metis_divide(*hexes, size, *parts);
    if (status) status = sp_fail(status, "%s: %s", path, sp_error_message());
    if (size > 1) (*hexes)->file.metis_seconds = seconds() - start;
  }
  return status;
}
