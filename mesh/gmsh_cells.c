/* The cells of the model. */
#include <gmshc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/entity.h"
#include "mesh/gmsh_model.h"

/* True for an entity of ghosts: a split file lists the neighbours' elements in such entities. */
static bool is_ghost(int volume) {
  char *type = NULL;
  int error;
  gmshModelGetType(3, volume, &type, &error);
  const bool ghost = !error && type && strncmp(type, "Ghost", 5) == 0;
  gmshFree(type);
  return ghost;
}

/* Choice of the elements of dimension 3: those in physical volumes; all if there are no physical
 * volumes; none if a geometry has only groups of other dimensions, as `gmsh -3` saves none. */
typedef struct choice {
  const sp_gmsh_format2 *format2; /* NULL in other formats, where whole entities are in a group */
  bool groups, volumes;           /* there are physical groups, and volumes among them */
  bool nothing;
} choice;

static sp_status make_choice(const sp_gmsh_file *file, choice *out) {
  const sp_gmsh_format2 *format2 = sp_gmsh_file_format2(file);
  const char *path = file->path;
  int *groups = NULL, error;
  size_t count = 0;
  bool names_volume = false;
  for (size_t n = 0; n < file->format2.name_count; n++)
    names_volume = names_volume || file->format2.names[n].dimension == 3;
  *out = (choice){.format2 = format2};
  gmshModelGetPhysicalGroups(&groups, &count, -1, &error);
  if (error) return sp_gmsh_failed(path, "list the physical groups");
  for (size_t g = 0; g < count; g += 2) out->volumes = out->volumes || groups[g] == 3;
  gmshFree(groups);
  out->groups = count > 0;
  out->nothing = file->version == 0 && out->groups && !out->volumes;
  if (names_volume && !out->volumes)
    return sp_fail(
        SP_ERR_INPUT,
        "%s: it names a Physical Volume, but no element is in one: with Mesh.SaveAll = 1 "
        "gmsh writes format 2 without groups; write the file without it, or with "
        "-format msh41",
        path);
  return SP_OK;
}

static bool takes_entity(const choice *c, int volume) {
  int *groups = NULL, error;
  size_t count = 0;
  if (c->nothing) return false;
  if (!c->volumes || c->format2) return true;
  gmshModelGetPhysicalGroupsForEntity(3, volume, &groups, &count, &error);
  gmshFree(groups);
  return !error && count > 0;
}

static bool takes_element(const choice *c, size_t tag) {
  int physical;
  if (!c->volumes || !c->format2) return true;
  return sp_gmsh_format2_physical(c->format2, tag, &physical) && physical != 0;
}

/* List the entities that are no ghosts. Elements of ghosts are not used, but they are counted. */
static sp_status list_entities(sp_gmsh_file *file, int **entities, size_t *count) {
  int *pairs = NULL, error;
  size_t pair_count = 0;
  *count = 0;
  gmshModelGetEntities(&pairs, &pair_count, 3, &error);
  if (error) return sp_gmsh_failed(file->path, "list the volumes");
  sp_status status = sp_allocate(pair_count / 2, sizeof **entities, "volumes", entities);
  for (size_t p = 0; p < pair_count && !status; p += 2) {
    sp_gmsh_block ghosts;
    if (!is_ghost(pairs[p + 1])) {
      (*entities)[(*count)++] = pairs[p + 1];
      continue;
    }
    status = sp_gmsh_block_get(file, 3, pairs[p + 1], &ghosts);
    if (!status) sp_gmsh_block_free(&ghosts);
  }
  gmshFree(pairs);
  return status;
}

/* Find an element's volume: that of its entity or, in format 2, that of its own group. */
static sp_status volume_of(const choice *c, size_t tag, int of_entity, sp_gmsh_volumes *volumes,
                           int *volume) {
  int physical = 0;
  *volume = of_entity;
  if (!c->format2) return SP_OK;
  if (!sp_gmsh_format2_physical(c->format2, tag, &physical)) physical = 0;
  return sp_gmsh_volumes_of_group(volumes, physical, volume);
}

static size_t lattice_size(int order) {
  return (size_t)((order + 1) * (order + 1) * (order + 1));
}

static sp_status no_node(const char *path, sp_gid element, size_t node) {
  return sp_fail(SP_ERR_INPUT, "%s: element %lld refers to node %zu, which does not exist", path,
                 (long long)element, node);
}

