#include "solver/run/field.h"

#include <stdlib.h>

#include "io/field_file.h"
#include "mesh/reference.h"
#include "mesh/tensor.h"
#include "solver/problem/evaluate.h"

/* Points [elements][nodes][3] and fields [elements][nodes]; of one element at a time nodal values,
 * coordinates and the solution: [nodes], [3][nodes], [nodes]. */
typedef struct field_arrays {
  double *points, *u, *error;
  double *nodal, *coordinates, *exact;
} field_arrays;

static sp_status fill(const sp_problem *problem, const sp_space *space, const double *x,
                      field_arrays *arrays) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  const int nq = numbering->order + 1;
  const size_t nodes = sp_element_nodes(numbering->order), elements = (size_t)mesh->hexes->count;
  double lattice[SP_MAX_NQ], matrix[SP_MAX_NQ * SP_MAX_NQ];
  SP_TRY(sp_allocate(elements * nodes, 3 * sizeof(double), "field points", &arrays->points));
  SP_TRY(sp_allocate(elements * nodes, sizeof(double), "field", &arrays->u));
  const bool have_solution = sp_materials_have_solution(&problem->materials);
  if (have_solution) SP_TRY(sp_allocate(elements * nodes, sizeof(double), "field", &arrays->error));
  SP_TRY(sp_allocate(nodes, sizeof(double), "field", &arrays->nodal));
  SP_TRY(sp_allocate(nodes, 3 * sizeof(double), "field", &arrays->coordinates));
  SP_TRY(sp_allocate(nodes, sizeof(double), "field", &arrays->exact));
  double *nodal = arrays->nodal, *coordinates = arrays->coordinates, *exact = arrays->exact;
  for (int i = 0; i < nq; i++) lattice[i] = -1 + 2.0 * i / numbering->order;
  sp_interpolation_matrix(nq, sp_reference_get(numbering->order)->gll.nodes, nq, lattice, matrix);
  for (size_t e = 0; e < elements; e++) {
    double *u = &arrays->u[e * nodes], *point = &arrays->points[e * nodes * 3];
    for (size_t n = 0; n < nodes; n++) nodal[n] = x[numbering->nodes[e * nodes + n]];
    sp_tensor_apply(nq, nq, matrix, matrix, matrix, nodal, u);
    sp_hexes_coordinates(mesh->hexes, (sp_lid)e, nq, lattice, coordinates);
    for (size_t n = 0; n < nodes; n++)
      for (size_t d = 0; d < 3; d++) point[3 * n + d] = coordinates[d * nodes + n];
    if (!have_solution) continue;
    const double *xyz[3] = {coordinates, coordinates + nodes, coordinates + 2 * nodes};
    const sp_material *material = sp_materials_of(&problem->materials, mesh->hexes, (sp_lid)e);
    SP_TRY(sp_problem_evaluate(material->solution, nodes, xyz, exact, NULL, NULL));
    for (size_t n = 0; n < nodes; n++) arrays->error[e * nodes + n] = u[n] - exact[n];
  }
  return SP_OK;
}

sp_status sp_field_write(const char *path, const sp_problem *problem, const sp_space *space,
                         const double *x) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  static const char *const names[] = {"u", "error"};
  field_arrays arrays = {0};
  sp_status status = sp_agree(mesh->comm, fill(problem, space, x, &arrays));
  if (!status) {
    const double *fields[] = {arrays.u, arrays.error};
    status =
        sp_field_file_write(mesh->comm, path, numbering->order, mesh->hexes->count, arrays.points,
                            sp_materials_have_solution(&problem->materials) ? 2 : 1, names, fields);
  }
  free(arrays.points);
  free(arrays.u);
  free(arrays.error);
  free(arrays.nodal);
  free(arrays.coordinates);
  free(arrays.exact);
  return status;
}

double sp_field_predicted_bytes(double elements, int order, bool has_solution) {
  const double points = elements * (double)sp_element_nodes(order);
  const size_t doubles = 3 + 1 + has_solution; /* a point, u, error */
  return points * (double)(doubles * sizeof(double)) + sp_field_file_predicted_bytes(points);
}
