#include "mesh/mesh.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/numbering.h"

static const double TOLERANCE = 1e-6;

/* A point of an element's lattice. */
typedef struct point {
  double xyz[3];
  sp_gid tag; /* the element's */
} point;

static double distance(const double a[3], const double b[3]) {
  const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return sqrt(x * x + y * y + z * z);
}

/* Check that the lattice point `here` of element e equals `there`, the same point of element `tag`.
 */
static sp_status compare_points(const sp_hexes *hexes, sp_lid e, const double here[3],
                                const double there[3], sp_gid tag) {
  const double rounding = 4 * DBL_EPSILON * (fabs(here[0]) + fabs(here[1]) + fabs(here[2]));
  if (distance(here, there) <= rounding + TOLERANCE * sp_hexes_shortest_distance(hexes, e))
    return SP_OK;
  return sp_fail(
      SP_ERR_INPUT,
      "elements %lld and %lld share vertices, but not all points between them: (%.12g, "
      "%.12g, %.12g) in one is (%.12g, %.12g, %.12g) in the other; elements must meet along "
      "whole edges and faces",
      (long long)hexes->tags[e], (long long)tag, here[0], here[1], here[2], there[0], there[1],
      there[2]);
}

/* Shared by the loops. */
typedef struct comparison {
  const sp_mesh *mesh;
  const sp_numbering *numbering;
  size_t n;       /* points of an element's lattice; n e + p: point p of element e */
  size_t *firsts; /* [numbering->local], the first point at this DOF */
} comparison;

/* The DOF of point p of element e. */
static sp_lid dof_of(const comparison *c, size_t e, size_t p) {
  return c->numbering->nodes ? c->numbering->nodes[e * c->n + p] : c->mesh->topology->slots[e][p];
}

/* The coordinates of a point. A contact has the points of its face t = -1. */
static const double *place_of(const comparison *c, size_t at) {
  const sp_hexes *hexes = c->mesh->hexes;
  const size_t n = (size_t)hexes->map_order + 1, p = at % c->n;
  if (sp_hexes_is_contact(hexes, (sp_lid)(at / c->n))) at += p % (n * n) - p;
  return &hexes->lattice[3 * at];
}

static sp_gid tag_of(const comparison *c, size_t at) {
  return c->mesh->hexes->tags[at / c->n];
}

static void find_firsts(void *comparison_, size_t begin, size_t end) {
  const comparison *c = comparison_;
  for (size_t e = begin; e < end; e++)
    for (size_t p = 0; p < c->n; p++) {
      const size_t at = e * c->n + p;
      size_t *first = &c->firsts[dof_of(c, e, p)], now = __atomic_load_n(first, __ATOMIC_RELAXED);
      while (at < now && !__atomic_compare_exchange_n(first, &now, at, true, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED)) {
      }
    }
}

static sp_status compare_some(void *comparison_, void *none, size_t begin, size_t end) {
  const comparison *c = comparison_;
  (void)none;
  for (size_t e = begin; e < end; e++)
    for (size_t p = 0; p < c->n; p++) {
      const size_t first = c->firsts[dof_of(c, e, p)];
      const double *here = place_of(c, e * c->n + p), *there = place_of(c, first);
      /* Usually equal: readers copy a node to all its elements. */
      if (memcmp(here, there, 3 * sizeof *here) == 0) continue;
      SP_TRY(compare_points(c->mesh->hexes, (sp_lid)e, here, there, tag_of(c, first)));
    }
  return SP_OK;
}

static sp_status compare_here(comparison *c) {
  const size_t elements = (size_t)c->mesh->hexes->count;
  sp_loop_set((size_t)c->numbering->local * sizeof *c->firsts, 0xff, c->firsts); /* SIZE_MAX */
  SP_TRY(sp_loop_over("points", elements, 3 * c->n, c, find_firsts));
  return sp_loop_sum("points", elements, 3 * c->n, c, 0, compare_some, NULL);
}

static sp_status compare_ranks(const comparison *c) {
  const sp_mesh *mesh = c->mesh;
  const sp_numbering *numbering = c->numbering;
  const sp_lid shared = numbering->shared_start[numbering->neighbours];
  SP_OWNED point *sent = NULL, *received = NULL;
  SP_OWNED MPI_Request *requests = NULL;
  SP_TRY(sp_agree(mesh->comm,
                  SP_ALLOCATE("shared points", SP_ARRAY(sent, shared), SP_ARRAY(received, shared),
                              SP_ARRAY(requests, 2 * (size_t)numbering->neighbours))));
  for (sp_lid s = 0; s < shared; s++) {
    const size_t first = c->firsts[numbering->shared[s]];
    memcpy(sent[s].xyz, place_of(c, first), sizeof sent[s].xyz);
    sent[s].tag = tag_of(c, first);
  }
  sp_numbering_swap(mesh->comm, numbering, sizeof *sent, sent, received, requests);
  sp_status status = SP_OK;
  for (sp_lid s = 0; s < shared && !status; s++) {
    const size_t first = c->firsts[numbering->shared[s]];
    status = compare_points(mesh->hexes, (sp_lid)(first / c->n), place_of(c, first),
                            received[s].xyz, received[s].tag);
  }
  return sp_agree(mesh->comm, status);
}

sp_status sp_mesh_check_conformity(const sp_mesh *mesh) {
  SP_AUTO(sp_numbering) numbering = NULL;
  SP_OWNED size_t *firsts = NULL;
  comparison c = {.mesh = mesh, .n = sp_hexes_lattice_size(mesh->hexes)};
  /* The points of trilinear elements are the vertices, which the topology numbers. */
  if (mesh->hexes->map_order == 1)
    SP_TRY(sp_numbering_create_vertices(mesh, &numbering));
  else
    SP_TRY(sp_numbering_create(mesh, mesh->hexes->map_order, &numbering));
  sp_status status = sp_allocate((size_t)numbering->local, sizeof *firsts, "points", &firsts);
  c.numbering = numbering;
  c.firsts = firsts;
  if (!status) status = compare_here(&c);
  SP_TRY(sp_agree(mesh->comm, status));
  return compare_ranks(&c);
}