/* Append the `added` elements of type t that the choice takes. */
static sp_status append_cells(const char *path, const choice *c, const sp_gmsh_block *b, size_t t,
                              size_t added, const sp_gmsh_type *type, int of_entity,
                              sp_gmsh_volumes *volumes, sp_gmsh_cells *all) {
  const size_t n = lattice_size(type->order), own = (size_t)type->nodes;
  void *nodes = realloc(all->nodes, (all->count + added) * n * sizeof *all->nodes);
  if (nodes) all->nodes = nodes;
  void *tags = realloc(all->tags, (all->count + added) * sizeof *all->tags);
  if (tags) all->tags = tags;
  void *of_volumes = realloc(all->volumes, (all->count + added) * sizeof *all->volumes);
  if (of_volumes) all->volumes = of_volumes;
  if (!nodes || !tags || !of_volumes)
    return sp_fail(SP_ERR_SYSTEM, "out of memory: %zu elements", added);
  all->order = type->order;
  for (size_t e = 0; e < b->tag_counts[t]; e++) {
    if (!takes_element(c, b->tags[t][e])) continue;
    size_t *cell = &all->nodes[all->count * n];
    memset(cell, 0, n * sizeof *cell);
    for (size_t p = 0; p < own; p++) {
      const size_t node = b->nodes[t][e * own + p];
      if (node == 0) return no_node(path, (sp_gid)b->tags[t][e], node);
      cell[type->lattice[p]] = node;
    }
    SP_TRY(volume_of(c, b->tags[t][e], of_entity, volumes, &all->volumes[all->count]));
    all->tags[all->count++] = (sp_gid)b->tags[t][e];
  }
  return SP_OK;
}

static sp_status append_type(const char *path, const choice *c, const sp_gmsh_block *b, size_t t,
                             int of_entity, sp_gmsh_volumes *volumes, sp_gmsh_cells *all) {
  sp_gmsh_type type;
  size_t taken = 0, first = 0;
  for (size_t e = b->tag_counts[t]; e-- > 0;)
    if (takes_element(c, b->tags[t][e])) {
      first = b->tags[t][e];
      taken++;
    }
  all->left_out += (sp_gid)(b->tag_counts[t] - taken);
  if (taken == 0) return SP_OK;
  sp_status status = sp_gmsh_type_get(path, b->types[t], &type);
  if (!status && !type.lattice)
    status = sp_fail(
        SP_ERR_INPUT,
        "%s: %zu element%s of type '%s' (the first is element %zu); only tetrahedra, prisms "
        "and hexahedra with all their nodes can be used: %s",
        path, taken, sp_plural((long long)taken), type.name, first,
        type.corners == 5 ? "gmsh puts pyramids between quadrilaterals and tetrahedra: "
                            "take Recombine and Transfinite off the surfaces of volumes "
                            "that have tetrahedra"
                          : "set Mesh.SecondOrderIncomplete = 0");
  else if (!status && all->count > 0 && all->order != type.order)
    status = sp_fail(SP_ERR_INPUT, "%s: hexahedra of order %d and %d; all must have the same order",
                     path, all->order, type.order);
  else if (!status)
    status = append_cells(path, c, b, t, taken, &type, of_entity, volumes, all);
  free(type.lattice);
  return status;
}

static sp_status append_entity(sp_gmsh_file *file, const choice *c, int entity,
                               sp_gmsh_volumes *volumes, sp_gmsh_cells *all) {
  const char *path = file->path;
  sp_gmsh_block b;
  int of_entity = 0;
  SP_TRY(sp_gmsh_block_get(file, 3, entity, &b));
  const bool taken = takes_entity(c, entity);
  sp_status status = SP_OK;
  if (taken && !c->format2) status = sp_gmsh_volumes_of_entity(path, volumes, entity, &of_entity);
  for (size_t t = 0; t < b.type_count && !status; t++) {
    if (taken)
      status = append_type(path, c, &b, t, of_entity, volumes, all);
    else
      all->left_out += (sp_gid)b.tag_counts[t];
  }
  sp_gmsh_block_free(&b);
  return status;
}

static sp_status no_hexahedra(const char *path, const choice *c) {
  return sp_fail(
      SP_ERR_INPUT, "%s: no hexahedra in this file%s", path,
      c->groups && !c->volumes
          ? "; it names physical groups but no Physical Volume, and gmsh saves only what "
            "is named: add one, or set Mesh.SaveAll = 1"
          : "; expected a mesh of hexahedra, tetrahedra or prisms");
}

