#include "mesh/conformity.h"

#include <float.h>
#include <math.h>
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

/* The point of a DOF in the first element that has it. */
typedef struct first {
  const double *xyz; /* NULL until an element is found */
  sp_lid element;
} first;

static double distance(const double a[3], const double b[3]) {
  const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return sqrt(x * x + y * y + z * z);
}

static double shortest_distance(const sp_hexes *hexes, sp_lid e) {
  const double *lattice = sp_hexes_lattice(hexes, e);
  double shortest = DBL_MAX;
  for (int a = 0; a < SP_CORNERS; a++)
    for (int b = 0; b < a; b++)
      shortest = fmin(shortest, distance(&lattice[3 * sp_corner_node(hexes->map_order, a)],
                                         &lattice[3 * sp_corner_node(hexes->map_order, b)]));
  return shortest;
}

/* Check that the lattice point `here` of element e equals `there`, the same point of element `tag`.
 */
static sp_status compare(const sp_hexes *hexes, sp_lid e, const double here[3],
                         const double there[3], sp_gid tag) {
  const double apart = distance(here, there);
  /* Nearly always zero: readers copy a node to all its elements. */
  if (apart == 0 || apart <= TOLERANCE * shortest_distance(hexes, e)) return SP_OK;
  return sp_fail(
      SP_ERR_INPUT,
      "elements %lld and %lld share vertices, but not all points between them: (%.12g, "
      "%.12g, %.12g) in one is (%.12g, %.12g, %.12g) in the other; elements must meet along "
      "whole edges and faces",
      (long long)hexes->tags[e], (long long)tag, here[0], here[1], here[2], there[0], there[1],
      there[2]);
}

/* Shared by the loop over elements. */
typedef struct comparison {
  const sp_mesh *mesh;
  const sp_numbering *numbering;
  const first *firsts; /* [numbering->local] */
} comparison;

/* The DOF of lattice point p of an element. */
static sp_lid dof_of(const sp_mesh *mesh, const sp_numbering *numbering, size_t e, size_t p) {
  return numbering->nodes ? numbering->nodes[e * sp_hexes_lattice_size(mesh->hexes) + p]
                          : mesh->topology->slots[e][p];
}

static void find_firsts(const sp_mesh *mesh, const sp_numbering *numbering, first *firsts) {
  const sp_hexes *hexes = mesh->hexes;
  const size_t n = sp_hexes_lattice_size(hexes);
  for (sp_lid e = 0; e < hexes->count; e++) {
    const double *lattice = sp_hexes_lattice(hexes, e);
    for (size_t p = 0; p < n; p++) {
      first *known = &firsts[dof_of(mesh, numbering, (size_t)e, p)];
      if (!known->xyz) *known = (first){&lattice[3 * p], e};
    }
  }
}

static sp_status compare_some(void *comparison_, void *workspace, size_t begin, size_t end) {
  (void)workspace;
  const comparison *c = comparison_;
  const sp_hexes *hexes = c->mesh->hexes;
  const size_t n = sp_hexes_lattice_size(hexes);
  for (size_t e = begin; e < end; e++) {
    const double *lattice = sp_hexes_lattice(hexes, (sp_lid)e);
    for (size_t p = 0; p < n; p++) {
      const first *known = &c->firsts[dof_of(c->mesh, c->numbering, e, p)];
      SP_TRY(compare(hexes, (sp_lid)e, &lattice[3 * p], known->xyz, hexes->tags[known->element]));
    }
  }
  return SP_OK;
}

static sp_status compare_here(const sp_mesh *mesh, const sp_numbering *numbering, first *firsts) {
  const size_t count = (size_t)mesh->hexes->count;
  comparison c = {mesh, numbering, firsts};
  find_firsts(mesh, numbering, firsts);
  return sp_loop_run(
      &(sp_loop){.what = "points",
                 .count = count,
                 .chunk = sp_loop_chunk(count, 3 * sp_hexes_lattice_size(mesh->hexes)),
                 .context = &c,
                 .compute = compare_some});
}

/* Exchange the positions of shared points with the neighbours. */
static void exchange_points(MPI_Comm comm, const sp_numbering *numbering, const point *sent,
                            point *received, MPI_Request *requests) {
  MPI_Datatype record;
  MPI_Type_contiguous((int)sizeof *sent, MPI_BYTE, &record);
  MPI_Type_commit(&record);
  for (int b = 0; b < numbering->neighbours; b++) {
    const sp_lid begin = numbering->shared_start[b], n = numbering->shared_start[b + 1] - begin;
    const int rank = numbering->neighbour_ranks[b];
    MPI_Irecv(received + begin, n, record, rank, 0, comm, &requests[2 * b]);
    MPI_Isend(sent + begin, n, record, rank, 0, comm, &requests[2 * b + 1]);
  }
  MPI_Waitall(2 * numbering->neighbours, requests, MPI_STATUSES_IGNORE);
  MPI_Type_free(&record);
}

static sp_status compare_ranks(const sp_mesh *mesh, const sp_numbering *numbering,
                               const first *firsts) {
  const sp_hexes *hexes = mesh->hexes;
  const sp_lid shared = numbering->shared_start[numbering->neighbours];
  point *sent = NULL, *received = NULL;
  MPI_Request *requests = NULL;
  sp_status status = sp_allocate((size_t)shared, sizeof *sent, "shared points", &sent);
  if (!status) status = sp_allocate((size_t)shared, sizeof *received, "shared points", &received);
  if (!status)
    status =
        sp_allocate(2 * (size_t)numbering->neighbours, sizeof *requests, "requests", &requests);
  status = sp_agree(mesh->comm, status);
  if (!status) {
    for (sp_lid s = 0; s < shared; s++) {
      const first *known = &firsts[numbering->shared[s]];
      memcpy(sent[s].xyz, known->xyz, sizeof sent[s].xyz);
      sent[s].tag = hexes->tags[known->element];
    }
    exchange_points(mesh->comm, numbering, sent, received, requests);
    for (sp_lid s = 0; s < shared && !status; s++) {
      const first *known = &firsts[numbering->shared[s]];
      status = compare(hexes, known->element, known->xyz, received[s].xyz, received[s].tag);
    }
    status = sp_agree(mesh->comm, status);
  }
  free(sent);
  free(received);
  free(requests);
  return status;
}

sp_status sp_mesh_check_conformity(const sp_mesh *mesh) {
  sp_numbering *numbering;
  first *firsts = NULL;
  /* The points of trilinear elements are the vertices, which the topology numbers. */
  if (mesh->hexes->map_order == 1)
    SP_TRY(sp_numbering_create_vertices(mesh, &numbering));
  else
    SP_TRY(sp_numbering_create(mesh, mesh->hexes->map_order, &numbering));
  sp_status status = sp_allocate((size_t)numbering->local, sizeof *firsts, "points", &firsts);
  if (!status) status = compare_here(mesh, numbering, firsts);
  status = sp_agree(mesh->comm, status);
  if (!status) status = compare_ranks(mesh, numbering, firsts);
  sp_numbering_destroy(&numbering);
  free(firsts);
  return status;
}
