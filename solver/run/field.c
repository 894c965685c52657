#include "solver/run/field.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/field_file.h"
#include "mesh/reference.h"
#include "mesh/tensor.h"
#include "solver/problem/evaluate.h"

enum { CELL_FIELDS = 3, NUMBER_LENGTH = 16 };

/* Points [points][3], fields [points] and cell data [elements]; of one element at a time nodal
 * values, coordinates, u and the exact solution: [nodes], [3][nodes], [nodes], [nodes]. */
typedef struct field_arrays {
  sp_numbering *separate; /* the points of a periodic mesh, else NULL */
  double *points, *u, *error;
  int64_t *rank, *tag, *region;
  const char **names; /* [volume_group_count] */
  char (*numbers)[NUMBER_LENGTH];
  double *nodal, *coordinates, *local, *exact;
} field_arrays;

static void free_arrays(field_arrays *arrays) {
  sp_numbering_destroy(&arrays->separate);
  free(arrays->points);
  free(arrays->u);
  free(arrays->error);
  free(arrays->rank);
  free(arrays->tag);
  free(arrays->region);
  free(arrays->names);
  free(arrays->numbers);
  free(arrays->nodal);
  free(arrays->coordinates);
  free(arrays->local);
  free(arrays->exact);
}

/* On a periodic mesh a DOF is at two or more places. The same elements without the identification,
 * and without other ranks, have one DOF per place. */
static sp_status separate_places(const sp_mesh *mesh, int order, sp_numbering **out) {
  sp_mesh apart = {.comm = MPI_COMM_SELF, .hexes = mesh->hexes};
  SP_TRY(sp_topology_create(apart.comm, apart.hexes, NULL, &apart.topology));
  const sp_status status = sp_numbering_create(&apart, order, out);
  sp_topology_destroy(&apart.topology);
  return status;
}

static sp_status fill_points(const sp_problem *problem, const sp_space *space, const double *x,
                             const sp_numbering *points, field_arrays *arrays) {
  const sp_hexes *hexes = space->mesh->hexes;
  const sp_lid *dofs = space->numbering->nodes;
  const int order = space->numbering->order, nq = order + 1;
  const size_t nodes = sp_element_nodes(order), count = (size_t)points->local;
  double lattice[SP_MAX_NQ], matrix[SP_MAX_NQ * SP_MAX_NQ];
  SP_TRY(sp_allocate(count, 3 * sizeof(double), "field points", &arrays->points));
  SP_TRY(sp_allocate(count, sizeof(double), "field", &arrays->u));
  const bool have_solution = sp_materials_have_solution(&problem->materials);
  if (have_solution) SP_TRY(sp_allocate(count, sizeof(double), "field", &arrays->error));
  SP_TRY(sp_allocate(nodes, sizeof(double), "field", &arrays->nodal));
  SP_TRY(sp_allocate(nodes, 3 * sizeof(double), "field", &arrays->coordinates));
  SP_TRY(sp_allocate(nodes, sizeof(double), "field", &arrays->local));
  SP_TRY(sp_allocate(nodes, sizeof(double), "field", &arrays->exact));
  double *nodal = arrays->nodal, *xyz = arrays->coordinates, *u = arrays->local;
  for (int i = 0; i < nq; i++) lattice[i] = -1 + 2.0 * i / order;
  sp_interpolation_matrix(nq, sp_reference_get(order)->gll.nodes, nq, lattice, matrix);
  /* Backwards, so that the first element that has a point is the last to write it. */
  for (size_t e = (size_t)hexes->count; e-- > 0;) {
    const sp_lid *place = &points->nodes[e * nodes];
    for (size_t n = 0; n < nodes; n++) nodal[n] = x[dofs[e * nodes + n]];
    sp_tensor_apply(nq, nq, matrix, matrix, matrix, nodal, u);
    sp_hexes_coordinates(hexes, (sp_lid)e, nq, lattice, xyz);
    for (size_t n = 0; n < nodes; n++) {
      arrays->u[place[n]] = u[n];
      for (size_t d = 0; d < 3; d++) arrays->points[3 * (size_t)place[n] + d] = xyz[d * nodes + n];
    }
    if (!have_solution) continue;
    const sp_material *material = sp_materials_of(&problem->materials, hexes, (sp_lid)e);
    SP_TRY(sp_problem_evaluate(material->solution, nodes,
                               (const double *[]){xyz, xyz + nodes, xyz + 2 * nodes}, arrays->exact,
                               NULL, NULL));
    for (size_t n = 0; n < nodes; n++) arrays->error[place[n]] = u[n] - arrays->exact[n];
  }
  return SP_OK;
}

