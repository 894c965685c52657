/* The vertices of the refined mesh are the DOFs of degree 2, so refinement needs no further
 * communication. */
#include "mesh/refine.h"

#include <math.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/numbering.h"
#include "mesh/reference.h"

/* Contacts have no thickness to divide. */
static int children_of(const sp_hexes *coarse, sp_lid e) {
  return sp_hexes_is_contact(coarse, e) ? 4 : 8;
}

/* Fill the children of an element from `first` on. `xyz`: work space for the refined lattice of one
 * element, [3][(2g + 1)^3]. */
static void refine_element(const sp_hexes *coarse, const sp_numbering *numbering, sp_lid e,
                           double *xyz, size_t first, sp_hexes *fine) {
  const int g = coarse->map_order, n = 2 * g + 1;
  const size_t lattice = sp_hexes_lattice_size(coarse);
  double nodes[SP_MAX_RULE];
  for (int i = 0; i < n; i++) nodes[i] = -1 + (double)i / g;
  sp_hexes_map(coarse, e, n, nodes, xyz);

  const int children = children_of(coarse, e),
            layers = 8 / children; /* of the lattice per child's */
  for (int octant = 0; octant < children; octant++) {
    const int origin[3] = {octant & 1, octant >> 1 & 1, octant >> 2};
    const size_t child = first + (size_t)octant;
    for (int c = 0; c < SP_CORNERS; c++) {
      const int i = origin[0] + (c & 1), j = origin[1] + (c >> 1 & 1);
      const int k = origin[2] + layers * (c >> 2);
      const sp_lid dof = numbering->nodes[(size_t)e * 27 + (size_t)((k * 3 + j) * 3 + i)];
      fine->vertices[child][c] = sp_numbering_global(numbering, dof);
    }
    double *point = &fine->lattice[child * lattice * 3];
    for (int k = 0; k <= g; k++)
      for (int j = 0; j <= g; j++)
        for (int i = 0; i <= g; i++, point += 3)
          for (int d = 0; d < 3; d++)
            point[d] = xyz[((d * n + origin[2] * g + layers * k) * n + origin[1] * g + j) * n +
                           origin[0] * g + i];
    for (int f = 0; f < SP_FACES; f++)
      fine->surfaces[child][f] =
          origin[f / 2] == f % 2 ? coarse->surfaces[e][f] : SP_SURFACE_INTERIOR;
    fine->tags[child] = coarse->tags[e];
    fine->octants[child] = 8 * coarse->octants[e] + octant;
    fine->volumes[child] = coarse->volumes[e];
  }
}

typedef struct refinement {
  const sp_hexes *coarse;
  const sp_numbering *numbering;
  sp_hexes *fine;
  sp_gid *first; /* [elements + 1], child */
} refinement;

static sp_status refine_some(void *refinement_, void *xyz, size_t begin, size_t end) {
  const refinement *r = refinement_;
  for (size_t e = begin; e < end; e++)
    refine_element(r->coarse, r->numbering, (sp_lid)e, xyz, (size_t)r->first[e], r->fine);
  return SP_OK;
}

static sp_status refine_hexes(const sp_mesh *mesh, const sp_numbering *numbering, sp_hexes **out) {
  const sp_hexes *coarse = mesh->hexes;
  const size_t count = (size_t)coarse->count, points = sp_element_nodes(2 * coarse->map_order);
  SP_OWNED sp_gid *first = NULL;
  SP_TRY(sp_allocate(count + 1, sizeof *first, "refined elements", &first));
  for (size_t e = 0; e < count; e++) first[e + 1] = first[e] + children_of(coarse, (sp_lid)e);
  SP_TRY(sp_hexes_create(first[count], coarse->map_order, out));
  (*out)->file = coarse->file;
  (*out)->refinements = coarse->refinements + 1;
  memcpy((*out)->box, coarse->box, sizeof coarse->box);
  memcpy((*out)->box_first, coarse->box_first, sizeof coarse->box_first);
  memcpy((*out)->box_end, coarse->box_end, sizeof coarse->box_end);
  SP_TRY(sp_hexes_copy_groups(coarse, *out));
  refinement r = {.coarse = coarse, .numbering = numbering, .fine = *out, .first = first};
  return sp_loop_sum("refined points", count, 3 * points, &r, 3 * points * sizeof(double),
                     refine_some, NULL);
}