static sp_status read_entities(sp_gmsh_file *file, const choice *c, int files,
                               sp_gmsh_volumes *volumes, sp_gmsh_cells *all) {
  int *entities = NULL;
  size_t count;
  sp_status status = list_entities(file, &entities, &count);
  if (!status) status = sp_gmsh_check_complete(file, files, count, entities);
  for (size_t n = 0; n < count && !status; n++)
    status = append_entity(file, c, entities[n], volumes, all);
  free(entities);
  /* The hexahedra of other parts may be in a physical volume. */
  const bool elsewhere = files > 0 && c->volumes && all->left_out > 0;
  if (!status && all->count == 0 && !elsewhere) status = no_hexahedra(file->path, c);
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

/* True if two elements have the same nodes, in any order. `room`: work space for 2 n numbers. */
static bool has_nodes_of(const sp_gmsh_cells *all, size_t n, size_t a, size_t b, size_t *room) {
  memcpy(room, &all->nodes[a * n], n * sizeof *room);
  memcpy(room + n, &all->nodes[b * n], n * sizeof *room);
  qsort(room, n, sizeof *room, compare_sizes);
  qsort(room + n, n, sizeof *room, compare_sizes);
  return memcmp(room, room + n, n * sizeof *room) == 0;
}

/* Keep one of each repeated element. Format 2.2 lists an element once for each physical group of
 * its volume; the one that is kept is in all these groups. Refuse other elements with the same
 * corners: they are curved, and would be connected on all sides, because vertices name faces. */
static sp_status drop_repeated(const char *path, sp_gmsh_volumes *volumes, sp_gmsh_cells *all) {
  const size_t n = lattice_size(all->order);
  corner_set *sets;
  bool *repeated = NULL;
  size_t *room = NULL;
  SP_TRY(sp_allocate(all->count, sizeof *sets, "element corners", &sets));
  sp_status status = sp_allocate(all->count, sizeof *repeated, "repeated elements", &repeated);
  if (!status) status = sp_allocate(2 * n, sizeof *room, "element nodes", &room);
  if (!status) {
    for (size_t e = 0; e < all->count; e++) {
      for (int c = 0; c < SP_CORNERS; c++)
        sets[e].nodes[c] = all->nodes[e * n + sp_corner_node(all->order, c)];
      qsort(sets[e].nodes, SP_CORNERS, sizeof(size_t), compare_sizes);
      sets[e].element = e;
    }
    qsort(sets, all->count, sizeof *sets, compare_sets);
    size_t first = 0; /* of those that have the same corners */
    for (size_t s = 1; s < all->count && !status; s++) {
      const size_t e = sets[s].element, before = sets[s - 1].element;
      if (memcmp(sets[s].nodes, sets[s - 1].nodes, sizeof sets[s].nodes) != 0) {
        first = s;
        continue;
      }
      repeated[e] = true;
      status = sp_gmsh_volumes_unite(volumes, all->volumes[e], &all->volumes[sets[first].element]);
      if (status) break;
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
      all->volumes[kept] = all->volumes[e];
      all->tags[kept++] = all->tags[e];
    }
    all->count = kept;
  }
  SP_FREE(sets, repeated, room);
  return status;
}

/* The SDK accepts nodes that do not exist. */
sp_status sp_gmsh_cells_check(const char *path, const sp_gmsh_cells *all,
                              const sp_gmsh_points *points) {
  const size_t n = lattice_size(all->order);
  for (size_t i = 0; i < all->count * n; i++)
    if (all->nodes[i] > 0 && sp_gmsh_points_find(points, all->nodes[i]) == points->count)
      return no_node(path, all->tags[i / n], all->nodes[i]);
  return SP_OK;
}

static int compare_tags(const void *left, const void *right) {
  const sp_gid a = *(const sp_gid *)left, b = *(const sp_gid *)right;
  return (a > b) - (a < b);
}

/* A tag names an element wherever the program stores or reports something about it. */
static sp_status check_tags(const char *path, const sp_gmsh_cells *all) {
  sp_gid *sorted;
  sp_status status = SP_OK;
  if (all->count == 0)
    return SP_OK; /* a part of a split mesh may have nothing but what is left out */
  SP_TRY(sp_allocate(all->count, sizeof *sorted, "element tags", &sorted));
  memcpy(sorted, all->tags, all->count * sizeof *sorted);
  qsort(sorted, all->count, sizeof *sorted, compare_tags);
  for (size_t e = 1; e < all->count && !status; e++)
    if (sorted[e] == sorted[e - 1])
      status = sp_fail(
          SP_ERR_INPUT,
          "%s: two volume elements have the number %lld: give every element a number of its "
          "own",
          path, (long long)sorted[e]);
  free(sorted);
  return status;
}

sp_status sp_gmsh_cells_read(sp_gmsh_file *file, int files, sp_gmsh_volumes *volumes,
                             sp_gmsh_cells *all) {
  choice c;
  SP_TRY(make_choice(file, &c));
  SP_TRY(read_entities(file, &c, files, volumes, all));
  SP_TRY(drop_repeated(file->path, volumes, all));
  return check_tags(file->path, all);
}

void sp_gmsh_cells_free(sp_gmsh_cells *all) {
  SP_FREE(all->nodes, all->tags, all->volumes);
  *all = (sp_gmsh_cells){0};
}