static int first_group_of(const sp_hexes *hexes, int volume) {
  for (int g = 0; g < hexes->volume_group_count; g++)
    if (hexes->volume_groups[g].members[volume]) return g;
  return -1;
}

static sp_status fill_cells(const sp_mesh *mesh, field_arrays *arrays) {
  const sp_hexes *hexes = mesh->hexes;
  const size_t count = (size_t)hexes->count, groups = (size_t)hexes->volume_group_count;
  int rank;
  MPI_Comm_rank(mesh->comm, &rank);
  SP_TRY(sp_allocate(count, sizeof(int64_t), "field ranks", &arrays->rank));
  SP_TRY(sp_allocate(count, sizeof(int64_t), "field tags", &arrays->tag));
  for (size_t e = 0; e < count; e++) {
    arrays->rank[e] = rank;
    arrays->tag[e] = hexes->tags[e];
  }
  if (groups == 0) return SP_OK;
  SP_TRY(sp_allocate(count, sizeof(int64_t), "field regions", &arrays->region));
  SP_TRY(sp_allocate(groups, sizeof *arrays->names, "names of regions", &arrays->names));
  SP_TRY(sp_allocate(groups, sizeof *arrays->numbers, "names of regions", &arrays->numbers));
  for (size_t e = 0; e < count; e++) arrays->region[e] = first_group_of(hexes, hexes->volumes[e]);
  for (size_t g = 0; g < groups; g++) {
    const sp_group *group = &hexes->volume_groups[g];
    snprintf(arrays->numbers[g], NUMBER_LENGTH, "%d", group->number);
    arrays->names[g] = group->name[0] ? group->name : arrays->numbers[g];
  }
  return SP_OK;
}

sp_status sp_field_write(const char *path, const sp_problem *problem, const sp_space *space,
                         const double *x) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *points = space->numbering;
  field_arrays arrays = {0};
  sp_status status = SP_OK;
  if (mesh->periodic) {
    status = separate_places(mesh, points->order, &arrays.separate);
    points = arrays.separate;
  }
  if (!status) status = fill_points(problem, space, x, points, &arrays);
  if (!status) status = fill_cells(mesh, &arrays);
  status = sp_agree(mesh->comm, status);
  if (!status) {
    const int regions = mesh->hexes->volume_group_count;
    const sp_field_data data = {
        .order = points->order,
        .elements = mesh->hexes->count,
        .points = points->local,
        .nodes = points->nodes,
        .coordinates = arrays.points,
        .point_field_count = sp_materials_have_solution(&problem->materials) ? 2 : 1,
        .point_names = (const char *const[]){"u", "error"},
        .point_fields = (const double *const[]){arrays.u, arrays.error},
        .cell_field_count = regions > 0 ? CELL_FIELDS : CELL_FIELDS - 1,
        .cell_names = (const char *const[CELL_FIELDS]){"rank", "tag", "region"},
        .cell_fields = (const int64_t *const[CELL_FIELDS]){arrays.rank, arrays.tag, arrays.region},
        .text_count = regions,
        .text_name = "regions",
        .texts = arrays.names};
    status = sp_field_file_write(mesh->comm, path, &data);
  }
  free_arrays(&arrays);
  return status;
}

double sp_field_predicted_bytes(const sp_mesh *mesh, const sp_sizes *sizes, int refinements,
                                int order, bool has_solution) {
  const sp_hexes *hexes = mesh->hexes;
  const size_t doubles = 3 + 1 + has_solution; /* a point, u, error */
  const size_t integers = hexes->volume_group_count > 0 ? CELL_FIELDS : CELL_FIELDS - 1;
  /* DOFs that are at several places are on periodic faces. */
  double faces = 0;
  for (sp_lid e = 0; e < hexes->count && mesh->periodic; e++)
    for (int f = 0; f < SP_FACES; f++)
      faces += sp_periodic_has_surface(mesh->periodic, hexes, hexes->surfaces[e][f]);
  const double points = sizes->dofs + faces * pow(ldexp(order, refinements) + 1, 2);
  const double arrays = points * (double)(doubles * sizeof(double)) +
                        sizes->elements * (double)(integers * sizeof(int64_t)) +
                        sp_field_file_predicted_bytes(sizes->elements, order);
  if (!mesh->periodic) return arrays;
  const sp_sizes separate = {.elements = sizes->elements, .entities = sizes->entities};
  return sp_numbering_predicted_bytes(&separate, order) +
         fmax(arrays, sp_topology_predicted_bytes(separate.elements, separate.entities, 0));
}
