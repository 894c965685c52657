/* The cells of a mesh. */
#include <stdlib.h>
#include <string.h>

#include "mesh/hexes.h"
#include "mesh/gmsh/model.h"

/* The elements of dimension 3 to use: in physical volumes; all, if there are no physical volumes;
 * none, if a geometry has only groups of other dimensions (`gmsh -3` saves none). */
typedef struct choice {
  bool groups, volumes; /* physical groups exist; Physical Volumes exist */
  bool nothing;
} choice;

static sp_status make_choice(const sp_gmsh_model *m, const sp_gmsh_sets *volumes, choice *out) {
  bool names_volume = false;
  *out = (choice){.volumes = volumes->group_count > 0};
  for (size_t e = 0; e < m->entity_count; e++)
    out->groups = out->groups || m->entities[e].group_count > 0;
  for (size_t n = 0; n < m->name_count; n++)
    names_volume = names_volume || m->names[n].dimension == 3;
  out->nothing = m->version == 0 && out->groups && !out->volumes;
  if (m->version >= 2 && m->version < 3 && names_volume && !out->volumes)
    return sp_fail(
        SP_ERR_INPUT,
        "%s: it names a Physical Volume, but no element is in one: with Mesh.SaveAll = 1 "
        "gmsh writes format 2 without groups; write the file without it, or with "
        "-format msh41",
        m->path);
  return SP_OK;
}

/* Check that no part of a mesh that gmsh has partitioned is missing. */
static sp_status check_parts(const sp_gmsh_model *m, int files) {
  if (files > 0 && m->last_part > files)
    return sp_fail(SP_ERR_INPUT, "%s: part %d of this mesh is missing: its files 1 to %d are here",
                   m->path, m->last_part, files);
  for (int part = 1; part <= m->last_part && files == 0 && m->part_count > 0; part++) {
    bool there = false;
    for (size_t p = 0; p < m->part_count; p++) there = there || m->parts[p] == part;
    if (!there)
      return sp_fail(SP_ERR_INPUT,
                     "%s: part %d of this mesh is not in it: to read all parts of a split mesh, "
                     "name it without the number",
                     m->path, part);
  }
  return SP_OK;
}

static bool is_chosen(const sp_gmsh_model *m, const choice *c, const sp_gmsh_element *e) {
  return !c->nothing && (!c->volumes || m->entities[e->entity].group_count > 0);
}

/* Refuse the elements of the type and place of `first`. */
static sp_status fail_unusable(const sp_gmsh_model *m, const choice *c,
                               const sp_gmsh_element *first) {
  const sp_gmsh_element *end = m->elements + m->element_count;
  const sp_gmsh_type *type = sp_gmsh_type_of(first->type);
  size_t count = 0;
  for (const sp_gmsh_element *e = first;
       e < end && e->type == first->type && e->place == first->place; e++)
    count += is_chosen(m, c, e);
  return sp_fail(
      SP_ERR_INPUT,
      "%s: %zu element%s of type '%s' (the first is element %zu); only tetrahedra, prisms "
      "and hexahedra with all their nodes can be used: %s",
      m->path, count, sp_plural((long long)count), type->name, first->tag,
      type->corners == 5 ? "gmsh puts pyramids between quadrilaterals and tetrahedra: "
                           "take Recombine and Transfinite off the surfaces of volumes "
                           "that have tetrahedra"
                         : "set Mesh.SecondOrderIncomplete = 0");
}

/* Count the cells inside and outside the choice. */
static sp_status count_cells(const sp_gmsh_model *m, const choice *c, int files,
                             sp_gmsh_cells *all) {
  for (size_t i = 0; i < m->element_count; i++) {
    const sp_gmsh_element *e = &m->elements[i];
    const sp_gmsh_type *type = sp_gmsh_type_of(e->type);
    if (type->dimension != 3) continue;
    if (!is_chosen(m, c, e)) {
      all->left_out++;
      continue;
    }
    if (!type->lattice) return fail_unusable(m, c, e);
    if (all->count++ > 0 && all->order != type->order)
      return sp_fail(SP_ERR_INPUT, "%s: hexahedra of order %d and %d; all must have the same order",
                     m->path, all->order, type->order);
    all->order = type->order;
  }
  /* The hexahedra of other parts may be in a physical volume. */
  if (all->count > 0 || (files > 0 && c->volumes && all->left_out > 0)) return SP_OK;
  return sp_fail(
      SP_ERR_INPUT, "%s: no hexahedra in this file%s", m->path,
      c->groups && !c->volumes
          ? "; it names physical groups but no Physical Volume, and gmsh saves only named "
            "groups: add one, or set Mesh.SaveAll = 1"
          : "; expected a mesh of hexahedra, tetrahedra or prisms");
}

static size_t lattice_size(int order) {
  return (size_t)((order + 1) * (order + 1) * (order + 1));
}