/* Number without periodicity: new vertices on both sides of a period are distinct. */
static sp_status number_plainly(const sp_mesh *mesh, sp_numbering **numbering) {
  if (!mesh->periodic) return sp_numbering_create(mesh, 2, numbering);
  sp_mesh plain = *mesh;
  plain.periodic = NULL;
  SP_TRY(sp_topology_create(mesh->comm, mesh->hexes, NULL, &plain.topology));
  const sp_status status = sp_numbering_create(&plain, 2, numbering);
  sp_topology_destroy(&plain.topology);
  return status;
}

static sp_status refine_mesh(const sp_mesh *coarse, sp_hexes **fine) {
  SP_AUTO(sp_numbering) numbering = NULL;
  *fine = NULL;
  SP_TRY(number_plainly(coarse, &numbering));
  const sp_status status = sp_agree(coarse->comm, refine_hexes(coarse, numbering, fine));
  if (status) sp_hexes_destroy(fine);
  return status;
}

sp_status sp_mesh_refined(const sp_mesh *coarse, sp_mesh **out) {
  sp_hexes *fine;
  *out = NULL;
  SP_TRY(refine_mesh(coarse, &fine));
  return sp_mesh_create(coarse->comm, &fine, out);
}

sp_status sp_mesh_refine(sp_mesh **mesh) {
  MPI_Comm comm = (*mesh)->comm;
  sp_hexes *fine;
  const sp_status status = refine_mesh(*mesh, &fine);
  sp_mesh_destroy(mesh); /* before the refined mesh allocates memory */
  return status ? status : sp_mesh_create(comm, &fine, mesh);
}

/* ---- Sizes ---- */

/* Vertices, edges and faces of this rank. */
typedef struct census {
  double local[3];
  double owned[3];  /* the same, each divided by the number of ranks that have it */
  double shared[3]; /* the same, counted once per other rank */
} census;

static census take_census(const sp_topology *t) {
  census c = {0};
  for (int kind = 0; kind < 3; kind++)
    for (sp_lid i = t->start[kind]; i < t->start[kind + 1]; i++) {
      const double sharers = t->sharer_start[i + 1] - t->sharer_start[i];
      c.local[kind] += 1;
      c.owned[kind] += 1 / (1 + sharers);
      c.shared[kind] += sharers;
    }
  return c;
}

/* Nodes of degree `degree` on vertices, edges and faces. */
static double nodes_on(const double entities[3], double degree) {
  const double inner = degree - 1;
  return entities[0] + entities[1] * inner + entities[2] * inner * inner;
}

/* Number of vertices, edges and faces after a division by m: an edge becomes m edges, a face
 * contains 2 m (m - 1) edges and m^2 faces. */
static double parts_of(const double entities[3], double m) {
  return nodes_on(entities, m) + entities[1] * m + entities[2] * (2 * m * (m - 1) + m * m);
}

void sp_sizes_count(const sp_topology *topology, int refinements, int order, sp_sizes *sizes) {
  const census c = take_census(topology);
  const double m = ldexp(1, refinements), degree = order * m, elements = topology->elements;
  /* Within an element: (m - 1)^3 vertices, 3 m (m - 1)^2 edges, 3 m^2 (m - 1) faces. */
  const double inside = (m - 1) * ((m - 1) * (m - 1) + 3 * m * (m - 1) + 3 * m * m);
  const double inner = elements * pow(degree - 1, 3);
  *sizes = (sp_sizes){.elements = elements * m * m * m,
                      .entities = parts_of(c.local, m) + elements * inside,
                      .dofs = nodes_on(c.local, degree) + inner,
                      .owned = nodes_on(c.owned, degree) + inner,
                      .shared = nodes_on(c.shared, degree)};
}

sp_status sp_sizes_check(const sp_sizes *sizes, const char *where) {
  const struct {
    double count, limit;
    const char *what;
  } checks[] = {{sizes->elements, SP_LID_MAX, "elements"},
                {sizes->entities, SP_LID_MAX / 2, "vertices, edges and faces"},
                {sizes->dofs, SP_LID_MAX, "degrees of freedom"},
                {sizes->shared, SP_LID_MAX, "shared degrees of freedom"}};
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
    if (checks[i].count > checks[i].limit)
      return sp_fail(SP_ERR_INPUT,
                     "%s: %.4g %s on one rank, at most %.4g are possible: use more ranks, fewer "
                     "elements, less refinement or a lower order",
                     where, checks[i].count, checks[i].what, checks[i].limit);
  return SP_OK;
}
