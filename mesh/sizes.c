#include "mesh/sizes.h"

#include <math.h>

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