static sp_status fill_cells(const sp_gmsh_model *m, const choice *c, sp_gmsh_sets *volumes,
                            sp_gmsh_cells *all) {
  const size_t n = lattice_size(all->order);
  SP_TRY(SP_ALLOCATE("elements", SP_ARRAY(all->nodes, all->count * n),
                     SP_ARRAY(all->tags, all->count), SP_ARRAY(all->volumes, all->count)));
  int entity = -1, volume = 0;
  size_t cell = 0;
  for (size_t i = 0; i < m->element_count; i++) {
    const sp_gmsh_element *e = &m->elements[i];
    const sp_gmsh_type *type = sp_gmsh_type_of(e->type);
    if (type->dimension != 3 || !is_chosen(m, c, e)) continue;
    if (e->entity != entity) SP_TRY(sp_gmsh_sets_find(volumes, &m->entities[e->entity], &volume));
    entity = e->entity;
    for (int p = 0; p < type->nodes; p++)
      all->nodes[cell * n + (size_t)type->lattice[p]] = m->nodes[e->first + (size_t)p] + 1;
    all->volumes[cell] = volume;
    all->tags[cell++] = (sp_gid)e->tag;
  }
  return SP_OK;
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

/* True if two elements have the same nodes, in any order. `room`: work space for 2 n numbers. */
static bool has_nodes_of(const sp_gmsh_cells *all, size_t n, size_t a, size_t b, size_t *room) {
  memcpy(room, &all->nodes[a * n], n * sizeof *room);
  memcpy(room + n, &all->nodes[b * n], n * sizeof *room);
  qsort(room, n, sizeof *room, sp_gmsh_compare_sizes);
  qsort(room + n, n, sizeof *room, sp_gmsh_compare_sizes);
  return memcmp(room, room + n, n * sizeof *room) == 0;
}

/* Merge repeated elements: format 2.2 lists an element once per physical group of its volume, and
 * the merged one is in all of them. Refuse other elements with the same corners: they are curved,
 * and would be connected on all sides, because vertices name faces. */
static sp_status drop_repeated(const char *path, sp_gmsh_sets *volumes, sp_gmsh_cells *all) {
  const size_t n = lattice_size(all->order);
  SP_OWNED corner_set *sets = NULL;
  SP_OWNED bool *repeated = NULL;
  SP_OWNED size_t *room = NULL;
  SP_TRY(SP_ALLOCATE("repeated elements", SP_ARRAY(sets, all->count),
                     SP_ARRAY(repeated, all->count), SP_ARRAY(room, 2 * n)));
  for (size_t e = 0; e < all->count; e++) {
    for (int c = 0; c < SP_CORNERS; c++)
      sets[e].nodes[c] = all->nodes[e * n + sp_corner_node(all->order, c)];
    qsort(sets[e].nodes, SP_CORNERS, sizeof(size_t), sp_gmsh_compare_sizes);
    sets[e].element = e;
  }
  qsort(sets, all->count, sizeof *sets, compare_sets);
  size_t first = 0; /* with the same corners */
  for (size_t s = 1; s < all->count; s++) {
    const size_t e = sets[s].element, before = sets[s - 1].element;
    if (memcmp(sets[s].nodes, sets[s - 1].nodes, sizeof sets[s].nodes) != 0) {
      first = s;
      continue;
    }
    repeated[e] = true;
    SP_TRY(sp_gmsh_sets_unite(volumes, all->volumes[e], &all->volumes[sets[first].element]));
    if (!has_nodes_of(all, n, e, before, room))
      return sp_fail(SP_ERR_INPUT,
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
  return SP_OK;
}

/* Check that tags are unique: results and messages name elements by tag. */
static sp_status check_tags(const char *path, const sp_gmsh_cells *all) {
  SP_OWNED sp_gid *sorted = NULL; /* tags are positive */
  SP_TRY(sp_allocate(all->count, sizeof *sorted, "element tags", &sorted));
  memcpy(sorted, all->tags, all->count * sizeof *sorted);
  qsort(sorted, all->count, sizeof *sorted, sp_gmsh_compare_sizes);
  for (size_t e = 1; e < all->count; e++)
    if (sorted[e] == sorted[e - 1])
      return sp_fail(
          SP_ERR_INPUT,
          "%s: two volume elements have the number %lld: give every element a number of its own",
          path, (long long)sorted[e]);
  return SP_OK;
}

sp_status sp_gmsh_cells_read(const sp_gmsh_model *m, int files, sp_gmsh_sets *volumes,
                             sp_gmsh_cells *all) {
  choice c;
  SP_TRY(make_choice(m, volumes, &c));
  SP_TRY(check_parts(m, files));
  SP_TRY(count_cells(m, &c, files, all));
  SP_TRY(fill_cells(m, &c, volumes, all));
  SP_TRY(drop_repeated(m->path, volumes, all));
  return check_tags(m->path, all);
}

void sp_gmsh_cells_free(sp_gmsh_cells *all) {
  SP_FREE(all->nodes, all->tags, all->volumes);
  *all = (sp_gmsh_cells){0};
}
